//! The one place that knows the order of things: admit, plan, run, judge, seal,
//! append.
//!
//! It knows neither HTTP nor the command line nor SQL. Clock and randomness are
//! read here and handed to the pure rooms as values.
//!
//! - [`verify_all`] runs requests on several workers and hands back one
//!   [`Judged`] each.
//! - [`Verifications`] runs them as jobs that can be followed, cancelled and made
//!   to outlive the process, fairly between tenants.
//! - [`Sealer`] turns them into receipts: signed, chained and on disk.
//! - [`Keyring`] keeps keys in files.

mod accept;
mod checked;
mod clock;
mod compare;
mod decide;
mod decider;
mod evaluation;
mod jobs;
mod kept;
mod keyfile;
mod keyring;
mod presented;
mod project;
mod receive;
mod reconcile;
mod review;
mod run;
mod seal;
mod trust;
mod worth;

// What the doors need of the rooms behind this one, so that they know this one alone.
pub use proofmark_boundary as boundary;
pub use proofmark_checks::{Caps, Format, Language, MAX_REQUEST_BYTES, Outside, Request, RequestError, SuiteHashes};
pub use proofmark_contract as contract;
pub use proofmark_evidence as evidence;
pub use proofmark_sandbox::{Host, Level, Runtime, allow_many_files};
pub use proofmark_store::{
    Bundle, CountFilter, Cursor, Decision as StoredDecision, DecisionIndex, DecisionsWanted, Filter, Finding,
    MAX_CLOCK_SKEW, MAX_PAGE, NewReceipt, Page, ParseCursorError, Review, ReviewVerdict, Spent, StepRun, Store,
    StoreError, StoredReceipt, Tenant, TenantError, TenantStore, VerdictCounts,
};

pub use accept::{
    AcceptError, Acceptance, Attempt, MAX_RUN_NAME, Sender, StoredStep, accept, chain_name, kept_state, kept_step,
};
pub use checked::{Checked, check_document};
pub use clock::{clock_behind, now, now_in};
pub use compare::differences;
pub use decide::{DecideError, Decided, Question, decide, replay, resume};
pub use decider::{Asked, Decider, Replayable};
pub use evaluation::{Evaluation, evaluation};
pub use jobs::{
    Cancelled, Following, JobState, JobView, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE,
    MAX_WAITING_OF_ONE, REMEMBERED_MS, SubmitError, Submitted, Verifications, Work,
};
pub use kept::{Redeemed, UseError};
pub use keyfile::{KeyFileError, Passphrase};
pub use keyring::{Keyring, KeyringError};
pub use presented::PresentedError;
pub use project::{ProjectError, ProjectRequest, project_request};
pub use receive::Received;
pub use reconcile::{Report, Reported};
pub use review::{NewReview, ReviewError, approve};
pub use run::{Judged, RunError, verify_all};
pub use seal::{SealError, Sealer, chain_head, decisions_head};
pub use trust::{TrustError, signers_in, trusted_signers};
pub use worth::{Subject, Terms, Worth, WorthError};
