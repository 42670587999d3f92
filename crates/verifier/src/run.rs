//! Runs requests on workers, one thread each, judges their answers, and issues the receipts in order.

use std::collections::BTreeMap;
use std::iter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use proofmark_checks::{Caps, Checks, Fault, Job, Judgment, Outcome, Plan, Request, RequestError, Reveal};
use proofmark_receipt::{Draft, Json, Object, Receipt, ReceiptId, Verdict};
use proofmark_sandbox::{Host, SharedJob, Watch, Worker};
use proofmark_store::Tenant;

use crate::clock;
use crate::environment::Environments;
use crate::issue::{Destination, IssueError, Issuer, Issuing, STEP_CHAINS, VERIFIER};
use crate::offers::{LOOK_EVERY, Offers};
use crate::project;
use crate::strength::{StrengthError, Survivor, strength};
use crate::sync::lock;

mod counter;

/// Why a request was not judged.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It was cancelled while its answers were judged.
    #[error("judge the answers: the verification was cancelled")]
    Stopped,
    /// The strength of its suite was not measured.
    #[error(transparent)]
    Strength(#[from] StrengthError),
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
            Self::Strength(error) => error.help(),
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
    /// How many requests, or cases of them, run at a time.
    pub workers: usize,
    pub issuer: &'a Issuer,
    chain: Option<String>,
    watch: Option<BatchWatch<'a>>,
    strength: Option<StrengthWatch<'a>>,
    environments: Environments,
}

/// That the strength of the suites is measured whose submissions pass.
#[derive(Clone, Copy)]
pub struct StrengthWatch<'a> {
    /// How long the mutants of one submission run.
    pub time: Duration,
    /// Called in any thread with the index of a request, before its receipt is shown, and the mutants that pass its suite.
    pub survivors: &'a (dyn Fn(usize, Vec<Survivor>) + Sync),
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
    taken: AtomicUsize,
    /// Set when no further request is to be taken.
    stop: AtomicBool,
    running: Mutex<Running>,
    changed: Condvar,
}

#[derive(Default)]
struct Running {
    /// How many workers take requests, or have one.
    taking: usize,
    /// By the index of their request.
    offers: Offers<usize>,
}

impl Shared<'_> {
    fn offer(&self, index: usize, shared: &Arc<SharedJob>) {
        lock(&self.running).offers.add(index, shared);
        self.changed.notify_all();
    }

    fn withdraw(&self, index: usize) {
        lock(&self.running).offers.withdraw(|of| *of == index);
    }

    /// A running job to join; waits for one. None once no request runs.
    fn next_offer(&self) -> Option<(usize, Arc<SharedJob>)> {
        let mut running = lock(&self.running);
        loop {
            if let Some(offer) = running.offers.best() {
                return Some(offer);
            }
            if running.taking == 0 {
                return None;
            }
            running = if running.offers.is_any_open() {
                self.changed.wait_timeout(running, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(running).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

/// A worker that takes requests. Dropped by a panic, too, so that the others do not wait for it.
struct Taking<'a>(&'a Shared<'a>);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        lock(&self.0.running).taking -= 1;
        self.0.changed.notify_all();
    }
}

/// How many cases of a request run one by one; none for a project, whose tests run as one.
pub fn case_count(request: &Request) -> usize {
    match &request.checks {
        Checks::Suite(suite) => suite.tests.len(),
        Checks::Command(_) | Checks::Constraints { .. } => 0,
    }
}

/// How many interpreters [`prepare`] looks for at a time.
const MAX_PREPARED: usize = 8;

/// Tests the isolation of the host and finds the interpreters of these requests, all at the same time, unless they run
/// nothing.
pub fn prepare(host: &Host, requests: &[Request]) {
    let wanted = requests.iter().filter_map(|request| match &request.checks {
        Checks::Suite(suite) => Some((suite.language, suite.runtime.clone())),
        Checks::Command(command) => Some((command.language, command.runtime.clone())),
        Checks::Constraints { .. } => None,
    });
    let mut prepared = Vec::new();
    for one in wanted {
        if prepared.len() < MAX_PREPARED && !prepared.contains(&one) {
            prepared.push(one);
        }
    }
    if !prepared.is_empty() {
        host.prepare(&prepared);
    }
}

impl<'a> Batch<'a> {
    /// A batch whose receipts are on no chain.
    pub fn new(host: &'a Host, caps: &'a Caps, workers: usize, issuer: &'a Issuer) -> Self {
        let environments = Environments::default();
        Self { host, caps, workers, issuer, chain: None, watch: None, strength: None, environments }
    }

    /// Continues the command line's chain of this name.
    ///
    /// # Errors
    /// [`IssueError::Reserved`] where the name is one that chains of steps have.
    pub fn on_chain(self, chain: String) -> Result<Self, IssueError> {
        if chain.starts_with(STEP_CHAINS) {
            Err(IssueError::Reserved(chain))
        } else {
            Ok(Self { chain: Some(chain), ..self })
        }
    }

    /// Stores the digests of environments in this folder of caches, if receipts are signed.
    #[must_use]
    pub fn with_cache(self, cache: &Path) -> Self {
        Self { environments: Environments::in_cache(cache, self.issuer.key()), ..self }
    }

    /// Follows the batch.
    #[must_use]
    pub fn watched(self, watch: BatchWatch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Measures the strength of the suites whose submissions pass.
    #[must_use]
    pub fn with_strength(self, strength: StrengthWatch<'a>) -> Self {
        Self { strength: Some(strength), ..self }
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
        let cases: usize = requests.iter().map(|request| case_count(request).max(1)).sum();
        let workers = self.workers.clamp(1, cases.max(1));
        let shared = &Shared {
            requests,
            taken: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            running: Mutex::new(Running { taking: workers, offers: Offers::default() }),
            changed: Condvar::new(),
        };
        thread::scope(|scope| {
            // Dropped when this ends early: then the workers take no more.
            let (send, judged) = mpsc::channel();
            for _ in 0..workers {
                let send = send.clone();
                scope.spawn(move || self.work(shared, &send));
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

    /// Runs requests that no other worker has taken, and then cases of those that others have.
    fn work(&self, shared: &Shared<'_>, judged: &Sender<(usize, Result<Draft, RunError>)>) {
        let mut worker = self.host.worker();
        let never = Arc::new(AtomicBool::new(false));
        let nobody = BatchWatch { fail_fast: false, cancelled: &never, ran: &|_, _| {} };
        let watch = self.watch.unwrap_or(nobody);
        self.take_requests(&mut worker, &watch, shared, judged);
        while let Some((index, job)) = shared.next_offer() {
            worker.join(&job, &never, &|ended| (watch.ran)(index, ended));
        }
    }

    /// Runs requests that no other worker has taken, until all are taken.
    fn take_requests(
        &self,
        worker: &mut Worker,
        watch: &BatchWatch<'_>,
        shared: &Shared<'_>,
        judged: &Sender<(usize, Result<Draft, RunError>)>,
    ) {
        let _taking = Taking(shared);
        let BatchWatch { fail_fast, cancelled, ran } = *watch;
        loop {
            if shared.stop.load(Ordering::Relaxed) || cancelled.load(Ordering::Relaxed) {
                return;
            }
            // Relaxed: each number is given out once, and nothing else depends on it.
            let index = shared.taken.fetch_add(1, Ordering::Relaxed);
            let Some(request) = shared.requests.get(index) else { return };
            let id = clock::receipt_id().map_err(RunError::from);
            let (ran, offer) = (|ended| ran(index, ended), |job: &Arc<SharedJob>| shared.offer(index, job));
            let watch = Watch { cancelled, ran: &ran, offer: &offer };
            let draft =
                id.and_then(|id| verify(Some(&mut *worker), self.caps, request, id, &watch, &self.environments));
            shared.withdraw(index);
            let draft = draft.and_then(|draft| self.measured(worker, request, draft, cancelled, index));
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

    /// The draft, with the strength of the suite where that is asked for and the submission passes.
    fn measured(
        &self,
        worker: &mut Worker,
        request: &Request,
        mut draft: Draft,
        cancelled: &AtomicBool,
        index: usize,
    ) -> Result<Draft, RunError> {
        if let (Some(StrengthWatch { time, survivors }), Verdict::Pass) = (self.strength, draft.verdict) {
            let strength = strength(worker, self.caps, request, time, cancelled)?;
            draft.metadata.insert("strength", strength.metadata());
            survivors(index, strength.survivors);
        }
        Ok(draft)
    }

    fn issue(&self, draft: Result<Draft, RunError>) -> Result<Issuing, VerifyError> {
        let to = Destination {
            tenant: &Tenant::LOCAL,
            chain: self.chain.clone(),
            request: None,
            supersedes: None,
            with: Vec::new(),
        };
        let mut draft = draft?;
        if let Some(store) = self.issuer.store() {
            draft.verified_at = clock::when(store, &draft.verified_at);
        }
        Ok(self.issuer.issue(draft, to)?)
    }
}

/// Plans, runs and judges one request, whose receipt will have this id. The result of a cancelled run means nothing. A
/// request that runs nothing needs no worker.
///
/// # Errors
/// When the request cannot be run here.
pub fn verify(
    worker: Option<&mut Worker>,
    caps: &Caps,
    request: &Request,
    id: ReceiptId,
    watch: &Watch<'_>,
    environments: &Environments,
) -> Result<Draft, RunError> {
    let (started, since) = (Instant::now(), SystemTime::now());
    let Plan { submission, expected } = request.plan(caps)?;
    let (submission, expected) = (submission.map(Arc::new), expected.map(Arc::new));
    let counter = counter::plan(request)?;
    let (judgment, outcome) = match worker {
        Some(worker) if let Some(Ok(counter)) = &counter => counter::judge(worker, caps, request, counter, watch)?,
        _ if let Some(Err(why)) = &counter
            && counter::is_required(request) =>
        {
            (request.judge_refused(why), None)
        }
        Some(worker) => {
            // A run of its own, before the submission's: a submission never sees an expected output. Progress counts only the
            // checks of the submission.
            let expected = expected.map(|job| worker.run_watched(&job, &Watch { ran: &|_| {}, ..*watch }));
            judge(worker, request, submission.as_ref(), expected.as_ref(), watch)?
        }
        None if submission.is_none() && expected.is_none() => (judge_at_once(request, None, None, watch)?, None),
        None => return Err(RunError::Untested),
    };
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
    let environment = outcome.as_ref().and_then(|outcome| outcome.environment.clone());
    if let (Some(job), Some(outcome)) = (&submission, outcome) {
        describe_sandbox(&mut metadata, job, outcome);
    }
    if let Checks::Command(command) = &request.checks {
        // The tests share the submission's process, which could forge their report.
        metadata.insert("comparison", "in-process");
        let run = submission.as_deref().map(|job| project::Run { job, environment: environment.as_ref() });
        project::describe(&mut metadata, command, &judgment, run.as_ref());
        if let Some(job) = &submission {
            metadata.insert("environment", environments.describe(job, environment.as_ref(), since));
        }
        counter::describe(&mut metadata, &judgment, counter.as_ref());
    }
    for (name, value) in request.known.iter() {
        metadata.insert(name, value.clone());
    }
    metadata.insert("decided", judgment.decided.as_str());
    if let Some(fault) = judgment.fault {
        metadata.insert("fault", fault_name(fault));
    }
    Ok(draft(request, id, judgment, metadata))
}

/// Runs the submission, and judges it.
fn judge(
    worker: &mut Worker,
    request: &Request,
    submission: Option<&Arc<Job>>,
    expected: Option<&Outcome>,
    watch: &Watch<'_>,
) -> Result<(Judgment, Option<Outcome>), RunError> {
    let judging = submission.and_then(|job| Some((job, request.suite_judging(job.limits, expected)?)));
    let Some((job, mut judging)) = judging else {
        let outcome = submission.map(|job| worker.run_watched(job, watch));
        return Ok((judge_at_once(request, outcome.as_ref(), expected, watch)?, outcome));
    };
    // Judged as they end, because the answers of a whole suite may not fit into memory.
    let outcome = worker.run_each(job, watch, &mut |case| judging.judge(&case));
    if is_cancelled(watch) { Err(RunError::Stopped) } else { Ok((judging.finish(&outcome.runtime), Some(outcome))) }
}

fn judge_at_once(
    request: &Request,
    submission: Option<&Outcome>,
    expected: Option<&Outcome>,
    watch: &Watch<'_>,
) -> Result<Judgment, RunError> {
    request.judge_until(submission, expected, &|| is_cancelled(watch)).map_err(|_| RunError::Stopped)
}

fn is_cancelled(watch: &Watch<'_>) -> bool {
    watch.cancelled.load(Ordering::Relaxed)
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
