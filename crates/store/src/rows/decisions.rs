//! Decisions: one chain of all tenants, counted for each action, looked up by what they are about.

use std::collections::HashMap;

use proofmark_receipt::{ChainTip, ReceiptId, Sha256Digest, SignError, SignedLink};

use crate::engine::clock;
use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Chain, Draft, End, Facts, Key, Numbered, Question, Record, Settle, Stop};
use crate::group::signing;
use crate::group::written::Written;
use crate::row::Row;
use crate::rows::activity::{self, Deciding, JudgedRules};
use crate::rows::awaited;
use crate::rows::listing::{self, Condition, Listing, Part, Table};
use crate::rows::page::{self, Cursor, MAX_PAGE};
use crate::rows::read::{self, MAX_FOUND};
use crate::rows::reviews::{self, LAST_DENIAL, REVIEW, REVIEW_COLUMNS, Review};
use crate::rows::times::{self, Period};
use crate::rows::waiting;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// Links a decision receipt to the tip of the chain of decisions (`None`: it is the first) and signs it. It runs in the
/// store's writer, inside the transaction that stores the decision, so it does nothing else. It is called again as
/// [`crate::SignReceipt`] is.
pub type SignDecision = Box<dyn Fn(Option<&ChainTip>) -> Result<SignedLink, SignError> + Send>;

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
    /// The policy it was decided by, and what each of its rules did, for counting; decisions that are read do not have it.
    pub judged: Option<JudgedRules>,
}

/// What was decided on an action so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionHistory {
    /// How often it was decided on.
    pub decided: u64,
    /// How often it was denied since it was last allowed.
    pub denied: u64,
}

/// What a decision on an action depends on, as it is stored at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionState {
    /// As [`crate::Store::now`].
    pub now: i64,
    pub history: ActionHistory,
    /// As [`crate::TenantStore::denial`].
    pub denial: Option<Review>,
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
    sign: SignDecision,
    /// As it was last linked and signed.
    signed: Option<SignedLink>,
}

impl DecisionWrite {
    pub(crate) fn new(new: NewDecision) -> Self {
        let NewDecision { decision_id, decided_at, outcome, allowed, fingerprint, nth, about, sign } = new;
        Self { decision_id, decided_at, outcome, allowed, fingerprint, nth, about, sign, signed: None }
    }

    /// Links the receipt to the tip of the chain, and signs it.
    fn link(&mut self, tip: Option<&ChainTip>) -> Result<(SignedLink, ChainTip), Stop> {
        let not_linked = || StoreError::NotLinked(Chain::Decisions.to_string());
        let signed = signing::call(&Chain::Decisions.to_string(), || (self.sign)(tip))?;
        // The store trusts no closure with the order of its chains, as with receipts.
        let own = signed.follows(tip).filter(|own| own.receipt_id == self.decision_id).cloned();
        Ok((signed, own.ok_or_else(not_linked)?))
    }

    fn values(&self, row: (&Tenant, i64), own: &ChainTip, document: &str) -> Vec<Value> {
        let (about, (tenant, sequence)) = (&self.about, row);
        values![
            self.decision_id.to_string(),
            self.decided_at,
            &self.outcome,
            &self.fingerprint,
            own.position.cast_signed(),
            document,
            tenant.as_str(),
            &about.agent,
            &about.class,
            &about.mode,
            about.expires_at,
            &about.candidate,
            &about.action,
            about.review,
            self.allowed,
            own.hash.as_bytes(),
            &about.subject,
            about.wanted.cast_signed(),
            self.nth.cast_signed(),
            &about.tool,
            sequence,
        ]
        .into()
    }
}

impl Settle for DecisionWrite {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let (tenant, id) = (tenant.as_str(), self.decision_id.to_string());
        vec![
            Key::new("decision", &[tenant, &id]),
            // Of all tenants: one chain links the decisions of all, so the column is unique in the whole store.
            Key::new("decision of any", &[&id]),
            Key::new("action", &[tenant, &self.fingerprint]),
            Key::new("subject", &[tenant, &self.about.subject]),
        ]
    }

    fn chain(&self, _: &Tenant) -> Option<Chain> {
        Some(Chain::Decisions)
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        // Not `EXISTS`, which PostgreSQL may answer for many decisions by reading all of a table that it takes for small.
        let sql = "SELECT (SELECT 1 FROM decisions WHERE decision_id = ?3) IS NOT NULL,
                          coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2), 0),
                          (SELECT decision_id FROM decisions WHERE tenant = ?1 AND subject = ?4
                           ORDER BY sequence DESC LIMIT 1),
                          (SELECT 1 FROM waiting WHERE tenant = ?1 AND subject = ?4) IS NOT NULL";
        let id = self.decision_id.to_string();
        vec![Question::new(sql, values![tenant.as_str(), &self.fingerprint, id, &self.about.subject])]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let stored = facts.row().unwrap_or_else(|| Record(Vec::new()));
        let id = self.decision_id.to_string();
        if stored.get(0)? {
            return Err(StoreError::DecisionStored(id).into());
        }
        // Without this the index of actions would fail, and with it the whole group.
        if self.nth != stored.get::<u64>(1)?.saturating_add(1) {
            return Err(StoreError::DecidedMeanwhile(id).into());
        }
        let (signed, own) = self.link(draft.end(&Chain::Decisions).tip.as_ref())?;
        let about = &self.about;
        // Only the newest decision on a subject waits for a review (`waiting::WAITS`); approvals are judged on its facts. So
        // those before the last one have none, and only the last one is looked at, however many there are.
        if let Some(before) = stored.get::<Option<String>>(2)? {
            draft.store("DELETE FROM asked WHERE decision_id = ?1", values![before]);
        }
        if let Some(facts) = &about.facts {
            draft.store("INSERT INTO asked (decision_id, facts) VALUES (?1, ?2)", values![&id, facts]);
        }
        let sequence = draft.number(Numbered::Decisions);
        draft.store(INSERT, self.values((draft.tenant, sequence), &own, signed.text()));
        draft.move_end(Chain::Decisions, End { tip: Some(own), chain_id: None });
        draft.note_time(times::NOTE_DECISION, times::block(sequence), self.decided_at);
        if about.review || stored.get(3)? {
            waiting::put(draft, &about.subject, about.review.then_some(sequence));
        }
        let deciding = Deciding {
            decided_at: self.decided_at,
            outcome: &self.outcome,
            mode: &about.mode,
            allowed: self.allowed,
            agent: about.agent.as_deref(),
            judged: about.judged.as_ref(),
        };
        activity::note_decision(draft, &deciding);
        // The runtime will report what became of the action.
        if about.candidate.is_some() && self.allowed {
            awaited::put(draft, &id, about.expires_at);
        }
        self.signed = Some(signed);
        Ok(())
    }

    fn time(&self) -> i64 {
        self.decided_at
    }

    fn finish(self: Box<Self>, written: &mut Written) {
        written.decision = self.signed;
    }
}

/// What a decision on the tenant's action with this fingerprint depends on, about this subject: in one look, because a
/// connection that reads has lost what it knew of the file when the writer has committed meanwhile. `now` makes the time that
/// counts of what the clock shows.
pub(crate) fn state(
    db: &Db<'_>,
    tenant: &Tenant,
    (fingerprint, subject): (&str, &str),
    now: impl FnOnce(clock::Reading) -> i64,
) -> Result<ActionState, Fault> {
    let sql = format!(
        "SELECT {REVIEW}, {},
                coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2), 0),
                coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2 AND allowed), 0)
         FROM clock LEFT JOIN reviews ON reviews.sequence = {LAST_DENIAL}",
        clock::columns(db),
    );
    let read = |row: &Row<'_>| {
        let denial = row.get::<Option<String>>(0)?.map(|_| reviews::read(row)).transpose()?;
        let reading = (row.get(REVIEW_COLUMNS)?, row.get(REVIEW_COLUMNS + 1)?);
        Ok((denial, reading, read_history(row, REVIEW_COLUMNS + 2)?))
    };
    let (denial, reading, history) = db.only(&sql, &values![tenant.as_str(), fingerprint, subject], read)?;
    let now = now(reading);
    Ok(ActionState { now, history, denial: denial.filter(|denial| denial.until > now) })
}

/// What was decided on the tenant's action with this fingerprint. Both numbers are read off the ends of indexes.
pub(crate) fn history(db: &Db<'_>, tenant: &Tenant, fingerprint: &str) -> Result<ActionHistory, Fault> {
    let sql = "SELECT coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2), 0),
                      coalesce((SELECT max(nth) FROM decisions WHERE tenant = ?1 AND fingerprint = ?2 AND allowed), 0)";
    db.only(sql, &values![tenant.as_str(), fingerprint], |row| read_history(row, 0))
}

/// The number of the last decision on an action, and that of the last allowed one, from this column on.
fn read_history(row: &Row<'_>, first: usize) -> Result<ActionHistory, Fault> {
    // Numbers have no gaps (`refusal`), so the difference is how many decisions came after the last allowed one.
    let (decided, last_allowed): (u64, u64) = (row.get(first)?, row.get(first + 1)?);
    Ok(ActionHistory { decided, denied: decided.saturating_sub(last_allowed) })
}

pub(crate) fn decision(db: &Db<'_>, tenant: &Tenant, id: &str) -> Result<Option<Decision>, Fault> {
    let sql = format!("SELECT {DECISION} FROM decisions WHERE decision_id = ?1 AND tenant = ?2");
    db.one(&sql, &values![id, tenant.as_str()], read_decision)
}

/// The decisions in these rows, each with its sequence number, newest first.
pub(crate) fn at(db: &Db<'_>, sequences: &[i64]) -> Result<Vec<(i64, Decision)>, Fault> {
    let among = db.among("sequence", "?1");
    let sql = format!("SELECT {DECISION}, sequence FROM decisions WHERE {among} ORDER BY sequence DESC");
    db.all(&sql, &[Value::numbers(sequences)], |row| Ok((row.get(DECISION_COLUMNS)?, read_decision(row)?)))
}

/// How many bytes each of these decisions has, by its sequence number.
pub(crate) fn sizes(db: &Db<'_>, sequences: &[i64]) -> Result<HashMap<i64, usize>, Fault> {
    let sql = format!("SELECT sequence, {SIZE} FROM decisions WHERE {}", db.among("sequence", "?1"));
    let sizes = db.all(&sql, &[Value::numbers(sequences)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(sizes.into_iter().collect())
}

/// The decisions on a subject, newest first; at most `limit`, and no more than are read at a time.
pub(crate) fn on_subject(db: &Db<'_>, tenant: &Tenant, subject: &str, limit: usize) -> Result<Vec<Decision>, Fault> {
    let of = |columns| {
        format!("SELECT {columns} FROM decisions WHERE tenant = ?1 AND subject = ?2 ORDER BY sequence DESC LIMIT ?3")
    };
    let values = |limit: usize| values![tenant.as_str(), subject, limit];
    db.moment(|db| {
        let fitting = read::first_that_fit(db, &of(SIZE), &values(limit.min(MAX_PAGE)))?;
        db.all(&of(DECISION), &values(fitting), read_decision)
    })
}

pub(crate) fn any_decision(db: &Db<'_>, id: &str) -> Result<Option<(Tenant, Decision)>, Fault> {
    let sql = format!("SELECT {DECISION} FROM decisions WHERE decision_id = ?1");
    db.one(&sql, &values![id], read_any_decision)
}

/// The ids of decisions from the first one to the last one that a prefix can stand for.
pub(crate) fn between(db: &Db<'_>, first: &str, last: &str) -> Result<Vec<String>, Fault> {
    let sql = "SELECT decision_id FROM decisions WHERE decision_id BETWEEN ?1 AND ?2 ORDER BY decision_id LIMIT ?3";
    db.all(sql, &values![first, last, MAX_FOUND], |row| row.get(0))
}

/// The end of the chain of decisions. The document of the last one need not be readable.
pub(crate) fn last_decision(db: &Db<'_>) -> Result<Option<ChainTip>, Fault> {
    // Rows of older versions have no hash, except the last one, and no other can be the tip.
    let sql = "SELECT decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
    let tip = |row: &Row<'_>| {
        let receipt_id = row.text(0)?.parse().map_err(|error| Fault::changed(0, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: row.get(2)? })
    };
    db.one(sql, &[], tip)
}

/// The decisions, as lists have them.
const DECISIONS: Table = Table { name: "decisions", groups: &["outcome"], time: "decided_at", times: "decision_times" };

/// Those that wait for a review, as lists have them. They are few, so every row of a tenant is looked through.
const WAITING: Table = Table { name: "waiting CROSS JOIN decisions USING (sequence)", groups: &[], ..DECISIONS };

const LISTED: &str = " INDEXED BY decisions_listed";
const BY_TOOL: &str = " INDEXED BY decisions_by_tool";
const BY_AGENT: &str = " INDEXED BY decisions_by_agent";
const BY_CLASS: &str = " INDEXED BY decisions_by_class";

pub(crate) fn decisions(db: &Db<'_>, tenant: Option<&Tenant>, wanted: &DecisionsWanted) -> Result<Decisions, Fault> {
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    // Several statements, which must see the same rows: one that came between two of them would shift the pages.
    let (found, is_cut) = db.moment(|db| {
        let listing = Listing {
            table: if wanted.to_review { &WAITING } else { &DECISIONS },
            parts: parts(db, tenant, wanted)?,
            groups: vec![Value::from(&wanted.outcome)],
            period: Period { since: wanted.since, until: wanted.until, after: wanted.after },
            limit: page::one_more(limit),
        };
        let sequences = listing::newest(db, &listing)?;
        // An action may have megabytes.
        let sql = format!("SELECT {SIZE} FROM decisions WHERE {} ORDER BY sequence DESC", db.among("sequence", "?1"));
        let fitting = read::first_that_fit(db, &sql, &[Value::numbers(&sequences)])?;
        Ok((at(db, sequences.get(..fitting).unwrap_or(&sequences))?, fitting < sequences.len()))
    })?;
    let last = found.last().map(|(sequence, _)| Cursor(*sequence)).filter(|_| is_cut);
    let (decisions, next) = page::cut(found, limit);
    Ok(Decisions { decisions, next: next.or(last) })
}

/// The parts of the table that have all decisions that are wanted: one for each tenant, by the index that is likely to find
/// the fewest.
fn parts(db: &Db<'_>, tenant: Option<&Tenant>, wanted: &DecisionsWanted) -> Result<Vec<Part>, Fault> {
    let DecisionsWanted { outcome, class, agent, tool, to_review, .. } = wanted;
    let filters = [("tool", tool, BY_TOOL), ("agent", agent, BY_AGENT), ("class", class, BY_CLASS)];
    let filters = filters.into_iter().filter_map(|(column, value, by)| Some((column, value.as_ref()?, by)));
    let by = filters.clone().next().map_or(LISTED, |(_, _, by)| by);
    let filters: Vec<Condition> = filters.map(|(column, value, _)| (column, Value::from(value))).collect();
    let tenants = match tenant {
        Some(tenant) => vec![tenant.as_str().to_owned()],
        None if outcome.is_none() && filters.is_empty() && !to_review => return Ok(vec![Part::default()]),
        None => listing::distinct(db, DECISIONS.name, "tenant")?,
    };
    let part = |tenant: String| match to_review {
        true => {
            let outcome = outcome.iter().map(|outcome| ("outcome", Value::from(outcome)));
            let checks = outcome.chain(filters.clone()).collect();
            Part { by: "", index: vec![("waiting.tenant", tenant.into())], checks, only: Some(waiting::WAITS) }
        }
        false => {
            let mut checks = filters.clone().into_iter();
            let index = [Some(("tenant", tenant.into())), checks.next()].into_iter().flatten().collect();
            Part { by, index, checks: checks.collect(), only: None }
        }
    };
    Ok(tenants.into_iter().map(part).collect())
}

const INSERT: &str = "INSERT INTO decisions
    (decision_id, decided_at, outcome, fingerprint, position, document, tenant, agent, class, mode, expires_at, candidate,
     action, review, allowed, hash, subject, wanted, nth, tool, sequence)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";

// Rows are read by position: a new column goes to the end, and is counted below.
pub(crate) const DECISION: &str = "decision_id, decided_at, outcome, fingerprint, position, document, tenant, agent, \
                                   class, mode, expires_at, candidate, action, review, allowed, hash, subject, wanted";
/// What of a row may be long, in bytes.
const SIZE: &str = "octet_length(document) + coalesce(octet_length(action), 0)";
/// How many columns [`DECISION`] has.
pub(crate) const DECISION_COLUMNS: usize = 18;

/// A row that begins with [`DECISION`], and its tenant.
pub(crate) fn read_any_decision(row: &Row<'_>) -> Result<(Tenant, Decision), Fault> {
    read_at(row, 0)
}

/// As [`read_any_decision`], of a row that has [`DECISION`] from this column on.
pub(crate) fn read_at(row: &Row<'_>, first: usize) -> Result<(Tenant, Decision), Fault> {
    Ok((Tenant::stored(row.text(first + 6)?), read(row, first)?))
}

fn read_decision(row: &Row<'_>) -> Result<Decision, Fault> {
    read(row, 0)
}

fn read(row: &Row<'_>, first: usize) -> Result<Decision, Fault> {
    Ok(Decision {
        decision_id: row.get(first)?,
        decided_at: row.get(first + 1)?,
        outcome: row.get(first + 2)?,
        fingerprint: row.get(first + 3)?,
        position: row.get(first + 4)?,
        document: row.get(first + 5)?,
        allowed: row.get(first + 14)?,
        hash: row.get::<Option<[u8; 32]>>(first + 15)?.map(Sha256Digest::from_bytes),
        about: DecisionIndex {
            agent: row.get(first + 7)?,
            class: row.get(first + 8)?,
            mode: row.get(first + 9)?,
            expires_at: row.get(first + 10)?,
            candidate: row.get(first + 11)?,
            action: row.get(first + 12)?,
            tool: None,
            review: row.get(first + 13)?,
            wanted: row.get(first + 17)?,
            subject: row.get(first + 16)?,
            facts: None,
            judged: None,
        },
    })
}
