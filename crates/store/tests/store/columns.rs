//! Every column of every table: whether `store check` finds that it was changed, and who finds it.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_store::{Checking, Store, Used};
use rusqlite::Connection;

use crate::full::fill;
use crate::samples::folder;

/// Columns whose values only the caller can compare, who knows what documents say: it is handed them. That it compares them is tested
/// where it is (`proofmark store check`).
const JUDGED: &[(&str, &[&str])] = &[
    ("asked", &["facts"]),
    ("counted", &["counted_at", "key", "nth", "total"]),
    ("decisions", &["class"]),
    ("jobs", &["accepted", "chain"]),
    ("requests", &["document", "sequence"]),
    ("reviews", &["decision_id", "note", "reviewed_at", "reviewer", "role", "until"]),
    ("runs", &["begun_by", "run", "state", "step", "tenant", "version"]),
    ("session_entries", &["decision_id", "kind", "session"]),
    ("spent", &["content", "spent_by"]),
];

/// Columns of which nothing else in the store tells what they were. `docs/operating.md` lists them with what to export.
const UNKNOWN: &[(&str, &[&str])] = &[
    ("answers", &["answered_at", "document", "key", "request", "tenant"]),
    ("chains", &["name"]),
    ("clock", &["identity", "latest", "turn"]),
    ("decision_counts", &["policy", "rules"]),
    ("decisions", &["candidate", "sequence", "wanted"]),
    ("executions", &["document", "executed", "reported_at", "sequence"]),
    ("findings", &["found_at", "message", "sequence"]),
    (
        "jobs",
        &["attempt", "cancelling", "checks", "created_at", "error", "finished_at", "lost", "needs", "owner", "turn"],
    ),
    ("log_state", &["checkpoint", "integrated", "signed"]),
    ("log_tiles", &["hashes", "level", "nth"]),
    ("pins", &["account", "is_approved", "is_pinned", "listed_at", "server", "tenant", "tool", "waits"]),
    ("receipts", &["sequence"]),
    ("reviews", &["person", "sequence"]),
    ("runs", &["sequence", "updated_at"]),
    ("session_entries", &["sequence", "stored_at", "tenant"]),
    ("spent", &["spent_at", "tenant"]),
];

/// Tables of what processes say of themselves, which ends with them.
const OF_PROCESSES: [&str; 3] = ["duties", "probe", "workers"];

/// Columns with a value that is changed into another one that the column can have.
const CHANGES: &[(&str, &str)] = &[
    ("allowed", "1 - allowed"),
    ("review", "1 - review"),
    ("executed", "1 - executed"),
    ("is_pinned", "1 - is_pinned"),
    ("is_approved", "1 - is_approved"),
    ("receipts.verdict", "CASE verdict WHEN 'pass' THEN 'fail' ELSE 'pass' END"),
    ("reviews.verdict", "CASE verdict WHEN 'denied' THEN 'approved' ELSE 'denied' END"),
    ("state", "CASE state WHEN 'done' THEN 'failed' ELSE 'done' END"),
    ("runs.state", "state || ' '"),
    ("spent.content", "unhex('00' || substr(hex(content), 3))"),
];

/// What is found in a store, and everything that is handed over to be compared.
fn look(path: &Path) -> (usize, Vec<String>) {
    let (mut found, mut handed) = (0, Vec::new());
    let checking = Checking {
        judge: &mut |document| {
            handed.push(format!("{document:?}"));
            Ok(Used::default())
        },
        found: &mut |_| found += 1,
        progress: &mut |_, _| {},
    };
    Store::open(path).unwrap().check(checking).unwrap();
    (found, handed)
}

fn columns(path: &Path) -> Vec<(String, String, String)> {
    let database = Connection::open(path).unwrap();
    let sql = "SELECT tables.name, columns.name, columns.type FROM sqlite_master AS tables
               JOIN pragma_table_info(tables.name) AS columns
               WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%' ORDER BY 1, 2";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn listed(list: &[(&str, &[&str])]) -> BTreeSet<String> {
    list.iter().flat_map(|(table, columns)| columns.iter().map(move |column| format!("{table}.{column}"))).collect()
}

#[test]
fn a_change_of_every_column_is_found_or_is_known_not_to_be() {
    let (folder, path) = folder();
    fill(&Store::open(&path).unwrap());
    let (before, whole) = look(&path);
    assert_eq!(before, 0);
    let (judged, unknown) = (listed(JUDGED), listed(UNKNOWN));
    let damaged = folder.path().join("damaged.db");
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for (table, column, kind) in
        columns(&path).into_iter().filter(|(table, ..)| !OF_PROCESSES.contains(&table.as_str()))
    {
        let name = format!("{table}.{column}");
        let change =
            CHANGES.iter().find(|(of, _)| *of == name).or_else(|| CHANGES.iter().find(|(of, _)| *of == column));
        let change = change.map_or_else(
            || match kind.as_str() {
                "INTEGER" => format!("coalesce({column}, 0) + 1"),
                "BLOB" => format!("zeroblob(coalesce(length({column}), 16))"),
                _ => format!("coalesce({column}, '') || 'x'"),
            },
            |(_, change)| (*change).to_owned(),
        );
        std::fs::copy(&path, &damaged).unwrap();
        let sql = format!(
            "PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on; UPDATE OR IGNORE {table} SET {column} = {change}"
        );
        let database = Connection::open(&damaged).unwrap();
        database.execute_batch(&sql).unwrap();
        if database.changes() == 0 {
            wrong.push(format!("{name}: no row was changed by {sql}"));
        }
        drop(database);
        let (found, handed) = look(&damaged);
        let known = match (found, handed == whole) {
            (1.., _) => "found",
            (0, false) => "judged",
            (0, true) => "unknown",
        };
        let is_due = match (judged.contains(&name), unknown.contains(&name)) {
            (false, false) => known == "found",
            (true, false) => known == "judged",
            // What is handed over with a row is not always compared.
            (false, true) => known != "found",
            (true, true) => false,
        };
        if !is_due {
            wrong.push(format!("{name}: {known}"));
        }
        seen.insert(name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let gone: Vec<_> = judged.union(&unknown).filter(|name| !seen.contains(*name)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn what_cannot_be_known_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md")).unwrap();
    for (table, columns) in UNKNOWN {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{table}` |"))).unwrap_or_default();
        for column in *columns {
            assert!(row.contains(&format!("`{column}`")), "{table}.{column}");
        }
    }
}
