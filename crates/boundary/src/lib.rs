//! Boundary policies: whether a protected action may execute now, and how to go on if not.
//!
//! Values in, values out. It knows no clock, no randomness, no files and no network: the present, ids, verified
//! documents, what was spent and what was denied before are arguments. It has no default that allows, and it executes
//! nothing. `docs/decisions.md` is the reference of what it reads and writes.
//!
//! ```
//! use proofmark_boundary::{Evidence, History, Moment, Outcome, Policy, Request, decide};
//! use proofmark_receipt::document::{Format, parse};
//!
//! let policy = Policy::read(&parse(b"
//! version: 1
//! boundaries:
//!   - id: notes
//!     match: {action_class: record_mutation, tool: add_note}
//!     require:
//!       - fact: 'size(action.args.text) < 1000'
//! ", Format::Yaml)?)?;
//! let request = Request::read(&parse(br#"
//!     {"action": {"tool": "add_note", "class": "record_mutation", "args": {"text": "done"}}}
//! "#, Format::Json)?)?;
//! let moment = Moment { now: "2026-03-01T12:00:00Z".parse()?, history: History::default() };
//! let decision = decide(&policy, &request, &Evidence::default(), &moment);
//! assert_eq!(decision.outcome(), Outcome::Allow);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cases;
mod change;
mod coverage;
mod decide;
mod disposition;
mod evidence;
mod explain;
mod facts;
mod judge;
mod moment;
mod policy;
mod receipt;
mod replay;
mod request;
pub mod taint;

pub use cases::{Case, CaseResult, Cases};
pub use change::{Admission, Change, MAX_SEARCH_STEPS, Witness, admits};
pub use coverage::{Coverage, RuleHits};
pub use decide::{Decision, consider, decide, decide_until};
pub use disposition::{Disposition, Outcome};
pub use evidence::{Item, outputs_wanted};
pub use explain::{explain_decision, explain_policy};
pub use facts::{ACTION_CLASSES, fact_schema};
pub use judge::{Finding, MAX_DECISION_STEPS, Reason, Standing};
pub use moment::{Denial, History, Moment};
pub use policy::{Mode, OnBlock, Policy, PolicyError, Warning};
pub use proofmark_evidence::{
    Approval, ApprovalError, ApprovalFact, Evidence, EvidenceStatus, ReceiptFact, Refusal, Reviewer, Spend, Subject,
};
pub use receipt::{DecisionReceipt, ParseDecisionError};
pub use replay::{Difference, NOT_COMPARED, Recomputed, Replay, replay};
pub use request::Request;

/// The engine's name and version, as receipts bind them.
pub const ENGINE: &str = concat!("proofmark-boundary/", env!("CARGO_PKG_VERSION"));
