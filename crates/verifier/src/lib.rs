//! The order of things: admit, plan, run, judge, issue.
//!
//! It knows neither HTTP nor the command line nor SQL. Clock and randomness are read here and handed to the pure crates as
//! values.
//!
//! - [`Batch`] runs requests on several workers and issues their receipts in order.
//! - [`Verifications`] runs them as jobs that can be followed and cancelled, outlive the process, and share its workers
//!   fairly between tenants.
//! - [`accept`] judges attempts at workflow steps, [`Decider`] decides on actions and stores reviews.
//! - [`Issuer`] links, signs and stores what these produce.
//! - [`Keyring`] stores keys in files.

mod accept;
mod checked;
mod clock;
mod compare;
mod decide;
mod decider;
mod evaluation;
mod guard;
mod issue;
mod jobs;
mod keyfile;
mod keyring;
mod known;
mod offers;
mod owned;
mod pins;
mod policy_diff;
mod presented;
mod project;
mod receive;
mod reconcile;
mod redeem;
mod review;
mod run;
mod session;
mod sync;
mod trust;
mod trust_store;
mod worth;

pub use proofmark_checks::{
    Caps, Format, HostFolder, Language, MAX_DISK_MB, MAX_MEMORY_MB, MAX_OUTPUT_BYTES, MAX_PROCESSES, MAX_REQUEST_BYTES,
    MAX_TOTAL_TIMEOUT, Outside, Request, RequestError, SuiteHashes, same_error,
};
pub use proofmark_guard::{Keep, MAX_MESSAGE_BYTES, Pinning, Settings as GuardSettings};
pub use proofmark_sandbox::{Host, Level, Runtime, allow_many_files};
pub use proofmark_store::{
    CountFilter, Cursor, Decision as StoredDecision, DecisionsWanted, Filter, Finding, ListedStep, MAX_CLOCK_SKEW,
    MAX_PAGE, Page, ParseCursorError, Review, ReviewVerdict, SessionEntry, Sessions, Spent, StepRun, Store, StoreError,
    StoredReceipt, Tenant, TenantError, TenantStore, VerdictCounts,
};

pub use accept::{
    AcceptError, Acceptance, Attempt, MAX_RUN_NAME, Purpose, Sender, StoredStateError, StoredStep, accept, chain_name,
    stored_state, stored_step,
};
pub use checked::{Checked, check_document};
pub use clock::{clock_behind, now, now_in};
pub use compare::differences;
pub use decide::{DecideError, Decided, Question, replay, resume};
pub use decider::{Asked, Begun, Decider, Deciding, MAX_RACES, Replayable};
pub use evaluation::{Evaluation, evaluation};
pub use guard::{Guard, Passage};
pub use issue::{IssueError, Issuer, chain_head, decisions_head};
pub use jobs::{
    Cancelled, Following, JobState, JobView, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE,
    MAX_WAITING_OF_ONE, REMEMBERED_MS, SelfTest, SubmitError, Submitted, Verifications, Work,
};
pub use keyfile::{KeyFileError, Passphrase};
pub use keyring::{Keyring, KeyringError, MAX_KEY_FILE};
pub use known::{KnownAs, KnownSigners, TrustedSigners};
pub use pins::{PinStatus, ToolPin, approve_pins, pins};
pub use policy_diff::{ChangedDecision, PolicyDiff, policy_diff};
pub use presented::PresentedError;
pub use project::{CONFIG_FILE, LeftOut, ProjectConfig, ProjectError, ProjectRequest, project_request};
pub use receive::{NotStored, Received};
pub use reconcile::{Report, Reported};
pub use redeem::{Redeemed, UseError};
pub use review::{NewReview, ReviewError};
pub use run::{Batch, BatchWatch, RunError, VerifyError, case_count, prepare};
pub use session::SessionDocument;
pub use trust::{TrustError, signers_in, trusted_signers};
pub use trust_store::{TrustStore, TrustedName};
pub use worth::{Subject, Terms, Worth, WorthError};
