-- The schema of a store, as version 11 of `schema.rs` has it in SQLite. Where an index of SQLite ends with the row's number by
-- itself, it ends with `sequence` here. Numbers are given by the store. What a row depends on is checked by the store, too,
-- while it is the only one that writes; so no table refers to another.
--
-- Rows that are changed again and again find room on their page, and what they leave is cleaned up soon.

CREATE TABLE chains (
    chain_id bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    UNIQUE (tenant, name)
);

CREATE TABLE receipts (
    sequence bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    receipt_id bytea NOT NULL CHECK (length(receipt_id) = 16),
    issuer text COLLATE "C" NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    content bytea CHECK (length(content) = 32),
    verified_at bigint NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    tier bigint NOT NULL,
    task_id text COLLATE "C",
    task_type text COLLATE "C",
    output text COLLATE "C",
    trust text COLLATE "C",
    superseded_by bigint,
    chain_id bigint,
    position bigint,
    document text COLLATE "C" NOT NULL,
    UNIQUE (tenant, receipt_id, issuer),
    CHECK ((chain_id IS NULL) = (position IS NULL))
);
CREATE UNIQUE INDEX receipts_by_position ON receipts (chain_id, position) WHERE chain_id IS NOT NULL;
CREATE INDEX receipts_listed ON receipts (tenant, verdict, tier, sequence);
CREATE INDEX receipts_by_issuer ON receipts (tenant, issuer, verdict, tier, sequence);
CREATE INDEX receipts_by_task ON receipts (tenant, task_id, verdict, tier, sequence) WHERE task_id IS NOT NULL;
CREATE INDEX receipts_by_chain ON receipts (chain_id, verdict, tier, sequence) WHERE chain_id IS NOT NULL;
CREATE INDEX receipts_by_output ON receipts (output, tenant, sequence) WHERE superseded_by IS NULL;

CREATE TABLE requests (
    sequence bigint PRIMARY KEY,
    document text COLLATE "C" NOT NULL
);

CREATE TABLE receipt_times (
    block bigint PRIMARY KEY,
    earliest bigint NOT NULL,
    latest bigint NOT NULL
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE receipt_counts (
    tenant text COLLATE "C" NOT NULL,
    chain_id bigint NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    task_type text COLLATE "C" NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    standing text COLLATE "C" NOT NULL,
    receipts bigint NOT NULL,
    PRIMARY KEY (tenant, chain_id, issuer, task_type, verdict, standing)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE verdict_counts (
    tenant text COLLATE "C" NOT NULL,
    hour bigint NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    receipts bigint NOT NULL,
    PRIMARY KEY (tenant, hour, verdict)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE spent (
    tenant text COLLATE "C" NOT NULL,
    content bytea NOT NULL CHECK (length(content) = 32),
    spent_by text COLLATE "C" NOT NULL,
    spent_at bigint NOT NULL,
    PRIMARY KEY (tenant, content)
);

CREATE TABLE spent_ids (
    receipt_id bytea PRIMARY KEY CHECK (length(receipt_id) = 16),
    spent_by text COLLATE "C" NOT NULL,
    spent_at bigint NOT NULL
);

CREATE TABLE runs (
    tenant text COLLATE "C" NOT NULL,
    begun_by text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    step text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant, run, step, begun_by)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX runs_by_change ON runs (updated_at DESC, tenant, run, step, begun_by);
CREATE INDEX runs_of_tenant ON runs (tenant, updated_at DESC, run, step, begun_by);

CREATE TABLE jobs (
    job_id bytea PRIMARY KEY CHECK (length(job_id) = 16),
    tenant text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'cancelled')),
    owner text COLLATE "C",
    attempt bigint NOT NULL,
    lost bigint NOT NULL,
    cancelling bigint NOT NULL,
    needs text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    bytes bigint NOT NULL,
    checks bigint NOT NULL,
    chain text COLLATE "C" NOT NULL,
    supersedes bytea,
    error text COLLATE "C",
    created_at bigint NOT NULL,
    finished_at bigint,
    request text COLLATE "C" NOT NULL
) WITH (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX jobs_to_claim ON jobs (turn, created_at) WHERE state = 'waiting' AND owner IS NULL;
CREATE INDEX jobs_of_tenant ON jobs (tenant, turn) WHERE state = 'waiting' AND owner IS NULL;
CREATE INDEX jobs_of_owner ON jobs (owner) WHERE state = 'waiting' AND owner IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE workers (
    owner text COLLATE "C" PRIMARY KEY,
    alive_until bigint NOT NULL,
    seen_at bigint NOT NULL,
    signer text COLLATE "C" NOT NULL,
    runs text COLLATE "C",
    admits text COLLATE "C",
    progress text COLLATE "C" NOT NULL
) WITH (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX workers_by_end ON workers (alive_until);

CREATE TABLE decisions (
    sequence bigint PRIMARY KEY,
    decision_id text COLLATE "C" NOT NULL,
    decided_at bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    class text COLLATE "C",
    mode text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    candidate text COLLATE "C",
    action text COLLATE "C",
    review boolean NOT NULL,
    allowed boolean NOT NULL,
    hash bytea,
    subject text COLLATE "C" NOT NULL,
    wanted bigint NOT NULL,
    nth bigint NOT NULL,
    tool text COLLATE "C",
    UNIQUE (decision_id),
    UNIQUE (position)
);
CREATE INDEX decisions_by_subject ON decisions (tenant, subject, sequence);
CREATE UNIQUE INDEX decisions_by_action ON decisions (tenant, fingerprint, nth);
CREATE INDEX decisions_allowed ON decisions (tenant, fingerprint, nth) WHERE allowed;
CREATE INDEX decisions_listed ON decisions (tenant, outcome, sequence);
CREATE INDEX decisions_by_agent ON decisions (tenant, agent, outcome, sequence) WHERE agent IS NOT NULL;
CREATE INDEX decisions_by_class ON decisions (tenant, class, outcome, sequence) WHERE class IS NOT NULL;
CREATE INDEX decisions_by_tool ON decisions (tenant, tool, outcome, sequence) WHERE tool IS NOT NULL;

CREATE TABLE decision_times (
    block bigint PRIMARY KEY,
    earliest bigint NOT NULL,
    latest bigint NOT NULL
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE decision_counts (
    tenant text COLLATE "C" NOT NULL,
    hour bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    mode text COLLATE "C" NOT NULL,
    allowed boolean NOT NULL,
    policy bytea NOT NULL,
    rules text COLLATE "C" NOT NULL,
    decisions bigint NOT NULL,
    PRIMARY KEY (tenant, hour, outcome, mode, allowed, policy, rules)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE agent_counts (
    tenant text COLLATE "C" NOT NULL,
    day bigint NOT NULL,
    agent text COLLATE "C" NOT NULL,
    allowed boolean NOT NULL,
    decisions bigint NOT NULL,
    PRIMARY KEY (tenant, day, agent, allowed)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE asked (
    decision_id text COLLATE "C" PRIMARY KEY,
    facts text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE awaited (
    tenant text COLLATE "C" NOT NULL,
    decision_id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant, decision_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX awaited_by_end ON awaited (expires_at);

CREATE TABLE waiting (
    tenant text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    asked bigint NOT NULL,
    PRIMARY KEY (tenant, sequence)
) WITH (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX waiting_on ON waiting (tenant, subject);
CREATE INDEX waiting_by_first ON waiting (tenant, first);

CREATE TABLE reviews (
    sequence bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    decision_id text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    reviewer text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    note text COLLATE "C" NOT NULL,
    receipt_id text COLLATE "C",
    reviewed_at bigint NOT NULL,
    until bigint NOT NULL,
    UNIQUE (tenant, decision_id, person, role)
);
CREATE INDEX reviews_by_subject ON reviews (tenant, subject, sequence);
CREATE INDEX reviews_by_time ON reviews (tenant, reviewed_at, sequence);

CREATE TABLE executions (
    sequence bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    decision_id text COLLATE "C" NOT NULL,
    executed boolean NOT NULL,
    reported_at bigint NOT NULL,
    document text COLLATE "C" NOT NULL
);
CREATE INDEX executions_by_decision ON executions (decision_id, sequence);

CREATE TABLE findings (
    sequence bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    decision_id text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    message text COLLATE "C" NOT NULL,
    found_at bigint NOT NULL
);
CREATE INDEX findings_by_tenant ON findings (tenant, sequence);
CREATE INDEX findings_of_decision ON findings (tenant, decision_id, sequence);
CREATE INDEX findings_by_code ON findings (tenant, code, sequence);

CREATE TABLE answers (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request bytea NOT NULL CHECK (length(request) = 32),
    document text COLLATE "C" NOT NULL,
    answered_at bigint NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX answers_by_time ON answers (answered_at);

CREATE TABLE session_entries (
    sequence bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    entry_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    decision_id text COLLATE "C",
    stored_at bigint NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    document text COLLATE "C" NOT NULL,
    UNIQUE (tenant, session, position)
);
CREATE INDEX sessions_by_begin ON session_entries (tenant, sequence) WHERE position = 0;
CREATE INDEX sessions_by_decision ON session_entries (tenant, decision_id, sequence) WHERE decision_id IS NOT NULL;

CREATE TABLE pins (
    tenant text COLLATE "C" NOT NULL,
    server text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    is_pinned boolean NOT NULL,
    definition bytea NOT NULL CHECK (length(definition) = 32),
    document text COLLATE "C" NOT NULL,
    waits text COLLATE "C",
    listed_at bigint NOT NULL,
    PRIMARY KEY (tenant, server, tool, is_pinned)
);

CREATE TABLE clock (
    "only" bigint PRIMARY KEY CHECK ("only" = 0),
    latest bigint NOT NULL,
    turn bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE probe (
    probe bigint PRIMARY KEY CHECK (probe = 1),
    probed bigint NOT NULL,
    filler bytea NOT NULL
) WITH (fillfactor = 10,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- The markers of groups: see `postgres.rs`.
CREATE TABLE groups (
    writer text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    made_at bigint NOT NULL,
    PRIMARY KEY (writer, number)
) WITH (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- A program that knows version `needs` can use the store.
CREATE TABLE schema (
    "only" bigint PRIMARY KEY CHECK ("only" = 0),
    version bigint NOT NULL,
    needs bigint NOT NULL
);

INSERT INTO clock ("only", latest) VALUES (0, 0);
