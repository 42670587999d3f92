//! Runs requests on workers, one thread each, judges their answers, and issues the receipts in order.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use proofmark_checks::{Caps, Checks, Fault, Job, Judgment, Outcome, Plan, Request, RequestError, Reveal};
use proofmark_receipt::{Draft, Json, Object, Receipt, ReceiptId, Verdict};
use proofmark_sandbox::{Host, Watch, Worker};
use proofmark_store::Tenant;

use crate::clock;
use crate::issue::{Destination, IssueError, Issuer, Issuing, STEP_CHAINS, VERIFIER};
use crate::project;

/// Why a request was not judged.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It was cancelled while its answers were judged.
    #[error("judge the answers: the verification was cancelled")]
    Stopped,
    /// Nothing is known about the host.
    #[error("run the submission: the self-test of the sandbox panicked")]
    Untested,
    /// The system gave no randomness for the receipt's id.
    #[error("draw a receipt id ({0})")]
    Randomness(#[from] getrandom::Error),
}

impl RunError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Request(error) => error.help(),
            Self::Untested => Some("run `proofmark doctor`, and restart the server".to_owned()),
            Self::Stopped | Self::Randomness(_) => None,
        }
    }
}

/// Why a request has no receipt.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It was not judged.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its receipt was not issued.
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl VerifyError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Run(error) => error.help(),
            Self::Issue(error) => error.help(),
        }
    }
}

/// Runs requests on several workers, and issues their receipts.
pub struct Batch<'a> {
    pub host: &'a Host,
    pub caps: &'a Caps,
    /// How many requests run at a time.
    pub workers: usize,
    pub issuer: &'a Issuer,
    chain: Option<String>,
    watch: Option<BatchWatch<'a>>,
}

/// How a batch is followed and stopped while it runs.
#[derive(Clone, Copy)]
pub struct BatchWatch<'a> {
    /// Whether no further request starts once one did not pass; those that run by then get their receipts.
    pub fail_fast: bool,
    /// Once set, no further request starts, and those that run end without receipts.
    pub cancelled: &'a Arc<AtomicBool>,
    /// Called in any thread after each case, with the index of its request and how many of its cases have ended.
    pub ran: &'a (dyn Fn(usize, usize) + Sync),
}

/// What the workers of a batch share.
struct Shared<'a> {
    requests: &'a [Request],
    /// How many requests are taken.
    taken: &'a AtomicUsize,
    /// Set when no further request is to be taken.
    stop: &'a AtomicBool,
}

/// How many cases of a request run one by one; none for a project, whose tests run as one.
pub fn case_count(request: &Request) -> usize {
    match &request.checks {
        Checks::Suite(suite) => suite.tests.len(),
        Checks::Command(_) | Checks::Constraints { .. } => 0,
    }
}

impl<'a> Batch<'a> {
    /// A batch whose receipts are on no chain.
    pub fn new(host: &'a Host, caps: &'a Caps, workers: usize, issuer: &'a Issuer) -> Self {
        Self { host, caps, workers, issuer, chain: None, watch: None }
    }

    /// Continues the command line's chain of this name.
    ///
    /// # Errors
    /// [`IssueError::Reserved`] where the name is one that chains of steps have.
    pub fn on_chain(self, chain: String) -> Result<Self, IssueError> {
        match chain.starts_with(STEP_CHAINS) {
            true => Err(IssueError::Reserved(chain)),
            false => Ok(Self { chain: Some(chain), ..self }),
        }
    }

    /// Follows the batch.
    #[must_use]
    pub fn watched(self, watch: BatchWatch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Runs every request, and calls `show` with its index and its receipt, in the order of the requests; a receipt is on
    /// disk by then. One request never sees another.
    ///
    /// When the batch is stopped or cancelled, the requests without a receipt are not shown.
    ///
    /// Receipts are issued as soon as those before them are. What is judged while the store commits shares the next commit.
    ///
    /// # Errors
    /// The first error of `show`, or of the store when it fails; the rest is not shown then.
    pub fn run<E: From<IssueError>>(
        &self,
        requests: &[Request],
        mut show: impl FnMut(usize, Result<Receipt, VerifyError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (taken, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            // Dropped when this ends early: then the workers take no more.
            let (send, judged) = mpsc::channel();
            for _ in 0..self.workers.clamp(1, requests.len().max(1)) {
                let (send, shared) = (send.clone(), Shared { requests, taken: &taken, stop: &stop });
                scope.spawn(move || self.work(&shared, &send));
            }
            // Otherwise `recv` would wait for this sender after the last worker has ended.
            drop(send);
            let mut waiting = BTreeMap::new();
            let mut next = 0;
            while let Ok(first) = judged.recv() {
                waiting.extend(iter::once(first).chain(judged.try_iter()));
                let mut issuing = Vec::new();
                while let Some(draft) = waiting.remove(&next) {
                    issuing.push((next, self.issue(draft)));
                    next += 1;
                }
                for (index, receipt) in issuing {
                    let receipt = receipt.and_then(|receipt| Ok(receipt.wait()?));
                    match receipt {
                        Err(VerifyError::Issue(IssueError::Store(error))) if !error.is_refusal() => {
                            return Err(IssueError::Store(error).into());
                        }
                        receipt => show(index, receipt)?,
                    }
                }
            }
            Ok(())
        })
    }

    /// Runs requests that no other worker has taken, until there are no more.
    fn work(&self, shared: &Shared<'_>, judged: &Sender<(usize, Result<Draft, RunError>)>) {
        let mut worker = self.host.worker();
        let never = Arc::new(AtomicBool::new(false));
        let nobody = BatchWatch { fail_fast: false, cancelled: &never, ran: &|_, _| {} };
        let BatchWatch { fail_fast, cancelled, ran } = self.watch.unwrap_or(nobody);
        loop {
            if shared.stop.load(Ordering::Relaxed) || cancelled.load(Ordering::Relaxed) {
                return;
            }
            // Relaxed: each number is given out once, and nothing else depends on it.
            let index = shared.taken.fetch_add(1, Ordering::Relaxed);
            let Some(request) = shared.requests.get(index) else { return };
            let id = clock::receipt_id().map_err(RunError::from);
            let watch = Watch { cancelled, ran: &|ended| ran(index, ended) };
            let draft = id.and_then(|id| verify(Some(&mut worker), self.caps, request, id, &watch));
            if cancelled.load(Ordering::Relaxed) {
                // The result of a cancelled run means nothing: no receipt may say it.
                return;
            }
            if fail_fast && !draft.as_ref().is_ok_and(|draft| draft.verdict == Verdict::Pass) {
                shared.stop.store(true, Ordering::Relaxed);
            }
            if judged.send((index, draft)).is_err() {
                return;
            }
        }
    }

    fn issue(&self, draft: Result<Draft, RunError>) -> Result<Issuing, VerifyError> {
        let to = Destination {
            tenant: &Tenant::LOCAL,
            chain: self.chain.clone(),
            request: None,
            supersedes: None,
            with: Vec::new(),
        };
        Ok(self.issuer.issue(draft?, to)?)
    }
}

/// Plans, runs and judges one request, whose receipt will have this id. The result of a cancelled run means nothing. A
/// request that runs nothing needs no worker.
pub(crate) fn verify(
    worker: Option<&mut Worker>,
    caps: &Caps,
    request: &Request,
    id: ReceiptId,
    watch: &Watch<'_>,
) -> Result<Draft, RunError> {
    let started = Instant::now();
    let Plan { submission, expected } = request.plan(caps)?;
    // A run of its own, before the submission's: a submission never sees an expected output. Progress counts only the
    // checks of the submission.
    let (expected, outcome) = match worker {
        Some(worker) => {
            let expected = expected.map(|job| worker.run_watched(&job, &Watch { ran: &|_| {}, ..*watch }));
            (expected, submission.as_ref().map(|job| worker.run_watched(job, watch)))
        }
        None if submission.is_none() && expected.is_none() => (None, None),
        None => return Err(RunError::Untested),
    };
    let stop = || watch.cancelled.load(Ordering::Relaxed);
    let judgment = request.judge_until(outcome.as_ref(), expected.as_ref(), &stop).map_err(|_| RunError::Stopped)?;
    let mut metadata = Object::new();
    metadata.insert("verifier", VERIFIER);
    // A submission can wait, and so tell by the time what hidden input it was given.
    if request.checks.reveal().shows_times() {
        metadata.insert("execution_ms", u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
    }
    metadata.insert("structural", true);
    // A suite that reveals nothing is not told apart by its bytes either.
    if let (Some(digest), true) = (request.bytes, request.checks.reveal() != Reveal::None) {
        metadata.insert("request", digest.to_string());
    }
    if let (Some(job), Some(outcome)) = (&submission, outcome) {
        describe_sandbox(&mut metadata, job, outcome);
    }
    if let Checks::Command(command) = &request.checks {
        // The tests share the submission's process, which could forge their report.
        metadata.insert("comparison", "in-process");
        project::describe(&mut metadata, command, &judgment, submission.as_ref());
    }
    if let Some(fault) = judgment.fault {
        metadata.insert("fault", fault_name(fault));
    }
    Ok(draft(request, id, judgment, metadata))
}

fn describe_sandbox(metadata: &mut Object, job: &Job, outcome: Outcome) {
    metadata.insert("sandbox", "subprocess");
    metadata.insert("language", job.language.to_string());
    if !outcome.runtime.is_empty() {
        metadata.insert("runtime", outcome.runtime);
    }
    metadata.insert("isolation", outcome.isolation.into_iter().map(Json::from).collect::<Vec<_>>());
}

fn draft(request: &Request, receipt_id: ReceiptId, judgment: Judgment, metadata: Object) -> Draft {
    Draft {
        receipt_id,
        verified_at: clock::now(),
        tier: judgment.tier,
        verdict: judgment.verdict,
        task: request.task.clone(),
        results: judgment.results,
        hashes: request.hashes,
        metadata,
    }
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Submission => "submission",
        Fault::Verifier => "verifier",
    }
}
