//! Step contracts: a step of a workflow is done when its evidence says so, not when the agent says so.
//!
//! The crate has no clock, no randomness, no files and no network. Workflows and recorded calls are bytes, receipts were
//! verified by the caller, and the time and the seed of delays are arguments: the same values always give the same
//! judgment. `docs/contracts.md` is the reference.
//!
//! An attempt goes through these steps:
//!
//! 1. [`Workflow::read`] and [`WorkflowPolicy::read`] read the documents; [`lint::lint`] finds what is wrong with them.
//! 2. [`Contract::of`] combines workflow, class and policy into what one step has to prove.
//! 3. [`response::extract`] and [`proofmark_evidence::trace::read`] extract the evidence from what was recorded.
//! 4. [`evaluate`] judges every rule.
//! 5. [`State::apply`] moves the run of the step to its next state.
//! 6. [`judgment::draft_parts`] makes the content of the receipt.
//!
//! Read the files in that order. `workflow` and its folder, `policy` and its folder, `tools` and `class` are the documents;
//! `read` is what their readers share and `vocabulary` the fields that they accept. `lint` has a file for each kind of
//! finding, and `warnings` the names of those that an author can mean. `contract` is what a step has to prove, `evidence` what an attempt is judged by, and `given` whether the caller
//! gave it. `evaluate` has a file for each kind of rule, and `expect` says what a value must be. `state` is the machine of a
//! step's attempts, `delay` the time between two of them, `reopening` what follows an abort, and `follow` where the workflow goes next. `cases` runs recorded
//! responses through all of it.

pub mod cases;
mod class;
mod contract;
mod delay;
mod evaluate;
mod evidence;
mod expect;
mod follow;
mod given;
pub mod judgment;
pub mod lint;
pub mod policy;
mod read;
pub mod reopening;
pub mod response;
mod state;
mod tools;
pub mod vocabulary;
mod warnings;
pub mod workflow;

pub use class::Class;
pub use contract::{Contract, ContractError};
pub use delay::{delay_ms, seed};
pub use evaluate::{
    ApprovalAnswer, ApprovalFinding, AttemptOutcome, Judgment, MAX_EVALUATION_STEPS, RuleKind, RuleOutcome, RuleResult,
    evaluate, evaluate_until, outputs_wanted, sought,
};
pub use evidence::{AttemptEvidence, MissingFact};
pub use expect::Expect;
pub use follow::{Due, KnownStep, NextStep, due, is_in_order, next_step};
pub use given::{NotGiven, not_given};
pub use policy::{WorkflowPolicy, reviewers};
pub use state::{Event, Retry, RetryPlan, State, StateError, TransitionError};
pub use tools::{ToolClasses, ToolGlob};
pub use warnings::warning_codes;
pub use workflow::Workflow;
