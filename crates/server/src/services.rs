//! What HTTP and MCP share: decisions, verifications and acceptances, on one store.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use proofmark_boundary::Asker;
use proofmark_contract::{Workflow, WorkflowPolicy};
use proofmark_decider::{Asked, DecideError, Decider, ToldDecision};
use proofmark_evidence::DatedKey;
use proofmark_jobs::Verifications;
use proofmark_keys::{Checked, TrustedSigners, check_document};
use proofmark_receipt::{Json, Profile};
use proofmark_sandbox::Host;
use proofmark_store::{StoreError, StoredWorker, Tenant};
use proofmark_verifier::{AcceptError, Acceptance, Attempt, Presented, PresentedProof, Purpose, accept};
use tracing::{error, info};

use crate::attempt_body::{AttemptBody, read_workflow, step_id};
use crate::keys::Caller;
use crate::observe::decided;
use crate::problem::Problem;
use crate::receipt_body::ReceiptBody;
use crate::transparency::ServedLog;
use crate::viewers::Viewers;

/// Whom a server trusts.
#[derive(Debug)]
pub struct Signers {
    pub trusted: TrustedSigners,
    /// Whose receipts it takes, where it leaves verifications to workers. They are among the trusted ones.
    pub workers: Option<Vec<DatedKey>>,
}

/// Tests the isolation of this host, which takes seconds, and logs the result.
#[must_use]
pub fn probe_host() -> Host {
    let begun = Instant::now();
    let host = Host::probe(None);
    let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match host.level() {
        Ok(level) => info!(isolation = level.to_string(), milliseconds, "the self-test of the sandbox passed"),
        Err(cause) => error!(
            cause,
            milliseconds, "the self-test of the sandbox failed: verifications that run code end as `error`"
        ),
    }
    host
}

/// A decider, and verifications on the same store. Every method may wait for a disk.
pub struct Services {
    pub decider: Arc<Decider>,
    pub verifications: Verifications,
    worker_keys: RwLock<Arc<[DatedKey]>>,
    /// Who looks at what waits.
    pub viewers: Viewers,
    workflow_policy: RwLock<Option<Arc<WorkflowPolicy>>>,
    /// The log that the server signs and shows, if it does.
    pub log: Option<Arc<ServedLog>>,
}

impl Services {
    /// Services that accept steps of any workflow.
    #[must_use]
    pub fn new(decider: Decider, verifications: Verifications) -> Services {
        Services {
            decider: Arc::new(decider),
            verifications,
            worker_keys: RwLock::new(Arc::new([])),
            viewers: Viewers::default(),
            workflow_policy: RwLock::default(),
            log: None,
        }
    }

    /// Signs this log of the store, and shows it.
    #[must_use]
    pub fn with_log(self, log: ServedLog) -> Services {
        Services { log: Some(Arc::new(log)), ..self }
    }

    /// Vouches for receipts of these signers, which workers make: their keys are listed with the server's own.
    #[must_use]
    pub fn with_worker_keys(self, worker_keys: Vec<DatedKey>) -> Services {
        Services { worker_keys: RwLock::new(worker_keys.into()), ..self }
    }

    /// The signers of receipts that workers make for this server.
    #[must_use]
    pub fn worker_keys(&self) -> Arc<[DatedKey]> {
        // They are replaced as a whole.
        self.worker_keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Trusts `trusted` and the server's own key from here on, and vouches for receipts of these workers, if the server leaves
    /// verifications to any.
    pub(crate) fn set_signers(&self, signers: Signers) {
        let Signers { trusted, workers } = signers;
        let own = self.decider.key().signer();
        self.decider.set_trusted(trusted.and(own));
        let workers = workers.unwrap_or_default();
        let signers = workers.iter().map(|worker| worker.signer).chain([own]);
        self.verifications.set_front_signers(signers.collect());
        *self.worker_keys.write().unwrap_or_else(PoisonError::into_inner) = workers.into();
    }

    /// How many workers live whose receipts this server takes.
    pub(crate) fn workers(&self) -> Result<u64, StoreError> {
        let own = self.decider.key().signer();
        let workers = self.worker_keys();
        let admitted: Vec<String> =
            workers.iter().map(|worker| &worker.signer).chain([&own]).map(ToString::to_string).collect();
        let runs = |worker: &StoredWorker| worker.is_alive && worker.presence.runs.is_some();
        let workers = self.verifications.workers()?.into_iter().filter(runs);
        Ok(workers.filter(|worker| admitted.contains(&worker.presence.signer)).count() as u64)
    }

    /// Accepts steps only of workflows that follow this policy.
    #[must_use]
    pub fn with_workflow_policy(self, policy: Option<WorkflowPolicy>) -> Services {
        Services { workflow_policy: RwLock::new(policy.map(Arc::new)), ..self }
    }

    /// Accepts steps only of workflows that follow this policy from here on; the policy before. An attempt that has begun is
    /// judged by the policy it began with.
    pub(crate) fn set_workflow_policy(&self, policy: WorkflowPolicy) -> Option<Arc<WorkflowPolicy>> {
        self.workflow_policy.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(policy))
    }

    /// The policy that workflows have to follow.
    #[must_use]
    pub fn workflow_policy(&self) -> Option<Arc<WorkflowPolicy>> {
        self.workflow_policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The workflow in this text, in YAML or JSON, of which a caller is at this step.
    ///
    /// # Errors
    /// [`Problem`] where it is none, or this cannot be the id of a step.
    pub fn read_workflow(&self, text: &str, step: &str) -> Result<Workflow, Problem> {
        step_id(step)?;
        Ok(read_workflow(&Json::from(text))?)
    }

    /// Whether there is a policy to decide by.
    pub(crate) fn decides(&self) -> bool {
        self.decider.has_policy()
    }

    /// Judges an attempt at a step of a run that the caller began, or that `begun_by` did, unless `stop` is set meanwhile.
    pub(crate) fn accept(
        &self,
        caller: &Caller,
        begun_by: Option<&str>,
        body: &AttemptBody,
        stop: &AtomicBool,
    ) -> Result<Acceptance, AcceptError> {
        let policy = self.workflow_policy();
        let trusted = self.decider.trusted();
        let attempt = Attempt {
            workflow: &body.workflow,
            policy: policy.as_deref(),
            step: &body.step,
            sender: caller.sender(),
            run: body.run.as_deref(),
            begun_by,
            number: body.number,
            response: body.response.as_bytes(),
            trace: body.trace.as_deref().map(str::as_bytes),
            context: body.context.as_ref(),
            // This would be a folder of this host, which no client may name: its receipts are in the body.
            presented: Presented { receipts: &body.receipts, proofs: &body.proofs, ..Presented::default() },
            trusted: trusted.signers(),
            in_order: false,
            purpose: Purpose::Attempt,
            stop,
        };
        accept(&attempt, &self.decider.issuer(), Some(&*self.decider))
    }

    /// Decides on an action, unless `stop` is set meanwhile, and returns the text of the receipt.
    pub(crate) fn decide(
        &self,
        caller: &Caller,
        request: &proofmark_boundary::Request,
        proofs: &[PresentedProof],
        stop: &AtomicBool,
    ) -> Result<String, DecideError> {
        let began = SystemTime::now();
        // Only the runtime SDK names actions by hash, and only HTTP has idempotency keys; this serves MCP.
        let (policy, _) = self.decider.policy_of(&caller.tenant, caller.policy.as_deref())?;
        let request = request.asked_by(&Asker { policy: Some(policy), ..Asker::default() });
        let presented = Presented { proofs, ..Presented::default() };
        let made = self.decider.decide(&Asked { presented, ..Asked::new(&request, &caller.tenant, stop) })?;
        let (tenant, caller) = (&caller.tenant, caller.id.as_str());
        decided(&ToldDecision { request: &request, receipt: &made.receipt, tenant, caller, began });
        Ok(made.text)
    }

    /// Checks a receipt of either kind.
    pub(crate) fn check(&self, body: &ReceiptBody) -> Checked {
        match &body.trust {
            Some(trusted) => check_document(body.receipt.as_bytes(), Profile::Vrf, trusted),
            None => self.decider.check(body.receipt.as_bytes()),
        }
    }

    /// A tenant's receipt.
    pub(crate) fn receipt(&self, tenant: &Tenant, id: &str) -> Result<Option<Json>, StoreError> {
        // Not an error: `get_receipt` goes on to look for a decision with this id.
        let Ok(id) = id.parse() else { return Ok(None) };
        let stored = self.decider.store().of(tenant).receipt(&id)?;
        Ok(stored.map(|stored| stored.receipt.document().clone()))
    }

    /// The text of a tenant's decision receipt, whose row is what was signed.
    pub(crate) fn decision(&self, tenant: &Tenant, id: &str) -> Result<Option<String>, DecideError> {
        let Some(stored) = self.decider.store().of(tenant).decision(id)? else { return Ok(None) };
        self.decider.signed(&stored)?;
        Ok(Some(stored.document))
    }
}
