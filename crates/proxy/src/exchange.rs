//! One request of a client and the answer of the server, within a session.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use axum::http::header::HeaderName;
use proofmark_decider::Passage;
use proofmark_guard::{HungUp, MessageId, Stream};
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::warn;

use super::sessions::InUse;
use super::{Client, Proxy};

/// How often it is looked whether a request that waits was cancelled.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the server may take to accept what the guard answers in place of the client.
const MAX_OWN_ANSWER: Duration = Duration::from_secs(10);
/// How many lines of the log one exchange may have.
const MAX_LOGGED: usize = 20;
/// The header by which a client goes on with a stream.
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A request that is worked on. If it is dropped before its answer has come, a side hung up.
pub(super) struct Exchange {
    pub(super) proxy: Arc<Proxy>,
    pub(super) client: Client,
    pub(super) session: InUse,
    /// Its number within the session.
    pub(super) number: u64,
    /// The session of the protocol that it names.
    pub(super) named: Option<String>,
    /// Whether it begins a session of the protocol.
    pub(super) begins: bool,
    request: Option<MessageId>,
    phase: Arc<Mutex<Phase>>,
    logged: usize,
}

/// A text that is not a message, and what is said of it.
pub(super) struct Failed {
    pub(super) text: Vec<u8>,
    pub(super) suspicious: bool,
}

/// Which messages a stream may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    /// The answer to one request, and what belongs to it.
    Answer,
    /// What the server says on its own.
    News,
    /// What was lost with another stream.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is not judged yet.
    New,
    /// It goes on or is answered later.
    Waiting,
    /// It may go on, and the server has not seen it.
    Allowed,
    /// The server has it.
    Sent,
    /// It is answered, or there is nothing to answer.
    Over,
}

impl Exchange {
    pub(super) fn new(proxy: Arc<Proxy>, client: Client, session: InUse, number: u64) -> Self {
        let phase = Arc::new(Mutex::new(Phase::New));
        Self { proxy, client, session, number, named: None, begins: false, request: None, phase, logged: 0 }
    }

    /// Takes in which request is answered.
    pub(super) fn answers(&mut self, request: MessageId) {
        self.request = Some(request);
    }

    /// The stream that brings what the server answers.
    pub(super) fn stream(&self, brings: Brings, resumable: bool) -> Stream {
        match (brings, self.request()) {
            (Brings::Answer, Some(request)) => Stream::Of { request: request.clone(), resumable },
            (Brings::Lost, _) => Stream::Resumed { resumable },
            (Brings::News | Brings::Answer, _) => Stream::Standing { resumable },
        }
    }

    pub(super) fn request(&self) -> Option<&MessageId> {
        self.request.as_ref()
    }

    pub(super) fn phase(&self) -> Arc<Mutex<Phase>> {
        Arc::clone(&self.phase)
    }

    pub(super) fn is_in(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// What follows for its request, which waits; `None` if it was cancelled.
    pub(super) async fn follows(&self, follows: &mut UnboundedReceiver<Passage>) -> Option<Passage> {
        loop {
            if let Ok(passage) = tokio::time::timeout(LOOK_EVERY, follows.recv()).await {
                return passage;
            }
            let (session, request) = (self.session.clone(), self.request().cloned()?);
            // It waits for the lock of a message that is read.
            let is_open = tokio::task::spawn_blocking(move || session.guard.is_open(&request)).await.ok()?;
            if !is_open && follows.is_empty() {
                return None;
            }
        }
    }

    /// Has a message of the server judged; the texts for the client. What is for the server is sent.
    pub(super) async fn judge(&mut self, message: Vec<u8>, stream: Stream) -> Vec<String> {
        let (session, number) = (self.session.clone(), self.number);
        let judging = tokio::task::spawn_blocking(move || session.guard.streamed(number, message, &stream));
        // A thread that panicked has judged nothing: nothing goes on.
        let (passages, is_open) = judging.await.unwrap_or((Vec::new(), true));
        if !is_open {
            self.is_over();
        }
        let mut texts = Vec::new();
        for passage in passages {
            match passage {
                Passage::ToClient(text) => texts.push(text),
                Passage::ToServer(text) => self.answer_server(text).await,
                Passage::Of(request, passage) => self.session.route(&request, *passage),
                Passage::Ask(request, text) => self.ask(request, text),
                Passage::Log(text) => self.log(&text),
                // Of a request, and only where requests have an order.
                Passage::Progress(_) | Passage::Moved(_) => {}
            }
        }
        texts
    }

    /// Takes in that nothing more follows for the request: its id may be used again.
    pub(super) fn is_over(&self) {
        self.is_in(Phase::Over);
        self.request.iter().for_each(|request| self.session.forget(request));
    }

    /// Takes in that the server answered something else than a message.
    pub(super) async fn failed(&mut self, text: Vec<u8>) -> Failed {
        self.is_in(Phase::Over);
        let (session, request) = (self.session.clone(), self.request.clone());
        let failed = tokio::task::spawn_blocking(move || {
            let failed = session.guard.failed(request.as_ref(), &String::from_utf8_lossy(&text));
            Failed { text, suspicious: failed.suspicious }
        });
        failed.await.unwrap_or(Failed { text: Vec::new(), suspicious: true })
    }

    pub(super) fn log(&mut self, text: &str) {
        self.logged += 1;
        if self.logged <= MAX_LOGGED {
            warn!(cause = text, "guard");
        }
    }

    /// Answers a request of the server in place of the client.
    async fn answer_server(&mut self, text: String) {
        let headers = self.client.own_headers();
        let asked = self.proxy.upstream.ask(Method::POST, None, headers, Body::from(text));
        match tokio::time::timeout(MAX_OWN_ANSWER, asked).await {
            Ok(Ok(response)) if response.status().is_success() => {}
            Ok(Ok(response)) => self.log(&format!("the server took an answer of the guard with {}", response.status())),
            Ok(Err(error)) => self.log(&format!("the server did not take an answer of the guard: {error}")),
            Err(_) => self.log("the server did not take an answer of the guard in time"),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let phase = std::mem::replace(&mut *self.phase.lock().unwrap_or_else(PoisonError::into_inner), Phase::Over);
        let Some(request) = self.request.take() else { return };
        self.session.forget(&request);
        let when = match phase {
            // Who judges it sees that it is over.
            Phase::New | Phase::Over => return,
            Phase::Waiting | Phase::Allowed => HungUp::BeforeSending,
            Phase::Sent if self.session.is_shared() => HungUp::ForGood,
            Phase::Sent => HungUp::WhileAnswering,
        };
        self.session.hung_up(request, when);
    }
}
