//! The host's own record of a session, beside what hooks saw. An agent may be able to write it, so it proves nothing good: it
//! shows calls that no hook was asked about.

use proofmark_evidence::{Call, CallStatus};
use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object};

use crate::fields::MAX_INPUT_DEPTH;
use crate::host;
use crate::name::Host;

/// The longest line of a transcript that is read for the last message, in bytes.
const MAX_LINE: usize = 16 << 20;

/// The tools of Codex that it asks no hook about and that have no effect outside of the session.
const CODEX_WITHOUT_HOOK: [&str; 16] = [
    "update_plan",
    "request_user_input",
    "get_goal",
    "create_goal",
    "update_goal",
    "tool_search",
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "wait",
    "wait_agent",
    "list_agents",
    "spawn_agent",
    "send_input",
    "resume_agent",
    "close_agent",
    "web_search",
];

impl Host {
    /// The name of the form of trace that the host's record is in; none where the record has no form that is known.
    #[must_use]
    pub fn transcript_form(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("claude_code"),
            Self::Codex => Some("codex"),
            Self::Gemini => Some("gemini_cli"),
            Self::Copilot | Self::VsCode => Some("copilot"),
            Self::Cursor | Self::OpenCode => None,
        }
    }

    /// Whether what it says to be the agent's last message is all that the agent has said since the user did.
    #[must_use]
    pub fn joins_messages(self) -> bool {
        matches!(self, Self::Gemini)
    }

    /// Whether hooks are not told the exit code of a command, which is in the host's record.
    #[must_use]
    pub fn leaves_out_how_calls_end(self) -> bool {
        matches!(self, Self::Codex)
    }

    /// Whether a line of the record may say something about a call.
    #[must_use]
    pub fn may_be_about_a_call(self, line: &str) -> bool {
        match self {
            Self::Claude => line.contains("tool_use"),
            Self::Codex => line.contains("_call"),
            // Later lines take the place of earlier ones.
            Self::Gemini => true,
            Self::Copilot | Self::VsCode => line.contains("tool.execution_"),
            Self::Cursor | Self::OpenCode => false,
        }
    }

    /// The name by which calls of a tool are compared: hooks may be told another one than the record has.
    #[must_use]
    pub fn compared_name(self, tool: &str) -> &str {
        host::compared_name(self, tool)
    }

    /// Whether the host would have asked a hook about this call of its record, which was executed.
    #[must_use]
    pub fn asks_about(self, call: &Call) -> bool {
        let result = call.result.as_ref().and_then(Json::as_str).unwrap_or_default();
        let begins = |texts: &[&str]| texts.iter().any(|text| result.starts_with(text));
        if call.status == CallStatus::Pending {
            return false;
        }
        let failed = call.status == CallStatus::Failed;
        match self {
            // Tools that the service runs. And calls with invalid arguments, or that the user stopped before they began.
            Self::Claude => {
                let served = call.id.as_ref().is_some_and(|id| id.starts_with("srvtoolu_"));
                !served && (!failed || begins(&["Exit code "]))
            }
            Self::Gemini => !failed || begins(&["Output: ", "<untrusted_context>\nOutput: "]),
            Self::Codex => {
                let refused =
                    begins(&["unsupported call: ", "unsupported custom tool call: ", "failed to parse function"]);
                !refused && codex_asks_about(call)
            }
            // They ask before anything else, also about tools that do not exist and calls that their own rules refuse. When a
            // command has ended in the background, the host itself reads what it printed.
            Self::Copilot => !matches!(call.tool.as_str(), "read_bash" | "read_powershell"),
            Self::VsCode => true,
            Self::Cursor | Self::OpenCode => false,
        }
    }
}

/// Codex asks before a command begins, and not before something is typed into one that runs.
fn codex_asks_about(call: &Call) -> bool {
    match call.tool.as_str() {
        "write_stdin" => {
            let chars = call.arguments.as_object().and_then(|arguments| arguments.get("chars"));
            // Without any, it only looks at what the command has printed.
            chars.is_none_or(|chars| chars.as_str() != Some(""))
        }
        // A program that calls tools, each of which is asked about but the one that types into a command.
        "exec" => call.arguments.to_text().contains("write_stdin"),
        tool => !CODEX_WITHOUT_HOOK.contains(&tool),
    }
}

/// The agent's last message in a transcript.
#[must_use]
pub fn last_message(transcript: &str) -> Option<String> {
    transcript.lines().rev().filter(|line| line.len() <= MAX_LINE).find_map(|line| {
        let limits = Limits { max_bytes: MAX_LINE, max_depth: MAX_INPUT_DEPTH };
        let record = Json::parse_with(line.as_bytes(), limits).ok()?;
        message_of(record.as_object()?).filter(|message| !message.trim().is_empty())
    })
}

/// Whether the end of Copilot's transcript has the stop that its hooks are asked about now. Copilot notes when it begins and
/// when it has ended to ask a hook, some time after it does so; what it noted before the beginning is then there, too.
#[must_use]
pub fn has_open_stop(transcript: &str) -> bool {
    transcript
        .lines()
        .rev()
        .filter(|line| line.len() <= MAX_LINE)
        .find_map(|line| {
            let limits = Limits { max_bytes: MAX_LINE, max_depth: MAX_INPUT_DEPTH };
            let record = Json::parse_with(line.as_bytes(), limits).ok()?;
            let record = record.as_object()?;
            let kind = record.get("type").and_then(Json::as_str)?;
            let hook = record.get("data")?.as_object()?.get("hookType").and_then(Json::as_str);
            let is_stop = matches!(hook, Some("agentStop" | "subagentStop"));
            (is_stop && matches!(kind, "hook.start" | "hook.end")).then(|| kind == "hook.start")
        })
        .unwrap_or_default()
}

/// The agent's message in a record of any host.
fn message_of(record: &Object) -> Option<String> {
    let text = |object: &Object, name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
    let inner = |name: &str| record.get(name).and_then(Json::as_object);
    match (text(record, "type").as_deref(), text(record, "role").as_deref()) {
        (Some("gemini"), _) => texts(record.get("content")?),
        // Not what a subagent says.
        (Some("assistant.message"), _) if !record.contains("agentId") => texts(inner("data")?.get("content")?),
        (Some("assistant"), _) | (None, Some("assistant")) => {
            texts(inner("message").and_then(|message| message.get("content")).or_else(|| record.get("content"))?)
        }
        (Some("response_item"), _) => {
            let item = inner("payload")?;
            let is_message = text(item, "type").as_deref() == Some("message");
            let is_agent = text(item, "role").as_deref() == Some("assistant");
            texts(item.get("content").filter(|_| is_message && is_agent)?)
        }
        _ => None,
    }
}

fn texts(content: &Json) -> Option<String> {
    match content {
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part.as_object()?.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_open_until_its_hook_has_ended() {
        let event = |kind: &str, hook: &str| format!(r#"{{"type":"{kind}","data":{{"hookType":"{hook}"}}}}"#);
        let said = r#"{"type":"assistant.message","data":{"content":"done"}}"#.to_owned();
        let open = |lines: &[String]| has_open_stop(&lines.join("\n"));
        let (begun, ended) = (event("hook.start", "agentStop"), event("hook.end", "agentStop"));
        assert!(open(&[said.clone(), begun.clone()]));
        assert!(open(&[ended.clone(), said.clone(), begun.clone(), event("hook.start", "preToolUse")]));
        assert!(!open(&[begun, ended, said.clone(), event("hook.start", "postToolUse")]));
        assert!(!open(&[said, "{".to_owned()]));
    }
}
