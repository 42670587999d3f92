//! Policies and decisions in words, for people.

use std::fmt::Write;

use proofmark_evidence::{Accepts, ApprovalDemand, Comparison, Scopes, SignerDemand, span};
use proofmark_receipt::document::counted;

use crate::change::more_words;
use crate::decide::Decision;
use crate::evidence::EvidenceItem;
use crate::judge::{RuleFinding, RuleStatus, call_words};
use crate::policy::{ActionPolicy, Boundary, Demand, Limit, Mode, OriginDemand, ReceiptRule, Unmatched};
use crate::rule_ref::RuleKind;

/// A boundary in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryWords {
    pub id: String,
    /// Which actions it matches.
    pub matches: String,
    /// The condition under which it applies, as written.
    pub when: Option<String>,
    /// In the order of the policy.
    pub rules: Vec<RuleWords>,
}

/// A rule in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWords {
    /// Its place in the policy, as in `boundaries[0].require[1]`.
    pub place: String,
    /// As in `requires 1 approval as finance; else human_review`.
    pub words: String,
}

/// A policy in words: what each boundary matches and requires, and what follows for unmatched actions.
#[must_use]
pub fn explain_policy(policy: &ActionPolicy) -> String {
    let mut text = String::new();
    let (boundaries, rest) = explain_boundaries(policy);
    for boundary in boundaries {
        line(&mut text, 0, &format!("{}: {}", boundary.id, boundary.matches));
        if let Some(when) = &boundary.when {
            line(&mut text, 1, &format!("when `{when}`"));
        }
        boundary.rules.iter().for_each(|rule| line(&mut text, 1, &rule.words));
    }
    for (depth, words) in rest {
        line(&mut text, depth, &words);
    }
    text
}

/// The boundaries of a policy in words, and what holds for the whole policy, a line each with how far it is indented.
#[must_use]
pub fn explain_boundaries(policy: &ActionPolicy) -> (Vec<BoundaryWords>, Vec<(usize, String)>) {
    let boundaries = policy.boundaries.iter().map(|boundary| explain_boundary(policy, boundary)).collect();
    let rest = match policy.unmatched {
        Unmatched::Block(otherwise) => format!("is blocked: {}", otherwise.as_str()),
        Unmatched::AllowExempted => "is allowed with a warning while an exemption is in force".to_owned(),
    };
    let mut lines = vec![(0, format!("An action that no boundary matches {rest}."))];
    for exemption in &policy.exemptions {
        let words = format!(
            "{}: {} until {}, by {}: {}",
            exemption.at,
            exemption.matcher.shown(),
            exemption.expires,
            exemption.approver,
            exemption.reason
        );
        lines.push((1, words));
    }
    let repeat = policy.repeat;
    lines.push((0, format!("At denial {} of the same action: {}.", repeat.limit, repeat.then.as_str())));
    lines.extend(policy.results.iter().map(|rule| (0, rule.shown())));
    lines.extend(policy.origins.iter().map(|rule| (0, rule.shown())));
    if !policy.clean.is_empty() {
        lines.push((
            0,
            format!(
                "After results that are only {}, a session counts as one that has read nothing.",
                policy.clean.join(" or ")
            ),
        ));
    }
    if policy.mode == Mode::Shadow {
        lines.push((0, "Shadow mode: what would be blocked is allowed with a warning.".to_owned()));
    }
    (boundaries, lines)
}

/// A decision in words: every rule of the policy, whether it was judged, and why.
#[must_use]
pub fn explain_decision(policy: &ActionPolicy, decision: &Decision) -> String {
    let mut text = String::new();
    for boundary in &policy.boundaries {
        let own: Vec<_> = decision.findings().iter().filter(|finding| finding.boundary == boundary.id).collect();
        let about = match own.first() {
            None => format!("does not match ({})", boundary.matcher.shown()),
            Some(finding) => match finding.status {
                RuleStatus::NotApplicable => "matches, but its `when` is false".to_owned(),
                RuleStatus::Unknown if own.len() == 1 => "may apply".to_owned(),
                RuleStatus::Holds | RuleStatus::Fails | RuleStatus::Unknown => "applies".to_owned(),
            },
        };
        line(&mut text, 0, &format!("{}: {about}", boundary.id));
        own.iter().for_each(|finding| explain_finding(&mut text, policy, finding));
    }
    let whole = decision.findings().iter().filter(|finding| finding.boundary.is_empty());
    whole.for_each(|finding| explain_finding(&mut text, policy, finding));
    text
}

fn explain_boundary(policy: &ActionPolicy, boundary: &Boundary) -> BoundaryWords {
    let at = &boundary.at;
    let denials = boundary.deny.iter().enumerate().map(|(index, rule)| {
        let unless =
            rule.unless.as_ref().map_or(String::new(), |demand| format!(", unless {}", approval(policy, demand)));
        let otherwise = rule.otherwise.as_str();
        let demand = rule.origin.as_ref().map(OriginDemand::shown).or_else(|| rule.limit.as_ref().map(Limit::shown));
        match demand {
            // It stands among the requirements.
            Some(demand) => {
                RuleWords { place: rule.at.to_string(), words: format!("requires {demand}{unless}; else {otherwise}") }
            }
            None => RuleWords {
                place: format!("{at}.deny[{index}]"),
                words: format!("denied if `{}`{unless}: {otherwise}", rule.when.source()),
            },
        }
    });
    let requirements = boundary.require.iter().enumerate().map(|(index, rule)| {
        let demand = match &rule.demand {
            Demand::Fact(condition) => format!("`{}`", condition.source()),
            Demand::Receipt(rule) => receipt(rule),
            Demand::Approval(demand) => approval(policy, demand),
            Demand::ToolCall(demand) => format!("a {}", call_words(demand)),
        };
        let words = format!("requires {demand}; else {}", rule.otherwise.as_str());
        RuleWords { place: format!("{at}.require[{index}]"), words }
    });
    let warnings = boundary.warn.iter().enumerate().map(|(index, rule)| {
        let words = format!("warns if `{}`", rule.when.source());
        RuleWords { place: format!("{at}.warn[{index}]"), words }
    });
    BoundaryWords {
        id: boundary.id.to_string(),
        matches: boundary.matcher.shown(),
        when: boundary.when.as_ref().map(|when| when.source().to_owned()),
        rules: denials.chain(requirements).chain(warnings).collect(),
    }
}

fn receipt(rule: &ReceiptRule) -> String {
    let demand = &rule.demand;
    let held_to = match (&demand.accepts, &rule.specification) {
        (Accepts::Suite(suite), _) => format!("of the suite {suite}"),
        (_, Some(specification)) => format!("for the specification {}", specification.source()),
        (Accepts::Specification | Accepts::AnySuite, None) => "of any suite".to_owned(),
    };
    let signer = match &demand.signer {
        SignerDemand::Any if demand.judgment.is_some() => "who has the role".to_owned(),
        SignerDemand::Any if demand.quorum.is_some() => "anybody who collects it".to_owned(),
        SignerDemand::Trusted => "a trusted signer".to_owned(),
        SignerDemand::Any => "any signer".to_owned(),
        SignerDemand::Keys(keys) => keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
    };
    let mut words = format!(
        "a `{}` {} receipt over {}, {held_to}, signed by {signer}{}",
        demand.verdict,
        demand.kind.as_str(),
        rule.output.source(),
        demand.tier_words().map_or_else(String::new, |tiers| format!(", {tiers}")),
    );
    if let Some(tests) = demand.tests {
        words.push_str(&format!(", with the tests {tests}"));
    }
    if let Some(from) = &demand.tests_from {
        words.push_str(&format!(", {from}"));
    }
    if demand.comparison == Comparison::InProcess {
        words.push_str(", also one whose answers were compared in the submission's process");
    }
    if let Some(strength) = demand.strength {
        words.push_str(&format!(", with a strength of at least {strength}"));
    }
    if let Some(share) = demand.counter_run {
        words.push_str(&format!(", {}", share.contradicted()));
    }
    if let Some(environment) = demand.environment {
        words.push_str(&format!(", {environment}"));
    }
    words.push_str(&match demand.max_age_millis {
        Some(millis) => format!(", not older than {}", span::words(millis)),
        None => ", of any age".to_owned(),
    });
    for more in more_words(demand) {
        words.push_str(&format!(", {more}"));
    }
    words.push_str(if demand.single_use { ", and counts once" } else { ", and counts any number of times" });
    words
}

fn approval(policy: &ActionPolicy, demand: &ApprovalDemand) -> String {
    let distinct = if demand.count > 1 && demand.distinct { " by different reviewers" } else { "" };
    let bound = match (demand.binds.environment, demand.binds.agent) {
        (true, true) => "",
        (true, false) => ", for any agent",
        (false, true) => ", in any environment",
        (false, false) => ", for any agent in any environment",
    };
    let holders = policy.holders(&demand.role);
    let with = if demand.binds.passkey { " with a passkey" } else { "" };
    let who = if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") };
    let count = counted(demand.count as u64, "approval");
    format!("{count} as {}{with}{distinct}{bound}{} (held by {who})", demand.role, scopes(demand.scopes))
}

/// What an approval may reach beyond one action.
fn scopes(scopes: Scopes) -> String {
    let reach = match (scopes.session, scopes.pattern) {
        (false, false) => return String::new(),
        (true, false) => "a session",
        (false, true) => "a pattern of arguments",
        (true, true) => "a session or a pattern of arguments",
    };
    format!(", also for {reach}, for {} at most", span::words(scopes.longest_millis))
}

fn explain_finding(text: &mut String, policy: &ActionPolicy, finding: &RuleFinding) {
    // The line of the boundary says whether it applies.
    if matches!(finding.source.kind, RuleKind::Match | RuleKind::When) && finding.reason.is_none() {
        finding.evidence.iter().for_each(|item| line(text, 1, &explain_item(item)));
        return;
    }
    line(text, 1, &format!("{} {}", policy.rule_name(&finding.rule), status_words(finding)));
    if let Some(reason) = &finding.reason {
        let detail = reason.detail.as_ref().map_or(String::new(), |detail| format!(" {detail}"));
        line(text, 2, &format!("{}: {}{detail}", reason.code, reason.message));
    }
    for item in &finding.evidence {
        line(text, 2, &explain_item(item));
    }
}

/// What the status of a rule means for the action.
fn status_words(finding: &RuleFinding) -> &'static str {
    match (finding.source.kind, finding.status) {
        (RuleKind::Deny, RuleStatus::Holds) if finding.reason.is_some() => "is lifted by an approval",
        (RuleKind::Deny | RuleKind::Warn, RuleStatus::Holds) => "does not apply",
        (RuleKind::Deny, RuleStatus::Fails) => "denies the action",
        (RuleKind::Warn, RuleStatus::Fails) => "warns",
        (RuleKind::Require, RuleStatus::Holds) => "is met",
        (RuleKind::Require, RuleStatus::Fails) => "is not met",
        (_, RuleStatus::Unknown) => "is unknown",
        (_, RuleStatus::NotApplicable) => "does not apply",
        (_, RuleStatus::Fails) => "blocks the action",
        (_, RuleStatus::Holds) => "applies",
    }
}

fn explain_item(item: &EvidenceItem) -> String {
    let status = item.status().as_str();
    match item {
        EvidenceItem::Fact { predicate, truth, missing, .. } if missing.is_empty() => {
            format!("[{status}] `{predicate}` is {truth}")
        }
        EvidenceItem::Fact { predicate, missing, .. } => format!("[{status}] `{predicate}`: {}", missing.join(", ")),
        EvidenceItem::Document { document, refusal: None, .. } => format!("[{status}] {} counts", document.receipt_id),
        EvidenceItem::Document { document, refusal: Some(refusal), .. } => {
            format!("[{status}] {} {}", document.receipt_id, refusal.words())
        }
        EvidenceItem::NoDocument { role: Some(role), .. } => format!("[{status}] no approval as {role}"),
        EvidenceItem::NoDocument { role: None, .. } => format!("[{status}] no receipt"),
        // Calls are counted from 1, as people count.
        EvidenceItem::ToolCall { tool, index: Some(index), .. } => {
            format!("[{status}] call {} is of {tool}", index.saturating_add(1))
        }
        EvidenceItem::ToolCall { tool, index: None, .. } => format!("[{status}] no call of {tool}"),
    }
}

fn line(text: &mut String, depth: usize, words: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}{words}", "  ".repeat(depth));
}
