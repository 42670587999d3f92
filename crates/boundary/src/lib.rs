//! Action policies: whether a protected action may execute now, and how the agent continues if not.
//!
//! Values in, values out. The crate has no clock, no randomness, no files and no network: the time, ids, verified
//! documents, what was spent and what was denied before are arguments. It has no default that allows, and it executes
//! nothing. `docs/decisions.md` is the reference of what it reads and writes.
//!
//! Read the files in the order of a decision:
//!
//! 1. `policy` and its folder read a policy; `facts` names what its predicates see, `rule_ref` names a rule.
//! 2. `request` reads a request in either of its two forms; `size` counts its values, `asker` is who asks, `moment` the time and
//!    the history.
//!    `origins` finds where its values come from, in what its calls brought; `derived` has what follows from the action alone.
//! 3. `evidence` finds the documents and calls that a rule asks for; `taint` finds signs of steering in texts.
//! 4. `judge` makes one pass over the policy, a finding for each rule; `input` is everything that it may look at.
//! 5. `decide` makes a decision of the findings, and `disposition` says how the agent continues.
//! 6. `change` searches for what would change the decision: its own first lines say how, and why what it finds is proven.
//!    `assumption` holds the answers that it does not know.
//! 7. `receipt` writes and reads the receipt of a decision; `stated` and `effect` read from it what people are shown or what
//!    is counted.
//!
//! Beside that way: `conditions` and `admission` judge a retry by what the earlier receipt asked for, `replay` decides again
//! from a receipt, `cases` and `coverage` test a policy, `explain` puts it into words, and `suggest` writes one from calls
//! that were seen.
//!
//! ```
//! use proofmark_boundary::{ActionPolicy, History, Moment, Outcome, Request, decide};
//! use proofmark_evidence::Evidence;
//! use proofmark_receipt::document::{Format, parse};
//!
//! let policy = ActionPolicy::read(&parse(b"
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

mod admission;
mod asker;
mod assumption;
mod cases;
mod change;
mod conditions;
mod counted;
mod coverage;
mod decide;
mod derived;
mod disposition;
mod effect;
mod evidence;
mod explain;
mod facts;
mod input;
mod judge;
mod limits;
mod moment;
mod origins;
mod policy;
mod receipt;
mod replay;
mod request;
mod rule_ref;
mod size;
mod stated;
mod suggest;
pub mod taint;

pub use admission::{Admission, admits};
pub use asker::{Asker, Separation};
pub use cases::{Case, CaseResult, Cases};
pub use change::{Change, MAX_SEARCH_STEPS, Witness};
pub use counted::{Counted, CountedAction, LimitUse};
pub use coverage::{Coverage, RuleHits};
pub use decide::{Decision, decide, decide_until, judge_rules, roles_asked};
pub use disposition::{Disposition, Outcome};
pub use effect::{RuleEffect, effects_text, read_effects};
pub use evidence::{EvidenceItem, outputs_wanted, sought};
pub use explain::{BoundaryWords, RuleWords, explain_boundaries, explain_decision, explain_policy};
pub use input::MAX_DECISION_STEPS;
pub use judge::{Reason, RuleFinding, RuleStatus};
pub use moment::{Denial, History, Moment};
pub use policy::{
    ActionPolicy, ActionPolicyError, HostTool, LimitKey, Mode, OnBlock, ReadCall, ResultHandling, ToolCall, Warning,
    limit_keys, warning_codes,
};
pub use receipt::{DecisionReceipt, ENGINE, ParseDecisionError, SignedDecision};
pub use replay::{
    Difference, NOT_COMPARED, Recomputed, Replay, decide_as_recorded, other_engine, records_limits, replay,
};
pub use request::{MAX_REQUEST_VALUES, Request};
pub use stated::{Standing, StatedReason, StatedRule};
pub use suggest::{
    Learned, LearnedArgument, LearnedSource, LearnedTool, SeenCall, SuggestError, Suggestion, argument_place, as_under,
    learned_policy, result_places, suggest,
};
