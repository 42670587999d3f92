//! What is stored, a file for each table or for what is asked of it: the row that callers know, how it is settled, and the
//! questions about it.

pub(crate) mod activity;
pub(crate) mod answers;
pub(crate) mod awaited;
pub(crate) mod chains;
pub(crate) mod claims;
pub(crate) mod column;
pub(crate) mod counts;
pub(crate) mod decisions;
pub(crate) mod executions;
pub(crate) mod jobs;
pub(crate) mod listing;
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
pub(crate) mod write;
