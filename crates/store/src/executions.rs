//! Reports of executions, and what was found when they were compared with the decisions they name.

use rusqlite::{Connection, Row, params};

use crate::awaited;
use crate::decisions::{DECISION, Decision, read_any_decision};
use crate::page::{self, Cursor, MAX_LISTED, MAX_PAGE};
use crate::scope::Scope;
use crate::tenant::Tenant;

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

impl Execution {
    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO executions (tenant, decision_id, executed, reported_at, document)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![scope.tenant.as_str(), self.decision_id, self.executed, scope.now, self.document];
        scope.connection.prepare_cached(sql)?.execute(values)?;
        // Also where the action was not executed: what is awaited is a report.
        awaited::remove(scope, &self.decision_id)
    }
}

impl Finding {
    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql = format!("INSERT INTO findings ({FINDING}) VALUES (?1, ?2, ?3, ?4, ?5)");
        let values = params![scope.tenant.as_str(), self.decision_id, self.code, self.message, self.found_at];
        scope.connection.prepare_cached(&sql)?.execute(values)?;
        match self.code == NEVER_REPORTED {
            true => awaited::remove(scope, &self.decision_id),
            false => Ok(()),
        }
    }
}

pub(crate) fn times_executed(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM executions WHERE decision_id = ?1 AND tenant = ?2 AND executed";
    let count: i64 = connection.prepare_cached(sql)?.query_row([decision_id, tenant.as_str()], |row| row.get(0))?;
    // A count is never negative.
    Ok(count.cast_unsigned())
}

/// Findings of one tenant or of all, newest first, each with its place and its tenant.
fn list_findings(
    connection: &Connection,
    tenant: Option<&Tenant>,
    limit: usize,
    after: Option<Cursor>,
) -> rusqlite::Result<Vec<(i64, (Tenant, Finding))>> {
    // Two statements: one that compares the tenant only where there is one would use no index.
    let of_tenant = if tenant.is_some() { "tenant = ?3 AND" } else { "" };
    let sql = format!(
        "SELECT {FINDING}, sequence FROM findings WHERE {of_tenant} sequence < ?1 ORDER BY sequence DESC LIMIT ?2"
    );
    let read = |row: &Row<'_>| {
        let finding =
            Finding { decision_id: row.get(1)?, code: row.get(2)?, message: row.get(3)?, found_at: row.get(4)? };
        Ok((row.get(5)?, (Tenant::stored(row.get_ref(0)?.as_str()?), finding)))
    };
    let mut statement = connection.prepare_cached(&sql)?;
    let (before, limit) = (after.map_or(i64::MAX, |after| after.0), page::one_more(limit)?);
    match tenant {
        Some(tenant) => statement.query_map(params![before, limit, tenant.as_str()], read)?.collect(),
        None => statement.query_map([before, limit], read)?.collect(),
    }
}

pub(crate) fn findings(
    connection: &Connection,
    tenant: &Tenant,
    limit: usize,
    after: Option<Cursor>,
) -> rusqlite::Result<Findings> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (findings, next) = page::cut(list_findings(connection, Some(tenant), limit, after)?, limit);
    Ok(Findings { findings: findings.into_iter().map(|(_, finding)| finding).collect(), next })
}

pub(crate) fn all_findings(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<(Tenant, Finding)>> {
    let limit = limit.clamp(1, MAX_PAGE);
    Ok(page::cut(list_findings(connection, None, limit, None)?, limit).0)
}

/// Decisions of all tenants that expired before `until` without a report of their execution. Only the table `awaited` is
/// searched, which holds none but these and those that have not expired.
pub(crate) fn unreported(connection: &Connection, until: i64) -> rusqlite::Result<Vec<(Tenant, Decision)>> {
    let mut statement = connection.prepare_cached(&unreported_statement())?;
    statement.query_map((until, MAX_LISTED as i64), read_any_decision)?.collect()
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
    use tempfile::TempDir;

    use super::*;
    use crate::decisions::{DecisionIndex, NewDecision};
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
        let store = Store::open(&home.path().join("store.db")).unwrap();
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
        let plan = store.read(|connection| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", unreported_statement()))?;
            let steps = statement.query_map((0, 1), |row| row.get::<_, String>(3))?;
            steps.collect::<rusqlite::Result<Vec<_>>>()
        });
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
        connection.execute_batch(&(dropped + later + guarded)).unwrap();
        connection.execute_batch(downgrade).unwrap();
        drop(connection);
        let store = Store::open(&home.path().join("store.db")).unwrap();
        assert_eq!(unreported(&store), [id(4)]);
        store.probe().unwrap();
        store.probe().unwrap();
    }
}
