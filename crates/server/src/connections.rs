//! The connections that are open, and which of them give way when there are too many.
//!
//! A connection without a request holds nothing but its place: a client that sends nothing, or half a head, must not keep
//! others out. Such connections give way first, and of them those that never sent a request.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// The most connections that are open at once.
const MAX_CONNECTIONS: usize = 4_096;
/// The most of them that one peer has.
const MAX_OF_PEER: usize = 1_024;
/// How much of an IPv6 address identifies a peer: a host with one address has its whole network of 64 bits.
const PEER_OF_V6: u128 = !0 << 64;

/// Who a connection is of, as far as it takes places from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Address(IpAddr),
    Account(u32),
}

/// All connections.
pub(crate) struct Connections {
    open: Mutex<Open>,
    most: usize,
    most_of_peer: usize,
}

#[derive(Default)]
struct Open {
    next: u64,
    all: HashMap<u64, Entry>,
}

struct Entry {
    peer: Who,
    /// Whether it has had a request.
    asked: bool,
    /// Since when no request is begun on it; none while one is.
    idle_since: Option<Instant>,
    give_way: Arc<Notify>,
}

/// An open connection. Its place is free when this is dropped.
pub(crate) struct Connection {
    of: Arc<Connections>,
    number: u64,
    give_way: Arc<Notify>,
}

/// A request was begun on a connection, and its answer is not written.
pub(crate) struct Begun {
    connection: Arc<Connection>,
}

impl Connections {
    pub(crate) fn new() -> Arc<Self> {
        Self::at_most(MAX_CONNECTIONS, MAX_OF_PEER)
    }

    pub(crate) fn at_most(most: usize, most_of_peer: usize) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), most, most_of_peer })
    }

    /// One more connection of a peer, for which another may have to give way; none where none can. A proxy has those of many.
    pub(crate) fn open(self: &Arc<Self>, peer: Who, is_proxy: bool) -> Option<Arc<Connection>> {
        let mut open = self.lock();
        // A peer that has its share closes one of its own connections, never one of another peer.
        if !is_proxy && open.of(peer) >= self.most_of_peer {
            open.make_room(|entry| entry.peer == peer)?;
        } else if open.all.len() >= self.most {
            open.make_room(|_| true)?;
        }
        let (number, give_way) = (open.next, Arc::new(Notify::new()));
        open.next += 1;
        let entry = Entry { peer, asked: false, idle_since: Some(Instant::now()), give_way: Arc::clone(&give_way) };
        open.all.insert(number, entry);
        Some(Arc::new(Connection { of: Arc::clone(self), number, give_way }))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// How many a peer has.
    fn of(&self, peer: Who) -> usize {
        self.all.values().filter(|entry| entry.peer == peer).count()
    }

    /// Ends the connection of these that has been idle for longest; none where all of them have a request.
    fn make_room(&mut self, of: impl Fn(&Entry) -> bool) -> Option<()> {
        let idle = self.all.iter().filter(|(_, entry)| of(entry));
        let idle = idle.filter_map(|(number, entry)| Some((entry.asked, entry.idle_since?, *number)));
        // `false` is less than `true`, so connections that never had a request are first; then the longest idle.
        let (_, _, number) = idle.min()?;
        // It is removed at once, so that it is not chosen twice. `notify_one` is kept for a task that does not wait yet.
        self.all.remove(&number)?.give_way.notify_one();
        Some(())
    }
}

impl From<IpAddr> for Who {
    fn from(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & PEER_OF_V6)),
            v4 => v4,
        })
    }
}

impl Connection {
    /// Counts for another peer from here on; whether that has a place, for which one of its own may have to give way.
    pub(crate) fn count_for(&self, peer: Who, is_proxy: bool) -> bool {
        let mut open = self.of.lock();
        let is_full = |open: &Open| open.of(peer) >= self.of.most_of_peer;
        if !is_proxy && is_full(&open) && open.make_room(|entry| entry.peer == peer).is_none() {
            return false;
        }
        // No entry: it gives way already.
        open.all.get_mut(&self.number).map(|entry| entry.peer = peer).is_some()
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Begun {
        self.set(None);
        Begun { connection: Arc::clone(self) }
    }

    /// Waits until it has to make room for another.
    pub(crate) async fn gives_way(&self) {
        self.give_way.notified().await;
    }

    fn set(&self, idle_since: Option<Instant>) {
        // No entry: the connection was chosen to give way a moment ago, and its client sees it closed.
        if let Some(entry) = self.of.lock().all.get_mut(&self.number) {
            entry.asked = true;
            entry.idle_since = idle_since;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.of.lock().all.remove(&self.number);
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.connection.set(Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn peer(number: u8) -> Who {
        Who::from(IpAddr::from([127, 0, 0, number]))
    }

    async fn has_ended(connection: &Connection) -> bool {
        tokio::time::timeout(Duration::from_millis(1), connection.gives_way()).await.is_ok()
    }

    #[tokio::test]
    async fn the_oldest_half_open_one_gives_way() {
        let connections = Connections::at_most(4, 3);
        let [asked, first, second] = [1, 1, 2].map(|number| connections.open(peer(number), false).unwrap());
        drop(asked.begin());
        let busy = connections.open(peer(3), false).unwrap();
        let begun = busy.begin();
        // All places are taken: the one that never asked anything goes, though another has been idle for longer.
        let third = connections.open(peer(3), false).unwrap();
        assert!(has_ended(&first).await && !has_ended(&asked).await && !has_ended(&second).await);
        drop(first);
        let _fourth = connections.open(peer(4), false).unwrap();
        assert!(has_ended(&second).await && !has_ended(&third).await && !has_ended(&busy).await);
        drop(begun);
    }

    #[tokio::test]
    async fn a_peer_with_its_share_makes_room_for_itself_only() {
        let connections = Connections::at_most(9, 2);
        let other = connections.open(peer(1), false).unwrap();
        let own = [2, 2].map(|number| connections.open(peer(number), false).unwrap());
        let _third = connections.open(peer(2), false).unwrap();
        assert!(has_ended(&own[0]).await && !has_ended(&own[1]).await && !has_ended(&other).await);
        let _busy = own[1].begin();
        let _last = connections.open(peer(2), false).unwrap().begin();
        assert!(connections.open(peer(2), false).is_none(), "what has a request does not give way");
        assert!(connections.open(peer(3), false).is_some());
        assert!(connections.open(peer(2), true).is_some(), "a proxy has those of many");
    }

    #[tokio::test]
    async fn a_connection_counts_for_the_peer_that_a_proxy_names() {
        let connections = Connections::at_most(9, 2);
        let of_proxy = || connections.open(peer(1), true).unwrap();
        let [first, second, third] = [of_proxy(), of_proxy(), of_proxy()];
        assert!(first.count_for(peer(2), false) && second.count_for(peer(2), false));
        let _busy = second.begin();
        assert!(third.count_for(peer(2), false), "one of its own gives way");
        assert!(has_ended(&first).await && !has_ended(&third).await);
        let _busy_too = third.begin();
        let fourth = of_proxy();
        assert!(!fourth.count_for(peer(2), false) && fourth.count_for(peer(3), false));
        assert!(of_proxy().count_for(peer(2), true), "a proxy behind the proxy has those of many");
        assert!(!first.count_for(peer(4), false), "it gives way already");
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let who = |address: &str| Who::from(address.parse::<IpAddr>().unwrap());
        let same = |one: &str, other: &str| who(one) == who(other);
        assert!(same("2001:db8::1", "2001:db8::2:3:4:5"));
        assert!(!same("2001:db8:0:1::1", "2001:db8:0:2::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1") && !same("10.0.0.1", "10.0.0.2"));
    }
}
