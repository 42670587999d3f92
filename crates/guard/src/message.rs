//! JSON-RPC messages, read strictly, and forwarded as they were judged.
//!
//! A reader that is more lenient than the program behind it lets a message through that the program reads as another one:
//! of two members with one name the last counts for most of them, a bare CR ends a line for some, and some take `Name` for
//! `name`. So a message is refused unless every reader reads it alike, and what is forwarded is written anew: the tokens
//! that were judged, byte for byte, with nothing between them.

use std::thread;

use proofmark_receipt::json::{self, JsonError, JsonErrorKind, Limits, MAX_NODES};
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_session::TextDigest;

use crate::fold::{folded, same_when_folded};

/// The longest message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// From which length on a message is digested while it is parsed, in bytes. A thread costs more for a shorter one.
const LONG: usize = 1 << 20;
/// The limits of a message that is forwarded.
const LIMITS: Limits = Limits { max_bytes: MAX_MESSAGE_BYTES, max_depth: 128, max_nodes: MAX_NODES };
/// The longest id, in bytes of its JSON text.
const MAX_ID_BYTES: usize = 1_024;
/// The largest integer that every program holds exactly (RFC 8259, section 6).
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The members of a JSON-RPC 2.0 message.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The members of `params` and of its `_meta` that decide what a message does, in any revision of the protocol.
const PARAMETERS: [&str; 30] = [
    "_meta",
    "argument",
    "arguments",
    "capabilities",
    "clientInfo",
    "context",
    "cursor",
    "elicitationId",
    "inputResponses",
    "level",
    "maxTokens",
    "message",
    "messages",
    "mode",
    "name",
    "notifications",
    "progress",
    "progressToken",
    "protocolVersion",
    "ref",
    "requestId",
    "requestState",
    "requestedSchema",
    "systemPrompt",
    "task",
    "taskId",
    "tools",
    "total",
    "uri",
    "url",
];

/// The member of `_meta` that names the revision of a request, in the revisions without sessions.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The members of `_meta` that the stateless revision reads.
const META: [&str; 6] = [
    "progressToken",
    PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/related-task",
];

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}

/// The id of a request: its JSON text (`7` and `"7"` are different ids), and the exchange that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    json: String,
    exchange: u64,
}

impl MessageId {
    fn new(json: String) -> Self {
        Self { json, exchange: 0 }
    }

    /// An id that is a text.
    pub(crate) fn text(text: &str) -> Self {
        Self::new(Json::from(text).to_text())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// The id with this JSON text, in this exchange; `None` for a text that no message has as its id.
    #[must_use]
    pub fn read(json: &str, exchange: u64) -> Option<Self> {
        let read = read_id(&Json::parse(json.as_bytes()).ok()?).ok()??;
        (read.json == json).then_some(Self { exchange, ..read })
    }

    /// The exchange that it belongs to.
    #[must_use]
    pub fn exchange(&self) -> u64 {
        self.exchange
    }

    /// Whether it is a text that begins so.
    pub(crate) fn is_text_with(&self, begin: &str) -> bool {
        self.json.strip_prefix('"').is_some_and(|text| text.starts_with(begin))
    }

    /// Whether it is unique within the session, and not only within an exchange.
    pub(crate) fn is_of_session(&self) -> bool {
        self.exchange == 0
    }
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Request {
        id: MessageId,
        method: String,
    },
    Notification {
        method: String,
    },
    /// The answer to the request with this id.
    Answer {
        id: MessageId,
    },
    /// An error that answers no request that could be read: its id is `null`.
    Fault,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message {
    pub kind: Kind,
    /// The whole message.
    pub body: Object,
    /// The message on one line, without the end of the line: what may be forwarded.
    pub text: String,
    /// The digest of the text, where it was made while the message was read.
    digest: Option<Sha256Digest>,
    exchange: u64,
    /// Whether it came from a stream that can be resumed, so that it may come again.
    pub(crate) resumable: bool,
    /// Whether its client can be told that it waits.
    pub(crate) may_wait: bool,
}

/// Why a message is refused. It is not forwarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the message: {reason}")]
pub struct MessageError {
    /// The JSON-RPC code: −32700 if the text is not JSON, −32600 if it is not a valid message.
    pub code: i32,
    /// Its id, if that could be read.
    pub id: Option<MessageId>,
    pub reason: String,
}

/// The JSON-RPC code for a text that is not JSON.
const PARSE_ERROR: i32 = -32_700;
/// The JSON-RPC code for JSON that is not a valid message.
pub(crate) const INVALID_REQUEST: i32 = -32_600;
/// The protocol's code for a header that is missing, or is not what the body says.
pub(crate) const HEADER_MISMATCH: i32 = -32_020;

impl Message {
    /// Reads one line, with or without its end.
    ///
    /// # Errors
    /// [`MessageError`] for anything that two programs could read differently.
    pub fn read(line: impl Into<Vec<u8>>, sender: Sender) -> Result<Self, MessageError> {
        let message = Self::read_within(line.into(), sender, LIMITS)?;
        if let Some(arguments) = message.params().and_then(|params| params.get("arguments")) {
            distinct(arguments).map_err(|reason| MessageError::invalid(message.id().cloned(), reason))?;
        }
        Ok(message)
    }

    /// Reads a message of a client to this program, which forwards it to nobody. Its arguments may have names that differ in letter
    /// case only: there is no other program that could take one for another.
    ///
    /// # Errors
    /// [`MessageError`] if it is longer or deeper than `limits`, or for anything that two programs could read differently.
    pub fn read_own(line: impl Into<Vec<u8>>, limits: Limits) -> Result<Self, MessageError> {
        Self::read_within(line.into(), Sender::Client, limits)
    }

    fn read_within(mut line: Vec<u8>, sender: Sender, limits: Limits) -> Result<Self, MessageError> {
        trim(&mut line);
        let (parsed, digest) = match sender {
            Sender::Server if line.len() >= LONG => parsed_and_digested(&line, limits),
            Sender::Server | Sender::Client => (Json::parse_noting_space(&line, limits), None),
        };
        let (json, spaced) = parsed.map_err(|error| MessageError::of_json(&error))?;
        let body = match json {
            Json::Object(body) => body,
            // Only one old revision had batches, and a policy decides on one action at a time.
            Json::Array(_) => return Err(MessageError::invalid(None, "a batch: send one message at a time")),
            _ => return Err(MessageError::invalid(None, "not a JSON object")),
        };
        let id = body.get("id").map(read_id).transpose();
        // A refusal names the request where that can be read, or its client would wait for an answer.
        let known = id.as_ref().ok().cloned().flatten().flatten();
        let refuse = |reason: String| MessageError::invalid(known.clone(), reason);
        check_names(&body, sender).map_err(refuse)?;
        if body.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(refuse("`jsonrpc` is not \"2.0\"".to_owned()));
        }
        let id = id.map_err(refuse)?;
        let kind = kind(&body, id).map_err(refuse)?;
        // The text is valid JSON, so it is UTF-8.
        let (text, is_as_read) = String::from_utf8(line).map(|text| on_one_line(text, spaced)).unwrap_or_default();
        let digest = digest.filter(|_| is_as_read);
        Ok(Self { kind, body, text, digest, exchange: 0, resumable: false, may_wait: true })
    }

    /// The message as one of this exchange, in which its ids are unique. Without sessions every request over HTTP is an
    /// exchange of its own, and two clients may use the same ids. What has sessions or a stream of its own is exchange 0.
    #[must_use]
    pub fn in_exchange(mut self, exchange: u64) -> Self {
        self.exchange = exchange;
        if let Kind::Request { id, .. } | Kind::Answer { id } = &mut self.kind {
            id.exchange = exchange;
        }
        self
    }

    /// The message as one whose client takes nothing before the answer: it does not wait for an approval.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.may_wait = false;
        self
    }

    /// Whether its client can be told that it waits ([`Message::without_waiting`]).
    #[must_use]
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// The exchange that it belongs to ([`Message::in_exchange`]).
    #[must_use]
    pub fn exchange(&self) -> u64 {
        self.exchange
    }

    /// The id of a request.
    #[must_use]
    pub fn request(&self) -> Option<&MessageId> {
        match &self.kind {
            Kind::Request { id, .. } => Some(id),
            Kind::Notification { .. } | Kind::Answer { .. } | Kind::Fault => None,
        }
    }

    /// The id of a request or an answer.
    fn id(&self) -> Option<&MessageId> {
        match &self.kind {
            Kind::Request { id, .. } | Kind::Answer { id } => Some(id),
            Kind::Notification { .. } | Kind::Fault => None,
        }
    }

    /// The id of the request that is cancelled, of a notification that cancels one.
    #[must_use]
    pub fn cancels(&self) -> Option<MessageId> {
        let json = self.params()?.get("requestId")?.to_text();
        Some(MessageId { json, exchange: self.exchange })
    }

    /// The refusal of a message that cannot go on, because the server does not read.
    #[must_use]
    pub fn unread(&self) -> MessageError {
        MessageError::invalid(self.id().cloned(), "the server does not read what it was sent")
    }

    /// The parameters, if they are an object.
    #[must_use]
    pub fn params(&self) -> Option<&Object> {
        self.body.get("params")?.as_object()
    }

    /// A text among the parameters.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params()?.get(name)?.as_str()
    }

    /// A member of `params._meta`.
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&Json> {
        self.params()?.get("_meta")?.as_object()?.get(name)
    }

    /// Whether there is a parameter of this name.
    pub(crate) fn has_param(&self, name: &str) -> bool {
        self.params().is_some_and(|params| params.contains(name))
    }

    /// Whether it is of the revision without sessions, in which a result says of which type it is.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.meta(PROTOCOL_VERSION).is_some()
    }

    /// The digest and length of the text.
    pub(crate) fn digest(&self) -> TextDigest {
        TextDigest::with(self.digest.unwrap_or_else(|| Sha256Digest::of(self.text.as_bytes())), self.text.len())
    }

    /// The result, if it is an object.
    #[must_use]
    pub fn result(&self) -> Option<&Object> {
        self.body.get("result")?.as_object()
    }
}

impl MessageError {
    fn of_json(error: &JsonError) -> Self {
        let code = match error.kind {
            JsonErrorKind::DuplicateKey(_) => INVALID_REQUEST,
            _ => PARSE_ERROR,
        };
        Self { code, id: None, reason: error.to_string() }
    }

    pub(crate) fn invalid(id: Option<MessageId>, reason: impl Into<String>) -> Self {
        Self { code: INVALID_REQUEST, id, reason: reason.into() }
    }
}

/// Takes away what ends the line, and white space around the document.
fn trim(line: &mut Vec<u8>) {
    // Only what is white space in JSON: a form feed is not.
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    while line.pop_if(|byte| is_space(byte)).is_some() {}
    let before = line.iter().take_while(|byte| is_space(byte)).count();
    drop(line.drain(..before));
}

type Parsed = Result<(Json, bool), JsonError>;

/// Both at the same time: each takes about as long as the client waits for the rest.
fn parsed_and_digested(line: &[u8], limits: Limits) -> (Parsed, Option<Sha256Digest>) {
    thread::scope(|scope| {
        let digest = thread::Builder::new().name("digest".to_owned()).spawn_scoped(scope, || Sha256Digest::of(line));
        let parsed = Json::parse_noting_space(line, limits);
        // Without a thread it is made when it is needed.
        (parsed, digest.ok().and_then(|digest| digest.join().ok()))
    })
}

/// The id of a message; `None` for `null`.
fn read_id(id: &Json) -> Result<Option<MessageId>, String> {
    let text = id.to_text();
    if text.len() > MAX_ID_BYTES {
        return Err(format!("the id is longer than {MAX_ID_BYTES} bytes"));
    }
    match id {
        Json::String(_) => Ok(Some(MessageId::new(text))),
        Json::Null => Ok(None),
        // Written in one way only, and small enough that no program rounds it to another id.
        Json::Number(_) if text != "-0" => {
            let digits = text.strip_prefix('-').unwrap_or(&text);
            if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse().is_ok_and(|n: u64| n <= MAX_EXACT) {
                Ok(Some(MessageId::new(text)))
            } else {
                Err("the id is not a text or an integer of at most 53 bits".to_owned())
            }
        }
        _ => Err("the id is not a text or an integer".to_owned()),
    }
}

fn kind(body: &Object, id: Option<Option<MessageId>>) -> Result<Kind, String> {
    let what = ["method", "result", "error"].map(|name| body.contains(name));
    let method = || match body.get("method").and_then(Json::as_str) {
        Some(method) => Ok(method.to_owned()),
        None => Err("`method` is not a text".to_owned()),
    };
    match (what, id) {
        ([true, false, false], Some(Some(id))) => Ok(Kind::Request { id, method: method()? }),
        ([true, false, false], None) => Ok(Kind::Notification { method: method()? }),
        ([false, true, false] | [false, false, true], Some(Some(id))) => Ok(Kind::Answer { id }),
        ([false, false, true], Some(None)) => Ok(Kind::Fault),
        ([true, false, false], Some(None)) => Err("the id of a request is `null`".to_owned()),
        ([false, true, false] | [false, false, true], _) => Err("an answer without an id".to_owned()),
        _ => Err("it has not exactly one of `method`, `result` and `error`".to_owned()),
    }
}

/// Refuses names that another program could take for a member of the protocol.
fn check_names(body: &Object, sender: Sender) -> Result<(), String> {
    for (name, _) in body.iter() {
        if !ENVELOPE.contains(&name) && (sender == Sender::Client || same_when_folded(name, &ENVELOPE)) {
            return Err(format!("the message has a member {}, which no message has", shown(name)));
        }
    }
    let Some(params) = body.get("params") else { return Ok(()) };
    let Some(params) = params.as_object() else {
        return Err("`params` is not an object".to_owned());
    };
    only_exact(params, &PARAMETERS, "params")?;
    if let Some(meta) = params.get("_meta") {
        let meta = meta.as_object().ok_or("`params._meta` is not an object")?;
        only_exact(meta, &META, "params._meta")?;
    }
    Ok(())
}

/// Refuses a name that differs from one of the protocol's in letter case only, and two that differ from each other so.
fn only_exact(object: &Object, known: &[&str], place: &str) -> Result<(), String> {
    for (name, _) in object.iter() {
        if !known.contains(&name) && same_when_folded(name, known) {
            return Err(format!(
                "`{place}` has a member {}, which differs from one of the protocol in letter case only",
                shown(name)
            ));
        }
    }
    distinct_names(object).map_err(|name| alike(place, &name))
}

/// Refuses two names of one object, at any depth, that differ in letter case only.
fn distinct(json: &Json) -> Result<(), String> {
    match json {
        Json::Array(items) => items.iter().try_for_each(distinct),
        Json::Object(object) => {
            distinct_names(object).map_err(|name| alike("params.arguments", &name))?;
            object.iter().try_for_each(|(_, value)| distinct(value))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
    }
}

fn distinct_names(object: &Object) -> Result<(), String> {
    let mut names: Vec<String> = object.iter().map(|(name, _)| folded(name)).collect();
    // Sorted, two names that are alike are neighbours: a message may have very many.
    names.sort_unstable();
    match names.windows(2).find(|pair| matches!(pair, [one, other] if one == other)) {
        Some(pair) => Err(pair.concat()),
        None => Ok(()),
    }
}

fn alike(place: &str, name: &str) -> String {
    let half = name.get(..name.len() / 2).unwrap_or(name);
    format!("`{place}` has two members that differ in letter case only: {}", shown(half))
}

fn shown(name: &str) -> String {
    proofmark_receipt::shown(&format!("`{name}`"))
}

/// A valid document without the white space beside its tokens, if it is `spaced`. Strings and numbers keep their bytes, but
/// U+2028 and U+2029 are escaped: some readers of lines end a line there. Also says whether the text is unchanged.
fn on_one_line(text: String, spaced: bool) -> (String, bool) {
    let (mut out, mut is_as_read) = (text, !spaced);
    if spaced {
        // One more byte: a line's end follows.
        let mut tokens = String::with_capacity(out.len() + 1);
        push_tokens(&mut tokens, &out);
        out = tokens;
    }
    // With this byte both letters begin; only strings have them.
    if out.as_bytes().contains(&0xE2) {
        for (letter, escaped) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")] {
            if out.contains(letter) {
                out = out.replace(letter, escaped);
                is_as_read = false;
            }
        }
    }
    (out, is_as_read)
}

fn push_tokens(out: &mut String, text: &str) {
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => at += json::string_length(text.as_bytes().get(at..).unwrap_or_default()),
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(text.get(copied..at).unwrap_or_default());
                at += 1;
                copied = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
}
