//! Reports of executions, and what was found when they were compared with the decisions they name.

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Settle, Stop};
use crate::row::Row;
use crate::rows::awaited;
use crate::rows::decisions::{DECISION, Decision, read_any_decision};
use crate::rows::page::{self, Cursor, MAX_LISTED, MAX_PAGE};
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// A report of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub decision_id: String,
    /// Whether the side effect happened.
    pub executed: bool,
    /// The report, as JSON.
    pub document: String,
}

/// Something wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub decision_id: String,
    /// A short stable name.
    pub code: String,
    pub message: String,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub found_at: i64,
}

/// The code of the finding that an execution was never reported. It is found once.
pub const NEVER_REPORTED: &str = "never_reported";

/// Some findings, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    pub findings: Vec<Finding>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

impl Settle for Execution {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("decision", &[tenant.as_str(), &self.decision_id])]
    }

    fn settle(&mut self, _: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let sql = "INSERT INTO executions (sequence, tenant, decision_id, executed, reported_at, document)
                   VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM executions), ?1, ?2, ?3, ?4, ?5)";
        let (tenant, now) = (draft.tenant.as_str(), draft.now);
        draft.store(sql, values![tenant, &self.decision_id, self.executed, now, &self.document]);
        // Also where the action was not executed: what is awaited is a report.
        awaited::remove(draft, &self.decision_id);
        Ok(())
    }
}

impl Settle for Finding {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("decision", &[tenant.as_str(), &self.decision_id])]
    }

    fn settle(&mut self, _: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let sql = "INSERT INTO findings (sequence, tenant, decision_id, code, message, found_at)
                   VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM findings), ?1, ?2, ?3, ?4, ?5)";
        let tenant = draft.tenant.as_str();
        draft.store(sql, values![tenant, &self.decision_id, &self.code, &self.message, self.found_at]);
        if self.code == NEVER_REPORTED {
            awaited::remove(draft, &self.decision_id);
        }
        Ok(())
    }
}

pub(crate) fn times_executed(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM executions WHERE decision_id = ?1 AND tenant = ?2 AND executed";
    db.only(sql, &values![decision_id, tenant.as_str()], |row| row.get(0))
}

/// The reports of a decision's execution, the oldest first: whether it was executed, and when that was reported.
pub(crate) fn reports(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Vec<(bool, i64)>, Fault> {
    let sql = "SELECT executed, reported_at FROM executions WHERE decision_id = ?1 AND tenant = ?2
               ORDER BY sequence LIMIT ?3";
    db.all(sql, &values![decision_id, tenant.as_str(), MAX_LISTED], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The findings about one decision, the oldest first.
pub(crate) fn findings_of(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Vec<Finding>, Fault> {
    let sql =
        format!("SELECT {FINDING} FROM findings WHERE tenant = ?1 AND decision_id = ?2 ORDER BY sequence LIMIT ?3");
    db.all(&sql, &values![tenant.as_str(), decision_id, MAX_LISTED], read_finding)
}

type OwnedFinding = (Tenant, Finding);

/// Findings of one tenant or of all, newest first, each with its place.
fn list_findings(
    db: &Db<'_>,
    tenant: Option<&Tenant>,
    code: Option<&str>,
    limit: usize,
    after: Option<Cursor>,
) -> Result<Vec<(i64, OwnedFinding)>, Fault> {
    let mut values: Vec<Value> = values![after.map_or(i64::MAX, |after| after.0), page::one_more(limit)].into();
    // A statement for each filter: one that compares only where there is one would use no index.
    let of_tenant = match (tenant, code) {
        (Some(tenant), Some(code)) => {
            values.extend(values![tenant.as_str(), code]);
            "tenant = ?3 AND code = ?4 AND"
        }
        (Some(tenant), None) => {
            values.push(tenant.as_str().into());
            "tenant = ?3 AND"
        }
        (None, _) => "",
    };
    let sql = format!(
        "SELECT {FINDING}, sequence FROM findings WHERE {of_tenant} sequence < ?1 ORDER BY sequence DESC LIMIT ?2"
    );
    db.all(&sql, &values, |row| Ok((row.get(5)?, (Tenant::stored(row.text(0)?), read_finding(row)?))))
}

/// A row that begins with [`FINDING`].
fn read_finding(row: &Row<'_>) -> Result<Finding, Fault> {
    Ok(Finding { decision_id: row.get(1)?, code: row.get(2)?, message: row.get(3)?, found_at: row.get(4)? })
}

pub(crate) fn findings(
    db: &Db<'_>,
    tenant: &Tenant,
    code: Option<&str>,
    limit: usize,
    after: Option<Cursor>,
) -> Result<Findings, Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (findings, next) = page::cut(list_findings(db, Some(tenant), code, limit, after)?, limit);
    Ok(Findings { findings: findings.into_iter().map(|(_, finding)| finding).collect(), next })
}

pub(crate) fn all_findings(
    db: &Db<'_>,
    limit: usize,
    after: Option<Cursor>,
) -> Result<(Vec<OwnedFinding>, Option<Cursor>), Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    Ok(page::cut(list_findings(db, None, None, limit, after)?, limit))
}

/// Decisions of all tenants that expired before `until` without a report of their execution. Only the table `awaited` is
/// searched, which holds none but these and those that have not expired.
pub(crate) fn unreported(db: &Db<'_>, until: i64) -> Result<Vec<(Tenant, Decision)>, Fault> {
    db.all(&unreported_statement(), &values![until, MAX_LISTED], read_any_decision)
}

fn unreported_statement() -> String {
    // Ids of decisions are unique over all tenants, so the id alone joins the tables. The earliest end comes first, so
    // that what exceeds the limit is found by the next sweep.
    format!(
        "SELECT {DECISION} FROM decisions WHERE decision_id IN
             (SELECT decision_id FROM awaited WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
         ORDER BY sequence"
    )
}

const FINDING: &str = "tenant, decision_id, code, message, found_at";

#[cfg(test)]
mod tests {
    use proofmark_receipt::{Object, Prepared, SigningKey};
    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::rows::decisions::{DecisionIndex, NewDecision};
    use crate::store::Store;

    fn decision(number: u64, expires_at: i64, candidate: Option<&str>) -> NewDecision {
        NewDecision {
            decision_id: id(number).parse().unwrap(),
            decided_at: 0,
            outcome: "allow".to_owned(),
            allowed: true,
            fingerprint: number.to_string(),
            nth: 1,
            about: DecisionIndex {
                mode: "continue_downstream".to_owned(),
                expires_at,
                candidate: candidate.map(str::to_owned),
                ..DecisionIndex::default()
            },
            sign: Box::new(move |tip| {
                let key = SigningKey::from_seed([1; 32]);
                Prepared::new(id(number).parse().unwrap(), Object::new(), &key)?.sign(tip, &key)
            }),
        }
    }

    fn id(number: u64) -> String {
        format!("00000000-0000-4000-8000-{number:012}")
    }

    /// Of five decisions, 0 was reported, 1 was found, 2 has not expired, 3 expects no report, and 4 is unreported.
    fn five_decisions(home: &TempDir) -> Store {
        let store = Store::open(home.path().join("store.db")).unwrap();
        let (local, other) = (store.of(&Tenant::LOCAL), store.of(&"a".parse().unwrap()));
        for (number, expires_at, candidate) in
            [(0, 1, Some("c")), (1, 1, Some("c")), (2, 9, Some("c")), (3, 1, None), (4, 1, Some("c"))]
        {
            local.submit(decision(number, expires_at, candidate)).wait().unwrap();
        }
        let execution = |number| Execution { decision_id: id(number), executed: false, document: String::new() };
        local.submit(execution(0)).wait().unwrap();
        // What another tenant reports is not a report of it.
        other.submit(execution(4)).wait().unwrap();
        let finding = |number, code: &str| Finding {
            decision_id: id(number),
            code: code.to_owned(),
            message: String::new(),
            found_at: 0,
        };
        let findings = vec![finding(1, NEVER_REPORTED).into(), finding(4, "executed_twice").into()];
        local.submit_all(findings).wait().unwrap();
        store
    }

    fn unreported(store: &Store) -> Vec<String> {
        store.all_tenants_unreported(5).unwrap().into_iter().map(|(_, decision)| decision.decision_id).collect()
    }

    #[test]
    fn only_decisions_that_await_a_report_are_searched() {
        let home = TempDir::new().unwrap();
        let store = five_decisions(&home);
        assert_eq!(unreported(&store), [id(4)]);
        let explain = format!("EXPLAIN QUERY PLAN {}", unreported_statement());
        let plan = store.read(|db| db.all(&explain, &values![0_i64, 1_i64], |row| row.get::<String>(3)));
        let plan = plan.unwrap().join("; ");
        assert!(plan.contains("awaited_by_end") && !plan.contains("SCAN"), "{plan}");
    }

    #[test]
    fn an_upgraded_store_knows_which_reports_it_awaits() {
        let home = TempDir::new().unwrap();
        drop(five_decisions(&home));
        let connection = Connection::open(home.path().join("store.db")).unwrap();
        let downgrade = "DROP INDEX decisions_by_action; DROP INDEX decisions_allowed;
                         ALTER TABLE decisions DROP COLUMN nth;
                         CREATE INDEX decisions_by_fingerprint ON decisions (fingerprint);
                         DROP TABLE awaited; DROP TABLE probe; PRAGMA user_version = 6;";
        // What the later migrations make and drop; what is in those indexes does not matter.
        let dropped = ["own", "by_id", "by_content", "by_verdict", "by_tier", "by_tenant", "by_time"];
        let dropped = dropped.map(|name| format!("CREATE INDEX receipts_{name} ON receipts (tenant);")).concat();
        let later =
            "DROP TABLE receipt_times; DROP TABLE receipt_counts; DROP TABLE decision_times; DROP TABLE waiting;
                     DROP INDEX receipts_listed; DROP INDEX receipts_by_chain; DROP INDEX decisions_listed;
                     DROP INDEX decisions_by_agent; DROP INDEX decisions_by_class; DROP INDEX decisions_by_tool;
                     DROP INDEX runs_by_change; ALTER TABLE decisions DROP COLUMN tool;
                     CREATE INDEX decisions_by_tenant ON decisions (tenant);
                     CREATE INDEX decisions_to_review ON decisions (tenant);
                     CREATE INDEX findings_by_decision ON findings (tenant);";
        let guarded = "DROP TABLE session_entries; DROP TABLE pins;";
        let pages = "DROP TABLE decision_counts; DROP TABLE agent_counts; DROP TABLE verdict_counts;
                     DROP INDEX reviews_by_time; DROP INDEX findings_of_decision; DROP INDEX findings_by_code;
                     DROP INDEX runs_of_tenant; DROP INDEX sessions_by_decision;";
        let workers = "DROP TABLE workers; ALTER TABLE clock DROP COLUMN turn; DROP TABLE jobs;
                     CREATE TABLE jobs (job_id BLOB, tenant TEXT, state TEXT, request TEXT, checks INTEGER, chain TEXT,
                         supersedes BLOB, owner TEXT, lease_until INTEGER, error TEXT, created_at INTEGER,
                         finished_at INTEGER);";
        connection.execute_batch(workers).unwrap();
        connection.execute_batch(pages).unwrap();
        connection.execute_batch(&(dropped + later + guarded)).unwrap();
        connection.execute_batch(downgrade).unwrap();
        drop(connection);
        let store = Store::open(home.path().join("store.db")).unwrap();
        assert_eq!(unreported(&store), [id(4)]);
        store.probe().unwrap();
        store.probe().unwrap();
    }
}
