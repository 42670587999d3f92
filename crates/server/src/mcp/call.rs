//! The tools: arguments are read, the work is done elsewhere, the answer is a document.

use std::sync::Arc;

use proofmark_receipt::document::{self, DocumentError, Field};
use proofmark_receipt::{Json, Receipt};
use proofmark_verifier::{Tenant, boundary};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam, Resource,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::Semaphore;

use super::{DECIDE, raw, resource};
use crate::keys::Caller;
use crate::problem::Problem;
use crate::sent;
use crate::work::{self, Wanted};
use crate::workbench::Workbench;

/// The most calls that are worked on at once; more are told to come back.
const MAX_AT_ONCE: usize = 64;

static PLACES: Semaphore = Semaphore::const_new(MAX_AT_ONCE);
/// The most verifications that are waited for at once; the queue is what bounds them for each tenant.
const MAX_VERIFYING: usize = 1_024;
static VERIFYING: Semaphore = Semaphore::const_new(MAX_VERIFYING);

/// Waits until no call is worked on.
pub(super) async fn idle() {
    #[expect(clippy::cast_possible_truncation, reason = "they are 64 and 1,024")]
    let all = (PLACES.acquire_many(MAX_AT_ONCE as u32), VERIFYING.acquire_many(MAX_VERIFYING as u32));
    drop((all.0.await, all.1.await));
}

/// What a tool answers with.
struct Answer {
    /// The document, byte for byte.
    text: String,
    /// Where it is kept.
    kept: Option<Resource>,
}

/// Why a tool has no answer, completing "failed to …", with the mend.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// Calls a tool. What is wrong with its arguments is an answer the model can read, with the mend.
pub(super) async fn call(
    bench: &Arc<Workbench>,
    caller: Caller,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name;
    if !super::tools()?.iter().any(|tool| tool.name == name) {
        let name: String = name.chars().take(60).collect();
        return Err(ErrorData::invalid_params(
            format!("there is no tool `{name}`; `tools/list` says what there is"),
            None,
        ));
    }
    let places = if name == "cb_verify_work" { &VERIFYING } else { &PLACES };
    let answered = match (places.try_acquire(), raw::arguments(request.arguments.as_ref())) {
        (Err(_), _) => {
            Err(Failure("take the call: there are too many at once; send it again after a second".to_owned()))
        }
        (Ok(_), Err(message)) => Err(Failure(message)),
        (Ok(_place), Ok(arguments)) if name == "cb_verify_work" => {
            verify(bench, caller.tenant, &arguments, &context).await
        }
        (Ok(_place), Ok(arguments)) => {
            let (bench, name) = (Arc::clone(bench), name.to_string());
            let work = tokio::task::spawn_blocking(move || answer(&bench, &caller, &name, &arguments));
            work.await.unwrap_or_else(|error| Err(error.into()))
        }
    };
    Ok(result(answered).into())
}

fn result(answered: Result<Answer, Failure>) -> CallToolResult {
    let structured = |text: &str| serde_json::from_str(text).ok();
    match answered {
        Ok(Answer { text, kept }) => {
            let mut result = CallToolResult::success(Vec::new());
            result.structured_content = structured(&text);
            result.content.push(ContentBlock::text(text));
            result.content.extend(kept.map(ContentBlock::ResourceLink));
            result
        }
        Err(Failure(message)) => CallToolResult::error(vec![ContentBlock::text(format!("failed to {message}"))]),
    }
}

/// Verifies, and tells the client of every check that is done. A call that is cancelled kills what runs.
async fn verify(
    bench: &Arc<Workbench>,
    tenant: Tenant,
    arguments: &Json,
    context: &RequestContext<RoleServer>,
) -> Result<Answer, Failure> {
    let failed = |problem: Problem| Failure(format!("verify the work: {}", problem.message()));
    let text = arguments.to_text();
    let wanted = Wanted { tenant, text, chain: None, supersedes: None, replayable: None, as_job: false };
    let mut begun = work::begin(bench, wanted).await.map_err(failed)?;
    let told = tell(begun.views(), context);
    let receipt = tokio::select! {
        () = context.ct.cancelled() => return Err(Failure("finish: the call was cancelled".to_owned())),
        // Every step is told before the answer.
        receipt = async { tokio::join!(told, begun.receipt()).1 } => receipt.map_err(failed)?,
    };
    Ok(Answer { text: receipt.to_text(), kept: Some(link(&receipt)) })
}

/// Tells the client of every step, until there are no more.
async fn tell(
    mut views: tokio::sync::watch::Receiver<proofmark_verifier::JobView>,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else { return };
    loop {
        let (done, total, over) = {
            let view = views.borrow_and_update();
            (view.done, view.total, view.state.is_end())
        };
        #[expect(clippy::cast_precision_loss, reason = "a suite has at most 10,000 checks")]
        let told = ProgressNotificationParam::new(token.clone(), done as f64)
            .with_total(total as f64)
            .with_message(format!("{done} of {total} checks done"));
        // A client that is gone needs no telling.
        drop(context.peer.notify_progress(told).await);
        if over || views.changed().await.is_err() {
            return;
        }
    }
}

fn answer(bench: &Workbench, caller: &Caller, name: &str, arguments: &Json) -> Result<Answer, Failure> {
    let tenant = &caller.tenant;
    match name {
        "accept_step" => {
            let accepted = bench.accept(caller, None, &sent::attempt(arguments)?)?;
            Ok(Answer { text: accepted.to_json().to_text(), kept: Some(link(&accepted.receipt)) })
        }
        DECIDE => {
            let request = boundary::Request::read(arguments);
            let request = request.map_err(|error| Failure(format!("read the request: {error}")))?;
            Ok(Answer { text: bench.decide(tenant, &request)?, kept: None })
        }
        "verify_receipt" => {
            let (text, trust) = sent::presented(arguments)?;
            Ok(Answer { text: bench.check(&text, trust.as_deref()).to_json("receipt").to_text(), kept: None })
        }
        _ => {
            let id = id(arguments).map_err(|error| Failure(format!("read the arguments: {error}")))?;
            let receipt = bench.receipt(tenant, &id)?.map(|receipt| receipt.to_text());
            let found = receipt.map_or_else(|| bench.decision(tenant, &id), |text| Ok(Some(text)))?;
            let none = || Failure(format!("find `{}`: no receipt with that id is kept here", document::shown(&id)));
            Ok(Answer { text: found.ok_or_else(none)?, kept: None })
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
