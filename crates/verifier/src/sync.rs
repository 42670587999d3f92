//! Locks: one that survives a panic of its holder, and one lock a name.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often a thread that waits for a name looks whether its caller still waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Locks a mutex whose content is whole at every moment, so that a panic of a holder spoils nothing.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lock for each name: one holder at a time, and the others in the order in which they came. Waiting takes no thread. Names that
/// are not held take no memory.
#[derive(Default)]
pub struct KeyedLock(Arc<Names>);

type Names = Mutex<HashMap<String, Queue>>;

/// A name that is held, and who waits for it.
struct Queue {
    /// The number of who holds it.
    holder: u64,
    next: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
}

/// A name that is held until this is dropped.
#[must_use = "the name is released when this is dropped"]
pub struct KeyGuard {
    of: Arc<Names>,
    name: String,
}

/// A place in the queue for a name. It is ready when its turn comes, and given up when it is dropped.
#[must_use = "the place is given up when this is dropped"]
pub struct Waiting {
    of: Arc<Names>,
    /// None once the name was handed over.
    name: Option<String>,
    number: u64,
}

impl KeyedLock {
    /// Waits until the name is free, and holds it.
    pub fn lock(&self, name: String) -> KeyGuard {
        self.take(name).unwrap_or_else(Waiting::wait)
    }

    /// Holds the name if it is free.
    ///
    /// # Errors
    /// The place in the queue for it.
    pub fn take(&self, name: String) -> Result<KeyGuard, Waiting> {
        let mut names = lock(&self.0);
        let of = Arc::clone(&self.0);
        let Some(queue) = names.get_mut(&name) else {
            names.insert(name.clone(), Queue { holder: 0, next: 1, waiting: VecDeque::new() });
            return Ok(KeyGuard { of, name });
        };
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back((number, None));
        Err(Waiting { of, name: Some(name), number })
    }
}

impl KeyGuard {
    /// What is held.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Waiting {
    /// Waits with this thread.
    pub fn wait(mut self) -> KeyGuard {
        let waker = Unpark::this_thread();
        loop {
            match self.look(&waker) {
                Some(guard) => return guard,
                None => thread::park(),
            }
        }
    }

    /// Waits with this thread; none if `stop` is set before its turn comes.
    pub fn wait_unless(mut self, stop: &AtomicBool) -> Option<KeyGuard> {
        let waker = Unpark::this_thread();
        loop {
            if let Some(guard) = self.look(&waker) {
                return Some(guard);
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            // Nobody wakes the thread when `stop` is set.
            thread::park_timeout(LOOK_EVERY);
        }
    }

    fn look(&mut self, waker: &Waker) -> Option<KeyGuard> {
        match Pin::new(self).poll(&mut Context::from_waker(waker)) {
            Poll::Ready(guard) => Some(guard),
            Poll::Pending => None,
        }
    }
}

impl Future for Waiting {
    type Output = KeyGuard;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<KeyGuard> {
        let (of, number) = (Arc::clone(&self.of), self.number);
        let mut names = lock(&of);
        let queue = self.name.as_ref().and_then(|name| names.get_mut(name));
        if let Some(queue) = queue.filter(|queue| queue.holder != number) {
            let mine = queue.waiting.iter_mut().find(|(waits, _)| *waits == number);
            if let Some((_, waker)) = mine {
                *waker = Some(context.waker().clone());
            }
            return Poll::Pending;
        }
        drop(names);
        match self.name.take() {
            Some(name) => Poll::Ready(KeyGuard { of, name }),
            // It was handed over: there is nothing to wait for.
            None => Poll::Pending,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let mut names = lock(&self.of);
        let Some(queue) = names.get_mut(&name) else { return };
        if queue.holder == self.number {
            release(names, &name);
        } else {
            queue.waiting.retain(|(waits, _)| *waits != self.number);
        }
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        release(lock(&self.of), &self.name);
    }
}

/// Hands the name over to the next who waits for it.
fn release(mut names: MutexGuard<'_, HashMap<String, Queue>>, name: &str) {
    let Some(queue) = names.get_mut(name) else { return };
    let Some((number, waker)) = queue.waiting.pop_front() else {
        names.remove(name);
        return;
    };
    queue.holder = number;
    drop(names);
    // Woken after the lock is free, so that it need not wait for that.
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Unpark {
    fn this_thread() -> Waker {
        Waker::from(Arc::new(Self(thread::current())))
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> String {
        "a".to_owned()
    }

    #[test]
    fn a_name_goes_from_one_to_the_next_in_their_order() {
        let locks = KeyedLock::default();
        let first = locks.take(name()).ok().unwrap();
        let [mut second, left, mut third] = [(); 3].map(|()| locks.take(name()).err().unwrap());
        let context = &mut Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut second).poll(context).is_pending());
        assert!(locks.take("b".to_owned()).is_ok());
        drop((left, first));
        assert!(Pin::new(&mut third).poll(context).is_pending());
        let second = second.wait();
        drop(second);
        // Its turn has come, and it leaves.
        let fourth = locks.take(name()).err().unwrap();
        drop(third);
        drop(fourth.wait());
        assert!(lock(&locks.0).is_empty());
    }

    #[test]
    fn who_is_told_to_stop_waits_no_longer() {
        let locks = KeyedLock::default();
        let held = locks.lock(name());
        let (stop, waiting) = (AtomicBool::new(true), locks.take(name()).err().unwrap());
        assert!(waiting.wait_unless(&stop).is_none());
        drop(held);
        assert!(lock(&locks.0).is_empty());
    }

    #[test]
    fn threads_hold_it_one_at_a_time() {
        let (locks, inside) = (KeyedLock::default(), Mutex::new(()));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _held = locks.lock(name());
                        assert!(inside.try_lock().is_ok());
                    }
                });
            }
        });
        assert!(lock(&locks.0).is_empty());
    }
}
