//! `/v1/verifications` and `/v1/jobs`: work to verify, answered with its receipt or with a job that comes to one.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ACCESS_CONTROL_EXPOSE_HEADERS, HeaderName, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use proofmark_receipt::{Json, Object, Receipt, ReceiptId, Timestamp};
use proofmark_verifier::{Cancelled, JobState, JobView, MAX_REQUEST_BYTES, Tenant, x402};

use crate::body;
use crate::context::{Head, RequestContext};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::router::AppState;
use crate::submit::{self, Answer, Submission, Views};

/// How often a silent stream of events says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `POST /v1/verifications`: a request as in `docs/requests.md`.
pub(crate) async fn verify(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    asked(state, head, body, Ok).await
}

/// As [`verify`], for requests in another form, which `read` turns into ours.
pub(crate) async fn asked(
    state: Arc<AppState>,
    head: Head,
    body: Body,
    read: impl FnOnce(String) -> Result<String, Problem>,
) -> Result<Reply, Problem> {
    let wanted = wanted(&state, head, body, read).await?;
    Ok(match submit::verify(&state.services, wanted).await? {
        Answer::Receipt(receipt) => told(&receipt),
        Answer::Job(view) => accepted(&view),
    })
}

/// Reads what is asked for.
pub(crate) async fn wanted(
    state: &AppState,
    head: Head,
    body: Body,
    read: impl FnOnce(String) -> Result<String, Problem>,
) -> Result<Submission, Problem> {
    let mut room = state.limits.bytes.take(&head.caller.tenant, 0)?;
    let bytes = body::read(&head.parts.headers, body, MAX_REQUEST_BYTES, &mut room).await?;
    let as_job = prefers_job(&head.parts.headers);
    let context = RequestContext::new(&state.services, head, bytes, Arc::default())?;
    context.only(&["chain"])?;
    let text = String::from_utf8(context.body().to_vec())
        .map_err(|_| Problem::bad("not_utf8", "the body is not UTF-8; send JSON"))?;
    Ok(Submission {
        text: read(text)?,
        chain: context.parameter("chain").map(str::to_owned),
        supersedes: None,
        replayable: context.replayable().map(|one| (one.key.to_owned(), one.request)),
        as_job,
        tenant: context.caller.tenant,
    })
}

/// `GET /v1/jobs/{id}`.
pub(crate) async fn show(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let (tenant, id) = named(&head)?;
    let view = submit::job(&state.services, &tenant, id).await?.ok_or_else(no_job)?;
    Ok(job(&view).into())
}

/// `GET /v1/jobs/{id}/events`: each state of the job as a server-sent event, until it is over or the server stops.
pub(crate) async fn events(state: Arc<AppState>, head: Head, _: Body) -> Result<Response, Problem> {
    let (tenant, id) = named(&head)?;
    let open = state.limits.streams.take(&tenant, 1)?;
    let views = submit::follow(&state.services, &tenant, id).await?.ok_or_else(no_job)?;
    let mut stopping = state.stops.stopping();
    let states = stream::unfold(Some((views, true)), next_event);
    let states = states.take_until(Box::pin(async move { drop(stopping.wait_for(|stops| *stops).await) }));
    let response = Sse::new(states).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    Ok(body::holding(response, open))
}

/// `DELETE /v1/jobs/{id}`: cancels it, and kills what runs.
pub(crate) async fn cancel(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let (tenant, id) = named(&head)?;
    let of = tenant.clone();
    match submit::inside(&state.services, move |services| services.verifications.cancel(&of, &id)).await?? {
        Cancelled::Now => {
            let view = submit::job(&state.services, &tenant, id).await?.ok_or_else(no_job)?;
            Ok(job(&view).into())
        }
        Cancelled::Over(_) => Err(Problem::new(StatusCode::CONFLICT, "job_over", "the job is over; get it instead")),
        Cancelled::Unknown => Err(no_job()),
    }
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
fn named(head: &Head) -> Result<(Tenant, ReceiptId), Problem> {
    let id = head.path.get("id").and_then(|id| id.parse().ok()).ok_or_else(no_job)?;
    Ok((head.caller.tenant.clone(), id))
}

fn no_job() -> Problem {
    Problem::not_found("such job")
}

/// `Prefer: respond-async` (RFC 7240, section 4.1).
fn prefers_job(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split([',', ';'])).any(|token| token.trim().eq_ignore_ascii_case("respond-async"))
}
