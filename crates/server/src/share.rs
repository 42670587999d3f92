//! What tenants share: each has at most a quarter of it, and all together no more than there is.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use proofmark_store::{Most, Tenant, Turns};
use rustix::process::setpriority_process;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::connections::Who;
use crate::keys::Caller;
use crate::peer_address::PeerAddress;
use crate::problem::Problem;

/// A tenant has at most one part of so many, so no tenant alone can leave nothing for the others.
const PARTS: usize = 4;

/// The most requests that arrive, are worked on or are answered at once.
const MAX_REQUESTS: usize = 4_096;
/// The most requests and calls of tools that are worked on at once, each by a thread of its own.
// This is half of the 512 threads that tokio has for blocking work: reads outside of places need threads, too.
const MAX_PLACES: usize = 256;
/// How many of them those tenants have together, for each processor, that used more than the others of late: threads at work slow down
/// those of all others.
const HEAVY_PLACES: usize = 2;
/// The most verifications that tools wait for at once.
const MAX_VERIFYING: usize = 1_024;
/// The most bytes that bodies, answers of tools, and answers to requests that change nothing have together.
const MAX_BYTES: usize = 512 << 20;
/// The most streams of events that are open at once.
const MAX_STREAMS: usize = 1_024;
/// The most sessions of the Model Context Protocol that there are at once.
const MAX_SESSIONS: usize = 1_024;
/// The most of them that clients without keys have: a peer has a quarter of these, which is half of the tenant's share.
const MAX_KEYLESS_SESSIONS: usize = 512;

/// How long a request waits for a thread.
const MAX_WAIT_FOR_PLACE: Duration = Duration::from_secs(10);

fn heavy_places() -> usize {
    HEAVY_PLACES * available_parallelism().map_or(1, usize::from)
}

/// Everything that tenants share. A request for more than the tenant's share, or than there is, is refused with
/// [`Problem::busy`]; only for a place it waits a while first.
pub struct Limits {
    pub requests: Arc<Shares>,
    pub places: Places,
    pub(crate) verifying: Arc<Shares>,
    pub bytes: Arc<Shares>,
    pub streams: Arc<Shares>,
    sessions: Arc<Shares>,
    /// Of those, what clients without keys have, who are all of one tenant.
    keyless_sessions: Arc<Shares<Who>>,
}

impl Limits {
    /// All of it is free.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            requests: Shares::of(MAX_REQUESTS),
            places: Places::of(Most { of_all: MAX_PLACES, of_one: MAX_PLACES / PARTS, of_heavy: heavy_places() }),
            verifying: Shares::of(MAX_VERIFYING),
            bytes: Shares::of(MAX_BYTES),
            streams: Shares::of(MAX_STREAMS),
            sessions: Shares::of(MAX_SESSIONS),
            keyless_sessions: Shares::of(MAX_KEYLESS_SESSIONS),
        })
    }

    /// A session for this caller. Of callers without a key, who are told apart by where they are, none can leave nothing for the others.
    pub fn session(&self, caller: &Caller, from: Option<&PeerAddress>) -> Result<SessionShare, Problem> {
        let of_peer = match from.filter(|_| *caller == Caller::local()) {
            Some(from) => Some(self.keyless_sessions.take(&from.who(), 1)?),
            None => None,
        };
        Ok(SessionShare { _of_tenant: self.sessions.take(&caller.tenant, 1)?, _of_peer: of_peer })
    }
}

/// A bounded amount of something.
pub struct Shares<K = Tenant> {
    all: usize,
    taken: Mutex<Taken<K>>,
}

struct Taken<K> {
    all: usize,
    by: HashMap<K, usize>,
}

/// What a session holds.
pub struct SessionShare {
    _of_tenant: Share,
    _of_peer: Option<Share<Who>>,
}

/// An amount that one tenant, or one peer, holds until this is dropped.
pub struct Share<K: Clone + Eq + Hash = Tenant> {
    of: Arc<Shares<K>>,
    holder: K,
    amount: usize,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(crate) fn of(all: usize) -> Arc<Self> {
        Arc::new(Self { all, taken: Mutex::new(Taken { all: 0, by: HashMap::new() }) })
    }

    /// So much for this tenant or peer, or [`Problem::busy`].
    pub fn take(self: &Arc<Self>, holder: &K, amount: usize) -> Result<Share<K>, Problem> {
        let mut share = Share { of: Arc::clone(self), holder: holder.clone(), amount: 0 };
        share.grow(amount)?;
        Ok(share)
    }

    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Share<K> {
    /// Gives so much of it back.
    pub(crate) fn shrink(&mut self, less: usize) {
        let less = less.min(self.amount);
        // A share of its own, which gives back when it is dropped.
        drop(Share { of: Arc::clone(&self.of), holder: self.holder.clone(), amount: less });
        self.amount -= less;
    }

    /// Holds so much from here on, or as much as before and [`Problem::busy`].
    pub fn hold(&mut self, amount: usize) -> Result<(), Problem> {
        match amount.checked_sub(self.amount) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.amount - amount);
                Ok(())
            }
        }
    }

    /// Takes so much more, or nothing and [`Problem::busy`].
    pub fn grow(&mut self, more: usize) -> Result<(), Problem> {
        let mut taken = self.of.taken();
        // Both limits are checked before anything changes: a refusal takes nothing.
        let mine = taken.by.get(&self.holder).copied().unwrap_or(0).saturating_add(more);
        if mine > self.of.all / PARTS || taken.all.saturating_add(more) > self.of.all {
            return Err(Problem::busy());
        }
        if more > 0 {
            taken.all += more;
            taken.by.insert(self.holder.clone(), mine);
            self.amount += more;
        }
        Ok(())
    }
}

/// Places for work, each of which is held for a short time. When all are taken a request waits, and the next place is for the tenant
/// that used least of late.
pub struct Places(Arc<Mutex<Turns<Tenant, oneshot::Sender<Place>>>>);

/// A place. It is given back when this is dropped.
pub struct Place {
    of: Places,
    /// None once it is given back.
    tenant: Option<Tenant>,
    priority: Priority,
}

/// How much of the processors work gets beside that of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// For a tenant that used more than the others of late: what those ask for comes first.
    Low,
}

/// How much threads of low priority give way (nice(2)): they have a tenth of what another one has that wants a processor. With less, one
/// that holds a lock would keep others waiting for long.
const LOW: i32 = 10;

impl Priority {
    fn of(is_heavy: bool) -> Self {
        if is_heavy { Self::Low } else { Self::Normal }
    }

    /// Does the work, in a thread with this priority.
    ///
    /// # Errors
    /// [`Problem::internal`] when the system gives no thread.
    pub fn run<T: Send>(self, work: impl FnOnce() -> T + Send) -> Result<T, Problem> {
        if self == Self::Normal {
            return Ok(work());
        }
        let runtime = Handle::try_current().ok();
        // A thread of its own, because none gets its priority back.
        std::thread::scope(|scope| {
            let low = std::thread::Builder::new().name("low".to_owned());
            let thread = low.spawn_scoped(scope, || {
                // What is dropped there may have to begin other work.
                let _within = runtime.as_ref().map(Handle::enter);
                // Of this thread alone. Where the system refuses, the work is done all the same.
                let _refused = setpriority_process(None, LOW);
                work()
            });
            let thread = thread.map_err(|error| Problem::internal().cause(error))?;
            thread.join().map_err(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Place {
    /// That of the work that it is for.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.priority
    }
}

impl Places {
    fn of(most: Most) -> Self {
        Self(Arc::new(Mutex::new(Turns::new(most, Instant::now()))))
    }

    /// A place for this tenant, or [`Problem::busy`] when there is none for long.
    pub async fn take(&self, tenant: &Tenant) -> Result<Place, Problem> {
        let told = {
            let (mut turns, now) = (self.turns(), Instant::now());
            if turns.begin(tenant, now) {
                let priority = Priority::of(turns.is_heavy(tenant));
                return Ok(self.place(tenant.clone(), priority));
            }
            let (tell, told) = oneshot::channel();
            turns.wait(tenant, tell, now);
            told
        };
        // A place that comes too late is given back, since nobody takes it out of the channel.
        tokio::time::timeout(MAX_WAIT_FOR_PLACE, told).await.ok().and_then(Result::ok).ok_or_else(Problem::busy)
    }

    fn place(&self, tenant: Tenant, priority: Priority) -> Place {
        Place { of: Self(Arc::clone(&self.0)), tenant: Some(tenant), priority }
    }

    fn turns(&self) -> MutexGuard<'_, Turns<Tenant, oneshot::Sender<Place>>> {
        // Nothing panics while it is locked, so its content is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        while let Some(tenant) = self.tenant.take() {
            self.of.turns().end(&tenant, Instant::now());
            loop {
                let next = {
                    let mut turns = self.of.turns();
                    turns.hand_over(Instant::now()).map(|(tenant, tell)| (turns.is_heavy(&tenant), tenant, tell))
                };
                let Some((is_heavy, tenant, tell)) = next else { break };
                // One that nobody takes is given back here, and not inside of this drop by another.
                if let Err(mut place) = tell.send(self.of.place(tenant, Priority::of(is_heavy))) {
                    self.tenant = place.tenant.take();
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
impl Shares {
    /// Whether no tenant holds anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.taken().all == 0
    }
}

#[cfg(test)]
impl<K: Clone + Eq + Hash> Share<K> {
    pub(crate) fn amount(&self) -> usize {
        self.amount
    }
}

impl<K: Clone + Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.all -= self.amount;
        if let Some(mine) = taken.by.get_mut(&self.holder) {
            *mine -= self.amount;
            if *mine == 0 {
                taken.by.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Tenant {
        name.parse().unwrap()
    }

    #[test]
    fn a_tenant_has_a_quarter_at_most_and_gives_it_back() {
        let shares = Shares::of(8);
        let mut first = shares.take(&named("a"), 1).unwrap();
        first.grow(1).unwrap();
        first.shrink(1);
        first.grow(1).unwrap();
        assert!(first.grow(1).is_err());
        assert!(shares.take(&named("a"), 1).is_err());
        let others: Vec<Share> = ["b", "c", "d"].map(|who| shares.take(&named(who), 2).unwrap()).into();
        // Everything is taken, though this one has nothing.
        assert!(shares.take(&named("e"), 1).is_err());
        drop(first);
        assert!(shares.take(&named("e"), 2).is_ok());
        drop(others);
        assert!(shares.taken().by.is_empty());
        assert!(shares.take(&named("a"), 3).is_err());
    }

    #[test]
    fn who_used_more_than_others_gives_way() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let own = niceness();
        assert_eq!(Priority::Normal.run(niceness).unwrap(), own);
        assert_eq!(Priority::Low.run(niceness).unwrap(), LOW.max(own));
        assert_eq!(niceness(), own, "only the thread of the work does");
        let panicked = std::panic::catch_unwind(|| Priority::Low.run(|| std::panic::resume_unwind(Box::new("x"))));
        assert!(panicked.is_err_and(|panic| panic.is::<&str>()));
    }

    #[tokio::test]
    async fn a_place_of_one_who_used_more_has_low_priority() {
        Priority::Low.run(|| drop(tokio::task::spawn_blocking(|| ()))).unwrap();
        let (places, greedy, other) = (Places::of(Most { of_all: 8, of_one: 4, of_heavy: 4 }), named("a"), named("b"));
        let held = places.take(&greedy).await.unwrap();
        assert_eq!(held.priority(), Priority::Normal, "nobody else is there");
        drop(places.take(&other).await.unwrap());
        while places.turns().begin(&greedy, Instant::now()) && !places.turns().is_heavy(&greedy) {}
        drop(held);
        assert_eq!(places.take(&other).await.unwrap().priority(), Priority::Normal);
        assert_eq!(places.take(&greedy).await.unwrap().priority(), Priority::Low);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_waits_for_its_own_places_only() {
        let most = Most { of_all: 8, of_one: 2, of_heavy: 4 };
        let (places, a) = (Places::of(most), named("a"));
        let held = [places.take(&a).await.unwrap(), places.take(&a).await.unwrap()];
        assert!(places.take(&a).await.is_err());
        let other = places.take(&named("b")).await.unwrap();
        let waiting = places.take(&a);
        let (given, ()) = tokio::join!(waiting, async { drop(held) });
        assert!(given.is_ok());
        // Of two who left, one before its place came and one after.
        let mut late = Box::pin(places.take(&a));
        let held = places.take(&a).await.unwrap();
        assert!(tokio::time::timeout(Duration::ZERO, &mut late).await.is_err());
        drop((given, held));
        drop(late);
        drop(other);
        assert_eq!(places.turns().held(), 0);
    }
}
