//! One pass through a policy: what it looks at, what it has found so far, and the evidence a condition is.

use proofmark_predicate::{Failure, Missing, Truth, Value, Why};

use super::finding::{Finding, RuleRef, Shared};
use crate::evidence::{Evidence, Item, Status};
use crate::moment::Moment;
use crate::policy::{Condition, Policy};
use crate::request::Request;

/// The most missing facts named for one rule.
const MAX_MISSING: usize = 8;

/// Everything a decision depends on.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) request: &'a Request,
    pub(crate) evidence: &'a Evidence,
    pub(crate) moment: &'a Moment,
    /// Predicates whose answer is supposed, to see what would follow.
    pub(crate) assumed: &'a [Assumption],
}

/// The supposed answer of one predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assumption {
    pub(crate) rule: RuleRef,
    pub(crate) truth: bool,
}

/// The going through.
pub(super) struct Judge<'w> {
    pub(super) world: &'w World<'w>,
    pub(super) facts: Value,
    pub(super) upstream: bool,
    pub(super) steps: u64,
    pub(super) findings: Vec<Finding>,
}

impl Judge<'_> {
    /// Whether a condition of a rule holds, by the facts or by supposition.
    pub(super) fn truth(&mut self, source: RuleRef, condition: &Condition) -> Truth {
        let assumed = self.world.assumed.iter().find(|assumption| assumption.rule == source);
        if let Some(assumption) = assumed {
            return if assumption.truth { Truth::True } else { Truth::False };
        }
        let evaluation = condition.evaluate(&self.facts);
        self.steps = self.steps.saturating_add(evaluation.steps);
        evaluation.truth
    }
}

/// The evidence a condition is.
pub(super) fn fact_item(rule: &Shared, condition: &Condition, truth: &Truth) -> Item {
    let missing = match truth {
        Truth::Unknown(missing) => described(missing),
        Truth::True | Truth::False => Vec::new(),
    };
    let own = |name: &str| matches!(name, "action" | "now");
    let status = match truth {
        Truth::Unknown(_) => Status::Absent,
        Truth::True | Truth::False if condition.names.iter().all(|name| own(name)) => Status::SelfReported,
        Truth::True | Truth::False => Status::Observed,
    };
    let word = match truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Unknown(_) => "unknown",
    };
    Item::Fact { rule: rule.clone(), predicate: condition.source.clone(), truth: word, missing, status }
}

/// Missing facts in words, a few of them.
pub(super) fn described(missing: &[Missing]) -> Vec<String> {
    missing.iter().take(MAX_MISSING).map(ToString::to_string).collect()
}

/// Whether a predicate gave up rather than missed a fact.
pub(super) fn gave_up(missing: &[Missing]) -> bool {
    missing.iter().any(|missing| matches!(missing.why, Why::Failed(Failure::StepLimit | Failure::SizeLimit)))
}
