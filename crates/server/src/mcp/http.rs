//! The door at `/mcp`: streamable HTTP.
//!
//! Clients of revision 2026-07-28 send every request for itself, and cancel it by closing the connection. Older ones have
//! a session, kept in memory until it is silent, through which they cancel; a server that is started anew asks them to
//! begin again. A session is of the key that began it: to any other it is not there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::Json;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::raw::{self, MAX_MESSAGE};
use super::{Handler, call};
use crate::body;
use crate::door::Doorkeeper;
use crate::keys::{Caller, Role};
use crate::problem::Problem;
use crate::workbench::Workbench;

/// The most sessions there are at once.
const MAX_SESSIONS: usize = 1_024;
/// How long a session may be silent: longer than any verification takes.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 60);
/// How long the last answers have to be written when the server stops: when a call is over, its answer is on its way.
const LAST_ANSWER: Duration = Duration::from_millis(500);
/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// Everything that is said at `/mcp`.
pub(crate) struct Conversations {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Who began each session, by its id.
    owners: Mutex<HashMap<String, Caller>>,
}

impl Conversations {
    /// Without keys a page in a browser on this host must not be able to ask: other names of it, and pages, are refused.
    pub(crate) fn new(bench: &Arc<Workbench>, has_keys: bool) -> Conversations {
        let config =
            StreamableHttpServerConfig::default().with_json_response(true).with_max_request_body_bytes(2 * MAX_MESSAGE);
        let config = if has_keys { config.disable_allowed_hosts() } else { config.enforce_origin_validation() };
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(MAX_SILENCE);
        let (sessions, handler) = (Arc::new(sessions), Handler::new(Arc::clone(bench)));
        let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        Conversations { service, sessions, owners: Mutex::default() }
    }

    /// Ends all sessions, once the calls that were begun are answered.
    pub(crate) async fn end(&self) {
        call::idle().await;
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

    /// Refuses a new session where there are as many as there may be.
    async fn admit(&self, headers: &HeaderMap, message: &Json) -> Result<(), Problem> {
        let begins = message.as_object().and_then(|message| message.get("method")?.as_str()) == Some("initialize");
        let full =
            begins && !headers.contains_key(SESSION) && self.sessions.sessions.read().await.len() >= MAX_SESSIONS;
        if full { Err(Problem::busy()) } else { Ok(()) }
    }
}

/// Answers a message.
pub(crate) async fn mcp(State(keeper): State<Arc<Doorkeeper>>, request: Request) -> Response {
    match answered(&keeper, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answered(keeper: &Doorkeeper, request: Request) -> Result<Response, Problem> {
    let caller = keeper.admit(request.headers(), Some(Role::Agent))?;
    keeper.mcp.check_owner(request.headers(), &caller)?;
    let (mut parts, body) = request.into_parts();
    let mut bytes = body::read(&parts.headers, body).await?;
    if !bytes.is_empty() {
        let message = kept(&bytes)?;
        keeper.mcp.admit(&parts.headers, &message).await?;
        bytes = message.to_text().into_bytes();
    }
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(caller.clone());
    let response = keeper.mcp.service.handle(Request::from_parts(parts, Body::from(bytes))).await;
    keeper.mcp.own(response.headers(), caller).await;
    Ok(response.map(Body::new))
}

fn kept(bytes: &[u8]) -> Result<Json, Problem> {
    raw::kept(bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, error.code(), format!("the body is no message: {error}"))
    })
}
