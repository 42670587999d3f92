//! Spans of the requests that pass: one for each request, and within it one for the call of a tool.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use proofmark_guard::{Connection, Exchanged, MessageId, Pending, Requested, Sender, TOOL_ERROR};

use crate::session_decider::Owner;
use crate::telemetry::{BLOCKED, Place, Ruled, ToldCall, ToldRequest};
use crate::trace::Trace;

/// The most requests of each side whose spans are open at once. Others have no spans.
const MAX_OPEN: usize = 1_000;
/// `error.type` of an action on which nothing could be decided.
const UNDECIDED: &str = "undecided";
/// `error.type` of a request that will not be answered.
const CANCELLED: &str = "cancelled";
/// The code that a blocked request is answered with, unless it is a call of a tool.
const INVALID_PARAMS: &str = "-32602";

/// The requests of a connection that are open.
pub(super) struct Spans(Mutex<Open>);

struct Open {
    session: String,
    agent: Option<String>,
    owner: Owner,
    /// The revision that both sides agreed on.
    revision: Option<String>,
    spans: HashMap<(bool, MessageId), Span>,
}

struct Span {
    requested: Requested,
    trace: Trace,
    began: SystemTime,
    ruling: Ruling,
}

/// What was decided on a request.
enum Ruling {
    /// Nothing yet.
    None,
    Decided(Ruled),
    Failed,
}

/// How a request ended.
enum End {
    Answered(Option<String>),
    /// Without an answer: it was blocked, or is no longer waited for.
    Silent,
}

impl Spans {
    pub(super) fn new(session: String, agent: Option<String>, owner: Owner) -> Self {
        Self(Mutex::new(Open { session, agent, owner, revision: None, spans: HashMap::new() }))
    }

    /// Takes in what the connection has noted, and logs the spans that have ended.
    pub(super) fn follow(&self, connection: &Mutex<Connection>) {
        // In this order, as everywhere: what is noted is taken in as it happened.
        let mut open = self.open();
        let mut connection = super::locked(connection);
        for noted in connection.take_exchanged() {
            match noted {
                Exchanged::Began(requested) => open.begin(requested),
                Exchanged::Answered { id, from, error } => open.end(&(is_of_server(from), id), End::Answered(error)),
            }
        }
        // A request of the client that is neither open nor being decided was answered here, or given up.
        let gone = |key: &&(bool, MessageId)| !key.0 && !connection.is_open(&key.1);
        let gone: Vec<_> = open.spans.keys().filter(gone).cloned().collect();
        drop(connection);
        gone.iter().for_each(|key| open.end(key, End::Silent));
    }

    /// Takes in what was decided on a request, and whether it is passed on.
    pub(super) fn ruled(&self, pending: &Pending, ruled: Option<Ruled>, goes_on: bool) {
        let Some((id, from)) = pending.request() else { return };
        let (mut open, key) = (self.open(), (is_of_server(from), id.clone()));
        if let Some(span) = open.spans.get_mut(&key) {
            span.ruling = ruled.map_or(Ruling::Failed, Ruling::Decided);
        }
        if is_of_server(from) && !goes_on {
            open.end(&key, End::Silent);
        }
    }

    /// Takes in which revision both sides agreed on.
    pub(super) fn agreed_on(&self, revision: Option<&str>) {
        let mut open = self.open();
        open.revision = revision.map(str::to_owned).or_else(|| open.revision.take());
    }

    /// Logs the spans that are still open, because the connection has ended.
    pub(super) fn close(&self) {
        let mut open = self.open();
        let left: Vec<_> = open.spans.keys().cloned().collect();
        left.iter().for_each(|key| open.end(key, End::Silent));
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // A thread that panicked has left out a span, at most.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn begin(&mut self, requested: Requested) {
        let trace = Trace::after(requested.traceparent.as_deref());
        let key = (is_of_server(requested.from), requested.id.clone());
        // Counted by side: a server that leaves requests open does not hide those of the client.
        let open = self.spans.keys().filter(|other| other.0 == key.0).count();
        if let Some(trace) = trace.filter(|_| open < MAX_OPEN) {
            self.spans.insert(key, Span { requested, trace, began: SystemTime::now(), ruling: Ruling::None });
        }
    }

    fn end(&mut self, key: &(bool, MessageId), end: End) {
        let Some(Span { requested, trace, began, ruling }) = self.spans.remove(key) else { return };
        let is_call = requested.tool.is_some();
        let (of_request, of_call, shadowed) = errors(&ruling, end, is_call);
        let ruled = if let Ruling::Decided(ruled) = &ruling { Some(ruled) } else { None };
        let (tenant, caller) = (self.owner.tenant.as_str(), self.owner.asker.account.as_deref());
        let id = requested.id.as_json();
        let told = ToldRequest {
            method: &requested.method,
            id: id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id),
            tool: requested.tool.as_deref(),
            prompt: requested.prompt.as_deref(),
            resource: requested.resource.as_deref(),
            protocol: requested.revision.as_deref().or(self.revision.as_deref()),
            // The revision that is named in each request has no sessions.
            session: requested.revision.is_none().then_some(&self.session),
            tenant,
            caller,
            ruled,
            error: of_request.as_deref(),
            began,
        };
        told.tell(&trace);
        if let Some(child) = trace.child().filter(|_| is_call && !matches!(ruling, Ruling::None)) {
            let told = ToldCall {
                tool: requested.tool.as_deref(),
                is_function: true,
                id: None,
                session: Some(&self.session),
                agent: self.agent.as_deref(),
                agent_name: None,
                tenant,
                caller,
                ruled,
                shadowed,
                error: of_call.as_deref(),
                began,
            };
            told.tell(Place::At(&child));
        }
    }
}

/// The errors of a request and of the call that it is, and whether the call was passed on although it was not allowed.
fn errors(ruling: &Ruling, end: End, is_call: bool) -> (Option<String>, Option<String>, bool) {
    let answered_with = if is_call { TOOL_ERROR } else { INVALID_PARAMS };
    match (ruling, end) {
        (Ruling::Decided(ruled), End::Answered(error)) => (error.clone(), error, !ruled.allowed),
        (Ruling::None | Ruling::Failed, End::Answered(error)) => (error.clone(), error, false),
        (Ruling::Decided(Ruled { allowed: false, .. }), End::Silent) => {
            (Some(answered_with.to_owned()), Some(BLOCKED.to_owned()), false)
        }
        (Ruling::Failed, End::Silent) => (Some(answered_with.to_owned()), Some(UNDECIDED.to_owned()), false),
        (Ruling::None | Ruling::Decided(_), End::Silent) => {
            (Some(CANCELLED.to_owned()), Some(CANCELLED.to_owned()), false)
        }
    }
}

fn is_of_server(from: Sender) -> bool {
    from == Sender::Server
}
