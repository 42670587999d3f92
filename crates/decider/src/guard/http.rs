//! A guarded connection over HTTP.

use proofmark_guard::{Failure, Headers, HungUp, Message, MessageError, MessageId, Posted, Stream};

use super::{Guard, Passage};

/// What follows from a message that the client has posted.
#[derive(Debug, Default)]
pub struct PostedMessage {
    pub passages: Vec<Passage>,
    /// The HTTP status, if it is answered here.
    pub status: u16,
    /// Whether it goes on later, or is answered later: [`Passage::Of`] its id.
    pub waits: bool,
}

/// What follows if the server does not answer with a message.
#[derive(Debug)]
pub struct FailedRequest {
    pub passages: Vec<Passage>,
    /// Whether the text that it sent has signs of steering, or is too long to be searched for them.
    pub suspicious: bool,
}

impl Guard {
    /// Takes in a message that the client has posted with these headers.
    pub fn posted(&self, message: Message, headers: &Headers) -> PostedMessage {
        let Some(policy) = self.in_force() else {
            return PostedMessage { passages: Vec::new(), status: 503, waits: false };
        };
        self.note_policy(policy.hash());
        self.renew_pins();
        let id = message.request().cloned();
        let Posted { step, status } = self.connection().posted(message, headers, &policy);
        let passages = self.in_any_order(self.follow(step));
        let is_over = passages.iter().any(|passage| matches!(passage, Passage::ToClient(_) | Passage::ToServer(_)));
        let waits = !is_over && id.is_some_and(|id| self.is_open(&id));
        PostedMessage { passages, status, waits }
    }

    /// Takes in a body that is not a message.
    pub fn not_taken(&self, refusal: &MessageError) -> PostedMessage {
        let Posted { step, status } = self.connection().not_taken(refusal);
        PostedMessage { passages: self.follow(step), status, waits: false }
    }

    /// Takes in a message of the server, of this exchange ([`Message::in_exchange`]), that the stream has brought. What is to be
    /// moved, and whether the request that the stream is of is still open.
    pub fn streamed(&self, exchange: u64, message: Vec<u8>, stream: &Stream) -> (Vec<Passage>, bool) {
        let Some(policy) = self.in_force() else { return (Vec::new(), true) };
        let now = self.decider.now();
        let (step, is_open) = {
            let mut connection = self.connection();
            let step = connection.streamed(exchange, message, stream, &policy, now.as_str());
            // Under the same lock: a client may use the id again at once.
            (step, matches!(stream, Stream::Of { request, .. } if connection.is_open(request)))
        };
        (self.in_any_order(self.follow(step)), is_open)
    }

    /// As [`Guard::tick`].
    pub fn round(&self) -> Vec<Passage> {
        self.in_any_order(self.tick())
    }

    /// Goes on without waiting until something has been moved: each request has an exchange of its own.
    fn in_any_order(&self, passages: Vec<Passage>) -> Vec<Passage> {
        let mut all = Vec::new();
        for passage in passages {
            match passage {
                Passage::Moved(moving) => all.extend(self.in_any_order(self.moved(moving))),
                passage => all.push(passage),
            }
        }
        all
    }

    /// Whether this request is decided or has no answer yet.
    #[must_use]
    pub fn is_open(&self, id: &MessageId) -> bool {
        self.connection().is_open(id)
    }

    /// Takes in that a side hung up before the request was answered.
    pub fn hung_up(&self, id: &MessageId, when: HungUp) {
        let outputs = self.connection().hung_up(id, when);
        self.told(outputs);
    }

    /// Takes in that the server answered something else than a message: this text.
    pub fn failed(&self, id: Option<&MessageId>, text: &str) -> FailedRequest {
        let now = self.decider.now();
        let Failure { outputs, suspicious } = self.connection().failed(id, text, now.as_str());
        FailedRequest { passages: self.told(outputs), suspicious }
    }
}
