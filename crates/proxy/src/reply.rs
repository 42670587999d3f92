//! Responses, and what is read of the server's.

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;
use proofmark_decider::NoJudge;
use proofmark_guard::{SseEvent, SseItem};
use proofmark_receipt::json;
use proofmark_server::problem::Problem;
use proofmark_server::reply::JSON;
use proofmark_server::share::Share;

/// A message of the guard itself, in the form that the client takes.
pub(super) fn own(status: StatusCode, message: String, accept: &str) -> Response {
    let mut headers = HeaderMap::new();
    let takes = |what: &str| accept.contains(what);
    let as_event = status.is_success() && takes("text/event-stream") && !takes(JSON) && !takes("*/*");
    let (media_type, text) = if as_event { ("text/event-stream", event(&message)) } else { (JSON, message) };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response(status, headers, text)
}

/// A message of the guard itself as an event of a stream.
pub(super) fn event(message: &str) -> String {
    SseItem::Event(SseEvent::message()).written(Some(message))
}

/// A response of these parts.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// What a body is declared to be, in lower case and without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|declared| declared.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A whole body of the server.
///
/// # Errors
/// Why it cannot be used.
pub(super) async fn gather(body: Incoming, most: usize, memory: &mut Share) -> Result<Vec<u8>, &'static str> {
    if body.size_hint().lower() > most as u64 {
        return Err("the server's answer is too long");
    }
    let mut parts = Body::new(body).into_data_stream();
    let mut bytes = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| "the server's answer ends early")?;
        if bytes.len().saturating_add(part.len()) > most {
            return Err("the server's answer is too long");
        }
        memory.grow(part.len()).map_err(|_| "too many long answers are read at the moment")?;
        bytes.extend_from_slice(&part);
    }
    memory.grow(json::read_size(&bytes)).map_err(|_| "too many long answers are read at the moment")?;
    Ok(bytes)
}

/// The server cannot be asked.
pub(super) fn unreachable(error: &Error) -> Problem {
    bad_gateway(why_unreachable(error))
}

/// Why the server cannot be asked. What it is called and where it is does not concern clients.
pub(super) fn why_unreachable(error: &Error) -> &'static str {
    if error.is_connect() {
        "the server cannot be reached"
    } else {
        "the server ended the connection without an answer"
    }
}

/// No session can begin, so nothing is decided.
pub(super) fn no_judge(why: NoJudge) -> Problem {
    match why {
        NoJudge::Here(error) => error.into(),
        NoJudge::There(_) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "policy_unavailable", format!("failed to {why}"))
        }
    }
}

/// The server's answer cannot be passed on.
pub(super) fn bad_gateway(why: &'static str) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "bad_gateway", why)
}
