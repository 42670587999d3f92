//! Agents that are about to stop.

use super::Place;

const POLICY: &str = "
version: 1
boundaries:
  - id: commands
    match: {action_class: system_change}
";

const WORKFLOW: &str = "
name: build
class: mutating
steps:
  - id: tests
    agent: coder
    verification:
      onMissingEvidence: reject-and-retry
      noOtherMutations: false
      retryPrompt: Run ./test.sh until it passes.
      evidence:
        - {path: summary, expect: present}
      toolCalls:
        - {name: shell, args: {command: {expect: ./test.sh}}}
    onFailure: {action: abort, maxAttempts: 3, retryStrategy: fixed, initialDelayMs: 0, jitter: none}
";

const STEP: [&str; 4] = ["--workflow", "workflow.yaml", "--step", "tests"];
const RESULT: &str = r#"Done.\n\n```result\n{\"summary\": \"x\"}\n```"#;

fn place() -> Place {
    let place = Place::with(POLICY);
    place.write("workflow.yaml", WORKFLOW);
    place
}

fn claude(event: &str, rest: &str) -> String {
    format!(r#"{{"session_id":"s1","cwd":"/r","hook_event_name":"{event}",{rest}}}"#)
}

fn stop(again: bool) -> String {
    claude("Stop", &format!(r#""stop_hook_active":{again},"last_assistant_message":"{RESULT}""#))
}

fn command(place: &Place, command: &str, id: &str, works: bool) {
    let call = format!(r#""tool_name":"Bash","tool_input":{{"command":"{command}"}},"tool_use_id":"{id}""#);
    assert_eq!(place.hook("claude", &claude("PreToolUse", &call)), "");
    let (event, said) = if works {
        ("PostToolUse", r#""tool_response":{}"#)
    } else {
        ("PostToolUseFailure", r#""error":"Exit code 1""#)
    };
    assert_eq!(place.hook("claude", &claude(event, &format!("{call},{said}"))), "");
}

#[test]
fn a_stop_is_refused_until_the_step_is_accepted() {
    let place = place();
    let stopped = |again| place.hook_with("claude", &stop(again), &STEP);
    let refused = stopped(false);
    assert!(refused.starts_with(r#"{"decision":"block","reason":"Run ./test.sh until it passes."#), "{refused}");
    command(&place, "./test.sh", "t1", false);
    assert!(stopped(true).starts_with(r#"{"decision":"block""#));
    command(&place, "./test.sh", "t2", true);
    let accepted = stopped(true);
    assert!(accepted.starts_with(r#"{"systemMessage":"Step `tests` is accepted. Receipt "#), "{accepted}");
    // Judged for the last time.
    assert_eq!(stopped(false), "");
    let runs = place.said(&["run", "show", "claude-s1"]);
    assert!(runs.contains("tests: accepted") && runs.contains("attempt 3: accepted"), "{runs}");
    let shown = place.said(&["session", "show", "claude-s1"]);
    assert!(shown.contains("step tests retry") && shown.contains("step tests accepted"), "{shown}");
}

#[test]
fn a_stop_passes_when_no_attempt_is_left_and_says_so() {
    let place = place();
    let stopped = || place.hook_with("claude", &stop(true), &STEP);
    assert!(stopped().contains("block") && stopped().contains("block"));
    let over = stopped();
    assert!(
        over.starts_with(r#"{"systemMessage":"Step `tests` is not accepted, and it has no attempts left: "#),
        "{over}"
    );
    assert_eq!(stopped(), "");
    assert!(place.said(&["run", "show", "claude-s1"]).contains("tests: aborted"));
}

#[test]
fn a_stop_without_a_step_passes() {
    let place = place();
    assert_eq!(place.hook("claude", &stop(false)), "");
    assert_eq!(
        place.hook("cursor", r#"{"conversation_id":"s","hook_event_name":"stop","status":"completed","loop_count":0}"#),
        "{}"
    );
    assert!(place.proofmark(&["session", "show", "claude-s1"]).status.code() == Some(2), "nothing is stored");
}

#[test]
fn a_stop_that_cannot_be_judged_is_refused_once() {
    let place = place();
    let step = ["--workflow", "absent.yaml", "--step", "tests"];
    let refused = place.hook_with("claude", &stop(false), &step);
    assert!(
        refused.starts_with(r#"{"decision":"block","reason":"The step could not be judged: failed to "#),
        "{refused}"
    );
    assert!(
        place.hook_with("claude", &stop(true), &step).starts_with(r#"{"systemMessage":"The step could not be judged"#)
    );
    let unknown = ["--workflow", "workflow.yaml", "--step", "none"];
    assert!(place.hook_with("claude", &stop(false), &unknown).starts_with(r#"{"decision":"block""#));
}

#[test]
fn each_host_is_held_in_its_form() {
    let place = place();
    // The last message of these is in the host's record.
    place.write("copilot.jsonl", "{\"type\":\"assistant.message\",\"data\":{\"content\":\"hello\"}}\n");
    let transcript = place.at("copilot.jsonl");
    for (host, event, begins) in [
        ("codex", stop(false), r#"{"decision":"block","reason":"Run"#.to_owned()),
        (
            "gemini",
            r#"{"session_id":"s","hook_event_name":"AfterAgent","prompt":"p","prompt_response":"hi","stop_hook_active":false}"#.to_owned(),
            r#"{"decision":"deny","reason":"Run"#.to_owned(),
        ),
        (
            "copilot",
            format!(r#"{{"sessionId":"s","cwd":"/r","transcriptPath":"{}","stopReason":"end_turn","stop_hook_active":false}}"#, transcript.display()),
            r#"{"decision":"block","reason":"Run"#.to_owned(),
        ),
        (
            "vscode",
            r#"{"sessionId":"s","hookEventName":"Stop","stop_hook_active":false}"#.to_owned(),
            r#"{"hookSpecificOutput":{"hookEventName":"Stop","decision":"block","reason":"Run"#.to_owned(),
        ),
        (
            "cursor",
            r#"{"conversation_id":"s","hook_event_name":"stop","status":"completed","loop_count":0}"#.to_owned(),
            r#"{"followup_message":"Run"#.to_owned(),
        ),
    ] {
        let answer = place.hook_with(host, &event, &STEP);
        assert!(answer.starts_with(&begins), "{host}: {answer}");
    }
}

#[test]
fn a_subagent_has_a_run_of_its_own() {
    let place = place();
    let call = |agent: &str, id: &str| {
        let call = format!(
            r#""tool_name":"Bash","tool_input":{{"command":"./test.sh"}},"tool_use_id":"{id}","agent_id":"{agent}","tool_response":{{}}"#
        );
        place.hook("claude", &claude("PreToolUse", &call));
        place.hook("claude", &claude("PostToolUse", &call));
    };
    let stop = |agent: &str| {
        let event = format!(
            r#""agent_id":"{agent}","agent_type":"x","stop_hook_active":false,"last_assistant_message":"{RESULT}""#
        );
        place.hook_with("claude", &claude("SubagentStop", &event), &STEP)
    };
    call("a1", "t1");
    assert!(stop("a2").contains("block"));
    assert!(stop("a1").contains("is accepted"));
    assert!(place.said(&["run", "show", "claude-s1.a1"]).contains("accepted"));
}

#[test]
fn a_call_that_only_the_host_recorded_is_no_evidence_and_spoils_the_step() {
    let place = place();
    let codex = |event: &str, rest: &str| {
        let transcript = place.at("rollout.jsonl");
        format!(
            r#"{{"session_id":"s1","cwd":"/r","transcript_path":"{}","hook_event_name":"{event}",{rest}}}"#,
            transcript.display()
        )
    };
    let item = |payload: &str| {
        format!(r#"{{"timestamp":"2999-01-01T00:00:00.000Z","ordinal":1,"type":"response_item","payload":{payload}}}"#)
    };
    let called = |name: &str, arguments: &str, id: &str| {
        item(&format!(r#"{{"type":"function_call","name":"{name}","arguments":{arguments:?},"call_id":"{id}"}}"#))
    };
    let ended = |id: &str, code: u8| {
        item(&format!(
            r#"{{"type":"function_call_output","call_id":"{id}","output":"Chunk ID: 1\nProcess exited with code {code}\nOutput:\nx"}}"#
        ))
    };
    let call = |id: &str| {
        format!(
            r#""tool_name":"Bash","tool_input":{{"command":"./test.sh"}},"tool_use_id":"{id}","tool_response":"passed""#
        )
    };
    let stopped = || {
        place.hook_with(
            "codex",
            &codex("Stop", &format!(r#""stop_hook_active":false,"last_assistant_message":"{RESULT}""#)),
            &STEP,
        )
    };

    // It printed that it passed, and its exit code is 1.
    assert_eq!(place.hook("codex", &codex("PreToolUse", &call("c1"))), "");
    assert_eq!(place.hook("codex", &codex("PostToolUse", &call("c1"))), "");
    let mut record = vec![called("exec_command", r#"{"cmd":"./test.sh"}"#, "c1"), ended("c1", 1)];
    place.write("rollout.jsonl", &(record.join("\n") + "\n"));
    assert!(stopped().contains("its result is an error"));

    // A line that is not whole says nothing.
    record.push(called("exec_command", r#"{"cmd":"x"}"#, "c9"));
    place.write("rollout.jsonl", &record.join("\n"));
    record.pop();

    // It only looks at what a command has printed, and then it types into it.
    record.extend([called("write_stdin", r#"{"session_id":1,"chars":""}"#, "c2"), ended("c2", 0)]);
    record.extend([called("update_plan", "{}", "c3"), ended("c3", 0)]);
    record.extend([called("exec_command", r#"{"cmd":"./test.sh"}"#, "c4"), ended("c4", 0)]);
    assert_eq!(place.hook("codex", &codex("PreToolUse", &call("c4"))), "");
    assert_eq!(place.hook("codex", &codex("PostToolUse", &call("c4"))), "");
    record.extend([called("write_stdin", r#"{"session_id":1,"chars":"rm -rf /\n"}"#, "c5"), ended("c5", 0)]);
    place.write("rollout.jsonl", &(record.join("\n") + "\n"));
    let spoiled = stopped();
    assert!(spoiled.contains("1 call made without a decision: `write_stdin`"), "{spoiled}");
    let findings = place.findings();
    assert!(findings.contains("c5 executed_undecided") && findings.lines().count() == 1, "{findings}");
    let exported = place.said(&["session", "export", "codex-s1"]);
    assert!(exported.contains(r#""kind":"undecided""#), "{exported}");

    // A record that cannot be read may have more of them.
    let other = place.at("other.jsonl");
    place.write("other.jsonl", "{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":\"_call\"}\n");
    let event = codex("Stop", &format!(r#""stop_hook_active":false,"last_assistant_message":"{RESULT}""#))
        .replace("s1", "s2")
        .replace(&place.at("rollout.jsonl").display().to_string(), &other.display().to_string());
    let unreadable = place.hook_with("codex", &event, &STEP);
    assert!(unreadable.contains("made without a decision: `transcript`"), "{unreadable}");
}

/// Hooks of Copilot are told other names of tools than its record has, and no names of calls.
#[test]
fn the_record_of_copilot_is_compared_by_tool_and_arguments() {
    let place = place();
    let transcript = place.at("events.jsonl").display().to_string();
    let event = |name: &str, rest: &str| {
        format!(
            r#"{{"hook_event_name":"{name}","session_id":"s1","cwd":"/r","transcript_path":"{transcript}",{rest}}}"#
        )
    };
    let call = r#""tool_name":"Bash","tool_input":{"command":"./test.sh","description":"test"}"#;
    let result =
        r#""tool_result":{"result_type":"success","text_result_for_llm":"\n<shellId: 0 completed with exit code 0>"}"#;
    let stopped =
        || place.hook_with("copilot", &event("Stop", r#""stop_reason":"end_turn","stop_hook_active":false"#), &STEP);
    let record = |kind: &str, data: &str| {
        format!(r#"{{"type":"{kind}","data":{data},"id":"e","timestamp":"2999-01-01T00:00:00.000Z","parentId":null}}"#)
    };
    let made = |id: &str, tool: &str, arguments: &str| {
        let begun = format!(r#"{{"toolCallId":"{id}","toolName":"{tool}","arguments":{arguments}}}"#);
        let ended = format!(r#"{{"toolCallId":"{id}","success":true,"result":{{"content":"x"}}}}"#);
        [record("tool.execution_start", &begun), record("tool.execution_complete", &ended)].join("\n")
    };
    let said = record("assistant.message", &format!(r#"{{"content":"{RESULT}"}}"#));
    let write = |records: &[&str]| place.write("events.jsonl", &(records.join("\n") + "\n"));

    assert_eq!(place.hook("copilot", &event("PreToolUse", call)), "");
    assert_eq!(place.hook("copilot", &event("PostToolUse", &format!("{call},{result}"))), "");
    let seen = made("c1", "bash", r#"{"description":"test","command":"./test.sh"}"#);
    // The host itself reads what a command in the background has printed.
    let read = made("c2", "read_bash", r#"{"shellId":"0","delay":0}"#);
    let unseen = made("c3", "bash", r#"{"command":"rm -rf /"}"#);
    write(&[&seen, &read, &unseen, &said]);
    let spoiled = stopped();
    assert!(spoiled.contains("1 call made without a decision: `bash`"), "{spoiled}");
    let findings = place.findings();
    assert!(findings.contains("c3 executed_undecided") && findings.lines().count() == 1, "{findings}");
}

#[test]
fn what_a_subagent_of_a_subagent_does_belongs_to_the_session_that_began_it() {
    let place = Place::new();
    let event = |agent: &str, parent: &str, command: &str| {
        let agents = match parent {
            "" => String::new(),
            parent => format!(r#","agent_id":"{agent}","agent_type":"task","parent_agent_id":"{parent}""#),
        };
        format!(
            r#"{{"hook_event_name":"PreToolUse","session_id":"{agent}","cwd":"/r","tool_name":"Bash","tool_input":{{"command":"{command}"}}{agents}}}"#
        )
    };
    for (agent, parent) in [("main", ""), ("one", "main"), ("two", "one"), ("three", "two")] {
        place.hook("copilot", &event(agent, parent, "ls"));
    }
    let sessions = place.said(&["session", "list", "--json"]);
    assert!(sessions.lines().count() == 1 && sessions.contains("copilot-main"), "{sessions}");
}

#[test]
fn a_call_that_the_hosts_record_does_not_have_spoils_the_step() {
    let place = place();
    command(&place, "./test.sh", "t1", true);
    // The host's record has another call, and not the one that a hook was told of.
    let used = r#"{"type":"tool_use","id":"t0","name":"Read","input":{"file_path":"a"}}"#;
    let line = |kind: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s1","uuid":"u","timestamp":"2000-01-01T00:00:00.000Z","message":{{"role":"{kind}","content":[{content}]}}}}"#
        )
    };
    let result = r#"{"type":"tool_result","tool_use_id":"t0","content":"x"}"#;
    place.write("session.jsonl", &format!("{}\n{}\n", line("assistant", used), line("user", result)));
    let path = place.at("session.jsonl").display().to_string();
    let stop = format!(r#""stop_hook_active":false,"last_assistant_message":"{RESULT}","transcript_path":"{path}""#);
    let spoiled = place.hook_with("claude", &claude("Stop", &stop), &STEP);
    assert!(spoiled.contains("made without a decision"), "{spoiled}");
    assert!(place.findings().contains("t1 executed_undecided"), "{}", place.findings());
}

#[test]
fn a_stop_waits_for_a_person_and_the_agent_is_not_kept_busy() {
    let place = place();
    place.said(&["key", "new", "ann"]);
    let ann = place.said(&["key", "show", "ann", "--as", "signer-id"]);
    let workflow = WORKFLOW.replace("      evidence:", "      approvals: [{role: owner}]\n      evidence:");
    place.write(
        "workflow.yaml",
        &format!("{workflow}reviewers: [{{name: Ann, key: {}, roles: [owner]}}]\n", ann.trim()),
    );
    let stopped = |again| place.hook_with("claude", &stop(again), &STEP);
    let approve = |id: &str| place.said(&["decision", "approve", id, "--key", "ann", "--note", "seen", "--yes"]);
    let waits = || {
        let refused = stopped(false);
        let waits = "Step `tests` waits for an approval by owner: proofmark decision approve ";
        assert!(refused.starts_with(&format!(r#"{{"decision":"block","reason":"{waits}"#)), "{refused}");
        refused.split("approve ").nth(1).unwrap().chars().take(36).collect::<String>()
    };
    command(&place, "./test.sh", "t1", true);
    let first = waits();
    // It talks on, and may stop: nothing was used up, and nothing was accepted.
    let chatter = claude("Stop", r#""stop_hook_active":true,"last_assistant_message":"I am waiting.""#);
    let told = place.hook_with("claude", &chatter, &STEP);
    assert!(told.contains("systemMessage") && told.contains("is not accepted yet") && told.contains(&first), "{told}");
    approve(&first);
    // A call more is other evidence than what Ann has approved.
    command(&place, "./test.sh", "t2", true);
    let second = waits();
    assert_ne!(first, second);
    approve(&second);
    let accepted = stopped(false);
    assert!(accepted.starts_with(r#"{"systemMessage":"Step `tests` is accepted. Receipt "#), "{accepted}");
    let runs = place.said(&["run", "show", "claude-s1"]);
    assert!(runs.contains("attempt 1: accepted") && !runs.contains("attempt 2"), "{runs}");
}
