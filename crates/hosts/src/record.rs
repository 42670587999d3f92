//! The host's own record of a session, beside what hooks saw. An agent may be able to write it, so it proves nothing good: it
//! shows calls that no hook was asked about.

use proofmark_evidence::Call;
use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use crate::fields::MAX_INPUT_DEPTH;

/// The longest line of a record that is read for the last message, in bytes.
const MAX_LINE: usize = 16 << 20;

/// The record of a host: lines of JSON.
pub struct Record {
    /// The agent's message in a line.
    pub(crate) message: fn(&Object) -> Option<String>,
    /// Whether what the host says to be the agent's last message is all that the agent has said since the user did.
    pub joins_messages: bool,
    /// Whether the end of the record has the stop that hooks are asked about, where the host notes it some time after it asks.
    pub has_open_stop: Option<fn(&str) -> bool>,
    /// The calls in it, where their form is known.
    pub(crate) calls: Option<RecordedCalls>,
}

/// The calls in a host's record.
pub(crate) struct RecordedCalls {
    /// The name of the form of trace that they are in.
    pub(crate) form: &'static str,
    /// Whether a line may say something about a call.
    pub(crate) may_be_in: fn(&str) -> bool,
    /// Whether only the record has the exit code of a command, and hooks are not told.
    pub(crate) alone_has_exit_codes: bool,
    /// The name by which calls of a tool are compared: hooks may be told another one than the record has.
    pub(crate) compared_name: for<'a> fn(&'a str) -> &'a str,
    /// Whether the host would have asked a hook about a call that was executed.
    pub(crate) was_asked_about: fn(&RecordedCall<'_>) -> bool,
}

/// A call of a record that was executed.
pub(crate) struct RecordedCall<'a> {
    pub(crate) call: &'a Call,
    pub(crate) failed: bool,
}

impl RecordedCall<'_> {
    /// Whether the text that the call returned begins with one of these.
    pub(crate) fn returned(&self, beginnings: &[&str]) -> bool {
        let result = self.call.result.as_ref().and_then(Json::as_str).unwrap_or_default();
        beginnings.iter().any(|beginning| result.starts_with(beginning))
    }
}

impl Record {
    /// No record, where hooks are not told of one.
    pub(crate) const NONE: Self = Self { message: |_| None, joins_messages: false, has_open_stop: None, calls: None };

    /// The name of the form of trace that the calls are in; none where it is not known.
    #[must_use]
    pub fn form(&self) -> Option<&'static str> {
        self.calls.as_ref().map(|calls| calls.form)
    }

    /// Whether only the record has the exit code of a command, and hooks are not told.
    #[must_use]
    pub fn alone_has_exit_codes(&self) -> bool {
        self.calls.as_ref().is_some_and(|calls| calls.alone_has_exit_codes)
    }

    /// Whether a line of the record may say something about a call.
    #[must_use]
    pub fn may_be_about_a_call(&self, line: &str) -> bool {
        self.calls.as_ref().is_some_and(|calls| (calls.may_be_in)(line))
    }

    /// The name by which calls of a tool are compared: hooks may be told another one than the record has.
    #[must_use]
    pub fn compared_name<'a>(&self, tool: &'a str) -> &'a str {
        self.calls.as_ref().map_or(tool, |calls| (calls.compared_name)(tool))
    }

    /// Whether the host would have asked a hook about this call of its record, which was executed.
    #[must_use]
    pub fn asks_about(&self, call: &Call) -> bool {
        // It was not executed yet, so a hook may still be asked.
        if call.status == CallStatus::Pending {
            return false;
        }
        let recorded = RecordedCall { call, failed: call.status == CallStatus::Failed };
        self.calls.as_ref().is_some_and(|calls| (calls.was_asked_about)(&recorded))
    }

    /// The agent's last message in a record.
    #[must_use]
    pub fn last_message(&self, record: &str) -> Option<String> {
        last_line(record, |line| (self.message)(line).filter(|message| !message.trim().is_empty()))
    }
}

/// What the last line says of which there is something to say.
pub(crate) fn last_line<T>(record: &str, said: impl Fn(&Object) -> Option<T>) -> Option<T> {
    let limits = Limits { max_bytes: MAX_LINE, max_depth: MAX_INPUT_DEPTH, ..Limits::default() };
    // A line that is too long holds what a tool returned, and not what the agent said.
    record.lines().rev().filter(|line| line.len() <= MAX_LINE).find_map(|line| {
        let line = Json::parse_with(line.as_bytes(), limits).ok()?;
        said(line.as_object()?)
    })
}

/// A text member.
pub(crate) fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Json::as_str)
}

/// The text of a message: itself, or the texts of its parts.
pub(crate) fn content(content: &Json) -> Option<String> {
    match content {
        // Hosts write a message that is only text in the short form.
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => {
            // Parts without a text are pictures and calls.
            let texts: Vec<_> = parts.iter().filter_map(|part| text(part.as_object()?, "text")).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

/// The content of `message` in a line, or that of the line itself.
pub(crate) fn content_of_message(line: &Object) -> Option<String> {
    let message = line.get("message").and_then(Json::as_object);
    content(message.and_then(|message| message.get("content")).or_else(|| line.get("content"))?)
}

/// The name of a tool that hooks are told and the record has alike.
pub(crate) fn same_name(tool: &str) -> &str {
    tool
}
