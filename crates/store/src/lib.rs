//! Stores receipts, chains, step runs, decisions and jobs in one SQLite file.
//!
//! This is the only crate with SQL. It does not know what a verdict means, whether a signature is good, or how a receipt came
//! about: it stores the bytes it is given, in the order it is given them, and answers only once they are on disk. Every row
//! belongs to a tenant, whose rows are reached only through [`Store::of`].
//!
//! `writer` has the one thread that writes: groups, chains, time and crashes are explained there.

mod answers;
mod awaited;
mod chains;
mod clock;
mod column;
mod counts;
mod decisions;
mod error;
mod executions;
mod file;
mod jobs;
mod listing;
mod migrate;
mod page;
mod pending;
#[cfg(test)]
mod plans;
mod read;
mod readers;
mod receipt_meta;
mod receipts;
mod reviews;
mod runs;
mod schema;
mod scope;
mod sessions;
mod signing;
mod spends;
mod store;
mod tenant;
mod tenant_store;
mod times;
mod write;
mod writer;

pub use answers::Answer;
pub use clock::MAX_CLOCK_SKEW;
pub use counts::{CountFilter, VerdictCounts};
pub use decisions::{
    ActionHistory, ActionState, Decision, DecisionIndex, Decisions, DecisionsWanted, NewDecision, SignDecision,
};
pub use error::{MAX_CHAIN_NAME, StoreError};
pub use executions::{Execution, Finding, Findings, NEVER_REPORTED};
pub use jobs::{JobEnd, JobState, LEASE_MS, Lease, MAX_PRUNED, MAX_TAKEN, NewJob, StoredJob};
pub use page::{Cursor, MAX_LISTED, MAX_PAGE, ParseCursorError};
pub use pending::Pending;
pub use read::{Filter, MAX_FOUND, MIN_PREFIX, Page};
pub use receipt_meta::StoredReceipt;
pub use receipts::{NewReceipt, ReceiptSource, SignReceipt};
pub use reviews::{Review, ReviewVerdict};
pub use runs::{ListedStep, StepRun};
pub use sessions::{NewEntries, NewEntry, SessionEntry, Sessions, SignEntry, StoredPin, StoredSession};
pub use spends::{Spend, Spends, Spent};
pub use store::Store;
pub use tenant::{MAX_TENANT, Tenant, TenantError};
pub use tenant_store::{PendingEach, TenantStore};
pub use write::{Write, Written};
pub use writer::MAX_GROUP;
