//! Tools that call other tools, or run whatever they are given: the action is in their arguments.

/// Names under which servers and hosts have such tools. `examples/guard/dispatchers.yaml` classes them.
pub(super) const DISPATCHERS: [&str; 32] = [
    "batch",
    "bash",
    "browser_evaluate",
    "call_tool",
    "eval",
    "evaluate",
    "evaluate_script",
    "exec",
    "execute",
    "execute_code",
    "execute_command",
    "execute_python",
    "execute_script",
    "execute_tool",
    "invoke",
    "invoke_tool",
    "multi_tool_use.parallel",
    "parallel",
    "process_start",
    "python",
    "run",
    "run_code",
    "run_command",
    "run_javascript",
    "run_python_code",
    "run_script",
    "run_shell_command",
    "run_tool",
    "shell",
    "start_process",
    "terminal",
    "use_tool",
];

#[cfg(test)]
mod tests {
    use proofmark_receipt::document::{Format, parse};
    use proofmark_receipt::{Json, Object};

    use super::*;
    use crate::policy::{ActionPolicy, ToolCall};

    const EXAMPLE: &str = include_str!("../../../../examples/guard/dispatchers.yaml");

    fn policy(text: &str) -> ActionPolicy {
        ActionPolicy::read(&parse(text.as_bytes(), Format::Yaml).unwrap()).unwrap()
    }

    #[test]
    fn the_example_classes_every_dispatcher_also_before_an_entry_for_all_tools() {
        let open = EXAMPLE.replace("boundaries:", "  - {tool: '*', class: generic}\nboundaries:");
        let policy = policy(&open);
        let codes: Vec<_> = policy.warnings().iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["role-of-nobody"], "who may approve is added by its user");
        let args = Json::Object(Object::new());
        for tool in DISPATCHERS {
            let call = ToolCall { tool, server: None, args: &args, said_to_change: false };
            let class = policy.action_of(&call).get("class").and_then(Json::as_str).map(str::to_owned);
            assert_eq!(class.as_deref(), Some("system_change"), "{tool}");
        }
    }

    #[test]
    fn a_dispatcher_without_effect_is_warned_of() {
        for (tools, warns) in [
            ("{tool: '*', class: generic}", true),
            ("{tool: run_*, class: record_mutation, reads: true}", true),
            ("{tool: call_tool, class: generic, dispatches: {tool: name}}", false),
            ("{tool: read_*, class: generic}", false),
            ("{tool: '*', class: record_mutation}", false),
            // Elsewhere it stays open.
            ("{tool: '*', server: other, class: system_change}, {tool: eval, class: generic}", true),
            ("{tool: eval, class: system_change}, {tool: eval, class: generic}", false),
        ] {
            let policy = policy(&format!(
                "version: 1\ntools: [{tools}]\nboundaries: [{{id: b, match: {{}}, require: [{{approval: {{role: r}}}}]}}]"
            ));
            let codes: Vec<_> = policy.warnings().iter().map(|warning| warning.code).collect();
            assert_eq!(codes.contains(&"weak-dispatcher"), warns, "{tools}: {codes:?}");
        }
    }
}
