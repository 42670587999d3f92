//! What each request is answered with, over either transport.

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, object};

use super::request::{LAST_WITH_SESSIONS, Method, REVISIONS, Refusal, Request, STATELESS};
use super::said::Says;
use super::server::Server;
use super::{call, resource, tools};

const INSTRUCTIONS: &str = "Checks work and issues signed receipts that anyone can verify. Use `cb_verify_work` to run \
    work against tests or constraints, `accept_step` to judge a workflow step by its contract, `decide_action` before \
    a side effect, `verify_receipt` on receipts from others. Keep the text of a receipt as it is: its signature is over \
    these bytes.";

/// The result of a request. When this future is dropped, work that was begun for it ends.
pub(super) async fn answer(server: &Server, request: Request, says: &Says) -> Result<Object, Refusal> {
    let is_stateless = request.is_stateless;
    let (result, may_be_cached) = match request.method {
        Method::Initialize => (greeted(&request)?, false),
        Method::Ping => (Object::new(), false),
        Method::Discover => (discovered(), true),
        Method::ListTools => (object! { "tools": tools::usable(server.services.decides())? }, true),
        Method::CallTool => (call::call(server, request, says).await?, false),
        Method::ListResources => (object! { "resources": Vec::<Json>::new() }, true),
        Method::ListTemplates => (object! { "resourceTemplates": resource::templates() }, true),
        Method::ReadResource => (resource::read(server, &request).await?, true),
        Method::ListPrompts => (object! { "prompts": Vec::<Json>::new() }, true),
        Method::Complete => (object! { "completion": object! { "values": Vec::<Json>::new() } }, false),
    };
    Ok(if is_stateless { of_itself(result, may_be_cached) } else { result })
}

/// A result of the revision without sessions, which says of which type it is and how long it may be kept.
fn of_itself(mut result: Object, may_be_cached: bool) -> Object {
    result.insert("resultType", "complete");
    if may_be_cached {
        result.insert("ttlMs", 0);
        // What is listed depends on the policy, and what is read on the key.
        result.insert("cacheScope", "private");
    }
    result
}

/// The answer to a greeting: the client's revision, or the newest one with sessions.
pub(super) fn greeted(request: &Request) -> Result<Object, Refusal> {
    let asked = request.text("protocolVersion")?;
    for name in ["capabilities", "clientInfo"] {
        if request.params.get(name).and_then(Json::as_object).is_none() {
            return Err(Refusal::invalid(format!("`params.{name}` is not an object")));
        }
    }
    let known = REVISIONS.into_iter().find(|known| *known == asked && *known != STATELESS);
    if known.is_none() {
        tracing::debug!(asked = shown(asked), "the client asks for a revision without `initialize`, or an unknown one");
    }
    Ok(object! {
        "protocolVersion": known.unwrap_or(LAST_WITH_SESSIONS),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn discovered() -> Object {
    let revisions: Vec<Json> = REVISIONS.map(Json::from).into();
    object! {
        "supportedVersions": revisions,
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "_meta": object! { "io.modelcontextprotocol/serverInfo": server_info() },
    }
}

fn capabilities() -> Object {
    object! { "resources": Object::new(), "tools": Object::new() }
}

fn server_info() -> Object {
    object! { "name": "proofmark", "title": "Proofmark", "version": env!("CARGO_PKG_VERSION") }
}
