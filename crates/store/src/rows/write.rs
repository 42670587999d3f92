//! What callers can store, as writes of the writer.

use crate::group::write::Write;
use crate::rows::answers::Answer;
use crate::rows::counted::Counts;
use crate::rows::decisions::{DecisionWrite, NewDecision};
use crate::rows::executions::{Execution, Finding};
use crate::rows::jobs::{JobEnd, NewJob};
use crate::rows::log::LogEntry;
use crate::rows::receipts::{NewReceipt, ReceiptWrite};
use crate::rows::reviews::{JudgedReview, Review};
use crate::rows::runs::StepRun;
use crate::rows::sessions::{NewEntries, StoredPin};
use crate::rows::spends::Spends;

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

writes!(
    StepRun,
    NewJob,
    JobEnd,
    Answer,
    Execution,
    Finding,
    Review,
    JudgedReview,
    Spends,
    Counts,
    NewEntries,
    StoredPin,
    LogEntry
);
