//! Asks people to approve an attempt that holds without them.
//!
//! What they approve is an action that stands for accepting the attempt: the run, the step, the attempt, the contract, the result
//! and the evidence. It is decided on as any other action, under a policy that the contract gives, so reviewers see it, and
//! sign it, as they do with actions of agents. Every part of the policy is in the action: anybody who has the decision can make the
//! policy again, and knows by its digest whether the decision was made by it.

use std::sync::atomic::AtomicBool;

use proofmark_boundary::{ActionPolicy, Asker, Request};
use proofmark_contract::{
    ApprovalAnswer, ApprovalFinding, AttemptOutcome, Contract, Judgment, RuleOutcome, RuleResult,
};
use proofmark_evidence::trace::Trace;
use proofmark_evidence::{ListedReviewer, Signers, Spend, facts};
use proofmark_receipt::{Json, Object, Receipt, Sha256Digest, SignError, object};
use proofmark_store::{StoreError, Tenant, Write};

use crate::presented::{Presented, PresentedError};

/// The tool of the actions that stand for accepting a step. No colon is in the name of a tool of a host.
const TOOL: &str = "workflow:accept";
/// The surface of these actions: neither a server's tool nor a host's.
const SURFACE: &str = "workflow";
/// The longest result that people are asked about, in bytes of its canonical form. They have to read all of it.
const MAX_RESULT: usize = 64 << 10;

/// Decides on the actions that stand for accepting steps.
pub trait StepApprovals {
    /// Decides by the approvals that are presented or stored.
    ///
    /// # Errors
    /// [`AskError`]; the attempt is then not judged.
    fn decide(&self, question: &StepQuestion<'_>) -> Result<StepDecision, AskError>;
}

/// An attempt that holds but for approvals.
pub struct StepQuestion<'a> {
    pub tenant: &'a Tenant,
    pub policy: ActionPolicy,
    pub request: Request,
    pub presented: Presented<'a>,
    pub trusted: &'a Signers,
    pub stop: &'a AtomicBool,
}

/// What was decided. Nothing of it is stored yet.
pub struct StepDecision {
    pub decision_id: String,
    /// Who denied it, in the policy's name for them, and why.
    pub denied: Option<(String, String)>,
    /// What each rule of the policy came to, in its order.
    pub findings: Vec<ApprovalFinding>,
    /// The approvals that it uses up.
    pub spends: Vec<Spend>,
    /// The stored decision on the same action that waits for a review.
    pub waiting: Option<String>,
    /// Stores it.
    pub write: Write,
}

/// An approval that an attempt waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwaitedApproval {
    /// The decision to approve; `None` where nobody is asked, as in a dry run.
    pub decision: Option<String>,
    /// The roles that it lacks an approval in.
    pub roles: Vec<String>,
}

impl AwaitedApproval {
    pub(crate) fn of(contract: &Contract, decision: Option<String>, judgment: &Judgment) -> Self {
        let mut roles: Vec<String> = Vec::new();
        for rule in &contract.verification.approvals {
            let is_met = |judged: &RuleResult| judged.id == rule.id && judged.outcome == RuleOutcome::Met;
            if !judgment.rules.iter().any(is_met) && !roles.contains(&rule.demand.role) {
                roles.push(rule.demand.role.clone());
            }
        }
        Self { decision, roles }
    }

    /// What the receipt of an attempt says that it waits for; none where it waits for nobody.
    #[must_use]
    pub fn read(receipt: &Receipt) -> Option<Self> {
        let roles = receipt.metadata().get("awaits")?.as_array()?;
        Some(Self {
            decision: receipt.metadata().get("decision").and_then(Json::as_str).map(str::to_owned),
            roles: roles.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        })
    }

    /// Who is waited for, and what they do.
    #[must_use]
    pub fn words(&self) -> String {
        let roles = self.roles.join(" and ");
        match &self.decision {
            Some(id) => format!("waits for an approval by {roles}: proofmark decision approve {id}"),
            None => format!("waits for an approval by {roles}"),
        }
    }

    /// As the result of an attempt has it: `{decision, roles}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let roles = self.roles.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>();
        object! { "decision"?: self.decision.as_deref(), "roles": roles }.into()
    }
}

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error(transparent)]
    Presented(#[from] PresentedError),
    #[error("the caller no longer waited for it")]
    Stopped,
    #[error("{message}")]
    Decision { message: String, help: Option<String> },
}

/// The attempt that people are asked about.
#[derive(Clone, Copy)]
pub(crate) struct AskedAttempt<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) run: &'a str,
    pub(crate) begun_by: &'a str,
    /// From 1.
    pub(crate) number: u32,
    /// The result block.
    pub(crate) result: &'a Json,
    pub(crate) trace: Option<&'a Trace>,
    pub(crate) context: Option<&'a Json>,
    pub(crate) asker: &'a Asker,
    pub(crate) tenant: &'a Tenant,
    pub(crate) presented: Presented<'a>,
    pub(crate) trusted: &'a Signers,
    pub(crate) stop: &'a AtomicBool,
}

/// Asks the people of the contract, if all else of it holds: the judgment with their answer, and the decision.
pub(crate) fn ask(
    attempt: &AskedAttempt<'_>,
    judgment: Judgment,
    approvals: Option<&dyn StepApprovals>,
) -> Result<(Judgment, Option<StepDecision>), AskError> {
    let (AttemptOutcome::AwaitApproval, Some(approvals)) = (judgment.outcome, approvals) else {
        return Ok((judgment, None));
    };
    let (policy, request) = match question(attempt, &judgment) {
        Ok(question) => question,
        Err(why) => return Ok((judgment.answered(attempt.contract, &ApprovalAnswer::Refused(why)), None)),
    };
    let AskedAttempt { tenant, presented, trusted, stop, .. } = *attempt;
    let mut decision = approvals.decide(&StepQuestion { tenant, policy, request, presented, trusted, stop })?;
    let answer = match &decision.denied {
        Some((reviewer, note)) => ApprovalAnswer::Refused(format!("{reviewer} denied it: {note}")),
        None => ApprovalAnswer::Judged(std::mem::take(&mut decision.findings)),
    };
    let mut judgment = judgment.answered(attempt.contract, &answer);
    if judgment.outcome == AttemptOutcome::Accept {
        judgment.spends.extend(decision.spends.iter().cloned());
    }
    Ok((judgment, Some(decision)))
}

/// The policy and the request; or why people cannot be asked about the attempt.
fn question(attempt: &AskedAttempt<'_>, judgment: &Judgment) -> Result<(ActionPolicy, Request), String> {
    let (contract, result) = (attempt.contract, attempt.result);
    let canonical = result.canonical_vrf();
    if canonical.len() > MAX_RESULT {
        return Err(format!("the result has more than {MAX_RESULT} bytes, so nobody can be shown it"));
    }
    facts::value(result).map_err(|error| format!("the result cannot be shown: {error}"))?;
    let rules = judgment.rules.iter().filter(|rule| rule.outcome == RuleOutcome::Met);
    let rules = rules.map(|rule| {
        Json::from(
            object! { "rule": rule.id.as_str(), "status": rule.status.as_str(), "message": rule.message.as_str() },
        )
    });
    let evidence = object! {
        "trace"?: attempt.trace.map(|trace| trace.digest.to_string()),
        "context"?: attempt.context.map(|context| Sha256Digest::of(&context.canonical_vrf()).to_string()),
        "rules": rules.collect::<Vec<_>>(),
    };
    let asked = contract.verification.approvals.iter().map(|rule| rule.demand.to_json()).collect::<Vec<_>>();
    let args = object! {
        // Reviewers of one tenant say nothing about the work of another, however alike it is.
        "tenant": attempt.tenant.as_str(),
        "workflow": contract.workflow.as_str(),
        "run": attempt.run,
        "begun_by": attempt.begun_by,
        "step": contract.step.as_str(),
        "attempt": u64::from(attempt.number),
        "result": result.clone(),
        "evidence": evidence,
        "contract": contract.digest().to_string(),
        "approvals": asked,
        "reviewers": contract.roles.reviewers.iter().map(ListedReviewer::to_json).collect::<Vec<_>>(),
    };
    let action = object! {
        "tool": TOOL,
        "class": "generic",
        "boundary": "action_execute",
        "surface": SURFACE,
        "target": format!("{}/{}", attempt.run, contract.step),
        "args": args,
    };
    let policy = policy_of_step(&action).ok_or_else(|| "the contract gives no policy to decide by".to_owned())?;
    let agent = object! { "id"?: contract.agent.as_deref(), "run": attempt.run, "step": contract.step.as_str() };
    let facts = object! { "action": action, "agent": agent };
    let request = Request::from_facts(facts).map_err(|error| format!("the attempt cannot be shown: {error}"))?;
    Ok((policy, request.asked_by(attempt.asker)))
}

/// The policy by which an action that stands for accepting a step is decided on; none for any other action.
#[must_use]
pub fn policy_of_step(action: &Object) -> Option<ActionPolicy> {
    let text = |name: &str| action.get(name).and_then(Json::as_str);
    (text("tool") == Some(TOOL) && text("surface") == Some(SURFACE)).then_some(())?;
    let args = action.get("args")?.as_object()?;
    let require = |approval: &Json| Json::from(object! { "approval": approval.clone() });
    let boundary = object! {
        "id": "step",
        "match": object! { "tool": TOOL, "surface": SURFACE },
        "require": args.get("approvals")?.as_array()?.iter().map(require).collect::<Vec<_>>(),
    };
    let mut policy = object! { "version": 1, "boundaries": vec![Json::from(boundary)] };
    // A list of nobody is refused by the reader of policies.
    let reviewers = args.get("reviewers")?.as_array()?;
    if !reviewers.is_empty() {
        policy.insert("reviewers", reviewers.to_vec());
    }
    ActionPolicy::read(&Json::from(policy)).ok()
}
