//! The contract room: when a step of a workflow is done — by its evidence, not by what an agent says of itself.
//!
//! It knows no clock, no randomness, no files and no network, and nobody's program: documents are bytes, recorded
//! calls are bytes, receipts were verified by the caller, and the time and the seed are arguments. The same values
//! always give the same answer. `docs/contracts.md` is the reference.
//!
//! The way of a response: [`Workflow::read`] and [`Policy::read`] read what was written, [`Contract::of`] is what a
//! step has to prove, [`response::extract`] and [`proofmark_evidence::trace::read`] take the evidence out of what was recorded,
//! [`evaluate`] judges every rule, [`State::apply`] moves the run of the step on, and [`judgment::draft_parts`] are
//! what the receipt of the judgment says. [`lint::lint`] finds what is wrong with a workflow before it runs.

pub mod cases;
mod contract;
mod evaluate;
mod expect;
pub mod judgment;
pub mod lint;
pub mod policy;
pub mod response;
mod state;
mod tools;
pub mod vocabulary;
pub mod workflow;

pub use contract::{Contract, ContractError};
pub use evaluate::{
    Decision, Evidence, Judgment, Kind, MAX_EVALUATION_STEPS, MissingFact, Outcome, RuleResult, evaluate,
    evaluate_until, outputs_wanted,
};
pub use expect::Expect;
pub use policy::Policy;
pub use state::{Event, Plan, Refusal, Retry, State, StateError, delay_ms, seed};
pub use tools::ToolClasses;
pub use workflow::{Class, Workflow};
