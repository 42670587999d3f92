//! Sessions of the Model Context Protocol over HTTP, which belong to the keys that began them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use proofmark_receipt::Json;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::Handler;
use super::message::MAX_MESSAGE;
use super::open_calls::{OpenCall, OpenCalls};
use crate::keys::Caller;
use crate::problem::Problem;
use crate::services::Services;
use crate::share::Limits;
use crate::stop::Stops;

/// How long a session may be silent: longer than any verification takes.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 60);
/// How long the last answers have to be written when the server stops: when a call is over, its answer is on its way.
const LAST_ANSWER: Duration = Duration::from_millis(500);
/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

pub(crate) struct Sessions {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Who began each session, by its id.
    owners: Mutex<HashMap<String, Caller>>,
    calls: Arc<OpenCalls>,
    limits: Arc<Limits>,
}

impl Sessions {
    /// The library checks neither keys nor hosts: requests are admitted before they come here.
    pub(crate) fn new(services: &Arc<Services>, limits: &Arc<Limits>, stops: &Arc<Stops>) -> Sessions {
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(2 * MAX_MESSAGE)
            .disable_allowed_hosts();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(MAX_SILENCE);
        // A client that loses an answer asks again.
        sessions.session_config.completed_cache_ttl = Duration::ZERO;
        let (sessions, handler) = (Arc::new(sessions), Handler::new(services, limits, stops));
        let service = StreamableHttpService::new(move || Ok(handler.for_another()), Arc::clone(&sessions), config);
        Sessions { service, sessions, owners: Mutex::default(), calls: Arc::default(), limits: Arc::clone(limits) }
    }

    /// Ends all sessions, once the open calls are answered.
    pub(crate) async fn end(&self) {
        // A call holds one of these until its work is done, and is answered after that.
        tokio::join!(self.limits.places.idle(), self.limits.verifying.idle());
        tokio::time::sleep(LAST_ANSWER).await;
        self.service.config.cancellation_token.cancel();
    }

    /// Refuses a session that another key began. One that is unknown gets the library's answer, which asks to begin again.
    pub(super) fn check_owner(&self, headers: &HeaderMap, caller: &Caller) -> Result<(), Problem> {
        let Some(session) = headers.get(SESSION) else { return Ok(()) };
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        match session.to_str().ok().and_then(|session| owners.get(session)) {
            Some(owner) if !owner.is(caller) => Err(Problem::not_found("session").help("begin one of your own")),
            Some(_) | None => Ok(()),
        }
    }

    /// Begins the call that a message is; see [`OpenCalls::begin`].
    pub(super) fn begin_call(&self, session: &str, message: &Json) -> Result<Option<OpenCall>, String> {
        self.calls.begin(session, message)
    }

    /// Ends the sessions of callers who are not to keep them, with the calls that are open in them.
    pub(crate) async fn keep(&self, keeps: impl Fn(&Caller) -> bool) {
        let ended: Vec<String> = {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            owners.extract_if(|_, owner| !keeps(owner)).map(|(id, _)| id).collect()
        };
        for id in ended {
            // One that cannot be closed has ended already.
            drop(self.sessions.close_session(&id.into()).await);
        }
    }

    pub(super) async fn handle(&self, request: Request, caller: Caller) -> Response {
        let ends = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        // The library says 202. The protocol names no status, and its own Python client takes anything but these for a failure.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        // Before the answer leaves: until then no client knows the id of a new session.
        self.remember_owner(response.headers(), caller).await;
        response.map(Body::new)
    }

    /// Remembers who began the session that an answer names, and forgets those that have ended.
    async fn remember_owner(&self, answer: &HeaderMap, caller: Caller) {
        let Some(session) = answer.get(SESSION).and_then(|session| session.to_str().ok()) else { return };
        // The library's lock first, and no `await` while `owners` is locked.
        let live = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| live.contains_key(id.as_str()));
        owners.entry(session.to_owned()).or_insert(caller);
    }
}
