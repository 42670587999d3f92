//! Decides on actions, and stores what people say about them.
//!
//! - [`Decider`] gathers evidence, decides by a policy and issues the decision: what is [`Asked`] is [`Deciding`] until it is
//!   on disk, and [`Decided`] then. `decide.rs` makes a decision, `decider.rs` puts decisions in order and stores them.
//! - [`Guard`] does so for the calls of a guarded MCP connection, [`Hooks`] for those of a coding agent. Both decide through
//!   `session_decider.rs`, on facts that have every entry of their session.
//! - [`NewReview`] is a person's approval or denial, [`Reported`] what became of an action.
//! - [`PolicyPlace`] says whose a policy is and what it is called, [`PolicyAsked`] what became of the one that decided.
//! - [`Worth`] says what a stored receipt proves, for [`evaluation()`] and for redeeming.
//! - [`ToldDecision`], [`tell_verdict`] and [`Trace`] log what happened, under OpenTelemetry's names; guards and hooks do so themselves.
//! - [`suggest_policy`] and [`policy_diff()`] decide again what a session or a store has recorded, [`replay_run`] what any agent's
//!   record has; [`learn_policy`] makes a policy of that.

mod ahead;
mod asked;
mod counted;
mod decide;
mod decider;
mod deciding;
mod entries;
mod evaluation;
mod finding;
mod grant;
mod guard;
mod hooks;
mod learn;
mod passkey;
mod pins;
mod policies;
mod policy_diff;
mod receive;
mod reconcile;
mod redeem;
mod review;
mod runs;
mod session_decider;
mod step_approvals;
mod suggest;
mod telemetry;
mod trace;
mod worth;

pub use asked::{MAX_REQUEST, TellError, ToldRequest};
pub use decide::{DecideError, replay};
pub use decider::{Asked, Decider, Replayable, StoredWith};
pub use deciding::{Attempt, Begun, Decided, Deciding};
pub use entries::session_entries;
pub use evaluation::{Evaluation, evaluation};
pub use finding::FindingCode;
pub use grant::{GrantError, Revocation, RevokeError};
pub use guard::{FailedRequest, Guard, Judge, Judges, LocalJudges, NoJudge, Passage, PostedMessage, read_message};
pub use hooks::{
    HookRuling, HookSettings, Hooks, HostRecord, KeptSessions, StepAt, StopError, StopRuling, Taken, followed,
    not_executed, session_of,
};
pub use learn::{
    Estimate, Freedom, LearnError, LearnSettings, LearnedPolicy, LearningRun, learn_policy, learning_runs,
};
pub use passkey::{PasskeyRefusal, SignedApproval, Statement};
pub use pins::{KnownPin, PinStatus, accounts_to_approve, approve_pins, digest_to_approve, pins};
pub use policies::{PolicyAsked, PolicyPlace, PolicyPlaceError, policy_name};
pub use policy_diff::{ChangedDecision, PolicyDiff, policy_diff};
pub use receive::{NotStored, Received};
pub use reconcile::{Report, Reported};
pub use redeem::{Redeemed, UseError};
pub use review::{ApprovalTerms, NewReview, ReviewError, stored_action};
pub use runs::{Found, FoundIn, ReplayedRun, RunCall, RunReason, RunRuling, RunSettings, replay_run};
pub use session_decider::Owner;
pub use suggest::{SessionSuggestion, SuggestSessionError, suggest_policy};
pub use telemetry::{TELEMETRY, ToldDecision, tell_verdict};
pub use trace::Trace;
pub use worth::{Subject, Terms, Worth, WorthError};
