//! A worker: runs the jobs that servers accept, until it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use proofmark_decider::tell_verdict;
use proofmark_jobs::{JobState, JobView, JobWatch, Report as JobReport, Verifications};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::figures::Figures;
use crate::listen::{MAX_LAST_ANSWERS, accept};
use crate::observe::observe;
use crate::problem::Problem;
use crate::{metrics, origin};

/// How long the jobs that run may take once the worker is told to stop. What has not ended by then is killed, and another
/// worker runs it.
const MAX_DRAIN: Duration = Duration::from_secs(60);

/// A worker that has begun.
pub struct WorkSettings {
    pub verifications: Verifications,
    /// Where its figures are read.
    pub listen: Option<SocketAddr>,
}

/// Why a worker does not work, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("start the threads of the worker ({0})")]
    Start(io::Error),
    #[error("listen on {address} ({error})")]
    Listen { address: SocketAddr, error: io::Error },
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its jobs have ended, or were given back.
    Drained,
    /// A second signal came: other workers run its jobs when its lease has ended.
    AtOnce,
}

/// Works until SIGINT or SIGTERM; then it claims nothing more, and what runs may end. `listening` is called with the address
/// of the figures once it is bound.
///
/// # Errors
/// [`WorkError`] when it cannot begin.
pub fn work(settings: WorkSettings, listening: impl FnOnce(SocketAddr)) -> Result<Ended, WorkError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(WorkError::Start)?;
    let verifications = Arc::new(settings.verifications);
    let ended = runtime.block_on(async {
        let mut signals = Signals::handle().map_err(WorkError::Start)?;
        let stopped = Arc::new(Notify::new());
        let figures = match settings.listen {
            Some(address) => {
                let failed = |error| WorkError::Listen { address, error };
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                listening(listener.local_addr().map_err(failed)?);
                let figures = metrics::start();
                metrics::watch_store(verifications.store());
                let router = router(Shown { verifications: Arc::clone(&verifications), figures, address });
                let stop = Arc::clone(&stopped);
                Some(tokio::spawn(async move { accept(listener, &router, stop.notified()).await.shutdown().await }))
            }
            None => None,
        };
        signals.next().await;
        info!("stopping: it claims nothing more, and what runs may end; a second signal ends at once");
        let draining = tokio::task::spawn_blocking(move || verifications.stop(MAX_DRAIN));
        let ended = tokio::select! {
            _ = draining => Ended::Drained,
            () = signals.next() => Ended::AtOnce,
        };
        stopped.notify_one();
        if let Some(figures) = figures {
            drop(tokio::time::timeout(MAX_LAST_ANSWERS, figures).await);
        }
        Ok(ended)
    });
    // After a second signal the thread that drains is not waited for.
    runtime.shutdown_background();
    ended
}

/// SIGTERM and SIGINT.
struct Signals {
    terminated: Signal,
    interrupted: Signal,
}

impl Signals {
    fn handle() -> io::Result<Self> {
        Ok(Self { terminated: signal(SignalKind::terminate())?, interrupted: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

/// What a worker shows of itself.
#[derive(Clone)]
struct Shown {
    verifications: Arc<Verifications>,
    figures: Option<Arc<Figures>>,
    address: SocketAddr,
}

fn router(shown: Shown) -> Router {
    Router::new()
        .route("/metrics", get(show))
        .route("/healthz", get(live))
        .fallback(|| async { Problem::unknown_path() })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        .layer(middleware::from_fn(observe))
        .with_state(shown)
}

async fn show(State(shown): State<Shown>, request: Request) -> Result<Response, Problem> {
    // A page in a browser must not read this host's figures by a name of its own for the loopback.
    if shown.address.ip().is_loopback() {
        origin::is_of_this_host(request.uri(), request.headers())?;
    }
    let verifications = shown.verifications;
    tokio::task::spawn_blocking(move || metrics::note(&verifications)).await.map_err(|_| Problem::internal())??;
    let text = shown.figures.as_ref().map(|figures| figures.text()).unwrap_or_default();
    Ok(([(CONTENT_TYPE, metrics::TEXT)], text).into_response())
}

/// Whether the worker has its lease.
async fn live(State(shown): State<Shown>) -> Response {
    // Without its lease it gets no jobs, and those that it had are given to others: a supervisor may as well start it anew.
    if shown.verifications.is_renewed() {
        (StatusCode::OK, "{\"status\":\"ok\"}").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"no lease\"}").into_response()
    }
}

/// Writes into the log which jobs are lost, and counts them; exports the verdicts of the others.
#[must_use]
pub fn log_lost_jobs() -> JobReport {
    // What is counted before there is a recorder is lost.
    let _handle = metrics::start();
    Box::new(log_lost)
}

fn log_lost(what: &JobWatch<'_>) {
    match what {
        JobWatch::Ended { view, .. } => tell(view),
        JobWatch::GaveBack(jobs) => {
            metrics::note_given_back(*jobs);
            warn!(jobs, "processes ended while they had jobs, which were given back or have failed");
        }
        JobWatch::Left { tenant, id } => {
            metrics::note_left();
            warn!(job = id.to_string(), tenant = tenant.as_str(), "left to another process");
        }
        JobWatch::NotStored { tenant, id, error, again_in } => {
            let (help, again_in_s) = (error.help(), again_in.map(|delay| delay.as_secs()));
            let (job, tenant) = (id.to_string(), tenant.as_str());
            warn!(job, tenant, cause = %error, help, again_in_s, "its receipt was not stored");
        }
        JobWatch::NotRenewed(error) => {
            metrics::note_not_renewed();
            warn!(cause = %error, "the lease was not renewed");
        }
        _ => {}
    }
}

/// Exports the verdict of a job, if it has one.
fn tell(view: &JobView) {
    view.receipt.iter().for_each(|receipt| tell_verdict(receipt));
}

/// Writes into the log what happens to jobs, and who runs them; those that are lost are counted.
#[must_use]
pub fn log_jobs() -> JobReport {
    let _handle = metrics::start();
    Box::new(|what| match what {
        JobWatch::Claimed { tenant, id, attempt } => {
            info!(job = id.to_string(), tenant = tenant.as_str(), attempt, "claimed");
        }
        JobWatch::Ended { tenant, view } => {
            let verdict = view.receipt.as_ref().map(|receipt| receipt.verdict().as_str());
            let (state, cause) = match &view.state {
                JobState::Waiting => ("waiting", None),
                JobState::Running => ("running", None),
                JobState::Done => ("done", None),
                JobState::Failed(cause) => ("failed", Some(cause.as_str())),
                JobState::Cancelled => ("cancelled", None),
            };
            info!(job = view.id.to_string(), tenant = tenant.as_str(), state, verdict, cause, "ended");
            tell(view);
        }
        JobWatch::GaveBack(_) | JobWatch::Left { .. } | JobWatch::NotStored { .. } | JobWatch::NotRenewed(_) => {
            log_lost(what);
        }
        JobWatch::Admitted(true) => info!("the servers take the receipts of this key: jobs are claimed"),
        JobWatch::Admitted(false) => warn!(
            "no jobs are claimed: not every server that leaves its jobs to workers takes the receipts of this key, or none runs; \
             name the key with `--trust-worker` there"
        ),
        JobWatch::Workers(0) => warn!("no worker lives: verifications wait until `proofmark work` runs on this store"),
        JobWatch::Workers(_) => info!("workers run the verifications"),
        JobWatch::UnknownServer { signer } => warn!(
            signer,
            "a server signs its jobs as somebody who is not known here, so no jobs are claimed: name it with `--server-key`"
        ),
        JobWatch::Stranger { signer } => {
            warn!(signer, "a worker gets no jobs: its key is not named with `--trust-worker`");
        }
        JobWatch::Lacking { jobs, why } => warn!(jobs, why, "jobs wait that no worker can run"),
    })
}
