//! How each host reads the answer of a hook that it called before a tool.

use proofmark_receipt::{Json, Object};

use super::run_bounded::Ended;
use crate::hook::HostName;

/// What a hook said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The call is not to run, for this reason.
    Denied(String),
    Allowed,
    /// This host does not know such an answer.
    Failed(String),
}

/// The exit code by which a hook blocks, with the reason on standard error.
const BLOCK: i32 = 2;

impl HostName {
    /// What the host takes the answer for.
    pub(super) fn reads(self, ended: &Ended) -> Answer {
        let stderr = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        let Some(code) = ended.code else { return Answer::Failed("it took too long, or was killed".to_owned()) };
        match (code, self) {
            (0, _) => self.reads_output(&ended.stdout),
            (BLOCK, HostName::Opencode) => Answer::Failed(failed(code, &stderr)),
            // Codex and Gemini run the call if no reason is given.
            (BLOCK, _) if !stderr.is_empty() => Answer::Denied(stderr),
            (_, _) => Answer::Failed(failed(code, &stderr)),
        }
    }

    /// Whether the host runs the call if the hook fails.
    pub(super) fn runs_if_failed(self, hook: &Object) -> bool {
        match self {
            HostName::Claude => hook.get("onFailure").and_then(Json::as_str) != Some("block"),
            HostName::Cursor => hook.get("failClosed").and_then(Json::as_bool) != Some(true),
            HostName::Codex | HostName::Gemini | HostName::Vscode => true,
            HostName::Copilot | HostName::Opencode => false,
        }
    }

    fn reads_output(self, stdout: &[u8]) -> Answer {
        if stdout.trim_ascii().is_empty() {
            return match self {
                HostName::Cursor | HostName::Opencode => Answer::Failed("it answered nothing".to_owned()),
                _ => Answer::Allowed,
            };
        }
        // A text before the object makes hosts read none.
        let Some(answer) =
            Some(stdout).filter(|stdout| stdout.starts_with(b"{")).and_then(|text| Json::parse(text).ok())
        else {
            return Answer::Failed("its output is not one JSON object".to_owned());
        };
        let empty = Object::new();
        let answer = answer.as_object().unwrap_or(&empty);
        let specific = answer.get("hookSpecificOutput").and_then(Json::as_object);
        match self {
            HostName::Claude | HostName::Vscode => specific.map_or_else(unknown, |inner| decision(inner, PERMISSION)),
            HostName::Copilot => decision(specific.unwrap_or(answer), PERMISSION),
            HostName::Codex => match codex_unknown(answer, specific) {
                Some(name) => Answer::Failed(format!("it has the member `{name}`, which Codex does not know")),
                None => specific.map_or_else(unknown, |inner| decision(inner, PERMISSION)),
            },
            HostName::Gemini | HostName::Opencode => decision(answer, ["decision", "reason"]),
            HostName::Cursor => decision(answer, ["permission", "user_message"]),
        }
    }
}

/// The members with the decision and its reason, as Claude named them.
const PERMISSION: [&str; 2] = ["permissionDecision", "permissionDecisionReason"];

fn decision(answer: &Object, [name, reason]: [&str; 2]) -> Answer {
    let text = |name: &str| answer.get(name).and_then(Json::as_str);
    match (text(name), text(reason)) {
        (Some("deny" | "block"), Some(reason)) if !reason.is_empty() => Answer::Denied(reason.to_owned()),
        (Some("deny" | "block"), _) => Answer::Failed("it refuses without a reason".to_owned()),
        (Some("allow"), _) => Answer::Allowed,
        (_, _) => unknown(),
    }
}

fn unknown() -> Answer {
    Answer::Failed("it says neither that the call may run nor that it may not".to_owned())
}

fn failed(code: i32, stderr: &str) -> String {
    let first: String = stderr.lines().next().unwrap_or_default().chars().take(200).collect();
    match first.is_empty() {
        true => format!("it ended with exit code {code}"),
        false => format!("it ended with exit code {code}: {first}"),
    }
}

/// A member that Codex does not know: it throws the whole answer away, and runs the call.
fn codex_unknown<'a>(answer: &'a Object, specific: Option<&'a Object>) -> Option<&'a str> {
    let known = ["hookSpecificOutput"];
    let inner = ["hookEventName", "permissionDecision", "permissionDecisionReason"];
    let outer = answer.iter().map(|(name, _)| name).find(|name| !known.contains(name));
    outer.or_else(|| specific?.iter().map(|(name, _)| name).find(|name| !inner.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;

    fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
        Ended { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn answers_are_read_as_the_host_reads_them() {
        use HostName::{Claude, Codex, Copilot, Cursor, Gemini, Opencode, Vscode};
        let denied = [
            (Claude, DENY),
            (Codex, DENY),
            (Vscode, DENY),
            (Copilot, r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#),
            (Gemini, r#"{"decision":"deny","reason":"no"}"#),
            (Cursor, r#"{"permission":"deny","user_message":"no","agent_message":"no"}"#),
            (Opencode, r#"{"decision":"deny","reason":"no"}"#),
        ];
        for (host, answer) in denied {
            assert_eq!(host.reads(&ended(0, answer, "")), Answer::Denied("no".to_owned()), "{host:?}");
        }
        let failed = [
            (Codex, 0, DENY.replace("\"deny\",", "\"deny\",\"extra\":1,"), ""),
            (Codex, 0, format!("text\n{DENY}"), ""),
            (Codex, 0, DENY.replace("deny", "ask"), ""),
            (Codex, 2, String::new(), ""),
            (Codex, 1, DENY.to_owned(), ""),
            (Gemini, 0, DENY.to_owned(), ""),
            (Cursor, 0, String::new(), ""),
            (Opencode, 0, "{}".to_owned(), ""),
            (Claude, 127, String::new(), "not found"),
        ];
        for (host, code, stdout, stderr) in failed {
            let answer = host.reads(&ended(code, &stdout, stderr));
            assert!(matches!(answer, Answer::Failed(_)), "{host:?} {code} {stdout}: {answer:?}");
        }
        assert_eq!(Codex.reads(&ended(2, "", "no")), Answer::Denied("no".to_owned()));
        assert_eq!(Codex.reads(&ended(0, "", "")), Answer::Allowed);
        assert!(matches!(Codex.reads(&Ended::default()), Answer::Failed(_)));
    }
}
