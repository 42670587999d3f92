//! One pass through a policy: its input, its findings so far, and conditions as evidence.

use std::collections::BTreeMap;

use proofmark_evidence::{Condition, EvidenceStatus};
use proofmark_predicate::{Missing, Predicate, Truth, Value, Why};

use super::finding::{RuleFinding, SharedText};
use crate::evidence::EvidenceItem;
use crate::input::Input;
use crate::rule_ref::RuleRef;

/// The most missing facts that are named for one rule.
pub(super) const MAX_MISSING: usize = 8;

/// One pass through the policy.
pub(super) struct Judge<'w> {
    pub(super) input: &'w Input<'w>,
    pub(super) facts: Value,
    /// The receipt that each rule uses up, by its position in the evidence.
    pub(super) assigned: BTreeMap<RuleRef, usize>,
    pub(super) upstream: bool,
    /// Whether rules that hold get a finding.
    pub(super) complete: bool,
    pub(super) steps: u64,
    pub(super) findings: Vec<RuleFinding>,
}

impl Judge<'_> {
    /// Whether a condition of a rule holds, by the facts or by assumption.
    pub(super) fn truth(&mut self, condition: &Condition) -> Truth {
        let asked = condition.predicate().map(Predicate::tree);
        let assumed = asked.and_then(|asked| self.input.assumed.iter().find_map(|assumption| assumption.answer(asked)));
        if let Some(truth) = assumed {
            return if truth { Truth::True } else { Truth::False };
        }
        let (truth, steps) = condition.counted_truth(&self.facts, self.input.budget);
        self.steps = self.steps.saturating_add(steps);
        truth
    }

    /// Adds the finding of a rule that holds, where such findings are wanted.
    pub(super) fn holds(&mut self, source: RuleRef, rule: &SharedText, boundary: &SharedText) {
        if self.complete {
            self.findings.push(RuleFinding::holds(source, rule, boundary));
        }
    }
}

/// A condition as evidence. What the agent wrote itself (`action`) is self-reported, other facts are observed.
pub(super) fn fact_item(rule: &SharedText, condition: &Condition, truth: &Truth) -> EvidenceItem {
    let missing = match truth {
        Truth::Unknown(missing) => described(missing),
        Truth::True | Truth::False => Vec::new(),
    };
    // Comparing it with the time does not turn what the agent wrote into an observation.
    let status = match truth {
        Truth::Unknown(_) => EvidenceStatus::Absent,
        Truth::True | Truth::False if condition.names().iter().all(|name| matches!(&**name, "action" | "now")) => {
            EvidenceStatus::SelfReported
        }
        Truth::True | Truth::False => EvidenceStatus::Observed,
    };
    let word = match truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Unknown(_) => "unknown",
    };
    EvidenceItem::Fact { rule: rule.clone(), predicate: condition.shared_source(), truth: word, missing, status }
}

/// Missing facts in words, the first few.
pub(super) fn described(missing: &[Missing]) -> Vec<String> {
    missing.iter().take(MAX_MISSING).map(ToString::to_string).collect()
}

/// Whether a predicate hit a limit, rather than missed a fact.
pub(super) fn gave_up(missing: &[Missing]) -> bool {
    missing.iter().any(|missing| matches!(missing.why, Why::Failed(failure) if failure.is_limit()))
}
