//! The events of a host.

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, object};

use crate::fields;
use crate::installation::Moment;
use crate::message::Message;

/// The longest name of a host's session, in bytes.
pub const MAX_SESSION: usize = 100;

/// The events of a host.
pub struct Events {
    /// Those for which a hook is installed, as the host names them.
    pub installed: &'static [(&'static str, Moment)],
    /// Reads an event, and refuses those that are not known.
    pub(crate) read: fn(&Object) -> Result<Message, String>,
    /// The event before a call of the shell, as the host tells it.
    pub(crate) sample: fn(&SampleCall) -> Object,
    /// The variable in which the host names the project's folder to its hooks.
    pub project_variable: Option<&'static str>,
}

/// A call of the shell that somebody asks a hook about in the place of its host.
pub struct SampleCall {
    pub command: String,
    /// The folder of the project.
    pub folder: String,
    /// The name of the session.
    pub session: &'static str,
    /// The name of the call.
    pub id: String,
    /// The time, as in receipts.
    pub now: String,
}

impl SampleCall {
    /// The arguments of the host's tool.
    pub(crate) fn arguments(&self) -> Object {
        object! { "command": self.command.as_str(), "description": "proofmark hook doctor" }
    }

    /// An event in the form that most hosts have in common, with the members of `more` at its end.
    pub(crate) fn in_common_form(&self, event: &str, tool: &str, more: &Object) -> Object {
        let mut common = object! {
            "session_id": self.session, "transcript_path": "", "cwd": self.folder.as_str(), "hook_event_name": event,
            "tool_name": tool, "tool_input": self.arguments(),
        };
        for (name, value) in more.iter() {
            common.insert(name, value.clone());
        }
        common
    }
}

impl Events {
    /// Reads an event, and says why it cannot be read.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Message, String> {
        // Its own words, because this is what a person gets who starts a hook by hand.
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err("it is empty".to_owned());
        }
        let json = Json::parse_with(bytes, fields::LIMITS).map_err(|fault| fault.to_string())?;
        let Json::Object(object) = &json else { return Err("it is not an object".to_owned()) };
        let message = (self.read)(object)?;
        // The name becomes a part of the name of the stored session, which is searched for and printed.
        match &message.session {
            Some(session) if session.len() > MAX_SESSION || session.chars().any(char::is_control) => {
                Err(format!("`{}` is not the name of a session", shown(session)))
            }
            Some(_) | None => Ok(message),
        }
    }

    /// The event before a call of the shell, as the host tells it to its hooks.
    #[must_use]
    pub fn sample(&self, call: &SampleCall) -> Json {
        (self.sample)(call).into()
    }

    /// The one event before a tool.
    pub fn before_tool(&self) -> Option<&'static str> {
        self.installed.iter().find(|(_, moment)| *moment == Moment::Before).map(|(event, _)| *event)
    }
}
