//! `/ui/jobs/{id}`: a verification that runs.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use axum::response::sse::Event;
use proofmark_jobs::{Cancelled, JobState, JobView};
use proofmark_receipt::ReceiptId;
use proofmark_server::context::Head;
use proofmark_server::follow_job;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_server::sign_ins::Token;
use proofmark_server::state::AppState;
use serde::Serialize;

use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, number};

/// How wide the bar is, in units of its picture.
const WIDTH: usize = 1_000;

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    id: String,
    progress: Progress,
    since: When,
    error: Option<Shown>,
    may_cancel: bool,
}

/// How far a job is, for the page and for its script.
#[derive(Serialize)]
struct Progress {
    heading: String,
    /// Of the bar.
    width: usize,
    over: bool,
    /// The receipt, once there is one.
    receipt: Option<String>,
}

fn no_job() -> Problem {
    Problem::not_found("job").help("it ended long ago, does not exist, or belongs to another tenant")
}

fn view(visit: &Visit<'_>) -> Result<JobView, Problem> {
    visit.context.only(&[])?;
    let id = visit.context.variable("id").parse::<ReceiptId>().map_err(|_| no_job())?;
    let found = visit.context.services.verifications.job(&visit.context.caller.tenant, &id)?;
    found.ok_or_else(no_job)
}

impl Progress {
    fn of(view: &JobView) -> Self {
        let (done, total) = (number(view.done as u64), number(view.total as u64));
        let heading = match &view.state {
            JobState::Waiting => match &view.lacking {
                Some(why) => format!("Waits: {why}"),
                None => format!("Waits for its turn: {total} checks"),
            },
            JobState::Running => format!("{done} of {total} checks done"),
            JobState::Done => "Done".to_owned(),
            JobState::Failed(_) => "It ended without a receipt".to_owned(),
            JobState::Cancelled => "Cancelled".to_owned(),
        };
        Self {
            heading,
            width: WIDTH * view.done.min(view.total) / view.total.max(1),
            over: view.state.is_end(),
            receipt: view.receipt.as_ref().map(|receipt| format!("/ui/receipts/{}", receipt.receipt_id())),
        }
    }
}

/// `GET /ui/jobs/{id}`: the job, or its receipt once it is done.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let view = view(visit)?;
    let progress = Progress::of(&view);
    // A link to a job that was sent to somebody leads to what came of it.
    if let Some(receipt) = &progress.receipt {
        return Ok(Reply::see_other(receipt));
    }
    let error = match &view.state {
        JobState::Failed(cause) => Some(Shown::from(cause.as_str())),
        _ => None,
    };
    let page = JobPage {
        frame: Frame::of(visit, Here::Receipts, progress.heading.clone())?,
        id: view.id.to_string(),
        since: When::ago(visit.now, view.created_at),
        error,
        may_cancel: !progress.over && visit.context.caller.role.may(proofmark_server::Role::Agent),
        progress,
    };
    html(&page)
}

/// `GET /ui/jobs/{id}/events`: how far the job is, at each change, until it is over or the sign-in ends.
pub(crate) async fn events(state: Arc<AppState>, head: Head) -> Result<Response, Problem> {
    let (token, signed_in) = (Token::of(&head.parts.headers), Arc::clone(&state));
    follow_job(&state, &head, move |view| {
        // A sign-in can end while the stream goes on, and with it the right to follow.
        let open =
            signed_in.keys().is_none() || token.as_ref().and_then(|token| signed_in.sign_ins.key(token)).is_some();
        let data = open.then(|| serde_json::to_string(&Progress::of(view)).ok()).flatten()?;
        Some(Event::default().data(data))
    })
    .await
}

/// `GET /ui/jobs/{id}/progress`: what the page of a job asks for where the events do not come.
pub(crate) fn progress(visit: &Visit<'_>) -> Result<Reply, Problem> {
    Reply::json(&Progress::of(&view(visit)?))
}

/// `POST /ui/jobs/{id}/cancel`.
pub(crate) fn cancel(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let id = visit.context.variable("id").parse::<ReceiptId>().map_err(|_| no_job())?;
    let cancelled = visit.context.services.verifications.cancel(&visit.context.caller.tenant, &id)?;
    match cancelled {
        // A job that was over already shows what came of it.
        Cancelled::Now | Cancelled::Over(_) => Ok(Reply::see_other(&format!("/ui/jobs/{id}"))),
        Cancelled::Unknown => Err(no_job()),
    }
}
