//! The store room: keeps receipts, chains, step runs, decisions and jobs in one SQLite file.
//!
//! The only room with SQL. It does not know what a verdict means, whether a signature is good, or how a receipt came
//! about: it keeps the bytes it is given, in the order it was given them, and says so only once they are on disk. Every row
//! is a tenant's, and a tenant's rows are reached through [`Store::of`] alone.

mod bundle;
mod error;
mod file;
mod jobs;
mod kept;
mod migrate;
mod page;
mod read;
mod reviews;
mod schema;
mod served;
mod store;
mod tenant;
mod tenant_store;
mod write;
mod writer;

pub use bundle::{Bundle, Decision, DecisionIndex, MAX_LISTED, StepRun};
pub use error::StoreError;
pub use jobs::{JobEnd, JobState, Lease, MAX_PRUNED, MAX_TAKEN, NewJob, StoredJob};
pub use kept::{CountFilter, Spend, Spent, StoredReceipt, VerdictCounts};
pub use page::{Cursor, Filter, MAX_PAGE, Page, ParseCursorError};
pub use read::{MAX_FOUND, MIN_PREFIX};
pub use reviews::{Review, ReviewVerdict};
pub use served::{Answer, Decisions, DecisionsWanted, Execution, Finding, Findings, NEVER_REPORTED};
pub use store::{MAX_CLOCK_SKEW, NewReceipt, Store};
pub use tenant::{MAX_TENANT, Tenant, TenantError};
pub use tenant_store::TenantStore;
pub use write::MAX_CHAIN_NAME;
pub use writer::{MAX_GROUP, Pending};
