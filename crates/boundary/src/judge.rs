//! Judges a request by a policy: one pass, a finding for each rule.
//!
//! The order: a human's denial, the action's class, then the boundaries that match the action with their denials,
//! requirements and warnings, then `unmatched` if no boundary matches, then the limit of repeated denials. Every rule is
//! judged, so that all reasons are named at once. A denial outranks a requirement, which outranks a warning; among equals
//! the narrowest disposition decides.
//!
//! Receipts that rules use up are assigned before any rule is judged, over all boundaries that apply: a receipt that two
//! rules accept serves one of them, and as many rules as possible get one.

mod applies;
mod finding;
mod origin;
mod pass;
mod rules;

use std::collections::BTreeMap;

use finding::SharedText;
pub use finding::{Reason, RuleFinding, RuleStatus};
use pass::Judge;
pub(crate) use rules::call_words;

use crate::disposition::Disposition;
use crate::evidence;
use crate::input::Input;
use crate::policy::{ActionPolicy, Boundary, Demand, ReceiptRule};
use crate::rule_ref::{RuleKind, RuleRef};

/// What a policy says about a request.
pub(crate) struct JudgedPolicy {
    pub(crate) disposition: Disposition,
    pub(crate) findings: Vec<RuleFinding>,
    pub(crate) steps: u64,
    pub(crate) denied_before: u64,
}

/// A boundary, and whether it applies to the action.
struct Applying<'w> {
    index: usize,
    boundary: &'w Boundary,
    status: RuleStatus,
    findings: Vec<RuleFinding>,
}

impl<'w> Applying<'w> {
    /// The boundary's rules about receipts.
    fn receipts(&self) -> impl Iterator<Item = (RuleRef, &'w ReceiptRule)> + use<'w> {
        let boundary = self.index;
        self.boundary.require.iter().enumerate().filter_map(move |(index, rule)| match &rule.demand {
            Demand::Receipt(rule) => Some((RuleRef { kind: RuleKind::Require, boundary, index }, &**rule)),
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        })
    }
}

/// Judges the request, with a finding for every rule.
pub(crate) fn judge(input: &Input<'_>) -> JudgedPolicy {
    judged(input, true)
}

/// As [`judge`], without most findings of rules that do not block. It takes the same steps.
pub(crate) fn judge_blocking(input: &Input<'_>) -> JudgedPolicy {
    judged(input, false)
}

fn judged(input: &Input<'_>, complete: bool) -> JudgedPolicy {
    let mut judge = Judge {
        input,
        facts: input.request.value_at(input.moment.now.as_str()),
        assigned: BTreeMap::new(),
        upstream: input.request.upstream().is_some(),
        complete,
        steps: 0,
        findings: Vec::new(),
    };
    applies::review(&mut judge);
    applies::class(&mut judge);
    applies::definition(&mut judge);
    let boundaries = input.policy.boundaries.iter().enumerate();
    let applying: Vec<_> = boundaries.map(|(index, boundary)| judge.applies(index, boundary)).collect();
    // Only rules that are judged take part: one that is not would hold a receipt another rule needs.
    let binding = applying.iter().filter(|applying| applying.status == RuleStatus::Holds);
    judge.assigned = evidence::assigned(binding.flat_map(Applying::receipts), &judge.facts, input);
    // A boundary that may apply covers the action: its own finding blocks and names what is missing.
    let covered = applying.iter().any(|applying| matches!(applying.status, RuleStatus::Holds | RuleStatus::Unknown));
    for applying in applying {
        judge.rules(applying);
    }
    if !covered {
        applies::unmatched(&mut judge);
    }
    // The larger count: a runtime that leaves denials out cannot lower what the store counted.
    let denied_before = input.moment.history.denied.max(input.request.denies());
    let disposition = match input.moment.history.denial {
        // A human has decided, and the path ends: there is nothing to escalate.
        Some(_) => judge.disposition(),
        None => judge.repeat(judge.disposition(), denied_before),
    };
    JudgedPolicy { disposition, findings: judge.findings, steps: judge.steps, denied_before }
}

/// The age that a rule allows its documents, in milliseconds.
pub(crate) fn max_age(policy: &ActionPolicy, source: RuleRef) -> Option<i64> {
    let boundary = policy.boundaries.get(source.boundary)?;
    match source.kind {
        RuleKind::Require => match &boundary.require.get(source.index)?.demand {
            Demand::Receipt(rule) => rule.demand.max_age_millis,
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        },
        RuleKind::Review
        | RuleKind::Class
        | RuleKind::Definition
        | RuleKind::Match
        | RuleKind::When
        | RuleKind::Deny
        | RuleKind::Warn
        | RuleKind::Unmatched
        | RuleKind::Repeat => None,
    }
}

impl Judge<'_> {
    /// Whether a boundary applies to the action. Its findings are held back until receipts are assigned, so that they come
    /// in policy order.
    fn applies<'w>(&mut self, index: usize, boundary: &'w Boundary) -> Applying<'w> {
        let before = std::mem::take(&mut self.findings);
        let status = applies::boundary(self, index, boundary);
        let findings = std::mem::replace(&mut self.findings, before);
        Applying { index, boundary, status, findings }
    }

    /// Judges the rules of a boundary that applies.
    fn rules(&mut self, applying: Applying<'_>) {
        let Applying { index, boundary, status, findings } = applying;
        self.findings.extend(findings);
        match status {
            RuleStatus::Holds => {}
            RuleStatus::Unknown | RuleStatus::Fails | RuleStatus::NotApplicable => return,
        }
        for (at, rule) in boundary.deny.iter().enumerate() {
            rules::deny(self, RuleRef { kind: RuleKind::Deny, boundary: index, index: at }, boundary, rule);
        }
        for (at, rule) in boundary.require.iter().enumerate() {
            rules::require(self, RuleRef { kind: RuleKind::Require, boundary: index, index: at }, boundary, rule);
        }
        for (at, rule) in boundary.warn.iter().enumerate() {
            rules::warn(self, RuleRef { kind: RuleKind::Warn, boundary: index, index: at }, boundary, rule);
        }
    }

    /// Denials outrank requirements, requirements outrank warnings; among equals the narrowest decides.
    fn disposition(&self) -> Disposition {
        let strictest = |requirements: bool| {
            let of_kind =
                self.findings.iter().filter(|finding| (finding.source.kind == RuleKind::Require) == requirements);
            of_kind.filter_map(|finding| finding.blocks).max()
        };
        let warned = self.findings.iter().any(|finding| finding.reason.is_some());
        match (strictest(false), strictest(true), warned) {
            (Some(disposition), _, _) | (None, Some(disposition), _) => disposition,
            (None, None, true) => Disposition::AllowWithWarning,
            (None, None, false) => Disposition::Allow,
        }
    }

    /// After too many denials of the same action somebody else decides: a loop of retries must end.
    fn repeat(&mut self, disposition: Disposition, denied_before: u64) -> Disposition {
        let repeat = self.input.policy.repeat;
        // Plus one for this denial; an allow does not count as a denial, so it never escalates.
        if disposition.allows() || denied_before.saturating_add(1) < repeat.limit {
            return disposition;
        }
        let escalated = repeat.then.disposition(self.upstream, false);
        let rule = SharedText::from("repeat");
        let source = RuleRef { kind: RuleKind::Repeat, boundary: 0, index: 0 };
        let mut finding = RuleFinding::holds(source, &rule, &SharedText::from(""));
        finding.status = RuleStatus::Fails;
        finding.blocks = Some(escalated);
        let message = format!("The same action has been denied {} times.", denied_before.saturating_add(1));
        finding.reason = Some(Reason {
            code: SharedText::from("repeated_denial"),
            message: SharedText::from(message),
            rule,
            cause: None,
            detail: None,
        });
        self.findings.push(finding);
        // The maximum, so that escalating never widens a path that ends.
        disposition.max(escalated)
    }
}
