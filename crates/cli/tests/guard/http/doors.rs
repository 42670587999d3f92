//! The ways around a policy that names tools: dispatchers, requests that call no tool, and definitions under another name.

use super::{Answer, Guarded, Listening, both_ways, place_with};
use crate::said;

const POLICY: &str = "
version: 1
tools:
  - {tool: query, class: system_change, dispatches: {tool: name, args: arguments}}
  - {tool: read, class: generic, reads: true}
  - {tool: [resources/read, resources/subscribe, prompts/get], class: system_change}
boundaries:
  - id: reads
    match: {action_class: generic}
";

/// A request without a session of the protocol's own.
fn ask(guarded: &Guarded, id: u32, method: &str, params: &str) -> Answer {
    guarded.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#), &[])
}

#[test]
fn a_dispatcher_is_judged_by_the_tool_that_it_calls() {
    let place = place_with(POLICY);
    let guarded = Guarded::listed(&place, &[]);
    let dispatch = |id: u32, arguments: &str| {
        ask(&guarded, id, "tools/call", &format!(r#"{{"name":"query","arguments":{arguments}}}"#)).body
    };
    for (id, arguments) in [
        (1, r#"{"name":"delete","arguments":{}}"#),
        (2, r#"{"name":"query","arguments":{"name":"delete"}}"#),
        (3, r#"{"tool":"read"}"#),
        (4, r#"{"name":["read"]}"#),
    ] {
        let answer = dispatch(id, arguments);
        assert!(answer.contains("Not executed") || answer.contains("-32602"), "{arguments}: {answer}");
    }
    assert!(place.effects().is_empty(), "{}", place.effects());
    assert!(dispatch(5, r#"{"name":"read","arguments":{}}"#).contains("ok query"));
}

#[test]
fn reads_of_resources_and_prompts_are_decided() {
    let place = place_with(POLICY);
    let guarded = Guarded::listed(&place, &[]);
    for (id, method, params) in [
        (1, "resources/read", r#"{"uri":"file:///etc/passwd"}"#),
        (2, "resources/subscribe", r#"{"uri":"file:///etc/passwd"}"#),
        (3, "prompts/get", r#"{"name":"greet"}"#),
        (4, "files/delete", r#"{"name":"greet"}"#),
    ] {
        let answer = ask(&guarded, id, method, params).body;
        assert!(answer.contains("Not executed"), "{method}: {answer}");
    }
    assert!(place.effects().is_empty(), "{}", place.effects());
}

#[test]
fn a_pinned_tool_under_another_name_or_on_another_server_is_quarantined() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::listed(&place, &["renames"]);
        assert!(guarded.call(1, "read").body.contains("ok read"));
        // The server has named it anew since, and says nothing of that.
        assert!(guarded.post(super::LIST, &[]).body.contains("read_again"));
        assert!(guarded.call(2, "read_again").body.contains("tool_quarantined"));
        assert!(guarded.call(3, "read").body.contains("tool_quarantined"));
        let server = Listening::server(&place, &[]);
        // Nobody has said yet which server the name belongs to.
        let approved = place.proofmark(&["guard", "pin", "approve", "--server", "lenient", "--all"]);
        assert!(approved.status.success(), "{}", said(&approved));
        let options = ["--name", "other", "--session", "other"];
        let guard = Listening::guard_named(&place, &format!("http://{}/mcp", server.address), &options);
        let mut other = Guarded { guard, server, session: None };
        other.begin();
        assert!(other.call(4, "read").body.contains("tool_quarantined"));
        assert_eq!(place.effects(), "read\n");
    }
}
