//! What decides on a connection: a guard of this process, or one that lives in a server.

use std::sync::Arc;

use proofmark_guard::{
    HeaderText, Headers, HungUp, Message, MessageError, MessageId, Moving, Pinning, Sender, Settings, Stream,
};

use super::{FailedRequest, Guard, Passage, PostedMessage};
use crate::decide::DecideError;
use crate::decider::Decider;
use crate::session_decider::Owner;

/// What is told of everything that happens at a connection, and says what is to be moved.
///
/// It may wait: for a store, or for another program.
pub trait Judge: Send + Sync + 'static {
    /// Takes in a line of the client.
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in a line of the client that goes nowhere, because the server does not read.
    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in a line of the server.
    fn server_said(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in that time has passed.
    fn tick(&self) -> Vec<Passage>;
    /// Takes in that everything before [`Passage::Moved`] has been moved.
    fn moved(&self, moving: Moving) -> Vec<Passage>;
    /// Whether the server must not be closed yet.
    fn waits_for_list(&self) -> bool;
    /// Takes in that the client sends nothing more.
    fn client_ended(&self) -> Vec<Passage>;
    /// Takes in that the server has ended.
    fn server_ended(&self) -> Vec<Passage>;

    /// Takes in a message that the client has posted with these headers.
    fn posted(&self, message: Message, headers: &Headers) -> PostedMessage;
    /// Takes in that the client has posted something else than a message: these headers and this body, which are
    /// refused so ([`read_message`]).
    fn not_a_message(&self, refusal: &MessageError, headers: &[HeaderText], body: &[u8]);
    /// Takes in that the client has posted a request with the id of one that is still open.
    fn still_open(&self, id: &MessageId);
    /// Takes in a message of the server, of this exchange, that the stream has brought. What is to be moved, and whether the
    /// request that the stream is of is still open.
    fn streamed(&self, exchange: u64, message: Vec<u8>, stream: &Stream) -> (Vec<Passage>, bool);
    /// As [`Judge::tick`], where each request has an exchange of its own.
    fn round(&self) -> Vec<Passage>;
    /// Whether this request is decided or has no answer yet.
    fn is_open(&self, id: &MessageId) -> bool;
    /// Takes in that a side hung up before the request was answered.
    fn hung_up(&self, id: &MessageId, when: HungUp);
    /// Takes in that the server answered something else than a message: this text.
    fn failed(&self, id: Option<&MessageId>, text: &str) -> FailedRequest;

    /// Why nothing can be decided in this session any more, if that is so.
    fn is_lost(&self) -> Option<String>;
    /// Whether the session has entries on disk.
    fn is_recorded(&self) -> bool;
    /// Records what waits, where that is this side's to do.
    ///
    /// # Errors
    /// Why it could not be recorded.
    fn flush(&self) -> Result<(), String>;
    /// Ends the session.
    ///
    /// # Errors
    /// Why its end is not recorded.
    fn close(&self) -> Result<(), String>;
}

/// Begins the sessions of a connection that has many.
pub trait Judges: Send + Sync + 'static {
    /// The judge of a session with this name, which has no entries until something happens in it. `agent` is who speaks in it,
    /// unless the settings name one.
    ///
    /// # Errors
    /// [`NoJudge`]: nothing may be forwarded then.
    fn begin(&self, session: String, agent: Option<String>) -> Result<Arc<dyn Judge>, NoJudge>;
}

/// Why a session cannot begin, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum NoJudge {
    #[error(transparent)]
    Here(#[from] DecideError),
    /// The server that decides was not reached, or has refused.
    #[error("{0}")]
    There(String),
}

/// Guards of this process.
pub struct LocalJudges {
    pub decider: Arc<Decider>,
    pub owner: Owner,
    pub settings: Settings,
    pub pinning: Pinning,
}

impl Judges for LocalJudges {
    fn begin(&self, session: String, agent: Option<String>) -> Result<Arc<dyn Judge>, NoJudge> {
        let settings = self.settings.clone();
        let settings = Settings { session, agent: settings.agent.or(agent), ..settings };
        Ok(Arc::new(Guard::begin(Arc::clone(&self.decider), self.owner.clone(), settings, self.pinning)?))
    }
}

/// What a client has posted: the headers of the protocol, and the message.
///
/// # Errors
/// [`MessageError`] names the request where that can be read.
pub fn read_message(headers: &[HeaderText], body: &[u8]) -> Result<(Headers, Message), MessageError> {
    let message = Message::read(body, Sender::Client);
    match (Headers::read_texts(headers), message) {
        (Ok(headers), Ok(message)) => Ok((headers, message)),
        (Err(refusal), message) => {
            let id = message.ok().and_then(|message| message.request().cloned());
            Err(MessageError { id, ..refusal })
        }
        (Ok(_), Err(refusal)) => Err(refusal),
    }
}

impl Judge for Guard {
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage> {
        self.from_client(line)
    }

    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage> {
        Self::not_forwarded(self, line)
    }

    fn server_said(&self, line: Vec<u8>) -> Vec<Passage> {
        self.from_server(line)
    }

    fn tick(&self) -> Vec<Passage> {
        Self::tick(self)
    }

    fn moved(&self, moving: Moving) -> Vec<Passage> {
        Self::moved(self, moving)
    }

    fn waits_for_list(&self) -> bool {
        Self::waits_for_list(self)
    }

    fn client_ended(&self) -> Vec<Passage> {
        Self::client_ended(self)
    }

    fn server_ended(&self) -> Vec<Passage> {
        Self::server_ended(self)
    }

    fn posted(&self, message: Message, headers: &Headers) -> PostedMessage {
        Self::posted(self, message, headers)
    }

    fn not_a_message(&self, refusal: &MessageError, _: &[HeaderText], _: &[u8]) {
        self.not_taken(refusal);
    }

    fn still_open(&self, id: &MessageId) {
        self.not_taken(&MessageError::still_open(id.clone()));
    }

    fn streamed(&self, exchange: u64, message: Vec<u8>, stream: &Stream) -> (Vec<Passage>, bool) {
        Self::streamed(self, exchange, message, stream)
    }

    fn round(&self) -> Vec<Passage> {
        Self::round(self)
    }

    fn is_open(&self, id: &MessageId) -> bool {
        Self::is_open(self, id)
    }

    fn hung_up(&self, id: &MessageId, when: HungUp) {
        Self::hung_up(self, id, when);
    }

    fn failed(&self, id: Option<&MessageId>, text: &str) -> FailedRequest {
        Self::failed(self, id, text)
    }

    fn is_lost(&self) -> Option<String> {
        None
    }

    fn is_recorded(&self) -> bool {
        Self::is_recorded(self)
    }

    fn flush(&self) -> Result<(), String> {
        Self::flush(self).map_err(|error| error.to_string())
    }

    fn close(&self) -> Result<(), String> {
        Self::close(self).map_err(|error| error.to_string())
    }
}
