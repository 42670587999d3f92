//! The tools: arguments are read here, the work is done elsewhere, and the answer is a document.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_decider::DecideError;
use proofmark_receipt::document::{self, DocumentError, Field};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, Receipt};
use proofmark_store::{StoreError, Tenant};
use proofmark_verifier::AcceptError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam, Resource,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::{ACCEPT, DECIDE, Handler, VERIFY, hold, hold_instead, resource};
use crate::attempt_body::{AttemptBody, AttemptBodyError};
use crate::keys::Caller;
use crate::problem::Problem;
use crate::receipt_body::{ReceiptBody, ReceiptBodyError};
use crate::services::Services;
use crate::stop::MAX_ANSWER_TIME;
use crate::submit::{self, DEFAULT_WAIT, Source, Submission};

/// What a tool answers with.
struct Answer {
    /// The document, byte for byte.
    text: String,
    stored: Option<Resource>,
    /// The id of the document, where it was stored.
    id: Option<String>,
}

impl Answer {
    fn of(text: String) -> Self {
        Self { text, stored: None, id: None }
    }

    /// An answer with which a receipt was stored.
    fn stored(text: String, receipt: &Receipt) -> Self {
        Self { text, stored: Some(link(receipt)), id: Some(receipt.receipt_id().to_string()) }
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

failures! { AcceptError AttemptBodyError DecideError ReceiptBodyError StoreError }

/// Calls a tool. What is wrong with its arguments is an answer that the model can read.
pub(super) async fn call(
    handler: &Handler,
    caller: Caller,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = super::arguments(&request, &context)?;
    let name = request.name;
    // Checked before any work: `answer` takes every name that it does not know for `get_receipt`.
    if !super::tools()?.iter().any(|tool| tool.name == name) {
        let message = format!("unknown tool `{}`; `tools/list` names the tools", document::shown(&name));
        return Err(ErrorData::invalid_params(message, None));
    }
    let answered = match &*name {
        // The queue's workers run it, so it needs no thread while it waits.
        VERIFY => verify(handler, caller.tenant, &arguments, &context).await,
        _ => match hold(&context, ahead(&name)) {
            Ok(()) => in_thread(handler, caller, name.to_string(), arguments, &context).await,
            Err(problem) => Err(busy(problem)),
        },
    };
    let answered = answered.and_then(|answer| match hold_instead(&context, ahead(&name), answer.text.len()) {
        Ok(()) => Ok(answer),
        Err(problem) => Err(unsent(problem, answer.id.as_deref())),
    });
    Ok(result(answered).into())
}

/// How much of the answer's memory is taken before the work. What these tools store may spend receipts, or an attempt: it must
/// not be done for a client that then gets no answer. A verification takes long and spends nothing, so its answer is counted
/// when it is there.
fn ahead(name: &str) -> usize {
    match name {
        DECIDE | ACCEPT => MAX_BYTES,
        _ => 0,
    }
}

/// There is an answer, and no memory to send it.
fn unsent(problem: Problem, id: Option<&str>) -> Failure {
    match id {
        Some(id) => {
            Failure(format!("send the result: it is stored as `{id}`; ask for it with `get_receipt` after a second"))
        }
        None => busy(problem),
    }
}

/// Works in a thread of its own, which stops when no client waits for it any more.
async fn in_thread(
    handler: &Handler,
    caller: Caller,
    name: String,
    arguments: Arc<Json>,
    context: &RequestContext<RoleServer>,
) -> Result<Answer, Failure> {
    let place = handler.limits.places.take(&caller.tenant).await.map_err(busy)?;
    // This future owns it: when it ends, also by a cancellation, the thread is told to stop.
    let stop = handler.stops.flag();
    let (services, flag) = (Arc::clone(&handler.services), stop.shared());
    let work = tokio::task::spawn_blocking(move || {
        // Given back when the work is done, whether or not its client still waits.
        let _held = place;
        answer(&services, &caller, &name, &arguments, &flag)
    });
    tokio::select! {
        () = context.ct.cancelled() => Err(Failure("finish: the call was cancelled".to_owned())),
        answered = tokio::time::timeout(MAX_ANSWER_TIME, work) => match answered {
            Ok(answered) => answered.unwrap_or_else(|error| Err(Failure(format!("finish ({error})")))),
            Err(_) => Err(Failure(format!("finish: {}", Problem::too_slow().text()))),
        },
    }
}

fn result(answered: Result<Answer, Failure>) -> CallToolResult {
    // Numbers pass through doubles here. What is signed is the text, which goes along unchanged.
    let structured = |text: &str| serde_json::from_str(text).ok();
    match answered {
        Ok(Answer { text, stored, .. }) => {
            let mut result = CallToolResult::success(Vec::new());
            result.structured_content = structured(&text);
            result.content.push(ContentBlock::text(text));
            result.content.extend(stored.map(ContentBlock::ResourceLink));
            result
        }
        Err(Failure(message)) => CallToolResult::error(vec![ContentBlock::text(format!("failed to {message}"))]),
    }
}

fn busy(problem: Problem) -> Failure {
    Failure(format!("take the call: {}", problem.text()))
}

/// Verifies, and reports every check that is done to the client. A call that is cancelled kills what runs.
async fn verify(
    handler: &Handler,
    tenant: Tenant,
    arguments: &Json,
    context: &RequestContext<RoleServer>,
) -> Result<Answer, Failure> {
    let _place = handler.limits.verifying.take(&tenant, 1).map_err(busy)?;
    let failed = |problem: Problem| {
        if let Some(cause) = problem.log_cause() {
            tracing::error!(code = problem.code(), cause, tool = VERIFY, "failed");
        }
        Failure(format!("verify the work: {}", problem.text()))
    };
    let submission = Submission {
        tenant,
        request: Source::Document(arguments.clone()),
        chain: None,
        supersedes: None,
        replayable: None,
        wait: DEFAULT_WAIT,
    };
    let mut pending = submit::begin(&handler.services, |_| Ok(submission)).await.map_err(failed)?;
    let reports = report_progress(pending.views(), context);
    let receipt = tokio::select! {
        // The return drops `pending`, which cancels the job.
        () = context.ct.cancelled() => return Err(Failure("finish: the call was cancelled".to_owned())),
        // Every step is reported before the answer.
        receipt = async { tokio::join!(reports, pending.receipt()).1 } => receipt.map_err(failed)?,
    };
    Ok(Answer::stored(receipt.to_text(), &receipt))
}

/// Reports every step to the client, until there are no more.
async fn report_progress(
    mut views: tokio::sync::watch::Receiver<proofmark_jobs::JobView>,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else { return };
    loop {
        let (done, total, over) = {
            // The borrow locks the channel, so it ends before the next `await`.
            let view = views.borrow_and_update();
            (view.done, view.total, view.state.is_end())
        };
        #[expect(clippy::cast_precision_loss, reason = "a suite has at most 10,000 checks")]
        let progress = ProgressNotificationParam::new(token.clone(), done as f64)
            .with_total(total as f64)
            .with_message(format!("{done} of {total} checks done"));
        // A client that is gone needs no report.
        drop(context.peer.notify_progress(progress).await);
        if over || views.changed().await.is_err() {
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
            let request = proofmark_boundary::Request::read(arguments);
            let request =
                request.map_err(|error| Failure::new(format_args!("read the request: {error}"), error.help()))?;
            Ok(Answer::of(services.decide(caller, &request, stop)?))
        }
        "verify_receipt" => {
            let body = ReceiptBody::read(arguments)?;
            Ok(Answer::of(services.check(&body).to_json("receipt").to_text()))
        }
        _ => {
            let id = id(arguments)
                .map_err(|error| Failure::new(format_args!("read the arguments: {error}"), error.help()))?;
            let receipt = services.receipt(tenant, &id)?.map(|receipt| receipt.to_text());
            let found = receipt.map_or_else(|| services.decision(tenant, &id), |text| Ok(Some(text)))?;
            let none = || Failure(format!("find `{}`: no receipt with that id is stored here", document::shown(&id)));
            Ok(Answer::of(found.ok_or_else(none)?))
        }
    }
}

fn link(receipt: &Receipt) -> Resource {
    let id = receipt.receipt_id().to_string();
    Resource::new(resource::receipt_uri(&id), id).with_mime_type("application/vrf+json")
}

/// The argument of `get_receipt`.
fn id(arguments: &Json) -> Result<String, DocumentError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["id"])?;
    Ok(fields.need("id", "write the id of the receipt")?.text()?.to_owned())
}
