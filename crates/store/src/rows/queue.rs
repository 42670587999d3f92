//! Lists of the decisions that wait for a review.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::rows::decisions::{self, Decision};
use crate::rows::filter::{PORTION, QueueFilter, asks_role, has_role, member, parsed};
use crate::rows::listing::any_of;
use crate::rows::page::{Cursor, MAX_PAGE};
use crate::rows::read::MAX_PAGE_BYTES;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// A decision that waits for a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDecision {
    /// The newest decision on its subject.
    pub decision: Decision,
    /// Its place among those that wait.
    pub place: Cursor,
    /// When a decision on the subject began to wait, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: i64,
    /// How often the action was asked for since then.
    pub asked: u64,
}

/// That a decision waits for a review, without what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingNotice {
    pub tenant: Tenant,
    /// Its place among those of all tenants that wait: what begins to wait later is behind it.
    pub place: Cursor,
    /// The newest decision on its subject.
    pub decision_id: String,
    /// The decision with which the subject began to wait.
    pub first: String,
    /// When it began to wait, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: i64,
}

/// The most notices that are read at a time.
pub const MAX_NOTICES: usize = 1_000;

/// Which of the decisions that wait to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitingWanted {
    /// Only those whose action, agent or reasons contain this text, in any letter case of ASCII.
    pub text: Option<String>,
    /// Only those of which a rule asks for an approval in this role.
    pub role: Option<String>,
    pub filter: QueueFilter,
    /// The agent that asked.
    pub agent: Option<String>,
    /// Only those that have waited less long than the one at this place.
    pub after: Option<Cursor>,
    /// Only those that have waited longer than the one at this place; the nearest of them come first.
    pub before: Option<Cursor>,
}

/// Decisions that wait, those that have waited longest first, no more than are read at a time; and whether there are more.
pub(crate) fn list(
    db: &Db<'_>,
    tenant: &Tenant,
    wanted: &WaitingWanted,
    limit: usize,
) -> Result<(Vec<WaitingDecision>, bool), Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (mut found, mut more, mut bytes) = (Vec::new(), false, 0);
    wanted.each(db, tenant, limit, |waiting: WaitingDecision| {
        bytes += waiting.decision.document.len() + waiting.decision.about.action.as_ref().map_or(0, String::len);
        more = found.len() == limit || (bytes > MAX_PAGE_BYTES && !found.is_empty());
        if more {
            ControlFlow::Break(())
        } else {
            found.push(waiting);
            ControlFlow::Continue(())
        }
    })?;
    Ok((found, more))
}

/// The decisions of all tenants that wait, those that have waited longest first, of those behind `after`; at most [`MAX_NOTICES`].
pub(crate) fn notices(db: &Db<'_>, after: Option<Cursor>) -> Result<Vec<WaitingNotice>, Fault> {
    let after = after.map_or(i64::MIN, |Cursor(after)| after);
    let sql = format!("{NOTICE} WHERE waiting.first > $1 ORDER BY waiting.first LIMIT $2");
    db.all(&sql, &values![after, MAX_NOTICES], read_notice)
}

/// The decision that waits at this place, if it still does.
pub(crate) fn notice(db: &Db<'_>, tenant: &Tenant, Cursor(place): Cursor) -> Result<Option<WaitingNotice>, Fault> {
    let sql = format!("{NOTICE} WHERE waiting.tenant = $1 AND waiting.first = $2");
    db.one(&sql, &values![tenant.as_str(), place], read_notice)
}

/// How many decisions of all tenants wait, and since when the one does that has waited longest.
pub(crate) fn waiting_since(db: &Db<'_>) -> Result<(u64, Option<i64>), Fault> {
    let first = "SELECT decided_at FROM decisions WHERE sequence = (SELECT min(first) FROM waiting)";
    db.only(&format!("SELECT count(*), ({first}) FROM waiting"), &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

const NOTICE: &str = "SELECT waiting.tenant, waiting.first, newest.decision_id, begun.decision_id, begun.decided_at
                      FROM waiting JOIN decisions AS newest ON newest.sequence = waiting.sequence
                      JOIN decisions AS begun ON begun.sequence = waiting.first";

fn read_notice(row: &Row<'_>) -> Result<WaitingNotice, Fault> {
    Ok(WaitingNotice {
        tenant: Tenant::stored(row.text(0)?),
        place: Cursor(row.get(1)?),
        decision_id: row.get(2)?,
        first: row.get(3)?,
        since: row.get(4)?,
    })
}

/// How many decisions wait.
pub(crate) fn count(db: &Db<'_>, tenant: &Tenant, wanted: &WaitingWanted) -> Result<u64, Fault> {
    if !wanted.reads_documents() {
        let (conditions, values) = wanted.conditions(db, tenant);
        return db.only(&format!("SELECT count(*) {conditions}"), &values, |row| row.get(0));
    }
    let mut count = 0;
    wanted.each(db, tenant, PORTION, |_| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// The decision on a subject that waits.
pub(crate) fn on_subject(db: &Db<'_>, tenant: &Tenant, subject: &str) -> Result<Option<WaitingDecision>, Fault> {
    let sql = format!("SELECT {WAITING} FROM waiting WHERE tenant = $1 AND subject = $2");
    let row = db.one(&sql, &values![tenant.as_str(), subject], read)?;
    Ok(with_decisions(db, Vec::from_iter(row))?.pop())
}

impl WaitingWanted {
    /// Hands over those that are wanted, in their order, until `take` breaks off. `likely` is how many it will take.
    fn each(
        &self,
        db: &Db<'_>,
        tenant: &Tenant,
        likely: usize,
        mut take: impl FnMut(WaitingDecision) -> ControlFlow<()>,
    ) -> Result<(), Fault> {
        // Several statements, which must see the same rows.
        db.moment(|db| {
            let mut left = self.clone();
            let portion = if self.reads_documents() { PORTION } else { likely.saturating_add(1) };
            loop {
                let (conditions, mut values) = left.conditions(db, tenant);
                let order = if left.before.is_some() { "DESC" } else { "ASC" };
                values.push(portion.into());
                let limit = values.len();
                let sql = format!("SELECT {WAITING} {conditions} ORDER BY waiting.first {order} LIMIT ${limit}");
                let rows = db.all(&sql, &values, read)?;
                let Some(last) = rows.last().map(|row| Cursor(row.first)) else { return Ok(()) };
                let is_last = rows.len() < portion;
                for rows in fitting(db, rows)? {
                    for waiting in with_decisions(db, rows)? {
                        if self.matches(&waiting.decision) && take(waiting).is_break() {
                            return Ok(());
                        }
                    }
                }
                if is_last {
                    return Ok(());
                }
                *(if left.before.is_some() { &mut left.before } else { &mut left.after }) = Some(last);
            }
        })
    }

    fn reads_documents(&self) -> bool {
        self.text.is_some() || self.filter.environment.is_some() || self.filter.amount.is_some()
    }

    /// `FROM … WHERE …`, and its values. They let more through than is wanted where documents have to be read.
    fn conditions(&self, db: &Db<'_>, tenant: &Tenant) -> (String, Vec<Value>) {
        let joined = self.reads_documents() || self.agent.is_some();
        let join = if joined {
            db.spelled(" CROSS JOIN decisions USING (sequence)", " JOIN decisions USING (sequence)")
        } else {
            ""
        };
        let mut sql = format!("FROM waiting{join} WHERE waiting.tenant = $1");
        let mut values = vec![Value::from(tenant.as_str())];
        // A condition with its value between its two parts.
        let mut narrow = |before: &str, value: Value, after: &str| {
            values.push(value);
            sql += &format!(" AND {before} ${}{after}", values.len());
        };
        if let Some(after) = self.after {
            narrow("waiting.first >", after.0.into(), "");
        }
        if let Some(before) = self.before {
            narrow("waiting.first <", before.0.into(), "");
        }
        if let Some(agent) = &self.agent {
            narrow("decisions.agent =", agent.into(), "");
        }
        if let Some(text) = &self.text {
            let has = db.spelled(SQLITE_HAS_TEXT, POSTGRES_HAS_TEXT);
            narrow(has, text.to_ascii_lowercase().into(), ") > 0");
        }
        for roles in self.role.iter().map(std::slice::from_ref).chain(self.filter.roles.as_deref()) {
            let any: Vec<_> = roles.iter().map(|role| has_role(db, role)).collect();
            sql = format!("{sql} AND {}", any_of(&any, &mut values));
        }
        (sql, values)
    }

    /// Whether a decision has the text and the role that are wanted. A document that was damaged has none.
    fn matches(&self, decision: &Decision) -> bool {
        if !self.filter.matches(&decision.document, decision.about.action.as_deref()) {
            return false;
        }
        let text = self.text.as_ref().map(|text| text.to_ascii_lowercase());
        let has = |place: &str, text: &str| place.to_ascii_lowercase().contains(text);
        let about = [&decision.about.action, &decision.about.agent];
        let text = text.filter(|text| !about.into_iter().flatten().any(|place| has(place, text)));
        if text.is_none() && self.role.is_none() {
            return true;
        }
        let document = &decision.document;
        let in_reasons = |text: String| match reasons_as_written(document) {
            Some(reasons) => has(reasons, &text),
            None => member(parsed(document).as_ref(), "reasons").is_some_and(|reasons| has(&reasons.to_text(), &text)),
        };
        text.is_none_or(in_reasons) && self.role.as_ref().is_none_or(|role| asks_role(parsed(document).as_ref(), role))
    }
}

/// The reasons of a receipt that is written as receipts are written here, found without reading it: of ten thousand that wait, a
/// search would read each. `None` where it is written in any other way.
fn reasons_as_written(document: &str) -> Option<&str> {
    let (before, rest) = document.split_once("\"reasons\":[")?;
    // Only plain members stand before it. A quote within a text has a backslash before it, so none of these is found in one.
    let is_first = before.strip_prefix('{').is_some_and(|before| !before.contains(['{', '[', '\\']));
    let (reasons, _) = rest.split_once("],\"safe_next_steps\":")?;
    is_first.then_some(reasons)
}

const WAITING: &str = "waiting.sequence, waiting.first, waiting.asked, \
                       (SELECT decided_at FROM decisions AS begun WHERE begun.sequence = waiting.first)";

const SQLITE_HAS_TEXT: &str = "instr(lower(coalesce(decisions.action, '') || char(10) || coalesce(decisions.agent, '') \
                               || char(10) || decisions.document),";
const POSTGRES_HAS_TEXT: &str = "strpos(lower(coalesce(decisions.action, '') || chr(10) || coalesce(decisions.agent, '') \
                                 || chr(10) || decisions.document),";

struct WaitingRow {
    sequence: i64,
    first: i64,
    asked: u64,
    since: Option<i64>,
}

fn read(row: &Row<'_>) -> Result<WaitingRow, Fault> {
    Ok(WaitingRow { sequence: row.get(0)?, first: row.get(1)?, asked: row.get(2)?, since: row.get(3)? })
}

/// The rows in parts whose decisions are read at a time: an action may have megabytes.
fn fitting(db: &Db<'_>, rows: Vec<WaitingRow>) -> Result<Vec<Vec<WaitingRow>>, Fault> {
    let sequences: Vec<i64> = rows.iter().map(|row| row.sequence).collect();
    let sizes = decisions::sizes(db, &sequences)?;
    let (mut parts, mut bytes) = (vec![Vec::new()], 0);
    for row in rows {
        let size = sizes.get(&row.sequence).copied().unwrap_or_default();
        bytes += size;
        match parts.last_mut() {
            Some(part) if part.is_empty() || bytes <= MAX_PAGE_BYTES => part.push(row),
            _ => {
                bytes = size;
                parts.push(vec![row]);
            }
        }
    }
    Ok(parts)
}

/// The decisions of these rows, in their order.
fn with_decisions(db: &Db<'_>, rows: Vec<WaitingRow>) -> Result<Vec<WaitingDecision>, Fault> {
    let sequences: Vec<i64> = rows.iter().map(|row| row.sequence).collect();
    let mut decisions: HashMap<i64, Decision> = decisions::at(db, &sequences)?.into_iter().collect();
    let with_decision = |row: WaitingRow| {
        decisions.remove(&row.sequence).map(|decision| WaitingDecision {
            place: Cursor(row.first),
            since: row.since.unwrap_or(decision.decided_at),
            asked: row.asked,
            decision,
        })
    };
    // A row without a decision is a fault, which `store check` names; people still see the others.
    Ok(rows.into_iter().filter_map(with_decision).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_only_where_receipts_have_them() {
        let receipt = |before: &str, reasons: &str| {
            format!(
                r#"{{"outcome":"x",{before}"reasons":[{reasons}],"safe_next_steps":[],"runtime_loopback":{{"reasons":[]}}}}"#
            )
        };
        let reason = r#"{"message":"a [\"b\"],\\\"safe_next_steps\\\":"}"#;
        assert_eq!(reasons_as_written(&receipt("", reason)), Some(reason));
        assert_eq!(reasons_as_written(&receipt("", "")), Some(""));
        // Whatever else could be meant is read.
        for before in [r#""binding":{"reasons":[]},"#, r#""class":"a{b","#, r#""class":"a\\","#] {
            assert_eq!(reasons_as_written(&receipt(before, reason)), None, "{before}");
        }
        for document in [
            "",
            "{}",
            r#"{"reasons": []}"#,
            r#"{"safe_next_steps":[],"reasons":[]}"#,
            "\"reasons\":[],\"safe_next_steps\":1",
        ] {
            assert_eq!(reasons_as_written(document), None, "{document}");
        }
    }
}
