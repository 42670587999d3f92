//! Decisions: one chain of all tenants, counted for each action, looked up by what they are about.

use std::collections::HashMap;

use proofmark_receipt::{ChainEnd, ChainTip, ReceiptId, Sha256Digest, SignError, SignedLink};

use crate::engine::clock::Reading;
use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Chain, Draft, End, Facts, Key, Question, Record, Settle, Stop};
use crate::group::signing;
use crate::group::written::Written;
use crate::insert::Insert;
use crate::row::Row;
use crate::rows::activity::{self, Deciding, JudgedRules};
use crate::rows::awaited;
use crate::rows::clock;
use crate::rows::filter::{PORTION, QueueFilter, has_role};
use crate::rows::listing::{self, Condition, Listing, Part, Table};
use crate::rows::log;
use crate::rows::page::{self, Cursor, MAX_PAGE};
use crate::rows::read::{self, MAX_FOUND, MAX_PAGE_BYTES};
use crate::rows::reviews::{self, LAST_DENIAL, Review};
use crate::rows::times::{self, Period};
use crate::rows::waiting;
use crate::statement::{question, row};
use crate::table::Fields;
use crate::tables::{ASKED, DECISIONS, REVIEWS};
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// Links a decision receipt to the tip of the chain of decisions (`None`: it is the first) and signs it. It runs in the
/// store's writer, inside the transaction that stores the decision, so it does nothing else. It is called again as
/// [`crate::SignReceipt`] is.
pub type SignDecision = Box<dyn Fn(ChainEnd<'_>) -> Result<SignedLink, SignError> + Send>;

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
    /// The decision on this action before it, where it was made before that one was stored. Refused with
    /// [`StoreError::DecidedMeanwhile`] if another one is the one before it.
    pub after: Option<ReceiptId>,
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
    /// SHA-256 of the decision receipt in canonical form, which the next one links to.
    pub hash: Sha256Digest,
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
    /// The session that it was made in.
    pub session: Option<String>,
    /// Whether it waits for a review.
    pub review: bool,
    /// How many approvals it waits for.
    pub wanted: u64,
    /// The roles that the evidence of the receipt names, in which approvals are asked for; decisions that are read do not have them.
    pub roles: Vec<String>,
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
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub filter: QueueFilter,
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
    new: NewDecision,
    /// As it was last linked and signed.
    signed: Option<SignedLink>,
}

impl DecisionWrite {
    pub(crate) fn new(new: NewDecision) -> Self {
        Self { new, signed: None }
    }

    /// Links the receipt to the end of the chain, and signs it.
    fn link(&mut self, end: ChainEnd<'_>) -> Result<(SignedLink, ChainTip), Stop> {
        let chain = Chain::Decisions.to_string();
        let signed = signing::call(&chain, || (self.new.sign)(end))?;
        // The store trusts no closure with the order of its chains, as with receipts.
        let own = signed.follows(end).filter(|own| own.receipt_id == self.new.decision_id).cloned();
        Ok((signed, own.ok_or(StoreError::NotLinked(chain))?))
    }

    fn columns(&self, tenant: &Tenant, sequence: i64, own: &ChainTip, document: &str) -> Vec<Value> {
        let NewDecision { decision_id, decided_at, outcome, allowed, fingerprint, nth, about, .. } = &self.new;
        row!(DECISIONS {
            sequence: sequence,
            tenant: tenant.as_str(),
            decision_id: decision_id.to_string(),
            decided_at: *decided_at,
            outcome: outcome,
            allowed: *allowed,
            mode: &about.mode,
            fingerprint: fingerprint,
            nth: nth.cast_signed(),
            position: own.position.cast_signed(),
            hash: own.hash.as_bytes(),
            subject: &about.subject,
            agent: &about.agent,
            class: &about.class,
            tool: &about.tool,
            session: &about.session,
            expires_at: about.expires_at,
            candidate: &about.candidate,
            review: about.review,
            wanted: about.wanted.cast_signed(),
            action: &about.action,
            document: document,
        })
    }
}

static INSERT: Insert = Insert::into(&DECISIONS);
static FACTS: Insert = Insert::into(&ASKED);

impl Settle for DecisionWrite {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let (tenant, id) = (tenant.as_str(), self.new.decision_id.to_string());
        vec![
            Key::new("decision", &[tenant, &id]),
            // Of all tenants: one chain links the decisions of all, so the column is unique in the whole store.
            Key::new("decision of any", &[&id]),
            Key::new("action", &[tenant, &self.new.fingerprint]),
            Key::new("subject", &[tenant, &self.new.about.subject]),
        ]
    }

    fn chain(&self, _: &Tenant) -> Option<Chain> {
        Some(Chain::Decisions)
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        // Not `EXISTS`, which PostgreSQL may answer for many decisions by reading all of a table that it takes for small.
        vec![question!(
            "SELECT (SELECT 1 FROM decisions WHERE decision_id = {id}) IS NOT NULL,
                    coalesce((SELECT max(nth) FROM decisions WHERE tenant = {tenant} AND fingerprint = {action}), 0),
                    (SELECT decision_id FROM decisions WHERE tenant = {tenant} AND subject = {subject}
                     ORDER BY sequence DESC LIMIT 1),
                    (SELECT 1 FROM waiting WHERE tenant = {tenant} AND subject = {subject}) IS NOT NULL,
                    (SELECT nth FROM decisions WHERE decision_id = {after} AND tenant = {tenant} AND fingerprint = {action})",
            tenant: tenant.as_str(),
            id: self.new.decision_id.to_string(),
            action: &self.new.fingerprint,
            subject: &self.new.about.subject,
            after: self.new.after.map(|id| id.to_string()),
        )]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let stored = facts.row().unwrap_or_else(|| Record(Vec::new()));
        let id = self.new.decision_id.to_string();
        if stored.get(0)? {
            return Err(StoreError::DecisionStored(id).into());
        }
        // Without this the index of actions would fail, and with it the whole group.
        let (before, after): (u64, Option<u64>) = (stored.get(1)?, stored.get(4)?);
        if self.new.nth != before.saturating_add(1) || (self.new.after.is_some() && after != Some(before)) {
            return Err(StoreError::DecidedMeanwhile(id).into());
        }
        let (signed, own) = self.link(draft.end(&Chain::Decisions).link())?;
        let (new, about) = (&self.new, &self.new.about);
        // Only the newest decision on a subject waits for a review (`waiting::WAITS`); approvals are judged on its facts. So
        // those before the last one have none, and only the last one is looked at, however many there are.
        if let Some(before) = stored.get::<Option<String>>(2)? {
            draft.run("DELETE FROM asked WHERE decision_id = $1", values![before]);
        }
        if let Some(facts) = &about.facts {
            draft.insert(&FACTS, row!(ASKED { decision_id: &id, facts: facts }));
        }
        let sequence = draft.number(&DECISIONS);
        draft.insert(&INSERT, self.columns(draft.tenant, sequence, &own, signed.text()));
        log::append(draft, &own.hash);
        draft.move_end(Chain::Decisions, End { tip: Some(own), ..End::default() });
        times::note_decision(draft, sequence, new.decided_at);
        if about.review || stored.get(3)? {
            waiting::put(draft, &about.subject, about.review.then_some((sequence, about.roles.as_slice())));
        }
        let deciding = Deciding {
            decided_at: new.decided_at,
            outcome: &new.outcome,
            mode: &about.mode,
            allowed: new.allowed,
            agent: about.agent.as_deref(),
            judged: about.judged.as_ref(),
        };
        activity::note_decision(draft, &deciding);
        // The runtime will report what became of the action.
        if about.candidate.is_some() && new.allowed {
            awaited::put(draft, &id, about.expires_at);
        }
        self.signed = Some(signed);
        Ok(())
    }

    fn time(&self) -> i64 {
        self.new.decided_at
    }

    fn finish(self: Box<Self>, written: &mut Written) {
        written.decision = self.signed;
    }
}

/// What a decision on the tenant's action with this fingerprint depends on: in one look, because a
/// connection that reads has lost what it knew of the file when the writer has committed meanwhile. `now` makes the time that
/// counts of what the clock shows.
pub(crate) fn state(
    db: &Db<'_>,
    tenant: &Tenant,
    fingerprint: &str,
    now: impl FnOnce(Reading) -> i64,
) -> Result<ActionState, Fault> {
    let sql = format!(
        "SELECT {},
                coalesce((SELECT max(nth) FROM decisions WHERE tenant = $1 AND fingerprint = $2), 0),
                coalesce((SELECT max(nth) FROM decisions WHERE tenant = $1 AND fingerprint = $2 AND allowed), 0), {}
         FROM clock LEFT JOIN reviews ON reviews.sequence = {LAST_DENIAL}",
        clock::columns(db),
        REVIEWS.list()
    );
    let read = |row: &Row<'_>| {
        let review = REVIEWS.fields_after(4, row);
        let denial = review.get::<Option<i64>>("sequence")?.map(|_| reviews::read(&review)).transpose()?;
        Ok((denial, Reading { latest: row.get(0)?, shown: row.get(1)? }, read_history(row, 2)?))
    };
    let (denial, reading, history) = db.only(&sql, &values![tenant.as_str(), fingerprint], read)?;
    let now = now(reading);
    Ok(ActionState { now, history, denial: denial.filter(|denial| denial.until > now) })
}

/// What was decided on the tenant's action with this fingerprint. Both numbers are read off the ends of indexes.
pub(crate) fn history(db: &Db<'_>, tenant: &Tenant, fingerprint: &str) -> Result<ActionHistory, Fault> {
    let sql = "SELECT coalesce((SELECT max(nth) FROM decisions WHERE tenant = $1 AND fingerprint = $2), 0),
                      coalesce((SELECT max(nth) FROM decisions WHERE tenant = $1 AND fingerprint = $2 AND allowed), 0)";
    db.only(sql, &values![tenant.as_str(), fingerprint], |row| read_history(row, 0))
}

/// The number of the last decision on an action, and that of the last allowed one, from this column on.
fn read_history(row: &Row<'_>, first: usize) -> Result<ActionHistory, Fault> {
    // Numbers have no gaps (`refusal`), so the difference is how many decisions came after the last allowed one.
    let (decided, last_allowed): (u64, u64) = (row.get(first)?, row.get(first + 1)?);
    Ok(ActionHistory { decided, denied: decided.saturating_sub(last_allowed) })
}

pub(crate) fn decision(db: &Db<'_>, tenant: &Tenant, id: &str) -> Result<Option<Decision>, Fault> {
    let sql = format!("SELECT {} FROM decisions WHERE decision_id = $1 AND tenant = $2", DECISIONS.list());
    db.one(&sql, &values![id, tenant.as_str()], read_decision)
}

/// The decisions in these rows, each with its sequence number, newest first.
pub(crate) fn at(db: &Db<'_>, sequences: &[i64]) -> Result<Vec<(i64, Decision)>, Fault> {
    let among = db.among("sequence", "$1");
    let sql = format!("SELECT {} FROM decisions WHERE {among} ORDER BY sequence DESC", DECISIONS.list());
    db.all(&sql, &[Value::numbers(sequences)], |row| Ok((DECISIONS.fields(row).get("sequence")?, read_decision(row)?)))
}

/// How many bytes each of these decisions has, by its sequence number.
pub(crate) fn sizes(db: &Db<'_>, sequences: &[i64]) -> Result<HashMap<i64, usize>, Fault> {
    let sql = format!("SELECT sequence, {SIZE} FROM decisions WHERE {}", db.among("sequence", "$1"));
    let sizes = db.all(&sql, &[Value::numbers(sequences)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(sizes.into_iter().collect())
}

/// The decisions on a subject, newest first; at most `limit`, and no more than are read at a time.
pub(crate) fn on_subject(db: &Db<'_>, tenant: &Tenant, subject: &str, limit: usize) -> Result<Vec<Decision>, Fault> {
    let of = |columns: &str| {
        format!("SELECT {columns} FROM decisions WHERE tenant = $1 AND subject = $2 ORDER BY sequence DESC LIMIT $3")
    };
    let values = |limit: usize| values![tenant.as_str(), subject, limit];
    db.moment(|db| {
        // The sizes first: what is not read need not be in memory.
        let fitting = read::first_that_fit(db, &of(SIZE), &values(limit.min(MAX_PAGE)))?;
        db.all(&of(&DECISIONS.list()), &values(fitting), read_decision)
    })
}

/// The newest decision that was made in a session.
pub(crate) fn last_in_session(db: &Db<'_>, tenant: &Tenant, session: &str) -> Result<Option<Decision>, Fault> {
    let sql = format!(
        "SELECT {} FROM decisions WHERE tenant = $1 AND session = $2 ORDER BY sequence DESC LIMIT 1",
        DECISIONS.list()
    );
    db.one(&sql, &values![tenant.as_str(), session], read_decision)
}

pub(crate) fn any_decision(db: &Db<'_>, id: &str) -> Result<Option<(Tenant, Decision)>, Fault> {
    let sql = format!("SELECT {} FROM decisions WHERE decision_id = $1", DECISIONS.list());
    db.one(&sql, &values![id], read_any_decision)
}

/// The ids of decisions from the first one to the last one that a prefix can stand for.
pub(crate) fn between(db: &Db<'_>, first: &str, last: &str) -> Result<Vec<String>, Fault> {
    let sql = "SELECT decision_id FROM decisions WHERE decision_id BETWEEN $1 AND $2 ORDER BY decision_id LIMIT $3";
    db.all(sql, &values![first, last, MAX_FOUND], |row| row.get(0))
}

/// The end of the chain of decisions. The document of the last one need not be readable.
pub(crate) fn last_decision(db: &Db<'_>) -> Result<Option<ChainTip>, Fault> {
    let sql = "SELECT decision_id, hash, position FROM decisions ORDER BY position DESC LIMIT 1";
    db.one(sql, &[], |row| {
        let receipt_id = row.text(0)?.parse().map_err(|error| Fault::changed(0, error))?;
        Ok(ChainTip { receipt_id, hash: Sha256Digest::from_bytes(row.get(1)?), position: row.get(2)? })
    })
}

/// The decisions, as lists have them.
const LISTED: Table =
    Table { name: "decisions", groups: &["outcome"], time: "decided_at", times: "decision_times", joins: "" };

/// Those that wait for a review, as lists have them. They are few, so every row of a tenant is looked through.
const WAITING: Table = Table { name: "waiting", joins: "decisions USING (sequence)", groups: &[], ..LISTED };

pub(crate) fn decisions(db: &Db<'_>, tenant: Option<&Tenant>, wanted: &DecisionsWanted) -> Result<Decisions, Fault> {
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    let (found, is_cut) = if wanted.filter.is_any() {
        filtered(db, tenant, wanted, page::one_more(limit))?
    } else {
        newest(db, tenant, wanted, page::one_more(limit))?
    };
    let last = found.last().map(|(sequence, _)| Cursor(*sequence)).filter(|_| is_cut);
    let (decisions, next) = page::cut(found, limit);
    Ok(Decisions { decisions, next: next.or(last) })
}

/// The decisions that are wanted, by everything that has a column, each with its sequence number; and whether there are fewer than
/// `limit` because of their size.
fn newest(
    db: &Db<'_>,
    tenant: Option<&Tenant>,
    wanted: &DecisionsWanted,
    limit: usize,
) -> Result<(Vec<(i64, Decision)>, bool), Fault> {
    // Several statements, which must see the same rows: one that came between two of them would shift the pages.
    db.moment(|db| {
        let listing = Listing {
            table: if wanted.to_review { &WAITING } else { &LISTED },
            parts: parts(db, tenant, wanted)?,
            groups: vec![Value::from(&wanted.outcome)],
            period: Period { since: wanted.since, until: wanted.until, after: wanted.after },
            limit,
        };
        let sequences = listing::newest(db, &listing)?;
        // An action may have megabytes.
        let sql = format!("SELECT {SIZE} FROM decisions WHERE {} ORDER BY sequence DESC", db.among("sequence", "$1"));
        let fitting = read::first_that_fit(db, &sql, &[Value::numbers(&sequences)])?;
        Ok((at(db, sequences.get(..fitting).unwrap_or(&sequences))?, fitting < sequences.len()))
    })
}

/// As [`newest`], of those whose documents are wanted, too.
fn filtered(
    db: &Db<'_>,
    tenant: Option<&Tenant>,
    wanted: &DecisionsWanted,
    limit: usize,
) -> Result<(Vec<(i64, Decision)>, bool), Fault> {
    let (mut left, mut found, mut bytes) = (wanted.clone(), Vec::new(), 0);
    loop {
        let (portion, is_cut) = newest(db, tenant, &left, PORTION)?;
        let is_last = portion.len() < PORTION && !is_cut;
        left.after = portion.last().map(|(sequence, _)| Cursor(*sequence));
        for (sequence, decision) in portion
            .into_iter()
            .filter(|(_, decision)| wanted.filter.matches(&decision.document, decision.about.action.as_deref()))
        {
            bytes += decision.document.len() + decision.about.action.as_ref().map_or(0, String::len);
            if bytes > MAX_PAGE_BYTES && !found.is_empty() {
                return Ok((found, true));
            }
            found.push((sequence, decision));
            if found.len() == limit {
                return Ok((found, false));
            }
        }
        if is_last || left.after.is_none() {
            return Ok((found, false));
        }
    }
}

/// The parts of the table that have all decisions that are wanted: one for each tenant, by the index that is likely to find
/// the fewest.
fn parts(db: &Db<'_>, tenant: Option<&Tenant>, wanted: &DecisionsWanted) -> Result<Vec<Part>, Fault> {
    let DecisionsWanted { outcome, class, agent, tool, to_review, .. } = wanted;
    let filters = [
        ("tool", tool, "decisions_by_tool"),
        ("agent", agent, "decisions_by_agent"),
        ("class", class, "decisions_by_class"),
    ];
    let filters = filters.into_iter().filter_map(|(column, value, by)| Some((column, value.as_ref()?, by)));
    let by = filters.clone().next().map_or("decisions_listed", |(_, _, by)| by);
    let filters: Vec<Condition> = filters.map(|(column, value, _)| (column, Value::from(value))).collect();
    let tenants = match tenant {
        Some(tenant) => vec![tenant.as_str().to_owned()],
        None if outcome.is_none() && filters.is_empty() && !to_review => return Ok(vec![Part::default()]),
        None => listing::distinct(db, LISTED.name, "tenant")?,
    };
    let to_review_of = |tenant: String| {
        let outcome = outcome.iter().map(|outcome| ("outcome", Value::from(outcome)));
        let checks = outcome.chain(filters.clone()).collect();
        // What asks for none of the roles is not read. Whether the others do says their documents.
        let any = wanted.filter.roles.as_ref().map(|roles| roles.iter().map(|role| has_role(db, role)).collect());
        Part { by: None, index: vec![("waiting.tenant", tenant.into())], checks, any, only: Some(waiting::WAITS) }
    };
    let of = |tenant: String| {
        let mut checks = filters.clone().into_iter();
        let index = [Some(("tenant", tenant.into())), checks.next()].into_iter().flatten().collect();
        Part { by: Some(by), index, checks: checks.collect(), ..Part::default() }
    };
    let tenants = tenants.into_iter();
    Ok(if *to_review { tenants.map(to_review_of).collect() } else { tenants.map(of).collect() })
}

/// What of a row may be long, in bytes.
const SIZE: &str = "octet_length(document) + coalesce(octet_length(action), 0)";

/// A row with all columns of [`DECISIONS`], and its tenant.
pub(crate) fn read_any_decision(row: &Row<'_>) -> Result<(Tenant, Decision), Fault> {
    let row = DECISIONS.fields(row);
    Ok((Tenant::stored(row.text("tenant")?), read(&row)?))
}

fn read_decision(row: &Row<'_>) -> Result<Decision, Fault> {
    read(&DECISIONS.fields(row))
}

pub(crate) fn read(row: &Fields<'_>) -> Result<Decision, Fault> {
    Ok(Decision {
        decision_id: row.get("decision_id")?,
        decided_at: row.get("decided_at")?,
        outcome: row.get("outcome")?,
        fingerprint: row.get("fingerprint")?,
        position: row.get("position")?,
        document: row.get("document")?,
        allowed: row.get("allowed")?,
        hash: Sha256Digest::from_bytes(row.get("hash")?),
        about: DecisionIndex {
            agent: row.get("agent")?,
            class: row.get("class")?,
            mode: row.get("mode")?,
            expires_at: row.get("expires_at")?,
            candidate: row.get("candidate")?,
            action: row.get("action")?,
            tool: None,
            session: row.get("session")?,
            review: row.get("review")?,
            wanted: row.get("wanted")?,
            roles: Vec::new(),
            subject: row.get("subject")?,
            facts: None,
            judged: None,
        },
    })
}
