//! Stores receipts, chains, step runs, decisions and jobs in one SQLite file.
//!
//! This is the only crate with SQL. It does not know what a verdict means, whether a signature is good, or how a receipt came
//! about: it stores the bytes it is given, in the order it is given them, and answers only once they are on disk. Every row
//! belongs to a tenant, whose rows are reached only through [`Store::of`].
//!
//! `writer` has the one thread that writes: groups, chains, time and crashes are explained there.

mod activity;
mod answers;
mod awaited;
mod chains;
mod check;
mod claims;
mod clock;
mod column;
mod copy;
mod counts;
mod db;
mod decisions;
mod engine;
mod error;
mod executions;
mod fault;
mod file;
mod groups;
mod hint;
mod jobs;
mod listen;
mod listing;
mod log;
mod mark;
mod migrate;
mod page;
mod pending;
mod place;
#[cfg(test)]
mod plans;
mod postgres;
mod queue;
mod read;
mod readers;
mod receipt_meta;
mod receipts;
mod reviews;
mod row;
mod runs;
mod schema;
mod seal;
mod sessions;
mod settle;
mod signing;
mod spends;
mod store;
mod tables;
mod tenant;
mod tenant_store;
mod times;
mod upkeep;
mod value;
mod waiting;
mod workers;
mod write;
mod writer;
mod written;

pub use activity::{AgentCount, DecisionCount, JudgedRules, VerdictCount};
pub use answers::Answer;
pub use check::{CheckedStore, Checking, StoredDocument, Wrong};
pub use claims::{Claim, JobCancelled, JobFigures, MAX_CLAIMED, MAX_LOST, MAX_PRUNED, Runnable};
pub use clock::MAX_CLOCK_SKEW;
pub use copy::{Copied, CopyError, CopyOrder, CopyStep, CopyWatch, copy};
pub use counts::{CountFilter, TaskTypeCount, VerdictCounts};
pub use decisions::{
    ActionHistory, ActionState, Decision, DecisionIndex, Decisions, DecisionsWanted, NewDecision, SignDecision,
};
pub use error::{MAX_CHAIN_NAME, StoreError};
pub use executions::{Execution, Finding, Findings, NEVER_REPORTED};
pub use groups::{GroupOutcome, GroupReport};
pub use hint::Hint;
pub use jobs::{
    JobEnd, JobState, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, NewJob, StoredJob,
};
pub use listen::Listening;
pub use page::{Cursor, MAX_LISTED, MAX_PAGE, ParseCursorError};
pub use pending::Pending;
pub use place::{DatabaseUrl, Place};
pub use queue::{WaitingDecision, WaitingWanted};
pub use read::{Filter, MAX_FOUND, MIN_PREFIX, Page};
pub use receipt_meta::StoredReceipt;
pub use receipts::{NewReceipt, ReceiptSource, SignReceipt};
pub use reviews::{JudgedReview, Review, ReviewVerdict};
pub use runs::{ListedStep, StepRun};
pub use sessions::{NewEntries, NewEntry, SessionEntry, Sessions, SignEntry, StoredPin, StoredSession};
pub use spends::{Spend, Spends, Spent};
pub use store::Store;
pub use tenant::{MAX_TENANT, Tenant, TenantError};
pub use tenant_store::{PendingEach, TenantStore};
pub use upkeep::Upkeep;
pub use workers::{JobProgress, LEASE_MS, MAX_WORKERS, Presence, StoredWorker};
pub use write::Write;
pub use writer::MAX_GROUP;
pub use written::Written;
