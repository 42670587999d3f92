//! What a server keeps beside decisions: its answers, what was executed and what was found.

use proofmark_receipt::Sha256Digest;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params, params_from_iter};

use crate::bundle::{Bundle, DECISION, DECISION_COLUMNS, Decision, MAX_LISTED, read_any_decision, read_decision};
use crate::error::StoreError;
use crate::page::{Cursor, MAX_PAGE};
use crate::reviews;
use crate::tenant::Tenant;

/// What was answered to a request, under the key its client chose for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The client's key.
    pub key: String,
    /// SHA-256 of what was asked.
    pub request: Sha256Digest,
    /// What was answered, or the id of the decision it was made of.
    pub document: String,
}

/// A report of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The decision it names.
    pub decision_id: String,
    /// Whether the side effect happened.
    pub executed: bool,
    /// What was reported, as JSON.
    pub document: String,
}

/// Something about an execution that should not be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The decision it is about.
    pub decision_id: String,
    /// A short stable name.
    pub code: String,
    /// What is the matter.
    pub message: String,
    /// When it was found, in milliseconds after 1970-01-01T00:00:00Z.
    pub found_at: i64,
}

/// Which decisions to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionsWanted {
    /// Only those with this outcome.
    pub outcome: Option<String>,
    /// Only those on actions of this class.
    pub class: Option<String>,
    /// Only those this agent asked for.
    pub agent: Option<String>,
    /// Only those that wait for a human's word: of each subject the newest, unless enough was said since.
    pub to_review: bool,
    /// Only those made at or after this time, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: Option<i64>,
    /// Only those made before this time.
    pub until: Option<i64>,
    /// How many at most: 1 to [`MAX_PAGE`]; what is outside is taken as the nearest of them.
    pub limit: usize,
    /// Only those after this place.
    pub after: Option<Cursor>,
}

/// The code of a finding that says that an execution was never reported: it is found once.
pub const NEVER_REPORTED: &str = "never_reported";

/// Some decisions, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Decisions {
    /// The decisions.
    pub decisions: Vec<Decision>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// Some findings, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The findings.
    pub findings: Vec<Finding>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// Why this part of a bundle cannot be kept, if so.
pub(crate) fn refusal(
    connection: &Connection,
    tenant: &Tenant,
    bundle: &Bundle,
) -> rusqlite::Result<Option<StoreError>> {
    if let Some(new) = &bundle.answer
        && answer(connection, tenant, &new.key)?.is_some()
    {
        return Ok(Some(StoreError::Answered(new.key.clone())));
    }
    match &bundle.review {
        Some(new) => reviews::refusal(connection, tenant, new),
        None => Ok(None),
    }
}

/// Writes this part of a bundle.
pub(crate) fn put(transaction: &Transaction<'_>, tenant: &Tenant, bundle: &Bundle) -> rusqlite::Result<()> {
    let tenant = tenant.as_str();
    if let Some(new) = &bundle.answer {
        let sql = "INSERT INTO answers (tenant, key, request, document, answered_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![tenant, new.key, new.request.as_bytes(), new.document, bundle.at];
        transaction.prepare_cached(sql)?.execute(values)?;
    }
    if let Some(new) = bundle.decision.as_ref().filter(|new| is_awaited(new)) {
        let sql = "INSERT INTO awaited (tenant, decision_id, expires_at) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute((tenant, &new.decision_id, new.about.expires_at))?;
    }
    if let Some(new) = &bundle.execution {
        let sql = "INSERT INTO executions (tenant, decision_id, executed, reported_at, document)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![tenant, new.decision_id, new.executed, bundle.at, new.document];
        transaction.prepare_cached(sql)?.execute(values)?;
        no_longer_awaited(transaction, tenant, &new.decision_id)?;
    }
    for new in &bundle.findings {
        let sql = format!("INSERT INTO findings ({FINDING}) VALUES (?1, ?2, ?3, ?4, ?5)");
        let values = params![tenant, new.decision_id, new.code, new.message, new.found_at];
        transaction.prepare_cached(&sql)?.execute(values)?;
        if new.code == NEVER_REPORTED {
            no_longer_awaited(transaction, tenant, &new.decision_id)?;
        }
    }
    if let Some(new) = &bundle.review {
        reviews::put(transaction, tenant, new)?;
    }
    Ok(())
}

pub(crate) fn answer(connection: &Connection, tenant: &Tenant, key: &str) -> rusqlite::Result<Option<Answer>> {
    let sql = "SELECT key, request, document FROM answers WHERE tenant = ?1 AND key = ?2";
    let read = |row: &Row<'_>| {
        let request: [u8; 32] = row.get(1)?;
        let request = Sha256Digest::from_bytes(request);
        Ok(Answer { key: row.get(0)?, request, document: row.get(2)? })
    };
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), key], read).optional()
}

pub(crate) fn times_executed(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM executions WHERE decision_id = ?1 AND tenant = ?2 AND executed";
    let count: i64 = connection.prepare_cached(sql)?.query_row([decision_id, tenant.as_str()], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

/// How often the action was denied since it was allowed last.
pub(crate) fn denied(connection: &Connection, tenant: &Tenant, fingerprint: &str) -> rusqlite::Result<u64> {
    // The plus keeps SQLite from going through all of the tenant's decisions by another index.
    let sql = "SELECT count(*) FROM decisions WHERE fingerprint = ?1 AND +tenant = ?2 AND sequence >
                   coalesce((SELECT max(sequence) FROM decisions
                             WHERE fingerprint = ?1 AND +tenant = ?2 AND allowed), 0)";
    let count: i64 = connection.prepare_cached(sql)?.query_row([fingerprint, tenant.as_str()], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

/// Findings of one tenant or of all, newest first, each with its place and its tenant.
fn list_findings(
    connection: &Connection,
    tenant: Option<&Tenant>,
    limit: usize,
    after: Option<Cursor>,
) -> rusqlite::Result<Vec<(i64, (Tenant, Finding))>> {
    let sql = format!(
        "SELECT {FINDING}, sequence FROM findings
         WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR sequence < ?2) ORDER BY sequence DESC LIMIT ?3"
    );
    let read = |row: &Row<'_>| {
        let finding =
            Finding { decision_id: row.get(1)?, code: row.get(2)?, message: row.get(3)?, found_at: row.get(4)? };
        Ok((row.get(5)?, (Tenant::kept(row.get_ref(0)?.as_str()?), finding)))
    };
    let mut statement = connection.prepare_cached(&sql)?;
    let values = params![tenant.map(Tenant::as_str), after.map(|after| after.0), one_more(limit)?];
    statement.query_map(values, read)?.collect()
}

pub(crate) fn findings(
    connection: &Connection,
    tenant: &Tenant,
    limit: usize,
    after: Option<Cursor>,
) -> rusqlite::Result<Findings> {
    let limit = limit.clamp(1, MAX_PAGE);
    let (findings, next) = page(list_findings(connection, Some(tenant), limit, after)?, limit);
    Ok(Findings { findings: findings.into_iter().map(|(_, finding)| finding).collect(), next })
}

pub(crate) fn all_findings(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<(Tenant, Finding)>> {
    let limit = limit.clamp(1, MAX_PAGE);
    Ok(page(list_findings(connection, None, limit, None)?, limit).0)
}

/// Decisions of all tenants whose execution was not reported though they ended before `until`. Only those are kept as
/// `awaited` of which nobody has said anything, so this costs nothing for the others, however many there are.
pub(crate) fn unreported(connection: &Connection, until: i64) -> rusqlite::Result<Vec<(Tenant, Decision)>> {
    let mut statement = connection.prepare_cached(&unreported_statement())?;
    statement.query_map((until, MAX_LISTED as i64), read_any_decision)?.collect()
}

fn unreported_statement() -> String {
    format!(
        "SELECT {DECISION} FROM decisions WHERE decision_id IN
             (SELECT decision_id FROM awaited WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
         ORDER BY sequence"
    )
}

/// Whether the runtime will say what became of the action.
fn is_awaited(decision: &Decision) -> bool {
    decision.about.candidate.is_some() && decision.allowed
}

/// Nothing more has to be said of this decision of the tenant; what is said of another's changes nothing.
fn no_longer_awaited(transaction: &Transaction<'_>, tenant: &str, decision_id: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM awaited WHERE tenant = ?1 AND decision_id = ?2";
    transaction.prepare_cached(sql)?.execute([tenant, decision_id]).map(drop)
}

pub(crate) fn decisions(
    connection: &Connection,
    tenant: Option<&Tenant>,
    wanted: &DecisionsWanted,
) -> rusqlite::Result<Decisions> {
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    let mut conditions = vec!["1"];
    let mut values: Vec<Value> = Vec::new();
    let mut narrow = |condition: &'static str, value: Option<Value>| {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::Text);
    narrow("tenant = ?", tenant.map(|tenant| Value::Text(tenant.as_str().to_owned())));
    narrow("outcome = ?", text(&wanted.outcome));
    narrow("class = ?", text(&wanted.class));
    narrow("agent = ?", text(&wanted.agent));
    narrow("decided_at >= ?", wanted.since.map(Value::Integer));
    narrow("decided_at < ?", wanted.until.map(Value::Integer));
    narrow("sequence < ?", wanted.after.map(|after| Value::Integer(after.0)));
    if wanted.to_review {
        conditions.push(reviews::WAITS);
    }
    values.push(Value::Integer(one_more(limit)?));
    let conditions = conditions.join(" AND ");
    let sql = format!("SELECT {DECISION}, sequence FROM decisions WHERE {conditions} ORDER BY sequence DESC LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows =
        statement.query_map(params_from_iter(values), |row| Ok((row.get(DECISION_COLUMNS)?, read_decision(row)?)))?;
    let (decisions, next) = page(rows.collect::<rusqlite::Result<_>>()?, limit);
    Ok(Decisions { decisions, next })
}

const FINDING: &str = "tenant, decision_id, code, message, found_at";

/// One more than asked for is looked up: it tells whether there is a next page.
fn one_more(limit: usize) -> rusqlite::Result<i64> {
    i64::try_from(limit + 1)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Integer, Box::new(error)))
}

fn page<T>(mut found: Vec<(i64, T)>, limit: usize) -> (Vec<T>, Option<Cursor>) {
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|(sequence, _)| Cursor(*sequence));
    (found.into_iter().map(|(_, one)| one).collect(), last.filter(|_| more))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::bundle::DecisionIndex;
    use crate::store::Store;
    use crate::tenant_store::TenantStore;

    fn decision(position: u64, expires_at: i64, candidate: Option<&str>) -> Decision {
        Decision {
            decision_id: id(position),
            decided_at: 0,
            outcome: "allow".to_owned(),
            allowed: true,
            fingerprint: String::new(),
            position,
            document: String::new(),
            hash: Some(Sha256Digest::of(b"")),
            about: DecisionIndex {
                mode: "continue_downstream".to_owned(),
                expires_at,
                candidate: candidate.map(str::to_owned),
                ..DecisionIndex::default()
            },
        }
    }

    /// Ids of decisions are UUIDs.
    fn id(number: u64) -> String {
        format!("00000000-0000-4000-8000-{number:012}")
    }

    fn keep(store: &TenantStore<'_>, bundle: Bundle) {
        store.submit_bundle(bundle).wait().unwrap();
    }

    /// Decisions of which 0 was reported, 1 was found, 2 has not ended, 3 expects no report, and 4 is unreported.
    fn kept(home: &TempDir) -> Store {
        let store = Store::open(&home.path().join("store.db")).unwrap();
        for (position, expires_at, candidate) in
            [(0, 1, Some("c")), (1, 1, Some("c")), (2, 9, Some("c")), (3, 1, None), (4, 1, Some("c"))]
        {
            let decision = Some(decision(position, expires_at, candidate));
            keep(&store.of(&Tenant::LOCAL), Bundle { decision, ..Bundle::default() });
        }
        let execution = |number| {
            let execution = Execution { decision_id: id(number), executed: false, document: String::new() };
            Bundle { execution: Some(execution), ..Bundle::default() }
        };
        keep(&store.of(&Tenant::LOCAL), execution(0));
        // What another tenant says of it is not what became of it.
        keep(&store.of(&"a".parse().unwrap()), execution(4));
        let finding = |number, code: &str| Finding {
            decision_id: id(number),
            code: code.to_owned(),
            message: String::new(),
            found_at: 0,
        };
        let findings = vec![finding(1, NEVER_REPORTED), finding(4, "executed_twice")];
        keep(&store.of(&Tenant::LOCAL), Bundle { findings, ..Bundle::default() });
        store
    }

    fn unreported(store: &Store) -> Vec<String> {
        store.all_tenants_unreported(5).unwrap().into_iter().map(|(_, decision)| decision.decision_id).collect()
    }

    #[test]
    fn only_decisions_nobody_said_anything_of_are_looked_at() {
        let home = TempDir::new().unwrap();
        let store = kept(&home);
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
    fn a_store_of_before_knows_what_is_awaited() {
        let home = TempDir::new().unwrap();
        drop(kept(&home));
        let connection = Connection::open(home.path().join("store.db")).unwrap();
        let before = "DROP TABLE awaited; DROP TABLE probe; PRAGMA user_version = 6;";
        connection.execute_batch(before).unwrap();
        drop(connection);
        let store = Store::open(&home.path().join("store.db")).unwrap();
        assert_eq!(unreported(&store), [id(4)]);
        store.probe().unwrap();
        store.probe().unwrap();
    }
}
