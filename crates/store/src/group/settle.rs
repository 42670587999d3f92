//! How a write is settled: it asks what it depends on, is refused or accepted by the answers alone, and says what to store.
//!
//! Settling runs no statement. So each refusal and each promise stands once for both engines, and a group of hundreds of
//! writes takes one round trip to ask, and one to store: an engine that is behind a network sends their questions together,
//! and their statements together ([`crate::engine`]).

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use proofmark_receipt::{ChainEnd, ChainTip, LostEnd};

pub(crate) use crate::chain::Chain;
use crate::ends::Kept;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::written::Written;
use crate::hint::Hint;
use crate::insert::Insert;
pub(crate) use crate::statement::{Question, Record, Statement};
use crate::table::Table;
use crate::tables::{CHAINS, DECISIONS, EXECUTIONS, FINDINGS, LOG_ENTRIES, RECEIPTS, REVIEWS, RUNS, SESSION_ENTRIES};
use crate::tenant::Tenant;
use crate::value::Value;

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

/// The end of a [`Chain`].
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    pub(crate) tip: Option<ChainTip>,
    /// The number of a chain of receipts, once there is one.
    pub(crate) chain_id: Option<i64>,
    /// What of it was lost, which the next document states.
    pub(crate) lost: Option<LostEnd>,
}

impl End {
    /// What the next document is linked to.
    pub(crate) fn link(&self) -> ChainEnd<'_> {
        ChainEnd { tip: self.tip.as_ref(), lost: self.lost }
    }
}

/// Tables whose rows the store numbers, in the first column of each.
pub(crate) static NUMBERED: [&Table; 9] =
    [&RECEIPTS, &DECISIONS, &CHAINS, &REVIEWS, &EXECUTIONS, &FINDINGS, &RUNS, &SESSION_ENTRIES, &LOG_ENTRIES];

/// Asks for the greatest number of each table so far, in the order of [`NUMBERED`].
pub(crate) fn greatest_numbers() -> Question {
    let greatest = NUMBERED.iter().filter_map(|table| {
        let number = table.columns.first()?;
        Some(format!("(SELECT max({}) FROM {})", number.name, table.name))
    });
    Question::alone(format!("SELECT {}", greatest.collect::<Vec<_>>().join(", ")), [])
}

/// Rows that a group stores once, however many of its writes change them: by their tables and their keys.
type Noted = BTreeMap<(&'static str, Vec<Value>), (&'static Insert, Vec<Value>)>;

/// What is known of the rows that the writes of a group share, moved on by each of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) ends: HashMap<Chain, End>,
    /// The chains that were extended.
    pub(crate) extended: HashSet<Chain>,
    /// What this home has kept of the ends of chains.
    pub(crate) kept: HashMap<Chain, Kept>,
    /// Why chains are not extended.
    pub(crate) behind: HashMap<Chain, StoreError>,
    /// The greatest number of each table.
    pub(crate) numbers: BTreeMap<&'static str, i64>,
    noted: Noted,
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

    /// Inserts a row ([`row`](crate::statement::row)), if nothing of the submission is refused.
    pub(crate) fn insert(&mut self, insert: &'static Insert, row: Vec<Value>) {
        self.change.statements.push(Statement::Insert { insert, row });
    }

    /// Runs a statement that inserts no row, if nothing of the submission is refused.
    pub(crate) fn run(&mut self, sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) {
        self.change.statements.push(Statement::other(sql, values));
    }

    /// Tells other processes, once it is stored.
    pub(crate) fn hint(&mut self, hint: Hint) {
        self.change.hint |= hint;
    }

    /// The end of a chain that the write has named ([`Settle::chain`]).
    pub(crate) fn end(&self, chain: &Chain) -> End {
        // A submission may continue one chain several times: its own writes come first.
        self.change.known.ends.get(chain).or_else(|| self.known.ends.get(chain)).cloned().unwrap_or_default()
    }

    pub(crate) fn move_end(&mut self, chain: Chain, end: End) {
        self.change.known.ends.insert(chain, end);
    }

    /// The next number of one of the tables [`NUMBERED`].
    pub(crate) fn number(&mut self, of: &'static Table) -> i64 {
        // A submission that is refused leaves no gap: what it took is forgotten with its change.
        let before = self.change.known.numbers.get(of.name).or_else(|| self.known.numbers.get(of.name)).copied();
        let next = before.unwrap_or_default().saturating_add(1);
        self.change.known.numbers.insert(of.name, next);
        next
    }

    /// Inserts a row at the end of the group, together with all others of the same key: a count that each of hundreds of writes
    /// adds to is stored once.
    pub(crate) fn note(&mut self, insert: &'static Insert, row: Vec<Value>) {
        // In the change of this submission: one that is refused later adds nothing.
        note(&mut self.change.known.noted, insert, row);
    }
}

fn note(noted: &mut Noted, insert: &'static Insert, row: Vec<Value>) {
    match noted.entry((insert.table.name, insert.key(&row))) {
        Entry::Vacant(entry) => drop(entry.insert((insert, row))),
        Entry::Occupied(mut entry) => insert.change(&mut entry.get_mut().1, &row),
    }
}

impl Known {
    /// Moves on to what is so after a submission.
    pub(crate) fn take_in(&mut self, change: Self) {
        self.extended.extend(change.ends.keys().cloned());
        self.ends.extend(change.ends);
        self.numbers.extend(change.numbers);
        change.noted.into_values().for_each(|(insert, row)| note(&mut self.noted, insert, row));
    }

    /// What is stored at the end of the group.
    pub(crate) fn totals(&mut self) -> Vec<Statement> {
        let noted = std::mem::take(&mut self.noted).into_values();
        noted.map(|(insert, row)| Statement::Insert { insert, row }).collect()
    }
}

impl Change {
    /// Why a row of it cannot be stored, whatever is stored already.
    pub(crate) fn refusal(&self) -> Option<StoreError> {
        let inserted = self.statements.iter().filter_map(|statement| match statement {
            Statement::Insert { insert, row } => Some((*insert, row)),
            Statement::Other { .. } => None,
        });
        let noted = self.known.noted.values().map(|(insert, row)| (*insert, row));
        inserted.chain(noted).find_map(|(insert, row)| insert.refusal(row)).or_else(|| unfit_text(self.values()))
    }

    /// All values that it stores.
    fn values(&self) -> impl Iterator<Item = &Value> {
        let noted = self.known.noted.values().flat_map(|(_, row)| row);
        self.statements.iter().flat_map(Statement::values).chain(noted)
    }

    pub(crate) fn into_parts(self) -> (Vec<Statement>, Known) {
        (self.statements, self.known)
    }
}

/// Why one of these values can be neither stored nor compared with what is, which concerns their submission alone. It is the same in both
/// engines, although SQLite would take the character: a store can be copied into the other kind.
pub(crate) fn unfit_text<'a>(mut values: impl Iterator<Item = &'a Value>) -> Option<StoreError> {
    values.any(Value::has_nul).then_some(StoreError::Text)
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
