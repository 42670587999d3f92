//! Old decisions under a new policy.

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Disposition, Request, decide_as_recorded, records_limits};
use proofmark_receipt::{Json, Object, Sha256Digest, object};
use proofmark_store::{Decision, DecisionsWanted, MAX_PAGE, Store};
use proofmark_verifier::policy_of_step;

use crate::decide::{self, DecideError};
use crate::review::stored_action;

/// What a new policy changes about stored decisions.
#[derive(Clone, Debug, Default)]
pub struct PolicyDiff {
    pub changed: Vec<ChangedDecision>,
    /// How many are as before.
    pub same: u64,
    /// How many could not be decided again, because their facts, or what a limit had counted, are not stored, or their
    /// receipts cannot be read.
    pub unknown: u64,
}

/// A decision that two policies make differently.
#[derive(Clone, Debug)]
pub struct ChangedDecision {
    pub decision_id: String,
    pub old: Disposition,
    pub new: Disposition,
    /// Why, in one sentence; `None` when every rule is met.
    pub why: Option<String>,
}

/// Decides stored decisions again under two policies: on the facts they were made on, at their time and with the evidence that
/// their receipts record. Of the decisions that match `wanted`, at most `limit` are looked at, the newest first.
///
/// # Errors
/// When the store cannot be read.
pub fn policy_diff(
    store: &Store,
    wanted: &DecisionsWanted,
    old: &ActionPolicy,
    new: &ActionPolicy,
) -> Result<PolicyDiff, DecideError> {
    let (mut diff, mut left, mut after) = (PolicyDiff::default(), wanted.limit, wanted.after);
    while left > 0 {
        let page =
            store.all_tenants_decisions(&DecisionsWanted { limit: left.min(MAX_PAGE), after, ..wanted.clone() })?;
        left = left.saturating_sub(page.decisions.len());
        for decision in &page.decisions {
            match compared(store, decision, old, new)? {
                None => diff.unknown += 1,
                Some(None) => diff.same += 1,
                Some(Some(changed)) => diff.changed.push(changed),
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(diff)
}

/// How a decision changes, if it does; `None` when it cannot be decided again.
fn compared(
    store: &Store,
    decision: &Decision,
    old: &ActionPolicy,
    new: &ActionPolicy,
) -> Result<Option<Option<ChangedDecision>>, DecideError> {
    let Ok(receipt) = decide::read(decision) else { return Ok(None) };
    if stored_action(decision).is_some_and(|action| policy_of_step(&action).is_some()) {
        // No action policy decides on attempts at workflow steps.
        return Ok(Some(None));
    }
    let Some(request) = request(store, decision, &receipt)? else { return Ok(None) };
    if ![old, new].iter().all(|policy| records_limits(&receipt, &request, policy)) {
        return Ok(None);
    }
    let again = |policy| decide_as_recorded(&receipt, &request, policy);
    let (Ok(before), Ok(after)) = (again(old), again(new)) else { return Ok(None) };
    if before.disposition() == after.disposition() {
        return Ok(Some(None));
    }
    // Its words are those that a decision by the new policy would have.
    let stated = DecisionReceipt::unchained(&after, &request, receipt.decision_id());
    Ok(Some(Some(ChangedDecision {
        decision_id: decision.decision_id.clone(),
        old: before.disposition(),
        new: after.disposition(),
        why: stated.main_reason().map(|reason| reason.message.to_owned()),
    })))
}

/// The request of a decision: its stored facts, or the action and the agent where these are all the facts that there were.
fn request(store: &Store, decision: &Decision, receipt: &DecisionReceipt) -> Result<Option<Request>, DecideError> {
    let tenant = store.all_tenants_decision(&decision.decision_id)?.map(|(tenant, _)| tenant);
    let stored = tenant.map(|tenant| store.of(&tenant).facts(&decision.decision_id)).transpose()?.flatten();
    let parsed = |text: String| match Json::parse(text.as_bytes()) {
        Ok(Json::Object(facts)) => Some(facts),
        Ok(_) | Err(_) => None,
    };
    let facts = stored.and_then(parsed).or_else(|| smallest(decision, receipt));
    let request = facts.and_then(|facts| Request::from_facts(facts).ok());
    // A missing fact can change a decision without leaving a trace, so only the whole facts will do.
    let bound: Option<Sha256Digest> = receipt.bound("facts_hash").and_then(|hash| hash.parse().ok());
    Ok(request.filter(|request| Some(request.facts_hash()) == bound))
}

fn smallest(decision: &Decision, receipt: &DecisionReceipt) -> Option<Object> {
    let action = Json::parse(decision.about.action.as_deref()?.as_bytes()).ok()?;
    let agent = object! { "id"?: receipt.bound("agent"), "environment"?: receipt.bound("environment") };
    Some(if agent.is_empty() {
        object! { "action": action }
    } else {
        object! { "action": action, "agent": agent }
    })
}
