//! Goes through the policy once and collects what is found for each rule.

use std::collections::BTreeMap;

use proofmark_evidence::{Condition, Evidence, EvidenceStatus};
use proofmark_predicate::{Failure, Missing, Truth, Value, Why};

use super::finding::{Finding, Kind, RuleRef, Standing};
use super::{Moment, Shared, applies, rules};
use crate::evidence::{self, Item};
use crate::policy::{Boundary, Demand, Policy, ReceiptRule};
use crate::request::Request;
use crate::ruling::Ruling;

/// The most missing facts named for one rule.
pub(super) const MAX_MISSING: usize = 8;

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

/// What going through the policy came to.
pub(crate) struct Judged {
    pub(crate) ruling: Ruling,
    pub(crate) findings: Vec<Finding>,
    pub(crate) steps: u64,
    pub(crate) denied_before: u64,
}

/// The going through.
pub(super) struct Judge<'w> {
    pub(super) world: &'w World<'w>,
    pub(super) facts: Value,
    /// The receipt each rule uses up, by its place in the evidence.
    pub(super) assigned: BTreeMap<RuleRef, usize>,
    pub(super) upstream: bool,
    pub(super) steps: u64,
    pub(super) findings: Vec<Finding>,
}

/// A boundary, and whether it is about the action.
struct Applying<'w> {
    index: usize,
    boundary: &'w Boundary,
    standing: Standing,
    findings: Vec<Finding>,
}

impl<'w> Applying<'w> {
    /// The boundary's rules about receipts.
    fn receipts(&self) -> impl Iterator<Item = (RuleRef, &'w ReceiptRule)> + use<'w> {
        let boundary = self.index;
        self.boundary.require.iter().enumerate().filter_map(move |(index, rule)| match &rule.demand {
            Demand::Receipt(rule) => Some((RuleRef { kind: Kind::Require, boundary, index }, rule)),
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        })
    }
}

/// Goes through the policy.
pub(crate) fn judge(world: &World<'_>) -> Judged {
    let mut judge = Judge {
        world,
        facts: world.request.value_at(world.moment.now.as_str()),
        assigned: BTreeMap::new(),
        upstream: world.request.upstream().is_some(),
        steps: 0,
        findings: Vec::new(),
    };
    applies::class(&mut judge);
    let boundaries = world.policy.boundaries.iter().enumerate();
    let applying: Vec<_> = boundaries.map(|(index, boundary)| judge.applies(index, boundary)).collect();
    let binding = applying.iter().filter(|applying| applying.standing == Standing::Holds);
    judge.assigned = evidence::assigned(binding.flat_map(Applying::receipts), &judge.facts, world);
    let covered = applying.iter().any(|applying| matches!(applying.standing, Standing::Holds | Standing::Unknown));
    for applying in applying {
        judge.rules(applying);
    }
    if !covered {
        applies::unmatched(&mut judge);
    }
    let denied_before = world.moment.history.denied.max(world.request.denies());
    let ruling = judge.repeat(judge.ruling(), denied_before);
    Judged { ruling, findings: judge.findings, steps: judge.steps, denied_before }
}

/// The age a rule allows its documents, in milliseconds.
pub(super) fn max_age(policy: &Policy, source: RuleRef) -> Option<i64> {
    let boundary = policy.boundaries.get(source.boundary)?;
    match source.kind {
        Kind::Require => match &boundary.require.get(source.index)?.demand {
            Demand::Receipt(rule) => rule.demand.max_age_millis,
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        },
        Kind::Class | Kind::Match | Kind::When | Kind::Deny | Kind::Warn | Kind::Unmatched | Kind::Repeat => None,
    }
}

impl Judge<'_> {
    /// Whether a boundary is about the action, with what was found on the way.
    fn applies<'w>(&mut self, index: usize, boundary: &'w Boundary) -> Applying<'w> {
        let before = std::mem::take(&mut self.findings);
        let standing = applies::boundary(self, index, boundary);
        let findings = std::mem::replace(&mut self.findings, before);
        Applying { index, boundary, standing, findings }
    }

    /// Goes through the rules of a boundary that is about the action.
    fn rules(&mut self, applying: Applying<'_>) {
        let Applying { index, boundary, standing, findings } = applying;
        self.findings.extend(findings);
        match standing {
            Standing::Holds => {}
            Standing::Unknown | Standing::Fails | Standing::NotApplicable => return,
        }
        for (at, rule) in boundary.deny.iter().enumerate() {
            rules::deny(self, RuleRef { kind: Kind::Deny, boundary: index, index: at }, boundary, rule);
        }
        for (at, rule) in boundary.require.iter().enumerate() {
            rules::require(self, RuleRef { kind: Kind::Require, boundary: index, index: at }, boundary, rule);
        }
        for (at, rule) in boundary.warn.iter().enumerate() {
            rules::warn(self, RuleRef { kind: Kind::Warn, boundary: index, index: at }, boundary, rule);
        }
    }

    /// Deny beats require beats warn; among equals the strictest decides.
    fn ruling(&self) -> Ruling {
        let strictest = |requirements: bool| {
            let of_kind = self.findings.iter().filter(|finding| (finding.source.kind == Kind::Require) == requirements);
            of_kind.filter_map(|finding| finding.blocks).max()
        };
        let warned = self.findings.iter().any(|finding| finding.reason.is_some());
        match (strictest(false), strictest(true), warned) {
            (Some(ruling), _, _) | (None, Some(ruling), _) => ruling,
            (None, None, true) => Ruling::AllowWithWarning,
            (None, None, false) => Ruling::Allow,
        }
    }

    /// The same action denied too often is not a matter for the agent any more.
    fn repeat(&mut self, ruling: Ruling, denied_before: u64) -> Ruling {
        let repeat = self.world.policy.repeat;
        if ruling.allows() || denied_before.saturating_add(1) < repeat.limit {
            return ruling;
        }
        let escalated = repeat.then.ruling(self.upstream, false);
        let rule = Shared::from("repeat");
        let source = RuleRef { kind: Kind::Repeat, boundary: 0, index: 0 };
        let mut finding = Finding::holds(source, &rule, &Shared::from(""));
        finding.standing = Standing::Fails;
        finding.blocks = Some(escalated);
        let message = format!("The same action has been denied {} times.", denied_before.saturating_add(1));
        finding.reason = Some(super::Reason {
            code: Shared::from("repeated_denial"),
            message: Shared::from(message),
            rule,
            cause: None,
            detail: None,
        });
        self.findings.push(finding);
        ruling.max(escalated)
    }

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
    missing.iter().any(|missing| matches!(missing.why, Why::Failed(Failure::StepLimit | Failure::SizeLimit)))
}
