//! What would change a decision: a set of changes, found by trying and proven by deciding again.
//!
//! **What is promised.** When every change of the set holds and nothing else was changed, the action is allowed, whatever
//! facts and documents make the changes hold (soundness). Nothing is promised the other way round: a decision may have
//! changes that the search does not find, and then the set is empty.
//!
//! **How it is found.** The policy is judged. For each finding that blocks there is one operation that would lift it: make
//! a predicate true or false, present a receipt, present approvals, make a call. The operations are carried out on a copy
//! of request and evidence, the *hypothesis*, and the hypothesis is judged again. What now blocks adds operations, for a
//! few rounds (`search`). Then operations that are not needed are left out.
//!
//! **Facts for a predicate** are guessed from its expression (`solve`). The guess is never trusted: the predicate is
//! evaluated over it. One guess may undo what another predicate needed, so strategies differ in what they try first. They
//! are tried in a fixed order: what a predicate prefers first, each time with an unknown `when` made true, then false.
//!
//! **Why the proof holds for other facts.** A retry will not have the guessed facts but others that make the same
//! predicates hold, and those could break another rule about the same facts. So every rule that shares a fact with an
//! operation is named as a change too, unless the others imply it (`guards`, `imply`). Rules about other facts see what
//! they saw before. Documents are only added, and one more valid document never narrows a decision.
//!
//! **Assumed.** Where no facts are found for a predicate, a second search assumes its answer for every rule that asks
//! the same (`Assumption`). Such a change is marked `assumed`, and nothing is promised about its set.
//!
//! **Budget.** All judgments and guesses of one search share [`MAX_SEARCH_STEPS`]. When it is used up, changes that are
//! not proven by then are not named. The search sees only what the receipt records, so a replay finds the same.

mod condition;
mod edit;
mod guards;
mod hypothesis;
mod imply;
mod memo;
mod search;
mod solve;

pub(crate) use condition::more_words;

use proofmark_evidence::Evidence;
use proofmark_predicate::Budget;
use proofmark_receipt::{Json, object};

use self::memo::Memo;
use crate::input::Input;
use crate::judge::JudgedPolicy;
use crate::request::Request;

/// Steps that the search for changes may take for one decision, with all judgments it tries; see
/// [`proofmark_predicate::limits::MAX_STEPS`] for what a step is. Changes that are not proven by then are not named.
pub const MAX_SEARCH_STEPS: u64 = 20_000_000;
/// The most changes of one decision.
pub(crate) const MAX_CHANGES: usize = 64;

/// One thing that would have to be different. All changes of a decision together make it an allow.
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

    /// Whether it is only assumed that the predicate can hold, because no facts were found that satisfy it. Nothing is
    /// promised about a decision with such a change.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// The entry of `resume_contract.conditions`.
    pub(crate) fn condition(&self) -> Json {
        object! {
            "kind": self.kind,
            "predicate": self.predicate.as_str(),
            "assumed"?: self.assumed.then_some(true),
        }
        .into()
    }
}

/// A request and documents with which a blocked action is allowed. They are examples: any others that make the changes
/// hold will do.
#[derive(Clone, Debug)]
pub struct Witness {
    pub request: Request,
    pub evidence: Evidence,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Empty when none were found.
    pub(crate) all: Vec<Change>,
    /// Proves them; `None` when one is assumed.
    pub(crate) witness: Option<Witness>,
    /// Whether the search ended for want of steps.
    pub(crate) gave_up: bool,
}

/// Searches for a small set of changes that makes the decision an allow, within the budget of `input`.
pub(crate) fn changes(input: &Input<'_>, judged: &JudgedPolicy) -> Changes {
    let memo = Memo::default();
    let found = search::proven(input, judged, &memo).or_else(|| search::assumed(input, judged, &memo));
    let gave_up = input.budget.failure().is_some();
    match found {
        Some(found) => Changes { all: found.changes, witness: found.witness, gave_up },
        None => Changes { gave_up, ..Changes::default() },
    }
}

pub(crate) fn budget(stop: &dyn Fn() -> bool) -> Budget<'_> {
    Budget::stopping(MAX_SEARCH_STEPS, stop)
}
