//! A server that runs nothing stores what it accepts, for the workers that share the store.

use proofmark_checks::{Format, Request};
use proofmark_receipt::{ReceiptId, Sha256Digest};
use proofmark_store::{Answer, NewJob, StoreError, Tenant, Write};
use proofmark_verifier::{Accepted, Accepting};

use crate::scheduler::Scheduler;
use crate::{SubmitError, Submitted, Work, needs};

impl Scheduler {
    /// Stores work that this process does not run.
    pub(super) fn hand_out(&self, id: ReceiptId, work: Work, checks: usize) -> Result<Submitted, SubmitError> {
        if self.queue.is_closed() {
            return Err(SubmitError::Stopping);
        }
        if let Some(before) = self.repeated(&work)? {
            return Ok(Submitted::Same(before));
        }
        let accepting = Accepting {
            id,
            tenant: &work.tenant,
            request: &work.request,
            text: &work.text,
            chain: &work.chain,
            supersedes: work.supersedes.as_ref(),
        };
        let new = NewJob {
            accepted: accepting.sign(&self.key)?,
            job_id: id,
            needs: needs::of_request(&work.request, &self.store.workers()?),
            request: work.text.clone(),
            checks: checks as u64,
            chain: work.chain.clone(),
            supersedes: work.supersedes,
            owner: None,
            created_at: self.now(),
        };
        let answer = work.replayable.clone().map(|(key, request)| Answer { key, request, document: id.to_string() });
        let writes = std::iter::once(new.into()).chain(answer.map(Write::from)).collect();
        match self.store.of(&work.tenant).submit_all(writes).wait() {
            Ok(_) => Ok(Submitted::New(id)),
            Err(StoreError::TooManyJobs) => Err(SubmitError::Busy),
            // A request with this key came through another server, or another thread, at the same time.
            Err(StoreError::Answered(key)) => {
                self.repeated(&work)?.map(Submitted::Same).ok_or(SubmitError::Store(StoreError::Answered(key)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The job that the work repeats.
    fn repeated(&self, work: &Work) -> Result<Option<ReceiptId>, SubmitError> {
        let Some((key, request)) = &work.replayable else { return Ok(None) };
        self.answer_of(&work.tenant, (key, request), &work.text)
    }

    /// The job that was stored for a request with this key, which has this text.
    pub(super) fn answer_of(
        &self,
        tenant: &Tenant,
        (key, request): (&str, &Sha256Digest),
        text: &str,
    ) -> Result<Option<ReceiptId>, SubmitError> {
        let Some(answer) = self.store.of(tenant).answer(key)? else { return Ok(None) };
        let id = answer.document.parse().ok().filter(|_| answer.request == *request);
        let id = id.ok_or_else(|| SubmitError::KeyReused(key.to_owned()))?;
        // Who can write to the store can have any job answer any request.
        if self.is_of(tenant, &id, text)? { Ok(Some(id)) } else { Err(SubmitError::OtherAnswer(id)) }
    }

    /// Whether a job, or the receipt that is left of it, is of the request with this text.
    fn is_of(&self, tenant: &Tenant, id: &ReceiptId, text: &str) -> Result<bool, SubmitError> {
        let store = self.store.of(tenant);
        if let Some(row) = store.job(id)? {
            return Ok(Accepted::of(&row, &self.servers).and_then(|accepted| accepted.is_request(text)).is_ok());
        }
        let Some(stored) = store.job_receipt(id)? else { return Ok(true) };
        let request = Request::read(text.as_bytes(), Format::Json, None)?;
        Ok(*stored.receipt.hashes() == request.hashes)
    }
}
