//! One thing to store, and what several that are stored together or not at all come to.
//!
//! Each table has a file of its own, whose type of new row says what it depends on, why it cannot be stored, and what is
//! stored ([`Settle`]). Nothing is changed before the last write of a submission is settled, so a submission that is refused
//! leaves nothing behind; the other submissions of its group go on.

use crate::group::settle::Settle;
use crate::group::written::Written;
use crate::rows::answers::Answer;
use crate::rows::decisions::{DecisionWrite, NewDecision};
use crate::rows::executions::{Execution, Finding};
use crate::rows::jobs::{JobEnd, NewJob};
use crate::rows::receipts::{NewReceipt, ReceiptWrite};
use crate::rows::reviews::{JudgedReview, Review};
use crate::rows::runs::StepRun;
use crate::rows::sessions::{NewEntries, StoredPin};
use crate::rows::spends::Spends;

/// One thing to store, made of a value by `into`: a [`NewReceipt`], [`NewDecision`], [`StepRun`], [`NewJob`], [`JobEnd`],
/// [`Answer`], [`Execution`], [`Finding`], [`Review`], [`JudgedReview`], [`Spends`], [`NewEntries`] or [`StoredPin`].
pub struct Write(pub(crate) Box<dyn Settle>);

/// What came of these writes, which were stored at that time.
pub(crate) fn written(writes: Vec<Write>, at: i64) -> Written {
    let mut written = Written { receipt: None, decision: None, at };
    writes.into_iter().for_each(|Write(write)| write.finish(&mut written));
    written
}

impl From<NewReceipt> for Write {
    fn from(receipt: NewReceipt) -> Self {
        Self(Box::new(ReceiptWrite::new(receipt)))
    }
}

impl From<NewDecision> for Write {
    fn from(decision: NewDecision) -> Self {
        Self(Box::new(DecisionWrite::new(decision)))
    }
}

/// Makes writes of values that are written as they are.
macro_rules! writes {
    ($($row:ty),*) => {$(
        impl From<$row> for Write {
            fn from(row: $row) -> Self {
                Self(Box::new(row))
            }
        }
    )*};
}

writes!(StepRun, NewJob, JobEnd, Answer, Execution, Finding, Review, JudgedReview, Spends, NewEntries, StoredPin);
