-- The schema of a store of version 4.
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
PRAGMA application_id = 1886545517;
PRAGMA user_version = 4;
