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
use proofmark_checks::MAX_REQUEST_BYTES;
use proofmark_interop::x402;
use proofmark_jobs::{Cancelled, JobState, JobView};
use proofmark_receipt::{Receipt, ReceiptId, Timestamp};
use proofmark_store::Tenant;
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::{self, Sent};
use crate::context::{Content, Head, RequestContext};
use crate::opaque::{JobStateName, Receipt as ReceiptSchema, Time, Uuid};
use crate::problem::Problem;
use crate::reply::{Document, JSON, Reply};
use crate::services::Services;
use crate::state::AppState;
use crate::submit::{self, Answer, DEFAULT_WAIT, Held, Source, Submission, Views};

/// How often a silent stream of events sends a comment, so that the connection stays open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// Also the id its receipt has
    #[schema(value_type = Uuid)]
    job_id: String,
    #[schema(value_type = JobStateName)]
    state: &'static str,
    #[schema(value_type = Time)]
    created_at: String,
    checks: JobChecks,
    /// Why nothing runs it, where it waits and no worker can run it that lives
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    lacking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReceiptSchema>)]
    receipt: Option<Document>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct JobChecks {
    done: usize,
    total: usize,
}

impl From<&JobView> for Job {
    fn from(view: &JobView) -> Self {
        Self {
            job_id: view.id.to_string(),
            state: state_name(&view.state),
            created_at: Timestamp::from_unix_millis(view.created_at).as_str().to_owned(),
            checks: JobChecks { done: view.done, total: view.total },
            lacking: view.lacking.clone(),
            error: match &view.state {
                JobState::Failed(cause) => Some(cause.clone()),
                JobState::Waiting | JobState::Running | JobState::Done | JobState::Cancelled => None,
            },
            receipt: view.receipt.as_ref().map(|receipt| receipt.document().into()),
        }
    }
}

/// `POST /v1/verifications`: a request as in `docs/requests.md`.
pub(crate) async fn verify(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    answer(state, head, body, Source::Text).await
}

/// Verifies a request, which the body's text is or is converted to.
pub(crate) async fn answer(
    state: Arc<AppState>,
    head: Head,
    body: Body,
    source: fn(String) -> Source,
) -> Result<Reply, Problem> {
    let submission = submission(&state, head, body, source).await?;
    match submit::verify(&state.services, submission).await? {
        Answer::Receipt(receipt) => Ok(receipt_reply(&receipt)),
        Answer::Job(view) => accepted(&view),
    }
}

/// What makes the submission of a request, whose body was read. It takes a while: reading 16 MiB of YAML does.
pub(crate) async fn submission(
    state: &AppState,
    head: Head,
    body: Body,
    source: fn(String) -> Source,
) -> Result<impl FnOnce(&Services) -> Result<Submission, Problem> + Send + use<>, Problem> {
    let mut share = state.limits.bytes.take(&head.caller.tenant, 0)?;
    let sent = body::read(&head.parts.headers, body, MAX_REQUEST_BYTES, &mut share).await?;
    let place = state.limits.places.take(&head.caller.tenant).await?;
    let priority = place.priority();
    Ok(move |services: &Services| priority.run(|| read(services, head, sent, (share, place), source))?)
}

fn read(
    services: &Services,
    head: Head,
    sent: Sent,
    mut held: Held,
    source: fn(String) -> Source,
) -> Result<Submission, Problem> {
    let wait = wait(&head.parts.headers);
    let content = Content::read(&head, sent, &mut held.0)?;
    // The flag is never set: a verification is cancelled as a job.
    let context = RequestContext::new(services, head, content, Arc::default())?;
    context.only(&["chain"])?;
    let text = String::from_utf8(context.body().to_vec())
        .map_err(|_| Problem::bad("not_utf8", "the body is not UTF-8").help("send JSON"))?;
    Ok(Submission {
        request: source(text),
        chain: context.parameter("chain").map(str::to_owned),
        supersedes: None,
        replayable: context.replayable().map(|one| (one.key.to_owned(), one.request)),
        wait,
        tenant: context.caller.tenant,
        held: Some(held),
    })
}

/// `GET /v1/jobs/{id}`.
pub(crate) async fn show(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let (tenant, id) = named(&head)?;
    let view = submit::job(&state.services, &tenant, id).await?.ok_or_else(no_job)?;
    Reply::json(&Job::from(&view))
}

/// `GET /v1/jobs/{id}/events`: each state of the job as a server-sent event, until it is over or the server stops.
pub(crate) async fn events(state: Arc<AppState>, head: Head, _: Body) -> Result<Response, Problem> {
    follow_job(&state, &head, |view| {
        let data = serde_json::to_string(&Job::from(view)).ok()?;
        Some(Event::default().event(state_name(&view.state)).data(data))
    })
    .await
}

/// Each state of the job that the path names as an event, until it is over, the server stops or `event` gives none.
pub async fn follow_job(
    state: &AppState,
    head: &Head,
    event: impl Fn(&JobView) -> Option<Event> + Send + 'static,
) -> Result<Response, Problem> {
    let (tenant, id) = named(head)?;
    let share = state.limits.streams.take(&tenant, 1)?;
    let views = submit::follow(&state.services, &tenant, id).await?.ok_or_else(no_job)?;
    let mut stopping = state.stops.stopping();
    let events = stream::unfold(Some((views, true, event)), next_event);
    let events = events.take_until(Box::pin(async move { drop(stopping.wait_for(|stops| *stops).await) }));
    let response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    Ok(body::holding(response, share))
}

/// `DELETE /v1/jobs/{id}`: cancels it, and kills what runs.
pub(crate) async fn cancel(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let (tenant, id) = named(&head)?;
    let of = tenant.clone();
    match submit::blocking(&state.services, move |services| services.verifications.cancel(&of, &id)).await?? {
        Cancelled::Now => show_cancelled(&state, &tenant, id).await,
        // Not as if it had been cancelled: there may be a receipt.
        Cancelled::Over(_) => {
            Err(Problem::new(StatusCode::CONFLICT, "job_over", "the job is over").help("get it instead"))
        }
        Cancelled::Unknown => Err(no_job()),
    }
}

async fn show_cancelled(state: &AppState, tenant: &Tenant, id: ReceiptId) -> Result<Reply, Problem> {
    let view = submit::job(&state.services, tenant, id).await?.ok_or_else(no_job)?;
    Reply::json(&Job::from(&view))
}

async fn next_event<F: Fn(&JobView) -> Option<Event>>(
    following: Option<(Views, bool, F)>,
) -> Option<(Result<Event, Infallible>, Option<(Views, bool, F)>)> {
    let (mut views, first, event) = following?;
    // The first event is the state that the job is in, which needs no change.
    if !first && views.states.changed().await.is_err() {
        return None;
    }
    let view = views.states.borrow_and_update().clone();
    let shown = event(&view)?;
    Some((Ok(shown), (!view.state.is_end()).then_some((views, false, event))))
}

/// A receipt as the answer to the client that waited for it, in the body and, for paid work, in the header of x402.
fn receipt_reply(receipt: &Receipt) -> Reply {
    let text = receipt.to_text();
    let reply = Reply::text(JSON, text.clone()).header(LOCATION, x402::path(&receipt.receipt_id()));
    with_receipt(reply, &text)
}

/// The headers that carry a receipt, or lead to it, on any answer.
pub(crate) fn with_receipt(reply: Reply, text: &str) -> Reply {
    // The receipt is the answer already; a header that cannot carry it takes nothing away.
    let Ok(header) = x402::header(text) else { return reply };
    let fields = header.fields().into_iter();
    let named = fields.filter_map(|(name, value)| Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value)));
    // A browser hides the headers that are not named here from pages of other origins (docs/commerce.md).
    let exposed = format!("{}, Link, Location", x402::HEADER);
    named.fold(reply.header(ACCESS_CONTROL_EXPOSE_HEADERS, exposed), |reply, (name, value)| reply.header(name, value))
}

pub(crate) fn accepted(view: &JobView) -> Result<Reply, Problem> {
    // The client asked for a job, which it reads when it is over: the receipt then comes with it.
    let job = Job { receipt: None, ..Job::from(view) };
    Ok(Reply::json(&job)?
        .status(StatusCode::ACCEPTED)
        .header(LOCATION, format!("/v1/jobs/{}", view.id))
        .header(RETRY_AFTER, "1"))
}

fn state_name(state: &JobState) -> &'static str {
    match state {
        JobState::Waiting => "waiting",
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed(_) => "failed",
        JobState::Cancelled => "cancelled",
    }
}

/// Which job of which tenant the path names.
fn named(head: &Head) -> Result<(Tenant, ReceiptId), Problem> {
    Ok((head.caller.tenant.clone(), head.id().ok_or_else(no_job)?))
}

fn no_job() -> Problem {
    Problem::not_found("job")
}

/// How long the client waits: `Prefer: wait=SECONDS`, or not at all with `Prefer: respond-async` alone (RFC 7240, sections
/// 4.1 and 4.3). A preference that cannot be read is ignored, as the RFC says.
pub(crate) fn wait(headers: &HeaderMap) -> Duration {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let preferences = values.flat_map(|value| value.split([',', ';'])).map(str::trim);
    let (mut as_job, mut wait) = (false, None);
    for preference in preferences {
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "respond-async" => as_job = true,
            // The first of several counts.
            "wait" => wait = wait.or_else(|| value.trim().trim_matches('"').parse().ok().map(Duration::from_secs)),
            _ => {}
        }
    }
    wait.unwrap_or(if as_job { Duration::ZERO } else { DEFAULT_WAIT })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_client_says_how_long_it_waits() {
        let asked = |values: &[&'static str]| {
            let name = axum::http::HeaderName::from_static("prefer");
            wait(&values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect())
        };
        for (values, seconds) in [
            (&[][..], 10),
            (&["respond-async"], 0),
            (&["Respond-Async; x=y"], 0),
            (&["wait=60"], 60),
            (&["respond-async, WAIT = 5"], 5),
            (&["return=minimal", "wait=\"7\""], 7),
            (&["wait=0"], 0),
            (&["wait=-1"], 10),
            (&["wait=1.5"], 10),
            (&["wait=5, wait=6"], 5),
            (&["wait"], 10),
        ] {
            assert_eq!(asked(values), Duration::from_secs(seconds), "{values:?}");
        }
    }
}
