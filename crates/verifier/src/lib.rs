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
mod file_watch;
mod gate;
mod git;
mod guard;
mod hooks;
mod issue;
mod jobs;
mod keyfile;
mod keyring;
mod known;
mod left_out;
mod linked;
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
mod session_log;
mod store_check;
mod suggest;
mod sync;
mod trust;
mod trust_store;
mod worth;

pub use proofmark_checks::{
    Caps, Format, HostFolder, Language, MAX_DISK_MB, MAX_MEMORY_MB, MAX_OUTPUT_BYTES, MAX_PROCESSES, MAX_REQUEST_BYTES,
    MAX_TOTAL_TIMEOUT, Outside, Request, RequestError, SuiteHashes, same_error,
};
pub use proofmark_guard::{
    Difference as PinDifference, Keep, MAX_MESSAGE_BYTES, PinKind, PinName, Pinning, Settings as GuardSettings,
};
pub use proofmark_sandbox::{Host, Level, Runtime, allow_many_files};
pub use proofmark_store::{
    AgentCount, CheckedStore, Copied, CopyError, CopyOrder, CopyStep, CopyWatch, CountFilter, Cursor,
    Decision as StoredDecision, DecisionCount, DecisionsWanted, Filter, Finding, GroupOutcome, ListedStep,
    MAX_CLOCK_SKEW, MAX_PAGE, MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, Page,
    ParseCursorError, Place as StorePlace, Review, ReviewVerdict, SessionEntry, Sessions, Spend, Spent, StepRun, Store,
    StoreError, StoredReceipt, StoredSession, StoredWorker, TaskTypeCount, Tenant, TenantError, TenantStore,
    VerdictCount, VerdictCounts, WaitingDecision, WaitingWanted, Wrong as WrongRow, copy as copy_store,
};

pub use accept::{
    AcceptError, Acceptance, Attempt, MAX_RUN_NAME, Purpose, Sender, StoredStateError, StoredStep, accept, chain_name,
    stored_state, stored_step,
};
pub use checked::{Checked, check_document};
pub use clock::{clock_behind, now, now_in, receipt_id};
pub use compare::differences;
pub use decide::{DecideError, Decided, Question, replay, resume};
pub use decider::{Asked, Begun, Decider, Deciding, MAX_RACES, Replayable};
pub use evaluation::{Evaluation, evaluation};
pub use file_watch::FileWatch;
pub use gate::{Candidate, ParseUpdateError, RefUpdate};
pub use git::{GitError, GitRef, GitTree, MAX_COMMITS, NOTES, Note, Repository, Revision, TreeSummary};
pub use guard::{FailedRequest, Guard, Passage, PostedMessage};
pub use hooks::{
    HookRuling, HookSettings, Hooks, HostRecord, StepAt, StopError, StopRuling, not_executed, session_of_subagent,
};
pub use issue::{IssueError, Issuer, chain_head, decisions_head};
pub use jobs::{
    Cancelled, Figures, Following, JobSettings, JobState, JobView, JobWatch, REMEMBERED_MS, Report as JobReport, Role,
    SelfTest, SubmitError, Submitted, Verifications, Work,
};
pub use keyfile::{KeyFileError, Passphrase};
pub use keyring::{Keyring, KeyringError, MAX_KEY_FILE};
pub use known::{KnownAs, KnownSigners, TrustedSigners};
pub use left_out::LeftOut;
pub use linked::LinkedDocument;
pub use pins::{KnownPin, PinStatus, approve_pins, pins};
pub use policy_diff::{ChangedDecision, PolicyDiff, policy_diff};
pub use presented::{Presented, PresentedError};
pub use project::{CONFIG_FILE, ProjectConfig, ProjectError, ProjectRequest, project_request, tree_request};
pub use receive::{NotStored, Received};
pub use reconcile::{Report, Reported};
pub use redeem::{Redeemed, UseError};
pub use review::{NewReview, ReviewError};
pub use run::{Batch, BatchWatch, RunError, VerifyError, case_count, prepare};
pub use session::SessionDocument;
pub use store_check::check_store;
pub use suggest::{SessionSuggestion, SuggestSessionError, suggest_policy};
pub use trust::{TrustError, signers_in, trusted_signers};
pub use trust_store::{TrustStore, TrustedName};
pub use worth::{Subject, Terms, Worth, WorthError};
