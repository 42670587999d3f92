//! What a receipt, an approval, a recorded call and a fact are worth, decided in one place.
//!
//! Contracts and boundary policies ask the same questions of the same evidence; the answers are here, so that both give
//! the same one. The crate knows no policy, no workflow, no clock and no files: documents were verified by the caller,
//! and the time is an argument.
//!
//! - [`ReceiptFact`] is what was found out about a receipt, [`ReceiptDemand`] what a rule asks for, and
//!   [`ReceiptDemand::meets`] says whether it does, or why not ([`Refusal`]).
//! - [`ReceiptKind`] is what a receipt is about; a rule accepts one kind.
//! - [`suite_digest`] names what a receipt proved: the specification and the tests together.
//! - [`assign()`] gives rules that use a receipt up one of their own each.
//! - [`approval`] is a human's attestation, and whether it counts.
//! - [`trace`] reads the calls an orchestrator recorded; [`CallStatus`] says how each ended.
//! - [`difference`] says where two documents differ.
//! - [`Condition`], [`Path`], [`glob`], [`span`] and [`facts`] are what rules are written in.

pub mod approval;
mod assign;
mod call;
mod condition;
mod demand;
pub mod difference;
pub mod facts;
pub mod glob;
mod path;
mod receipt;
mod refusal;
mod reviewer;
mod roles;
pub mod span;
mod status;
mod suite;
pub mod trace;

pub use approval::{Approval, ApprovalDemand, ApprovalError, ApprovalFact, Binds, Subject};
pub use assign::assign;
pub use call::{Call, CallStatus};
pub use condition::{Condition, ConditionError, NoText, TextExpression};
pub use demand::{Accepts, ReceiptDemand, SignerDemand, Wanted};
pub use path::Path;
pub use receipt::{Comparison, Evidence, MAX_AHEAD_MILLIS, ReceiptFact, ReceiptKind, Spend};
pub use refusal::{MAX_REFUSED, Refusal, nearest};
pub use reviewer::{Person, PersonError, Reviewer};
pub use roles::Roles;
pub use status::EvidenceStatus;
pub use suite::{resolve_suites, suite_digest};
