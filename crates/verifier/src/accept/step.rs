//! Stored steps of runs, compared with what was signed: anyone who can write the database can change a state.

use proofmark_contract::reopening::reopened;
use proofmark_contract::{State, Workflow};
use proofmark_evidence::{Capability, ListedReviewer, Person, Signers};
use proofmark_receipt::{Json, Object, Profile, Receipt, Sha256Digest, SignatureStatus, SignerId, verify_receipt};
use proofmark_store::{StepRun, TenantStore};

use crate::approval::AwaitedApproval;

use super::{AcceptError, chain_name, run_name, stored_state};

/// How often a step is read again that moves while it is read.
const MAX_READINGS: usize = 5;

/// A stored step of a run, whose state is that of its last receipt.
#[derive(Clone, Debug)]
pub struct StoredStep {
    pub state: State,
    /// The receipts of its attempts, first to last.
    pub receipts: Vec<Receipt>,
    /// How often the state has changed.
    pub version: u64,
}

/// A step of the run that `begun_by` began under this name.
///
/// # Errors
/// Those of [`signed_state`], and when the store cannot be read.
pub fn stored_step(
    store: &TenantStore<'_>,
    begun_by: &str,
    run: &str,
    step: &str,
    signers: &StepSigners<'_>,
) -> Result<Option<StoredStep>, AcceptError> {
    let run = run_name(Some(run))?;
    let mut seen = None;
    for _ in 0..MAX_READINGS {
        let Some(stored) = store.step_run(begun_by, &run, step)? else { return Ok(None) };
        let StepRun { version, .. } = stored;
        // It was read before the step moved: the same state again is not that of the receipt.
        if seen.replace(version) == Some(version) {
            break;
        }
        let receipts = store.chain(&chain_name(begun_by, &run, step))?;
        match signed_state(&stored, &receipts, signers) {
            Ok(state) => return Ok(Some(StoredStep { state, receipts, version })),
            Err(AcceptError::OtherState { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(other_state(&run, step))
}

/// The state of a stored step. It has to be the state that the last receipt says, and that receipt has to be signed by a key that may do so.
///
/// # Errors
/// [`AcceptError::State`] when what is stored is not a state, [`AcceptError::OtherState`] when it is not that of the receipt, and
/// [`AcceptError::OtherSigner`] when another key has signed it: anyone who can write the database can store such a state.
pub fn signed_state(stored: &StepRun, receipts: &[Receipt], signers: &StepSigners<'_>) -> Result<State, AcceptError> {
    let state = stored_state(stored)?;
    let signed = receipts.last().filter(|last| is_about(stored, last) && is_of(&state, last));
    match signed {
        Some(last) if signers.count(last) => Ok(state),
        Some(_) => Err(AcceptError::OtherSigner { run: stored.run.clone(), step: stored.step.clone() }),
        None => Err(other_state(&stored.run, &stored.step)),
    }
}

/// Whose receipts say what state a step is in.
#[derive(Clone, Copy, Debug)]
pub struct StepSigners<'a> {
    /// Who may vouch for acceptances.
    pub accepting: &'a Signers,
    /// The key that accepts here.
    pub own: Option<SignerId>,
    /// Who may reopen a step, where the workflow is at hand; elsewhere these are the keys that are trusted for approvals.
    pub reviewers: Option<&'a [ListedReviewer]>,
}

impl<'a> StepSigners<'a> {
    /// Whose receipts count where steps are shown, and no workflow is at hand.
    #[must_use]
    pub fn without_workflow(accepting: &'a Signers, own: Option<SignerId>) -> Self {
        Self { accepting, own, reviewers: None }
    }

    /// Whether a receipt of a step is signed by a key that may do so.
    #[must_use]
    pub fn count(&self, receipt: &Receipt) -> bool {
        let verification = verify_receipt(receipt, Profile::Vrf, &[]);
        let Some(signer) = verification.signer.filter(|_| verification.answer == SignatureStatus::Valid) else {
            return false;
        };
        let is_trusted_for = |what| self.accepting.of(what, Some(receipt.verified_at())).contains(&signer);
        match (reopened(receipt), self.reviewers) {
            (Some(_), Some(listed)) => listed.iter().any(|listed| listed.is(&Person::Key(signer))),
            (Some(_), None) => is_trusted_for(Capability::Approval),
            (None, _) => self.own == Some(signer) || is_trusted_for(Capability::Acceptance),
        }
    }
}

impl StoredStep {
    /// The last receipt, if it is of a step of this workflow.
    ///
    /// # Errors
    /// [`AcceptError::OtherState`] otherwise.
    pub(crate) fn of(&self, workflow: &Workflow, run: &str, step: &str) -> Result<&Receipt, AcceptError> {
        let is_of = |last: &&Receipt| last.metadata().get("workflow").and_then(Json::as_str) == Some(&workflow.name);
        self.receipts.last().filter(is_of).ok_or_else(|| other_state(run, step))
    }
}

fn other_state(run: &str, step: &str) -> AcceptError {
    AcceptError::OtherState { run: run.to_owned(), step: step.to_owned() }
}

/// Whether a receipt is about this step of this run, and not about another one whose rows were copied.
fn is_about(stored: &StepRun, receipt: &Receipt) -> bool {
    let is = |name: &str, value: &str| receipt.metadata().get(name).and_then(Json::as_str) == Some(value);
    is("run", &stored.run) && is("step", &stored.step)
}

/// Whether a receipt, as its signer signed it, says that its step is in this state.
fn is_of(state: &State, receipt: &Receipt) -> bool {
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
        && verify_receipt(receipt, Profile::Vrf, &[]).answer == SignatureStatus::Valid
}

fn number(metadata: &Object, name: &str) -> Option<i64> {
    metadata.get(name)?.as_number()?.as_i64()
}
