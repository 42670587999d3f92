//! How a call ended, by what the host says.
//!
//! Only what the host itself says counts as success. Where it leaves the exit code of a command out, the end is doubtful: what
//! the command printed is the agent's own word.

use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use crate::message::Call;
use crate::tools::SHELL;

/// How a call ended by the members of its response, of a host that does not tell hooks the exit code of a command.
pub(crate) fn without_exit_code(call: &Call, response: &Json) -> CallStatus {
    let is_shell = call.tool == SHELL.name;
    by_members(response, if is_shell { CallStatus::Doubtful } else { CallStatus::Succeeded })
}

/// By the members that hosts and MCP servers use for errors; `otherwise` where none of them says anything.
pub(crate) fn by_members(response: &Json, otherwise: CallStatus) -> CallStatus {
    let Some(object) = response.as_object() else { return otherwise };
    let is = |name: &str, wanted: bool| object.get(name).and_then(Json::as_bool) == Some(wanted);
    let given = |name: &str| object.get(name).filter(|value| !value.is_null());
    if is("interrupted", true) || is("timed_out", true) || given("backgroundTaskId").is_some() {
        // It was cut off or goes on: it may have changed something.
        return CallStatus::Doubtful;
    }
    // Some tools always have the member, with an empty value where all went well.
    let error = given("error").is_some_and(|error| *error != Json::Bool(false) && error.as_str() != Some(""));
    if error || is("isError", true) || is("is_error", true) || is("success", false) {
        return CallStatus::Failed;
    }
    match exit_code(object) {
        Some(true) => CallStatus::Succeeded,
        Some(false) => CallStatus::Failed,
        None => otherwise,
    }
}

/// Whether the exit code is 0, where there is one.
fn exit_code(object: &Object) -> Option<bool> {
    let code = ["exitCode", "exit_code", "exit"].iter().find_map(|name| object.get(name))?;
    // A code that is no whole number is no success either.
    Some(code.as_number()?.as_i64() == Some(0))
}

/// The exit code in the last line of a text that has this form, as in `<exited with exit code 1>`.
pub(crate) fn last_line(text: &str, before: &str, after: &str) -> Option<CallStatus> {
    // The lines before it are what the command printed, which the agent chose.
    let line = text.trim_end().lines().next_back()?;
    let code = line.trim().strip_prefix(before)?.strip_suffix(after)?;
    Some(if code.trim() == "0" { CallStatus::Succeeded } else { CallStatus::Failed })
}
