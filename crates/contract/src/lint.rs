//! What is wrong with a workflow or a workflow policy, before it runs.

mod approvals;
mod finding;
mod graph;
mod meaning;
mod order;
mod references;
mod rules;
mod step;

pub use approvals::approvals_by;
pub use finding::{DocumentKind, Finding, Severity};
pub(crate) use graph::leading_to;

use proofmark_evidence::AcceptedWarnings;
use proofmark_receipt::glob;

use crate::policy::{self, Exemption, WorkflowPolicy};
use crate::tools::{ToolClasses, ToolGlob};
use crate::workflow::Workflow;

/// What lint reports about a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// The steps under an exemption in force.
    pub exemptions: Vec<ExemptedStep>,
}

/// A step and an exemption in force for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExemptedStep {
    /// The step's id.
    pub step: String,
    pub exemption: Exemption,
}

/// Everything that is wrong with a workflow under a policy at a time, in milliseconds since 1970. [`lint_policy`] finds
/// what is wrong with the policy itself.
pub fn lint(workflow: &Workflow, policy: Option<&WorkflowPolicy>, now_ms: i64) -> Report {
    let rules = || workflow.steps.iter().flat_map(|step| step.verification.iter()).flat_map(|one| &one.tool_calls);
    let mut findings = tool_classes(&workflow.tools, rules().any(|rule| rule.from.names_server()));
    findings.extend(harmless(&workflow.tools));
    findings.extend(graph::findings(workflow));
    findings.extend(references::findings(workflow));
    for position in 0..workflow.steps.len() {
        let violations = policy::violations(workflow, position, policy, now_ms);
        findings.extend(violations.into_iter().map(Finding::from));
        findings.extend(step::findings(workflow, position, policy));
    }
    let findings = without_accepted(findings, &workflow.accepted);
    let exemptions = policy.map(|policy| exempted_steps(workflow, policy, now_ms)).unwrap_or_default();
    Report { findings, exemptions }
}

/// Everything that is wrong with a policy, given the workflows it is for.
pub fn lint_policy(policy: &WorkflowPolicy, workflows: &[Workflow], now_ms: i64) -> Vec<Finding> {
    let mut findings: Vec<_> = tool_classes(&policy.tools, false);
    findings.extend(everywhere(policy));
    findings.extend(harmless(&policy.tools));
    findings = findings.into_iter().map(Finding::in_policy).collect();
    let covers_a_step = |index: usize| {
        workflows.iter().any(|workflow| {
            workflow.steps.iter().any(|step| policy.exemptions_for(workflow, step).any(|(place, _)| place == index))
        })
    };
    for (index, exemption) in policy.exemptions.iter().enumerate() {
        if exemption.is_expired(now_ms) {
            findings.push(expired(index, exemption));
        } else if !workflows.is_empty() && !covers_a_step(index) {
            // Not reached without workflows: then nothing shows that the exemption is unused.
            let message = "the exemption covers no step of these workflows".to_owned();
            let path = format!("exemptions[{index}].scope");
            findings
                .push(Finding::warning("exemption-unused", path, message, "remove it, or fix its scope").in_policy());
        }
    }
    without_accepted(findings, &policy.accepted).into_iter().map(Finding::in_policy).collect()
}

/// The findings without the warnings that the author means, and with the names that nothing has.
fn without_accepted(findings: Vec<Finding>, accepted: &AcceptedWarnings) -> Vec<Finding> {
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    let needless = accepted.needless(&found).into_iter().map(|(at, code)| {
        let message = format!("nothing here has the warning `{code}`");
        Finding::warning("needless-allow", at, message, "remove the name, so that a later mistake is shown")
    });
    let needless: Vec<_> = needless.collect();
    let is_meant =
        |finding: &Finding| finding.severity == Severity::Warning && accepted.has(finding.code, &finding.path);
    findings.into_iter().filter(|finding| !is_meant(finding)).chain(needless).collect()
}

/// The findings for which a step cannot be judged: broken demands, conditions that cannot be read, expired exemptions.
pub(crate) fn blocking_findings(
    workflow: &Workflow,
    position: usize,
    policy: Option<&WorkflowPolicy>,
    now_ms: i64,
) -> Vec<Finding> {
    let violations = policy::violations(workflow, position, policy, now_ms);
    let mut findings: Vec<_> = violations.into_iter().map(Finding::from).collect();
    findings.extend(step::unreadable_conditions(workflow, position));
    // An expired exemption blocks the step even if it keeps the demand, until somebody removes or renews it.
    if let (Some(policy), Some(step)) = (policy, workflow.steps.get(position)) {
        let expired_ones = policy.exemptions_for(workflow, step).filter(|(_, exemption)| exemption.is_expired(now_ms));
        findings.extend(expired_ones.map(|(index, exemption)| expired(index, exemption)));
    }
    findings
}

fn exempted_steps(workflow: &Workflow, policy: &WorkflowPolicy, now_ms: i64) -> Vec<ExemptedStep> {
    let mut all = Vec::new();
    for step in &workflow.steps {
        let in_force = policy.exemptions_for(workflow, step).filter(|(_, exemption)| !exemption.is_expired(now_ms));
        all.extend(in_force.map(|(_, exemption)| ExemptedStep { step: step.id.clone(), exemption: exemption.clone() }));
    }
    all
}

fn expired(index: usize, exemption: &Exemption) -> Finding {
    let message = format!("the exemption from `{}` expired on {}", exemption.requirement.as_str(), exemption.expires);
    let help = "remove it, or have it approved again with another end";
    Finding::error("exemption-expired", format!("exemptions[{index}].expires"), message, help).in_policy()
}

/// Exemptions whose scope names everything by `*`.
fn everywhere(policy: &WorkflowPolicy) -> Vec<Finding> {
    let is_all = |name: &Option<String>| name.as_ref().is_none_or(|glob| glob.bytes().all(|byte| byte == b'*'));
    let wide = policy.exemptions.iter().enumerate().filter(|(_, exemption)| {
        is_all(&exemption.scope.workflow) && is_all(&exemption.scope.step) && is_all(&exemption.scope.agent)
    });
    let findings = wide.map(|(index, exemption)| {
        let message = format!("the exemption lifts `{}` from every step", exemption.requirement.as_str());
        let path = format!("exemptions[{index}].scope");
        Finding::warning("exempts-everything", path, message, "name a workflow, a step or an agent")
    });
    findings.collect()
}

/// Tools that run what their arguments say, and that a list calls readonly.
fn harmless(tools: &ToolClasses) -> Vec<Finding> {
    const RUNNERS: [&str; 8] =
        ["bash", "shell", "run_command", "execute_code", "python", "write_file", "edit_file", "call_tool"];
    let is_mutating = |tool: &str| tools.mutating.iter().any(|entry| glob::matches(&entry.name, tool));
    let wide = tools.readonly.iter().enumerate().filter_map(|(index, entry)| {
        let name = &entry.name;
        let runner = RUNNERS.into_iter().find(|tool| glob::matches(name, tool) && !is_mutating(tool))?;
        let message = format!("`{name}` also names `{runner}`, whose calls would count as if they changed nothing");
        let help = "name the tools that only read, or list this one under `mutating`";
        Some(Finding::warning("weak-readonly", format!("tools.readonly[{index}]"), message, help))
    });
    wide.collect()
}

/// `names_server` says whether a rule beside these lists names the server of a tool.
fn tool_classes(tools: &ToolClasses, names_server: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names_server = names_server || tools.name_server();
    for (index, entry) in tools.readonly.iter().enumerate() {
        let path = format!("tools.readonly[{index}]");
        let also = |other: &&ToolGlob| {
            glob::covers(&other.name, &entry.name) && (other.from.is_empty() || other.from == entry.from)
        };
        if tools.mutating.iter().any(|other| also(&other)) {
            let message = format!("`{}` is also listed as mutating, which takes precedence", entry.name);
            let help = "leave it out of one of the two lists";
            findings.push(Finding::warning("tool-class-conflict", path.clone(), message, help));
        }
        if names_server && !entry.names_server() && !entry.names_host() {
            let message = format!(
                "`{}` of any server counts as readonly, and servers choose how their tools are called",
                entry.name
            );
            let help = "write `{name: …, server: …}`, or `surface: host`";
            findings.push(Finding::warning("call-of-any-server", path, message, help));
        }
    }
    findings
}
