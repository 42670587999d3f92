//! The events of each host, and what is read of them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

use proofmark_hosts::{Event, Host, Message, Occasion};

/// The events in the sample of a host, one a line.
fn sample(host: &Host) -> String {
    let file = format!("{}/tests/samples/{host}.jsonl", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn messages(name: &str) -> Vec<Message> {
    let host = Host::named(name).unwrap();
    sample(host).lines().map(|line| host.read(line.as_bytes()).unwrap()).collect()
}

fn events(name: &str) -> Vec<String> {
    messages(name).iter().map(summary).collect()
}

#[test]
fn each_host_has_a_sample() {
    for host in Host::all() {
        let messages = messages(host.name);
        assert!(messages.iter().any(|message| matches!(message.event, Event::Before(_))), "{host}");
    }
}

/// What a decision depends on, in one line.
fn summary(message: &Message) -> String {
    let call = |call: &proofmark_hosts::Call| {
        let mut words = vec![call.tool.clone(), call.class.unwrap_or("unknown").to_owned()];
        words.extend(call.server.as_ref().map(|server| format!("server={server}")));
        words.extend(call.mcp.then(|| "mcp".to_owned()));
        words.extend(call.target.as_ref().map(|target| format!("target={target}")));
        words.extend(call.paths.as_ref().map(|paths| format!("paths={}", paths.join(","))));
        words.extend(call.id.as_ref().map(|id| format!("id={id}")));
        words.extend(message.subagent.as_ref().map(|subagent| format!("in={}", subagent.id)));
        words.join(" ")
    };
    match &message.event {
        Event::Before(one) => format!("before {}", call(one)),
        Event::After(one, ended) => format!("after {} {}", one.tool, ended.status.as_str()),
        Event::Stop(stop) => {
            let kind = if message.occasion == Occasion::SubagentStop { "subagent stop" } else { "stop" };
            format!("{kind} again={} {}", stop.again, stop.message.as_deref().unwrap_or("-"))
        }
        Event::Asked(request) => format!("asked {request}"),
        Event::Other => "other".to_owned(),
    }
}

#[test]
fn claude_code() {
    assert_eq!(
        events("claude"),
        [
            "other",
            "before shell system_change id=toolu_01",
            "before read_file generic target=/srv/repo/../secret paths=/srv/secret id=toolu_01",
            "before edit_file record_mutation target=src/a.rs paths=/srv/repo/src/a.rs id=toolu_01 in=ag1",
            "before web_fetch webhook_call target=https://example.org/x paths= id=toolu_01",
            "before host:Artifact unknown id=toolu_01",
            "before mcp:fs:write_file unknown server=fs mcp id=toolu_01",
            "before tool unknown server=my  server mcp id=toolu_01",
            "before tool unknown server=my__server mcp id=toolu_01",
            "after shell succeeded",
            "after shell doubtful",
            "after shell failed",
            "after shell doubtful",
            "stop again=false Done.",
            "subagent stop again=true Found.",
            "other",
        ]
    );
}

#[test]
fn codex() {
    assert_eq!(
        events("codex"),
        [
            "other",
            "asked do it",
            "before shell system_change id=call_1",
            // It ended with exit code 3, which the event does not say.
            "after shell doubtful",
            "before shell system_change id=call_2",
            "after shell doubtful",
            "before read_file generic target=x.png paths=/srv/repo/x.png id=call_6",
            "before shell system_change id=call_7",
            "stop again=false All done.",
            "before edit_file record_mutation target=new.txt paths=/srv/repo/new.txt id=call_8",
            "before mcp:fs:write_file unknown server=fs mcp id=call_9",
            "after mcp:fs:write_file failed",
            "subagent stop again=true Done.",
        ]
    );
}

#[test]
fn gemini() {
    assert_eq!(
        events("gemini"),
        [
            "other",
            "before shell system_change",
            "after shell failed",
            "before shell system_change",
            "after shell succeeded",
            "before write_file record_mutation target=y.txt paths=/srv/repo/y.txt",
            "after write_file succeeded",
            "before read_file generic target=y.txt paths=/srv/repo/y.txt",
            "before list_files generic target=. paths=/srv/repo",
            "after list_files succeeded",
            "after read_file succeeded",
            "before edit_file record_mutation target=y.txt paths=/srv/repo/y.txt",
            "after edit_file succeeded",
            "before plan generic paths=",
            "after plan succeeded",
            "stop again=false All done.",
            "before mcp:fs:write_file unknown server=fs mcp",
            "before mcp_fs_write_file unknown mcp",
        ]
    );
}

#[test]
fn copilot() {
    assert_eq!(
        events("copilot"),
        [
            "other",
            "before shell system_change",
            "before shell system_change",
            "before edit_file record_mutation target=/srv/repo/a paths=/srv/repo/a",
            "before host:github-mcp-server-create_issue unknown",
            "after shell succeeded",
            "after shell failed",
            "after shell doubtful",
            "after read_file failed",
            "stop again=false -",
            "subagent stop again=false Found.",
            "before shell system_change",
            "before edit_file record_mutation target=a paths=/srv/repo/a",
            "after shell failed",
            "stop again=true -",
            "before shell system_change",
            "after shell failed",
            "after shell succeeded",
            "after shell doubtful",
            "before shell_input system_change paths=",
            "before write_file record_mutation target=/srv/repo/b.txt paths=/srv/repo/b.txt",
            "before search_files generic paths=/etc,/srv/repo/src",
            "before skill generic paths=",
            "after skill failed",
            "before host:my-notes-read unknown",
            "before subagent system_change paths=",
            "before shell system_change in=c0ffee00-0000-4000-8000-00000000000a",
            // It has another event.
            "other",
            "subagent stop again=false sub done",
            "stop again=false -",
        ]
    );
}

#[test]
fn vscode() {
    assert_eq!(
        events("vscode"),
        [
            "other",
            "before shell system_change id=tool-123",
            "before edit_file record_mutation target=/srv/repo/a.ts paths=/srv/repo/a.ts id=tool-124",
            "before edit_file record_mutation id=tool-125",
            "before mcp_fs_write_file unknown mcp id=tool-126",
            "after shell doubtful",
            "after read_file succeeded",
            "stop again=false -",
            "subagent stop again=false -",
        ]
    );
}

#[test]
fn cursor() {
    assert_eq!(
        events("cursor"),
        [
            "other",
            "before shell system_change id=abc123",
            "before shell system_change",
            "before read_file generic target=a.env paths=/srv/repo/a.env id=abc124",
            "before read_file generic target=/srv/repo/a.env paths=/srv/repo/a.env",
            "before database_query unknown mcp id=abc125",
            "before database_query unknown server=db mcp",
            "after database_query succeeded",
            "after shell succeeded",
            "after shell failed",
            "after shell doubtful",
            "after shell doubtful",
            "stop again=false -",
            "stop again=true -",
        ]
    );
}

#[test]
fn opencode() {
    assert_eq!(
        events("opencode"),
        [
            "before shell system_change id=call_1",
            "before edit_file record_mutation target=/srv/repo/a paths=/srv/repo/a id=call_1",
            "before host:fs_write_file unknown id=call_1",
            "after shell succeeded",
            "after shell failed",
            "after shell doubtful",
            "before shell system_change id=call_1 in=ses_2",
            "before mcp_resource generic paths= id=call_1",
        ]
    );
}

#[test]
fn the_two_events_of_a_call_in_cursor_have_one_twin() {
    let twins: Vec<_> = messages("cursor")
        .into_iter()
        .filter_map(|message| match message.event {
            Event::Before(call) => Some(call.twin.unwrap()),
            _ => None,
        })
        .collect();
    assert_eq!(twins.len(), 6);
    for pair in twins.chunks(2) {
        assert_eq!(pair.first(), pair.last());
    }
}

#[test]
fn a_subagent_of_copilot_is_told_of_as_a_part_of_the_agent_that_started_it() {
    let recorded: Vec<_> = messages("copilot").into_iter().skip(15).collect();
    assert_eq!(recorded.len(), 15);
    for message in recorded {
        assert_eq!(message.session.as_deref(), Some("c0ffee00-0000-4000-8000-000000000001"));
        assert_eq!(message.parent.is_some(), message.subagent.is_some());
    }
}
