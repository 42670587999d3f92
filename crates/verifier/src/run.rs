//! Runs requests on workers, one thread each, and judges what came back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use proofmark_checks::{Caps, Checks, Fault, Job, Judgment, Outcome, Plan, Request, RequestError};
use proofmark_receipt::{Draft, Json, Object, ReceiptId};
use proofmark_sandbox::{Host, Watch, Worker};

use crate::clock;

/// The software named in `metadata.verifier`.
pub(crate) const VERIFIER: &str = concat!("proofmark/", env!("CARGO_PKG_VERSION"));

/// A request that was run and judged, not yet sealed.
#[derive(Clone, Debug)]
pub struct Judged {
    pub(crate) draft: Draft,
}

/// Why a request was not judged.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It was cancelled while its answers were judged.
    #[error("judge the answers: the verification was cancelled")]
    Stopped,
    /// The system gave no randomness for the receipt's id.
    #[error("draw a receipt id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Runs every request on `jobs` workers and calls `done` with its index, in the
/// order in which they finish. One request never sees another.
pub fn verify_all(
    host: &Host,
    caps: &Caps,
    jobs: usize,
    requests: &[Request],
    mut done: impl FnMut(usize, Result<Judged, RunError>),
) {
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, requests.len().max(1)) {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                let mut worker = host.worker();
                let cancelled = Arc::new(AtomicBool::new(false));
                let watch = Watch { cancelled: &cancelled, ran: &|_| {} };
                let take = || next.fetch_add(1, Ordering::Relaxed);
                while let Some((index, request)) = Some(take()).and_then(|index| Some((index, requests.get(index)?))) {
                    let judged = clock::receipt_id().map_err(RunError::from);
                    let judged = judged.and_then(|id| verify(&mut worker, caps, request, id, &watch));
                    if send.send((index, judged)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for (index, judged) in receive {
            done(index, judged);
        }
    });
}

/// Plans, runs and judges one request, whose receipt will have this id. What a cancelled run comes to is of no use.
pub(crate) fn verify(
    worker: &mut Worker,
    caps: &Caps,
    request: &Request,
    id: ReceiptId,
    watch: &Watch<'_>,
) -> Result<Judged, RunError> {
    let started = Instant::now();
    let Plan { submission, expected } = request.plan(caps)?;
    let expected = expected.map(|job| worker.run_watched(&job, &Watch { ran: &|_| {}, ..*watch }));
    let outcome = submission.as_ref().map(|job| worker.run_watched(job, watch));
    let stop = || watch.cancelled.load(Ordering::Relaxed);
    let judgment = request.judge_until(outcome.as_ref(), expected.as_ref(), &stop).map_err(|_| RunError::Stopped)?;
    let mut metadata = Object::new();
    metadata.insert("verifier", VERIFIER);
    if request.checks.reveal().shows_times() {
        metadata.insert("execution_ms", u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
    }
    metadata.insert("structural", true);
    if let (Some(job), Some(outcome)) = (submission, outcome) {
        ran_in(&mut metadata, &job, outcome);
    }
    if let Checks::Command(_) = request.checks {
        // The tests share the submission's process, which could forge their report.
        metadata.insert("comparison", "in-process");
    }
    if let Some(fault) = judgment.fault {
        metadata.insert("fault", fault_word(fault));
    }
    Ok(Judged { draft: draft(request, id, judgment, metadata) })
}

fn ran_in(metadata: &mut Object, job: &Job, outcome: Outcome) {
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

fn fault_word(fault: Fault) -> &'static str {
    match fault {
        Fault::Submission => "submission",
        Fault::Verifier => "verifier",
    }
}
