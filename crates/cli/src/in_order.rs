//! Work on many items on all cores, with the results in the order of the items.

use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, Scope};

use anyhow::anyhow;

/// Items are handed over in batches of at most so many, and of little more than so many bytes.
const BATCH_ITEMS: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

/// The batches that a worker has: one that it works on, and one that waits.
const BATCHES: usize = 2;

/// Calls `work` with each item, on all cores, and `each` with what it returns, in this thread and in the order of the items. Only
/// a few batches of items, and of results, are in memory at a time.
///
/// # Errors
/// The first error of an item, once the results of those before it were passed on; or of `each`.
pub(crate) fn in_order<T: Send + Sized, R: Send>(
    items: impl Iterator<Item = anyhow::Result<T>>,
    bytes: impl Fn(&T) -> usize,
    work: impl Fn(T) -> R + Sync,
    mut each: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut batches = Batches { items, bytes, error: None, ended: false };
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let first = batches.next();
    if batches.ended || cores == 1 {
        first.into_iter().chain(batches.by_ref()).flatten().try_for_each(|item| each(work(item)))?;
    } else {
        thread::scope(|scope| {
            let workers: Vec<Worker<T, R>> = (0..cores).map(|_| Worker::start(scope, &work)).collect();
            hand_out(&workers, first.into_iter().chain(batches.by_ref()), &mut each)
        })?;
    }
    batches.error.map_or(Ok(()), Err)
}

/// Hands batches to the workers in turn, and takes the results in the same turn.
fn hand_out<T, R>(
    workers: &[Worker<T, R>],
    mut batches: impl Iterator<Item = Vec<T>>,
    each: &mut impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut to, mut from) = (workers.iter().cycle(), workers.iter().cycle());
    let mut under_way = 0;
    loop {
        let room = workers.len() * BATCHES - under_way;
        // The batches first: after the last of them, `zip` must not take a worker whose turn it then would have been.
        for (batch, worker) in batches.by_ref().take(room).zip(to.by_ref()) {
            // Where a worker has panicked, it is its result that does not come.
            drop(worker.batches.send(batch));
            under_way += 1;
        }
        if under_way == 0 {
            return Ok(());
        }
        let worker = from.next().ok_or_else(lost)?;
        worker.results.recv().map_err(|_| lost())?.into_iter().try_for_each(&mut *each)?;
        under_way -= 1;
    }
}

fn lost() -> anyhow::Error {
    anyhow!("finish the work: a thread ended early")
}

struct Worker<T, R> {
    batches: SyncSender<Vec<T>>,
    results: Receiver<Vec<R>>,
}

impl<T: Send, R: Send> Worker<T, R> {
    /// Starts a thread, which ends when this is dropped.
    fn start<'scope, 'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        work: &'scope (impl Fn(T) -> R + Sync),
    ) -> Worker<T, R>
    where
        T: 'scope,
        R: 'scope,
    {
        let (batches, received) = mpsc::sync_channel::<Vec<T>>(BATCHES);
        let (send, results) = mpsc::sync_channel(BATCHES);
        scope.spawn(move || {
            for batch in received {
                if send.send(batch.into_iter().map(work).collect()).is_err() {
                    return;
                }
            }
        });
        Worker { batches, results }
    }
}

/// The items in batches, up to the first error.
struct Batches<I, B> {
    items: I,
    bytes: B,
    error: Option<anyhow::Error>,
    ended: bool,
}

impl<T, I: Iterator<Item = anyhow::Result<T>>, B: Fn(&T) -> usize> Iterator for Batches<I, B> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while !self.ended && batch.len() < BATCH_ITEMS && bytes < BATCH_BYTES {
            match self.items.next() {
                Some(Ok(item)) => {
                    bytes += (self.bytes)(&item);
                    batch.push(item);
                }
                Some(Err(error)) => {
                    self.error = Some(error);
                    self.ended = true;
                }
                None => self.ended = true,
            }
        }
        (!batch.is_empty()).then_some(batch)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn run(count: usize, fail_at: Option<usize>, stop_at: Option<usize>) -> (Vec<usize>, Option<String>) {
        let items = (0..count).map(|item| if fail_at == Some(item) { Err(anyhow!("item {item}")) } else { Ok(item) });
        let mut seen = Vec::new();
        let done = in_order(
            items,
            |item| item % 1000,
            |item| {
                if item % 97 == 0 {
                    thread::yield_now();
                }
                item * 2
            },
            |result| {
                if stop_at == Some(result / 2) {
                    return Err(anyhow!("stop"));
                }
                seen.push(result);
                Ok(())
            },
        );
        (seen, done.err().map(|error| error.to_string()))
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 63, 64, 65, 1_000, 5_000] {
            let (seen, error) = run(count, None, None);
            assert!(seen.iter().copied().eq((0..count).map(|item| item * 2)), "{count}");
            assert_eq!(error, None);
        }
    }

    #[test]
    fn an_error_comes_after_the_results_before_it() {
        for at in [0, 5, 64, 200, 2_999] {
            let (seen, error) = run(3_000, Some(at), None);
            assert_eq!((seen.len(), error), (at, Some(format!("item {at}"))));
            let (seen, error) = run(3_000, None, Some(at));
            assert_eq!((seen.len(), error.as_deref()), (at, Some("stop")));
        }
    }
}
