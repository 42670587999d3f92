//! The step that gives every row its tenant and every document its content: old names are taken apart here.

use std::collections::{HashMap, HashSet};

use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};
use proofmark_receipt::{Receipt, Sha256Digest};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::group::settle::Statement;
use crate::mark::Mark;
use crate::tenant::Tenant;
use crate::upkeep::seal::{self, Spelling};

/// The longest decision an older version may have stored, in bytes: a request's body had at most 4 MiB.
const MAX_OLD_DECISION: usize = 64 << 20;

/// Tables whose rows had a tenant before.
const WITH_TENANTS: [&str; 7] = ["receipts", "decisions", "answers", "executions", "findings", "reviews", "jobs"];

// Outcomes that are not listed in the update below count as not allowed, the column's default.
const NEW_TABLES: &str = "
CREATE TABLE new_chains (
    chain_id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
) STRICT;
CREATE TABLE new_receipts (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    receipt_id BLOB NOT NULL CHECK (length(receipt_id) = 16),
    issuer TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    content BLOB CHECK (length(content) = 32),
    verified_at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    tier INTEGER NOT NULL,
    task_id TEXT,
    task_type TEXT,
    output TEXT,
    trust TEXT,
    superseded_by INTEGER,
    chain_id INTEGER REFERENCES new_chains (chain_id),
    position INTEGER,
    document TEXT NOT NULL,
    UNIQUE (tenant, receipt_id, issuer),
    CHECK ((chain_id IS NULL) = (position IS NULL))
) STRICT;
CREATE TABLE new_requests (
    sequence INTEGER PRIMARY KEY,
    document TEXT NOT NULL
) STRICT;
CREATE TABLE new_runs (
    tenant TEXT NOT NULL,
    begun_by TEXT NOT NULL,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, run, step, begun_by)
) STRICT;
CREATE TABLE new_spent (
    tenant TEXT NOT NULL,
    content BLOB NOT NULL CHECK (length(content) = 32),
    spent_by TEXT NOT NULL,
    spent_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, content)
) STRICT;
CREATE TABLE spent_ids (
    receipt_id BLOB PRIMARY KEY CHECK (length(receipt_id) = 16),
    spent_by TEXT NOT NULL,
    spent_at INTEGER NOT NULL
) STRICT;
CREATE TABLE clock (
    only INTEGER PRIMARY KEY CHECK (only = 0),
    latest INTEGER NOT NULL
) STRICT;
INSERT INTO clock (only, latest) SELECT 0, coalesce(max(decided_at), 0) FROM decisions;
ALTER TABLE decisions ADD COLUMN allowed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE decisions ADD COLUMN hash BLOB;
UPDATE decisions SET allowed = 1 WHERE outcome IN ('allow', 'allow_with_warning');
UPDATE jobs SET chain = substr(chain, length(tenant) + 2)
    WHERE tenant <> '' AND substr(chain, 1, length(tenant) + 1) = tenant || '/';
";

// A receipt whose successor is not stored here names itself as its successor: it must stay superseded.
const RECEIPTS: &str = "
INSERT INTO new_receipts
    SELECT sequence, tenant, receipt_id, coalesce(signer, 'unsigned'), hash, NULL, verified_at, verdict, tier, task_id,
           task_type, output, trust,
           CASE WHEN superseded_by IS NULL THEN NULL
                ELSE coalesce((SELECT newer.sequence FROM receipts AS newer WHERE newer.receipt_id = older.superseded_by),
                              older.sequence) END,
           chain_id, position, document
    FROM receipts AS older;
INSERT INTO new_requests
    SELECT receipts.sequence, requests.document FROM requests JOIN receipts USING (receipt_id);
CREATE INDEX receipts_by_id ON new_receipts (receipt_id);
";

/// What is spent is known by its content, or by its id where its document is not stored here.
const SPENT: &str = "
INSERT INTO new_spent
    SELECT new_receipts.tenant, new_receipts.content, spent.spent_by, spent.spent_at
    FROM spent JOIN new_receipts USING (receipt_id) WHERE content IS NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO spent_ids
    SELECT receipt_id, spent_by, spent_at FROM spent
    WHERE receipt_id NOT IN (SELECT receipt_id FROM new_receipts WHERE content IS NOT NULL);
DROP TABLE spent;
DROP TABLE requests;
DROP TABLE runs;
DROP TABLE receipts;
DROP TABLE chains;
ALTER TABLE new_spent RENAME TO spent;
ALTER TABLE new_requests RENAME TO requests;
ALTER TABLE new_runs RENAME TO runs;
ALTER TABLE new_chains RENAME TO chains;
ALTER TABLE new_receipts RENAME TO receipts;
CREATE UNIQUE INDEX receipts_own ON receipts (tenant, receipt_id) WHERE trust IS NULL;
CREATE INDEX receipts_by_content ON receipts (content, tenant) WHERE content IS NOT NULL;
CREATE INDEX receipts_by_verdict ON receipts (verdict);
CREATE INDEX receipts_by_tier ON receipts (tier);
CREATE INDEX receipts_by_task ON receipts (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX receipts_by_position ON receipts (chain_id, position) WHERE chain_id IS NOT NULL;
CREATE INDEX receipts_by_tenant ON receipts (tenant, sequence);
CREATE INDEX receipts_by_issuer ON receipts (issuer);
CREATE INDEX receipts_by_output ON receipts (output, sequence);
CREATE INDEX receipts_by_time ON receipts (verified_at);
";

/// Brings a store of the fourth version to the fifth.
pub(crate) fn to_tenants(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(NEW_TABLES)?;
    // Before the tenants are renamed: the names of chains and runs begin with the old names.
    let chains = split_chains(transaction)?;
    split_runs(transaction, &chains)?;
    transaction.execute_batch(RECEIPTS)?;
    name_contents(transaction)?;
    hash_last_decision(transaction)?;
    transaction.execute_batch(SPENT)?;
    rename_tenants(transaction)
}

/// Changes a store, also one that was moved and refuses changes: it is to be read by this version, too.
pub(crate) fn unsealed(
    transaction: &Transaction<'_>,
    change: impl FnOnce() -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let marked = transaction.query_row(seal::exists(Spelling::Sqlite), [], |_| Ok(())).optional()?;
    let read = |row: &Row<'_>| Ok(Mark::of_columns(&row.get::<_, String>(0)?, row.get(1)?, row.get(2)?));
    let mark = marked.and_then(|()| transaction.query_row(seal::READ, [], read).optional().transpose()).transpose()?;
    let Some(mark) = mark else { return change() };
    seal::all_tables().try_for_each(|table| run(transaction, seal::unseal(Spelling::Sqlite, table)))?;
    change()?;
    seal::all_tables().try_for_each(|table| run(transaction, seal::seal(Spelling::Sqlite, table, &mark)))
}

fn run(transaction: &Transaction<'_>, statements: Vec<Statement>) -> rusqlite::Result<()> {
    statements.into_iter().try_for_each(|statement| transaction.execute_batch(&statement.sql))
}

/// Where a chain of the old schema belongs: its tenant by the old name, and its own name.
type Places = HashMap<String, (String, String)>;

/// A chain is a tenant's when all its receipts are, and its name begins with the tenant's; else the command line's.
fn split_chains(transaction: &Transaction<'_>) -> rusqlite::Result<Places> {
    let all = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let chains: Vec<_> = transaction
        .prepare("SELECT chain_id, name FROM chains ORDER BY chain_id")?
        .query_map([], all)?
        .collect::<rusqlite::Result<_>>()?;
    let (mut places, mut taken) = (Places::new(), HashSet::new());
    for (chain_id, name) in chains {
        let tenants: Vec<String> = transaction
            .prepare_cached("SELECT DISTINCT tenant FROM receipts WHERE chain_id = ?1")?
            .query_map([chain_id], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let owned = match tenants.as_slice() {
            [tenant] if !tenant.is_empty() => own_name(tenant, &name).map(|own| (tenant.clone(), own)),
            _ => None,
        };
        // Two old names can become one; the second stays as it is, so that no two chains become one.
        let place = owned.filter(|place| !taken.contains(place)).unwrap_or_else(|| (String::new(), name.clone()));
        let sql = "INSERT INTO new_chains (chain_id, tenant, name) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute((chain_id, &place.0, &place.1))?;
        taken.insert(place.clone());
        places.insert(name, place);
    }
    Ok(places)
}

/// A tenant's own name of a chain. Who began its runs was not recorded.
fn own_name(tenant: &str, name: &str) -> Option<String> {
    let within = |name: &str| Some(name.strip_prefix(tenant)?.strip_prefix('/')?.to_owned());
    let of_run = || Some(format!("run/{}/", within(name.strip_prefix("run/")?)?));
    within(name).or_else(of_run)
}

/// A run is a tenant's when the chain of its receipts is.
fn split_runs(transaction: &Transaction<'_>, chains: &Places) -> rusqlite::Result<()> {
    let all = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    let runs: Vec<_> = transaction
        .prepare("SELECT rowid, run, step FROM runs")?
        .query_map([], all)?
        .collect::<rusqlite::Result<_>>()?;
    for (rowid, run, step) in runs {
        let tenant = chains.get(&format!("run/{run}/{step}")).map_or("", |(tenant, _)| tenant.as_str());
        let own = run.strip_prefix(tenant).and_then(|rest| rest.strip_prefix('/'));
        let (tenant, begun_by, own) = match own {
            Some(own) if !tenant.is_empty() => (tenant, "", own),
            _ => ("", Tenant::LOCAL.as_str(), run.as_str()),
        };
        let sql = "INSERT INTO new_runs SELECT ?2, ?3, ?4, step, version, state, updated_at FROM runs WHERE rowid = ?1";
        transaction.prepare_cached(sql)?.execute((rowid, tenant, begun_by, own))?;
    }
    Ok(())
}

/// Fills the contents of receipts. One that cannot be read has none.
fn name_contents(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut last = -1_i64;
    loop {
        // One receipt in memory at a time: all of them may be larger than memory.
        let sql = "SELECT sequence, document FROM new_receipts WHERE sequence > ?1 ORDER BY sequence LIMIT 1";
        let read = |row: &Row<'_>| {
            let receipt = Receipt::parse(row.get_ref(1)?.as_bytes()?);
            Ok((row.get(0)?, receipt.ok().map(|receipt| receipt.content())))
        };
        let next: Option<(i64, Option<Sha256Digest>)> =
            transaction.prepare_cached(sql)?.query_row([last], read).optional()?;
        let Some((sequence, content)) = next else { return Ok(()) };
        if let Some(content) = content {
            let sql = "UPDATE new_receipts SET content = ?2 WHERE sequence = ?1";
            transaction.prepare_cached(sql)?.execute(params![sequence, content.as_bytes()])?;
        }
        last = sequence;
    }
}

/// The next decision links to the last one, however long that is.
fn hash_last_decision(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "SELECT sequence, document FROM decisions ORDER BY position DESC LIMIT 1";
    let last =
        transaction.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).optional()?;
    let Some((sequence, document)) = last else { return Ok(()) };
    let limits = Limits { max_bytes: MAX_OLD_DECISION, max_depth: MAX_DEPTH };
    // Whatever it is, it has a hash: without one no decision could be stored after it.
    let hash = match Json::parse_with(document.as_bytes(), limits) {
        Ok(json) => Sha256Digest::of(&json.canonical_vrf()),
        Err(_) => Sha256Digest::of(document.as_bytes()),
    };
    let sql = "UPDATE decisions SET hash = ?2 WHERE sequence = ?1";
    transaction.execute(sql, params![sequence, hash.as_bytes()]).map(drop)
}

fn rename_tenants(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let distinct = WITH_TENANTS.map(|table| format!("SELECT tenant FROM {table}")).join(" UNION ");
    let olds: Vec<String> =
        transaction.prepare(&distinct)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for (old, new) in Tenant::renamed(&olds) {
        // The other three take their tenants from these tables, so they have no names that are not listed.
        for table in WITH_TENANTS.into_iter().chain(["chains", "runs", "spent"]) {
            transaction.execute(&format!("UPDATE {table} SET tenant = ?2 WHERE tenant = ?1"), [&old, &new])?;
        }
    }
    Ok(())
}
