//! What is stored: a file for each table, with the row that callers know, how it is settled, and the questions about it.
//!
//! Beside them are files about rows of several tables: `receipt_meta` and `read` (receipts with what is known of them, and lists),
//! `queue` (what waits for a review), `filter` (what narrows lists by their documents), `claims` (who has which job), `listing`,
//! `times` and `page` (lists that take as long in a large store as in a small one).

pub(crate) mod activity;
pub(crate) mod answers;
pub(crate) mod awaited;
pub(crate) mod chains;
pub(crate) mod claims;
pub(crate) mod clock;
pub(crate) mod column;
pub(crate) mod counted;
pub(crate) mod counts;
pub(crate) mod decisions;
pub(crate) mod duties;
pub(crate) mod executions;
pub(crate) mod filter;
pub(crate) mod jobs;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod losses;
pub(crate) mod page;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod receipt_meta;
pub(crate) mod receipts;
pub(crate) mod reviews;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod spends;
pub(crate) mod times;
pub(crate) mod waiting;
pub(crate) mod workers;
mod write;
