//! What would change a decision: found by trying, and proven by deciding again.

mod condition;
mod guards;
mod hypothesis;
mod imply;
mod search;
mod solve;

use proofmark_evidence::Evidence;
use proofmark_predicate::Budget;
use proofmark_receipt::{Json, Object};

use crate::input::Input;
use crate::judge::JudgedPolicy;
use crate::request::Request;

/// Steps the search for changes may take for one decision, those of all decisions it tries together; see
/// [`proofmark_predicate::limits::MAX_STEPS`] for what a step is. Past it, no change is named that is not proven by then.
pub const MAX_SEARCH_STEPS: u64 = 20_000_000;
/// The most changes one decision can need.
pub(crate) const MAX_CHANGES: usize = 64;

/// One thing that would have to be otherwise. All changes of a decision together make it an allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    kind: &'static str,
    words: String,
    predicate: String,
    assumed: bool,
}

impl Change {
    /// `fact`, `receipt`, `approval` or `tool_call`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The change in words.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The change as a predicate over the facts of the retry, and `receipts`, `approvals` and `approvers`.
    #[must_use]
    pub fn predicate(&self) -> &str {
        &self.predicate
    }

    /// Whether it is assumed that its predicate can hold, because no facts were found with which it does. Nothing is
    /// promised of a decision with such a change.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// The entry of `resume_contract.conditions`.
    pub(crate) fn condition(&self) -> Json {
        let mut condition = Object::new();
        condition.insert("kind", self.kind);
        condition.insert("predicate", self.predicate.as_str());
        if self.assumed {
            condition.insert("assumed", true);
        }
        Json::Object(condition)
    }
}

/// A request and documents with which an action that was blocked is allowed.
///
/// The facts are examples: any others that fulfil the changes will do.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The request with the facts that would have to be there.
    pub request: Request,
    /// The documents, those that would have to be there among them.
    pub evidence: Evidence,
}

/// What the search for changes came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The changes that make the decision an allow; empty when none were found.
    pub(crate) all: Vec<Change>,
    /// What they are proven by; `None` when one is assumed.
    pub(crate) witness: Option<Witness>,
    /// Whether the search ended for want of steps.
    pub(crate) gave_up: bool,
}

/// Searches for a small set of changes that makes the decision an allow. The budget of `input` pays for it.
pub(crate) fn changes(input: &Input<'_>, judged: &JudgedPolicy) -> Changes {
    let found = search::proven(input, judged).or_else(|| search::assumed(input, judged));
    let gave_up = input.budget.failure().is_some();
    match found {
        Some(found) => Changes { all: found.changes, witness: found.witness, gave_up },
        None => Changes { gave_up, ..Changes::default() },
    }
}

/// A budget for one search.
pub(crate) fn budget(stop: &dyn Fn() -> bool) -> Budget<'_> {
    Budget::stopping(MAX_SEARCH_STEPS, stop)
}
