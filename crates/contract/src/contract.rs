//! The contract of a step: what it has to prove, as workflow, class and policy together say.

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, Sha256Digest};
use thiserror::Error;

use crate::lint;
use crate::policy::{self, Demand, Demands, Exemption, Violation, WorkflowPolicy};
use crate::tools::ToolClasses;
use crate::workflow::{Class, OnFailure, Step, Verification, Workflow};
use proofmark_evidence::EvidenceStatus;

/// What one step has to prove.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// The workflow's name.
    pub workflow: String,
    /// The step's id.
    pub step: String,
    /// Who does it.
    pub agent: Option<String>,
    /// Whether it changes something.
    pub class: Class,
    /// The rules.
    pub verification: Verification,
    /// What happens when they are not met.
    pub on_failure: OnFailure,
    /// Which tools change something, by workflow and policy.
    pub tools: ToolClasses,
    /// Whether a mutating call that no rule lists rejects.
    pub no_other_mutations: bool,
    /// The standing at least one met rule must rest on.
    pub min_evidence: EvidenceStatus,
    /// The exemptions in force for the step.
    pub exemptions: Vec<Exemption>,
    /// What the policy demands of the step.
    pub demands: Demands,
}

/// Why a step has no contract that could be judged by.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContractError {
    /// There is no such step.
    #[error("there is no step `{step}`; the steps are `{known}`")]
    UnknownStep {
        /// The step asked for.
        step: String,
        /// The ids there are.
        known: String,
    },
    /// Nothing could prove the step.
    #[error("step `{0}` has no `verification` rule, so nothing could prove it; give it one")]
    NoVerification(String),
    /// The step does not keep what is demanded of it, or a condition cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Findings(Vec<lint::Finding>),
}

impl Contract {
    /// The contract of a step at a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`ContractError`] when there is no such step, it has no rules, breaks a demand that no exemption lifts, is
    /// touched by an expired exemption, or a condition of it cannot be read.
    pub fn of(
        workflow: &Workflow,
        step: &str,
        policy: Option<&WorkflowPolicy>,
        now_ms: i64,
    ) -> Result<Self, ContractError> {
        let position = workflow.position(step).ok_or_else(|| unknown_step(workflow, step))?;
        let step = workflow.steps.get(position).ok_or_else(|| unknown_step(workflow, step))?;
        let verification = step.verification.as_ref().filter(|verification| verification.rules() > 0);
        let verification = verification.ok_or_else(|| ContractError::NoVerification(step.id.clone()))?;
        let findings = lint::hindrances(workflow, position, policy, now_ms);
        if !findings.is_empty() {
            return Err(ContractError::Findings(findings));
        }
        Ok(resolve(workflow, step, verification, policy, now_ms))
    }

    /// The contract as one document: what its digest is taken of.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("workflow", self.workflow.as_str());
        object.insert("step", self.step.as_str());
        if let Some(agent) = &self.agent {
            object.insert("agent", agent.as_str());
        }
        object.insert("class", self.class.as_str());
        object.insert("verification", self.verification.document.clone());
        object.insert("onFailure", self.on_failure.to_json());
        object.insert("tools", self.tools.to_json());
        object.insert("noOtherMutations", self.no_other_mutations);
        object.insert("minEvidence", self.min_evidence.as_str());
        object.insert("demands", self.demands.to_json());
        object.insert("exemptions", self.exemptions.iter().map(Exemption::to_json).collect::<Vec<_>>());
        object.into()
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
    let in_force = |policy: &WorkflowPolicy| -> Vec<Exemption> {
        let all = policy.exemptions_for(workflow, step).map(|(_, exemption)| exemption);
        all.filter(|exemption| !exemption.is_expired(now_ms)).cloned().collect()
    };
    let lifted = |demand: Demand| policy.is_some_and(|policy| policy::lifts(policy, workflow, step, demand, now_ms));
    let demanded = demands.no_other_mutations && !lifted(Demand::NoOtherMutations);
    let said = verification.no_other_mutations.unwrap_or(class == Class::Mutating);
    Contract {
        workflow: workflow.name.clone(),
        step: step.id.clone(),
        agent: step.agent.clone(),
        class,
        verification: verification.clone(),
        on_failure: workflow.on_failure_of(step).cloned().unwrap_or_default(),
        tools: policy.map_or_else(|| workflow.tools.clone(), |policy| workflow.tools.and(&policy.tools)),
        no_other_mutations: said || demanded,
        min_evidence: if lifted(Demand::MinEvidence) { EvidenceStatus::Absent } else { demands.min_evidence },
        exemptions: policy.map(in_force).unwrap_or_default(),
        demands,
    }
}

fn unknown_step(workflow: &Workflow, step: &str) -> ContractError {
    const MAX_SHOWN: usize = 20;
    let known: Vec<_> = workflow.steps.iter().take(MAX_SHOWN).map(|step| shown(&step.id)).collect();
    ContractError::UnknownStep { step: shown(step), known: known.join("`, `") }
}

impl From<Violation> for lint::Finding {
    fn from(violation: Violation) -> Self {
        lint::Finding::error(violation.code, violation.path, violation.message, violation.mend)
    }
}
