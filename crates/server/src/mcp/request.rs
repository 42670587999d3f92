//! What a client asks for: a message that is taken apart, once, or refused.

use std::sync::{Arc, Mutex, PoisonError};

use proofmark_guard::{MessageId, PROTOCOL_VERSION};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, object};

use crate::keys::Caller;
use crate::problem::Problem;
use crate::share::Share;

/// The revisions that are served; the last one has neither sessions nor `initialize`.
pub(super) const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
/// The first revision in which every request stands for itself.
pub(super) const STATELESS: &str = "2026-07-28";
/// The last revision with sessions.
pub(super) const LAST_WITH_SESSIONS: &str = "2025-11-25";

/// The member of `_meta` that says what a client can do, in the revision without sessions.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The longest token of progress, in bytes of its JSON text: each report repeats it.
const MAX_TOKEN: usize = 1_024;
/// How often an answer is in memory until it is written: as text, as structured content, and as it goes over the wire.
const COPIES: usize = 3;

/// JSON-RPC 2.0, section 5.1.
pub(super) const INVALID_REQUEST: i32 = -32_600;
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;
pub(super) const INVALID_PARAMS: i32 = -32_602;
pub(super) const INTERNAL_ERROR: i32 = -32_603;
/// The codes of the protocol.
pub(super) const RESOURCE_NOT_FOUND: i32 = -32_002;
const UNSUPPORTED_VERSION: i32 = -32_022;

/// What this server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Initialize,
    Ping,
    Discover,
    ListTools,
    CallTool,
    ListResources,
    ListTemplates,
    ReadResource,
    ListPrompts,
    Complete,
}

impl Method {
    /// The method of this name, of a request that stands for itself or belongs to a session.
    fn named(name: &str, is_stateless: bool) -> Option<Self> {
        match name {
            "initialize" if !is_stateless => Some(Self::Initialize),
            "ping" if !is_stateless => Some(Self::Ping),
            "server/discover" => Some(Self::Discover),
            "tools/list" => Some(Self::ListTools),
            "tools/call" => Some(Self::CallTool),
            "resources/list" => Some(Self::ListResources),
            "resources/templates/list" => Some(Self::ListTemplates),
            "resources/read" => Some(Self::ReadResource),
            "prompts/list" => Some(Self::ListPrompts),
            "completion/complete" => Some(Self::Complete),
            _ => None,
        }
    }
}

/// The memory that a message at `/mcp` takes until it is answered: its bytes, and those of the answer.
pub(super) type Held = Arc<Mutex<Share>>;

/// One request of a client.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) params: Object,
    /// Whether it is of the revision without sessions, whose results say more of themselves.
    pub(super) is_stateless: bool,
    /// What reports of its progress are to repeat, if the client wants any.
    pub(super) progress: Option<Json>,
    pub(super) caller: Caller,
    /// None on standard streams, where one answer is written after the other.
    pub(super) held: Option<Held>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: i32,
    message: String,
    data: Option<Object>,
}

impl Refusal {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub(super) fn busy(problem: &Problem) -> Self {
        Self::new(INTERNAL_ERROR, problem.text())
    }

    /// A revision that is not served.
    pub(super) fn version(requested: &str) -> Self {
        let supported: Vec<Json> = REVISIONS.map(Json::from).into();
        let data = object! { "supported": supported, "requested": requested };
        let message = format!("the revision `{}` is not supported", shown(requested));
        Self::new(UNSUPPORTED_VERSION, message).with(data)
    }

    pub(super) fn with(self, data: Object) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The answer that says so.
    pub(super) fn answer(self, id: &MessageId) -> String {
        id.error(self.code, &self.message, self.data)
    }
}

impl Request {
    /// The request that a method and the members of a message are. One that names its revision stands for itself; others belong to
    /// a session.
    pub(super) fn read(name: &str, mut body: Object, caller: Caller, held: Option<Held>) -> Result<Self, Refusal> {
        let params = match body.remove("params") {
            Some(Json::Object(params)) => params,
            _ => Object::new(),
        };
        let meta = params.get("_meta").and_then(Json::as_object);
        let member = |name: &str| meta.and_then(|meta| meta.get(name));
        let names_revision = member(PROTOCOL_VERSION).is_some() || name == "server/discover";
        let is_stateless = names_revision && named_revision(member(PROTOCOL_VERSION))? >= STATELESS;
        if names_revision && member(CLIENT_CAPABILITIES).and_then(Json::as_object).is_none() {
            return Err(missing(&[CLIENT_CAPABILITIES]));
        }
        let method = Method::named(name, is_stateless)
            .ok_or_else(|| Refusal::new(METHOD_NOT_FOUND, format!("there is no method `{}` here", shown(name))))?;
        let progress = member("progressToken").cloned();
        if progress.as_ref().is_some_and(|token| !is_token(token)) {
            let message = format!("the token of progress is not a text or a number of at most {MAX_TOKEN} bytes");
            return Err(Refusal::invalid(message));
        }
        Ok(Self { method, is_stateless, progress, params, caller, held })
    }

    /// A parameter that is a text.
    pub(super) fn text(&self, name: &str) -> Result<&str, Refusal> {
        let text = self.params.get(name).and_then(Json::as_str);
        text.ok_or_else(|| Refusal::invalid(format!("`params.{name}` is not a text")))
    }

    /// Counts an answer of so many bytes until it is written, or refuses it.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), Problem> {
        self.hold_instead(0, bytes)
    }

    /// Counts an answer of so many bytes, of which some were counted before it was known how many there are.
    pub(super) fn hold_instead(&self, before: usize, bytes: usize) -> Result<(), Problem> {
        let Some(held) = &self.held else { return Ok(()) };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.shrink(before.saturating_sub(bytes).saturating_mul(COPIES));
        held.grow(bytes.saturating_sub(before).saturating_mul(COPIES))
    }
}

/// A request of no session that does not say of which revision it is.
pub(super) fn missing(members: &[&str]) -> Refusal {
    let members = members.join("`, `");
    Refusal::invalid(format!("`params._meta` does not have `{members}`; write it, or begin with `initialize`"))
}

/// What a request lacks that belongs to no session and names no revision.
pub(super) fn without_session() -> Refusal {
    missing(&[PROTOCOL_VERSION, CLIENT_CAPABILITIES])
}

fn named_revision(named: Option<&Json>) -> Result<&'static str, Refusal> {
    let named = named.and_then(Json::as_str).ok_or_else(without_session)?;
    REVISIONS.into_iter().find(|known| *known == named).ok_or_else(|| Refusal::version(named))
}

fn is_token(token: &Json) -> bool {
    (token.as_str().is_some() || token.as_number().is_some()) && token.to_text().len() <= MAX_TOKEN
}
