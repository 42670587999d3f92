//! Which requests begin and end, for the export of spans. Arguments and results are not noted.

use proofmark_receipt::Json;

use super::Connection;
use crate::answer::INTERNAL_ERROR;
use crate::message::{Message, MessageId, PROTOCOL_VERSION, Sender};

/// A request that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    pub id: MessageId,
    pub from: Sender,
    pub method: String,
    /// The tool that is called.
    pub tool: Option<String>,
    /// The prompt that is asked for.
    pub prompt: Option<String>,
    /// The URI of the resource that it is about.
    pub resource: Option<String>,
    /// The revision, where the request names it: it belongs to no session then.
    pub revision: Option<String>,
    /// The span of the sender, as it says.
    pub traceparent: Option<String>,
}

/// What happened to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchanged {
    Began(Requested),
    /// It was answered, with an error of the protocol (its code) or of the tool (a word), or without one.
    Answered {
        id: MessageId,
        from: Sender,
        error: Option<String>,
    },
}

/// The longest text that is noted, in bytes: a message may have 64 MiB, and what is noted is kept until the request is answered.
const MAX_NOTED: usize = 1_024;
/// The error of a tool, in the words of the semantic conventions.
pub const TOOL_ERROR: &str = "tool_error";
/// An error without a code.
const UNKNOWN: &str = "_OTHER";
/// The error of a request whose answer is not a message.
const INVALID_ANSWER: &str = "invalid_answer";
/// The error of a call in a session that has too many.
const SESSION_FULL: &str = "session_full";

impl Requested {
    fn of(message: &Message, id: &MessageId, method: &str, from: Sender) -> Self {
        let noted = |text: &str| text.get(..text.floor_char_boundary(MAX_NOTED)).unwrap_or_default().to_owned();
        let param = |name: &str| message.param(name).map(noted);
        let meta = |name: &str| message.meta(name).and_then(Json::as_str).map(noted);
        Self {
            id: id.clone(),
            from,
            method: noted(method),
            tool: if method == "tools/call" { param("name") } else { None },
            prompt: if method == "prompts/get" { param("name") } else { None },
            resource: if method.starts_with("resources/") { param("uri") } else { None },
            revision: meta(PROTOCOL_VERSION),
            traceparent: meta("traceparent"),
        }
    }
}

impl Connection {
    /// Begins to note which requests begin and end.
    #[must_use]
    pub fn noting_exchanges(mut self) -> Self {
        self.exchanged = Some(Vec::new());
        self
    }

    /// What was noted since this was last asked.
    pub fn take_exchanged(&mut self) -> Vec<Exchanged> {
        self.exchanged.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn note_began(&mut self, message: &Message, id: &MessageId, method: &str, from: Sender) {
        if let Some(exchanged) = &mut self.exchanged {
            exchanged.push(Exchanged::Began(Requested::of(message, id, method, from)));
        }
    }

    /// An answer that the other side has given.
    pub(super) fn note_answered(&mut self, message: &Message, id: &MessageId, from: Sender) {
        if self.exchanged.is_some() {
            self.note(id, from, error(message));
        }
    }

    /// A request of the client that is answered here with this code.
    pub(super) fn note_refused(&mut self, id: &MessageId, code: i32) {
        if self.exchanged.is_some() {
            self.note(id, Sender::Client, Some(code.to_string()));
        }
    }

    pub(super) fn note_full(&mut self, id: &MessageId) {
        self.note(id, Sender::Client, Some(SESSION_FULL.to_owned()));
    }

    pub(super) fn note_invalid_answer(&mut self, id: &MessageId) {
        self.note(id, Sender::Client, Some(INVALID_ANSWER.to_owned()));
    }

    pub(super) fn note_server_ended(&mut self, ids: &[MessageId]) {
        ids.iter().for_each(|id| self.note_refused(id, INTERNAL_ERROR));
    }

    fn note(&mut self, id: &MessageId, from: Sender, error: Option<String>) {
        if let Some(exchanged) = &mut self.exchanged {
            exchanged.push(Exchanged::Answered { id: id.clone(), from, error });
        }
    }
}

/// The error that an answer says.
fn error(message: &Message) -> Option<String> {
    if let Some(error) = message.body.get("error") {
        let code = error.as_object().and_then(|error| error.get("code")?.as_number()?.as_i64());
        return Some(code.map_or_else(|| UNKNOWN.to_owned(), |code| code.to_string()));
    }
    let failed = message.result()?.get("isError").and_then(Json::as_bool) == Some(true);
    failed.then(|| TOOL_ERROR.to_owned())
}
