//! `/metrics`: figures as Prometheus reads them. They say nothing about a single tenant.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::context::Head;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::state::AppState;

/// The text format of Prometheus, 0.0.4.
const TEXT: &str = "text/plain; version=0.0.4";
/// Upper bounds of the durations that are counted, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Begins to count, for the whole process: servers in one process share their figures. None where other code counts.
pub(crate) fn start() -> Option<PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let install = || {
        let recorder = PrometheusBuilder::new().set_buckets(&SECONDS).ok()?.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).ok()?;
        Some(handle)
    };
    HANDLE.get_or_init(install).clone()
}

/// `GET /metrics`.
pub(crate) async fn show(state: Arc<AppState>, _: Head, _: Body) -> Result<Reply, Problem> {
    let text = state.metrics.as_ref().map(PrometheusHandle::render).unwrap_or_default();
    Ok(Reply::text(TEXT, text))
}
