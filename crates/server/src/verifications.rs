//! `/v1/verifications` and `/v1/jobs`: work to verify, answered with its receipt or with a job that comes to one.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::header::{ACCESS_CONTROL_EXPOSE_HEADERS, HeaderName, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use proofmark_receipt::{Json, Object, Receipt, ReceiptId, Timestamp};
use proofmark_verifier::{Cancelled, JobState, JobView, MAX_REQUEST_BYTES, Tenant, x402};

use crate::body;
use crate::call::Call;
use crate::door::Doorkeeper;
use crate::keys::Role;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::work::{self, Answer, Views, Wanted};

/// How often a silent stream of events says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `POST /v1/verifications`: a request as in `docs/requests.md`.
pub(crate) async fn verify(state: State<Arc<Doorkeeper>>, request: Request) -> Response {
    asked(state, request, Ok).await
}

/// As [`verify`], for requests in another form, which `read` turns into ours.
pub(crate) async fn asked(
    State(keeper): State<Arc<Doorkeeper>>,
    request: Request,
    read: impl FnOnce(String) -> Result<String, Problem>,
) -> Response {
    let answered = async {
        let wanted = wanted(&keeper, request, read).await?;
        work::verify(&keeper.bench, wanted).await
    };
    match answered.await {
        Ok(Answer::Receipt(receipt)) => told(&receipt).into_response(),
        Ok(Answer::Job(view)) => accepted(&view).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// Reads what is asked for.
pub(crate) async fn wanted(
    keeper: &Arc<Doorkeeper>,
    request: Request,
    read: impl FnOnce(String) -> Result<String, Problem>,
) -> Result<Wanted, Problem> {
    let caller = keeper.admit(request.headers(), Some(Role::Agent))?;
    let (parts, body) = request.into_parts();
    let _room = keeper.room_for(&parts.headers, MAX_REQUEST_BYTES)?;
    let bytes = body::read_up_to(&parts.headers, body, MAX_REQUEST_BYTES).await?;
    let call = Call::new(keeper, caller, Default::default(), &parts.uri, &parts.headers, bytes)?;
    call.only(&["chain"])?;
    let text = String::from_utf8(call.body().to_vec())
        .map_err(|_| Problem::bad("not_utf8", "the body is not UTF-8; send JSON"))?;
    Ok(Wanted {
        text: read(text)?,
        chain: call.parameter("chain").map(str::to_owned),
        supersedes: None,
        replayable: call.replayable().map(|one| (one.key.to_owned(), one.request)),
        as_job: prefers_job(&parts.headers),
        tenant: call.caller.tenant,
    })
}

/// `GET /v1/jobs/{id}`.
pub(crate) async fn show(
    State(keeper): State<Arc<Doorkeeper>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let shown = async {
        let (tenant, id) = named(&keeper, &headers, &id)?;
        Ok::<_, Problem>(job(&work::job(&keeper.bench, &tenant, id).await?.ok_or_else(no_job)?))
    };
    shown.await.map(Reply::from).into_response()
}

/// `GET /v1/jobs/{id}/events`: each state of the job as a server-sent event, until it is over.
pub(crate) async fn events(
    State(keeper): State<Arc<Doorkeeper>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let followed = async {
        let (tenant, id) = named(&keeper, &headers, &id)?;
        let views = work::follow(&keeper.bench, &tenant, id).await?.ok_or_else(no_job)?;
        Ok::<_, Problem>(views)
    };
    match followed.await {
        Ok(views) => {
            let states = stream::unfold(Some((views, true)), next_event);
            Sse::new(states).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

/// `DELETE /v1/jobs/{id}`: cancels it, and kills what runs.
pub(crate) async fn cancel(
    State(keeper): State<Arc<Doorkeeper>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let cancelled = async {
        let (tenant, id) = named(&keeper, &headers, &id)?;
        let of = tenant.clone();
        match work::inside(&keeper.bench, move |bench| bench.verifications.cancel(&of, &id)).await?? {
            Cancelled::Now => {
                let view = work::job(&keeper.bench, &tenant, id).await?.ok_or_else(no_job)?;
                Ok(job(&view))
            }
            Cancelled::Over(_) => {
                Err(Problem::new(StatusCode::CONFLICT, "job_over", "the job is over; get it instead"))
            }
            Cancelled::Unknown => Err(no_job()),
        }
    };
    cancelled.await.map(Reply::from).into_response()
}

async fn next_event(following: Option<(Views, bool)>) -> Option<(Result<Event, Infallible>, Option<(Views, bool)>)> {
    let (mut views, first) = following?;
    if !first && views.states.changed().await.is_err() {
        return None;
    }
    let view = views.states.borrow_and_update().clone();
    let event = Event::default().event(word(&view.state)).data(job(&view).to_text());
    Some((Ok(event), (!view.state.is_end()).then_some((views, false))))
}

/// A receipt as the answer to who waited for it, in the body and, for paid work, in the header of x402.
pub(crate) fn told(receipt: &Receipt) -> Reply {
    let text = receipt.to_text();
    let reply = Reply::from(receipt.document().clone()).header(LOCATION, x402::path(&receipt.receipt_id()));
    with_receipt(reply, &text)
}

/// The headers that carry a receipt, or lead to it, on any answer.
pub(crate) fn with_receipt(reply: Reply, text: &str) -> Reply {
    let Ok(header) = x402::header(text) else { return reply };
    let fields = header.fields().into_iter();
    let named = fields.filter_map(|(name, value)| Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value)));
    let exposed = format!("{}, Link, Location", x402::HEADER);
    named.fold(reply.header(ACCESS_CONTROL_EXPOSE_HEADERS, exposed), |reply, (name, value)| reply.header(name, value))
}

pub(crate) fn accepted(view: &JobView) -> Reply {
    Reply::from(Json::from(described(view)))
        .status(StatusCode::ACCEPTED)
        .header(LOCATION, format!("/v1/jobs/{}", view.id))
        .header(RETRY_AFTER, "1")
}

fn job(view: &JobView) -> Json {
    let mut object = described(view);
    if let Some(receipt) = &view.receipt {
        object.insert("receipt", receipt.document().clone());
    }
    object.into()
}

fn described(view: &JobView) -> Object {
    let mut checks = Object::new();
    checks.insert("done", view.done as u64);
    checks.insert("total", view.total as u64);
    let mut object = Object::new();
    object.insert("job_id", view.id.to_string());
    object.insert("state", word(&view.state));
    object.insert("created_at", Timestamp::from_unix_millis(view.created_at).as_str());
    object.insert("checks", checks);
    if let JobState::Failed(why) = &view.state {
        object.insert("error", why.as_str());
    }
    object
}

fn word(state: &JobState) -> &'static str {
    match state {
        JobState::Waiting => "waiting",
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed(_) => "failed",
        JobState::Cancelled => "cancelled",
    }
}

/// Whose job is meant, and which.
fn named(keeper: &Arc<Doorkeeper>, headers: &HeaderMap, id: &str) -> Result<(Tenant, ReceiptId), Problem> {
    let caller = keeper.admit(headers, Some(Role::Agent))?;
    Ok((caller.tenant, id.parse().map_err(|_| no_job())?))
}

fn no_job() -> Problem {
    Problem::not_found("such job")
}

/// `Prefer: respond-async` (RFC 7240, section 4.1).
fn prefers_job(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split([',', ';'])).any(|token| token.trim().eq_ignore_ascii_case("respond-async"))
}
