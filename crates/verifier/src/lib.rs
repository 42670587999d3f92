//! Verifies and accepts: plans, runs, judges, and issues the receipts.
//!
//! Clock and randomness are read here ([`clock`]) and handed to the pure crates as values.
//!
//! - [`Batch`] runs requests on several workers and issues their receipts in order; [`project_request`] makes a request of a
//!   folder.
//! - [`strength`] measures how much of a program its suite sees.
//! - [`accept`] judges attempts at workflow steps, and asks people by [`StepApprovals`].
//! - [`Issuer`] links, signs and stores what these produce.
//! - [`presented`] reads receipts as evidence.

mod accept;
mod accept_error;
mod accepted;
mod approval;
pub mod clock;
mod collect;
mod compare;
mod due;
mod environment;
mod file_watch;
mod issue;
mod locked;
mod offers;
pub mod presented;
mod project;
mod reopen;
mod run;
mod store_check;
mod stored;
mod strength;
pub mod sync;

pub use accept::{
    Acceptance, Attempt, Purpose, Sender, StepSigners, StoredStep, accept, chain_name, signed_state, stored_step,
};
pub use accept_error::{AcceptError, MAX_RUN_NAME, StoredStateError};
pub use accepted::{Accepted, Accepting, NotAccepted};
pub use approval::{AskError, AwaitedApproval, StepApprovals, StepDecision, StepQuestion, policy_of_step};
pub use clock::{clock_behind, now, now_in, receipt_id};
pub use collect::{CollectError, Collecting, Composed};
pub use compare::differences;
pub use due::due_in_run;
pub use environment::Environments;
pub use file_watch::{FileWatch, Look, SETTLING};
pub use issue::{Destination, IssueError, Issuer, Issuing, STEP_CHAINS, VERIFIER, chain_head, decisions_head};
pub use locked::{BuiltEnvironment, LockError, LockFile, LockedEnvironments};
pub use offers::{LOOK_EVERY, Offers};
pub use presented::{Presented, PresentedError, PresentedProof, ProofError};
pub use project::{
    Base, CONFIG_FILE, Change, HeldTests, Lists, Patch, ProjectConfig, ProjectError, ProjectFiles, TestsFrom,
    folder_files, project_origin, project_request, require_all_tests, settings_in, tree_files,
};
pub use reopen::{Reopen, Reopenable};
pub use run::{Batch, BatchWatch, RunError, StrengthWatch, VerifyError, case_count, prepare, verify};
pub use store_check::check_store;
pub use stored::{ChangedDecision, Reviewed, signed_action, signed_count, signed_decision, signed_facts, subject_key};
pub use strength::{DEFAULT_STRENGTH_TIME, MAX_MUTANTS, Strength, StrengthError, Survivor, strength};
