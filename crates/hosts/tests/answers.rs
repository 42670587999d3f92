//! Each answer, byte by byte: hosts take what they do not know for consent. And what hosts take answers for.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use proofmark_hosts::{HookOutput, Host, Occasion, Reading};

fn host(name: &str) -> &'static Host {
    Host::named(name).unwrap()
}

fn deny(name: &str, occasion: Occasion) -> String {
    host(name).answers.deny(occasion, "no\u{1b}[2K \"x\"").as_str().to_owned()
}

#[test]
fn a_call_that_is_not_allowed() {
    let specific = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no\u001b[2K \"x\""}}"#;
    for (host, answer) in [
        ("claude", specific),
        ("codex", specific),
        ("vscode", specific),
        ("gemini", r#"{"decision":"deny","reason":"no\u001b[2K \"x\""}"#),
        ("copilot", r#"{"permissionDecision":"deny","permissionDecisionReason":"no\u001b[2K \"x\""}"#),
        ("cursor", r#"{"permission":"deny","user_message":"no\u001b[2K \"x\"","agent_message":"no\u001b[2K \"x\""}"#),
        ("opencode", r#"{"decision":"deny","reason":"no\u001b[2K \"x\""}"#),
    ] {
        assert_eq!(deny(host, Occasion::BeforeTool), answer, "{host}");
    }
    let read = r#"{"permission":"deny","user_message":"no\u001b[2K \"x\""}"#;
    assert_eq!(deny("cursor", Occasion::BeforeRead), read);
}

#[test]
fn a_call_that_is_allowed() {
    for host in Host::all() {
        let expected = match host.name {
            "cursor" => r#"{"permission":"allow"}"#,
            "opencode" => r#"{"decision":"allow"}"#,
            _ => "",
        };
        assert_eq!(host.answers.allow().as_str(), expected, "{host}");
    }
}

#[test]
fn an_agent_that_has_to_go_on() {
    let block = r#"{"decision":"block","reason":"run the tests"}"#;
    for (name, occasion, answer) in [
        ("claude", Occasion::Stop, block),
        ("claude", Occasion::SubagentStop, block),
        ("codex", Occasion::Stop, block),
        ("codex", Occasion::SubagentStop, block),
        ("copilot", Occasion::Stop, block),
        ("copilot", Occasion::SubagentStop, block),
        ("gemini", Occasion::Stop, r#"{"decision":"deny","reason":"run the tests"}"#),
        (
            "vscode",
            Occasion::Stop,
            r#"{"hookSpecificOutput":{"hookEventName":"Stop","decision":"block","reason":"run the tests"}}"#,
        ),
        ("vscode", Occasion::SubagentStop, block),
        ("cursor", Occasion::Stop, r#"{"followup_message":"run the tests"}"#),
        ("cursor", Occasion::SubagentStop, r#"{"followup_message":"run the tests"}"#),
        ("opencode", Occasion::Stop, "{}"),
    ] {
        assert_eq!(host(name).answers.go_on(occasion, "run the tests").as_str(), answer, "{name} {occasion:?}");
    }
}

#[test]
fn an_event_that_asks_for_nothing() {
    for host in Host::all() {
        for occasion in [Occasion::AfterTool, Occasion::Stop, Occasion::SubagentStop, Occasion::Other] {
            let silent = if ["cursor", "opencode"].contains(&host.name) { "{}" } else { "" };
            assert_eq!(host.answers.pass(occasion, None).as_str(), silent, "{host} {occasion:?}");
            let noted = if ["claude", "codex", "gemini", "vscode"].contains(&host.name) {
                r#"{"systemMessage":"done"}"#
            } else {
                silent
            };
            assert_eq!(host.answers.pass(occasion, Some("done")).as_str(), noted, "{host} {occasion:?}");
        }
    }
}

fn output(code: i32, stdout: &str, stderr: &str) -> HookOutput {
    HookOutput { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
}

#[test]
fn each_host_takes_our_answers_for_what_they_say() {
    for host in Host::all() {
        let printed = host.answers.deny(Occasion::BeforeTool, "no");
        assert_eq!(host.answers.takes(&output(0, printed.as_str(), "")), Reading::Denied("no".to_owned()), "{host}");
        assert_eq!(host.answers.takes(&output(0, host.answers.allow().as_str(), "")), Reading::Allowed, "{host}");
    }
}

#[test]
fn what_a_host_does_not_understand_is_no_answer() {
    let deny = host("codex").answers.deny(Occasion::BeforeTool, "no").as_str().to_owned();
    for (name, code, stdout, stderr) in [
        ("codex", 0, deny.replace("\"deny\",", "\"deny\",\"extra\":1,"), ""),
        ("codex", 0, format!("text\n{deny}"), ""),
        ("codex", 0, deny.replace("deny", "ask"), ""),
        ("codex", 2, String::new(), ""),
        ("codex", 1, deny.clone(), ""),
        ("gemini", 0, deny.clone(), ""),
        ("cursor", 0, String::new(), ""),
        ("opencode", 0, "{}".to_owned(), ""),
        ("opencode", 2, String::new(), "no"),
        ("claude", 127, String::new(), "not found"),
    ] {
        let taken = host(name).answers.takes(&output(code, &stdout, stderr));
        assert!(matches!(taken, Reading::Failed(_)), "{name} {code} {stdout}: {taken:?}");
    }
    assert_eq!(host("codex").answers.takes(&output(2, "", "no")), Reading::Denied("no".to_owned()));
    assert!(matches!(host("codex").answers.takes(&HookOutput::default()), Reading::Failed(_)));
}
