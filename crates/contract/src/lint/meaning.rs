//! Rules of a step that prove less than they seem to.

use proofmark_evidence::{Condition, Path, Use, doubts};
use proofmark_predicate::meaning::{Claim, is_possible};
use proofmark_predicate::tree::Expression;
use proofmark_receipt::document::{nearest, shown};
use proofmark_receipt::glob;
use proofmark_receipt::{Json, Verdict};

use super::finding::Finding;
use crate::class::Class;
use crate::expect::Expect;
use crate::workflow::{
    Binding, Branch, CountedStatus, EvidenceRule, OnMissing, PartRule, ReceiptRule, ToolRule, Verification, When,
    Workflow,
};

/// Words of a payload by which an agent says that something is so. `present` also holds for `false`.
const CLAIMS: [&str; 14] = [
    "passed",
    "success",
    "succeeded",
    "ok",
    "done",
    "performed",
    "approved",
    "verified",
    "reviewed",
    "confirmed",
    "valid",
    "complete",
    "completed",
    "tested",
];

/// What is doubtful in the rules of a step of this class.
pub(super) fn findings(workflow: &Workflow, verification: &Verification, class: Class, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, rule) in verification.evidence.iter().enumerate() {
        findings.extend(of_evidence(rule, &format!("{at}.evidence[{index}]")));
    }
    findings.extend(exclusive(&verification.evidence, at));
    for (index, rule) in verification.tool_calls.iter().enumerate() {
        findings.extend(of_call(workflow, verification, rule, &format!("{at}.toolCalls[{index}]")));
    }
    for (index, rule) in verification.receipts.iter().enumerate() {
        findings.extend(of_receipt(verification, rule, &format!("{at}.receipts[{index}]")));
    }
    if class == Class::Readonly && verification.rules() > 0 {
        findings.extend(of_words(verification, at));
    }
    findings
}

fn doubtful(condition: &Condition, used: Use, at: &str) -> Vec<Finding> {
    let found = doubts(condition, used).into_iter();
    found.map(|doubt| Finding::warning(doubt.code, at.to_owned(), doubt.message, doubt.help)).collect()
}

fn of_evidence(rule: &EvidenceRule, at: &str) -> Vec<Finding> {
    let mut findings = expected(&rule.expect, Use::OfWords, &format!("{at}.expect"));
    let last = rule.path.text().rsplit('.').next().unwrap_or_default();
    if rule.expect == Expect::Present && CLAIMS.contains(&last.to_lowercase().as_str()) {
        let message = format!("`{}: false` meets this, too", shown(rule.path.text()));
        findings.push(Finding::warning("present-claim", format!("{at}.expect"), message, "write `expect: true`"));
    }
    findings
}

/// What is doubtful in what a value must be.
fn expected(expect: &Expect, used: Use, at: &str) -> Vec<Finding> {
    match expect {
        Expect::Predicate(condition) => doubtful(condition, used, &format!("{at}.predicate")),
        Expect::Equals(Json::String(text)) if matches!(text.as_str(), "true" | "false" | "yes" | "no" | "null") => {
            let message = format!("only the text `{text}` meets this, and not the value");
            vec![Finding::warning(
                "text-of-value",
                at.to_owned(),
                message,
                "write it without quotes, or say what the text is",
            )]
        }
        Expect::Equals(_) | Expect::Present | Expect::Absent => Vec::new(),
    }
}

fn tree(rule: &EvidenceRule) -> Option<Expression<'_>> {
    rule.expect.condition().and_then(Condition::predicate).map(|predicate| predicate.tree())
}

/// Rules about one place that no value meets together.
fn exclusive(rules: &[EvidenceRule], at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (second, two) in rules.iter().enumerate() {
        for one in rules.iter().take(second).filter(|one| one.path == two.path) {
            let (Some(one_tree), Some(two_tree)) = (tree(one), tree(two)) else { continue };
            let alone = |tree| is_possible(&[Claim::Truth(tree, true)], &[]);
            let both = [Claim::Truth(one_tree, true), Claim::Truth(two_tree, true)];
            if alone(one_tree) && alone(two_tree) && !is_possible(&both, &[]) {
                let message = format!("the rule contradicts `{}`: no value meets both", one.id);
                let path = format!("{at}.evidence[{second}]");
                findings.push(Finding::error("contradictory-rules", path, message, "remove one of the two"));
            }
        }
    }
    findings
}

fn of_call(workflow: &Workflow, verification: &Verification, rule: &ToolRule, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(when) = &rule.when
        // A condition without names is found as a rule without effect.
        && !when.names().is_empty()
    {
        findings.extend(doubtful(when, Use::Selects, &format!("{at}.when")));
    }
    for (name, parts, used) in [("args", &rule.args, Use::OfArgument), ("result", &rule.result, Use::OfWords)] {
        findings.extend(parts.iter().flat_map(|part| of_part(part, used, &format!("{at}.{name}"))));
    }
    if rule.count.min > 0 {
        if rule.name.bytes().all(|byte| byte == b'*') {
            let message = "a call of any tool meets the rule".to_owned();
            findings.push(Finding::warning("call-of-any-tool", format!("{at}.name"), message, "name the tool"));
        }
        if rule.status == CountedStatus::Any {
            let message = "a call that failed, was blocked or never ended meets the rule, too".to_owned();
            let help = "leave `status` out: only calls that succeeded count then";
            findings.push(Finding::warning("call-of-any-status", format!("{at}.status"), message, help));
        }
    }
    findings.extend(misspelled(workflow, verification, rule, &format!("{at}.name")));
    findings
}

fn of_part(part: &PartRule, used: Use, at: &str) -> Vec<Finding> {
    expected(&part.expect, used, &format!("{at}.{}.expect", part.path.text()))
}

/// A tool that no list names, whose name is nearly one that is known.
fn misspelled(workflow: &Workflow, verification: &Verification, rule: &ToolRule, at: &str) -> Option<Finding> {
    let listed = || workflow.tools.mutating.iter().chain(&workflow.tools.readonly).map(|entry| &entry.name);
    let is_named = |name: &str| listed().any(|listed| glob::matches(listed, name));
    if rule.name.contains(['*', '?']) || is_named(&rule.name) {
        return None;
    }
    let others =
        workflow.steps.iter().filter_map(|step| step.verification.as_ref()).flat_map(|other| &other.tool_calls);
    let own = verification.tool_calls.iter();
    let named = others.chain(own).map(|other| &other.name).filter(|name| is_named(name));
    let known: Vec<&str> = listed().chain(named).map(String::as_str).filter(|name| *name != rule.name).collect();
    let near = nearest(&rule.name, &known).filter(|near| !near.contains(['*', '?']))?;
    let message = format!("no list under `tools` names `{}`, and one names `{near}`", shown(&rule.name));
    Some(Finding::warning("unlisted-tool", at.to_owned(), message, "correct the name, or list the tool under `tools`"))
}

fn of_receipt(verification: &Verification, rule: &ReceiptRule, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut warn = |code, field: &str, message: String, help: &str| {
        findings.push(Finding::warning(code, format!("{at}.{field}"), message, help));
    };
    if rule.demand.is_of_anybody() {
        let message = "a receipt that the agent signed itself counts".to_owned();
        warn("any-signer", "signer", message, "leave `signer` out: it is then `trusted`");
    }
    if rule.demand.verdict != Verdict::Pass {
        let message = format!("the rule is met by a receipt that says `{}`", rule.demand.verdict.as_str());
        warn("verdict-not-pass", "verdict", message, "leave `verdict` out: it is then `pass`");
    }
    if let Some(Binding::Payload(path)) = &rule.output
        && let Some(near) = unnamed(verification, path)
    {
        let message = format!("no evidence of the step names `{}`, and one names `{near}`", shown(path.text()));
        warn("unnamed-payload", "output", message, "correct the path, or add an `evidence` rule for it");
    }
    findings
}

/// The place of the payload that evidence names and this one nearly is.
fn unnamed<'v>(verification: &'v Verification, path: &Path) -> Option<&'v str> {
    let named: Vec<&str> = verification.evidence.iter().map(|rule| rule.path.text()).collect();
    let is_named = verification.evidence.iter().any(|rule| path.is_within(&rule.path) || rule.path.is_within(path));
    if is_named { None } else { nearest(path.text(), &named) }
}

/// A step that nothing but the agent's own words proves.
fn of_words(verification: &Verification, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let asks_for_calls = verification.tool_calls.iter().any(|rule| rule.count.min > 0);
    let asks_others = asks_for_calls || !verification.receipts.is_empty() || !verification.approvals.is_empty();
    if !verification.evidence.is_empty() && !asks_others {
        let message = "the agent's own words alone meet all rules of the step".to_owned();
        let help = "add a rule under `toolCalls` or `receipts`; if it is meant, write `lint: {allow: [self-stated]}` in the step";
        findings.push(Finding::warning("self-stated", format!("{at}.evidence"), message, help));
    }
    if verification.on_missing == OnMissing::Warn {
        let message = "the step is accepted whatever its rules find".to_owned();
        let help = "write `reject-and-retry` or `reject-and-abort`";
        findings.push(Finding::warning("never-rejects", format!("{at}.onMissingEvidence"), message, help));
    }
    findings
}

/// What is doubtful in a list of next steps.
pub(super) fn of_branches(branches: &[Branch], at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before: Vec<Claim<'_>> = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        let When::Condition(condition) = &branch.when else { continue };
        let at = format!("{at}[{index}]");
        let own = doubtful(condition, Use::Selects, &format!("{at}.when"));
        let Some(predicate) = condition.predicate() else { continue };
        let mut claims = before.clone();
        claims.push(Claim::Truth(predicate.tree(), true));
        if own.is_empty() && !is_possible(&claims, &[]) {
            let message = "this branch is never taken: where its condition holds, one before it does".to_owned();
            findings.push(Finding::warning("dead-branch", at, message, "move it up, or correct its condition"));
        }
        findings.extend(own);
        before.push(Claim::Truth(predicate.tree(), false));
    }
    findings
}
