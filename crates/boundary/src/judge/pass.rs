//! One pass through a policy: what it looks at, what it has found so far, and the evidence a condition is.

use std::collections::BTreeMap;

use proofmark_evidence::{Condition, Evidence, EvidenceStatus};
use proofmark_predicate::tree::{Expression, View};
use proofmark_predicate::{Budget, Missing, Predicate, Truth, Value, Why};

use super::finding::{Finding, RuleRef, Shared};
use crate::evidence::Item;
use crate::moment::Moment;
use crate::policy::ActionPolicy;
use crate::request::Request;

/// The most missing facts named for one rule.
pub(super) const MAX_MISSING: usize = 8;

/// Everything a decision depends on.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) policy: &'a ActionPolicy,
    pub(crate) request: &'a Request,
    pub(crate) evidence: &'a Evidence,
    pub(crate) moment: &'a Moment,
    /// Conditions whose answer is assumed, to see what would follow.
    pub(crate) assumed: &'a [Assumption<'a>],
    pub(crate) budget: &'a Budget<'a>,
}

/// The assumed answer of a condition, and of every other one that is written alike or is its negation: what one rule
/// takes for true, no other may take for false.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Assumption<'p> {
    expression: Expression<'p>,
    truth: bool,
}

/// One pass through the policy.
pub(super) struct Judge<'w> {
    pub(super) world: &'w World<'w>,
    pub(super) facts: Value,
    /// The receipt each rule uses up, by its place in the evidence.
    pub(super) assigned: BTreeMap<RuleRef, usize>,
    pub(super) upstream: bool,
    pub(super) steps: u64,
    pub(super) findings: Vec<Finding>,
}

impl<'p> Assumption<'p> {
    pub(crate) fn new(expression: Expression<'p>, truth: bool) -> Self {
        match expression.view() {
            View::Not(inner) => Self::new(inner, !truth),
            _ => Self { expression, truth },
        }
    }

    /// What a condition comes to under it, if it is about that condition.
    fn answer(&self, expression: Expression<'_>) -> Option<bool> {
        match expression.view() {
            View::Not(inner) => self.answer(inner).map(|truth| !truth),
            _ => (self.expression == expression).then_some(self.truth),
        }
    }

    /// Whether it and another one cannot both be so, as far as `!`, `&&` and `||` tell.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.follow(&mut own);
        other.follow(&mut others);
        own.iter().any(|one| others.iter().any(|other| one.expression == other.expression && one.truth != other.truth))
    }

    /// It, and what follows from it.
    fn follow(self, all: &mut Vec<Self>) {
        all.push(self);
        match (self.expression.view(), self.truth) {
            (View::And(items), true) | (View::Or(items), false) => {
                items.into_iter().for_each(|item| Self::new(item, self.truth).follow(all));
            }
            _ => {}
        }
    }
}

impl Judge<'_> {
    /// Whether a condition of a rule holds, by the facts or by assumption.
    pub(super) fn truth(&mut self, condition: &Condition) -> Truth {
        let asked = condition.predicate().map(Predicate::tree);
        let assumed = asked.and_then(|asked| self.world.assumed.iter().find_map(|assumption| assumption.answer(asked)));
        if let Some(truth) = assumed {
            return if truth { Truth::True } else { Truth::False };
        }
        let evaluation = condition.evaluate(&self.facts, self.world.budget);
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
        Truth::Unknown(_) => EvidenceStatus::Absent,
        Truth::True | Truth::False if condition.names().iter().all(|name| own(name)) => EvidenceStatus::SelfReported,
        Truth::True | Truth::False => EvidenceStatus::Observed,
    };
    let word = match truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Unknown(_) => "unknown",
    };
    Item::Fact { rule: rule.clone(), predicate: condition.shared_source(), truth: word, missing, status }
}

/// Missing facts in words, a few of them.
pub(super) fn described(missing: &[Missing]) -> Vec<String> {
    missing.iter().take(MAX_MISSING).map(ToString::to_string).collect()
}

/// Whether a predicate gave up rather than missed a fact.
pub(super) fn gave_up(missing: &[Missing]) -> bool {
    missing.iter().any(|missing| matches!(missing.why, Why::Failed(failure) if failure.is_limit()))
}
