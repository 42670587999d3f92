//! How much was decided and verified in which hour, counted as it is stored, so that no overview looks through rows.

use proofmark_receipt::{Sha256Digest, Verdict};

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::Draft;
use crate::insert::{Insert, Set};
use crate::rows::page::MAX_LISTED;
use crate::statement::row;
use crate::tables::{AGENT_COUNTS, DECISION_COUNTS, VERDICT_COUNTS};
use crate::tenant::Tenant;
use crate::value::values;

/// Milliseconds of an hour.
pub(crate) const HOUR: i64 = 3_600_000;
/// Milliseconds of a day.
pub(crate) const DAY: i64 = 24 * HOUR;
/// The most counts one question reads.
const MAX_COUNTS: usize = 20_000;

/// What the rules of a policy did in a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedRules {
    /// The hash of the policy.
    pub policy: Sha256Digest,
    /// The rules that were judged and what each did, in the words of the caller: the same text is counted together.
    pub rules: String,
}

/// How many decisions of one hour were alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    /// When the hour began, in milliseconds after 1970-01-01T00:00:00Z.
    pub hour: i64,
    pub outcome: String,
    /// `disposition.mode` of the receipts.
    pub mode: String,
    pub allowed: bool,
    /// None where the decision was made without a policy.
    pub judged: Option<JudgedRules>,
    pub decisions: u64,
}

/// How many decisions an agent asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCount {
    /// Empty where the request named none.
    pub agent: String,
    pub allowed: u64,
    pub stopped: u64,
}

/// How many receipts with one verdict were issued here in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictCount {
    /// When the hour began, in milliseconds after 1970-01-01T00:00:00Z.
    pub hour: i64,
    pub verdict: Verdict,
    pub receipts: u64,
}

/// A decision that is being stored.
pub(crate) struct Deciding<'a> {
    pub(crate) decided_at: i64,
    pub(crate) outcome: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) allowed: bool,
    /// The agent that asked.
    pub(crate) agent: Option<&'a str>,
    pub(crate) judged: Option<&'a JudgedRules>,
}

static DECISION: Insert = Insert::or_change(&DECISION_COUNTS, &[Set::Add("decisions")]);
static AGENT: Insert = Insert::or_change(&AGENT_COUNTS, &[Set::Add("decisions")]);
static VERDICT: Insert = Insert::or_change(&VERDICT_COUNTS, &[Set::Add("receipts")]);

pub(crate) fn note_decision(draft: &mut Draft<'_>, deciding: &Deciding<'_>) {
    let Deciding { decided_at, outcome, mode, allowed, agent, judged } = *deciding;
    let tenant = draft.tenant.as_str();
    // A key has no NULL: empty bytes stand for no policy.
    let policy = judged.map(|judged| judged.policy.as_bytes().as_slice()).unwrap_or_default();
    let rules = judged.map(|judged| judged.rules.as_str()).unwrap_or_default();
    let row = row!(DECISION_COUNTS {
        tenant: tenant,
        hour: decided_at.div_euclid(HOUR),
        outcome: outcome,
        mode: mode,
        allowed: allowed,
        policy: policy,
        rules: rules,
        decisions: 1_i64,
    });
    draft.note(&DECISION, row);
    let row = row!(AGENT_COUNTS {
        tenant: tenant,
        day: decided_at.div_euclid(DAY),
        agent: agent.unwrap_or_default(),
        allowed: allowed,
        decisions: 1_i64,
    });
    draft.note(&AGENT, row);
}

pub(crate) fn note_receipt(draft: &mut Draft<'_>, verified_at: i64, verdict: Verdict) {
    let (tenant, hour) = (draft.tenant.as_str(), verified_at.div_euclid(HOUR));
    draft.note(
        &VERDICT,
        row!(VERDICT_COUNTS { tenant: tenant, hour: hour, verdict: verdict.as_str(), receipts: 1_i64 }),
    );
}

/// The counts of the hours since a time, the newest first; at most [`MAX_COUNTS`].
pub(crate) fn decisions(db: &Db<'_>, tenant: &Tenant, since: i64) -> Result<Vec<DecisionCount>, Fault> {
    // The whole key, so that the same counts are left out each time.
    let sql = format!(
        "SELECT {} FROM decision_counts WHERE tenant = $1 AND hour >= $2
         ORDER BY hour DESC, outcome DESC, mode DESC, allowed DESC, policy DESC, rules DESC LIMIT $3",
        DECISION_COUNTS.list()
    );
    db.all(&sql, &values![tenant.as_str(), since.div_euclid(HOUR), MAX_COUNTS], |row| {
        let row = DECISION_COUNTS.fields(row);
        let policy: Vec<u8> = row.get("policy")?;
        let policy = <[u8; 32]>::try_from(policy).ok().map(Sha256Digest::from_bytes);
        let rules = row.get("rules")?;
        Ok(DecisionCount {
            hour: row.get::<i64>("hour")?.saturating_mul(HOUR),
            outcome: row.get("outcome")?,
            mode: row.get("mode")?,
            allowed: row.get("allowed")?,
            judged: policy.map(|policy| JudgedRules { policy, rules }),
            decisions: row.get("decisions")?,
        })
    })
}

/// The agents that asked since a time, those that asked most first; at most `limit`.
pub(crate) fn agents(db: &Db<'_>, tenant: &Tenant, since: i64, limit: usize) -> Result<Vec<AgentCount>, Fault> {
    // The inner limit bounds what is read, however many agents made up names for themselves.
    let sql = "SELECT agent, CAST(sum(CASE WHEN allowed THEN decisions ELSE 0 END) AS BIGINT),
                      CAST(sum(CASE WHEN allowed THEN 0 ELSE decisions END) AS BIGINT)
               FROM (SELECT agent, allowed, decisions FROM agent_counts WHERE tenant = $1 AND day >= $2
                     ORDER BY day DESC, agent DESC, allowed DESC LIMIT $3) AS newest
               GROUP BY agent ORDER BY sum(decisions) DESC, agent LIMIT $4";
    db.all(sql, &values![tenant.as_str(), since.div_euclid(DAY), MAX_COUNTS, limit.min(MAX_LISTED)], |row| {
        Ok(AgentCount { agent: row.get(0)?, allowed: row.get(1)?, stopped: row.get(2)? })
    })
}

/// The counts of the hours since a time, the newest first; at most [`MAX_COUNTS`].
pub(crate) fn verdicts(db: &Db<'_>, tenant: &Tenant, since: i64) -> Result<Vec<VerdictCount>, Fault> {
    let sql = "SELECT hour, verdict, receipts FROM verdict_counts WHERE tenant = $1 AND hour >= $2
               ORDER BY hour DESC, verdict DESC LIMIT $3";
    db.all(sql, &values![tenant.as_str(), since.div_euclid(HOUR), MAX_COUNTS], |row| {
        let hour = row.get::<i64>(0)?.saturating_mul(HOUR);
        let verdict = row.text(1)?.parse().map_err(|error| Fault::changed(1, error))?;
        Ok(VerdictCount { hour, verdict, receipts: row.get(2)? })
    })
}
