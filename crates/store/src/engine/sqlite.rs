//! The schema, and connections that are sure to have it.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::engine::migrate;
use crate::error::StoreError;
use crate::place::Place;

/// Marks the file as ours: `prfm` in ASCII (SQLite file format, offset 68).
pub(crate) const APPLICATION_ID: i32 = 0x7072_666d;

/// One of these stands near the beginning of every store, whatever is overwritten before it.
// SQLite quotes the name of a table that was renamed, as version 5 does; older stores have it unquoted.
pub(crate) const SIGNS: [&str; 2] = ["CREATE TABLE \"receipts\"", "CREATE TABLE receipts"];

/// How long we wait for a lock that another process holds.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How often we look whether a lock is free. SQLite's own waiting grows to 100 ms, by which a process that commits
/// without pause starves its neighbours.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How much of the database the writer keeps in memory, in KiB: what a group changes, and the inner pages of indexes. With
/// SQLite's 2 MiB a large group is written out before it is complete, and pages are read again and again.
const WRITER_CACHE_KIB: i64 = 16 << 10;

// The writer alone has more than the 16 statements that rusqlite caches by default.
const CACHED_STATEMENTS: usize = 64;

/// One step of the schema's history.
enum Migration {
    Sql(&'static str),
    /// What statements alone cannot do.
    Step(fn(&Transaction<'_>) -> rusqlite::Result<()>),
}

/// The schema's history: the number of a migration is its place here, counted from 1, and a file's `user_version` is the
/// last it has had. These have run on files we cannot see any more: only ever add to the end.
const MIGRATIONS: [Migration; 12] = [
    Migration::Sql(
        "
CREATE TABLE receipts (
    sequence INTEGER PRIMARY KEY,
    receipt_id BLOB NOT NULL UNIQUE CHECK (length(receipt_id) = 16),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    verified_at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    tier INTEGER NOT NULL,
    task_id TEXT,
    chain_id INTEGER REFERENCES chains (chain_id),
    position INTEGER,
    document TEXT NOT NULL,
    CHECK ((chain_id IS NULL) = (position IS NULL))
) STRICT;
CREATE TABLE chains (
    chain_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX receipts_by_verdict ON receipts (verdict);
CREATE INDEX receipts_by_tier ON receipts (tier);
CREATE INDEX receipts_by_task ON receipts (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX receipts_by_position ON receipts (chain_id, position) WHERE chain_id IS NOT NULL;
",
    ),
    Migration::Sql(
        "
CREATE TABLE runs (
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;
CREATE TABLE spent (
    receipt_id BLOB PRIMARY KEY CHECK (length(receipt_id) = 16),
    spent_by TEXT NOT NULL,
    spent_at INTEGER NOT NULL
) STRICT;
CREATE TABLE decisions (
    sequence INTEGER PRIMARY KEY,
    decision_id TEXT NOT NULL UNIQUE,
    decided_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    position INTEGER NOT NULL UNIQUE,
    document TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_by_fingerprint ON decisions (fingerprint);
",
    ),
    Migration::Sql(
        "
ALTER TABLE decisions ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN agent TEXT;
ALTER TABLE decisions ADD COLUMN class TEXT;
ALTER TABLE decisions ADD COLUMN mode TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE decisions ADD COLUMN candidate TEXT;
ALTER TABLE decisions ADD COLUMN action TEXT;
ALTER TABLE decisions ADD COLUMN review INTEGER NOT NULL DEFAULT 0;
CREATE INDEX decisions_by_tenant ON decisions (tenant, sequence);
CREATE TABLE answers (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL CHECK (length(request) = 32),
    document TEXT NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT;
CREATE TABLE executions (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    executed INTEGER NOT NULL,
    reported_at INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;
CREATE INDEX executions_by_decision ON executions (decision_id);
CREATE TABLE findings (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    found_at INTEGER NOT NULL
) STRICT;
CREATE INDEX findings_by_tenant ON findings (tenant, sequence);
CREATE INDEX findings_by_decision ON findings (decision_id, code);
CREATE TABLE reviews (
    decision_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    note TEXT NOT NULL,
    receipt_id TEXT,
    reviewed_at INTEGER NOT NULL
) STRICT;
",
    ),
    Migration::Sql(
        "
ALTER TABLE receipts ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN signer TEXT;
ALTER TABLE receipts ADD COLUMN task_type TEXT;
ALTER TABLE receipts ADD COLUMN output TEXT;
ALTER TABLE receipts ADD COLUMN trust TEXT;
ALTER TABLE receipts ADD COLUMN superseded_by BLOB;
UPDATE receipts SET signer = json_extract(document, '$.signature.signer_id'),
                    task_type = json_extract(document, '$.task.task_type'),
                    output = json_extract(document, '$.hashes.output')
    WHERE json_valid(document);
CREATE INDEX receipts_by_tenant ON receipts (tenant, sequence);
CREATE INDEX receipts_by_signer ON receipts (signer) WHERE signer IS NOT NULL;
CREATE INDEX receipts_by_output ON receipts (output, sequence);
CREATE INDEX receipts_by_time ON receipts (verified_at);
CREATE TABLE requests (
    receipt_id BLOB PRIMARY KEY CHECK (length(receipt_id) = 16),
    document TEXT NOT NULL
) STRICT;
CREATE TABLE jobs (
    job_id BLOB PRIMARY KEY CHECK (length(job_id) = 16),
    tenant TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'cancelled')),
    request TEXT NOT NULL,
    checks INTEGER NOT NULL,
    chain TEXT NOT NULL,
    supersedes BLOB,
    owner TEXT,
    lease_until INTEGER NOT NULL,
    error TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX jobs_waiting ON jobs (lease_until) WHERE state = 'waiting';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX answers_by_time ON answers (answered_at);
",
    ),
    Migration::Step(migrate::to_tenants),
    Migration::Sql(
        "
ALTER TABLE decisions ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN wanted INTEGER NOT NULL DEFAULT 1;
UPDATE decisions SET subject = decision_id;
CREATE INDEX decisions_by_subject ON decisions (tenant, subject, sequence);
CREATE INDEX decisions_to_review ON decisions (tenant, sequence) WHERE review;
CREATE TABLE asked (
    decision_id TEXT PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT;
CREATE TABLE new_reviews (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    verdict TEXT NOT NULL,
    note TEXT NOT NULL,
    receipt_id TEXT,
    reviewed_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    UNIQUE (tenant, decision_id, person, role)
) STRICT;
INSERT INTO new_reviews (tenant, decision_id, subject, reviewer, person, role, verdict, note, receipt_id, reviewed_at, until)
    SELECT tenant, decision_id, decision_id, reviewer, reviewer, '', verdict, note, receipt_id, reviewed_at, reviewed_at
    FROM reviews;
DROP TABLE reviews;
ALTER TABLE new_reviews RENAME TO reviews;
CREATE INDEX reviews_by_subject ON reviews (tenant, subject);
",
    ),
    Migration::Sql(
        "
CREATE TABLE awaited (
    tenant TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, decision_id)
) STRICT;
CREATE INDEX awaited_by_end ON awaited (expires_at);
INSERT INTO awaited SELECT tenant, decision_id, expires_at FROM decisions
    WHERE candidate IS NOT NULL AND allowed
        AND NOT EXISTS (SELECT 1 FROM executions
                        WHERE executions.decision_id = decisions.decision_id AND executions.tenant = decisions.tenant)
        AND NOT EXISTS (SELECT 1 FROM findings
                        WHERE findings.decision_id = decisions.decision_id AND findings.tenant = decisions.tenant
                            AND code = 'never_reported');
CREATE TABLE probe (
    probe INTEGER PRIMARY KEY CHECK (probe = 1),
    probed INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
",
    ),
    // Numbers the decisions on each action, so that two processes that decide on one action at once notice.
    Migration::Sql(
        "
ALTER TABLE decisions ADD COLUMN nth INTEGER NOT NULL DEFAULT 0;
UPDATE decisions SET nth = numbered.nth FROM
    (SELECT sequence, row_number() OVER (PARTITION BY tenant, fingerprint ORDER BY sequence) AS nth FROM decisions)
    AS numbered WHERE numbered.sequence = decisions.sequence;
DROP INDEX decisions_by_fingerprint;
CREATE UNIQUE INDEX decisions_by_action ON decisions (tenant, fingerprint, nth);
CREATE INDEX decisions_allowed ON decisions (tenant, fingerprint, nth) WHERE allowed;
",
    ),
    // Lists that take as long in a large store as in a small one (`listing`, `times`, `counts`).
    Migration::Sql(LISTS),
    // Guarded sessions (`sessions`).
    Migration::Sql(
        "
CREATE TABLE session_entries (
    sequence INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    decision_id TEXT,
    stored_at INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    document TEXT NOT NULL,
    UNIQUE (tenant, session, position)
) STRICT;
CREATE INDEX sessions_by_begin ON session_entries (tenant, sequence) WHERE position = 0;
CREATE TABLE pins (
    tenant TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    is_pinned INTEGER NOT NULL,
    definition BLOB NOT NULL CHECK (length(definition) = 32),
    document TEXT NOT NULL,
    waits TEXT,
    listed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, server, tool, is_pinned)
) STRICT, WITHOUT ROWID;
",
    ),
    // Pages for people: since when and how often something waits (`waiting`), and what happened when (`activity`).
    Migration::Sql(PAGES),
    // Jobs that any process may claim (`claims`), and a lease for each process instead of one for each job (`workers`).
    Migration::Sql(WORKERS),
];

const LISTS: &str = "
DROP INDEX receipts_own;
DROP INDEX receipts_by_id;
DROP INDEX receipts_by_content;
DROP INDEX receipts_by_verdict;
DROP INDEX receipts_by_tier;
DROP INDEX receipts_by_task;
DROP INDEX receipts_by_tenant;
DROP INDEX receipts_by_issuer;
DROP INDEX receipts_by_output;
DROP INDEX receipts_by_time;
CREATE INDEX receipts_listed ON receipts (tenant, verdict, tier);
CREATE INDEX receipts_by_issuer ON receipts (tenant, issuer, verdict, tier);
CREATE INDEX receipts_by_task ON receipts (tenant, task_id, verdict, tier) WHERE task_id IS NOT NULL;
CREATE INDEX receipts_by_chain ON receipts (chain_id, verdict, tier) WHERE chain_id IS NOT NULL;
CREATE INDEX receipts_by_output ON receipts (output, tenant) WHERE superseded_by IS NULL;
CREATE TABLE receipt_times (
    block INTEGER PRIMARY KEY,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL
) STRICT;
INSERT INTO receipt_times
    SELECT sequence >> 8, min(verified_at), max(verified_at) FROM receipts GROUP BY sequence >> 8;
CREATE TABLE receipt_counts (
    tenant TEXT NOT NULL,
    chain_id INTEGER NOT NULL,
    issuer TEXT NOT NULL,
    task_type TEXT NOT NULL,
    verdict TEXT NOT NULL,
    standing TEXT NOT NULL,
    receipts INTEGER NOT NULL,
    PRIMARY KEY (tenant, chain_id, issuer, task_type, verdict, standing)
) STRICT, WITHOUT ROWID;
CREATE TEMPORARY TABLE counted AS
    SELECT tenant, coalesce(chain_id, 0) AS chain_id, issuer, coalesce('=' || task_type, '') AS task_type, verdict,
           CASE WHEN trust <> 'trusted' THEN 'untrusted' WHEN superseded_by IS NOT NULL THEN 'superseded'
                WHEN trust IS NOT NULL THEN 'trusted' ELSE 'own' END AS standing, count(*) AS receipts
    FROM receipts GROUP BY 1, 2, 3, 4, 5, 6;
INSERT INTO receipt_counts SELECT * FROM counted WHERE chain_id <> 0;
INSERT INTO receipt_counts
    SELECT tenant, 0, issuer, task_type, verdict, standing, sum(receipts) FROM counted GROUP BY 1, 3, 4, 5, 6;
DROP TABLE counted;
ALTER TABLE decisions ADD COLUMN tool TEXT;
UPDATE decisions SET tool = json_extract(action, '$.tool') WHERE json_valid(action);
DROP INDEX decisions_by_tenant;
DROP INDEX decisions_to_review;
CREATE INDEX decisions_listed ON decisions (tenant, outcome);
CREATE INDEX decisions_by_agent ON decisions (tenant, agent, outcome) WHERE agent IS NOT NULL;
CREATE INDEX decisions_by_class ON decisions (tenant, class, outcome) WHERE class IS NOT NULL;
CREATE INDEX decisions_by_tool ON decisions (tenant, tool, outcome) WHERE tool IS NOT NULL;
CREATE TABLE decision_times (
    block INTEGER PRIMARY KEY,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL
) STRICT;
INSERT INTO decision_times
    SELECT sequence >> 8, min(decided_at), max(decided_at) FROM decisions GROUP BY sequence >> 8;
CREATE TABLE waiting (
    tenant TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (tenant, sequence)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX waiting_on ON waiting (tenant, subject);
INSERT INTO waiting SELECT tenant, sequence, subject FROM decisions
    WHERE review
        AND NOT EXISTS (SELECT 1 FROM decisions AS newer WHERE newer.tenant = decisions.tenant
                        AND newer.subject = decisions.subject AND newer.sequence > decisions.sequence)
        AND NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.tenant = decisions.tenant
                        AND reviews.subject = decisions.subject AND reviews.verdict = 'denied'
                        AND reviews.reviewed_at >= decisions.decided_at);
DROP INDEX findings_by_decision;
CREATE INDEX runs_by_change ON runs (updated_at DESC, tenant, run, step, begun_by);
";

const PAGES: &str = "
ALTER TABLE waiting ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
ALTER TABLE waiting ADD COLUMN asked INTEGER NOT NULL DEFAULT 1;
DELETE FROM waiting WHERE NOT EXISTS
    (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.sequence
        AND (SELECT count(*) FROM reviews WHERE reviews.tenant = decisions.tenant
             AND reviews.subject = decisions.subject AND reviews.verdict = 'approved'
             AND reviews.reviewed_at >= decisions.decided_at) < wanted);
UPDATE waiting SET first = sequence;
CREATE INDEX waiting_by_first ON waiting (tenant, first);
CREATE INDEX reviews_by_time ON reviews (tenant, reviewed_at);
CREATE INDEX findings_of_decision ON findings (tenant, decision_id);
CREATE INDEX findings_by_code ON findings (tenant, code);
CREATE INDEX runs_of_tenant ON runs (tenant, updated_at DESC, run, step, begun_by);
CREATE INDEX sessions_by_decision ON session_entries (tenant, decision_id) WHERE decision_id IS NOT NULL;
CREATE TABLE decision_counts (
    tenant TEXT NOT NULL,
    hour INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    mode TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    policy BLOB NOT NULL,
    rules TEXT NOT NULL,
    decisions INTEGER NOT NULL,
    PRIMARY KEY (tenant, hour, outcome, mode, allowed, policy, rules)
) STRICT, WITHOUT ROWID;
INSERT INTO decision_counts
    SELECT tenant, decided_at / 3600000, outcome, mode, allowed, x'', '', count(*) FROM decisions GROUP BY 1, 2, 3, 4, 5;
CREATE TABLE agent_counts (
    tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    agent TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    decisions INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, agent, allowed)
) STRICT, WITHOUT ROWID;
INSERT INTO agent_counts
    SELECT tenant, decided_at / 86400000, coalesce(agent, ''), allowed, count(*) FROM decisions GROUP BY 1, 2, 3, 4;
CREATE TABLE verdict_counts (
    tenant TEXT NOT NULL,
    hour INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    receipts INTEGER NOT NULL,
    PRIMARY KEY (tenant, hour, verdict)
) STRICT, WITHOUT ROWID;
INSERT INTO verdict_counts
    SELECT tenant, verified_at / 3600000, verdict, count(*) FROM receipts WHERE trust IS NULL GROUP BY 1, 2, 3;
";

// The request comes last: to read a column behind a long text, SQLite reads the text. What the jobs of an older store need is
// not known; a process that runs code finds out.
const WORKERS: &str = "
CREATE TABLE new_jobs (
    job_id BLOB PRIMARY KEY CHECK (length(job_id) = 16),
    tenant TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'cancelled')),
    owner TEXT,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    cancelling INTEGER NOT NULL,
    needs TEXT NOT NULL,
    turn INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    checks INTEGER NOT NULL,
    chain TEXT NOT NULL,
    supersedes BLOB,
    error TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    request TEXT NOT NULL
) STRICT;
INSERT INTO new_jobs
    SELECT job_id, tenant, state, owner, 0, 0, 0, 'code', 0, length(CAST(request AS BLOB)), checks, chain, supersedes, error,
           created_at, finished_at, request
    FROM jobs;
DROP TABLE jobs;
ALTER TABLE new_jobs RENAME TO jobs;
CREATE INDEX jobs_to_claim ON jobs (turn, created_at) WHERE state = 'waiting' AND owner IS NULL;
CREATE INDEX jobs_of_tenant ON jobs (tenant, turn) WHERE state = 'waiting' AND owner IS NULL;
CREATE INDEX jobs_of_owner ON jobs (owner) WHERE state = 'waiting' AND owner IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
ALTER TABLE clock ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
CREATE TABLE workers (
    owner TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    signer TEXT NOT NULL,
    runs TEXT,
    admits TEXT,
    progress TEXT NOT NULL
) STRICT;
CREATE INDEX workers_by_end ON workers (alive_until);
";

/// The newest version.
pub(crate) const KNOWN: i32 = 12;
const _: () = assert!(KNOWN as usize == MIGRATIONS.len());

/// Opens the database at `path`, which is there, and brings its schema up to date.
///
/// # Errors
/// As [`crate::Store::open`].
pub(crate) fn open_to_write(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = connect(path).map_err(|error| StoreError::of_sqlite(path, &error))?;
    // Closing a database that turns out not to be for us must not move its log into it.
    let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    let set = |connection: &Connection, on| match connection.set_db_config(keep_log, on) {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::of_sqlite(path, &error)),
    };
    set(&connection, true)?;
    let version = version(&connection).map_err(|error| StoreError::of_sqlite(path, &error))?;
    if known(path, version)? < MIGRATIONS.len() {
        migrate(&mut connection, path)?;
    }
    log_ahead(&connection).map_err(|error| StoreError::of_sqlite(path, &error))?;
    let sized = connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB);
    sized.map_err(|error| StoreError::of_sqlite(path, &error))?;
    set(&connection, false)?;
    Ok(connection)
}

/// Opens the database at `path`, which [`open_to_write`] has opened, to move its log.
pub(crate) fn open_to_move(path: &Path) -> rusqlite::Result<Connection> {
    connect(path)
}

/// Opens the database at `path`, which [`open_to_write`] has opened, for reading.
///
/// # Errors
/// As [`crate::Store::open`].
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let open = || {
        let connection = connect(path)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|error| StoreError::of_sqlite(path, &error))
}

pub(crate) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// How many migrations a file of this version has had.
///
/// # Errors
/// [`StoreError::Newer`] when it has had some we do not know; a negative version was never ours.
pub(crate) fn known(path: &Path, version: i32) -> Result<usize, StoreError> {
    let Ok(found) = u32::try_from(version) else {
        return Err(StoreError::Foreign { place: Place::File(path.to_owned()) });
    };
    match version > KNOWN {
        true => Err(StoreError::Newer { place: Place::File(path.to_owned()), found, known: KNOWN.unsigned_abs() }),
        false => Ok(found as usize),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without CREATE: only `file::create_missing` creates the file, with its mode. Readers open it for writing, too:
    // they share the index of the write-ahead log, and `query_only` restricts their statements.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Plans must not depend on bound values: SQLite would prepare such a statement again for each new value, which took a
    // third of the writer's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Somebody may have edited the schema: it must not call functions that have side effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // With NORMAL a write-ahead log is not synced at each commit, and an acknowledged receipt could be lost.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// SQLite asks this how to go on after `waited` looks at a lock that was taken.
fn wait_for_lock(waited: i32) -> bool {
    thread::sleep(LOOK_EVERY);
    // How many earlier calls there were for this lock, which is never negative.
    LOOK_EVERY * waited.unsigned_abs() < MAX_WAIT
}

/// One transaction: afterwards a file has a schema we know, or is unchanged. On a new file it still uses a rollback journal,
/// so that the header of a store always has our mark, even while its log is not yet moved into it.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error| StoreError::of_sqlite(path, &error);
    let behaviour = TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(behaviour).map_err(sqlite)?;
    // Another process may have been faster.
    let had = known(path, version(&transaction).map_err(sqlite)?)?;
    // Databases of other programs have version 0, too.
    if had == 0 && !is_empty(&transaction).map_err(sqlite)? {
        return Err(StoreError::Foreign { place: Place::File(path.to_owned()) });
    }
    migrate::unsealed(&transaction, || apply(&transaction, MIGRATIONS.iter().skip(had))).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

fn is_empty(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    transaction.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn apply<'a>(transaction: &Transaction<'_>, migrations: impl Iterator<Item = &'a Migration>) -> rusqlite::Result<()> {
    for migration in migrations {
        match migration {
            Migration::Sql(statements) => transaction.execute_batch(statements)?,
            Migration::Step(step) => step(transaction)?,
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", KNOWN)
}

/// Switches to a write-ahead log. SQLite does not wait for the lock this needs when a neighbour does the same.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match switched {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < MAX_WAIT => {
                thread::sleep(LOOK_EVERY);
            }
            other => return other,
        }
    }
}
