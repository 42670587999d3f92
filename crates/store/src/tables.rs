//! The tables of a store: the one list from which both engines make their schemas.
//!
//! A long text comes last: SQLite reads it on the way to a column behind it. Numbers of rows are given by the store. Times are in
//! milliseconds after 1970-01-01T00:00:00Z.

use crate::table::{Column, Fate, PLAIN, Spelling, Table, bytes, index, integer, text, truth};

/// The tables whose rows are copied with a store, in an order in which rows come after those that they refer to.
pub(crate) static TABLES: [&Table; 26] = [
    &CHAINS,
    &RECEIPTS,
    &REQUESTS,
    &RECEIPT_TIMES,
    &RECEIPT_COUNTS,
    &VERDICT_COUNTS,
    &DECISIONS,
    &ASKED,
    &DECISION_TIMES,
    &DECISION_COUNTS,
    &AGENT_COUNTS,
    &WAITING,
    &AWAITED,
    &EXECUTIONS,
    &FINDINGS,
    &REVIEWS,
    &RUNS,
    &JOBS,
    &ANSWERS,
    &SPENT,
    &COUNTED,
    &SESSION_ENTRIES,
    &PINS,
    &LOG_ENTRIES,
    &LOG_TILES,
    &LOG_STATE,
];

/// Tables that are about a store itself: the time that was recorded last, what a probe writes, and the processes that use it.
pub(crate) static OWN: [&Table; 4] = [&CLOCK, &PROBE, &WORKERS, &DUTIES];

/// Tables of PostgreSQL alone: the markers of groups, and the version.
pub(crate) static OF_POSTGRES: [&Table; 2] = [&GROUPS, &VERSION];

/// The statements that make all tables.
pub(crate) fn schema(engine: Spelling) -> String {
    let more: &[&Table] = if engine == Spelling::Postgres { &OF_POSTGRES } else { &[] };
    let tables = TABLES.iter().chain(&OWN).chain(more).map(|table| table.schema(engine));
    // 32 hex digits, by which a copy of the store is known that is elsewhere or older.
    let identity = match engine {
        Spelling::Sqlite => "lower(hex(randomblob(16)))",
        Spelling::Postgres => "replace(CAST(gen_random_uuid() AS text), '-', '')",
    };
    let clock = format!("INSERT INTO clock (only_row, latest, turn, identity) VALUES (0, 0, 0, {identity});\n");
    tables.collect::<String>() + &clock
}

/// The statements that give a log to a store of a build that had none: the tables, and the entries of all documents, receipts first.
pub(crate) fn log_schema(engine: Spelling) -> String {
    let tables: String = [&LOG_ENTRIES, &LOG_TILES, &LOG_STATE].iter().map(|table| table.schema(engine)).collect();
    // Two tenants may have one receipt.
    tables
        + "INSERT INTO log_entries (number, digest)
           SELECT row_number() OVER (ORDER BY kind, sequence), hash FROM (
               SELECT 0 AS kind, min(sequence) AS sequence, hash FROM receipts GROUP BY hash
               UNION ALL SELECT 1, min(sequence), hash FROM decisions GROUP BY hash
           ) AS documents;\n"
}

/// The chains of receipts.
pub(crate) static CHAINS: Table = Table {
    name: "chains",
    columns: &[integer("chain_id"), text("tenant"), text("name")],
    key: &["chain_id"],
    unique: &[&["tenant", "name"]],
    ..PLAIN
};

pub(crate) static RECEIPTS: Table = Table {
    name: "receipts",
    columns: &[
        integer("sequence"),
        text("tenant"),
        bytes("receipt_id").of_bytes(16),
        text("issuer"),
        bytes("hash").of_bytes(32),
        bytes("content").of_bytes(32),
        integer("verified_at"),
        text("verdict"),
        integer("tier"),
        text("task_id").optional(),
        text("task_type").optional(),
        text("output"),
        text("trust").optional(),
        integer("superseded_by").optional(),
        integer("chain_id").optional().references("chains"),
        integer("position").optional(),
        text("document"),
    ],
    key: &["sequence"],
    unique: &[&["tenant", "receipt_id", "issuer"]],
    indexes: &[
        index("receipts_by_position", &["chain_id", "position"]).unique().only("chain_id IS NOT NULL"),
        index("receipts_listed", &["tenant", "verdict", "tier"]),
        // The last two columns have few values: a list looks through the index once for each of them (`listing`).
        index("receipts_by_issuer", &["tenant", "issuer", "verdict", "tier"]),
        index("receipts_by_task", &["tenant", "task_id", "verdict", "tier"]).only("task_id IS NOT NULL"),
        index("receipts_by_chain", &["chain_id", "verdict", "tier"]).only("chain_id IS NOT NULL"),
        // Evidence is looked up by what it is about, and one that was superseded is none.
        index("receipts_by_output", &["output", "tenant"]).only("superseded_by IS NULL"),
    ],
    // A receipt is on a chain at a place, or on none.
    checks: &["(chain_id IS NULL) = (position IS NULL)"],
    ..PLAIN
};

/// The requests that receipts answer, by the numbers of the receipts.
pub(crate) static REQUESTS: Table =
    Table { name: "requests", columns: &[integer("sequence"), text("document")], key: &["sequence"], ..PLAIN };

/// When the receipts of each block were made (`times`).
pub(crate) static RECEIPT_TIMES: Table = times("receipt_times");

/// How many receipts are alike (`counts`).
pub(crate) static RECEIPT_COUNTS: Table = Table {
    name: "receipt_counts",
    columns: &[
        text("tenant"),
        integer("chain_id"),
        text("issuer"),
        text("task_type"),
        text("verdict"),
        text("standing"),
        integer("receipts"),
    ],
    key: &["tenant", "chain_id", "issuer", "task_type", "verdict", "standing"],
    ..COUNTS
};

/// How many receipts of an hour have a verdict (`activity`).
pub(crate) static VERDICT_COUNTS: Table = Table {
    name: "verdict_counts",
    columns: &[text("tenant"), integer("hour"), text("verdict"), integer("receipts")],
    key: &["tenant", "hour", "verdict"],
    ..COUNTS
};

pub(crate) static DECISIONS: Table = Table {
    name: "decisions",
    columns: &[
        integer("sequence"),
        text("tenant"),
        text("decision_id"),
        integer("decided_at"),
        text("outcome"),
        truth("allowed"),
        text("mode"),
        text("fingerprint"),
        integer("nth"),
        integer("position"),
        bytes("hash").of_bytes(32),
        text("subject"),
        text("agent").optional(),
        text("class").optional(),
        text("tool").optional(),
        text("session").optional(),
        integer("expires_at"),
        text("candidate").optional(),
        truth("review"),
        integer("wanted"),
        text("action").optional(),
        text("document"),
    ],
    key: &["sequence"],
    // Of all tenants: the decisions of all are one chain.
    unique: &[&["decision_id"], &["position"]],
    indexes: &[
        index("decisions_by_subject", &["tenant", "subject", "sequence"]),
        // Two processes that decide on one action at once notice by it.
        index("decisions_by_action", &["tenant", "fingerprint", "nth"]).unique(),
        // Its end is the last decision that allowed the action: those behind it denied it.
        index("decisions_allowed", &["tenant", "fingerprint", "nth"]).only("allowed"),
        index("decisions_listed", &["tenant", "outcome"]),
        index("decisions_by_agent", &["tenant", "agent", "outcome"]).only("agent IS NOT NULL"),
        index("decisions_by_class", &["tenant", "class", "outcome"]).only("class IS NOT NULL"),
        index("decisions_by_session", &["tenant", "session", "sequence"]).only("session IS NOT NULL"),
        index("decisions_by_tool", &["tenant", "tool", "outcome"]).only("tool IS NOT NULL"),
    ],
    ..PLAIN
};

/// The facts of decisions that a reviewer has to see.
pub(crate) static ASKED: Table = Table {
    name: "asked",
    columns: &[text("decision_id"), text("facts")],
    key: &["decision_id"],
    // Only those of the newest decision on a subject are kept.
    fate: Fate::Pass,
    ..PLAIN
};

/// When the decisions of each block were made (`times`).
pub(crate) static DECISION_TIMES: Table = times("decision_times");

/// How many decisions of an hour are alike (`activity`).
pub(crate) static DECISION_COUNTS: Table = Table {
    name: "decision_counts",
    columns: &[
        text("tenant"),
        integer("hour"),
        text("outcome"),
        text("mode"),
        truth("allowed"),
        bytes("policy"),
        text("rules"),
        integer("decisions"),
    ],
    key: &["tenant", "hour", "outcome", "mode", "allowed", "policy", "rules"],
    ..COUNTS
};

/// How many decisions agents asked for on a day (`activity`).
pub(crate) static AGENT_COUNTS: Table = Table {
    name: "agent_counts",
    columns: &[text("tenant"), integer("day"), text("agent"), truth("allowed"), integer("decisions")],
    key: &["tenant", "day", "agent", "allowed"],
    ..COUNTS
};

/// The decisions that wait for a review (`waiting`).
pub(crate) static WAITING: Table = Table {
    name: "waiting",
    columns: &[
        text("tenant"),
        integer("sequence"),
        text("subject"),
        integer("first"),
        integer("asked"),
        // In which approvals are asked for, as a list of JSON: what is narrowed by them reads no documents.
        text("roles"),
    ],
    key: &["tenant", "sequence"],
    indexes: &[
        index("waiting_on", &["tenant", "subject"]).unique(),
        index("waiting_by_first", &["tenant", "first"]),
        // For notices, which are of all tenants.
        index("waiting_of_all", &["first"]),
    ],
    fate: Fate::Change(70),
    is_clustered: true,
    ..PLAIN
};

/// The decisions whose execution is to be reported (`awaited`).
pub(crate) static AWAITED: Table = Table {
    name: "awaited",
    columns: &[text("tenant"), text("decision_id"), integer("expires_at")],
    key: &["tenant", "decision_id"],
    indexes: &[index("awaited_by_end", &["expires_at"])],
    fate: Fate::Pass,
    ..PLAIN
};

/// Reports of executions.
pub(crate) static EXECUTIONS: Table = Table {
    name: "executions",
    columns: &[
        integer("sequence"),
        text("tenant"),
        text("decision_id"),
        truth("executed"),
        integer("reported_at"),
        text("document"),
    ],
    key: &["sequence"],
    indexes: &[index("executions_by_decision", &["decision_id"])],
    ..PLAIN
};

/// What is wrong with executions.
pub(crate) static FINDINGS: Table = Table {
    name: "findings",
    columns: &[
        integer("sequence"),
        text("tenant"),
        text("decision_id"),
        text("code"),
        text("message"),
        integer("found_at"),
    ],
    key: &["sequence"],
    indexes: &[
        index("findings_by_tenant", &["tenant", "sequence"]),
        index("findings_of_decision", &["tenant", "decision_id"]),
        index("findings_by_code", &["tenant", "code"]),
    ],
    ..PLAIN
};

pub(crate) static REVIEWS: Table = Table {
    name: "reviews",
    columns: &[
        integer("sequence"),
        text("tenant"),
        text("decision_id"),
        text("fingerprint"),
        text("subject"),
        text("verdict"),
        text("reviewer"),
        text("person"),
        text("role"),
        text("note"),
        text("receipt_id").optional(),
        integer("reviewed_at"),
        integer("until"),
    ],
    key: &["sequence"],
    // One person gives one review of a decision in each role.
    unique: &[&["tenant", "decision_id", "person", "role"]],
    indexes: &[
        index("reviews_by_subject", &["tenant", "subject"]),
        // For denials, which count for the action whatever names a request gives.
        index("reviews_by_action", &["tenant", "fingerprint"]),
        index("reviews_by_person", &["tenant", "person", "sequence"]),
        // For people: what was reviewed lately.
        index("reviews_by_time", &["tenant", "reviewed_at"]),
    ],
    ..PLAIN
};

/// The states of the steps of workflows.
pub(crate) static RUNS: Table = Table {
    name: "runs",
    columns: &[
        // Of the last change.
        integer("sequence"),
        text("tenant"),
        text("begun_by"),
        text("run"),
        text("step"),
        integer("version"),
        integer("updated_at"),
        text("state"),
    ],
    // Who began it comes last: a run is looked up by its name, whoever began it.
    key: &["tenant", "run", "step", "begun_by"],
    indexes: &[
        // The orders of lists: of the whole store, of a tenant, and of a run.
        index("runs_by_change", &["sequence"]).unique(),
        index("runs_of_tenant", &["tenant", "sequence"]),
        index("runs_of_name", &["tenant", "run", "begun_by", "sequence"]),
    ],
    fate: Fate::Change(70),
    ..PLAIN
};

pub(crate) static JOBS: Table = Table {
    name: "jobs",
    columns: &[
        bytes("job_id").of_bytes(16),
        text("tenant"),
        text("state").check("state IN ('waiting', 'done', 'failed', 'cancelled')"),
        text("owner").optional(),
        integer("attempt"),
        integer("lost"),
        integer("cancelling"),
        text("needs"),
        integer("turn"),
        integer("bytes"),
        integer("checks"),
        text("chain"),
        bytes("supersedes").optional(),
        text("error").optional(),
        integer("created_at"),
        integer("finished_at").optional(),
        text("accepted"),
        text("request"),
    ],
    key: &["job_id"],
    indexes: &[
        // Claims read these in order up to what they want, however many jobs have ended.
        index("jobs_to_claim", &["turn", "created_at"]).only("state = 'waiting' AND owner IS NULL"),
        index("jobs_of_tenant", &["tenant", "turn"]).only("state = 'waiting' AND owner IS NULL"),
        // What a process that has ended leaves behind.
        index("jobs_of_owner", &["owner"]).only("state = 'waiting' AND owner IS NOT NULL"),
        index("jobs_finished", &["finished_at"]).only("finished_at IS NOT NULL"),
    ],
    fate: Fate::Change(50),
    ..PLAIN
};

/// Answers by idempotency key.
pub(crate) static ANSWERS: Table = Table {
    name: "answers",
    columns: &[text("tenant"), text("key"), bytes("request").of_bytes(32), integer("answered_at"), text("document")],
    key: &["tenant", "key"],
    indexes: &[index("answers_by_time", &["answered_at"])],
    ..PLAIN
};

/// Documents that count once, and what spent them.
pub(crate) static SPENT: Table = Table {
    name: "spent",
    columns: &[text("tenant"), bytes("content").of_bytes(32), text("spent_by"), integer("spent_at")],
    key: &["tenant", "content"],
    ..PLAIN
};

/// What allowed actions come to together, by the keys of limits.
pub(crate) static COUNTED: Table = Table {
    name: "counted",
    columns: &[
        text("tenant"),
        bytes("key").of_bytes(32),
        integer("nth"),
        integer("counted_at"),
        text("total"),
        text("decision_id"),
    ],
    key: &["tenant", "key", "nth"],
    indexes: &[index("counted_by_time", &["tenant", "key", "counted_at", "nth"])],
    ..PLAIN
};

/// The entries of guarded sessions.
pub(crate) static SESSION_ENTRIES: Table = Table {
    name: "session_entries",
    columns: &[
        integer("sequence"),
        text("tenant"),
        text("session"),
        integer("position"),
        text("entry_id"),
        text("kind"),
        text("decision_id").optional(),
        integer("stored_at"),
        bytes("hash").of_bytes(32),
        text("document"),
    ],
    key: &["sequence"],
    unique: &[&["tenant", "session", "position"]],
    indexes: &[
        // One entry for each session, for lists of them.
        index("sessions_by_begin", &["tenant", "sequence"]).only("position = 0"),
        index("sessions_by_decision", &["tenant", "decision_id"]).only("decision_id IS NOT NULL"),
    ],
    ..PLAIN
};

/// The definitions of tools: of each one that is pinned, and one that waits.
pub(crate) static PINS: Table = Table {
    name: "pins",
    columns: &[
        text("tenant"),
        text("server"),
        text("tool"),
        text("account"),
        truth("is_pinned"),
        truth("is_approved"),
        bytes("definition").of_bytes(32),
        text("waits").optional(),
        integer("listed_at"),
        text("document"),
    ],
    key: &["tenant", "server", "tool", "account", "is_pinned"],
    is_clustered: true,
    ..PLAIN
};

/// The entries of the transparency log. The number of an entry is its index and 1.
pub(crate) static LOG_ENTRIES: Table = Table {
    name: "log_entries",
    columns: &[integer("number"), bytes("digest").of_bytes(32)],
    key: &["number"],
    unique: &[&["digest"]],
    ..PLAIN
};

/// The tiles of the transparency log.
pub(crate) static LOG_TILES: Table = Table {
    name: "log_tiles",
    columns: &[integer("level"), integer("nth"), bytes("hashes")],
    key: &["level", "nth"],
    fate: Fate::Change(90),
    ..PLAIN
};

/// How far the log is in tiles, and its last checkpoint.
pub(crate) static LOG_STATE: Table = Table {
    name: "log_state",
    columns: &[integer("only_row").check("only_row = 0"), integer("integrated"), integer("signed"), text("checkpoint")],
    key: &["only_row"],
    fate: Fate::Change(10),
    ..PLAIN
};

/// The latest time that was recorded, the turn of jobs, and the identity of the store, which its copies have, too.
pub(crate) static CLOCK: Table = Table {
    name: "clock",
    columns: &[integer("only_row").check("only_row = 0"), integer("latest"), integer("turn"), text("identity")],
    key: &["only_row"],
    fate: Fate::Change(10),
    ..PLAIN
};

/// What a probe writes, to see whether it can.
pub(crate) static PROBE: Table = Table {
    name: "probe",
    columns: &[integer("probe").check("probe = 1"), integer("probed"), bytes("filler")],
    key: &["probe"],
    fate: Fate::Change(10),
    ..PLAIN
};

/// The processes that share the store.
pub(crate) static WORKERS: Table = Table {
    name: "workers",
    columns: &[
        text("owner"),
        integer("alive_until"),
        integer("seen_at"),
        text("signer"),
        text("runs").optional(),
        text("admits").optional(),
        text("progress"),
    ],
    key: &["owner"],
    indexes: &[index("workers_by_end", &["alive_until"])],
    fate: Fate::Change(50),
    ..PLAIN
};

/// Which process does what one does for all (`duties`).
pub(crate) static DUTIES: Table =
    Table { name: "duties", columns: &[text("duty"), text("owner")], key: &["duty"], fate: Fate::Change(50), ..PLAIN };

/// The markers of groups (`engine::postgres`).
pub(crate) static GROUPS: Table = Table {
    name: "groups",
    columns: &[text("writer"), integer("number"), integer("made_at")],
    key: &["writer", "number"],
    fate: Fate::Change(50),
    ..PLAIN
};

/// The version of the schema. A program that knows version `needs` can use the store. Stores of builds before version 0.1.0 have
/// a table `schema` instead, so none is taken for one of today.
pub(crate) static VERSION: Table = Table {
    name: "proofmark",
    columns: &[integer("only_row").check("only_row = 0"), integer("version"), integer("needs")],
    key: &["only_row"],
    ..PLAIN
};

/// Counts: many groups change the same few rows.
const COUNTS: Table = Table { fate: Fate::Change(70), is_clustered: true, ..PLAIN };

const TIMES: &[Column] = &[integer("block"), integer("earliest"), integer("latest")];

/// When the rows of each block of a table were made.
const fn times(name: &'static str) -> Table {
    Table { name, columns: TIMES, key: &["block"], fate: Fate::Change(70), ..PLAIN }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_and_indexes_are_of_columns() {
        let mut names = BTreeSet::new();
        for table in TABLES.iter().chain(&OWN).chain(&OF_POSTGRES) {
            assert!(names.insert(table.name), "{}", table.name);
            for columns in table.searched() {
                for column in columns {
                    let name = column.trim_end_matches(" DESC");
                    assert!(table.place(name).is_some(), "{}.{column}", table.name);
                }
            }
            assert!(table.indexes.iter().all(|index| names.insert(index.name)), "{}", table.name);
        }
    }
}
