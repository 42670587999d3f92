//! When the rows of each block were made, so that the list of a period skips the blocks that have none of it.
//!
//! Rows are mostly stored in the order in which they were made, but not always: receipts issued elsewhere bear their issuers'
//! times, and hosts that share a store have clocks that differ. So a period does not match a range of sequence numbers. But for each block
//! of [`BLOCK`] rows that follow each other it is known when the earliest and the latest of them were made.

use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::Draft;
use crate::insert::{Insert, Set};
use crate::rows::page::Cursor;
use crate::statement::row;
use crate::tables::{DECISION_TIMES, RECEIPT_TIMES};
use crate::value::values;

/// How many rows a block has. More make blocks that are partly of a period longer to look through; fewer make more blocks.
const BLOCK: i64 = 1 << BITS;
const BITS: u32 = 8;

/// A part of a list: what is not set does not narrow it. Times are in milliseconds after 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Default)]
pub(crate) struct Period {
    /// Only rows made at or after this time.
    pub(crate) since: Option<i64>,
    /// Only rows made before this time.
    pub(crate) until: Option<i64>,
    /// Only rows after this place of the list.
    pub(crate) after: Option<Cursor>,
}

/// Sequence numbers from the first one to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// The block of the row with this sequence number.
fn block(sequence: i64) -> i64 {
    sequence >> BITS
}

/// Notes when a row of a block of receipts was made.
pub(crate) fn note_receipt(draft: &mut Draft<'_>, sequence: i64, at: i64) {
    draft.note(&RECEIPT, row!(RECEIPT_TIMES { block: block(sequence), earliest: at, latest: at }));
}

/// Notes when a row of a block of decisions was made.
pub(crate) fn note_decision(draft: &mut Draft<'_>, sequence: i64, at: i64) {
    draft.note(&DECISION, row!(DECISION_TIMES { block: block(sequence), earliest: at, latest: at }));
}

const WIDEN: &[Set] = &[Set::Least("earliest"), Set::Greatest("latest")];
static RECEIPT: Insert = Insert::or_change(&RECEIPT_TIMES, WIDEN);
static DECISION: Insert = Insert::or_change(&DECISION_TIMES, WIDEN);

/// The spans with all rows of a period, the newest first, with gaps where blocks have none of it.
pub(crate) fn spans(db: &Db<'_>, times: &str, period: &Period) -> Result<Vec<Span>, Fault> {
    let Period { since, until, after } = *period;
    // A list begins with the newest: what comes after a place in it was stored before.
    let last = after.map_or(i64::MAX, |Cursor(place)| place.saturating_sub(1));
    // Without a period every block is wanted, so none has to be looked up.
    if since.is_none() && until.is_none() {
        return Ok(vec![Span { first: i64::MIN, last }]);
    }
    let sql =
        format!("SELECT block FROM {times} WHERE block <= $1 AND latest >= $2 AND earliest < $3 ORDER BY block DESC");
    let values = values![last >> BITS, since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)];
    let mut spans: Vec<Span> = Vec::new();
    db.each(&sql, &values, |row| {
        let first = row.get::<i64>(0)?.saturating_mul(BLOCK);
        match spans.last_mut() {
            Some(newer) if newer.first == first.saturating_add(BLOCK) => newer.first = first,
            _ => spans.push(Span { first, last: last.min(first.saturating_add(BLOCK - 1)) }),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(spans)
}
