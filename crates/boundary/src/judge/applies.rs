//! Which boundaries are about the action, and what becomes of one that none is about.

use proofmark_predicate::Truth;

use super::finding::{Finding, Kind, Reason, RuleRef, Shared, Standing};
use super::pass::{Judge, described, fact_item};
use super::rules;
use crate::disposition::Disposition;
use crate::policy::{Boundary, Exemption, Matching, OnBlock, Unmatched};

/// What a human denied stays denied until the denial ends, whatever was approved before.
pub(super) fn review(judge: &mut Judge<'_>) {
    let Some(denial) = &judge.world.moment.history.denial else { return };
    let source = RuleRef { kind: Kind::Review, boundary: 0, index: 0 };
    let mut finding = whole(source, "review", "human_denied", &denial.note);
    finding.blocks = Some(Disposition::TerminalBlock);
    finding.reason = finding.reason.map(|reason| Reason {
        detail: Some(format!(
            "{} denied this action in the review of decision {}; the denial ends at {}.",
            denial.reviewer, denial.decision_id, denial.until
        )),
        ..reason
    });
    judge.findings.push(finding);
}

/// An action of a class nobody declared is not one any rule was written for.
pub(super) fn class(judge: &mut Judge<'_>) {
    let class = judge.world.request.action_class();
    let message = match class {
        Some(class) if judge.world.policy.knows_class(class) => return,
        Some(class) => {
            let class = proofmark_receipt::document::shown(class);
            format!("The action class `{class}` is not known; declare it in the policy's `classes`.")
        }
        None => "The action has no class.".to_owned(),
    };
    let source = RuleRef { kind: Kind::Class, boundary: 0, index: 0 };
    let finding = Finding { hard: true, ..whole(source, "classes", "unknown_action_class", &message) };
    judge.findings.push(Finding { blocks: Some(Disposition::LocalReplan), ..finding });
}

/// Whether a boundary is about the action.
pub(super) fn boundary(judge: &mut Judge<'_>, index: usize, boundary: &Boundary) -> Standing {
    let matching = boundary.matcher.matches(judge.world.request);
    if matching == Matching::No {
        return Standing::NotApplicable;
    }
    let source = RuleRef { kind: Kind::When, boundary: index, index: 0 };
    let truth = boundary.when.as_ref().map(|condition| (condition, judge.truth(condition)));
    match (matching, truth) {
        (Matching::No, _) => Standing::NotApplicable,
        (_, Some((condition, truth @ Truth::False))) => {
            let mut finding = Finding::holds(source, &boundary.at, &boundary.id);
            finding.standing = Standing::NotApplicable;
            finding.evidence = vec![fact_item(&boundary.at, condition, &truth)];
            judge.findings.push(finding);
            Standing::NotApplicable
        }
        (_, Some((condition, truth @ Truth::Unknown(_)))) => {
            let Truth::Unknown(missing) = &truth else { return Standing::Unknown };
            let mut finding = rules::unknown(judge, source, boundary, &boundary.at, missing);
            finding.evidence = vec![fact_item(&boundary.at, condition, &truth)];
            finding.missing = described(missing);
            judge.findings.push(finding);
            Standing::Unknown
        }
        (Matching::Unknown(missing), None | Some((_, Truth::True))) => {
            let source = RuleRef { kind: Kind::Match, boundary: index, index: 0 };
            let missing: Vec<_> = missing.iter().map(|path| format!("`{path}` is absent")).collect();
            let finding = rules::undecided(judge, source, boundary, &boundary.at, missing);
            judge.findings.push(finding);
            Standing::Unknown
        }
        (Matching::Yes, None | Some((_, Truth::True))) => {
            let source = RuleRef { kind: Kind::Match, boundary: index, index: 0 };
            judge.findings.push(Finding::holds(source, &boundary.at, &boundary.id));
            Standing::Holds
        }
    }
}

/// No boundary is about the action.
pub(super) fn unmatched(judge: &mut Judge<'_>) {
    let policy = judge.world.policy;
    let source = RuleRef { kind: Kind::Unmatched, boundary: 0, index: 0 };
    let finding = match policy.unmatched {
        Unmatched::Block(otherwise) => no_boundary(source, otherwise.disposition(judge.upstream, false)),
        Unmatched::AllowExempted => {
            let request = judge.world.request;
            let now = judge.world.moment.now.unix_millis();
            let mut matching =
                policy.exemptions.iter().filter(|exemption| exemption.matcher.matches(request) == Matching::Yes);
            let mut expired = None;
            let live = matching.find(|exemption| {
                let live = exemption.expires.unix_millis() > now;
                expired = expired.or((!live).then_some(*exemption));
                live
            });
            match (live, expired) {
                (Some(exemption), _) => exempted(source, exemption),
                (None, Some(exemption)) => lapsed(source, exemption),
                (None, None) => no_boundary(source, OnBlock::ReplanRequired.disposition(judge.upstream, false)),
            }
        }
    };
    judge.findings.push(finding);
}

fn no_boundary(source: RuleRef, disposition: Disposition) -> Finding {
    let message = "No boundary of the policy is about this action, and what no rule is about is not allowed.";
    Finding { blocks: Some(disposition), ..whole(source, "unmatched", "unmatched_action", message) }
}

fn exempted(source: RuleRef, exemption: &Exemption) -> Finding {
    let message = format!(
        "No boundary is about this action; {} exempted it until {}: {}",
        exemption.approver, exemption.expires, exemption.reason
    );
    let finding = whole(source, &exemption.at, "exempted", &message);
    Finding { standing: Standing::Holds, ..finding }
}

fn lapsed(source: RuleRef, exemption: &Exemption) -> Finding {
    let message = format!(
        "No boundary is about this action, and the exemption {} gave it expired at {}.",
        exemption.approver, exemption.expires
    );
    Finding { blocks: Some(Disposition::LocalReplan), ..whole(source, &exemption.at, "exemption_expired", &message) }
}

/// A finding about the policy as a whole.
fn whole(source: RuleRef, rule: &str, code: &str, message: &str) -> Finding {
    let rule = Shared::from(rule);
    let reason = Reason {
        code: Shared::from(code),
        message: Shared::from(message),
        rule: rule.clone(),
        cause: None,
        detail: None,
    };
    let finding = Finding::holds(source, &rule, &Shared::from(""));
    Finding { standing: Standing::Fails, reason: Some(reason), ..finding }
}
