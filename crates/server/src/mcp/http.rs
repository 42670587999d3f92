//! `/mcp`: streamable HTTP.
//!
//! Clients of revision 2026-07-28 send every request for itself, and cancel it by closing the connection. Older ones have
//! a session, kept in memory until it is silent for long, through which they cancel; a server that was restarted asks
//! them to begin again. A session belongs to the key that began it: for any other it does not exist.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use proofmark_receipt::Json;
use proofmark_receipt::document::Format;

use super::Held;
use super::message::{MAX_MESSAGE, Message};
use super::sessions::SESSION;
use crate::body;
use crate::context::Head;
use crate::problem::Problem;
use crate::reply;
use crate::state::AppState;

/// Answers a message, or a client that follows its session.
pub(crate) async fn mcp(state: Arc<AppState>, head: Head, body: Body) -> Result<Response, Problem> {
    let Head { caller, mut parts, format, .. } = head;
    if matches!(format, Format::Yaml) {
        return Err(body::not_json("messages of the protocol are JSON"));
    }
    // Before the body is read: a session of another key costs no memory.
    state.sessions.check_owner(&parts.headers, &caller)?;
    let mut memory = state.limits.bytes.take(&caller.tenant, 0)?;
    let mut bytes = body::read(&parts.headers, body, MAX_MESSAGE, &mut memory).await?;
    let mut call = None;
    if !bytes.is_empty() {
        let Message { json, arguments } = Message::read(&bytes).map_err(|error| {
            Problem::bad(error.code(), format!("read the message: {error}")).maybe_help(error.help())
        })?;
        if is_greeting(&json) && !parts.headers.contains_key(SESSION) {
            // The handler of the session keeps this share until the session is over (`Handler::initialize`).
            parts.extensions.insert(Arc::new(state.limits.sessions.take(&caller.tenant, 1)?));
        }
        if let Some(session) = parts.headers.get(SESSION).and_then(|session| session.to_str().ok()) {
            match state.sessions.begin_call(session, &json) {
                // Its id is free again when nothing is worked on for it, and nothing of its answer is left to be written.
                Ok(open) => call = open.map(Arc::new),
                Err(refusal) => return Ok(json_rpc(refusal)),
            }
        }
        // What was read is held once more, as a tree.
        memory.grow(bytes.len())?;
        bytes = json.to_text().into_bytes();
        if let Some(arguments) = arguments {
            parts.extensions.insert(arguments);
        }
    }
    // A client that gets follows its session until that ends.
    let follows = (parts.method == Method::GET).then(|| state.limits.streams.take(&caller.tenant, 1)).transpose()?;
    let held: Held = Arc::new(Mutex::new(memory));
    // The body is unpacked and written again without the arguments, so these two no longer fit.
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(caller.clone());
    parts.extensions.insert(Arc::clone(&held));
    if let Some(call) = &call {
        parts.extensions.insert(Arc::clone(call));
    }
    let response = state.sessions.handle(Request::from_parts(parts, Body::from(bytes)), caller).await;
    Ok(body::holding(response, (held, follows, call)))
}

fn json_rpc(answer: String) -> Response {
    let mut response = Response::new(Body::from(answer));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(reply::JSON));
    response
}

/// Whether a message begins a session.
fn is_greeting(message: &Json) -> bool {
    message.as_object().and_then(|message| message.get("method")?.as_str()) == Some("initialize")
}
