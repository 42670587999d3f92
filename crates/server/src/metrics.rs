//! `/metrics`: what the server did, as Prometheus reads it. It tells nothing of any one tenant.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::context::Head;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::router::AppState;

/// The text format of Prometheus, 0.0.4.
const TEXT: &str = "text/plain; version=0.0.4";
/// Upper bounds of the durations that are counted, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The methods that are told apart: a client could make up others without end.
const METHODS: [&str; 4] = ["GET", "POST", "DELETE", "HEAD"];

/// Begins to count, for the whole process. Who counts already goes on counting elsewhere.
pub(crate) fn start() -> Option<PrometheusHandle> {
    let builder = PrometheusBuilder::new().set_buckets(&SECONDS).ok()?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).ok()?;
    Some(handle)
}

/// `GET /metrics`.
pub(crate) async fn show(state: Arc<AppState>, _: Head, _: Body) -> Result<Reply, Problem> {
    let text = state.metrics.as_ref().map(PrometheusHandle::render).unwrap_or_default();
    Ok(Reply::text(TEXT, text))
}

/// Counts and times every request, by the path as it is documented.
pub(crate) async fn measure(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = METHODS.into_iter().find(|known| *known == request.method().as_str()).unwrap_or("OTHER");
    let started = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::histogram!("proofmark_request_seconds", "path" => path.clone()).record(started.elapsed().as_secs_f64());
    metrics::counter!("proofmark_requests_total", "path" => path, "method" => method, "status" => status).increment(1);
    response
}

/// Counts a decision by its outcome.
pub(crate) fn decided(mode: &'static str) {
    metrics::counter!("proofmark_decisions_total", "mode" => mode).increment(1);
}
