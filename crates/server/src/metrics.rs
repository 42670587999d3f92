//! `/metrics`: figures as Prometheus reads them. They say nothing about a single tenant.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use proofmark_jobs::{Figures as JobFigures, Verifications};
use proofmark_store::{GroupOutcome, Store};
use proofmark_verifier::clock;

use crate::context::Head;
use crate::figures::Figures;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::state::AppState;
use crate::submit;
use crate::transparency::ServedLog;

/// The text format of Prometheus, 0.0.4.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4";
/// Upper bounds of the durations that are counted, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Upper bounds of how many submissions share a commit.
const SIZES: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
const GROUP_SIZE: &str = "proofmark_store_group_size";

/// Begins to count, for the whole process: servers in one process share their figures. None where other code counts.
pub(crate) fn start() -> Option<Arc<Figures>> {
    static FIGURES: OnceLock<Option<Arc<Figures>>> = OnceLock::new();
    let figures = FIGURES.get_or_init(|| {
        let figures = Figures::new(&[(Some(GROUP_SIZE), &SIZES), (None, &SECONDS)]);
        metrics::set_global_recorder(Arc::clone(&figures)).ok()?;
        Some(figures)
    });
    figures.clone()
}

/// Counts the groups of writes of this process.
pub(crate) fn watch_store(store: &Store) {
    store.watch_groups(|group| {
        let outcome = match group.outcome {
            GroupOutcome::Stored => "stored",
            GroupOutcome::Failed => "failed",
            GroupOutcome::Unknown => "unknown",
        };
        metrics::counter!("proofmark_store_groups_total", "outcome" => outcome).increment(1);
        // How long a failure took says nothing about the disk.
        if group.outcome == GroupOutcome::Stored {
            metrics::histogram!(GROUP_SIZE).record(group.size as f64);
            metrics::histogram!("proofmark_store_group_seconds").record(group.took.as_secs_f64());
            metrics::histogram!("proofmark_store_commit_seconds").record(group.commit.as_secs_f64());
        }
    });
}

/// Notes how many jobs there are, and what makes the store slow.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn note(verifications: &Verifications) -> Result<(), Problem> {
    note_jobs(&verifications.figures()?);
    // A database that is like PostgreSQL may not have these views, and the other figures are needed then, too.
    if let Ok(upkeep) = verifications.store().upkeep() {
        if let Some(oldest) = upkeep.oldest_snapshot {
            metrics::gauge!("proofmark_store_oldest_snapshot_seconds").set(oldest.as_secs_f64());
        }
        if let Some(bytes) = upkeep.log_bytes {
            metrics::gauge!("proofmark_store_log_bytes").set(bytes as f64);
        }
    }
    Ok(())
}

fn note_jobs(figures: &JobFigures) {
    let gauge = |name: &'static str, value: f64| metrics::gauge!(name).set(value);
    gauge("proofmark_jobs_waiting", figures.waiting as f64);
    gauge("proofmark_jobs_unrunnable", figures.unrunnable as f64);
    gauge("proofmark_jobs_running", figures.running as f64);
    gauge("proofmark_workers", figures.workers as f64);
    gauge("proofmark_oldest_waiting_job_seconds", figures.oldest_ms as f64 / 1_000.0);
}

/// Notes how many decisions wait for a person, and how long the first of them has. A worker need not be able to read this.
fn note_waiting(store: &Store) -> Result<(), Problem> {
    let (waiting, since) = store.all_tenants_waiting_since()?;
    let age = since.map_or(0, |since| clock::known_in(store).unix_millis().saturating_sub(since).max(0));
    metrics::gauge!("proofmark_decisions_waiting").set(waiting as f64);
    metrics::gauge!("proofmark_oldest_waiting_decision_seconds").set(age as f64 / 1_000.0);
    Ok(())
}

/// Notes how many entries the log has, how many of them no checkpoint covers, and how many the checkpoint of its copy does not cover.
fn note_log(log: &ServedLog, store: &Store) -> Result<(), Problem> {
    let (entries, signed) = (store.log_length()?, store.log_state()?.signed);
    metrics::gauge!("proofmark_log_entries").set(entries as f64);
    metrics::gauge!("proofmark_log_unsigned_entries").set(entries.saturating_sub(signed) as f64);
    if let Some(uncopied) = log.uncopied(entries) {
        metrics::gauge!("proofmark_log_uncopied_entries").set(uncopied as f64);
    }
    Ok(())
}

/// Counts an attempt to copy the log that failed.
pub(crate) fn note_copy_failure() {
    metrics::counter!("proofmark_log_copy_failures_total").increment(1);
}

/// Counts jobs of processes whose leases ended, which this process gave back.
pub(crate) fn note_given_back(jobs: usize) {
    metrics::counter!("proofmark_jobs_given_back_total").increment(jobs as u64);
}

/// Counts a job that this process had and did not end.
pub(crate) fn note_left() {
    metrics::counter!("proofmark_jobs_left_total").increment(1);
}

/// Counts a renewal of the lease that failed.
pub(crate) fn note_not_renewed() {
    metrics::counter!("proofmark_leases_not_renewed_total").increment(1);
}

/// `GET /metrics`.
pub(crate) async fn show(state: Arc<AppState>, _: Head, _: Body) -> Result<Reply, Problem> {
    let noted = submit::blocking(&state.services, |services| {
        note(&services.verifications)?;
        if let Some(log) = &services.log {
            note_log(log, services.decider.store())?;
        }
        note_waiting(services.decider.store())
    });
    noted.await??;
    let text = state.metrics.as_ref().map(|figures| figures.text()).unwrap_or_default();
    Ok(Reply::text(TEXT, text))
}
