//! Hints: what may have changed, so that processes which share a store need not look all the time.
//!
//! A hint is passed on after the commit, may come late or never, and anyone who can use the database can send one. So nothing
//! depends on hints: a process that gets one looks into the store, and it also looks from time to time without one.

use std::ops::{BitOr, BitOrAssign};
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// What may have changed; any number of the constants, joined by `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint(u8);

/// The letters by which hints are written.
const LETTERS: [(char, Hint); 3] = [('w', Hint::WAITING), ('m', Hint::MOVED), ('c', Hint::CANCELLING)];

/// How many letters of a text are read.
const MAX_LETTERS: usize = 16;

impl Hint {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A job waits for any process.
    pub const WAITING: Self = Self(1);
    /// A job was claimed, has progressed, or has ended.
    pub const MOVED: Self = Self(2);
    /// A job is to be cancelled by the process that has it.
    pub const CANCELLING: Self = Self(4);
    /// All of them.
    pub const ANY: Self = Self(7);

    /// Whether the two have something in common.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The hint as text, which [`Hint::read`] reads.
    pub(crate) fn text(self) -> String {
        LETTERS.iter().filter(|(_, hint)| self.has(*hint)).map(|(letter, _)| letter).collect()
    }

    /// What a text hints at. Letters that are not known mean nothing.
    pub(crate) fn read(text: &str) -> Self {
        // Another version may send letters of its own, and anyone who can use the database any text.
        let known = |letter| LETTERS.iter().find(|(known, _)| *known == letter).map_or(Self::NONE, |(_, hint)| *hint);
        text.chars().take(MAX_LETTERS).map(known).fold(Self::NONE, BitOr::bitor)
    }
}

impl BitOr for Hint {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Hint {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// A function that is told what may have changed. It must neither wait nor call the store.
pub(crate) type Hear = Box<dyn Fn(Hint) + Send + Sync>;

/// Hints on their way to a task, which gets those together that came meanwhile.
#[derive(Default)]
pub(crate) struct HintBox {
    hints: AtomicU8,
    changed: Notify,
}

impl HintBox {
    pub(crate) fn add(&self, hint: Hint) {
        if hint != Hint::NONE {
            self.hints.fetch_or(hint.0, Ordering::AcqRel);
            self.wake();
        }
    }

    /// Ends [`HintBox::wait`], also without a hint.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits for a hint, or for [`HintBox::wake`].
    pub(crate) async fn wait(&self) -> Hint {
        self.changed.notified().await;
        Hint(self.hints.swap(0, Ordering::AcqRel))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_says_what_was_written(bits in 0_u8..8, noise in "[^wmc]{0,8}") {
            let hint = Hint(bits);
            prop_assert_eq!(Hint::read(&hint.text()), hint);
            prop_assert_eq!(Hint::read(&(noise + &hint.text())), hint);
        }

        #[test]
        fn a_text_of_somebody_else_is_read_too(text in ".{0,40}") {
            prop_assert!(Hint::read(&text).0 <= Hint::ANY.0);
        }
    }
}
