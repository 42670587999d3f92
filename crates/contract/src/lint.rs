//! What is wrong with a workflow or a policy, before it runs.

mod graph;
mod order;
mod references;
mod rules;
mod step;

use std::fmt;

use crate::policy::{self, Exemption, WorkflowPolicy};
use crate::workflow::Workflow;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is, for programs; stable.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Which document it is in.
    pub document: Document,
    /// Where, as in `steps[0].verification.evidence[1]`; `locate` turns it into a line and column.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub mend: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It cannot run, or not safely.
    Error,
    /// It runs, but hardly as it is meant.
    Warning,
}

/// Which document a finding is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The workflow.
    Workflow,
    Policy,
}

/// What lint says of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What is wrong, in the order of the document.
    pub findings: Vec<Finding>,
    /// The exemptions in force that touch it.
    pub exemptions: Vec<Touched>,
}

/// A step and an exemption in force for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    /// The step's id.
    pub step: String,
    /// The exemption.
    pub exemption: Exemption,
}

impl Severity {
    /// The word: `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Document {
    /// The word: `workflow` or `policy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Policy => "policy",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; {} ({})", self.path, self.message, self.mend, self.code)
    }
}

impl Finding {
    pub(crate) fn error(code: &'static str, path: String, message: String, mend: String) -> Self {
        Self { code, severity: Severity::Error, document: Document::Workflow, path, message, mend }
    }

    fn warning(code: &'static str, path: String, message: String, mend: &str) -> Self {
        let mend = mend.to_owned();
        Self { code, severity: Severity::Warning, document: Document::Workflow, path, message, mend }
    }

    fn in_policy(self) -> Self {
        Self { document: Document::Policy, ..self }
    }
}

/// Everything that is wrong with a workflow under a policy at a time, in milliseconds since 1970.
///
/// What is wrong with the policy itself is [`lint_policy`]'s.
pub fn lint(workflow: &Workflow, policy: Option<&WorkflowPolicy>, now_ms: i64) -> Report {
    let mut findings = tool_classes(&workflow.tools);
    findings.extend(graph::findings(workflow));
    findings.extend(references::findings(workflow));
    for position in 0..workflow.steps.len() {
        let violations = policy::violations(workflow, position, policy, now_ms);
        findings.extend(violations.into_iter().map(Finding::from));
        findings.extend(step::findings(workflow, position, policy));
    }
    Report { findings, exemptions: policy.map(|policy| touched(workflow, policy, now_ms)).unwrap_or_default() }
}

/// Everything that is wrong with a policy, given the workflows it is for.
pub fn lint_policy(policy: &WorkflowPolicy, workflows: &[Workflow], now_ms: i64) -> Vec<Finding> {
    let mut findings: Vec<_> = tool_classes(&policy.tools).into_iter().map(Finding::in_policy).collect();
    let covered = |index: usize| {
        workflows.iter().any(|workflow| {
            workflow.steps.iter().any(|step| policy.exemptions_for(workflow, step).any(|(place, _)| place == index))
        })
    };
    for (index, exemption) in policy.exemptions.iter().enumerate() {
        if exemption.is_expired(now_ms) {
            findings.push(expired(index, exemption));
        } else if !workflows.is_empty() && !covered(index) {
            let message = "the exemption is for no step of these workflows".to_owned();
            let path = format!("exemptions[{index}].scope");
            findings
                .push(Finding::warning("exemption-unused", path, message, "remove it, or mend its scope").in_policy());
        }
    }
    findings
}

/// What keeps a step from being judged: broken demands, conditions that cannot be read, exemptions that ended.
pub(crate) fn hindrances(
    workflow: &Workflow,
    position: usize,
    policy: Option<&WorkflowPolicy>,
    now_ms: i64,
) -> Vec<Finding> {
    let mut findings: Vec<_> =
        policy::violations(workflow, position, policy, now_ms).into_iter().map(Finding::from).collect();
    findings.extend(step::unreadable_conditions(workflow, position));
    if let (Some(policy), Some(step)) = (policy, workflow.steps.get(position)) {
        let ended = policy.exemptions_for(workflow, step).filter(|(_, exemption)| exemption.is_expired(now_ms));
        findings.extend(ended.map(|(index, exemption)| expired(index, exemption)));
    }
    findings
}

fn touched(workflow: &Workflow, policy: &WorkflowPolicy, now_ms: i64) -> Vec<Touched> {
    let mut all = Vec::new();
    for step in &workflow.steps {
        let in_force = policy.exemptions_for(workflow, step).filter(|(_, exemption)| !exemption.is_expired(now_ms));
        all.extend(in_force.map(|(_, exemption)| Touched { step: step.id.clone(), exemption: exemption.clone() }));
    }
    all
}

fn expired(index: usize, exemption: &Exemption) -> Finding {
    let message = format!("the exemption from `{}` ended on {}", exemption.requirement.as_str(), exemption.expires);
    let mend = "remove it, or have it approved anew with another end".to_owned();
    Finding::error("exemption-expired", format!("exemptions[{index}].expires"), message, mend).in_policy()
}

fn tool_classes(tools: &crate::ToolClasses) -> Vec<Finding> {
    let both = tools
        .readonly
        .iter()
        .enumerate()
        .filter(|(_, name)| tools.mutating.iter().any(|pattern| proofmark_evidence::glob::covers(pattern, name)));
    let findings = both.map(|(index, name)| {
        let message = format!("`{name}` is mutating too, and mutating it counts as");
        Finding::warning(
            "tool-class-conflict",
            format!("tools.readonly[{index}]"),
            message,
            "leave it out of one of the two lists",
        )
    });
    findings.collect()
}
