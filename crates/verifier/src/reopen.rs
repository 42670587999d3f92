//! Reopens a step that was aborted: a reviewer whom the workflow or its policy lists lets one more attempt follow, and signs why.

use proofmark_contract::reopening::{Reopening, TIER};
use proofmark_contract::{Contract, Event, State, Workflow, WorkflowPolicy};
use proofmark_evidence::{ListedReviewer, Person, Signers};
use proofmark_receipt::{Draft, Receipt, SignerId, Timestamp};
use proofmark_store::{StepRun, Tenant};

use crate::accept::{StepSigners, StoredStep, chain_name, stored_step};
use crate::accept_error::AcceptError;
use crate::clock;
use crate::issue::{Destination, Issuer, VERIFIER};

/// The longest note, in bytes.
const MAX_NOTE: usize = 4_096;

/// A step to reopen.
#[derive(Clone, Copy, Debug)]
pub struct Reopen<'a> {
    pub workflow: &'a Workflow,
    /// The workflow policy that the workflow must follow. Its reviewers, if it lists any, take the place of the workflow's.
    pub policy: Option<&'a WorkflowPolicy>,
    pub tenant: &'a Tenant,
    pub begun_by: &'a str,
    pub run: &'a str,
    pub step: &'a str,
    /// Who may vouch for acceptances.
    pub trusted: &'a Signers,
}

/// A step that can be reopened, as a reviewer is shown it.
#[derive(Clone, Debug)]
pub struct Reopenable {
    /// What the next attempt is judged by.
    pub contract: Contract,
    /// The last attempt, from 1.
    pub attempt: u32,
    /// The receipt of the last attempt.
    pub last: Receipt,
    state: State,
    version: u64,
}

impl Reopen<'_> {
    /// The step as it is stored.
    ///
    /// # Errors
    /// [`AcceptError`] when it was not aborted, or its stored state is not signed by a key that may sign it.
    pub fn find(&self, issuer: &Issuer) -> Result<Reopenable, AcceptError> {
        let refused = |refusal| AcceptError::Refused { run: self.run.to_owned(), step: self.step.to_owned(), refusal };
        let now = issuer.store().map_or_else(|| Ok(clock::now()), clock::now_in)?;
        let contract = Contract::of(self.workflow, self.step, self.policy, now.unix_millis())
            .map_err(|error| AcceptError::Contract { step: self.step.to_owned(), error })?;
        let not_aborted = || refused(proofmark_contract::TransitionError::NotAborted("pending"));
        let store = issuer.store().ok_or_else(not_aborted)?.of(self.tenant);
        // The issuer's key is that of the reviewer, who does not accept.
        let signers = StepSigners { accepting: self.trusted, own: None, reviewers: Some(&contract.roles.reviewers) };
        let found = stored_step(&store, self.begun_by, self.run, self.step, &signers)?.ok_or_else(not_aborted)?;
        let last = found.of(self.workflow, self.run, self.step)?.clone();
        let StoredStep { state, version, .. } = found;
        let attempt = state.attempt();
        // Before the reviewer is asked: only an aborted step is reopened.
        let event = Event::Reopened { attempt, contract: contract.digest(), prompt: String::new(), now_ms: 0 };
        state.apply(&event).map_err(refused)?;
        Ok(Reopenable { contract, attempt, last, state, version })
    }

    /// Reopens it in the name of the issuer's key. The receipt, which says who reopened it and why, and the new state are on disk
    /// together when this returns.
    ///
    /// # Errors
    /// [`AcceptError`]; the step stays aborted then.
    pub fn reopen(
        &self,
        found: &Reopenable,
        signer: &SignerId,
        note: &str,
        issuer: &Issuer,
    ) -> Result<(State, Receipt), AcceptError> {
        if note.trim().is_empty() || note.len() > MAX_NOTE {
            return Err(AcceptError::Note(MAX_NOTE));
        }
        let listed = &found.contract.roles.reviewers;
        let reviewer = reviewer(listed, signer).ok_or_else(|| AcceptError::NotAReviewer {
            step: self.step.to_owned(),
            listed: listed.iter().map(|listed| listed.name.clone()).collect(),
        })?;
        let now = issuer.store().map_or_else(|| Ok(clock::now()), clock::now_in)?;
        let reopening =
            Reopening { contract: &found.contract, run: self.run, reviewer: &reviewer.name, note, last: &found.last };
        let event = Event::Reopened {
            attempt: found.attempt,
            contract: found.contract.digest(),
            prompt: reopening.prompt(),
            now_ms: now.unix_millis(),
        };
        let refused = |refusal| AcceptError::Refused { run: self.run.to_owned(), step: self.step.to_owned(), refusal };
        let state = found.state.apply(&event).map_err(refused)?;
        let State::Retry(retry) = &state else {
            return Err(AcceptError::OtherState { run: self.run.to_owned(), step: self.step.to_owned() });
        };
        let mut parts = reopening.draft_parts(retry);
        parts.metadata.insert("verifier", VERIFIER);
        let draft = draft(parts, now)?;
        let run = StepRun {
            run: self.run.to_owned(),
            begun_by: self.begun_by.to_owned(),
            step: self.step.to_owned(),
            // The store refuses it if the step has moved on since it was shown.
            version: found.version.saturating_add(1),
            state: state.to_json().to_text(),
        };
        let to = Destination {
            tenant: self.tenant,
            chain: Some(chain_name(self.begun_by, self.run, self.step)),
            request: None,
            supersedes: None,
            with: vec![run.into()],
        };
        let receipt = issuer.issue(draft, to)?.wait()?;
        Ok((state, receipt))
    }
}

fn reviewer<'a>(listed: &'a [ListedReviewer], signer: &SignerId) -> Option<&'a ListedReviewer> {
    listed.iter().find(|listed| listed.is(&Person::Key(*signer)))
}

fn draft(parts: proofmark_contract::judgment::DraftParts, now: Timestamp) -> Result<Draft, AcceptError> {
    Ok(Draft {
        receipt_id: clock::receipt_id()?,
        verified_at: now,
        tier: TIER,
        verdict: parts.verdict,
        task: Some(parts.task),
        results: parts.results,
        hashes: parts.hashes,
        metadata: parts.metadata,
    })
}
