//! What is due in a run, by the signed judgments of its steps.

use proofmark_contract::{Due, KnownStep, State, Workflow};
use proofmark_receipt::{Json, Object, Profile, Receipt, Sha256Digest, SignatureStatus, verify_receipt};
use proofmark_store::TenantStore;

use crate::accept::{StoredStep, stored_step};
use crate::accept_error::AcceptError;
use crate::approval::AwaitedApproval;

/// What is due in the run that `begun_by` began under this name. A run that nobody began is at the first step.
///
/// # Errors
/// [`AcceptError`] when a stored state cannot be read, or is not what its last receipt says.
pub fn due_in_run(store: &TenantStore<'_>, begun_by: &str, run: &str, workflow: &Workflow) -> Result<Due, AcceptError> {
    proofmark_contract::due(workflow, |step| {
        let Some(StoredStep { state, receipts }) = stored_step(store, begun_by, run, step)? else { return Ok(None) };
        let last = receipts.last().filter(|last| is_of(&state, last, workflow));
        let last = last.ok_or_else(|| AcceptError::OtherState { run: run.to_owned(), step: step.to_owned() })?;
        Ok(Some(KnownStep { state, next: last.metadata().get("next").cloned() }))
    })
}

/// Whether a receipt, as its signer signed it, says that the step of this workflow is in this state.
pub(crate) fn is_of(state: &State, receipt: &Receipt, workflow: &Workflow) -> bool {
    let metadata = receipt.metadata();
    let text = |name: &str| metadata.get(name).and_then(Json::as_str);
    let awaited = match state {
        State::Retry(retry) => {
            text("prompt_digest") == Some(Sha256Digest::of(retry.prompt.as_bytes()).to_string().as_str())
                && number(metadata, "not_before_ms") == Some(retry.not_before_ms)
                && text("contract_digest") == Some(retry.contract.to_string().as_str())
                && number(metadata, "attempt") == Some(i64::from(retry.attempt) - 1)
        }
        State::AwaitingApproval { attempt, contract, .. } => {
            AwaitedApproval::read(receipt).is_some()
                && text("contract_digest") == Some(contract.to_string().as_str())
                && number(metadata, "attempt") == Some(i64::from(*attempt))
        }
        State::Aborted { action, .. } => text("action") == Some(action.to_text().as_str()),
        _ => number(metadata, "attempt") == Some(i64::from(state.attempt())),
    };
    awaited
        && text("state") == Some(state.as_str())
        && text("workflow") == Some(workflow.name.as_str())
        && verify_receipt(receipt, Profile::Vrf, &[]).answer == SignatureStatus::Valid
}

fn number(metadata: &Object, name: &str) -> Option<i64> {
    metadata.get(name)?.as_number()?.as_i64()
}
