//! What is found when reports are held against decisions.

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{listed, text};
use crate::server::Server;

const PREFLIGHT: &str = r#"{"envelope": {"run_id": "r", "step_id": "s", "policy_scope": {"action_class": "record_mutation"}},
    "decision_context": {"pending_action": {"raw_name": "add_note", "raw_args": {"text": "done"}}}}"#;

#[test]
fn an_execution_nobody_decided_on_is_found() {
    let home = Home::new();
    let server = Server::start(&home);
    for named in [r#""decision_id": "none", "#, r#""decision_id": null, "#, ""] {
        let report = format!(r#"{{"observed_execution": {{{named}"side_effect_executed": true}}}}"#);
        assert_eq!(reported(&server, &report), ["executed_undecided"], "{named}");
    }
    assert_eq!(found(&server), ["executed_undecided"; 3]);
}

#[test]
fn what_was_not_executed_is_no_finding() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = decided(&server);
    assert!(reported(&server, &report(&id, false)).is_empty());
    end_all(&home);
    assert!(found(&server).is_empty());
}

#[test]
fn an_execution_after_the_decision_ended_is_found() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = decided(&server);
    end_all(&home);
    assert_eq!(reported(&server, &report(&id, true)), ["executed_after_expiry"]);
    assert_eq!(found(&server), ["executed_after_expiry"]);
}

#[test]
fn an_allowed_action_nobody_reported_is_found_once() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = decided(&server);
    assert!(found(&server).is_empty());
    end_all(&home);
    assert_eq!(found(&server), ["never_reported"]);
    assert_eq!(found(&server), ["never_reported"]);
    assert_eq!(reported(&server, &report(&id, true)), ["executed_after_expiry"]);
}

fn decided(server: &Server) -> String {
    let (status, decision) = server.post("/v4/runtime/boundaries/preflight", "", PREFLIGHT);
    assert_eq!((status, text(&decision, "outcome").as_str()), (200, "allow"));
    text(&decision, "decision_id")
}

/// As if ten minutes had passed.
fn end_all(home: &Home) {
    home.sql("UPDATE clock SET latest = latest + 600000");
}

fn report(id: &str, executed: bool) -> String {
    let candidate = candidate();
    format!(
        r#"{{"observed_execution": {{"decision_id": "{id}", "side_effect_executed": {executed}, "candidate_hash": "{candidate}"}}}}"#
    )
}

/// What the SDK names the action by: SHA-256 of run, step, action, provider and framework as Python's `json` writes them.
fn candidate() -> String {
    let named = r#"{"framework":null,"pending_action":{"raw_args":{"text":"done"},"raw_name":"add_note"},"provider":null,"run_id":"r","step_id":"s"}"#;
    proofmark_receipt::Sha256Digest::of(named.as_bytes()).bare_hex()
}

fn reported(server: &Server, report: &str) -> Vec<String> {
    let (status, answer) = server.post("/v4/runtime/boundaries/executions/report", "", report);
    assert_eq!(status, 200);
    listed(&answer, "findings").iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn found(server: &Server) -> Vec<String> {
    let (status, page): (u16, Json) = server.get("/v1/findings", "");
    assert_eq!(status, 200);
    listed(&page, "findings").iter().map(|finding| text(finding, "code")).collect()
}
