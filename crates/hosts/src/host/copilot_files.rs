//! The files of Copilot CLI that VS Code reads as well, and the form of the record that both write.

use proofmark_receipt::Object;

use crate::installation::{Moment, hook_in_common_form};
use crate::record;
use crate::surroundings::{Layer, Scope, Surroundings};

pub(super) const EVENTS: &[(&str, Moment)] = &[
    ("PreToolUse", Moment::Before),
    ("PostToolUse", Moment::After),
    ("PostToolUseFailure", Moment::After),
    ("Stop", Moment::Stop),
    ("SubagentStop", Moment::Stop),
];

/// What the agent says, and not what a subagent does.
pub(super) fn message(line: &Object) -> Option<String> {
    let is_of_agent = record::text(line, "type") == Some("assistant.message") && !line.contains("agentId");
    record::content(line.get("data").filter(|_| is_of_agent)?.as_object()?.get("content")?)
}

pub(super) fn may_be_about_a_call(line: &str) -> bool {
    line.contains("tool.execution_")
}

/// The files of a user and of a project, which VS Code reads as well.
pub(super) fn layers(place: &Surroundings) -> Vec<Layer> {
    let user = place.folder("COPILOT_HOME", ".copilot").join("hooks/proofmark.json");
    vec![Layer::of_user(user), place.in_project(".github/hooks/proofmark.json")]
}

/// `command` and `timeout` are read by the command line, the cloud agent and VS Code alike.
pub(super) fn hook(_: Moment, line: &str) -> Object {
    hook_in_common_form(line)
}

pub(super) fn next(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "trust the folder when the host asks: until then it may skip the hooks",
        Scope::User | Scope::System => "restart the host: hooks are read when it starts",
    }
}
