//! The hosts, each in a file of its own.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod vscode;

use proofmark_receipt::Object;

use crate::message::{Message, Occasion};
use crate::name::Host;

/// The host that an event is from, if that is another one.
pub(crate) fn told_by(host: Host, object: &Object) -> Option<Host> {
    (host == Host::Copilot && object.contains("hookEventName")).then_some(Host::VsCode)
}

pub(crate) fn read(host: Host, object: &Object) -> Result<Message, String> {
    match host {
        Host::Claude => claude::read(object),
        Host::Codex => codex::read(object),
        Host::Gemini => gemini::read(object),
        Host::Copilot => copilot::read(object),
        Host::VsCode => vscode::read(object),
        Host::Cursor => cursor::read(object),
        Host::OpenCode => opencode::read(object),
    }
}

/// The name by which calls of a tool are compared, whether a hook or the host's record has them.
pub(crate) fn compared_name(host: Host, tool: &str) -> &str {
    match host {
        Host::Copilot => copilot::common_name(tool).unwrap_or(tool),
        Host::Claude | Host::Codex | Host::Gemini | Host::VsCode | Host::Cursor | Host::OpenCode => tool,
    }
}

pub(crate) fn allow(host: Host, occasion: Occasion) -> Option<Object> {
    match host {
        // A printed consent would skip the host's own questions, or is an error.
        Host::Claude | Host::Codex | Host::Gemini | Host::Copilot | Host::VsCode => None,
        Host::Cursor => Some(cursor::allow(occasion)),
        Host::OpenCode => Some(opencode::allow()),
    }
}

pub(crate) fn deny(host: Host, occasion: Occasion, reason: &str) -> Object {
    match host {
        Host::Claude => claude::deny(reason),
        Host::Codex => codex::deny(reason),
        Host::Gemini => gemini::deny(reason),
        Host::Copilot => copilot::deny(reason),
        Host::VsCode => vscode::deny(reason),
        Host::Cursor => cursor::deny(occasion, reason),
        Host::OpenCode => opencode::deny(reason),
    }
}

pub(crate) fn go_on(host: Host, occasion: Occasion, prompt: &str) -> Option<Object> {
    match host {
        Host::Claude | Host::Codex | Host::Copilot => Some(claude::go_on(prompt)),
        Host::Gemini => Some(gemini::deny(prompt)),
        Host::VsCode => Some(vscode::go_on(occasion, prompt)),
        Host::Cursor => Some(cursor::go_on(prompt)),
        Host::OpenCode => Some(Object::new()),
    }
}

pub(crate) fn pass(host: Host, occasion: Occasion, note: Option<&str>) -> Option<Object> {
    match host {
        Host::Claude | Host::Codex | Host::Gemini | Host::VsCode => note.map(claude::note),
        Host::Copilot => None,
        Host::Cursor => Some(cursor::pass(occasion)),
        Host::OpenCode => Some(Object::new()),
    }
}
