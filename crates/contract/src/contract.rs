//! The contract of a step: what it has to prove, from workflow, class and policy together.

use proofmark_evidence::{EvidenceStatus, ListedReviewer, LogPolicy, Roles};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Sha256Digest, object};
use thiserror::Error;

use crate::class::Class;
use crate::lint;
use crate::policy::{self, DemandKind, Demands, Exemption, WorkflowPolicy};
use crate::tools::ToolClasses;
use crate::workflow::{OnFailure, Step, Verification, Workflow};

/// What one step has to prove.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// The workflow's name.
    pub workflow: String,
    /// The step's id.
    pub step: String,
    pub agent: Option<String>,
    pub class: Class,
    pub verification: Verification,
    pub on_failure: OnFailure,
    /// The tools that workflow and policy classify.
    pub tools: ToolClasses,
    /// Who may approve its attempts, reopen it, and judge work for it: those whom the policy lists, or else the workflow.
    pub roles: Roles,
    /// The logs and witnesses by which a receipt counts as logged.
    pub log_policy: Option<LogPolicy>,
    /// Whether a mutating call that no rule lists rejects the attempt.
    pub no_other_mutations: bool,
    /// The status of evidence that at least one met rule must rest on.
    pub min_evidence: EvidenceStatus,
    /// The exemptions in force for the step.
    pub exemptions: Vec<Exemption>,
    pub demands: Demands,
}

/// Why a step has no contract to judge by.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContractError {
    #[error("the workflow has no such step")]
    UnknownStep {
        step: String,
        /// The ids of the workflow, or the first of them.
        known: Vec<String>,
    },
    #[error("it has no `verification` rule, so nothing could prove it")]
    NoVerification(String),
    /// The step breaks a demand, or one of its conditions cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Findings(Vec<lint::Finding>),
}

impl ContractError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownStep { known, .. } => Some(format!("the steps are `{}`", known.join("`, `"))),
            Self::NoVerification(_) => Some("add a rule under `verification`".to_owned()),
            Self::Findings(findings) => match findings.as_slice() {
                [finding] => Some(finding.help.clone()),
                several => {
                    let lines = several.iter().map(|finding| format!("`{}`: {}", finding.path, finding.help));
                    Some(lines.collect::<Vec<_>>().join("\n"))
                }
            },
        }
    }
}

impl Contract {
    /// The contract of a step at a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`ContractError`] when there is no such step, it has no rules, breaks a demand that no exemption lifts, is
    /// in the scope of an expired exemption, or has a condition that cannot be read.
    pub fn of(
        workflow: &Workflow,
        step: &str,
        policy: Option<&WorkflowPolicy>,
        now_ms: i64,
    ) -> Result<Self, ContractError> {
        let position = workflow.position(step).ok_or_else(|| unknown_step(workflow, step))?;
        let step = workflow.steps.get(position).ok_or_else(|| unknown_step(workflow, step))?;
        let verification = step.verification.as_ref().filter(|verification| verification.rules() > 0);
        // Also under an exemption from `requireVerification`: without a rule there is nothing to judge.
        let verification = verification.ok_or_else(|| ContractError::NoVerification(step.id.clone()))?;
        let findings = lint::blocking_findings(workflow, position, policy, now_ms);
        if !findings.is_empty() {
            return Err(ContractError::Findings(findings));
        }
        Ok(resolve(workflow, step, verification, policy, now_ms))
    }

    /// The contract as one document: what its digest is taken of.
    pub fn to_json(&self) -> Json {
        object! {
            "workflow": self.workflow.as_str(),
            "step": self.step.as_str(),
            "agent"?: self.agent.as_deref(),
            "class": self.class.as_str(),
            "verification": self.verification.document.clone(),
            "onFailure": self.on_failure.to_json(),
            "tools": self.tools.to_json(),
            // Where they count as evidence: who may approve or judge, and whose log counts, is part of what is demanded.
            "reviewers"?: self.asks_people().then(|| self.roles.reviewers.iter().map(ListedReviewer::to_json).collect::<Vec<_>>()),
            "logPolicy"?: self.log_policy.as_ref().filter(|_| self.asks_logs()).map(LogPolicy::text),
            "noOtherMutations": self.no_other_mutations,
            "minEvidence": self.min_evidence.as_str(),
            "demands": self.demands.to_json(),
            // Part of the digest, so that a step accepted under an exemption does not pass as one accepted without it.
            "exemptions": self.exemptions.iter().map(Exemption::to_json).collect::<Vec<_>>(),
        }
        .into()
    }

    /// Whether people have to approve its attempts, or to judge work.
    fn asks_people(&self) -> bool {
        let receipts = &self.verification.receipts;
        !self.verification.approvals.is_empty() || receipts.iter().any(|rule| rule.demand.judgment.is_some())
    }

    /// Whether a receipt has to be in a log.
    fn asks_logs(&self) -> bool {
        self.verification.receipts.iter().any(|rule| rule.demand.logged.is_some())
    }

    /// SHA-256 of the contract in canonical form.
    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of(&self.to_json().canonical_vrf())
    }
}

fn resolve(
    workflow: &Workflow,
    step: &Step,
    verification: &Verification,
    policy: Option<&WorkflowPolicy>,
    now_ms: i64,
) -> Contract {
    let class = policy.map_or_else(|| workflow.class_of(step), |policy| policy.class_of(workflow, step));
    let demands = policy.map_or_else(|| Demands::of_class(class), |policy| policy.demands_on(workflow, step));
    let lifted =
        |demand: DemandKind| policy.is_some_and(|policy| policy::lifts(policy, workflow, step, demand, now_ms));
    let demanded = demands.no_other_mutations && !lifted(DemandKind::NoOtherMutations);
    // A `false` against a demand in force never gets here: `blocking_findings` reports it.
    let written = verification.no_other_mutations.unwrap_or(class == Class::Mutating);
    Contract {
        workflow: workflow.name.clone(),
        step: step.id.clone(),
        agent: step.agent.clone(),
        class,
        verification: verification.clone(),
        on_failure: workflow.on_failure_of(step).cloned().unwrap_or_default(),
        tools: policy.map_or_else(|| workflow.tools.clone(), |policy| workflow.tools.and(&policy.tools)),
        roles: Roles { reviewers: policy::reviewers(workflow, policy).to_vec() },
        log_policy: workflow.log_policy.clone(),
        no_other_mutations: written || demanded,
        min_evidence: if lifted(DemandKind::MinEvidence) { EvidenceStatus::Absent } else { demands.min_evidence },
        exemptions: policy
            .map(|policy| -> Vec<Exemption> {
                let all = policy.exemptions_for(workflow, step).map(|(_, exemption)| exemption);
                all.filter(|exemption| !exemption.is_expired(now_ms)).cloned().collect()
            })
            .unwrap_or_default(),
        demands,
    }
}

fn unknown_step(workflow: &Workflow, step: &str) -> ContractError {
    const MAX_SHOWN: usize = 20;
    let known = workflow.steps.iter().take(MAX_SHOWN).map(|step| shown(&step.id)).collect();
    ContractError::UnknownStep { step: shown(step), known }
}
