//! How a write is settled: it asks what it depends on, is refused or accepted by the answers alone, and says what to store.
//!
//! Settling runs no statement. So each refusal and each promise stands once for both engines, and a group of hundreds of
//! writes takes one round trip to ask, and one to store: an engine that is behind a network sends their questions together,
//! and their statements together ([`crate::engine`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use proofmark_receipt::ChainTip;

use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::written::Written;
use crate::hint::Hint;
pub(crate) use crate::row::Record;
use crate::tenant::Tenant;
use crate::value::Value;

/// A statement that answers with rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

/// A statement that stores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

/// The answers to the questions of one write, in the order of the questions.
pub(crate) struct Facts<'a>(pub(crate) &'a mut dyn Iterator<Item = Vec<Record>>);

/// Why a write is not stored.
#[derive(Debug)]
pub(crate) enum Stop {
    /// This submission is refused, alone.
    Refused(StoreError),
    /// The group fails.
    Fault(Fault),
}

/// A chain of documents that each link to the one before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Chain {
    Receipts(Tenant, String),
    Decisions,
    Session(Tenant, String),
}

/// The end of a [`Chain`].
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    pub(crate) tip: Option<ChainTip>,
    /// The number of a chain of receipts, once there is one.
    pub(crate) chain_id: Option<i64>,
}

/// Tables whose rows are numbered by the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Numbered {
    Receipts,
    Decisions,
    Chains,
}

impl Numbered {
    pub(crate) const ALL: [Self; 3] = [Self::Receipts, Self::Decisions, Self::Chains];

    /// Asks for the greatest number of each so far, in the order of [`Numbered::ALL`].
    pub(crate) const GREATEST: &str = "SELECT (SELECT max(sequence) FROM receipts),
        (SELECT max(sequence) FROM decisions), (SELECT max(chain_id) FROM chains)";
}

/// A row that a group changes once, however many of its writes add to it: by the statement that adds to it, and its key.
pub(crate) type Sum = (&'static str, Vec<Value>);

/// Between which times the rows of a block were made: by the statement that notes it, and the block.
pub(crate) type Bounds = (&'static str, i64);

/// What is known of the rows that the writes of a group share, moved on by each of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) ends: HashMap<Chain, End>,
    /// The greatest number of each table.
    pub(crate) numbers: BTreeMap<Numbered, i64>,
    pub(crate) sums: BTreeMap<Sum, i64>,
    pub(crate) bounds: BTreeMap<Bounds, (i64, i64)>,
}

/// What a submission does if it is not refused: until then nothing is changed.
pub(crate) struct Draft<'a> {
    pub(crate) tenant: &'a Tenant,
    /// When it is stored, in milliseconds after 1970-01-01T00:00:00Z.
    pub(crate) now: i64,
    known: &'a Known,
    change: Change,
}

/// What a submission changes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) statements: Vec<Statement>,
    /// What other processes are told.
    pub(crate) hint: Hint,
    known: Known,
}

/// What no two writes may have in common that are settled by the same answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(&'static str, String);

/// A write of one table. It can be settled again, by other answers.
pub(crate) trait Settle: Send {
    /// The keys of the rows that its answers are about, and of those that it changes.
    fn keys(&self, tenant: &Tenant) -> Vec<Key>;

    /// The chain that it continues.
    fn chain(&self, tenant: &Tenant) -> Option<Chain> {
        let _none = tenant;
        None
    }

    /// What it depends on.
    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        let _none = tenant;
        Vec::new()
    }

    /// Refuses it, or notes in `draft` what to store.
    ///
    /// # Errors
    /// [`Stop`]
    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop>;

    /// The latest time that it bears, in milliseconds after 1970-01-01T00:00:00Z: what was signed at that time was not stored
    /// before it, whatever the clock shows now.
    fn time(&self) -> i64 {
        0
    }

    /// Adds what was made when it was last settled, once that is stored.
    fn finish(self: Box<Self>, written: &mut Written) {
        let _nothing = written;
    }
}

impl Question {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) -> Self {
        Self { sql: sql.into(), values: values.into() }
    }
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) -> Self {
        Self { sql: sql.into(), values: values.into() }
    }
}

impl Key {
    /// The key of a row, by its kind and all that identifies it.
    pub(crate) fn new(kind: &'static str, parts: &[&str]) -> Self {
        // No part contains a zero character together with another split of the same text: the length of each is noted.
        let text = parts.iter().map(|part| format!("{}\0{part}", part.len())).collect();
        Self(kind, text)
    }
}

impl Facts<'_> {
    /// The rows that answer the next question.
    pub(crate) fn rows(&mut self) -> Vec<Record> {
        self.0.next().unwrap_or_default()
    }

    /// The first row that answers the next question.
    pub(crate) fn row(&mut self) -> Option<Record> {
        self.rows().into_iter().next()
    }
}

impl<'a> Draft<'a> {
    pub(crate) fn new(tenant: &'a Tenant, now: i64, known: &'a Known) -> Self {
        Self { tenant, now, known, change: Change::default() }
    }

    pub(crate) fn finish(self) -> Change {
        self.change
    }

    /// Runs this statement, if nothing of the submission is refused.
    pub(crate) fn store(&mut self, sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) {
        self.change.statements.push(Statement { sql: sql.into(), values: values.into() });
    }

    /// Tells other processes, once it is stored.
    pub(crate) fn hint(&mut self, hint: Hint) {
        self.change.hint |= hint;
    }

    /// The end of a chain that the write has named ([`Settle::chain`]).
    pub(crate) fn end(&self, chain: &Chain) -> End {
        self.change.known.ends.get(chain).or_else(|| self.known.ends.get(chain)).cloned().unwrap_or_default()
    }

    pub(crate) fn move_end(&mut self, chain: Chain, end: End) {
        self.change.known.ends.insert(chain, end);
    }

    /// The next number of a table.
    pub(crate) fn number(&mut self, of: Numbered) -> i64 {
        let before = self.change.known.numbers.get(&of).or_else(|| self.known.numbers.get(&of)).copied();
        let next = before.unwrap_or_default().saturating_add(1);
        self.change.known.numbers.insert(of, next);
        next
    }

    /// Adds to a row that many writes add to. The statement takes the values, and the sum after them.
    pub(crate) fn add(&mut self, sql: &'static str, values: impl Into<Vec<Value>>, more: i64) {
        *self.change.known.sums.entry((sql, values.into())).or_default() += more;
    }

    /// Notes when a row of a block was made. The statement takes the block, the earliest and the latest time.
    pub(crate) fn note_time(&mut self, sql: &'static str, block: i64, at: i64) {
        let (earliest, latest) = self.change.known.bounds.entry((sql, block)).or_insert((at, at));
        (*earliest, *latest) = ((*earliest).min(at), (*latest).max(at));
    }
}

impl Known {
    /// Moves on to what is so after a submission.
    pub(crate) fn take_in(&mut self, change: Self) {
        self.ends.extend(change.ends);
        self.numbers.extend(change.numbers);
        for (sum, more) in change.sums {
            *self.sums.entry(sum).or_default() += more;
        }
        for (bounds, (first, last)) in change.bounds {
            let (earliest, latest) = self.bounds.entry(bounds).or_insert((first, last));
            (*earliest, *latest) = ((*earliest).min(first), (*latest).max(last));
        }
    }

    /// What is stored at the end of the group.
    pub(crate) fn totals(&mut self) -> Vec<Statement> {
        let sums = std::mem::take(&mut self.sums).into_iter().map(|((sql, mut values), more)| {
            values.push(more.into());
            Statement { sql: sql.into(), values }
        });
        let bounds = std::mem::take(&mut self.bounds).into_iter().map(|((sql, block), (earliest, latest))| Statement {
            sql: sql.into(),
            values: vec![block.into(), earliest.into(), latest.into()],
        });
        sums.chain(bounds).collect()
    }
}

impl Change {
    /// What is stored: each statement with its values, and those of sums without the sum.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (Cow<'static, str>, &[Value])> {
        let statements = self.statements.iter().map(|statement| (statement.sql.clone(), statement.values.as_slice()));
        let sums = self.known.sums.keys().map(|(sql, values)| (Cow::Borrowed(*sql), values.as_slice()));
        statements.chain(sums)
    }

    pub(crate) fn into_parts(self) -> (Vec<Statement>, Known) {
        (self.statements, self.known)
    }
}

impl From<StoreError> for Stop {
    fn from(refused: StoreError) -> Self {
        Self::Refused(refused)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
