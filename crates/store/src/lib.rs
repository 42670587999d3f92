//! Stores receipts, chains, step runs, decisions and jobs in a file (SQLite) or in a database that servers share (PostgreSQL).
//!
//! This is the only crate with SQL. It does not know what a verdict means, whether a signature is good, or how a receipt came
//! about: it stores the bytes it is given, in the order it is given them, and answers only once they are on disk. Every row
//! belongs to a tenant, whose rows are reached only through [`Store::of`].
//!
//! There are three floors, and none knows those above it:
//!
//! 1. **Tables and engines.** `tables` is the one list of tables; `table` prints the schemas from it, and `insert` the statements that
//!    insert rows. `statement` is what an engine is asked and told, in the one spelling that both take. `engine` has the connections:
//!    `sqlite`, `file`, `log` and `readers` those to a file, `postgres` those to a server, `db` questions to either.
//! 2. **Rows and groups.** `rows` has a file for each table: what is stored, why it is refused, and the questions about it. `group`
//!    makes one commit of many writes: `settle` is how each of them is decided without SQL, and `writer` the one thread that writes.
//!    Groups, chains, time and crashes are explained there.
//! 3. **The whole store.** [`Store`] and [`TenantStore`] are what callers have. `upkeep` handles all tables at once: it copies a store,
//!    verifies one, and seals one that was moved.
//!
//! A write goes from [`TenantStore::submit`] to `group::writer`, which asks the engine the questions of many writes together, settles
//! each by the answers (`rows`), tells the engine what to store, commits, and answers. A question goes from [`Store`] over
//! `engine::readers` to a function in `rows`, and waits for no writer.

mod chain;
mod ends;
mod engine;
mod error;
mod fault;
mod group;
mod hint;
mod insert;
mod mark;
mod patience;
mod place;
mod row;
mod rows;
mod statement;
mod store;
mod table;
mod tables;
mod tenant;
mod tenant_store;
#[cfg(test)]
mod tests;
mod turns;
mod upkeep;
mod value;

pub use ends::MAX_KEPT_CHAINS;
pub use engine::clock::MAX_CLOCK_SKEW;
pub use engine::listen::Listening;
pub use error::{MAX_CHAIN_NAME, StoreError};
pub use group::pending::Pending;
pub use group::report::{GroupOutcome, GroupReport};
pub use group::write::Write;
pub use group::writer::MAX_GROUP;
pub use group::written::Written;
pub use hint::Hint;
pub use patience::while_wanted;
pub use place::{DatabaseUrl, Place};
pub use rows::activity::{AgentCount, DecisionCount, JudgedRules, VerdictCount};
pub use rows::answers::Answer;
pub use rows::claims::{Claim, JobCancelled, JobFigures, MAX_CLAIMED, MAX_LOST, MAX_PRUNED, Runnable};
pub use rows::counted::{Count, Counts, StoredCount};
pub use rows::counts::{CountFilter, TaskTypeCount, VerdictCounts};
pub use rows::decisions::{
    ActionHistory, ActionState, Decision, DecisionIndex, Decisions, DecisionsWanted, NewDecision, SignDecision,
};
pub use rows::executions::{Execution, Finding, Findings, NEVER_REPORTED, TenantsFindings};
pub use rows::filter::QueueFilter;
pub use rows::jobs::{
    JobEnd, JobState, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, NewJob, StoredJob,
};
pub use rows::log::{LogChange, LogEntry, LogState, LogTile, MAX_LOG_ENTRIES};
pub use rows::losses::Loss;
pub use rows::page::{Cursor, MAX_LISTED, MAX_PAGE, ParseCursorError};
pub use rows::queue::{MAX_NOTICES, WaitingDecision, WaitingNotice, WaitingWanted};
pub use rows::read::{Filter, MAX_FOUND, MIN_PREFIX, Page};
pub use rows::receipt_meta::StoredReceipt;
pub use rows::receipts::{NewReceipt, ReceiptSource, SignReceipt};
pub use rows::reviews::{JudgedReview, Review, ReviewVerdict};
pub use rows::runs::{ListedStep, Runs, StepRun};
pub use rows::sessions::{After, NewEntries, NewEntry, SessionEntry, Sessions, SignEntry, StoredPin, StoredSession};
pub use rows::spends::{Spend, Spends, Spent};
pub use rows::workers::{JobProgress, LEASE_MS, MAX_WORKERS, Presence, StoredWorker};
pub use store::Store;
pub use tenant::{MAX_TENANT, Tenant, TenantError};
pub use tenant_store::{PendingEach, TenantStore};
pub use turns::{Most, Turns};
pub use upkeep::Upkeep;
pub use upkeep::check::{CheckedStore, Checking, StoredDocument, Used, Wrong};
pub use upkeep::copy::{Copied, CopyError, CopyOrder, CopyStep, CopyWatch, copy};
