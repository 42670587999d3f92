//! A few threads for short work that takes a processor: about as many as there are processors, so that work which waits for one
//! waits in a queue and not as a thread. In the queue tenants take turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{io, thread};

use proofmark_store::{Most, Tenant, Turns};
use tokio::sync::oneshot;

use crate::problem::Problem;

type Work = Box<dyn FnOnce() + Send>;

/// The threads. They end with this value, once they have done what they were given.
pub(crate) struct Pool(Arc<Queue>);

struct Queue {
    waiting: Mutex<Waiting>,
    come: Condvar,
}

struct Waiting {
    work: Turns<Tenant, Work>,
    /// How many threads have nothing to do.
    idle: usize,
    over: bool,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives none.
    pub(crate) fn start() -> io::Result<Self> {
        let most = Most::and_one(thread::available_parallelism().map_or(1, usize::from));
        let work = Turns::new(most, Instant::now());
        let waiting = Mutex::new(Waiting { work, idle: 0, over: false });
        let pool = Self(Arc::new(Queue { waiting, come: Condvar::new() }));
        for _ in 0..most.of_all {
            let queue = Arc::clone(&pool.0);
            thread::Builder::new().name("pool".to_owned()).spawn(move || queue.work())?;
        }
        Ok(pool)
    }

    /// Does the tenant's work in one of the threads, in its turn.
    ///
    /// # Errors
    /// [`Problem::internal`] where it panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (done, result) = oneshot::channel();
        // Nobody may wait for the result any more.
        self.0.put(tenant, Box::new(move || drop(done.send(work()))));
        result.await.map_err(|_| Problem::internal())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.come.notify_all();
    }
}

impl Queue {
    fn put(&self, tenant: &Tenant, work: Work) {
        let mut waiting = self.lock();
        waiting.work.wait(tenant, work, Instant::now());
        let idle = waiting.idle > 0;
        drop(waiting);
        // To notify costs a system call; a thread that is at work looks for more when it is done.
        if idle {
            self.come.notify_one();
        }
    }

    fn work(&self) {
        let mut waiting = self.lock();
        loop {
            match waiting.work.hand_over(Instant::now()) {
                Some((tenant, work)) => {
                    drop(waiting);
                    // The panic hook has reported a panic; only the request that the work is for fails.
                    let _ = catch_unwind(AssertUnwindSafe(work));
                    waiting = self.lock();
                    waiting.work.end(&tenant, Instant::now());
                }
                None if waiting.over => return,
                None => {
                    waiting.idle += 1;
                    waiting = self.come.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    waiting.idle -= 1;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is locked, so its content is whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_and_a_panic_is_of_its_own_request_alone() {
        let pool = Pool::start().unwrap();
        let panics = (0..64).map(|_| pool.run(&Tenant::LOCAL, || assert!(pool_is_for_short_work(), "as expected")));
        for panicked in futures_util::future::join_all(panics).await {
            assert!(panicked.is_err());
        }
        let done = (0..64).map(|number| pool.run(&Tenant::LOCAL, move || number));
        let done = futures_util::future::join_all(done).await.into_iter().map(|done| done.unwrap_or(0));
        assert_eq!(done.sum::<u32>(), (0..64).sum::<u32>());
    }

    fn pool_is_for_short_work() -> bool {
        std::hint::black_box(false)
    }
}
