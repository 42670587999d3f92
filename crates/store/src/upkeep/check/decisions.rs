//! Decisions: the one chain that they are, and what is kept of them in other tables.

use std::ops::ControlFlow;

use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};
use proofmark_receipt::{ChainTip, Link, ReceiptId, Sha256Digest};

use super::counts::Counts;
use super::scan::{Scan, windows};
use super::{Check, StoredDocument, Used, chains};
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::rows::activity::{DAY, HOUR};
use crate::rows::decisions::{self, Decision};
use crate::rows::executions::NEVER_REPORTED;
use crate::rows::waiting::WAITS;
use crate::tables::{AGENT_COUNTS, DECISION_COUNTS, DECISIONS};
use crate::value::values;

const TABLE: &str = "decisions";

struct State<'c, 'a> {
    check: &'c mut Check<'a>,
    /// The decision before, and its number.
    before: Option<(ChainTip, i64)>,
    hours: Counts,
    days: Counts,
    latest: i64,
    /// What decisions say that they have spent: tenant, content and decision.
    spent: Vec<(String, Sha256Digest, String)>,
    /// What they say that they have counted: tenant, key, number and decision.
    counted: Vec<(String, Sha256Digest, u64, String)>,
}

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let (hours, days) = (Counts::default(), Counts::default());
    let mut state = State { check, before: None, hours, days, latest: 0, spent: Vec::new(), counted: Vec::new() };
    let columns = DECISIONS.list();
    let scan = Scan { table: TABLE, key: &["position"], columns: &columns, condition: "position IS NOT NULL" };
    scan.each(db, &mut state, State::decision, |state, done| {
        state.check.progress(TABLE, done);
        state.compare_used(db)
    })?;
    let State { check, hours, days, latest, .. } = state;
    if db.exists("SELECT 1 FROM clock WHERE latest < $1", &values![latest])? {
        check.wrong("clock", "clock", "0".to_owned(), "a decision is later than the recorded time");
    }
    compare_counts(db, check, hours, days)?;
    numbers(db, check)?;
    chains::times(db, check, TABLE, "decision_times", "decided_at")?;
    kept(db, check)
}

impl State<'_, '_> {
    fn decision(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        // The key comes first.
        let row = DECISIONS.fields_after(1, row);
        let (tenant, sequence) = (row.get::<String>("tenant")?, row.get::<i64>("sequence")?);
        let decision = decisions::read(&row)?;
        self.check.checked.decisions += 1;
        self.latest = self.latest.max(decision.decided_at);
        let about = &decision.about;
        let (hour, day) = (decision.decided_at.div_euclid(HOUR), decision.decided_at.div_euclid(DAY));
        self.hours.add(values![&tenant, hour, &decision.outcome, &about.mode, decision.allowed]);
        self.days.add(values![&tenant, day, about.agent.as_deref().unwrap_or_default(), decision.allowed]);
        let tool = about.action.as_deref().map(tool_of);
        if tool.is_some_and(|tool| row.get::<Option<String>>("tool").ok() != Some(tool)) {
            let detail = "the action has another value than the column tool";
            self.check.wrong("column", TABLE, decision.decision_id.clone(), detail);
        }
        let Used { spent, counted } = self.link(&decision, sequence);
        let id = &decision.decision_id;
        self.spent.extend(spent.into_iter().map(|content| (tenant.clone(), content, id.clone())));
        self.counted.extend(counted.into_iter().map(|(key, nth)| (tenant.clone(), key, nth, id.clone())));
        Ok(())
    }

    /// Verifies that what decisions have spent stays spent, and what they have counted stays counted.
    fn compare_used(&mut self, db: &Db<'_>) -> Result<(), Fault> {
        for (tenant, content, decision) in std::mem::take(&mut self.spent) {
            let sql = "SELECT 1 FROM spent WHERE tenant = $1 AND content = $2 AND spent_by = $3";
            if !db.exists(sql, &values![tenant, content.as_bytes(), decision.as_str()])? {
                self.check.wrong("spent", TABLE, decision, format!("it has spent {content}, which is not noted"));
            }
        }
        for (tenant, key, nth, decision) in std::mem::take(&mut self.counted) {
            let sql = "SELECT 1 FROM counted WHERE tenant = $1 AND key = $2 AND nth = $3 AND decision_id = $4";
            if !db.exists(sql, &values![tenant, key.as_bytes(), nth, decision.as_str()])? {
                self.check.wrong("counted", TABLE, decision, format!("it counts under {key}, which is not noted"));
            }
        }
        Ok(())
    }

    /// Verifies a decision and its place in the chain; what it has used.
    fn link(&mut self, decision: &Decision, sequence: i64) -> Used {
        let row = decision.decision_id.clone();
        let Ok(id) = decision.decision_id.parse() else {
            self.check.wrong("column", TABLE, row, "invalid id");
            return Used::default();
        };
        // As long as it was stored: what a reader would refuse to read is verified all the same.
        let limits = Limits { max_bytes: decision.document.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
        let document = match Json::parse_with(decision.document.as_bytes(), limits) {
            Ok(Json::Object(document)) => document,
            Ok(_) => return self.unreadable(decision, id, sequence, "it is not an object"),
            Err(error) => return self.unreadable(decision, id, sequence, error),
        };
        let hash = Sha256Digest::of(&document.canonical_vrf());
        if decision.hash != hash {
            self.check.wrong("changed", TABLE, row.clone(), "the document was changed after it was stored");
        }
        let bound =
            document.get("binding").and_then(|binding| binding.as_object()?.get("session")?.as_object()?.get("name"));
        if bound.and_then(Json::as_str) != decision.about.session.as_deref() {
            let detail = "the document has another value than the column session";
            self.check.wrong("column", TABLE, row.clone(), detail);
        }
        let before = self.before.as_ref().map(|(tip, _)| tip);
        let due = before.map_or(0, |tip| tip.position.saturating_add(1));
        if decision.position != due {
            let detail = format!("position {} follows where {due} is due", decision.position);
            self.check.wrong("gap", TABLE, row, detail);
        } else if (Link { id, document: &document }).follows(before).is_none() {
            self.check.wrong("link", TABLE, row, "it is not linked to the decision before it");
        } else if self.before.as_ref().is_some_and(|(_, earlier)| *earlier >= sequence) {
            self.check.wrong("order", TABLE, row, "it was stored before the decision that it is linked to");
        }
        self.before = Some((ChainTip { receipt_id: id, hash: decision.hash, position: decision.position }, sequence));
        self.check.judge(TABLE, &decision.decision_id, StoredDocument::Decision(decision))
    }

    fn unreadable(&mut self, decision: &Decision, id: ReceiptId, sequence: i64, why: impl std::fmt::Display) -> Used {
        self.check.wrong("unreadable", TABLE, decision.decision_id.clone(), why);
        // What the next one is linked to.
        self.before = Some((ChainTip { receipt_id: id, hash: decision.hash, position: decision.position }, sequence));
        Used::default()
    }
}

/// The tool that an action calls; none where the action cannot be read.
fn tool_of(action: &str) -> Option<String> {
    let limits = Limits { max_bytes: action.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
    let action = Json::parse_with(action.as_bytes(), limits).ok()?;
    Some(action.as_object()?.get("tool")?.as_str()?.to_owned())
}

fn compare_counts(db: &Db<'_>, check: &mut Check<'_>, hours: Counts, days: Counts) -> Result<(), Fault> {
    let scan =
        Scan { table: "decision_counts", key: DECISION_COUNTS.key, columns: "decisions", condition: "decisions <> 0" };
    hours.compare(db, check, &scan, 5)?;
    let scan = Scan { table: "agent_counts", key: AGENT_COUNTS.key, columns: "decisions", condition: "decisions <> 0" };
    days.compare(db, check, &scan, 4)
}

/// Verifies that the decisions on each action are numbered without gaps.
fn numbers(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let scan =
        Scan { table: TABLE, key: &["tenant", "fingerprint", "nth"], columns: "1", condition: "nth IS NOT NULL" };
    let mut before: Option<(String, String, i64)> = None;
    scan.each(
        db,
        check,
        |check, row| {
            let action: (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let due = match &before {
                // In the order of the index, the decisions on one action follow each other.
                Some((tenant, fingerprint, nth)) if (tenant, fingerprint) == (&action.0, &action.1) => nth + 1,
                _ => 1,
            };
            if action.2 != due {
                let row = format!("{} of {}", action.2, action.1);
                check.wrong("gap", TABLE, row, format!("decision {due} on the action is missing"));
            }
            before = Some(action);
            Ok(())
        },
        |_, _| Ok(()),
    )
}

/// Verifies the tables that hold what would have to be looked for otherwise: what waits for a review, and whose execution is
/// expected to be reported.
fn kept(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let waits = format!(
        "SELECT decision_id, CASE WHEN {WAITS} THEN 1 ELSE 0 END AS due FROM decisions
         WHERE sequence > $1 AND sequence <= $2
         AND (CASE WHEN {WAITS} THEN 1 ELSE 0 END) <>
             (CASE WHEN EXISTS (SELECT 1 FROM waiting WHERE waiting.tenant = decisions.tenant
                                AND waiting.sequence = decisions.sequence AND waiting.subject = decisions.subject)
              THEN 1 ELSE 0 END)
         ORDER BY sequence"
    );
    let expected = format!(
        "candidate IS NOT NULL AND allowed
         AND NOT EXISTS (SELECT 1 FROM executions
                         WHERE executions.decision_id = decisions.decision_id AND executions.tenant = decisions.tenant)
         AND NOT EXISTS (SELECT 1 FROM findings
                         WHERE findings.decision_id = decisions.decision_id AND findings.tenant = decisions.tenant
                             AND code = '{NEVER_REPORTED}')"
    );
    let awaited = format!(
        "SELECT decision_id, CASE WHEN {expected} THEN 1 ELSE 0 END AS due FROM decisions
         WHERE sequence > $1 AND sequence <= $2
         AND (CASE WHEN {expected} THEN 1 ELSE 0 END) <>
             (CASE WHEN EXISTS (SELECT 1 FROM awaited WHERE awaited.tenant = decisions.tenant
                                AND awaited.decision_id = decisions.decision_id
                                AND awaited.expires_at = decisions.expires_at)
              THEN 1 ELSE 0 END)
         ORDER BY sequence"
    );
    for (code, table, sql, what) in
        [("waiting", "waiting", &waits, "a review"), ("awaited", "awaited", &awaited, "a report of its execution")]
    {
        windows(db, "SELECT max(sequence) FROM decisions", |first, last| {
            db.each(sql, &values![first, last], |row| {
                let detail = if row.get(1)? {
                    format!("the decision waits for {what}, and has no row")
                } else {
                    format!("the decision does not wait for {what}")
                };
                check.wrong(code, table, row.get(0)?, detail);
                Ok(ControlFlow::Continue(()))
            })
        })?;
    }
    Ok(())
}
