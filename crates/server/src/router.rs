//! Which endpoint answers what, and what every request passes on its way in.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::IntoResponse;
// `open` routes ask nobody who they are.
use axum::routing::{MethodFilter, MethodRouter, get as open, on};
use metrics_exporter_prometheus::PrometheusHandle;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::context::{self, Head, RequestContext};
use crate::health::Readiness;
use crate::keys::{ApiKeys, Role};
use crate::mcp::{Sessions, mcp};
use crate::problem::Problem;
use crate::rate::Rate;
use crate::reply::Reply;
use crate::services::Services;
use crate::share::{Limits, Share};
use crate::stop::Stops;
use crate::{acp, body, clawbizarre, decisions, health, metrics, openapi, receipts, runtime, steps, verifications};

/// How long an answer may take before the client is told to come back.
pub(crate) const MAX_ANSWER_TIME: Duration = Duration::from_secs(30);

/// What all requests share.
pub(crate) struct AppState {
    pub(crate) services: Arc<Services>,
    pub(crate) mcp: Sessions,
    pub(crate) keys: Option<ApiKeys>,
    pub(crate) metrics: Option<PrometheusHandle>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) stops: Arc<Stops>,
    pub(crate) ready: Readiness,
    rate: Rate,
}

/// Answers one kind of request. It may wait for the disk.
type Answers<T> = fn(&RequestContext<'_>) -> Result<T, Problem>;

impl AppState {
    pub(crate) fn new(services: Services, keys: Option<ApiKeys>, each_second: NonZeroU32) -> Self {
        let (services, limits, stops) = (Arc::new(services), Limits::new(), Stops::new());
        Self {
            mcp: Sessions::new(&services, &limits, &stops),
            services,
            keys,
            metrics: metrics::start(),
            limits,
            stops,
            ready: Readiness::default(),
            rate: Rate::new(each_second),
        }
    }

    /// A request that may be made in this role, by who has not called too often, and its place among all requests.
    fn enter(&self, path: Path, request: Request, role: Option<Role>) -> Result<(Head, Body, Share), Problem> {
        let path = path.map_err(|_| Problem::not_found("such path"))?;
        let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (parts, body) = request.into_parts();
        let caller = context::admit(self.keys.as_ref(), &parts.uri, &parts.headers, role)?;
        self.rate.take(&format!("{}\0{}", caller.tenant, caller.id), Instant::now()).map_err(Problem::too_often)?;
        body::is_json(&parts.headers, &body)?;
        let held = self.limits.requests.take(&caller.tenant, 1)?;
        Ok((Head { caller, path, parts }, body, held))
    }
}

/// The variables of a path, which may be no UTF-8.
type Path = Result<RawPathParams, RawPathParamsRejection>;
type SharedState = State<Arc<AppState>>;
type Routes = MethodRouter<Arc<AppState>>;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;
const DELETE: MethodFilter = MethodFilter::DELETE;

/// All endpoints, each with the role its callers need.
pub(crate) fn router(state: Arc<AppState>) -> Router {
    let any_role = None;
    let agent = Some(Role::Agent);
    let reviewer = Some(Role::Reviewer);
    let admin = Some(Role::Admin);
    Router::new()
        .route("/health/live", open(health::live))
        .route("/healthz", open(health::live))
        .route("/readyz", open(health::ready))
        .route("/.well-known/jwks.json", open(health::keys))
        .route("/openapi.json", open(openapi::document))
        .route("/metrics", on_async(GET, admin, metrics::show))
        .route("/v4/runtime/boundaries/preflight", posted(agent, runtime::preflight))
        .route("/v4/runtime/boundaries/executions/report", posted(agent, runtime::report))
        .route("/v4/runtime/taint/probe", posted(agent, runtime::taint))
        .route("/v1/events/batch", posted(agent, runtime::events))
        .route("/v1/decisions", posted(agent, decisions::decide).merge(got(any_role, decisions::list)))
        .route("/v1/decisions/{id}", got(any_role, decisions::show))
        .route("/v1/findings", got(any_role, decisions::findings))
        .route("/v1/reviews", got(reviewer, decisions::reviews))
        .route("/v1/reviews/{id}", posted(reviewer, decisions::review))
        .route("/v1/verifications", on_async(POST, agent, verifications::verify))
        .route(
            "/v1/jobs/{id}",
            on_async(GET, agent, verifications::show).merge(on_async(DELETE, agent, verifications::cancel)),
        )
        .route("/v1/jobs/{id}/events", on_async(GET, agent, verifications::events))
        .route("/v1/steps/{run}/{step}", got(any_role, steps::show))
        .route("/v1/steps/{run}/{step}/attempts", posted(agent, steps::attempt))
        .route("/v1/receipts", posted(agent, receipts::keep).merge(got(any_role, receipts::list)))
        .route("/v1/receipts/verify", posted(any_role, receipts::verify))
        .route("/v1/receipts/{id}", got(any_role, receipts::show))
        .route("/v1/receipts/{id}/chain", got(any_role, receipts::chain))
        .route("/v1/receipts/{id}/redeem", posted(agent, receipts::redeem))
        .route("/v1/receipts/{id}/recheck", on_async(POST, agent, receipts::recheck))
        .route("/v1/stats", got(any_role, receipts::stats))
        .route("/v1/acp/evaluations", on_async(POST, agent, acp::evaluate))
        .route("/v1/acp/evaluations/{id}", got(any_role, acp::show))
        .route("/verify", on_async(POST, agent, clawbizarre::verify))
        .route("/verify/schema", on_async(POST, agent, clawbizarre::verify_schema))
        .route("/receipt/verify", posted(any_role, clawbizarre::verify_receipt))
        .route("/receipt/{id}", got(any_role, receipts::show))
        .route("/health", open(clawbizarre::health))
        .route("/mcp", on_async(GET.or(POST).or(DELETE), agent, mcp))
        .fallback(|| async { Problem::not_found("such path") })
        .method_not_allowed_fallback(|| async {
            let message = "the path is there, but not for this method; look at /openapi.json for what there is";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        })
        .merge(SwaggerUi::new("/docs").config(docs()))
        .layer(middleware::from_fn(metrics::measure))
        .with_state(state)
}

/// The page shows what is here, and asks nobody else: unless told so it sends the description to a validator elsewhere.
fn docs() -> Config<'static> {
    Config::from("/openapi.json").validator_url("none")
}

fn got<T: Into<Reply> + Send + 'static>(role: Option<Role>, answers: Answers<T>) -> Routes {
    on_async(GET, role, move |state, head, body| worked(state, head, body, answers))
}

fn posted<T: Into<Reply> + Send + 'static>(role: Option<Role>, answers: Answers<T>) -> Routes {
    on_async(POST, role, move |state, head, body| worked(state, head, body, answers))
}

/// Answers where the work is waited for elsewhere. The request keeps its place among all until its answer is written.
fn on_async<F, A, T>(method: MethodFilter, role: Option<Role>, answers: F) -> Routes
where
    F: Fn(Arc<AppState>, Head, Body) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<T, Problem>> + Send + 'static,
    T: IntoResponse + 'static,
{
    on(method, async move |State(state): SharedState, path: Path, request: Request| {
        match state.enter(path, request, role) {
            Ok((head, body, held)) => body::holding(answers(state, head, body).await.into_response(), held),
            Err(problem) => problem.into_response(),
        }
    })
}

/// Reads the body and answers in a thread of its own, which is told when nobody waits for it any more.
async fn worked<T: Into<Reply> + Send + 'static>(
    state: Arc<AppState>,
    head: Head,
    body: Body,
    answers: Answers<T>,
) -> Result<Reply, Problem> {
    let mut room = state.limits.bytes.take(&head.caller.tenant, 0)?;
    let bytes = body::read(&head.parts.headers, body, body::MAX_BODY, &mut room).await?;
    let place = state.limits.places.take(&head.caller.tenant).await?;
    let stop = state.stops.flag();
    let (services, told) = (Arc::clone(&state.services), stop.shared());
    let work = move || {
        // Given back when the work is done, whether or not its client still waits.
        let _held = (place, room);
        answers(&RequestContext::new(&services, head, bytes, told)?).map(Into::into)
    };
    let answered = tokio::time::timeout(MAX_ANSWER_TIME, tokio::task::spawn_blocking(work)).await;
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(Problem::internal()),
        Err(_) => Err(Problem::too_slow()),
    }
}
