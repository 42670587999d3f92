//! Decisions: one chain of all tenants, counted for each action, looked up by what they are about.

use proofmark_receipt::{ChainTip, Link, Object, ReceiptId, Sha256Digest, SignError};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::awaited;
use crate::column;
use crate::error::StoreError;
use crate::listing::{self, Condition, Listing, Part, Table};
use crate::page::{self, Cursor, MAX_PAGE};
use crate::read::MAX_FOUND;
use crate::reviews;
use crate::scope::Scope;
use crate::signing;
use crate::tenant::Tenant;
use crate::times::{self, Period};

/// The chain of decisions, where messages name it.
const CHAIN: &str = "decisions";

/// Links a decision receipt to the tip of the chain of decisions (`None`: it is the first) and signs it. It runs in the
/// store's writer, inside the transaction that stores the decision, so it does nothing else.
pub type SignDecision = Box<dyn FnOnce(Option<&ChainTip>) -> Result<Object, SignError> + Send>;

/// A decision to store.
pub struct NewDecision {
    pub decision_id: ReceiptId,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub decided_at: i64,
    /// The outcome that its receipt states.
    pub outcome: String,
    /// Whether the action may execute.
    pub allowed: bool,
    /// What identifies the action, apart from how it is presented.
    pub fingerprint: String,
    /// Which decision on this action it is, counted from 1: one more than [`ActionHistory::decided`] was when the decision
    /// was made. Refused with [`StoreError::DecidedMeanwhile`] if another one has this number.
    pub nth: u64,
    pub about: DecisionIndex,
    pub sign: SignDecision,
}

/// A stored decision and what it is looked up by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub decision_id: String,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub decided_at: i64,
    /// The outcome that its receipt states.
    pub outcome: String,
    /// Whether the action may execute.
    pub allowed: bool,
    /// What identifies the action, apart from how it is presented.
    pub fingerprint: String,
    /// Its position in the chain of decisions; the first is 0.
    pub position: u64,
    /// The decision receipt, as JSON.
    pub document: String,
    /// SHA-256 of the decision receipt in canonical form, which the next one links to; none in rows of older versions.
    pub hash: Option<Sha256Digest>,
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
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub expires_at: i64,
    /// What a report of its execution names it by, where one is expected.
    pub candidate: Option<String>,
    /// The action, as JSON.
    pub action: Option<String>,
    /// The tool that the action calls, by which decisions are listed; decisions that are read do not have it.
    pub tool: Option<String>,
    /// Whether it waits for a review.
    pub review: bool,
    /// How many approvals it waits for.
    pub wanted: u64,
    /// What identifies the action together with the environment and the agent it was asked for.
    pub subject: String,
    /// The facts it was decided on, as JSON, where a reviewer has to see them. Those of older decisions on the same subject
    /// are dropped when it is stored.
    pub facts: Option<String>,
}

/// What was decided on an action so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionHistory {
    /// How often it was decided on.
    pub decided: u64,
    /// How often it was denied since it was last allowed.
    pub denied: u64,
}

/// Which decisions to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionsWanted {
    pub outcome: Option<String>,
    /// The class of the action.
    pub class: Option<String>,
    /// The agent that asked.
    pub agent: Option<String>,
    /// The tool that the action calls.
    pub tool: Option<String>,
    /// Only those that wait for a review: of each subject the newest, unless it has enough reviews.
    pub to_review: bool,
    /// Only those made at or after this time, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: Option<i64>,
    /// Only those made before this time.
    pub until: Option<i64>,
    /// How many at most: 1 to [`MAX_PAGE`]; a value outside is replaced by the nearest of these.
    pub limit: usize,
    /// Only those after this place.
    pub after: Option<Cursor>,
}

/// Some decisions, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Decisions {
    pub decisions: Vec<Decision>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// A decision on its way into the database.
pub(crate) struct DecisionWrite {
    decision_id: ReceiptId,
    decided_at: i64,
    outcome: String,
    allowed: bool,
    fingerprint: String,
    nth: u64,
    about: DecisionIndex,
    receipt: Receipt,
}

enum Receipt {
    Unlinked(SignDecision),
    Signed {
        document: String,
        hash: Sha256Digest,
        position: u64,
    },
    /// It was refused.
    None,
}

impl DecisionWrite {
    pub(crate) fn new(new: NewDecision) -> Self {
        let NewDecision { decision_id, decided_at, outcome, allowed, fingerprint, nth, about, sign } = new;
        let receipt = Receipt::Unlinked(sign);
        Self { decision_id, decided_at, outcome, allowed, fingerprint, nth, about, receipt }
    }

    pub(crate) fn time(&self) -> i64 {
        self.decided_at
    }

    /// Links the receipt to the tip that the chain has in this transaction, and signs it.
    pub(crate) fn link(&mut self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        match std::mem::replace(&mut self.receipt, Receipt::None) {
            Receipt::Unlinked(sign) => {
                let tip = last_decision(scope.connection)?;
                match link(self.decision_id, tip.as_ref(), sign) {
                    Ok(signed) => self.receipt = signed,
                    Err(refused) => return Ok(Some(refused)),
                }
            }
            other => self.receipt = other,
        }
        Ok(None)
    }

    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        // Of all tenants: one chain links the decisions of all, so the column is unique in the whole store.
        let id = self.decision_id.to_string();
        if scope.connection.prepare_cached("SELECT 1 FROM decisions WHERE decision_id = ?1")?.exists([&id])? {
            return Ok(Some(StoreError::DecisionStored(id)));
        }
        // Without this the unique index `decisions_by_action` would fail, and with it the whole group.
        let decided = history(scope.connection, scope.tenant, &self.fingerprint)?.decided;
        Ok((self.nth != decided.saturating_add(1)).then_some(StoreError::DecidedMeanwhile(id)))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        // A submission whose `link` was refused never comes here.
        let Receipt::Signed { document, hash, position } = &self.receipt else { return Ok(()) };
        let id = self.decision_id.to_string();
        let about = &self.about;
        let sql = format!(
            "INSERT INTO decisions ({DECISION}, nth, tool)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"
        );
        let sequence = scope.connection.prepare_cached(&sql)?.insert(params![
            id,
            self.decided_at,
            self.outcome,
            self.fingerprint,
            position.cast_signed(),
            document,
            scope.tenant.as_str(),
            about.agent,
            about.class,
            about.mode,
            about.expires_at,
            about.candidate,
            about.action,
            about.review,
            self.allowed,
            hash.as_bytes(),
            about.subject,
            about.wanted.cast_signed(),
            self.nth.cast_signed(),
            about.tool,
        ])?;
        times::note(scope.connection, DECISIONS.times, sequence, self.decided_at)?;
        put_facts(scope, &id, about, sequence)?;
        reviews::put_waiting(scope, &about.subject, about.review.then_some(sequence))?;
        // The runtime will report what became of the action.
        match about.candidate.is_some() && self.allowed {
            true => awaited::put(scope, &id, about.expires_at),
            false => Ok(()),
        }
    }
}

fn link(id: ReceiptId, tip: Option<&ChainTip>, sign: SignDecision) -> Result<Receipt, StoreError> {
    // The store trusts no closure with the order of its chains, as with receipts.
    let object = signing::call(CHAIN, || sign(tip))?;
    let own = Link { id, document: &object }.follows(tip).ok_or_else(|| StoreError::NotLinked(CHAIN.to_owned()))?;
    Ok(Receipt::Signed { document: object.to_text(), hash: own.hash, position: own.position })
}

fn put_facts(scope: &Scope<'_>, decision_id: &str, about: &DecisionIndex, sequence: i64) -> rusqlite::Result<()> {
    // Only the newest decision on a subject waits for a review (`reviews::WAITS`); approvals are judged on its facts. So
    // only the one before this may have some: it took the place of those before it.
    let sql = "DELETE FROM asked WHERE decision_id =
                   (SELECT decision_id FROM decisions WHERE tenant = ?1 AND subject = ?2 AND sequence < ?3
                    ORDER BY sequence DESC LIMIT 1)";
    scope.connection.prepare_cached(sql)?.execute(params![scope.tenant.as_str(), about.subject, sequence])?;
    if let Some(facts) = &about.facts {
        let sql = "INSERT INTO asked (decision_id, facts) VALUES (?1, ?2)";
        scope.connection.prepare_cached(sql)?.execute([decision_id, facts])?;
    }
    Ok(())
}

/// What was decided on the tenant's action with this fingerprint. Both numbers are read off the ends of indexes.
pub(crate) fn history(connection: &Connection, tenant: &Tenant, fingerprint: &str) -> rusqlite::Result<ActionHistory> {
    let sql = "SELECT coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2), 0),
                      coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2 AND allowed), 0)";
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), fingerprint], |row| {
        // Numbers have no gaps (`refusal`), so the difference is how many decisions came after the last allowed one.
        let (decided, last_allowed) = (column::count(row, 0)?, column::count(row, 1)?);
        Ok(ActionHistory { decided, denied: decided.saturating_sub(last_allowed) })
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

/// The ids of decisions from the first one to the last one that a prefix can stand for.
pub(crate) fn between(connection: &Connection, first: &str, last: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT decision_id FROM decisions WHERE decision_id BETWEEN ?1 AND ?2 ORDER BY decision_id LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![first, last, MAX_FOUND as i64], |row| row.get(0))?;
    rows.collect()
}

/// The end of the chain of decisions. The document of the last one need not be readable.
pub(crate) fn last_decision(connection: &Connection) -> rusqlite::Result<Option<ChainTip>> {
    // Rows of older versions have no hash, except the last one, and no other can be the tip.
    let sql = "SELECT decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
    let tip = |row: &Row<'_>| {
        let id = row.get_ref(0)?.as_str()?;
        let receipt_id = id.parse().map_err(|error| column::changed(0, Type::Text, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: column::count(row, 2)? })
    };
    connection.prepare_cached(sql)?.query_row([], tip).optional()
}

/// The decisions, as lists have them.
const DECISIONS: Table = Table { name: "decisions", groups: &["outcome"], time: "decided_at", times: "decision_times" };

/// Those that wait for a review, as lists have them. They are few, so every row of a tenant is looked through.
const WAITING: Table = Table { name: "waiting CROSS JOIN decisions USING (sequence)", groups: &[], ..DECISIONS };

pub(crate) fn decisions(
    connection: &Connection,
    tenant: Option<&Tenant>,
    wanted: &DecisionsWanted,
) -> rusqlite::Result<Decisions> {
    // Several statements, which must see the same rows: one that came between two of them would shift the pages.
    let moment = connection.unchecked_transaction()?;
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let listing = Listing {
        table: if wanted.to_review { &WAITING } else { &DECISIONS },
        parts: parts(&moment, tenant, wanted)?,
        groups: vec![text(&wanted.outcome)],
        period: Period { since: wanted.since, until: wanted.until, after: wanted.after },
        // One more than asked for is looked up: it tells whether there is a next page.
        limit: limit + 1,
    };
    let sql = format!("SELECT {DECISION} FROM decisions WHERE sequence = ?1");
    let mut statement = moment.prepare_cached(&sql)?;
    let rows = listing::newest(&moment, &listing)?;
    let rows = rows.into_iter().map(|sequence| Ok((sequence, statement.query_row([sequence], read_decision)?)));
    let (decisions, next) = page::cut(rows.collect::<rusqlite::Result<_>>()?, limit);
    Ok(Decisions { decisions, next })
}

/// The parts of the table that have all decisions that are wanted: one for each tenant, by the index that is likely to find
/// the fewest.
fn parts(connection: &Connection, tenant: Option<&Tenant>, wanted: &DecisionsWanted) -> rusqlite::Result<Vec<Part>> {
    let DecisionsWanted { outcome, class, agent, tool, to_review, .. } = wanted;
    let filters = [("tool", tool), ("agent", agent), ("class", class)];
    let filters: Vec<Condition> =
        filters.into_iter().filter_map(|(column, value)| Some((column, Value::from(value.clone()?)))).collect();
    let tenants = match tenant {
        Some(tenant) => vec![tenant.as_str().to_owned()],
        None if outcome.is_none() && filters.is_empty() && !to_review => return Ok(vec![Part::default()]),
        None => listing::distinct(connection, DECISIONS.name, "tenant")?,
    };
    let part = |tenant: String| match to_review {
        true => {
            let outcome = outcome.iter().map(|outcome| ("outcome", Value::from(outcome.clone())));
            let checks = outcome.chain(filters.clone()).collect();
            Part { index: vec![("waiting.tenant", tenant.into())], checks, only: Some(reviews::WAITS) }
        }
        false => {
            let mut checks = filters.clone().into_iter();
            let index = [Some(("tenant", tenant.into())), checks.next()].into_iter().flatten().collect();
            Part { index, checks: checks.collect(), only: None }
        }
    };
    Ok(tenants.into_iter().map(part).collect())
}

// Rows are read by position: a new column goes to the end.
pub(crate) const DECISION: &str = "decision_id, decided_at, outcome, fingerprint, position, document, tenant, agent, \
                                   class, mode, expires_at, candidate, action, review, allowed, hash, subject, wanted";

/// A row that begins with [`DECISION`], and its tenant.
pub(crate) fn read_any_decision(row: &Row<'_>) -> rusqlite::Result<(Tenant, Decision)> {
    Ok((Tenant::stored(row.get_ref(6)?.as_str()?), read_decision(row)?))
}

fn read_decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    Ok(Decision {
        decision_id: row.get(0)?,
        decided_at: row.get(1)?,
        outcome: row.get(2)?,
        fingerprint: row.get(3)?,
        position: column::count(row, 4)?,
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
            tool: None,
            review: row.get(13)?,
            wanted: column::count(row, 17)?,
            subject: row.get(16)?,
            facts: None,
        },
    })
}
