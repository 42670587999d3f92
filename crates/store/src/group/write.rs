//! One thing to store, and what several that are stored together or not at all come to.
//!
//! Each table has a file in `rows`, whose type of new row says what it depends on, why it cannot be stored, and what is
//! stored ([`Settle`]). Nothing is changed before the last write of a submission is settled, so a submission that is refused
//! leaves nothing behind; the other submissions of its group go on.

use crate::group::settle::Settle;
use crate::group::written::Written;

/// One thing to store, made of a value by `into`: a [`crate::NewReceipt`], [`crate::NewDecision`], [`crate::StepRun`],
/// [`crate::NewJob`], [`crate::JobEnd`], [`crate::Answer`], [`crate::Execution`], [`crate::Finding`], [`crate::Review`],
/// [`crate::JudgedReview`], [`crate::Spends`], [`crate::Counts`], [`crate::NewEntries`], [`crate::StoredPin`]
/// or [`crate::LogEntry`].
pub struct Write(pub(crate) Box<dyn Settle>);

/// What came of these writes, which were stored at that time.
pub(crate) fn written(writes: Vec<Write>, at: i64) -> Written {
    let mut written = Written { receipt: None, decision: None, at };
    writes.into_iter().for_each(|Write(write)| write.finish(&mut written));
    written
}
