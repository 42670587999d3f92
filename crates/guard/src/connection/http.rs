//! What is different over HTTP: a request has headers, an answer has a stream of its own, and both sides may hang up.

use proofmark_boundary::ActionPolicy;
use proofmark_receipt::Sha256Digest;
use proofmark_session::{CallResult, CallStatus, Event, Executed, TextDigest};

use super::{Connection, Open, Output, Step, begin_of};
use crate::headers::Headers;
use crate::message::{INVALID_REQUEST, Kind, Message, MessageError, MessageId, Sender};
use crate::observed;
use crate::pin::PinKind;

/// The most messages that are remembered because a resumed stream may bring them again.
const MAX_DELIVERED: usize = 1_000;

/// What follows from a message that the client has posted.
#[derive(Debug)]
pub struct Posted {
    pub step: Step,
    /// The HTTP status, if it is answered here.
    pub status: u16,
}

/// The stream, or the one body, that brought a message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The answer to the post of this request. It brings no answer to another.
    Of { request: MessageId, resumable: bool },
    /// One that the client opened. It brings no answers.
    Standing { resumable: bool },
    /// One that goes on after a lost one. It brings answers to requests whose own stream has ended.
    Resumed { resumable: bool },
}

/// When a side hung up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HungUp {
    /// The server has not seen the request.
    BeforeSending,
    /// The server may execute it, and its answer may come on another stream.
    WhileAnswering,
    /// The server may have executed it, and no answer will come: without sessions the closed stream cancels the request.
    ForGood,
}

impl HungUp {
    const WORDS: [(&'static str, Self); 3] = [
        ("before-sending", Self::BeforeSending),
        ("while-answering", Self::WhileAnswering),
        ("for-good", Self::ForGood),
    ];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, when)| *when == self).map_or("", |(word, _)| word)
    }

    /// What a word stands for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, when)| when)
    }
}

/// What follows if the server does not answer with a message.
#[derive(Debug)]
pub struct Failure {
    pub outputs: Vec<Output>,
    /// Whether the text that it sent has signs of steering, or is too long to be searched for them.
    pub suspicious: bool,
}

impl Stream {
    /// Whether it can be resumed, so that what it brings may come again.
    #[must_use]
    pub fn resumable(&self) -> bool {
        match self {
            Self::Of { resumable, .. } | Self::Standing { resumable } | Self::Resumed { resumable } => *resumable,
        }
    }
}

impl Connection {
    /// Takes in a message that the client has posted with these headers. A header that says something else than the body is
    /// refused: what is between here and the server may go by it.
    pub fn posted(&mut self, message: Message, headers: &Headers, policy: &ActionPolicy) -> Posted {
        let id = message.request().cloned();
        let tool = message.param("name").and_then(|tool| self.pins.listed(PinKind::Tool, tool));
        let mirrored = tool.map(|listed| listed.mirrored.as_slice()).unwrap_or_default();
        if let Err(refusal) = headers.check(&message, mirrored) {
            return self.not_taken(&MessageError { id, ..refusal });
        }
        let stateless = headers.is_stateless(&message);
        match self.client(message, policy) {
            Err(refusal) if stateless || refusal.id.is_none() => self.not_taken(&refusal),
            // Clients of older revisions take any other status for a failure of the connection.
            Err(refusal) => Posted { step: self.refuse(&refusal), status: 200 },
            // An answer that nobody asked for, or a notification that is not one of the protocol.
            Ok(step) if matches!(step.outputs.as_slice(), [Output::Log(_)]) => Posted { step, status: 400 },
            Ok(step) => Posted { step, status: if id.is_some() { 200 } else { 202 } },
        }
    }

    /// Takes in a body that is not a message.
    pub fn not_taken(&mut self, refusal: &MessageError) -> Posted {
        Posted { step: self.refuse(refusal), status: 400 }
    }

    /// Takes in a message of the server, of exchange `exchange`, that this stream has brought.
    pub fn streamed(
        &mut self,
        exchange: u64,
        message: impl Into<Vec<u8>>,
        stream: &Stream,
        policy: &ActionPolicy,
        now: &str,
    ) -> Step {
        let message = message.into();
        let begin = begin_of(&message);
        let mut message = match Message::read(message, Sender::Server) {
            Ok(read) => read.in_exchange(exchange),
            Err(refusal) => return self.not_forwarded(&begin, &refusal),
        };
        message.resumable = stream.resumable();
        let again = matches!(stream, Stream::Resumed { .. })
            && self.delivered.contains(&Sha256Digest::of(message.text.as_bytes()));
        match &message.kind {
            // Judged before, and lost on the way to the client.
            Kind::Answer { id } if again && !self.open.contains_key(id) => Step::of(Output::ToClient(message.text)),
            Kind::Request { id, .. } if again && self.asked.contains_key(id) => {
                Step::of(Output::ToClient(message.text))
            }
            Kind::Answer { id } if !self.may_answer(stream, id) => {
                self.noise += 1;
                Step::of(Output::Log("the server answered a request that is not the stream's".to_owned()))
            }
            // The stateless revision has none, and nobody could take their answers to this exchange.
            Kind::Request { .. } if exchange != 0 || self.is_own(stream) => {
                self.noise += 1;
                Step::of(Output::Log("the server sent a request to a client without a session".to_owned()))
            }
            // Clients take it for the answer to the request that the stream is of.
            Kind::Fault => {
                let of = match stream {
                    Stream::Of { request, .. } => Some(request),
                    Stream::Standing { .. } | Stream::Resumed { .. } => None,
                };
                let mut outputs = self.failed(of, &message.text, now).outputs;
                outputs.extend(self.told("error", now));
                outputs.push(Output::ToClient(message.text));
                Step { outputs, ..Step::default() }
            }
            Kind::Answer { .. } | Kind::Request { .. } | Kind::Notification { .. } => self.server(message, policy, now),
        }
    }

    /// Whether this request is open.
    #[must_use]
    pub fn is_open(&self, id: &MessageId) -> bool {
        self.open.contains_key(id) || self.deciding.contains(id)
    }

    /// Takes in that a side hung up before the request was answered; what is to be recorded.
    pub fn hung_up(&mut self, id: &MessageId, when: HungUp) -> Vec<Output> {
        if self.deciding.contains(id) {
            return self.cancelled_before(id);
        }
        match (self.open.get_mut(id), when) {
            (None, _) => Vec::new(),
            (Some(open), HungUp::WhileAnswering) => {
                open.left = true;
                Vec::new()
            }
            (Some(_), HungUp::BeforeSending) => self.given_up(id, Executed::No),
            (Some(_), HungUp::ForGood) => self.given_up(id, Executed::Unknown),
        }
    }

    /// Takes in that the server answered something else than a message: this text.
    pub fn failed(&mut self, id: Option<&MessageId>, text: &str, now: &str) -> Failure {
        let signs = observed::labels_of_text(text);
        let open = id.and_then(|id| self.open.remove(id));
        open.iter().for_each(|open| self.note_invalid_answer(&open.id));
        let mut outputs = Vec::new();
        if let Some(Open { id, call: Some((call, tool)), decision, .. }) = open {
            self.session.ended(call, CallStatus::Failed);
            self.session.tainted(&signs, &tool, now);
            let (excerpt, whole) = self.settings.keep.of(text);
            outputs.push(Output::Event(Event::Result(CallResult {
                request: Some(id.as_json().to_owned()),
                tool,
                decision,
                status: Some(CallStatus::Failed),
                signs: signs.iter().map(|sign| (*sign).to_owned()).collect(),
                result: TextDigest::of(text),
                excerpt,
                text: whole,
                ..CallResult::default()
            })));
        }
        Failure { outputs, suspicious: !signs.is_empty() }
    }

    /// Remembers what is forwarded unchanged from a stream that can be resumed.
    pub(super) fn remember_delivered(&mut self, message: &Message) {
        if !message.resumable {
            return;
        }
        // What is forgotten here is judged anew when it comes again, and refused: it answers no open request.
        if self.delivered.len() >= MAX_DELIVERED {
            self.delivered.pop_front();
        }
        self.delivered.push_back(Sha256Digest::of(message.text.as_bytes()));
    }

    /// Whether a stream brings the answer to a request of the guard itself.
    fn is_own(&self, stream: &Stream) -> bool {
        matches!(stream, Stream::Of { request, .. } if self.lists.has_asked(request))
    }

    fn may_answer(&self, stream: &Stream, id: &MessageId) -> bool {
        match stream {
            Stream::Of { request, .. } => request == id,
            Stream::Standing { .. } => false,
            // A request whose own stream is still there gets its answer from that stream alone.
            Stream::Resumed { .. } => self.open.get(id).is_some_and(|open| open.left),
        }
    }

    fn given_up(&mut self, id: &MessageId, executed: Executed) -> Vec<Output> {
        let Some(open) = self.open.remove(id) else { return Vec::new() };
        let Some((call, _)) = open.call else { return Vec::new() };
        // Otherwise it stays pending: a rule must not take it for a call that did not happen.
        if executed == Executed::No {
            self.session.ended(call, CallStatus::Blocked);
        }
        vec![open.cancelled(executed)]
    }
}

/// The answer to a body that no connection takes in.
impl MessageError {
    /// A request whose id is that of another, which has no answer yet.
    #[must_use]
    pub fn still_open(id: MessageId) -> Self {
        Self::invalid(Some(id), "the id is that of a request which is still open")
    }

    /// A request that belongs to no session that is known here.
    #[must_use]
    pub fn no_session(id: Option<MessageId>) -> Self {
        Self {
            code: INVALID_REQUEST,
            id,
            reason: "the session is not known here; begin another with `initialize`".to_owned(),
        }
    }
}
