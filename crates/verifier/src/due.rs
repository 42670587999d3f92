//! What is due in a run, by the signed judgments of its steps.

use proofmark_contract::{Due, KnownStep, Workflow};
use proofmark_store::TenantStore;

use crate::accept::{StepSigners, stored_step};
use crate::accept_error::AcceptError;

/// What is due in the run that `begun_by` began under this name. A run that nobody began is at the first step.
///
/// # Errors
/// [`AcceptError`] when a stored state cannot be read, is not what its last receipt says, or is signed by a key that may not sign it.
pub fn due_in_run(
    store: &TenantStore<'_>,
    begun_by: &str,
    run: &str,
    workflow: &Workflow,
    signers: &StepSigners<'_>,
) -> Result<Due, AcceptError> {
    proofmark_contract::due(workflow, |step| {
        let Some(stored) = stored_step(store, begun_by, run, step, signers)? else { return Ok(None) };
        let last = stored.of(workflow, run, step)?;
        let next = last.metadata().get("next").cloned();
        Ok(Some(KnownStep { state: stored.state, next }))
    })
}
