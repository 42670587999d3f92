//! A job whose cases several workers run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proofmark_checks::{CaseOutcome, End, Job};

use super::{Backend, CANCELLED, Watch, Worker};
use crate::runtime::Runtime;

/// A job's cases run for so long before another worker warms an interpreter for them, which takes about as long.
const ALONE: Duration = Duration::from_millis(40);

/// A worker that would warm an interpreter only joins where so much is left for one worker.
const WORTH_WARMING: Duration = Duration::from_millis(80);

/// How many bytes of answers may wait for that of an earlier case. Past it, only the earliest case starts.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// How often a worker that may not start a case looks whether it is wanted elsewhere.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running job that other workers may join. Each takes one case after another; its owner returns how they ended, in their
/// order.
pub struct SharedJob {
    job: Arc<Job>,
    runtime: Runtime,
    /// Whether a worker that joins has to warm an interpreter first.
    is_warmed: bool,
    started: Instant,
    /// When the time of all cases together is over.
    end: Instant,
    cancelled: Arc<AtomicBool>,
    /// Set when the owner returns, which ends what other workers still run.
    over: Arc<AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The first case that no worker has taken.
    next: usize,
    /// Cases that were taken and not run to their end.
    returned: Vec<usize>,
    /// How many cases workers run.
    running: usize,
    ended: usize,
    /// How many cases were handed to the owner; also the first that was not.
    handed: usize,
    /// Cases that ended before an earlier one.
    waiting: BTreeMap<usize, CaseOutcome>,
    waiting_bytes: usize,
    /// How many workers run cases, with the owner.
    workers: usize,
    /// Set when a worker could not join: the next would fail as well.
    is_closed: bool,
    /// Set when the owner has returned.
    is_over: bool,
}

impl SharedJob {
    fn new(job: &Arc<Job>, runtime: Runtime, is_warmed: bool, cancelled: &Arc<AtomicBool>) -> Self {
        let started = Instant::now();
        Self {
            job: Arc::clone(job),
            runtime,
            is_warmed,
            started,
            end: started + job.limits.total_timeout,
            cancelled: Arc::clone(cancelled),
            over: Arc::default(),
            state: Mutex::new(State { workers: 1, ..State::default() }),
            changed: Condvar::new(),
        }
    }

    /// Whether another worker would be of use.
    #[must_use]
    pub fn wants_worker(&self) -> bool {
        let state = self.lock();
        let left = state.left(&self.job);
        if !state.is_open(&self.job) || !self.is_warmed {
            return state.is_open(&self.job);
        }
        let ran = self.started.elapsed();
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let each = ran.checked_div(u32::try_from(state.ended).unwrap_or(u32::MAX)).unwrap_or(ran);
        ran >= ALONE && each.saturating_mul(left) >= WORTH_WARMING
    }

    /// Whether [`SharedJob::wants_worker`] may hold later.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().is_open(&self.job)
    }

    /// How many workers run its cases, with its owner.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.lock().workers
    }

    /// The next case, of those that may start. Waits where none may, unless one of `stops` is set.
    fn take(&self, stops: &[Arc<AtomicBool>], is_owner: bool) -> Option<Taken<'_>> {
        let mut state = self.lock();
        loop {
            let leaves = !is_owner && stops.iter().any(|stop| stop.load(Ordering::Relaxed));
            if leaves || state.is_over {
                return None;
            }
            if let Some(index) = state.take(&self.job) {
                return Some(Taken { shared: self, index });
            }
            if is_owner || state.left(&self.job) == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(state, LOOK_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The outcome of the first case that was not handed out before, if it has ended.
    fn hand(&self) -> Option<CaseOutcome> {
        let mut state = self.lock();
        let handed = state.handed;
        let outcome = state.waiting.remove(&handed)?;
        state.handed += 1;
        state.waiting_bytes -= size(&outcome);
        self.changed.notify_all();
        Some(outcome)
    }

    /// Waits until there is a case to hand out or to take; false once all were handed out.
    fn wait(&self) -> bool {
        let state = self.lock();
        let state = self
            .changed
            .wait_while(state, |state| {
                let is_next_known = state.waiting.contains_key(&state.handed) || state.handed == self.job.cases.len();
                !is_next_known && state.first(&self.job).is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.handed < self.job.cases.len()
    }

    /// The state is whole at every moment, so a panic of a holder spoils nothing.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn left(&self, job: &Job) -> usize {
        job.cases.len() - self.next + self.returned.len()
    }

    fn is_open(&self, job: &Job) -> bool {
        !self.is_closed && self.left(job) > 0
    }

    /// The first case that is left, if it may start.
    fn first(&self, job: &Job) -> Option<usize> {
        let next = (self.next < job.cases.len()).then_some(self.next);
        // A case that was returned comes before the next one.
        let first = self.returned.iter().min().copied().or(next)?;
        // The case that all others wait for starts in any case.
        (first == self.handed || self.waiting_bytes < MAX_WAITING_BYTES).then_some(first)
    }

    fn take(&mut self, job: &Job) -> Option<usize> {
        let first = self.first(job)?;
        match self.returned.iter().position(|index| *index == first) {
            Some(at) => drop(self.returned.swap_remove(at)),
            None => self.next += 1,
        }
        self.running += 1;
        Some(first)
    }
}

/// A case that a worker runs. It is returned for others to run unless it ends.
struct Taken<'a> {
    shared: &'a SharedJob,
    index: usize,
}

impl Taken<'_> {
    /// Stores how it ended, once `ran` was called with how many have.
    fn end(self, outcome: CaseOutcome, ran: &dyn Fn(usize)) {
        let ended = {
            let mut state = self.shared.lock();
            state.ended += 1;
            state.ended
        };
        // Before the outcome is known to the owner, which may return then.
        ran(ended);
        let mut state = self.shared.lock();
        state.waiting_bytes += size(&outcome);
        state.waiting.insert(self.index, outcome);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.running -= 1;
        if !state.waiting.contains_key(&self.index) {
            state.returned.push(self.index);
        }
        self.shared.changed.notify_all();
    }
}

/// The bytes that the submission has chosen.
fn size(outcome: &CaseOutcome) -> usize {
    let end = match &outcome.end {
        End::Value(bytes) | End::Text(bytes) => bytes.len(),
        End::Ran { output, errors, report, .. } => output.len() + errors.len() + report.as_ref().map_or(0, Vec::len),
        End::Raised { kind, text, types, .. } => kind.len() + text.len() + types.iter().map(String::len).sum::<usize>(),
        End::NoAnswer(why) | End::Unavailable(why) => why.len(),
        End::Timeout | End::TotalTimeout | End::MemoryLimit | End::OutputLimit | End::Signal(_) | End::Exit(_) => 0,
    };
    end + outcome.written.stdout.bytes.len() + outcome.written.stderr.bytes.len()
}

/// The owner's part in its job.
struct Owned(Arc<SharedJob>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        let mut state = self.0.lock();
        state.is_over = true;
        // Nothing of a job may run once its owner has returned; it may return early by a panic.
        drop(self.0.changed.wait_while(state, |state| state.running > 0).unwrap_or_else(PoisonError::into_inner));
    }
}

/// A worker's part in a job of another.
struct Joined<'a>(&'a SharedJob);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.changed.notify_all();
    }
}

impl Worker {
    /// Runs cases of another worker's job, which must be of the same host, until there are none left or `leave` is set: then
    /// the case at hand is killed and left to the others. `ran` is called after each case with how many have ended.
    pub fn join(&mut self, shared: &SharedJob, leave: &Arc<AtomicBool>, ran: &dyn Fn(usize)) {
        let Ok(backend) = self.backend() else { return };
        {
            let mut state = shared.lock();
            if !state.is_open(&shared.job) {
                return;
            }
            state.workers += 1;
        }
        let _joined = Joined(shared);
        backend.stops = vec![Arc::clone(&shared.cancelled), Arc::clone(leave), Arc::clone(&shared.over)];
        if backend.prepare(&shared.runtime, &shared.job).is_err() {
            // The job loses nothing: its owner runs what this worker cannot.
            shared.lock().is_closed = true;
            return;
        }
        backend.run_taken(shared, ran, None);
        backend.end_cases();
    }
}

impl Backend {
    /// Runs the cases of the job one by one, together with the workers that join it. `each` gets how they ended, in their
    /// order.
    pub(super) fn run_cases(
        &mut self,
        runtime: &Runtime,
        job: &Arc<Job>,
        watch: &Watch<'_>,
        each: &mut dyn FnMut(CaseOutcome),
    ) {
        let is_warmed = self.runs_warm(runtime, &job.program, &job.limits);
        let shared = Arc::new(SharedJob::new(job, runtime.clone(), is_warmed, watch.cancelled));
        let owned = Owned(Arc::clone(&shared));
        if job.cases.len() > 1 {
            (watch.offer)(&shared);
        }
        loop {
            self.run_taken(&shared, watch.ran, Some(each));
            if !shared.wait() {
                break;
            }
        }
        drop(owned);
    }

    /// Runs cases until there are none to take. The owner of the job has an `each`, which gets those that have ended.
    fn run_taken(&mut self, shared: &SharedJob, ran: &dyn Fn(usize), mut each: Option<&mut dyn FnMut(CaseOutcome)>) {
        let is_owner = each.is_some();
        loop {
            if let Some(each) = &mut each {
                std::iter::from_fn(|| shared.hand()).for_each(each);
            }
            let Some(taken) = shared.take(&self.stops, is_owner) else { return };
            let Some(case) = shared.job.cases.get(taken.index) else { return };
            let outcome = self.run_case(&shared.runtime, &shared.job, case, shared.end);
            let is_cut = matches!(&outcome.end, End::Unavailable(why) if why == CANCELLED);
            if is_cut && !shared.cancelled.load(Ordering::Relaxed) {
                // This worker leaves, which the case must not show.
                return;
            }
            taken.end(outcome, ran);
        }
    }
}
