//! What is told of a guarded server over HTTP, and the sessions that it has.

use std::sync::Arc;

use axum::body::Bytes;
use proofmark_decider::{FailedRequest, Judge, Judges, NoJudge, Passage, PostedMessage};
use proofmark_guard::{HeaderText, Headers, HungUp, Kind, Message, MessageId, Sender, Stream};

use super::{Again, RemoteGuard, Server, TAKEN_WITHIN, not_decided};
use crate::messages::{Follows, Happened, NewGuard, OverHttp};

/// The status where nothing is said to a message that does not go on.
const UNAVAILABLE: u16 = 503;

/// Guards that live in a server, each for one session of a server over HTTP.
pub struct RemoteJudges {
    server: Arc<Server>,
    new: NewGuard,
}

impl RemoteJudges {
    /// Guards like this one, which is begun and closed at once: nothing is recorded of it.
    ///
    /// # Errors
    /// [`NoJudge`]: where the server is not there, or does not decide for this account or key.
    pub fn new(server: Arc<Server>, new: NewGuard) -> Result<Self, NoJudge> {
        let judges = Self { server, new };
        let tried = judges.begin(judges.new.session.clone(), None)?;
        tried.close().map_err(NoJudge::There)?;
        Ok(judges)
    }
}

impl Judges for RemoteJudges {
    fn begin(&self, session: String, agent: Option<String>) -> Result<Arc<dyn Judge>, NoJudge> {
        let new = self.new.clone();
        let new = NewGuard { session, agent: new.agent.or(agent), over_http: true, ..new };
        let guard = RemoteGuard::begin(Arc::clone(&self.server), &new);
        Ok(Arc::new(guard.map_err(|error| NoJudge::There(error.to_string()))?))
    }
}

pub(super) fn posted(guard: &RemoteGuard, message: &Message, headers: &Headers) -> PostedMessage {
    let (exchange, may_wait) = (message.exchange(), message.may_wait());
    let told = OverHttp::Posted { exchange, may_wait, headers: headers.texts() };
    let told = body(&told, message.text.as_bytes()).and_then(|body| guard.client_told(Happened::OverHttp, body));
    told.map_or_else(
        |why| {
            let passages = not_decided(message.text.as_bytes(), &why);
            let status = if passages.is_empty() { UNAVAILABLE } else { 200 };
            PostedMessage { passages, status, waits: false }
        },
        |Follows { passages, status, waits, .. }| PostedMessage { passages, status, waits },
    )
}

pub(super) fn not_a_message(guard: &RemoteGuard, headers: &[HeaderText], bytes: &[u8]) {
    // What cannot be told is not recorded, and goes nowhere.
    if let Ok(body) = body(&OverHttp::NotAMessage { headers: headers.to_vec() }, bytes) {
        drop(guard.tell(Happened::OverHttp, body, Again::WhileBusy));
    }
}

pub(super) fn still_open(guard: &RemoteGuard, id: &MessageId) {
    if let Ok(body) = body(&OverHttp::StillOpen { id: id.clone() }, &[]) {
        drop(guard.tell(Happened::OverHttp, body, Again::WhileBusy));
    }
}

pub(super) fn streamed(guard: &RemoteGuard, exchange: u64, message: &[u8], stream: &Stream) -> (Vec<Passage>, bool) {
    let told = OverHttp::Streamed { exchange, stream: stream.clone() };
    match body(&told, message).and_then(|body| guard.server_told(Happened::OverHttp, &body)) {
        Ok(Follows { passages, is_open, .. }) => (passages, is_open),
        Err(why) => (withheld_from(stream, message, &why), false),
    }
}

/// The answer to the request of the stream, where the server's cannot be forwarded.
fn withheld_from(stream: &Stream, message: &[u8], why: &str) -> Vec<Passage> {
    let (Stream::Of { request, .. }, Ok(message)) = (stream, Message::read(message, Sender::Server)) else {
        return Vec::new();
    };
    match message.kind {
        Kind::Answer { id } if id.as_json() == request.as_json() => vec![Passage::ToClient(request.failed(why))],
        Kind::Answer { .. } | Kind::Request { .. } | Kind::Notification { .. } | Kind::Fault => Vec::new(),
    }
}

pub(super) fn is_open(guard: &RemoteGuard, id: &MessageId) -> bool {
    let told = body(&OverHttp::IsOpen { id: id.clone() }, &[]);
    let told = told.and_then(|body| guard.tell(Happened::OverHttp, body, Again::Never));
    // Where the session is lost, what waits is told so.
    told.map_or(true, |follows| follows.is_open)
}

pub(super) fn hung_up(guard: &RemoteGuard, id: &MessageId, when: HungUp) {
    let told = body(&OverHttp::HungUp { id: id.clone(), when }, &[]);
    if let Err(why) = told.and_then(|body| guard.tell(Happened::OverHttp, body, Again::Within(TAKEN_WITHIN))) {
        guard.lose(&why);
    }
}

pub(super) fn failed(guard: &RemoteGuard, id: Option<&MessageId>, text: &str) -> FailedRequest {
    let told = body(&OverHttp::Failed { id: id.cloned() }, text.as_bytes());
    match told.and_then(|body| guard.server_told(Happened::OverHttp, &body)) {
        Ok(Follows { passages, is_suspicious, .. }) => FailedRequest { passages, suspicious: is_suspicious },
        // Nobody has looked at it.
        Err(_) => FailedRequest { passages: Vec::new(), suspicious: true },
    }
}

/// The body of a request that says so.
fn body(told: &OverHttp, bytes: &[u8]) -> Result<Bytes, String> {
    told.with(bytes).map(Bytes::from).ok_or_else(|| "its headers are too long".to_owned())
}
