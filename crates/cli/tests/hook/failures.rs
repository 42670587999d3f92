//! Whatever fails before a tool is called is answered as a call that is not allowed.

use std::io::Read;

use proofmark_hosts::Host;

use super::{Place, SPECIFIC, claude, refusal};

fn read_event() -> String {
    claude("PreToolUse", "Read", r#"{"file_path":"a"}"#, "t1")
}

#[test]
fn what_is_no_event_is_not_allowed() {
    let place = Place::new();
    for event in ["", "x", "[]", "{}", r#"{"hook_event_name":"Unknown","tool_name":"Read","tool_input":{}}"#] {
        for host in Host::all() {
            let answer = place.hook(host.name, event);
            assert!(answer.starts_with(&refusal(host)) && answer.ends_with('}'), "{host}: {event}: {answer}");
        }
    }
    let unnamed = r#"{"cwd":"/srv","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a"}}"#;
    assert!(place.hook("claude", unnamed).contains("the event does not name it"));
    assert_eq!(place.hook_with("claude", unnamed, &["--session", "mine"]), "");
    let mut huge =
        br#"{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"x":""#.to_vec();
    huge.resize(70 << 20, b'x');
    let output = place.begin("claude", &huge, &[]).wait_with_output().unwrap();
    assert!(output.stdout.starts_with(SPECIFIC.as_bytes()) && output.status.code() == Some(0), "{:?}", output.status);
}

#[test]
fn nothing_is_allowed_without_a_policy_a_key_or_a_store() {
    let place = Place::new();
    assert_eq!(place.hook("claude", &read_event()), "");
    for options in [
        &["--policy", "absent.yaml"][..],
        &["--store", "policy.yaml"],
        &["--key", "absent"],
        &["--trust", "nobody"],
        &["--session", "a\u{7}b"],
    ] {
        // The second of two options counts where the first is repeated.
        let fixed = if options[0] == "--policy" { &[][..] } else { &["--policy", "policy.yaml"][..] };
        let mut child = place.command(&[&["hook", "claude"], fixed, options].concat()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), read_event().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.starts_with(SPECIFIC) && output.status.code() == Some(0), "{options:?}: {answer}");
        assert!(answer.contains("could not be decided: failed to "), "{options:?}: {answer}");
    }
    place.write("policy.yaml", "version: 1\nboundaries: 3\n");
    assert!(place.hook("codex", &read_event()).starts_with(SPECIFIC));
    // Results are recorded all the same, and other events pass.
    assert_eq!(place.hook("claude", &claude("PostToolUse", "Read", r#"{"file_path":"a"}"#, "t1")), "");
    assert_eq!(place.hook("claude", r#"{"session_id":"s1","hook_event_name":"SessionStart"}"#), "");
    let shown = place.said(&["session", "show", "claude-s1"]);
    assert!(shown.contains("read_file succeeded"), "{shown}");
}

#[test]
fn a_host_is_answered_in_time() {
    let place = Place::new();
    assert_eq!(place.hook("claude", &read_event()), "");
    let quick = |host: &str| {
        let mut child =
            place.command(&["hook", host, "--policy", "policy.yaml", "--deadline", "300ms"]).spawn().unwrap();
        let stdin = child.stdin.take();
        (child, stdin)
    };
    // A host that does not end the event.
    let (mut child, stdin) = quick("gemini");
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with(r#"{"decision":"deny","reason":"Not executed: "#) && answer.contains("within 0.3 s"),
        "{answer}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
    // A store that another process keeps locked.
    let held = place.home.hold();
    let (child, stdin) = quick("cursor");
    let event = r#"{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"a"}"#;
    std::io::Write::write_all(&mut stdin.unwrap(), event.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.starts_with(r#"{"permission":"deny""#) && output.status.code() == Some(0), "{answer}");
    drop(held);
}

#[test]
fn wrong_usage_is_a_refusal_for_every_host() {
    let place = Place::new();
    for arguments in [&["hook", "claude"][..], &["hook", "claude", "--policy", "policy.yaml", "--deadline", "0s"]] {
        let output = place.proofmark(arguments);
        // Exit code 2 with a text on standard error is one.
        assert!(output.status.code() == Some(2) && !output.stderr.is_empty() && output.stdout.is_empty(), "{output:?}");
    }
}
