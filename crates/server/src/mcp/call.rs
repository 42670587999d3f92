//! The tools: arguments are read here, the work is done elsewhere, and the answer is a document.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_decider::DecideError;
use proofmark_jobs::JobView;
use proofmark_receipt::document::{self, DocumentError, Field};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, Object, Receipt, object};
use proofmark_store::{StoreError, while_wanted};
use proofmark_verifier::AcceptError;
use tokio::sync::watch;
use tracing::Span;

use super::request::{Refusal, Request};
use super::resource;
use super::said::Says;
use super::server::Server;
use super::tools::{self, ACCEPT, COLLECT, DECIDE, VERIFY};
use crate::attempt_body::{AttemptBody, AttemptBodyError};
use crate::keys::Caller;
use crate::problem::Problem;
use crate::proofs_body::{self, ProofsBodyError};
use crate::quorums::{self, ReviewsBody, ReviewsError};
use crate::receipt_body::{ReceiptBody, ReceiptBodyError};
use crate::services::Services;
use crate::stop::MAX_ANSWER_TIME;
use crate::submit::{self, DEFAULT_WAIT, Source, Submission};

/// What a tool answers with.
struct Answer {
    /// The document, byte for byte.
    text: String,
    /// The id of the receipt that was stored with it.
    id: Option<String>,
}

impl Answer {
    fn of(text: String) -> Self {
        Self { text, id: None }
    }

    /// An answer with which a receipt was stored.
    fn stored(text: String, receipt: &Receipt) -> Self {
        Self { text, id: Some(receipt.receipt_id().to_string()) }
    }
}

/// Why a tool has no answer, completing "failed to …", and what to do.
struct Failure(String);

impl Failure {
    fn new(message: impl Display, help: Option<impl Display>) -> Self {
        match help {
            None => Self(message.to_string()),
            Some(help) => Self(format!("{message}; {help}")),
        }
    }
}

/// The errors of tools, whose message and help an answer has in one text.
macro_rules! failures {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(&error, error.help())
            }
        }
    )*};
}

failures! { AcceptError AttemptBodyError DecideError ProofsBodyError ReceiptBodyError ReviewsError StoreError }

/// Calls a tool. What is wrong with its arguments is an answer that the model can read.
pub(super) async fn call(server: &Server, mut request: Request, says: &Says) -> Result<Object, Refusal> {
    let name = request.text("name")?.to_owned();
    let arguments = match request.params.remove("arguments") {
        Some(arguments @ Json::Object(_)) => arguments,
        None | Some(Json::Null) => Object::new().into(),
        Some(_) => return Err(Refusal::invalid("`params.arguments` is not an object")),
    };
    // The name is checked before any work: `answer` takes every name that it does not know for `get_receipt`.
    if !tools::is_known(&name)? {
        let message = format!("unknown tool `{}`; `tools/list` names the tools", document::shown(&name));
        return Err(Refusal::invalid(message));
    }
    let answered = match &*name {
        // The queue's workers run it, so it needs no thread while it waits.
        VERIFY => verify(server, arguments, &request, says).await,
        _ => match request.hold(ahead(&name)) {
            Ok(()) => in_thread(server, request.caller.clone(), name.clone(), arguments).await,
            Err(problem) => Err(busy(&problem)),
        },
    };
    let answered = answered.and_then(|answer| match request.hold_instead(ahead(&name), answer.text.len()) {
        Ok(()) => Ok(answer),
        Err(problem) => Err(unsent(&problem, answer.id.as_deref())),
    });
    Ok(result(answered))
}

/// How much of the answer's memory is taken before the work. What these tools store may spend receipts, or an attempt: it must
/// not be done for a client that then gets no answer. A verification takes long and spends nothing, so its answer is counted
/// when it is there.
fn ahead(name: &str) -> usize {
    match name {
        DECIDE | ACCEPT | COLLECT => MAX_BYTES,
        _ => 0,
    }
}

/// There is an answer, and no memory to send it.
fn unsent(problem: &Problem, id: Option<&str>) -> Failure {
    match id {
        Some(id) => {
            Failure(format!("send the result: it is stored as `{id}`; ask for it with `get_receipt` after a second"))
        }
        None => busy(problem),
    }
}

/// Works in a thread of its own, which stops when no client waits for it any more.
async fn in_thread(server: &Server, caller: Caller, name: String, arguments: Json) -> Result<Answer, Failure> {
    let place = server.limits.places.take(&caller.tenant).await.map_err(|problem| busy(&problem))?;
    // This future owns it: when it ends, also by a cancellation, the thread is told to stop.
    let stop = server.stops.flag();
    let (services, flag, span) = (Arc::clone(&server.services), stop.shared(), Span::current());
    let work = tokio::task::spawn_blocking(move || {
        // It is given back when the work is done, whether or not its client still waits.
        let held = place;
        let work = || while_wanted(&flag, || answer(&services, &caller, &name, &arguments, &flag));
        held.priority().run(|| span.in_scope(work)).unwrap_or_else(|problem| Err(busy(&problem)))
    });
    match tokio::time::timeout(MAX_ANSWER_TIME, work).await {
        Ok(answered) => answered.unwrap_or_else(|error| Err(Failure(format!("finish ({error})")))),
        Err(_) => Err(Failure(format!("finish: {}", Problem::too_slow().text()))),
    }
}

fn result(answered: Result<Answer, Failure>) -> Object {
    let text = |text: String| Json::from(object! { "type": "text", "text": text });
    match answered {
        Ok(Answer { text: document, id }) => {
            // What is signed is the text, which goes along unchanged.
            let structured = Json::parse(document.as_bytes()).ok().filter(|json| json.as_object().is_some());
            let link = id.map(|id| {
                object! {
                    "type": "resource_link",
                    "uri": resource::receipt_uri(&id),
                    "name": id,
                    "mimeType": resource::RECEIPT_TYPE,
                }
            });
            let content: Vec<Json> = [text(document)].into_iter().chain(link.map(Json::from)).collect();
            object! { "content": content, "structuredContent"?: structured, "isError": false }
        }
        Err(Failure(message)) => object! { "content": vec![text(format!("failed to {message}"))], "isError": true },
    }
}

fn busy(problem: &Problem) -> Failure {
    Failure(format!("take the call: {}", problem.text()))
}

/// Verifies, and reports every check that is done to the client. A call that is cancelled kills what runs.
async fn verify(server: &Server, arguments: Json, request: &Request, says: &Says) -> Result<Answer, Failure> {
    let tenant = request.caller.tenant.clone();
    let _place = server.limits.verifying.take(&tenant, 1).map_err(|problem| busy(&problem))?;
    let failed = |problem: Problem| {
        if let Some(cause) = problem.log_cause() {
            tracing::error!(code = problem.code(), cause, tool = VERIFY, "failed");
        }
        Failure(format!("verify the work: {}", problem.text()))
    };
    let place = server.limits.places.take(&tenant).await.map_err(|problem| busy(&problem))?;
    let memory = server.limits.bytes.take(&tenant, 0).map_err(|problem| busy(&problem))?;
    let submission = Submission {
        tenant,
        request: Source::Document(arguments),
        chain: None,
        supersedes: None,
        replayable: None,
        wait: DEFAULT_WAIT,
        // What it is made of is counted until there is an answer.
        held: Some((memory, place)),
    };
    // Where this future is dropped, so is this, which cancels the job.
    let mut pending = submit::begin(&server.services, |_| Ok(submission)).await.map_err(failed)?;
    let reports = report_progress(pending.views(), request.progress.as_ref(), says);
    // Every step is reported before the answer.
    let ((), receipt) = tokio::join!(reports, pending.receipt());
    let receipt = receipt.map_err(failed)?;
    Ok(Answer::stored(receipt.to_text(), &receipt))
}

/// Reports every step to a client that has a token for it, until there are no more.
async fn report_progress(mut views: watch::Receiver<JobView>, token: Option<&Json>, says: &Says) {
    let Some(token) = token else { return };
    let mut before = None;
    loop {
        let (done, total, is_over) = {
            // The borrow locks the channel, so it ends before the next `await`.
            let view = views.borrow_and_update();
            (view.done, view.total, view.state.is_end())
        };
        // Progress must increase with each report.
        if before.replace((done, total)) != Some((done, total)) {
            let params = object! {
                "progressToken": token.clone(),
                "progress": done as u64,
                "total": total as u64,
                "message": format!("{done} of {total} checks done"),
            };
            let report = object! { "jsonrpc": "2.0", "method": "notifications/progress", "params": params };
            says.report(report.to_text());
        }
        if is_over || views.changed().await.is_err() {
            return;
        }
    }
}

fn answer(
    services: &Services,
    caller: &Caller,
    name: &str,
    arguments: &Json,
    stop: &AtomicBool,
) -> Result<Answer, Failure> {
    let tenant = &caller.tenant;
    match name {
        ACCEPT => {
            let accepted = services.accept(caller, None, &AttemptBody::read(arguments)?, stop)?;
            let text = accepted.to_json().to_text();
            // `None` only for a dry run, which nobody can ask for here.
            Ok(match &accepted.receipt {
                Some(receipt) => Answer::stored(text, receipt),
                None => Answer::of(text),
            })
        }
        DECIDE => {
            let mut arguments = arguments.clone();
            let proofs = proofs_body::take(&mut arguments)?;
            let request = proofmark_boundary::Request::read(&arguments);
            let request =
                request.map_err(|error| Failure::new(format_args!("read the request: {error}"), error.help()))?;
            Ok(Answer::of(services.decide(caller, &request, &proofs, stop)?))
        }
        COLLECT => {
            let bundle = services.collect(tenant, ReviewsBody::read(arguments).map_err(ReviewsError::from)?)?;
            Ok(Answer::stored(Json::from(quorums::to_json(&bundle)).to_text(), &bundle.receipt))
        }
        "verify_receipt" => {
            let body = ReceiptBody::read(arguments)?;
            Ok(Answer::of(services.check(&body).to_json("receipt").to_text()))
        }
        _ => {
            let id = id(arguments)
                .map_err(|error| Failure::new(format_args!("read the arguments: {error}"), error.help()))?;
            let receipt = services.receipt(tenant, &id)?.map(|receipt| receipt.to_text());
            let found = receipt.map_or_else(|| services.decision(tenant, &id), |text| Ok(Some(text)));
            let found = found.map_err(|error| Failure::new(format_args!("{error}"), error.help()))?;
            Ok(Answer::of(found.ok_or_else(|| {
                Failure(format!("find `{}`: no receipt with that id is stored here", document::shown(&id)))
            })?))
        }
    }
}

/// The argument of `get_receipt`.
fn id(arguments: &Json) -> Result<String, DocumentError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["id"])?;
    Ok(fields.need("id", "write the id of the receipt")?.text()?.to_owned())
}
