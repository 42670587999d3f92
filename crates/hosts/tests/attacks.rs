//! Whatever is in an event: one before a tool is read as that, with its own tool and arguments, or refused.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

use proofmark_hosts::{Event, Host, Message, Occasion};
use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object, object};
use proptest::prelude::*;

/// The samples of events before a tool.
fn before() -> Vec<(&'static Host, String)> {
    let lines = Host::all().flat_map(|host| {
        let file = format!("{}/tests/samples/{host}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(|line| (host, line.to_owned())).collect::<Vec<_>>()
    });
    lines.filter(|(host, line)| is_before(&host.read(line.as_bytes()).unwrap())).collect()
}

fn host(name: &str) -> &'static Host {
    Host::named(name).unwrap()
}

fn is_before(message: &Message) -> bool {
    matches!(message.event, Event::Before(_))
}

/// The members that say which event it is and which tool is called.
fn named(json: &Json) -> Option<Vec<Option<&Json>>> {
    const NAMES: [&str; 6] = ["hook_event_name", "hookEventName", "event", "toolResult", "error", "protocol"];
    let object = json.as_object()?;
    Some(NAMES.iter().map(|name| object.get(name)).collect())
}

#[test]
fn what_is_no_event_is_refused() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    for host in Host::all() {
        for input in [
            "",
            " \n",
            "null",
            "[]",
            "{}",
            "\"x\"",
            "1",
            "{",
            "{\"hook_event_name\":1}",
            "garbage",
            "\u{feff}{}",
            r#"{"hook_event_name":"PreToolUse"}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"","tool_input":{}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":[]}"#,
            r#"{"hook_event_name":"NeverHeardOf","tool_name":"Bash","tool_input":{}}"#,
            r#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#,
            r#"{"protocol":2,"event":"tool.execute.before","tool":"bash","args":{}}"#,
            r#"{"toolArgs":{}}"#,
            r#"{"toolName":"bash","toolArgs":"rm -rf /"}"#,
            deep.as_str(),
        ] {
            let message = host.read(input.as_bytes());
            assert!(message.is_err(), "{host}: {input}: {message:?}");
        }
        assert!(host.read(b"{\"tool_name\":\"\xff\"}").is_err());
    }
}

#[test]
fn the_name_of_a_session_is_short_and_plain() {
    let event = |session: &str| {
        let event = object! { "session_id": session, "hook_event_name": "SessionStart" };
        host("claude").read(Json::from(event).to_text().as_bytes())
    };
    assert!(event("abc").is_ok());
    assert!(event(&"x".repeat(101)).is_err() && event("a\nb").is_err());
}

#[test]
fn what_only_the_arguments_say_counts_for_nothing() {
    let args =
        r#"{"command":"x","hook_event_name":"Stop","event":"other","toolResult":{},"tool_name":"Read","error":"e"}"#;
    let args = Json::parse(args.as_bytes()).unwrap();
    for (host, line) in before() {
        let Json::Object(mut event) = Json::parse(line.as_bytes()).unwrap() else { panic!("{line}") };
        let Some(place) = ["tool_input", "toolArgs", "args"].into_iter().find(|name| event.contains(name)) else {
            continue;
        };
        event.insert(place, args.clone());
        match host.read(Json::Object(event).to_text().as_bytes()).unwrap().event {
            Event::Before(call) => assert_eq!(call.args, args, "{host}"),
            other => panic!("{host}: {other:?}"),
        }
    }
}

/// The call of an event before a tool of this host.
fn call(name: &str, tool: &str, args: &Object) -> proofmark_hosts::Call {
    let event = match name {
        "copilot" => object! { "sessionId": "s", "cwd": "/repo", "toolName": tool, "toolArgs": args.clone() },
        "opencode" => object! {
            "protocol": 1, "event": "tool.execute.before", "sessionID": "s", "callID": "c", "directory": "/repo",
            "tool": tool, "args": args.clone(),
        },
        _ => object! {
            "session_id": "s", "cwd": "/repo", "tool_name": tool, "tool_input": args.clone(),
            "hook_event_name": match name {
                "gemini" => "BeforeTool",
                "cursor" => "preToolUse",
                _ => "PreToolUse",
            },
        },
    };
    match host(name).read(Json::from(event).to_text().as_bytes()).unwrap().event {
        Event::Before(call) => call,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_file_that_its_host_takes_for_another_is_not_certain() {
    for (host, tool, name, path) in [
        ("claude", "Write", "file_path", " /home/u/.bashrc"),
        ("claude", "Read", "file_path", "~/.ssh/id_ed25519"),
        ("claude", "Glob", "pattern", "/home/u/.ssh/*"),
        ("gemini", "write_file", "file_path", "@.gemini/settings.json"),
        ("gemini", "replace", "file_path", "%2egemini/settings.json"),
        ("gemini", "write_file", "file_path", ".gemini\0/settings.json"),
        ("vscode", "create_file", "filePath", "file:///home/u/.bashrc"),
    ] {
        let mut args = Object::new();
        args.insert(name, path);
        let call = call(host, tool, &args);
        assert_eq!((call.paths, call.target.as_deref()), (None, Some(path)), "{host}: {path}");
    }
    // A name beside one that is certain.
    let both = object! { "path": "src/a", "file_path": " /home/u/.bashrc" };
    assert_eq!(call("copilot", "create", &both).paths, None);
}

#[test]
fn a_patch_has_every_file_that_its_host_takes_from_it() {
    let patch = |second: &str| {
        let patch = format!("*** Begin Patch\n*** Add File: a\n+x\n{second}\n+y\n*** End Patch");
        call("opencode", "apply_patch", &object! { "patchText": patch }).paths
    };
    let both = Some(vec!["/repo/a".to_owned(), "/home/u/.bashrc".to_owned()]);
    assert_eq!(patch("*** Add File: /home/u/.bashrc"), both);
    assert_eq!(patch("*** Add File:/home/u/.bashrc"), both);
    assert_eq!(patch("*** Add File:  /repo/b"), None);
}

#[test]
fn the_project_of_cursor_is_not_the_folder_of_a_command() {
    let project = |cwd: &str, roots: &[&str]| {
        let roots: Vec<_> = roots.iter().map(|root| Json::from(*root)).collect();
        let event = object! {
            "conversation_id": "s", "hook_event_name": "preToolUse", "workspace_roots": roots, "cwd": cwd,
            "tool_name": "Write", "tool_input": object! { "file_path": "a" }, "tool_use_id": "c",
        };
        host("cursor").read(Json::from(event).to_text().as_bytes()).unwrap().project
    };
    assert_eq!(project("/", &["/repo", "/other"]).as_deref(), Some("/repo"));
    assert_eq!(project("/home/u", &["/repo"]).as_deref(), Some("/repo"));
    assert_eq!(project("/other/src", &["/repo", "/other"]).as_deref(), Some("/other"));
    assert_eq!(project("/repo", &[]), None);
}

#[test]
fn what_commands_print_that_run_is_read_by_one_name() {
    for (host, tool) in
        [("copilot", "read_bash"), ("copilot", "list_bash"), ("copilot", "read_powershell"), ("claude", "TaskOutput")]
    {
        let call = call(host, tool, &object! { "shellId": "0" });
        assert_eq!((call.tool.as_str(), call.class), ("shell_output", Some("generic")), "{host}: {tool}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_changed_event_before_a_tool_is_read_as_one_or_refused(
        at in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
    ) {
        let samples = before();
        let (host, line) = &samples[at.index(samples.len())];
        let mut bytes = line.as_bytes().to_vec();
        for (place, byte, how) in changes {
            let place = place.index(bytes.len().max(1));
            match how {
                0 if place < bytes.len() => bytes[place] = byte,
                1 => bytes.insert(place.min(bytes.len()), byte),
                _ => bytes.truncate(place),
            }
        }
        if let Ok(message) = host.read(&bytes) {
            let limits = Limits { max_bytes: 1 << 20, max_depth: 96, ..Limits::default() };
            let json = Json::parse_with(&bytes, limits).unwrap();
            let original = Json::parse(line.as_bytes()).unwrap();
            // Unless the change made it another event.
            if named(&json) == named(&original) && json.as_object().map(Object::len) == original.as_object().map(Object::len) {
                prop_assert!(is_before(&message), "{}", String::from_utf8_lossy(&bytes));
                prop_assert!(matches!(message.occasion, Occasion::BeforeTool | Occasion::BeforeRead));
            }
        }
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), words in "[{}\\[\\]\":,a-zA-Z_]{0,200}") {
        for host in Host::all() {
            drop(host.read(&bytes));
            drop(host.read(words.as_bytes()));
        }
    }
}
