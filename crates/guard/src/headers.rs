//! The headers of a request over HTTP that repeat a part of its body, for programs that route by them.
//!
//! The body is what is judged. A header that says something else is refused, because a server, or a gateway in front of it,
//! may go by the header (revision 2026-07-28, "Server Validation").

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};
use proofmark_receipt::{Json, Object};

use crate::answer::INVALID_PARAMS;
use crate::message::{HEADER_MISMATCH, Kind, Message, MessageError, PROTOCOL_VERSION};

/// The last revision in which a client begins with `initialize`. Those after it have no sessions.
const LAST_WITH_SESSIONS: &str = "2025-11-25";
/// How the name of a header begins that repeats an argument, in lower case.
const PARAMETER: &str = "mcp-param-";
/// The other headers that repeat a part of the body.
const SINGLE: [&str; 3] = ["mcp-protocol-version", "mcp-method", "mcp-name"];
/// What stands before and after a value in base64.
const BASE64: (&str, &str) = ("=?base64?", "?=");

/// The headers of the protocol, of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    version: Option<String>,
    method: Option<String>,
    name: Option<String>,
    /// By the name after `Mcp-Param-`, in lower case.
    parameters: BTreeMap<String, String>,
}

/// An argument of a tool that a header repeats: `x-mcp-header` in the schema of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The name after `Mcp-Param-`, in lower case.
    header: String,
    /// The members that lead to the argument.
    path: Vec<String>,
}

/// The name of a header and what it says, as texts.
pub type HeaderText = (String, String);

impl Headers {
    /// Those headers of a request that [`Headers::read`] looks at, as texts. A value that is not UTF-8 stays one that [`Headers::read`] refuses.
    pub fn looked_at<'a>(all: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<HeaderText> {
        let looked_at = |name: &str| {
            let name = name.to_ascii_lowercase();
            is_mistakable(&name) || SINGLE.contains(&&*name) || name.starts_with(PARAMETER)
        };
        let all = all.into_iter().filter(|(name, _)| looked_at(name));
        all.map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned())).collect()
    }

    /// The headers that these were read from, in another order.
    #[must_use]
    pub fn texts(&self) -> Vec<HeaderText> {
        let single = SINGLE.into_iter().zip([&self.version, &self.method, &self.name]);
        let single = single.filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        let parameters = self.parameters.iter().map(|(name, value)| (format!("{PARAMETER}{name}"), value.clone()));
        single.chain(parameters).collect()
    }

    /// As [`Headers::read`], of texts.
    ///
    /// # Errors
    /// As [`Headers::read`].
    pub fn read_texts(texts: &[HeaderText]) -> Result<Self, MessageError> {
        Self::read(texts.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }

    /// Picks those of the protocol from all headers of a request; names in any letter case.
    ///
    /// # Errors
    /// [`MessageError`] if one is repeated, has other characters than visible ASCII and spaces, or has a name that some programs
    /// take for one of the protocol.
    pub fn read<'a>(all: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, MessageError> {
        let mut headers = Self::default();
        for (name, value) in all {
            let name = name.to_ascii_lowercase();
            if is_mistakable(&name) {
                let shown = proofmark_receipt::shown(&name);
                return Err(refused(format!("the header `{shown}` can be taken for one of the protocol")));
            }
            let place = match name.as_str() {
                "mcp-protocol-version" => headers.version.replace(text(&name, value)?),
                "mcp-method" => headers.method.replace(text(&name, value)?),
                "mcp-name" => headers.name.replace(text(&name, value)?),
                name => match name.strip_prefix(PARAMETER) {
                    Some(parameter) => headers.parameters.insert(parameter.to_owned(), text(name, value)?),
                    None => None,
                },
            };
            if place.is_some() {
                return Err(refused(format!("the header `{}` is repeated", proofmark_receipt::shown(&name))));
            }
        }
        Ok(headers)
    }

    /// Whether a request belongs to a revision without sessions.
    #[must_use]
    pub fn is_stateless(&self, message: &Message) -> bool {
        message.meta(PROTOCOL_VERSION).is_some() || self.names_stateless()
    }

    fn names_stateless(&self) -> bool {
        self.version.as_deref().is_some_and(|version| version > LAST_WITH_SESSIONS)
    }

    /// Whether the headers say what a message to this program says, whose tools have no arguments that headers repeat.
    ///
    /// # Errors
    /// [`MessageError`], without the id of the message.
    pub fn check_own(&self, message: &Message) -> Result<(), MessageError> {
        self.check(message, &[])
    }

    /// The revision that they name.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether the headers say what the message says. `mirrored` are the arguments that headers repeat, of the tool that is
    /// called.
    ///
    /// # Errors
    /// [`MessageError`], without the id of the message.
    pub(crate) fn check(&self, message: &Message, mirrored: &[Mirrored]) -> Result<(), MessageError> {
        let (method, is_request) = match &message.kind {
            Kind::Request { method, .. } => (Some(method.as_str()), true),
            Kind::Notification { method } => (Some(method.as_str()), false),
            Kind::Answer { .. } | Kind::Fault => (None, false),
        };
        let required = self.check_version(message, is_request)?;
        match self.method.as_deref() {
            None if required => return Err(refused("the header `Mcp-Method` is missing")),
            Some(header) if Some(header) != method => {
                return Err(refused("the header `Mcp-Method` is not the method of the body"));
            }
            None | Some(_) => {}
        }
        self.check_name(message, method.unwrap_or_default(), required)?;
        if method == Some("tools/call") {
            let empty = Object::new();
            let params = message.params().unwrap_or(&empty);
            mirrored
                .iter()
                .try_for_each(|argument| self.check_argument(argument, params.get("arguments"), required))?;
        }
        Ok(())
    }

    /// Whether the other headers are required.
    fn check_version(&self, message: &Message, is_request: bool) -> Result<bool, MessageError> {
        match (message.meta(PROTOCOL_VERSION), self.version.as_deref()) {
            (Some(Json::String(body)), Some(header)) if body == header => Ok(is_request),
            (Some(_), None) => Err(refused("the header `MCP-Protocol-Version` is missing")),
            (Some(_), Some(_)) => Err(refused("the header `MCP-Protocol-Version` is not the revision of the body")),
            // The body would be of the revision before it, and a server may go by the header.
            (None, Some(_)) if is_request && self.names_stateless() => {
                let reason = format!("`params._meta` does not have `{PROTOCOL_VERSION}`, which this revision requires");
                Err(MessageError { code: INVALID_PARAMS, id: None, reason })
            }
            (None, _) => Ok(false),
        }
    }

    fn check_name(&self, message: &Message, method: &str, required: bool) -> Result<(), MessageError> {
        let member = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            // Extensions name what they are about, as a task.
            _ => ["name", "uri", "taskId"].into_iter().find(|name| message.param(name).is_some()).unwrap_or("name"),
        };
        match (self.name.as_deref(), message.param(member)) {
            (Some(header), body) if decoded(header).as_deref() != body => {
                Err(refused(format!("the header `Mcp-Name` is not `params.{member}` of the body")))
            }
            (None, Some(_)) if required && matches!(method, "tools/call" | "prompts/get" | "resources/read") => {
                Err(refused("the header `Mcp-Name` is missing"))
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn check_argument(
        &self,
        argument: &Mirrored,
        arguments: Option<&Json>,
        required: bool,
    ) -> Result<(), MessageError> {
        let mut value = arguments;
        for name in &argument.path {
            value = value.and_then(|value| value.as_object()?.get(name));
        }
        let header = self.parameters.get(&argument.header);
        let name = || proofmark_receipt::shown(&format!("`Mcp-Param-{}`", argument.header));
        match (header, value) {
            (None, None | Some(Json::Null | Json::Array(_) | Json::Object(_))) => Ok(()),
            (None, Some(_)) if required => Err(refused(format!("the header {} is missing", name()))),
            // Older revisions do not ask for it.
            (None, Some(_)) => Ok(()),
            (Some(header), Some(value)) if decoded(header).is_some_and(|header| is_written(value, &header)) => Ok(()),
            (Some(_), _) => Err(refused(format!("the header {} is not the argument of the body", name()))),
        }
    }
}

/// Whether programs could take a name, in lower case, for one of the protocol: gateways that write headers into variables make one name
/// of both.
fn is_mistakable(name: &str) -> bool {
    name.contains('_') && name.replace('_', "-").starts_with("mcp-")
}

/// The arguments that headers repeat, of a tool with this schema. Only members of `properties` lead to one.
pub(crate) fn mirrored(schema: Option<&Json>) -> Vec<Mirrored> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found);
    found
}

fn collect(schema: Option<&Json>, path: &mut Vec<String>, found: &mut Vec<Mirrored>) {
    let Some(schema) = schema.and_then(Json::as_object) else { return };
    if let Some(header) = schema.get("x-mcp-header").and_then(Json::as_str).filter(|_| !path.is_empty()) {
        found.push(Mirrored { header: header.to_ascii_lowercase(), path: path.clone() });
    }
    for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        path.push(name.to_owned());
        collect(Some(property), path, found);
        path.pop();
    }
}

/// Whether a header that repeats this value may read so.
fn is_written(value: &Json, header: &str) -> bool {
    match value {
        Json::String(text) => text == header,
        Json::Bool(value) => header == if *value { "true" } else { "false" },
        Json::Number(_) => {
            // `42` and `42.0` are one number, which languages write differently.
            let body = value.to_text();
            body == header || whole(&body).is_some_and(|body| whole(header) == Some(body))
        }
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

/// The digits of a whole number in decimal notation, without a fraction of zeros: `42` of `42.0`.
fn whole(number: &str) -> Option<&str> {
    let (digits, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_whole = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    (is_whole && !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0')).then_some(digits)
}

/// The value that a header stands for; `None` for base64 that is not that of a text.
fn decoded(header: &str) -> Option<String> {
    let (before, after) = BASE64;
    match header.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)) {
        Some(base64) => String::from_utf8(Base64::decode_vec(base64).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

fn text(name: &str, value: &[u8]) -> Result<String, MessageError> {
    let plain = value.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match std::str::from_utf8(value) {
        Ok(value) if plain => Ok(value.to_owned()),
        Ok(_) | Err(_) => {
            Err(refused(format!("the header `{}` has invalid characters", proofmark_receipt::shown(name))))
        }
    }
}

fn refused(reason: impl Into<String>) -> MessageError {
    MessageError { code: HEADER_MISMATCH, id: None, reason: reason.into() }
}
