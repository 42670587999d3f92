//! Entries of sessions that nobody recorded, or not so.

use super::{Place, SPECIFIC, claude};

const CLAIMED: &str = "
version: 1
boundaries:
  - id: reads
    match: {action_class: generic}
  - id: commands
    match: {action_class: system_change}
    require:
      - tool_call: {name: read_file, status: succeeded}
";

/// A row behind the last one of the session, with a changed document.
fn forged(change: &str) -> String {
    format!(
        "INSERT INTO session_entries (sequence, tenant, session, position, entry_id, kind, decision_id, stored_at, hash, document)
         SELECT sequence + 1000, tenant, session, position + 1, entry_id, kind, NULL, stored_at, hash, {change}
         FROM session_entries WHERE position = (SELECT max(position) FROM session_entries)"
    )
}

/// A place with a session in which a file could not be read.
fn place() -> Place {
    let place = Place::with(CLAIMED);
    assert_eq!(place.claude("Read", r#"{"file_path":"a"}"#, "t1"), "");
    let failed = claude("PostToolUseFailure", "Read", r#"{"file_path":"a"}"#, "t1");
    assert_eq!(place.hook("claude", &failed), "");
    place
}

fn run_tests(place: &Place) -> String {
    place.claude("Bash", r#"{"command":"ls"}"#, "t2")
}

#[test]
fn entries_that_were_written_past_the_decider_are_no_facts() {
    let succeeded = r#"replace(document, '"status":"failed"', '"status":"succeeded"')"#;
    for (statement, said) in [
        (forged(succeeded), "is not linked to the one before it"),
        (format!("UPDATE session_entries SET document = {succeeded}"), "is not linked to the one before it"),
        ("UPDATE session_entries SET document = '{}' WHERE position = 1".to_owned(), "entry 1 cannot be read"),
        ("DELETE FROM session_entries WHERE position = 0".to_owned(), "is not linked to the one before it"),
    ] {
        let place = place();
        assert!(run_tests(&place).contains("was not taken"), "{statement}");
        place.home.sql(&statement);
        let (answer, decisions) = (run_tests(&place), place.decisions());
        assert!(
            answer.starts_with(SPECIFIC) && answer.contains("rely on the session `claude-s1`"),
            "{statement}: {answer}"
        );
        assert!(answer.contains(said), "{statement}: {answer}");
        assert_eq!(place.decisions(), decisions, "nothing is decided on it");
        // Nothing is hidden, and nothing is said to be good.
        let shown = place.proofmark(&["session", "show", "claude-s1"]);
        assert!(shown.status.code() == Some(2) && !shown.stdout.is_empty(), "{shown:?}");
        for command in [
            &[
                "workflow",
                "accept",
                "workflow.yaml",
                "--step",
                "s",
                "--response",
                "done.md",
                "--trace",
                "session:claude-s1",
            ][..],
            &["policy", "suggest", "--session", "claude-s1"],
        ] {
            place.write("workflow.yaml", "name: w\nclass: readonly\nsteps: [{id: s, agent: a, verification: {toolCalls: [{name: read_file}]}}]\n");
            place.write("done.md", "```result\n{}\n```\n");
            let refused = place.proofmark(command);
            assert_eq!(refused.status.code(), Some(2), "{refused:?}");
            assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{refused:?}");
        }
        // An export has all of it, and is refused for the same reason.
        let export = place.proofmark(&["session", "export", "claude-s1"]);
        assert_eq!(export.status.code(), Some(2), "{export:?}");
        place.write("export.jsonl", &String::from_utf8(export.stdout).unwrap());
        let accept =
            ["workflow", "accept", "workflow.yaml", "--step", "s", "--response", "done.md", "--trace", "export.jsonl"];
        assert_eq!(place.proofmark(&accept).status.code(), Some(2));
    }
}

#[test]
fn a_session_under_another_name_is_not_this_one() {
    let place = place();
    place.home.sql("UPDATE session_entries SET session = 'claude-s2'");
    let event = claude("PreToolUse", "Bash", r#"{"command":"ls"}"#, "t2").replace("\"s1\"", "\"s2\"");
    let answer = place.hook("claude", &event);
    assert!(answer.contains("belongs to another session"), "{answer}");
}

#[test]
fn a_session_that_another_key_recorded_is_not_believed() {
    let place = place();
    let store = place.home.store();
    let store = store.to_str().unwrap();
    let other = place.at("other");
    let options = ["--home", other.to_str().unwrap(), "--store", store];
    let event = claude("PreToolUse", "Bash", r#"{"command":"ls"}"#, "t2");
    let answer = place.hook_with("claude", &event, &options);
    assert!(answer.starts_with(SPECIFIC) && answer.contains("its signer is not trusted"), "{answer}");
}

#[test]
fn an_end_that_was_cut_off_is_missed_by_a_new_process() {
    // The call of `shell` that a rule looks for, and its end.
    let from = |position: &str| format!("DELETE FROM session_entries WHERE position >= {position}");
    for (statement, entries) in [(from("3"), 3), (from("2"), 2), (from("0"), 0)] {
        let place = place();
        assert!(run_tests(&place).starts_with(SPECIFIC));
        place.home.sql(&statement);
        let decisions = place.decisions();
        let answer = run_tests(&place);
        assert!(answer.contains("its end is missing"), "{entries}: {answer}");
        assert!(answer.contains("begin another session"), "{answer}");
        assert_eq!(place.decisions(), decisions);
        // A session that goes on as another one has an end, which is not the one of the decision.
        for command in ["show", "export"] {
            let shown = place.proofmark(&["session", command, "claude-s1"]);
            assert_eq!(shown.status.code(), Some(2), "{shown:?}");
        }
        assert_eq!(place.proofmark(&["policy", "suggest", "--session", "claude-s1"]).status.code(), Some(2));
    }
}

#[test]
fn a_decision_that_was_taken_out_of_its_session_is_found_by_a_check() {
    let place = place();
    assert!(run_tests(&place).starts_with(SPECIFIC));
    assert!(place.proofmark(&["store", "check"]).status.success());
    place.home.sql("UPDATE decisions SET session = NULL");
    let found = place.proofmark(&["store", "check"]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains("column session"), "{found}");
    place.home.sql("UPDATE decisions SET session = 'claude-s2'");
    let event = claude("PreToolUse", "Bash", r#"{"command":"ls"}"#, "t2").replace("\"s1\"", "\"s2\"");
    let answer = place.hook("claude", &event);
    assert!(answer.contains("does not say where in this session it was made"), "{answer}");
}
