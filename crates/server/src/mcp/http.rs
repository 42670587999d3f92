//! The door at `/mcp`: streamable HTTP.
//!
//! Clients of revision 2026-07-28 send every request for itself, and cancel it by closing the connection. Older ones have
//! a session, kept in memory until it is silent, through which they cancel; a server that is started anew asks them to
//! begin again. A session is of the key that began it: to any other it is not there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use proofmark_receipt::Json;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::calls::Calls;
use super::raw::{self, MAX_MESSAGE};
use super::{Handler, Held};
use crate::body;
use crate::context::Head;
use crate::keys::Caller;
use crate::problem::Problem;
use crate::reply;
use crate::router::AppState;
use crate::services::Services;
use crate::share::Limits;
use crate::stop::Stops;

/// How long a session may be silent: longer than any verification takes.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 60);
/// How long the last answers have to be written when the server stops: when a call is over, its answer is on its way.
const LAST_ANSWER: Duration = Duration::from_millis(500);
/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// Everything that is said at `/mcp`.
pub(crate) struct Sessions {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Who began each session, by its id.
    owners: Mutex<HashMap<String, Caller>>,
    calls: Arc<Calls>,
    limits: Arc<Limits>,
}

impl Sessions {
    /// Who may ask, and which page may not, is decided before a message comes here.
    pub(crate) fn new(services: &Arc<Services>, limits: &Arc<Limits>, stops: &Arc<Stops>) -> Sessions {
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(2 * MAX_MESSAGE)
            .disable_allowed_hosts();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(MAX_SILENCE);
        // An answer that was handed over is not kept for clients that lose it: they ask again.
        sessions.session_config.completed_cache_ttl = Duration::ZERO;
        let (sessions, handler) = (Arc::new(sessions), Handler::new(services, limits, stops));
        let service = StreamableHttpService::new(move || Ok(handler.for_another()), Arc::clone(&sessions), config);
        Sessions { service, sessions, owners: Mutex::default(), calls: Arc::default(), limits: Arc::clone(limits) }
    }

    /// Ends all sessions, once the calls that were begun are answered.
    pub(crate) async fn end(&self) {
        tokio::join!(self.limits.places.idle(), self.limits.verifying.idle());
        tokio::time::sleep(LAST_ANSWER).await;
        self.service.config.cancellation_token.cancel();
    }

    /// Refuses a session that another key began. One that nobody began here gets the library's answer, which asks to begin
    /// again.
    fn check_owner(&self, headers: &HeaderMap, caller: &Caller) -> Result<(), Problem> {
        let Some(session) = headers.get(SESSION) else { return Ok(()) };
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        match session.to_str().ok().and_then(|session| owners.get(session)) {
            Some(owner) if !owner.is(caller) => Err(Problem::not_found("such session; begin one of your own")),
            Some(_) | None => Ok(()),
        }
    }

    /// Remembers who began the session that an answer names, and forgets those that have ended.
    async fn own(&self, answer: &HeaderMap, caller: Caller) {
        let Some(session) = answer.get(SESSION).and_then(|session| session.to_str().ok()) else { return };
        let live = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| live.contains_key(id.as_str()));
        owners.entry(session.to_owned()).or_insert(caller);
    }
}

/// Answers a message, or a client that listens.
pub(crate) async fn mcp(state: Arc<AppState>, head: Head, body: Body) -> Result<Response, Problem> {
    let Head { caller, mut parts, .. } = head;
    state.mcp.check_owner(&parts.headers, &caller)?;
    let mut room = state.limits.bytes.take(&caller.tenant, 0)?;
    let mut bytes = body::read(&parts.headers, body, MAX_MESSAGE, &mut room).await?;
    let mut begun = None;
    if !bytes.is_empty() {
        let message = kept(&bytes)?;
        if is_greeting(&message) && !parts.headers.contains_key(SESSION) {
            parts.extensions.insert(Arc::new(state.limits.sessions.take(&caller.tenant, 1)?));
        }
        if let Some(session) = parts.headers.get(SESSION).and_then(|session| session.to_str().ok()) {
            match state.mcp.calls.begin(session, &message) {
                // Its id is free again when nothing is worked on for it, and nothing of its answer is left to be written.
                Ok(call) => begun = call.map(Arc::new),
                Err(refusal) => return Ok(json_rpc(refusal)),
            }
        }
        bytes = message.to_text().into_bytes();
        room.grow(bytes.len())?;
    }
    // Who gets listens until the session ends.
    let listens = (parts.method == Method::GET).then(|| state.limits.streams.take(&caller.tenant, 1)).transpose()?;
    let held: Held = Arc::new(Mutex::new(room));
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(caller.clone());
    parts.extensions.insert(Arc::clone(&held));
    if let Some(call) = &begun {
        parts.extensions.insert(Arc::clone(call));
    }
    let response = state.mcp.service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    state.mcp.own(response.headers(), caller).await;
    Ok(body::holding(response.map(Body::new), (held, listens, begun)))
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

fn kept(bytes: &[u8]) -> Result<Json, Problem> {
    raw::kept(bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, error.code(), format!("the body is no message: {error}"))
    })
}
