//! Each answer, byte by byte: hosts take what they do not know for consent.

use proofmark_hook::{Answer, Host, Occasion};

fn deny(host: Host, occasion: Occasion) -> String {
    Answer::deny(host, occasion, "no\u{1b}[2K \"x\"").as_str().to_owned()
}

#[test]
fn a_call_that_is_not_allowed() {
    let specific = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no\u001b[2K \"x\""}}"#;
    for (host, answer) in [
        (Host::Claude, specific),
        (Host::Codex, specific),
        (Host::VsCode, specific),
        (Host::Gemini, r#"{"decision":"deny","reason":"no\u001b[2K \"x\""}"#),
        (Host::Copilot, r#"{"permissionDecision":"deny","permissionDecisionReason":"no\u001b[2K \"x\""}"#),
        (
            Host::Cursor,
            r#"{"permission":"deny","user_message":"no\u001b[2K \"x\"","agent_message":"no\u001b[2K \"x\""}"#,
        ),
        (Host::OpenCode, r#"{"decision":"deny","reason":"no\u001b[2K \"x\""}"#),
    ] {
        assert_eq!(deny(host, Occasion::BeforeTool), answer, "{host}");
    }
    let read = r#"{"permission":"deny","user_message":"no\u001b[2K \"x\""}"#;
    assert_eq!(deny(Host::Cursor, Occasion::BeforeRead), read);
}

#[test]
fn a_call_that_is_allowed() {
    for host in Host::ALL {
        let expected = match host {
            Host::Cursor => r#"{"permission":"allow"}"#,
            Host::OpenCode => r#"{"decision":"allow"}"#,
            Host::Claude | Host::Codex | Host::Gemini | Host::Copilot | Host::VsCode => "",
        };
        assert_eq!(Answer::allow(host, Occasion::BeforeTool).as_str(), expected, "{host}");
    }
}

#[test]
fn an_agent_that_has_to_go_on() {
    let block = r#"{"decision":"block","reason":"run the tests"}"#;
    for (host, occasion, answer) in [
        (Host::Claude, Occasion::Stop, block),
        (Host::Claude, Occasion::SubagentStop, block),
        (Host::Codex, Occasion::Stop, block),
        (Host::Codex, Occasion::SubagentStop, block),
        (Host::Copilot, Occasion::Stop, block),
        (Host::Copilot, Occasion::SubagentStop, block),
        (Host::Gemini, Occasion::Stop, r#"{"decision":"deny","reason":"run the tests"}"#),
        (
            Host::VsCode,
            Occasion::Stop,
            r#"{"hookSpecificOutput":{"hookEventName":"Stop","decision":"block","reason":"run the tests"}}"#,
        ),
        (Host::VsCode, Occasion::SubagentStop, block),
        (Host::Cursor, Occasion::Stop, r#"{"followup_message":"run the tests"}"#),
        (Host::Cursor, Occasion::SubagentStop, r#"{"followup_message":"run the tests"}"#),
        (Host::OpenCode, Occasion::Stop, "{}"),
    ] {
        assert_eq!(Answer::go_on(host, occasion, "run the tests").as_str(), answer, "{host} {occasion:?}");
    }
}

#[test]
fn an_event_that_asks_for_nothing() {
    for host in Host::ALL {
        for occasion in [Occasion::AfterTool, Occasion::Stop, Occasion::SubagentStop, Occasion::Other] {
            let silent = match host {
                Host::Cursor | Host::OpenCode => "{}",
                Host::Claude | Host::Codex | Host::Gemini | Host::Copilot | Host::VsCode => "",
            };
            assert_eq!(Answer::pass(host, occasion, None).as_str(), silent, "{host} {occasion:?}");
            let noted = match host {
                Host::Claude | Host::Codex | Host::Gemini | Host::VsCode => r#"{"systemMessage":"done"}"#,
                Host::Copilot | Host::Cursor | Host::OpenCode => silent,
            };
            assert_eq!(Answer::pass(host, occasion, Some("done")).as_str(), noted, "{host} {occasion:?}");
        }
    }
}

#[test]
fn hosts_have_names() {
    for host in Host::ALL {
        assert_eq!(host.as_str().parse(), Ok(host));
    }
    assert!("Claude".parse::<Host>().is_err() && "".parse::<Host>().is_err());
}
