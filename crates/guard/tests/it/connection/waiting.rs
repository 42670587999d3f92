//! Calls that wait for a person.

use std::time::Duration;

use proofmark_guard::{Connection, Pins, Settings};

use super::{Guarded, Reached, policy, tools};

const POLICY: &str = r#"
version: 1
tools:
  - {tool: write_text, class: record_mutation}
  - {tool: call_tool, class: record_mutation}
boundaries:
  - id: writes
    match: {action_class: record_mutation, tool: write_text}
    require:
      - approval: {role: owner}
  - id: others
    match: {action_class: record_mutation, tool: call_tool}
"#;
const ALLOWED: &str =
    r#"{version: 1, tools: [{tool: write_text, class: generic}], boundaries: [{id: all, match: {}}]}"#;

fn waiting(seconds: u64) -> Guarded {
    let mut guarded = Guarded::new();
    let wait = Duration::from_secs(seconds);
    let settings = Settings { session: "s1".into(), server: "files".into(), wait, ..Settings::default() };
    guarded.connection = Connection::new(settings, Pins::default());
    guarded.policy = policy(POLICY);
    guarded.list(&tools(&["write_text", "call_tool"]));
    guarded
}

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"p{id}"}}}}}}"#
    )
}

fn tick(guarded: &mut Guarded, millis: u64) -> Reached {
    let step = guarded.connection.tick(millis);
    guarded.finish(step)
}

/// What a person who approves makes of it: the same call is allowed.
fn approved(guarded: &mut Guarded) -> Reached {
    let decision = guarded.connection.waiting_decisions().remove(0);
    guarded.policy = policy(ALLOWED);
    let released = guarded.connection.reviewed(&decision).unwrap();
    let step = guarded.connection.go_on(released, &guarded.policy);
    guarded.finish(step)
}

#[test]
fn a_call_waits_while_progress_is_told_and_goes_on_when_it_is_approved() {
    let mut guarded = waiting(60);
    let told = guarded.client(&call(1, "write_text"));
    let [first] = &told.client[..] else { panic!("{told:?}") };
    assert!(first.contains(r#""progressToken":"p1","progress":0.001"#), "{first}");
    assert!(first.contains("proofmark decision approve "), "{first}");
    // Others go on meanwhile, and the id is in use.
    guarded.client(&call(2, "call_tool")).forwarded();
    guarded.client(&call(1, "call_tool")).refused();
    assert!(tick(&mut guarded, 5).client.is_empty());
    assert!(tick(&mut guarded, 9_000).client.is_empty());
    assert!(tick(&mut guarded, 10_005).client[0].contains(r#""progress":0.002"#));
    assert_eq!(approved(&mut guarded).forwarded(), call(1, "write_text"));
    assert!(guarded.connection.waiting_decisions().is_empty());
    assert!(tick(&mut guarded, 70_000).client.is_empty());
}

#[test]
fn a_call_that_waits_for_too_long_is_blocked() {
    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    assert!(tick(&mut guarded, 1_000).client.is_empty());
    let over = tick(&mut guarded, 61_000);
    assert!(over.blocked().contains("Not executed"), "{over:?}");
    // The id is free again, and nothing waits.
    guarded.client(&call(1, "call_tool")).forwarded();
    assert!(guarded.connection.waiting_decisions().is_empty());
}

#[test]
fn a_call_that_still_asks_waits_on_with_what_is_left_of_its_time() {
    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    tick(&mut guarded, 0);
    let first = guarded.connection.waiting_decisions();
    let released = guarded.connection.reviewed(&first[0]).unwrap();
    let step = guarded.connection.go_on(released, &guarded.policy);
    let told = guarded.finish(step).client;
    let second = guarded.connection.waiting_decisions();
    assert!(second != first && told[0].contains(&second[0]), "{told:?}");
    assert!(told[0].contains(r#""progress":0.002"#), "{told:?}");
    tick(&mut guarded, 60_000).blocked();
}

#[test]
fn a_call_waits_only_where_the_client_takes_progress_and_a_person_can_approve() {
    let mut guarded = waiting(60);
    guarded.call(1, "write_text", "{}").blocked();
    waiting(0).client(&call(1, "write_text")).blocked();
    guarded.client(&call(2, "wipe")).blocked();
}

#[test]
fn a_call_that_is_cancelled_or_left_is_not_executed() {
    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    let decision = guarded.connection.waiting_decisions().remove(0);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(guarded.client(cancel).server.is_empty());
    let entry = guarded.entry("cancelled");
    assert!(entry.contains(&decision) && entry.contains(r#""executed":"no""#), "{entry}");
    assert!(guarded.connection.reviewed(&decision).is_none());
    assert!(tick(&mut guarded, 100_000).client.is_empty());

    // Also where it is cancelled between the approval and the decision on it.
    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    let decision = guarded.connection.waiting_decisions().remove(0);
    let released = guarded.connection.reviewed(&decision).unwrap();
    guarded.client(cancel);
    guarded.policy = policy(ALLOWED);
    let step = guarded.connection.go_on(released, &guarded.policy);
    assert!(guarded.finish(step).server.is_empty());
    assert!(guarded.entry("cancelled").contains(r#""executed":"no""#));

    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    let (outputs, mut reached) = (guarded.connection.client_ended(), Reached::default());
    guarded.take(&mut reached, outputs);
    reached.blocked();
    assert!(guarded.connection.waiting_decisions().is_empty());

    let mut guarded = waiting(60);
    guarded.client(&call(1, "write_text"));
    assert_eq!(guarded.connection.server_ended().len(), 1);
    assert!(guarded.connection.waiting_decisions().is_empty());
}

#[test]
fn only_so_many_calls_wait_at_once() {
    let mut guarded = waiting(60);
    let answers: Vec<_> = (0..101).map(|id| guarded.client(&call(id, "write_text")).client.remove(0)).collect();
    assert_eq!(answers.iter().filter(|answer| answer.contains("notifications/progress")).count(), 100);
    assert!(answers[100].contains("Not executed"));
}

/// A connection whose client takes questions for its user.
fn asking(modes: &str) -> Guarded {
    let mut guarded = waiting(60);
    let greeting = format!(
        r#"{{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"elicitation":{modes}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    guarded.client(&greeting).forwarded();
    guarded
}

/// The id of the question among what the client was told.
fn question(told: &Reached) -> String {
    let question = told.client.iter().find(|line| line.contains("elicitation/create")).unwrap();
    question.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn answer(id: &str, action: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"action":"{action}"}}}}"#)
}

#[test]
fn the_user_of_the_client_is_asked_and_can_only_refuse() {
    let mut guarded = asking("{}");
    let told = guarded.client(&call(1, "write_text"));
    assert_eq!(told.client.len(), 2, "{told:?}");
    assert!(
        told.client[1].contains("`write_text` was not executed yet") && told.client[1].contains("approves nothing")
    );
    let id = question(&told);
    // The server cannot use its id, and cannot answer it.
    let taken = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
    assert!(guarded.server(&taken).client.is_empty());
    assert!(guarded.server(&answer(&id, "decline")).client.is_empty());
    assert_eq!(guarded.connection.waiting_decisions().len(), 1);
    // Consent approves nothing.
    let consent = guarded.client(&answer(&id, "accept"));
    assert!(consent.client.is_empty() && consent.server.is_empty(), "{consent:?}");
    assert_eq!(guarded.connection.waiting_decisions().len(), 1);
    // It was answered.
    assert!(guarded.client(&answer(&id, "decline")).client.is_empty());
    assert_eq!(approved(&mut guarded).forwarded(), call(1, "write_text"));

    for declined in ["decline", "cancel"] {
        let mut guarded = asking(r#"{"form":{},"url":{}}"#);
        let id = question(&guarded.client(&call(1, "write_text")));
        let blocked = guarded.client(&answer(&id, declined));
        assert!(blocked.blocked().contains("has declined it"), "{blocked:?}");
        assert!(guarded.entry("cancelled").contains(&format!(r#""declined":"{declined}""#)));
        assert!(guarded.connection.waiting_decisions().is_empty());
        assert!(tick(&mut guarded, 100_000).client.is_empty());
        // The id of the call is free again.
        guarded.client(&call(1, "call_tool")).forwarded();
    }
}

#[test]
fn a_question_is_taken_back_when_the_call_does_not_wait_any_more() {
    let taken_back = |reached: &Reached, id: &str| {
        reached.client[0].contains("notifications/cancelled") && reached.client[0].contains(id)
    };
    let begun = || {
        let mut guarded = asking("{}");
        let id = question(&guarded.client(&call(1, "write_text")));
        (guarded, id)
    };
    let (mut guarded, id) = begun();
    let reached = approved(&mut guarded);
    assert!(taken_back(&reached, &id) && reached.server.len() == 1, "{reached:?}");
    assert!(guarded.client(&answer(&id, "decline")).client.is_empty());

    let (mut guarded, id) = begun();
    tick(&mut guarded, 0);
    let reached = tick(&mut guarded, 60_000);
    assert!(taken_back(&reached, &id) && reached.client[1].contains("Not executed"), "{reached:?}");

    let (mut guarded, id) = begun();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(taken_back(&guarded.client(cancel), &id));

    let (mut guarded, _) = begun();
    assert_eq!(guarded.connection.server_ended().len(), 3, "of the greeting and the call, and of the question");
}

#[test]
fn a_client_that_takes_no_forms_is_not_asked() {
    for modes in [r#"{"url":{}}"#, "null", "true"] {
        assert_eq!(asking(modes).client(&call(1, "write_text")).client.len(), 1, "{modes}");
    }
    // Nor in the revision without sessions, whose clients cannot answer.
    let stateless = call(1, "write_text")
        .replace(r#""_meta":{"#, r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#);
    assert_eq!(asking("{}").client(&stateless).client.len(), 1);
}
