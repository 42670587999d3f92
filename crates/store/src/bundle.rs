//! What is kept together or not at all: a judgment with the state it leads to, a decision with what it spends.

use proofmark_receipt::{ChainTip, ReceiptId, Sha256Digest};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::error::StoreError;
use crate::jobs::{self, JobEnd, NewJob};
use crate::kept::{self, Spend};
use crate::read;
use crate::reviews::Review;
use crate::served::{self, Answer, Execution, Finding};
use crate::store::NewReceipt;
use crate::tenant::Tenant;
use crate::write::{ReceiptRow, insert_receipt, refusal};

/// The most runs or decisions one listing has.
pub const MAX_LISTED: usize = 1000;

/// Things of one tenant, of which all are kept, or none.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// A receipt.
    pub receipt: Option<NewReceipt>,
    /// The request that `receipt` answers, as JSON, so that it can be run again.
    pub request: Option<String>,
    /// The receipt, issued here for the same tenant, in whose place `receipt` stands.
    pub supersedes: Option<ReceiptId>,
    /// A job that is to outlive the process.
    pub new_job: Option<NewJob>,
    /// The end of such a job.
    pub job: Option<JobEnd>,
    /// The state of a step run.
    pub run: Option<StepRun>,
    /// A decision.
    pub decision: Option<Decision>,
    /// The decision it is linked to; it is refused when another was kept last. Not looked at when nothing is said.
    pub follows: Option<ReceiptId>,
    /// What was answered, so that the same request gets the same answer.
    pub answer: Option<Answer>,
    /// An execution that was reported.
    pub execution: Option<Execution>,
    /// What was found out about executions.
    pub findings: Vec<Finding>,
    /// A review.
    pub review: Option<Review>,
    /// Receipts and approvals that are used up by it.
    pub spends: Vec<Spend>,
    /// What uses them up: a run or the id of a decision.
    pub spent_by: String,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
}

/// The state of one step in one run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun {
    /// The run.
    pub run: String,
    /// Who began it: the id of an API key, `local` for the command line, empty where nobody recorded it. Runs of one name
    /// that different callers began are different runs.
    pub begun_by: String,
    /// The step.
    pub step: String,
    /// How often the state has changed; to be kept, one more than what is kept.
    pub version: u64,
    /// The state, as JSON.
    pub state: String,
}

/// A decision and what it is looked up by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its id.
    pub decision_id: String,
    /// When it was made, in milliseconds after 1970-01-01T00:00:00Z.
    pub decided_at: i64,
    /// Its outcome, as its receipt says it.
    pub outcome: String,
    /// Whether the action may execute.
    pub allowed: bool,
    /// What identifies the action, but for how it is presented.
    pub fingerprint: String,
    /// Its position in the store's chain of decisions; the first is 0.
    pub position: u64,
    /// The decision receipt, as JSON.
    pub document: String,
    /// SHA-256 of the decision receipt in canonical form, which the next one links to; none in rows of older versions.
    pub hash: Option<Sha256Digest>,
    /// For whom and on what, as far as it was said.
    pub about: DecisionIndex,
}

/// For whom a decision was made, and on what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionIndex {
    /// The agent that asked.
    pub agent: Option<String>,
    /// The class of the action.
    pub class: Option<String>,
    /// `disposition.mode` of the receipt.
    pub mode: String,
    /// When it stops to hold, in milliseconds after 1970-01-01T00:00:00Z.
    pub expires_at: i64,
    /// What a report of its execution names it by, where one is expected.
    pub candidate: Option<String>,
    /// The action, as JSON.
    pub action: Option<String>,
    /// Whether a human's word is wanted.
    pub review: bool,
    /// How many approvals it takes until it is not wanted any more.
    pub wanted: u64,
    /// What identifies the action together with the environment and the agent it was asked for.
    pub subject: String,
    /// The facts it was decided on, as JSON, where a reviewer has to see them. Those of older decisions on the same subject
    /// are dropped when it is kept.
    pub facts: Option<String>,
}

pub(crate) struct BundleRow {
    tenant: Tenant,
    bundle: Bundle,
    receipt: Option<ReceiptRow>,
}

impl BundleRow {
    /// # Errors
    /// As [`ReceiptRow::new`].
    pub(crate) fn new(tenant: Tenant, mut bundle: Bundle) -> Result<Self, StoreError> {
        let receipt = bundle.receipt.take().map(|new| ReceiptRow::new(tenant.clone(), new)).transpose()?;
        Ok(Self { tenant, bundle, receipt })
    }

    pub(crate) fn at(&self) -> i64 {
        self.bundle.at
    }

    /// Writes all of it, or answers why it is refused, having changed nothing.
    pub(crate) fn apply(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Result<(), StoreError>> {
        if let Some(refused) = self.refusal(transaction)? {
            return Ok(Err(refused));
        }
        if let Some(row) = &self.receipt {
            match insert_receipt(transaction, row)? {
                Ok(sequence) => kept::put(transaction, &self.tenant, &self.bundle, sequence)?,
                Err(refused) => return Ok(Err(refused)),
            }
        }
        jobs::put(transaction, &self.tenant, &self.bundle)?;
        if let Some(run) = &self.bundle.run {
            put_run(transaction, &self.tenant, run, self.bundle.at)?;
        }
        if let Some(decision) = &self.bundle.decision {
            put_decision(transaction, &self.tenant, decision)?;
        }
        served::put(transaction, &self.tenant, &self.bundle)?;
        for spend in &self.bundle.spends {
            kept::spend(transaction, &self.tenant, spend, &self.bundle.spent_by, self.bundle.at)?;
        }
        Ok(Ok(()))
    }

    fn refusal(&self, connection: &Connection) -> rusqlite::Result<Option<StoreError>> {
        if let Some(row) = &self.receipt
            && let Some(refused) = refusal(connection, row)?
        {
            return Ok(Some(refused));
        }
        if let Some(refused) = kept::refusal(connection, &self.tenant, &self.bundle)? {
            return Ok(Some(refused));
        }
        if let Some(refused) = jobs::refusal(connection, &self.tenant, &self.bundle)? {
            return Ok(Some(refused));
        }
        if let Some(run) = &self.bundle.run {
            let kept =
                step_run(connection, &self.tenant, &run.begun_by, &run.run, &run.step)?.map_or(0, |kept| kept.version);
            if run.version != kept + 1 {
                return Ok(Some(StoreError::RunMoved { run: run.run.clone(), step: run.step.clone() }));
            }
        }
        if let Some(new) = &self.bundle.decision {
            if is_decision(connection, &new.decision_id)? {
                return Ok(Some(StoreError::DecisionKept(new.decision_id.clone())));
            }
            let last = last_decision(connection)?;
            let next = last.as_ref().map_or(0, |last| last.position + 1);
            let follows = self.bundle.follows;
            let other = follows.is_some() && follows != last.map(|last| last.receipt_id);
            if new.position != next || other {
                return Ok(Some(StoreError::DecisionMoved { next }));
            }
        }
        if let Some(refused) = served::refusal(connection, &self.tenant, &self.bundle)? {
            return Ok(Some(refused));
        }
        for (index, spend) in self.bundle.spends.iter().enumerate() {
            let twice = self.bundle.spends.iter().take(index).any(|earlier| earlier.content == spend.content);
            if twice || kept::is_spent(connection, &self.tenant, spend)? {
                return Ok(Some(StoreError::Spent(spend.receipt_id)));
            }
            if kept::is_superseded(connection, &self.tenant, spend)? {
                return Ok(Some(StoreError::Superseded(spend.receipt_id)));
            }
        }
        Ok(None)
    }
}

fn put_run(transaction: &Transaction<'_>, tenant: &Tenant, run: &StepRun, at: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO runs (tenant, begun_by, run, step, version, state, updated_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT (tenant, run, step, begun_by) DO UPDATE SET version = ?5, state = ?6, updated_at = ?7";
    let mut statement = transaction.prepare_cached(sql)?;
    let version = run.version.cast_signed();
    statement.execute((tenant.as_str(), &run.begun_by, &run.run, &run.step, version, &run.state, at)).map(drop)
}

fn put_decision(transaction: &Transaction<'_>, tenant: &Tenant, new: &Decision) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO decisions ({DECISION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
    );
    let about = &new.about;
    transaction.prepare_cached(&sql)?.execute(params![
        new.decision_id,
        new.decided_at,
        new.outcome,
        new.fingerprint,
        new.position.cast_signed(),
        new.document,
        tenant.as_str(),
        about.agent,
        about.class,
        about.mode,
        about.expires_at,
        about.candidate,
        about.action,
        about.review,
        new.allowed,
        new.hash.as_ref().map(Sha256Digest::as_bytes),
        about.subject,
        about.wanted.cast_signed(),
    ])?;
    let sql = "DELETE FROM asked WHERE decision_id IN
                   (SELECT decision_id FROM decisions WHERE tenant = ?1 AND subject = ?2)";
    transaction.prepare_cached(sql)?.execute([tenant.as_str(), &about.subject])?;
    if let Some(facts) = &about.facts {
        let sql = "INSERT INTO asked (decision_id, facts) VALUES (?1, ?2)";
        transaction.prepare_cached(sql)?.execute([&new.decision_id, facts])?;
    }
    Ok(())
}

pub(crate) fn step_run(
    connection: &Connection,
    tenant: &Tenant,
    begun_by: &str,
    run: &str,
    step: &str,
) -> rusqlite::Result<Option<StepRun>> {
    let sql = format!("SELECT {RUN} FROM runs WHERE tenant = ?1 AND begun_by = ?2 AND run = ?3 AND step = ?4");
    connection.prepare_cached(&sql)?.query_row([tenant.as_str(), begun_by, run, step], read_run).optional()
}

pub(crate) fn runs(connection: &Connection, tenant: &Tenant, run: Option<&str>) -> rusqlite::Result<Vec<StepRun>> {
    let sql = format!(
        "SELECT {RUN} FROM runs WHERE tenant = ?1 AND (?2 IS NULL OR run = ?2)
         ORDER BY updated_at DESC, run, step, begun_by LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map((tenant.as_str(), run, MAX_LISTED as i64), read_run)?.collect()
}

pub(crate) fn all_runs(connection: &Connection) -> rusqlite::Result<Vec<(Tenant, StepRun)>> {
    let sql = format!("SELECT {RUN}, tenant FROM runs ORDER BY updated_at DESC, tenant, run, step, begun_by LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((Tenant::kept(row.get_ref(5)?.as_str()?), read_run(row)?));
    statement.query_map([MAX_LISTED as i64], read)?.collect()
}

/// Whether `by` began a run of this name, and who else did, if anybody.
pub(crate) fn begun(
    connection: &Connection,
    tenant: &Tenant,
    run: &str,
    by: &str,
) -> rusqlite::Result<(bool, Option<String>)> {
    let sql = "SELECT coalesce(max(begun_by = ?3), 0), max(CASE WHEN begun_by <> ?3 THEN begun_by END)
               FROM runs WHERE tenant = ?1 AND run = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([tenant.as_str(), run, by], |row| Ok((row.get(0)?, row.get(1)?)))
}

const RUN: &str = "run, begun_by, step, version, state";

fn read_run(row: &Row<'_>) -> rusqlite::Result<StepRun> {
    let version: i64 = row.get(3)?;
    Ok(StepRun {
        run: row.get(0)?,
        begun_by: row.get(1)?,
        step: row.get(2)?,
        version: version.cast_unsigned(),
        state: row.get(4)?,
    })
}

pub(crate) fn decision(connection: &Connection, tenant: &Tenant, id: &str) -> rusqlite::Result<Option<Decision>> {
    let sql = format!("SELECT {DECISION} FROM decisions WHERE decision_id = ?1 AND tenant = ?2");
    connection.prepare_cached(&sql)?.query_row([id, tenant.as_str()], read_decision).optional()
}

pub(crate) fn any_decision(connection: &Connection, id: &str) -> rusqlite::Result<Option<(Tenant, Decision)>> {
    let sql = format!("SELECT {DECISION} FROM decisions WHERE decision_id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], read_any_decision).optional()
}

fn is_decision(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM decisions WHERE decision_id = ?1")?.exists([id])
}

/// The decision that was kept last, as the end of the chain: its document need not be readable.
pub(crate) fn last_decision(connection: &Connection) -> rusqlite::Result<Option<ChainTip>> {
    let sql = "SELECT decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
    let tip = |row: &Row<'_>| {
        let id = row.get_ref(0)?.as_str()?;
        let receipt_id = id.parse().map_err(|error| read::changed(0, Type::Text, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: read::count(row, 2)? })
    };
    connection.prepare_cached(sql)?.query_row([], tip).optional()
}

pub(crate) const DECISION: &str = "decision_id, decided_at, outcome, fingerprint, position, document, tenant, agent, \
                                   class, mode, expires_at, candidate, action, review, allowed, hash, subject, wanted";
/// How many columns [`DECISION`] has.
pub(crate) const DECISION_COLUMNS: usize = 18;

/// A row that begins with [`DECISION`], and whose it is.
pub(crate) fn read_any_decision(row: &Row<'_>) -> rusqlite::Result<(Tenant, Decision)> {
    Ok((Tenant::kept(row.get_ref(6)?.as_str()?), read_decision(row)?))
}

pub(crate) fn read_decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    Ok(Decision {
        decision_id: row.get(0)?,
        decided_at: row.get(1)?,
        outcome: row.get(2)?,
        fingerprint: row.get(3)?,
        position: row.get::<_, i64>(4)?.cast_unsigned(),
        document: row.get(5)?,
        allowed: row.get(14)?,
        hash: row.get::<_, Option<[u8; 32]>>(15)?.map(Sha256Digest::from_bytes),
        about: DecisionIndex {
            agent: row.get(7)?,
            class: row.get(8)?,
            mode: row.get(9)?,
            expires_at: row.get(10)?,
            candidate: row.get(11)?,
            action: row.get(12)?,
            review: row.get(13)?,
            wanted: row.get::<_, i64>(17)?.cast_unsigned(),
            subject: row.get(16)?,
            facts: None,
        },
    })
}
