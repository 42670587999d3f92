//! Rows that depend on others: what spent a receipt stays spent, and nothing is kept of a row that is not there.

use super::Check;
use super::scan::{Scan, windows};
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::value::{Value, values};

/// Rows with numbers that are wrong where the condition is true.
const NUMBERED: [(&str, &str, &str, &str); 3] = [
    (
        "superseded",
        "receipts",
        "superseded_by IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM receipts AS newer WHERE newer.sequence = receipts.superseded_by)",
        "the receipt that took its place is not stored",
    ),
    (
        "spent",
        "receipts",
        "superseded_by IS NOT NULL AND trust IS NULL
         AND EXISTS (SELECT 1 FROM spent WHERE spent.tenant = receipts.tenant AND spent.content = receipts.content)
         AND NOT EXISTS (SELECT 1 FROM receipts AS newer
                         JOIN spent ON spent.tenant = newer.tenant AND spent.content = newer.content
                         WHERE newer.sequence = receipts.superseded_by)",
        "it is spent, and the receipt that took its place is not",
    ),
    (
        "orphan",
        "requests",
        "NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.sequence = requests.sequence)",
        "the receipt of the request is not stored",
    ),
];

/// As [`NUMBERED`], of tables with another key.
const KEYED: [(&str, &str, &[&str], &str, &str); 5] = [
    (
        "waiting",
        "waiting",
        &["tenant", "sequence"],
        "NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.sequence
                     AND decisions.tenant = waiting.tenant)
         OR NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.first
                        AND decisions.tenant = waiting.tenant AND decisions.subject = waiting.subject)
         OR waiting.asked <> (SELECT count(*) FROM decisions WHERE decisions.tenant = waiting.tenant
                              AND decisions.subject = waiting.subject
                              AND decisions.sequence BETWEEN waiting.first AND waiting.sequence)",
        "it is of no stored decision, or does not say since when it waits, or how often it was asked",
    ),
    (
        "awaited",
        "awaited",
        &["tenant", "decision_id"],
        "NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.decision_id = awaited.decision_id
                     AND decisions.tenant = awaited.tenant)",
        "it is of no stored decision",
    ),
    (
        "orphan",
        "asked",
        &["decision_id"],
        "NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.decision_id = asked.decision_id)",
        "the facts are of no stored decision",
    ),
    (
        "job",
        "jobs",
        &["job_id"],
        "state = 'done' AND NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.tenant = jobs.tenant
                                        AND receipts.receipt_id = jobs.job_id AND receipts.trust IS NULL)",
        "the job is done, and its receipt is not stored",
    ),
    (
        "job",
        "jobs",
        &["job_id"],
        "state = 'waiting' AND bytes <> octet_length(request)",
        "its request has another length than the column bytes",
    ),
];

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    // These grow without end, so they are looked through by windows of numbers; the others are short.
    for (code, table, condition, detail) in NUMBERED {
        check.progress(table, 0);
        let sql = format!(
            "SELECT sequence FROM {table} WHERE sequence > $1 AND sequence <= $2 AND ({condition}) ORDER BY sequence"
        );
        windows(db, &format!("SELECT max(sequence) FROM {table}"), |first, last| {
            for sequence in db.all(&sql, &values![first, last], |row| row.get::<i64>(0))? {
                check.wrong(code, table, format!("sequence {sequence}"), detail);
            }
            Ok(())
        })?;
    }
    for (code, table, key, condition, detail) in KEYED {
        check.progress(table, 0);
        let condition = format!("({condition})");
        let scan = Scan { table, key, columns: "1", condition: &condition };
        scan.each(
            db,
            check,
            |check, row| {
                let values: Vec<Value> = (0..key.len()).map(|column| row.get(column)).collect::<Result<_, _>>()?;
                let row = values.iter().map(Value::shown).collect::<Vec<_>>().join(", ");
                check.wrong(code, table, row, detail);
                Ok(())
            },
            |_, _| Ok(()),
        )?;
    }
    Ok(())
}
