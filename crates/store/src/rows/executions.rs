//! Reports of executions, and what was found when they were compared with the decisions they name.

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Settle, Stop};
use crate::insert::Insert;
use crate::rows::awaited;
use crate::rows::decisions::{Decision, read_any_decision};
use crate::rows::page::{self, Cursor, MAX_LISTED, MAX_PAGE};
use crate::statement::row;
use crate::table::Fields;
use crate::tables::{DECISIONS, EXECUTIONS, FINDINGS};
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

/// Some findings of all tenants, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantsFindings {
    pub findings: Vec<(Tenant, Finding)>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

static EXECUTION: Insert = Insert::into(&EXECUTIONS);
static FINDING: Insert = Insert::into(&FINDINGS);

impl Settle for Execution {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("decision", &[tenant.as_str(), &self.decision_id])]
    }

    fn settle(&mut self, _: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let row = row!(EXECUTIONS {
            sequence: draft.number(&EXECUTIONS),
            tenant: draft.tenant.as_str(),
            decision_id: &self.decision_id,
            executed: self.executed,
            reported_at: draft.now,
            document: &self.document,
        });
        draft.insert(&EXECUTION, row);
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
        let row = row!(FINDINGS {
            sequence: draft.number(&FINDINGS),
            tenant: draft.tenant.as_str(),
            decision_id: &self.decision_id,
            code: &self.code,
            message: &self.message,
            found_at: self.found_at,
        });
        draft.insert(&FINDING, row);
        if self.code == NEVER_REPORTED {
            awaited::remove(draft, &self.decision_id);
        }
        Ok(())
    }
}

pub(crate) fn times_executed(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM executions WHERE decision_id = $1 AND tenant = $2 AND executed";
    db.only(sql, &values![decision_id, tenant.as_str()], |row| row.get(0))
}

/// The reports of a decision's execution, the oldest first: whether it was executed, and when that was reported.
pub(crate) fn reports(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Vec<(bool, i64)>, Fault> {
    let sql = "SELECT executed, reported_at FROM executions WHERE decision_id = $1 AND tenant = $2
               ORDER BY sequence LIMIT $3";
    db.all(sql, &values![decision_id, tenant.as_str(), MAX_LISTED], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The findings about one decision, the oldest first.
pub(crate) fn findings_of(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Vec<Finding>, Fault> {
    let sql = format!(
        "SELECT {} FROM findings WHERE tenant = $1 AND decision_id = $2 ORDER BY sequence LIMIT $3",
        FINDINGS.list()
    );
    db.all(&sql, &values![tenant.as_str(), decision_id, MAX_LISTED], |row| read_finding(&FINDINGS.fields(row)))
}

/// A finding and whose it is.
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
            "tenant = $3 AND code = $4 AND"
        }
        (Some(tenant), None) => {
            values.push(tenant.as_str().into());
            "tenant = $3 AND"
        }
        (None, _) => "",
    };
    let sql = format!(
        "SELECT {} FROM findings WHERE {of_tenant} sequence < $1 ORDER BY sequence DESC LIMIT $2",
        FINDINGS.list()
    );
    db.all(&sql, &values, |row| {
        let row = FINDINGS.fields(row);
        Ok((row.get("sequence")?, (Tenant::stored(row.text("tenant")?), read_finding(&row)?)))
    })
}

fn read_finding(row: &Fields<'_>) -> Result<Finding, Fault> {
    Ok(Finding {
        decision_id: row.get("decision_id")?,
        code: row.get("code")?,
        message: row.get("message")?,
        found_at: row.get("found_at")?,
    })
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

pub(crate) fn all_findings(db: &Db<'_>, limit: usize, after: Option<Cursor>) -> Result<TenantsFindings, Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (findings, next) = page::cut(list_findings(db, None, None, limit, after)?, limit);
    Ok(TenantsFindings { findings, next })
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
        "SELECT {} FROM decisions WHERE decision_id IN
             (SELECT decision_id FROM awaited WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
         ORDER BY sequence",
        DECISIONS.list()
    )
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::{Object, Prepared, SigningKey};
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
            after: None,
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
}
