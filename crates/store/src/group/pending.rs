//! The answer to a submission: a thread waits for it, or a task does.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use proofmark_receipt::Receipt;

use crate::error::StoreError;
use crate::group::written::Written;
use crate::place::Place;

/// Something submitted that may not be on disk yet. As a future it is ready when [`Pending::wait`] would return.
#[must_use = "what was submitted is on disk only after `wait` returns"]
#[derive(Debug)]
pub struct Pending {
    slot: Arc<Slot>,
    place: Place,
}

/// The other end of a [`Pending`].
pub(crate) struct Caller(Arc<Slot>);

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answer: Option<Result<Written, StoreError>>,
    /// Whether nobody will answer any more.
    over: bool,
    /// Who waits.
    waiter: Option<Waiter>,
}

#[derive(Debug)]
enum Waiter {
    Thread,
    Task(Waker),
}

/// The two ends of an answer about the store at `place`.
pub(crate) fn pending(place: Place) -> (Caller, Pending) {
    let slot = Arc::new(Slot::default());
    (Caller(Arc::clone(&slot)), Pending { slot, place })
}

impl Pending {
    /// Waits until it is on disk.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it was stored. [`StoreError::is_refusal`] tells whether the error is of this
    /// submission alone or of all that shared its commit.
    pub fn wait(self) -> Result<Written, StoreError> {
        let mut state = self.slot.lock();
        state.waiter = Some(Waiter::Thread);
        let mut state = self
            .slot
            .answered
            .wait_while(state, |state| state.answer.is_none() && !state.over)
            .unwrap_or_else(PoisonError::into_inner);
        self.answer(&mut state)
    }

    /// Waits until it is on disk; the receipt among it.
    ///
    /// # Errors
    /// As [`Pending::wait`].
    pub fn receipt(self) -> Result<Receipt, StoreError> {
        let place = self.place.clone();
        // Only a caller that submitted no receipt gets none.
        self.wait()?.receipt.ok_or(StoreError::Stopped { place })
    }

    fn answer(&self, state: &mut State) -> Result<Written, StoreError> {
        state.answer.take().unwrap_or_else(|| Err(StoreError::Stopped { place: self.place.clone() }))
    }
}

impl Future for Pending {
    type Output = Result<Written, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.slot.lock();
        if state.answer.is_none() && !state.over {
            state.waiter = Some(Waiter::Task(context.waker().clone()));
            return Poll::Pending;
        }
        Poll::Ready(self.answer(&mut state))
    }
}

impl Caller {
    /// A caller that does not wait for the answer does not get it.
    pub(crate) fn answer(self, answer: Result<Written, StoreError>) {
        self.0.lock().answer = Some(answer);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.over = true;
        let waiter = state.waiter.take();
        // Woken after the lock is free, so that it need not wait for that.
        drop(state);
        match waiter {
            Some(Waiter::Task(task)) => task.wake(),
            Some(Waiter::Thread) => self.0.answered.notify_one(),
            None => {}
        }
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked, so its content is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    const WRITTEN: Written = Written { receipt: None, decision: None, at: 7 };

    #[test]
    fn a_task_is_woken_by_the_answer_and_by_the_end() {
        for answered in [true, false] {
            let (woken, (caller, mut pending)) = (Arc::new(Woken::default()), pending(Place::parse("")));
            let waker = Arc::clone(&woken).into();
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
            if answered {
                caller.answer(Ok(WRITTEN))
            } else {
                drop(caller)
            }
            assert_eq!(woken.0.load(Ordering::SeqCst), 1);
            let expected = if answered { Ok(WRITTEN) } else { Err(StoreError::Stopped { place: Place::parse("") }) };
            assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Ready(expected));
        }
    }

    #[test]
    fn a_thread_waits_for_the_answer_or_the_end() {
        let (caller, waited) = pending(Place::parse(""));
        let waiting = thread::spawn(move || waited.wait());
        caller.answer(Ok(WRITTEN));
        assert_eq!(waiting.join().unwrap(), Ok(WRITTEN));
        let (caller, waited) = pending(Place::parse(""));
        drop(caller);
        assert_eq!(waited.wait(), Err(StoreError::Stopped { place: Place::parse("") }));
    }
}
