//! The transparency log: that it has every document, no entry is missing, and what was signed is there. Hashes of the tree are the business
//! of those who know them.

use std::ops::ControlFlow;

use super::Check;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::rows::log;

/// A document without an entry: a store can miss the log of all of its documents.
const MAX_NAMED: u64 = 100;

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let entries: u64 = db.only("SELECT count(*) FROM log_entries", &[], |row| row.get(0))?;
    check.progress("log_entries", entries);
    let last = log::length(db)?;
    if entries != last {
        let detail = format!("the last one has the number {last}, and there are {entries}");
        check.wrong("missing", "log_entries", "an entry".to_owned(), detail);
    }
    let state = log::state(db)?;
    if state.signed.max(state.integrated) > last {
        let detail = format!("{} entries were signed, and {last} are there: the store was rolled back", state.signed);
        check.wrong("checkpoint_ahead", "log_state", "the checkpoint".to_owned(), detail);
    }
    unlogged(db, check, "receipts")?;
    unlogged(db, check, "decisions")
}

fn unlogged(db: &Db<'_>, check: &mut Check<'_>, table: &'static str) -> Result<(), Fault> {
    let sql = format!(
        "SELECT sequence FROM {table} WHERE NOT EXISTS (SELECT 1 FROM log_entries WHERE digest = {table}.hash)
         ORDER BY sequence LIMIT {MAX_NAMED}"
    );
    db.each(&sql, &[], |row| {
        let sequence: i64 = row.get(0)?;
        check.wrong("not_logged", table, format!("sequence {sequence}"), "the log has no entry with its hash");
        Ok(ControlFlow::Continue(()))
    })
}
