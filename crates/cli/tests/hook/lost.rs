//! Results that were not recorded: the hook was killed, or the store was busy.

use std::fs;

use proofmark_testing::Home;
use tempfile::TempDir;

use super::{Place, SPECIFIC, claude};

const POLICY: &str = "
version: 1
boundaries:
  - id: commands
    match: {action_class: system_change}
    deny:
      - when: taint.exists(sign, sign.signal in ['prompt_injection', 'unsearched'])
        reason: {code: steered, message: The agent may have read a text that gives orders.}
  - id: reads
    match: {action_class: generic}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - tool_call: {name: read_file, status: succeeded, after: shell}
";

/// An event of Claude Code about a command, or about a file that is written.
fn event(place: &Place, name: &str, tool: &str, id: &str) -> String {
    let input = if tool == "Bash" { r#"{"command":"ls"}"# } else { r#"{"file_path":"a","content":"x"}"# };
    format!(
        r#"{{"session_id":"s1","cwd":"/srv/repo","transcript_path":"{}","hook_event_name":"{name}","tool_name":"{tool}","tool_input":{input},"tool_use_id":"{id}","tool_response":{{"stdout":"ok"}}}}"#,
        place.at("session.jsonl").display()
    )
}

/// Writes the host's own record: the calls that it made, and those of them that have a result.
fn record(place: &Place, calls: &[&str], ended: &[&str]) {
    let line = |kind: &str, id: &str, content: String| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s1","uuid":"{kind}-{id}","timestamp":"2000-01-01T00:00:00.000Z","message":{{"role":"{kind}","content":[{content}]}}}}"#
        ) + "\n"
    };
    let used = |id: &&str| {
        line("assistant", id, format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#))
    };
    let result =
        |id: &&str| line("user", id, format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#));
    let lines: Vec<_> = calls.iter().map(used).chain(ended.iter().map(result)).collect();
    place.write("session.jsonl", &lines.concat());
}

#[test]
fn a_call_whose_result_was_lost_counts_as_one_of_which_nothing_is_known() {
    let place = Place::with(POLICY);
    let before = |tool: &str, id: &str| place.hook("claude", &event(&place, "PreToolUse", tool, id));
    record(&place, &["t1", "t2"], &[]);
    assert_eq!(before("Bash", "t1"), "");
    // Two at once: the first still runs, and the second goes on.
    assert_eq!(before("Bash", "t2"), "");
    // A rule that has to know what was executed waits for both.
    let blocked = before("Write", "t3");
    let why =
        "`calls[0].status` does not say how the call of `shell` ended: wait for its result, or begin a new session";
    assert!(blocked.contains(why) && !blocked.contains("Call read_file first"), "{blocked}");
    // The host has a result of the first that no hook has recorded: it may have been an order.
    record(&place, &["t1", "t2"], &["t1"]);
    let steered = before("Bash", "t4");
    assert!(steered.starts_with(SPECIFIC) && steered.contains("may have read a text that gives orders"), "{steered}");
    let shown = place.said(&["session", "show", "claude-s1"]);
    assert_eq!(shown.matches("Bash doubtful").count(), 1, "{shown}");
    assert!(before("Bash", "t5").starts_with(SPECIFIC));
    assert_eq!(place.said(&["session", "show", "claude-s1"]).matches("Bash doubtful").count(), 1);
    // The result comes late, and is searched.
    assert_eq!(place.hook("claude", &event(&place, "PostToolUse", "Bash", "t1")), "");
    assert_eq!(before("Bash", "t6"), "");
}

#[test]
fn at_the_stop_the_hosts_record_says_how_such_a_call_ended() {
    let place = Place::with(POLICY);
    let rule = "{name: shell, args: {command: {expect: ls}}}";
    let verification = format!("{{onMissingEvidence: reject-and-retry, retryPrompt: Run ls., toolCalls: [{rule}]}}");
    let step = format!("{{id: tests, agent: coder, verification: {verification}, onFailure: {{maxAttempts: 3}}}}");
    place.write("workflow.yaml", &format!("name: build\nclass: mutating\nsteps: [{step}]\n"));
    let stop = || {
        let event = format!(
            r#"{{"session_id":"s1","cwd":"/srv/repo","transcript_path":"{}","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"```result\n{{}}\n```"}}"#,
            place.at("session.jsonl").display()
        );
        place.hook_with("claude", &event, &["--workflow", "workflow.yaml", "--step", "tests"])
    };
    record(&place, &["t1"], &[]);
    assert_eq!(place.hook("claude", &event(&place, "PreToolUse", "Bash", "t1")), "");
    // Without an end it proves nothing.
    assert!(stop().contains("Run ls."));
    record(&place, &["t1"], &["t1"]);
    assert!(stop().contains("is accepted"));
}

#[test]
fn nothing_is_allowed_by_a_store_that_was_put_back() {
    let folder = TempDir::new().unwrap();
    // The file is what is put back.
    let home = Home::in_file_at(folder.path().join("home"));
    let place = Place::of(folder, home, super::POLICY);
    let read = |id: &str| place.hook("claude", &claude("PreToolUse", "Read", r#"{"file_path":"a"}"#, id));
    let (store, copy) = (place.home.path().join("proofmark.db"), place.at("copy.db"));
    assert_eq!(read("t1"), "");
    fs::copy(&store, &copy).unwrap();
    assert_eq!(read("t2"), "");
    fs::copy(&copy, &store).unwrap();
    let refused = read("t3");
    assert!(refused.starts_with(SPECIFIC) && refused.contains("this home has signed position 1"), "{refused}");
    assert!(refused.contains("accept-loss"), "{refused}");
    place.said(&["store", "accept-loss", "--yes"]);
    assert_eq!(read("t4"), "");
    let decisions = place.said(&["decision", "list", "--json"]);
    assert_eq!(decisions.lines().count(), 2, "{decisions}");
}
