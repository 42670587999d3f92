//! Every request has an id, is counted and timed, and has one line in the log when it is answered.
//!
//! The line has neither headers nor bodies, and of the path only the route: keys, receipts and names stay out of logs.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use proofmark_decider::ToldDecision;
use proofmark_receipt::Json;
use tracing::{Instrument, debug, error, info, info_span};

use crate::keys::Caller;
use crate::problem::Problem;
use crate::{logging, trace};

/// The header that carries the id of a request, from a proxy or to the client.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken over from a client.
const MAX_REQUEST_ID: usize = 64;
/// The methods that are counted by name: a client could make up others without end.
const METHODS: [&str; 4] = ["GET", "POST", "DELETE", "HEAD"];
/// Asked every few seconds by supervisors, or several times a second by guards, so they are logged only when they fail.
const PROBES: [&str; 5] = ["/health/live", "/healthz", "/readyz", "/metrics", "/v1/agents/guards/{id}/{what}"];

/// Who sent the request, as an extension of its answer.
#[derive(Clone)]
pub struct AdmittedCaller(pub Caller);

/// Whether a problem has a page of its own, as an extension of the answer.
#[derive(Clone, Copy)]
pub struct ShownAsPage;

pub(crate) async fn observe(request: Request, next: Next) -> Response {
    // The route, not the path: clients can make up paths without end, and each would be a label of the metrics.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = METHODS.into_iter().find(|known| *known == request.method().as_str()).unwrap_or("OTHER");
    let id = request_id(request.headers());
    let trace = logging::has_traces().then(|| trace::of(request.headers())).flatten();
    let span = match &trace {
        Some(trace) => info_span!(
            "request",
            id = %id,
            trace_id = %trace.trace_id(),
            span_id = %trace.span_id(),
            parent_id = trace.parent().map(tracing::field::display),
        ),
        None => info_span!("request", id = %id),
    };
    let started = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let seconds = started.elapsed().as_secs_f64();
    // Only here are both the problem and the id of the request known.
    let problem = response.extensions_mut().remove::<Problem>();
    let as_page = response.extensions_mut().remove::<ShownAsPage>().is_some();
    // A page has its own words for the problem; the id is in its header.
    if let Some(problem) = problem.as_ref().filter(|_| !as_page) {
        *response.body_mut() = problem.to_body(Some(&id));
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    let answered = Answered { method, route: &route, seconds, response: &response, problem: problem.as_ref() };
    span.in_scope(|| log(&answered));
    metrics::histogram!("proofmark_request_seconds", "path" => route.clone()).record(seconds);
    metrics::counter!("proofmark_requests_total", "path" => route, "method" => method, "status" => status.to_string())
        .increment(1);
    response
}

/// Counts a decision by its mode, logs what was decided about which action, by which policy, and exports it.
pub(crate) fn decided(told: &ToldDecision<'_>) {
    let receipt = told.receipt;
    let mode = receipt.disposition().mode();
    metrics::counter!("proofmark_decisions_total", "mode" => mode).increment(1);
    let binding = receipt.document().get("binding").and_then(Json::as_object);
    let bound = |name: &str| binding.and_then(|binding| binding.get(name)?.as_str());
    let (action, policy) = (bound("action_hash"), bound("policy_hash"));
    let (decision, outcome) = (receipt.decision_id().to_string(), receipt.disposition().outcome().as_str());
    let (tenant, caller) = (told.tenant.as_str(), told.caller);
    info!(decision, outcome, mode, action, policy, tenant, caller, "decided");
    told.tell();
}

struct Answered<'a> {
    method: &'static str,
    route: &'a str,
    seconds: f64,
    response: &'a Response,
    problem: Option<&'a Problem>,
}

impl<'a> Answered<'a> {
    /// Whether it failed, or is not one that is sent all the time.
    fn is_of_interest(&self) -> bool {
        self.response.status().is_server_error() || !PROBES.contains(&self.route)
    }

    /// The tenant and the id of the caller, where one was admitted.
    fn sender(&self) -> (Option<&'a str>, Option<&'a str>) {
        let caller = self.response.extensions().get::<AdmittedCaller>().map(|AdmittedCaller(caller)| caller);
        caller.map(|caller| (caller.tenant.as_str(), caller.id.as_str())).unzip()
    }
}

fn log(answered: &Answered<'_>) {
    let Answered { method, route, seconds, response, problem } = answered;
    let status = response.status();
    let milliseconds = (seconds * 10_000.0).round() / 10.0;
    let (tenant, caller) = answered.sender();
    let (code, cause) = (problem.map(Problem::code), problem.and_then(Problem::log_cause));
    let status_code = status.as_u16();
    if status.is_server_error() {
        error!(method, route, status = status_code, milliseconds, tenant, caller, code, cause, "failed");
    } else if !answered.is_of_interest() {
        debug!(method, route, status = status_code, milliseconds, tenant, caller, code, "answered");
    } else {
        info!(method, route, status = status_code, milliseconds, tenant, caller, code, cause, "answered");
    }
}

/// The id that a proxy gave, where it is one that a log line can hold; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let given = given.filter(|id| (1..=MAX_REQUEST_ID).contains(&id.len()));
    let given = given.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)));
    given.map_or_else(new_id, str::to_owned)
}

/// Sixteen hex digits. The id only has to differ from those of other requests, so a count replaces missing randomness.
fn new_id() -> String {
    let id = getrandom::u64().unwrap_or_else(|_| counted_id());
    format!("{id:016x}")
}

/// A number that this process gives out once, and that another one is not likely to.
fn counted_id() -> u64 {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| {
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        AtomicU64::new(began.as_nanos() as u64)
    });
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_over_where_a_log_line_can_hold_it() {
        let id_for =
            |given: &'static str| request_id(&[(REQUEST_ID, HeaderValue::from_static(given))].into_iter().collect());
        assert_eq!(id_for("a1-B2_c.3:4"), "a1-B2_c.3:4");
        for given in
            ["", "two words", "a\"b", "a=b", "0123456789012345678901234567890123456789012345678901234567890123x"]
        {
            assert_eq!(id_for(given).len(), 16, "{given}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
        assert_ne!(counted_id(), counted_id());
    }
}
