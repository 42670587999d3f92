//! Stores receipts, chains, step runs, decisions and jobs in one SQLite file.
//!
//! This is the only crate with SQL. It does not know what a verdict means, whether a signature is good, or how a receipt came
//! about: it stores the bytes it is given, in the order it is given them, and answers only once they are on disk. Every row
//! belongs to a tenant, whose rows are reached only through [`Store::of`].
//!
//! `writer` has the one thread that writes: groups, chains, time and crashes are explained there.

mod engine;
mod error;
mod fault;
mod group;
mod hint;
mod mark;
mod place;
mod row;
mod rows;
mod store;
mod tables;
mod tenant;
mod tenant_store;
#[cfg(test)]
mod tests;
mod upkeep;
mod value;

pub use engine::clock::MAX_CLOCK_SKEW;
pub use engine::listen::Listening;
pub use error::{MAX_CHAIN_NAME, StoreError};
pub use group::pending::Pending;
pub use group::report::{GroupOutcome, GroupReport};
pub use group::writer::MAX_GROUP;
pub use group::written::Written;
pub use hint::Hint;
pub use place::{DatabaseUrl, Place};
pub use rows::activity::{AgentCount, DecisionCount, JudgedRules, VerdictCount};
pub use rows::answers::Answer;
pub use rows::claims::{Claim, JobCancelled, JobFigures, MAX_CLAIMED, MAX_LOST, MAX_PRUNED, Runnable};
pub use rows::counts::{CountFilter, TaskTypeCount, VerdictCounts};
pub use rows::decisions::{
    ActionHistory, ActionState, Decision, DecisionIndex, Decisions, DecisionsWanted, NewDecision, SignDecision,
};
pub use rows::executions::{Execution, Finding, Findings, NEVER_REPORTED};
pub use rows::jobs::{
    JobEnd, JobState, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, NewJob, StoredJob,
};
pub use rows::page::{Cursor, MAX_LISTED, MAX_PAGE, ParseCursorError};
pub use rows::queue::{WaitingDecision, WaitingWanted};
pub use rows::read::{Filter, MAX_FOUND, MIN_PREFIX, Page};
pub use rows::receipt_meta::StoredReceipt;
pub use rows::receipts::{NewReceipt, ReceiptSource, SignReceipt};
pub use rows::reviews::{JudgedReview, Review, ReviewVerdict};
pub use rows::runs::{ListedStep, StepRun};
pub use rows::sessions::{NewEntries, NewEntry, SessionEntry, Sessions, SignEntry, StoredPin, StoredSession};
pub use rows::spends::{Spend, Spends, Spent};
pub use rows::workers::{JobProgress, LEASE_MS, MAX_WORKERS, Presence, StoredWorker};
pub use rows::write::Write;
pub use store::Store;
pub use tenant::{MAX_TENANT, Tenant, TenantError};
pub use tenant_store::{PendingEach, TenantStore};
pub use upkeep::Upkeep;
pub use upkeep::check::{CheckedStore, Checking, StoredDocument, Wrong};
pub use upkeep::copy::{Copied, CopyError, CopyOrder, CopyStep, CopyWatch, copy};
