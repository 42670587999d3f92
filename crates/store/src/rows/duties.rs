//! What one process does for all that share the store, as telling a webhook what waits: which process has the duty.
//!
//! It has the duty while its lease lasts ([`crate::rows::workers`]); after that, any other process takes it on.

use crate::engine::Engine;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::insert::{Insert, Or};
use crate::statement::{Statement, row};
use crate::tables::DUTIES;
use crate::value::values;

static TAKE: Insert = Insert::or(&DUTIES, Or::Keep);

/// The process that has the duty, if its lease lasts at the time `now`.
pub(crate) fn holder(db: &Db<'_>, duty: &str, now: i64) -> Result<Option<String>, Fault> {
    let sql = "SELECT duties.owner FROM duties JOIN workers ON workers.owner = duties.owner
               WHERE duties.duty = $1 AND workers.alive_until > $2";
    db.one(sql, &values![duty, now], |row| row.get(0))
}

/// Gives the duty to `owner` at the time `now`, unless a process has it whose lease lasts, or that of `owner` does not.
pub(crate) fn take_on(engine: &mut Engine, duty: &str, owner: &str, now: i64) -> Result<(), Fault> {
    if engine.rows("SELECT 1 FROM workers WHERE owner = $1 AND alive_until > $2", values![owner, now])?.is_empty() {
        return Ok(());
    }
    let free = "DELETE FROM duties WHERE duty = $1
                AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.owner = duties.owner AND workers.alive_until > $2)";
    engine.tell(vec![
        Statement::other(free, values![duty, now]),
        Statement::Insert { insert: &TAKE, row: row!(DUTIES { duty: duty, owner: owner }) },
    ])
}
