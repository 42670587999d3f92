//! Whether the rules of a step can work as intended.

use proofmark_evidence::Condition;
use proofmark_predicate::CompileError;

use super::finding::Finding;
use super::{approvals, graph, meaning, order, rules};
use crate::class::Class;
use crate::policy::{WorkflowPolicy, reviewers};
use crate::workflow::{Action, Binding, Next, OnMissing, PartRule, Step, Strategy, Verification, When, Workflow};

pub(super) fn findings(workflow: &Workflow, position: usize, policy: Option<&WorkflowPolicy>) -> Vec<Finding> {
    let mut findings = unreadable_conditions(workflow, position);
    let Some(step) = workflow.steps.get(position) else {
        return findings;
    };
    let at = format!("steps[{position}]");
    if let Next::Branches(branches) = &step.next {
        findings.extend(meaning::of_branches(branches, &format!("{at}.{}", graph::next_name(workflow, position))));
    }
    let Some(verification) = &step.verification else {
        return findings;
    };
    let class = policy.map_or_else(|| workflow.class_of(step), |policy| policy.class_of(workflow, step));
    // In a mutating step this is the error `verification-required`.
    if verification.rules() == 0 && class == Class::Readonly {
        let message = format!("step `{}` has no rule that could prove it", step.id);
        findings.push(Finding::warning("no-rules", format!("{at}.verification"), message, "add a rule"));
    }
    findings.extend(retry_findings(workflow, step, verification, &at));
    let at = format!("{at}.verification");
    findings.extend(rules::findings(verification, &at));
    findings.extend(order::findings(verification, &at));
    findings.extend(meaning::findings(workflow, verification, class, &at));
    findings.extend(approvals::findings(verification, reviewers(workflow, policy), &at));
    findings.extend(class_findings(workflow, verification, class, &at));
    findings
}

/// The conditions and paths of a step that cannot be read.
pub(super) fn unreadable_conditions(workflow: &Workflow, position: usize) -> Vec<Finding> {
    let Some(step) = workflow.steps.get(position) else {
        return Vec::new();
    };
    let at = format!("steps[{position}]");
    let mut findings = Vec::new();
    let mut note = |path: String, fault: Option<&CompileError>| {
        let finding = fault.map(|fault| unreadable(path, fault));
        findings.extend(finding);
    };
    if let Next::Branches(branches) = &step.next {
        let name = graph::next_name(workflow, position);
        for (index, branch) in branches.iter().enumerate() {
            if let When::Condition(condition) = &branch.when {
                note(format!("{at}.{name}[{index}].when"), condition.fault());
            }
        }
    }
    if let Some(verification) = &step.verification {
        let at = format!("{at}.verification");
        conditions_of(verification, &at, &mut note);
    }
    findings
}

fn conditions_of(verification: &Verification, at: &str, note: &mut impl FnMut(String, Option<&CompileError>)) {
    for (index, rule) in verification.evidence.iter().enumerate() {
        let at = format!("{at}.evidence[{index}]");
        note(format!("{at}.path"), rule.path.fault());
        note(format!("{at}.expect.predicate"), rule.expect.condition().and_then(Condition::fault));
    }
    for (index, rule) in verification.tool_calls.iter().enumerate() {
        let at = format!("{at}.toolCalls[{index}]");
        note(format!("{at}.when"), rule.when.as_ref().and_then(Condition::fault));
        parts_of(&rule.args, &format!("{at}.args"), note);
        parts_of(&rule.result, &format!("{at}.result"), note);
    }
    for (index, rule) in verification.receipts.iter().enumerate() {
        if let Some(Binding::Payload(path)) = &rule.output {
            note(format!("{at}.receipts[{index}].output"), path.fault());
        }
    }
}

fn parts_of(parts: &[PartRule], at: &str, note: &mut impl FnMut(String, Option<&CompileError>)) {
    for part in parts {
        let at = format!("{at}.{}", part.path.text());
        note(at.clone(), part.path.fault());
        note(format!("{at}.expect.predicate"), part.expect.condition().and_then(Condition::fault));
    }
}

fn unreadable(path: String, fault: &CompileError) -> Finding {
    let message = format!("the condition cannot be read at column {}: {}", fault.column, fault.fault);
    let help = fault.help().unwrap_or_else(|| "fix the condition".to_owned());
    Finding::error("invalid-condition", path, message, &help)
}

fn retry_findings(workflow: &Workflow, step: &Step, verification: &Verification, at: &str) -> Vec<Finding> {
    match verification.on_missing {
        OnMissing::RejectAndRetry => missing_retry_metadata(workflow, step, verification, at),
        OnMissing::RejectAndAbort | OnMissing::Warn => needless_retry_metadata(step, verification, at),
    }
}

fn missing_retry_metadata(workflow: &Workflow, step: &Step, verification: &Verification, at: &str) -> Vec<Finding> {
    let code = "missing-retry-metadata";
    let mut findings = Vec::new();
    if verification.retry_prompt.is_none() {
        let message = format!("step `{}` is tried again without a prompt that says what to improve", step.id);
        findings.push(Finding::warning(code, format!("{at}.verification"), message, "write a `retryPrompt`"));
    }
    // Without a number of attempts there are three, as documented.
    let Some(on_failure) = workflow.on_failure_of(step) else { return findings };
    let place = if step.on_failure.is_some() { format!("{at}.onFailure") } else { at.to_owned() };
    if on_failure.max_attempts == 1 {
        let message = format!("step `{}` is to be tried again and has one attempt", step.id);
        findings.push(Finding::warning(
            "no-retry-left",
            place.clone(),
            message,
            "raise `maxAttempts`, or write `reject-and-abort`",
        ));
    }
    if on_failure.strategy != Strategy::Fixed && on_failure.initial_delay_ms == 0 {
        let message = format!("the delays of step `{}` grow from 0, so they stay 0", step.id);
        findings.push(Finding::warning(code, place, message, "write `initialDelayMs`"));
    }
    findings
}

fn needless_retry_metadata(step: &Step, verification: &Verification, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let word = verification.on_missing.as_str();
    if verification.retry_prompt.is_some() {
        let message = format!("the prompt is never used: with `{word}` step `{}` is not tried again", step.id);
        let path = format!("{at}.verification.retryPrompt");
        findings.push(Finding::warning("dead-retry-prompt", path, message, "remove it, or write `reject-and-retry`"));
    }
    let dead = step.on_failure.as_ref().is_some_and(|own| own.attempts_given || own.action != Action::Abort);
    if dead {
        let message = format!("`onFailure` is never used: with `{word}` step `{}` is not tried again", step.id);
        findings.push(Finding::warning(
            "dead-on-failure",
            format!("{at}.onFailure"),
            message,
            "remove it, or write `reject-and-retry`",
        ));
    }
    findings
}

fn class_findings(workflow: &Workflow, verification: &Verification, class: Class, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, _) in verification.receipts.iter().enumerate().filter(|(_, rule)| rule.output.is_none()) {
        let message = "the receipt is not bound to any bytes, so one about anything counts".to_owned();
        let help = "write `output`, the digest of what it is about, as in `output: payload.digest`";
        findings.push(Finding::warning("unbound-receipt", format!("{at}.receipts[{index}]"), message, help));
    }
    if class == Class::Mutating {
        return findings;
    }
    for (index, rule) in verification.tool_calls.iter().enumerate() {
        // Only tools that are declared mutating: one without a declaration counts as such, but may only read.
        let samples: Vec<_> = rule.from.samples().collect();
        let from = |member: &str| samples.iter().find(|(name, _)| *name == member).map(|(_, sample)| sample.as_str());
        if rule.count.min > 0 && workflow.tools.is_mutating(&rule.name, from) {
            let message = format!("the step is readonly and `{}` is mutating", rule.name);
            let help = "write `class: mutating`, or ask for another tool";
            findings.push(Finding::error(
                "readonly-step-mutates",
                format!("{at}.toolCalls[{index}].name"),
                message,
                help,
            ));
        }
    }
    findings
}
