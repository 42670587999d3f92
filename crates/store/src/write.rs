//! One thing to store, and how several are stored together or not at all.
//!
//! Each table has a file of its own, whose type of new row knows two things: why it cannot be stored (`refusal`), and how
//! it is stored (`put`). [`apply`] runs the writes of one submission through three passes:
//!
//! 1. **Link.** A receipt or a decision that continues a chain is linked to the chain's tip and signed.
//! 2. **Refusals**, of all writes, in order. The first one ends the submission.
//! 3. **Puts**, of all writes, in order.
//!
//! Nothing is changed before the third pass, so a submission that is refused leaves nothing behind and needs no savepoint;
//! the other submissions of its group go on. A failure of SQLite, in any pass, fails the whole group.

use proofmark_receipt::{Receipt, SignedLink};

use crate::answers::Answer;
use crate::decisions::{DecisionWrite, NewDecision};
use crate::error::StoreError;
use crate::executions::{Execution, Finding};
use crate::jobs::{JobEnd, NewJob};
use crate::receipts::{NewReceipt, ReceiptWrite};
use crate::reviews::Review;
use crate::runs::StepRun;
use crate::scope::Scope;
use crate::sessions::{EntriesWrite, NewEntries, StoredPin};
use crate::spends::Spends;

/// One thing to store, made of a value by `into`: a [`NewReceipt`], [`NewDecision`], [`StepRun`], [`NewJob`], [`JobEnd`],
/// [`Answer`], [`Execution`], [`Finding`], [`Review`], [`Spends`], [`NewEntries`] or [`StoredPin`].
pub struct Write(Row);

/// One variant a table.
enum Row {
    Receipt(Box<ReceiptWrite>),
    Decision(Box<DecisionWrite>),
    Run(StepRun),
    Job(NewJob),
    JobEnd(JobEnd),
    Answer(Answer),
    Execution(Execution),
    Finding(Finding),
    Review(Box<Review>),
    Spends(Spends),
    Entries(EntriesWrite),
    Pin(Box<StoredPin>),
}

/// What was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The receipt among it, linked and signed.
    pub receipt: Option<Receipt>,
    /// The decision among it, linked and signed.
    pub decision: Option<SignedLink>,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
}

/// Stores all of `writes`, or answers why one of them is refused, having changed nothing.
pub(crate) fn apply(mut writes: Vec<Write>, scope: &Scope<'_>) -> rusqlite::Result<Result<Written, StoreError>> {
    // Before the refusals: a receipt on a chain has no id to look for until it is signed.
    for Write(row) in &mut writes {
        if let Some(refused) = row.link(scope)? {
            return Ok(Err(refused));
        }
    }
    for Write(row) in &writes {
        // The other writes of the submission are not visible yet. `Spends`, which may list one document twice, looks
        // for that itself.
        if let Some(refused) = row.refusal(scope)? {
            return Ok(Err(refused));
        }
    }
    for Write(row) in &writes {
        row.put(scope)?;
    }
    let mut written = Written { receipt: None, decision: None, at: scope.now };
    for Write(row) in writes {
        match row {
            Row::Receipt(receipt) => written.receipt = written.receipt.or(receipt.into_receipt()),
            Row::Decision(decision) => written.decision = decision.into_signed(),
            _ => {}
        }
    }
    Ok(Ok(written))
}

/// The latest time that any of `writes` bears, in milliseconds after 1970-01-01T00:00:00Z: what was signed at that time was
/// not stored before it, whatever the clock shows now.
pub(crate) fn latest_time(writes: &[Write]) -> i64 {
    writes.iter().map(|Write(row)| row.time()).max().unwrap_or_default()
}

impl Row {
    fn link(&mut self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        match self {
            Self::Receipt(receipt) => receipt.link(scope),
            Self::Decision(decision) => decision.link(scope),
            Self::Entries(entries) => entries.link(scope),
            _ => Ok(None),
        }
    }

    fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        match self {
            Self::Receipt(receipt) => receipt.refusal(scope),
            Self::Decision(decision) => decision.refusal(scope),
            Self::Run(run) => run.refusal(scope),
            Self::Job(job) => job.refusal(scope),
            Self::JobEnd(end) => end.refusal(scope),
            Self::Answer(answer) => answer.refusal(scope),
            Self::Review(review) => review.refusal(scope),
            Self::Spends(spends) => spends.refusal(scope),
            Self::Execution(_) | Self::Finding(_) | Self::Entries(_) | Self::Pin(_) => Ok(None),
        }
    }

    fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        match self {
            Self::Receipt(receipt) => receipt.put(scope),
            Self::Decision(decision) => decision.put(scope),
            Self::Run(run) => run.put(scope),
            Self::Job(job) => job.put(scope),
            Self::JobEnd(end) => end.put(scope),
            Self::Answer(answer) => answer.put(scope),
            Self::Execution(execution) => execution.put(scope),
            Self::Finding(finding) => finding.put(scope),
            Self::Review(review) => review.put(scope),
            Self::Spends(spends) => spends.put(scope),
            Self::Entries(entries) => entries.put(scope),
            Self::Pin(pin) => pin.put(scope),
        }
    }

    fn time(&self) -> i64 {
        match self {
            Self::Decision(decision) => decision.time(),
            Self::Review(review) => review.reviewed_at,
            _ => 0,
        }
    }
}

impl From<NewReceipt> for Write {
    fn from(receipt: NewReceipt) -> Self {
        Self(Row::Receipt(Box::new(ReceiptWrite::new(receipt))))
    }
}

impl From<NewDecision> for Write {
    fn from(decision: NewDecision) -> Self {
        Self(Row::Decision(Box::new(DecisionWrite::new(decision))))
    }
}

impl From<StepRun> for Write {
    fn from(run: StepRun) -> Self {
        Self(Row::Run(run))
    }
}

impl From<NewJob> for Write {
    fn from(job: NewJob) -> Self {
        Self(Row::Job(job))
    }
}

impl From<JobEnd> for Write {
    fn from(end: JobEnd) -> Self {
        Self(Row::JobEnd(end))
    }
}

impl From<Answer> for Write {
    fn from(answer: Answer) -> Self {
        Self(Row::Answer(answer))
    }
}

impl From<Execution> for Write {
    fn from(execution: Execution) -> Self {
        Self(Row::Execution(execution))
    }
}

impl From<Finding> for Write {
    fn from(finding: Finding) -> Self {
        Self(Row::Finding(finding))
    }
}

impl From<Review> for Write {
    fn from(review: Review) -> Self {
        Self(Row::Review(Box::new(review)))
    }
}

impl From<Spends> for Write {
    fn from(spends: Spends) -> Self {
        Self(Row::Spends(spends))
    }
}

impl From<NewEntries> for Write {
    fn from(entries: NewEntries) -> Self {
        Self(Row::Entries(EntriesWrite::new(entries)))
    }
}

impl From<StoredPin> for Write {
    fn from(pin: StoredPin) -> Self {
        Self(Row::Pin(Box::new(pin)))
    }
}
