//! `/mcp`: streamable HTTP.
//!
//! Clients of revision 2026-07-28 send every request for itself, and cancel it by closing the connection. Older ones have
//! a session, kept in memory until it is silent for long, through which they cancel; a server that was restarted asks
//! them to begin again. A session belongs to the key that began it: for any other it does not exist.
//!
//! A request of a session is answered by a stream of events, which tells how far the work is and ends with the answer; a client that
//! loses it may follow the work by another one while it goes on. A request that stands for itself is answered by JSON, unless something
//! is said before the answer, or the answer takes long.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use proofmark_guard::{Headers, Kind, Message, MessageError, MessageId};
use proofmark_receipt::document::Format;

use super::request::{Held, INVALID_REQUEST, METHOD_NOT_FOUND, REVISIONS, Refusal, Request};
use super::said::{Heard, Hears};
use super::sessions::Session;
use super::{MAX_MESSAGE, MESSAGE, answer, calls};
use crate::body;
use crate::context::Head;
use crate::problem::Problem;
use crate::reply::JSON;
use crate::state::AppState;

/// The media type of streams of events.
const EVENTS: &str = "text/event-stream";
/// The header that names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the last event that a client got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// How long a client waits for JSON before it gets a stream, and how often a silent stream sends a comment, so that the connection
/// stays open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The header by which proxies are told to pass on what comes.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// What a silent stream sends.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// How long a client that lost a stream is told to wait, in milliseconds.
const RETRY: u64 = 3_000;

/// `POST /mcp`: answers one message.
pub(crate) async fn post(state: Arc<AppState>, head: Head, body: Body) -> Result<Response, Problem> {
    let Head { caller, parts, format, .. } = head;
    if matches!(format, Format::Yaml) {
        return Err(body::not_json("messages of the protocol are JSON"));
    }
    check_accept(&parts.headers, &[JSON, EVENTS])?;
    // Before the body is read: a session of another key costs no memory.
    let session = session_id(&parts.headers)?.map(|id| state.sessions.find(id, &caller)).transpose()?;
    let mut memory = state.limits.bytes.take(&caller.tenant, 0)?;
    let sent = body::read(&parts.headers, body, MAX_MESSAGE, &mut memory).await?;
    let is_small = sent.is_small();
    let reading = move || {
        let bytes = sent.unpack(&mut memory)?;
        // What was read is held once more, as a tree.
        memory.grow(bytes.len())?;
        Ok::<_, Problem>((read(&parts.headers, bytes), parts, memory))
    };
    let (message, parts, memory) = match is_small {
        // Without a place: a call can be cancelled while its caller has none left.
        true => reading(),
        false => {
            let place = state.limits.places.take(&caller.tenant).await?;
            let reading = move || (reading(), place).0;
            tokio::task::spawn_blocking(reading).await.map_err(|_| Problem::internal())?
        }
    }?;
    let (message, is_alone) = match message {
        Ok(read) => read,
        Err(refusal) => return Ok(json(StatusCode::BAD_REQUEST, refusal)),
    };
    let held: Held = Arc::new(Mutex::new(memory));
    match message.kind.clone() {
        Kind::Request { id, method } => {
            let request = Request::read(&method, message.body, caller.clone(), Some(Arc::clone(&held)));
            let response = match session {
                _ if is_alone => alone(&state, &id, request).await,
                Some(session) => within(&state, session, &id, request),
                None if method == "initialize" => {
                    greet(&id, request, || state.sessions.begin(caller, parts.extensions.get()))?
                }
                None => return Err(no_session()),
            };
            Ok(body::holding(response, held))
        }
        Kind::Notification { .. } | Kind::Answer { .. } | Kind::Fault if session.is_none() && !is_alone => {
            Err(no_session())
        }
        Kind::Notification { method } => {
            let cancelled = message.cancels().filter(|_| method == "notifications/cancelled");
            if let (Some(session), Some(id)) = (session, cancelled) {
                session.calls.cancel(&id);
            }
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Kind::Answer { .. } | Kind::Fault if is_alone => {
            let refusal = MessageError { code: INVALID_REQUEST, id: None, reason: "nothing was asked".to_owned() };
            Ok(json(StatusCode::BAD_REQUEST, refusal.answer()))
        }
        // This server asks its clients nothing; one that answers nevertheless is not told off.
        Kind::Answer { .. } | Kind::Fault => Ok(StatusCode::ACCEPTED.into_response()),
    }
}

/// `GET /mcp`: follows a session, or again a call of it whose stream was lost. Nothing is said but in answer to a request, so the stream of
/// a session stays empty; clients open it nevertheless.
pub(crate) async fn follow(state: Arc<AppState>, head: Head, _: Body) -> Result<Response, Problem> {
    let Head { caller, parts, .. } = head;
    if parts.method == Method::HEAD {
        return Err(Problem::method_not_allowed());
    }
    check_accept(&parts.headers, &[EVENTS])?;
    check_has_sessions(&parts.headers)?;
    let id = session_id(&parts.headers)?.ok_or_else(no_session)?;
    let session = state.sessions.find(id, &caller)?;
    let share = state.limits.streams.take(&caller.tenant, 1)?;
    let response = match parts.headers.get(LAST_EVENT).map(lost) {
        None => {
            let (mut over, mut stopping) = (session.over(), state.stops.stopping());
            let end = async move {
                tokio::select! {
                    // The session has gone; nothing is ever sent.
                    _ = over.changed() => {}
                    _ = stopping.wait_for(|stops| *stops) => {}
                }
            };
            let silence = stream::unfold((), async |()| {
                tokio::time::sleep(KEEP_ALIVE).await;
                Some((COMMENT, ()))
            });
            events(silence.take_until(Box::pin(end)))
        }
        Some(lost) => {
            let again = lost.and_then(|(call, reports)| Some((call, session.calls.hear_again(call, reports)?)));
            match again {
                Some((call, hears)) => events(heard(hears, Some(call))),
                // Not an error: clients would ask again for ever.
                None => events(stream::empty()),
            }
        }
    };
    Ok(body::holding(response, share))
}

/// `DELETE /mcp`: ends a session.
pub(crate) async fn end(state: Arc<AppState>, head: Head, _: Body) -> Result<Response, Problem> {
    let Head { caller, parts, .. } = head;
    check_has_sessions(&parts.headers)?;
    state.sessions.end(session_id(&parts.headers)?.ok_or_else(no_session)?, &caller)?;
    // The protocol names no status, and its Python client takes anything but this and 200 for a failure.
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The message of a body, and whether it stands for itself: it belongs to no session.
///
/// # Errors
/// The answer to one that is refused.
fn read(headers: &HeaderMap, bytes: Vec<u8>) -> Result<(Message, bool), String> {
    let message = Message::read_own(bytes, MESSAGE).map_err(|error| error.answer())?;
    let (id, method) = match &message.kind {
        Kind::Request { id, method } => (Some(id.clone()), method.as_str()),
        Kind::Notification { method } => (None, method.as_str()),
        Kind::Answer { .. } | Kind::Fault => (None, ""),
    };
    let refused = |error: MessageError| MessageError { id: id.clone(), ..error }.answer();
    let headers = Headers::read(pairs(headers)).map_err(refused)?;
    if let (Some(version), Some(id)) = (headers.version().filter(|version| !REVISIONS.contains(version)), &id) {
        return Err(Refusal::version(version).answer(id));
    }
    if method == "initialize" && !message.is_stateless() {
        // It is of a revision with sessions, whatever revision it asks for.
        return match headers.version() {
            Some(version) if message.param("protocolVersion") != Some(version) => {
                let reason =
                    "the header `MCP-Protocol-Version` is not the revision that the client asks for".to_owned();
                Err(refused(MessageError { code: INVALID_REQUEST, id: None, reason }))
            }
            Some(_) | None => Ok((message, false)),
        };
    }
    headers.check_own(&message).map_err(refused)?;
    let is_alone = headers.is_stateless(&message) || method == "server/discover";
    Ok((message, is_alone))
}

/// Answers a request that stands for itself. It is cancelled when its client leaves.
async fn alone(state: &AppState, id: &MessageId, request: Result<Request, Refusal>) -> Response {
    match request {
        Err(refusal) => {
            let is_unknown = refusal.code == METHOD_NOT_FOUND;
            let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
            json(status, refusal.answer(id))
        }
        Ok(request) => {
            let (work, hears) = calls::begin(&state.sessions.server, id.clone(), request);
            body::holding(respond(hears).await, work)
        }
    }
}

/// Answers a request of a session. It goes on when its client leaves, who may come again.
fn within(state: &AppState, session: Arc<Session>, id: &MessageId, request: Result<Request, Refusal>) -> Response {
    let begun = request.and_then(|request| session.calls.begin(&state.sessions.server, id.clone(), request));
    // Whoever ends the session must not wait for this answer.
    drop(session);
    match begun {
        Err(refusal) => json(StatusCode::OK, refusal.answer(id)),
        Ok((call, hears)) => {
            // Without data: by its id a client can follow the call again before anything is said.
            let begun = format!("id: {call}-0\nretry: {RETRY}\ndata: \n\n");
            events(stream::iter([begun.into()]).chain(heard(hears, Some(call))))
        }
    }
}

/// Begins a session.
fn greet(
    id: &MessageId,
    request: Result<Request, Refusal>,
    begin: impl FnOnce() -> Result<String, Problem>,
) -> Result<Response, Problem> {
    let greeted = match request.and_then(|request| answer::greeted(&request)) {
        Ok(greeted) => greeted,
        Err(refusal) => return Ok(json(StatusCode::BAD_REQUEST, refusal.answer(id))),
    };
    let session = begin()?;
    let mut response = json(StatusCode::OK, id.result(&greeted));
    // Its digits are those of a header.
    response.headers_mut().extend(HeaderValue::from_str(&session).map(|session| (SESSION, session)));
    Ok(response)
}

/// The answer as JSON where nothing is said before it, and soon; otherwise a stream that ends with it.
async fn respond(mut hears: Hears) -> Response {
    match tokio::time::timeout(KEEP_ALIVE, hears.next()).await {
        Ok(Some(Heard::Answer(answer))) => json(StatusCode::OK, answer),
        first => {
            let first = first.ok().flatten().map(|first| event(&first, None));
            events(stream::iter(first).chain(heard(hears, None)))
        }
    }
}

fn json(status: StatusCode, message: impl Into<Bytes>) -> Response {
    (status, [(CONTENT_TYPE, JSON)], message.into()).into_response()
}

fn events(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    // Proxies that gather answers would keep them until the end.
    let headers = [(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-cache"), (BUFFERING, "no")];
    (headers, Body::from_stream(events.map(Ok::<_, Infallible>))).into_response()
}

/// What is heard, as events.
fn heard(hears: Hears, call: Option<u64>) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold((hears, call), async |(mut hears, call)| {
        let next = match tokio::time::timeout(KEEP_ALIVE, hears.next()).await {
            Ok(heard) => event(&heard?, call),
            Err(_) => COMMENT,
        };
        Some((next, (hears, call)))
    })
}

/// One message as an event. With the number of its call and of the report, a client that loses the stream can say what it got.
fn event(heard: &Heard, call: Option<u64>) -> Bytes {
    let id = match (heard, call) {
        (Heard::Report(number, _), Some(call)) => format!("id: {call}-{number}\n"),
        (Heard::Report(..), None) | (Heard::Answer(_), _) => String::new(),
    };
    let (Heard::Report(_, message) | Heard::Answer(message)) = heard;
    // A message is on one line.
    [id.as_bytes(), b"data: ", message, b"\n\n"].concat().into()
}

/// The call and the report that the id of an event names.
fn lost(id: &HeaderValue) -> Option<(u64, u64)> {
    let (call, report) = id.to_str().ok()?.split_once('-')?;
    Some((call.parse().ok()?, report.parse().ok()?))
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &[u8])> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
}

/// The session that a request names.
fn session_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(SESSION).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(only), None) if only.to_str().is_ok() => Ok(only.to_str().ok()),
        // Which of two is meant is a guess that proxies and servers make differently.
        (Some(_), _) => Err(Problem::bad("invalid_session", "invalid `Mcp-Session-Id`").help("send it once")),
    }
}

fn no_session() -> Problem {
    Problem::bad("no_session", "the request names no session")
        .help("begin one with `initialize`, and send `Mcp-Session-Id`")
}

/// Refuses a request about a session in a revision that has none.
fn check_has_sessions(headers: &HeaderMap) -> Result<(), Problem> {
    let headers =
        Headers::read(pairs(headers)).map_err(|error: MessageError| Problem::bad("invalid_header", error.reason))?;
    match headers.version() {
        Some(version) if version > super::request::LAST_WITH_SESSIONS => Err(Problem::method_not_allowed()),
        Some(version) if !REVISIONS.contains(&version) => {
            let message = "the header `MCP-Protocol-Version` names an unknown revision";
            Err(Problem::bad("invalid_header", message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a client that does not take these media types. Answers may be of either, whatever the client prefers.
fn check_accept(headers: &HeaderMap, needed: &[&str]) -> Result<(), Problem> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accepted: Vec<String> = values.flat_map(|value| value.split(',')).filter_map(accepted).collect();
    if needed.iter().all(|needed| accepted.iter().any(|accepted| accepted == needed)) {
        return Ok(());
    }
    let needed = needed.join(", ");
    Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", "the client does not take the answer's media type")
        .help(format!("send `Accept: {needed}`")))
}

/// The media type of one element of `Accept`, in lower case, unless it has no weight (RFC 9110, section 12.4.2).
fn accepted(element: &str) -> Option<String> {
    let mut parts = element.split(';').map(str::trim);
    let media_type = parts.next()?.to_ascii_lowercase();
    let is_refused = parts.any(|parameter| match parameter.split_once('=') {
        Some((name, weight)) if name.eq_ignore_ascii_case("q") => weight.parse() == Ok(0.0),
        Some(_) | None => false,
    });
    (!is_refused).then_some(media_type)
}
