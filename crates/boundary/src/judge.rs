//! Goes through the policy once and collects what is found for each rule.

mod applies;
mod finding;
mod pass;
mod rules;

use finding::Shared;
pub use finding::{Finding, Reason, Standing};
pub(crate) use finding::{Kind, RuleRef};
use pass::Judge;
pub(crate) use pass::{Assumption, World};
pub(crate) use rules::call_words;

use crate::policy::{Boundary, Demand, Policy};
use crate::ruling::Ruling;

/// Steps the rules of a policy may take together for one decision; see [`proofmark_predicate::limits::MAX_STEPS`] for what
/// a step is. Past it, what has not been decided blocks with `policy_error`.
pub const MAX_DECISION_STEPS: u64 = 20_000_000;

/// What going through the policy came to.
pub(crate) struct Judged {
    pub(crate) ruling: Ruling,
    pub(crate) findings: Vec<Finding>,
    pub(crate) steps: u64,
    pub(crate) denied_before: u64,
}

/// Goes through the policy.
pub(crate) fn judge(world: &World<'_>) -> Judged {
    let mut judge = Judge {
        world,
        facts: world.request.value_at(world.moment.now.as_str()),
        upstream: world.request.upstream().is_some(),
        steps: 0,
        findings: Vec::new(),
    };
    applies::class(&mut judge);
    let mut covered = false;
    for (index, boundary) in world.policy.boundaries.iter().enumerate() {
        covered |= judge.boundary(index, boundary);
    }
    if !covered {
        applies::unmatched(&mut judge);
    }
    let denied_before = world.moment.history.denied.max(world.request.denies());
    let ruling = judge.repeat(judge.ruling(), denied_before);
    Judged { ruling, findings: judge.findings, steps: judge.steps, denied_before }
}

/// The age a rule allows its documents, in milliseconds.
pub(crate) fn max_age(policy: &Policy, source: RuleRef) -> Option<i64> {
    let boundary = policy.boundaries.get(source.boundary)?;
    match source.kind {
        Kind::Require => match &boundary.require.get(source.index)?.demand {
            Demand::Receipt(demand) => demand.max_age_millis,
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        },
        Kind::Class | Kind::Match | Kind::When | Kind::Deny | Kind::Warn | Kind::Unmatched | Kind::Repeat => None,
    }
}

impl Judge<'_> {
    /// Goes through one boundary; whether it is about the action, or may be.
    fn boundary(&mut self, index: usize, boundary: &Boundary) -> bool {
        match applies::boundary(self, index, boundary) {
            Standing::Holds => {}
            Standing::Unknown => return true,
            Standing::Fails | Standing::NotApplicable => return false,
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
        true
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
        finding.reason = Some(Reason {
            code: Shared::from("repeated_denial"),
            message: Shared::from(message),
            rule,
            cause: None,
            detail: None,
        });
        self.findings.push(finding);
        ruling.max(escalated)
    }
}
