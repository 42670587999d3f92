//! The V4 form and the plain form are one request.

use proofmark_boundary::{Disposition, Request};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Format, parse};

use crate::rules::POLICY;
use crate::support::{approval, decided, policy, receipt, yaml};

const WIRE: &str = r#"{
  "envelope": {
    "org_id": "o", "project_id": "p", "environment": "prod", "agent_id": "a1", "thread_id": "th", "run_id": "r",
    "step_id": "s1", "checkpoint_id": null, "parent_step_id": null, "timestamp": "2026-03-01T11:59:00+00:00",
    "source_system": "x", "policy_scope": {"boundary": "action_execute", "action_class": "record_mutation",
    "sensitivity": "high"}, "linked_object_ids": [], "schema_version": "events.v4", "sdk_version": "x/1"
  },
  "decision_context": {
    "provider": "generic", "framework": "generic_python", "first_user_task": "resolve it",
    "tool_calls_in_run": [
      {"raw_name": "edit_file", "raw_args": {}, "source": "s", "timestamp": "t1", "semantic_class": "file"},
      {"raw_name": "run_tests", "raw_args": {}, "source": "s", "timestamp": "t2", "semantic_class": null, "status": "succeeded"},
      {"raw_name": "update_ticket", "raw_args": {"status": "resolved", "patch": "diff"}, "source": "s", "timestamp": "t3"}
    ],
    "memory_reads_in_run": [],
    "factual_artifacts_in_run": [
      {"object_type": "ticket", "source_lineage": ["api", "lookup"], "timestamp": "t0",
       "normalized_payload": {"ticket_id": "T-17", "approved_by": "lead"}}
    ],
    "pending_action": {"raw_name": "update_ticket", "surface": "tool", "method": "CALL", "target": "T-17",
      "raw_args": {"status": "resolved", "patch": "diff"}, "trust_boundary_crossing": false},
    "taint_signals": [{"signal": "external", "source": "retrieval", "timestamp": "t0", "note": "n"}],
    "context_fill_pct": 0.1234,
    "prior_same_fingerprint_denies": [{"decision_id": "d", "outcome": "replan_required", "reason_codes": ["x"], "timestamp": "t"}],
    "upstream_context": {"workflow": {"request_id": "w1"}, "source": "intake"}
  }
}"#;

const PLAIN: &str = r#"
action: {tool: update_ticket, class: record_mutation, boundary: action_execute, surface: tool, method: CALL, target: T-17,
  args: {status: resolved, patch: diff}, crossing: false}
agent: {id: a1, org: o, project: p, environment: prod, run: r, step: s1, sensitivity: high}
facts: [{type: ticket, payload: {ticket_id: T-17, approved_by: lead}, source: lookup, at: t0}]
calls: [{tool: edit_file, args: {}, class: file, at: t1}, {tool: run_tests, args: {}, status: succeeded, at: t2}]
memory: []
taint: [{signal: external, source: retrieval, at: t0}]
denies: [{decision_id: d, outcome: replan_required, reason_codes: [x], at: t}]
task: {first: resolve it}
upstream: {workflow: {request_id: w1}, source: intake}
context_fill_pct: 0.1234
"#;

fn wire(text: &str) -> Json {
    parse(text.as_bytes(), Format::Json).unwrap()
}

#[test]
fn both_forms_are_the_same_facts() {
    let from_wire = Request::read(&wire(WIRE)).unwrap();
    let from_plain = Request::read(&yaml(PLAIN)).unwrap();
    assert_eq!(from_wire.facts_hash(), from_plain.facts_hash(), "{:?}", from_wire.facts());
    assert_eq!(from_wire.action_hash(), from_plain.action_hash());
    let documents = vec![
        receipt("r", "diff"),
        approval(1, "release-manager", &from_wire),
        approval(2, "release-manager", &from_wire),
    ];
    assert_eq!(decided(&policy(POLICY), &from_wire, documents).disposition(), Disposition::Allow);
}

#[test]
fn the_pending_call_is_no_call_of_the_run() {
    let calls = |text: &str| {
        let request = Request::read(&wire(text)).unwrap();
        request.facts().get("calls").unwrap().as_array().unwrap().len()
    };
    assert_eq!(calls(WIRE), 2);
    // Its arguments may have been recorded otherwise.
    let other = WIRE.replacen(
        r#""raw_args": {"status": "resolved", "patch": "diff"}, "source""#,
        r#""raw_args": {}, "source""#,
        1,
    );
    assert_eq!(calls(&other), 2);
    // Another call that stands last is kept.
    let without =
        WIRE.replace(r#"{"raw_name": "update_ticket", "raw_args""#, r#"{"raw_name": "update_note", "raw_args""#);
    assert_eq!(calls(&without), 3);
}

#[test]
fn a_call_that_ended_is_not_the_pending_one() {
    let policy = policy(
        r#"{version: 1, boundaries: [{id: once, match: {}, deny: [{when: 'calls.exists(c, c.tool == "update_ticket")',
            reason: {code: repeated, message: "The ticket was updated before."}}]}]}"#,
    );
    let pending = r#""source": "s", "timestamp": "t3"}"#;
    for (status, disposition) in [
        ("", Disposition::Allow),
        (r#", "status": null"#, Disposition::Allow),
        (r#", "status": "pending""#, Disposition::Allow),
        (r#", "status": "succeeded""#, Disposition::LocalReplan),
        (r#", "status": "doubtful""#, Disposition::LocalReplan),
        (r#", "status": "failed""#, Disposition::LocalReplan),
    ] {
        for next in ["", r#", {"raw_name": "read_file", "raw_args": {}}"#] {
            let text = WIRE.replace(pending, &format!(r#""timestamp": "t3"{status}}}{next}"#));
            let text = text.replace(r#""upstream_context""#, r#""ignored""#);
            let request = Request::read(&wire(&text)).unwrap();
            assert_eq!(decided(&policy, &request, Vec::new()).disposition(), disposition, "{status}{next}");
        }
    }
}

#[test]
fn a_memory_write_has_no_class_on_the_wire() {
    let text = WIRE.replace(
        r#""boundary": "action_execute", "action_class": "record_mutation""#,
        r#""boundary": "memory_write", "action_class": null"#,
    );
    let request = Request::read(&wire(&text)).unwrap();
    assert_eq!(request.action_class(), Some("memory_write"));
}

#[test]
fn wrong_types_on_the_wire_are_named() {
    for (from, to, place) in [
        (r#""context_fill_pct": 0.1234"#, r#""context_fill_pct": "full""#, "decision_context.context_fill_pct"),
        (
            r#""trust_boundary_crossing": false"#,
            r#""trust_boundary_crossing": 0"#,
            "decision_context.pending_action.trust_boundary_crossing",
        ),
        (r#""target": "T-17""#, r#""target": 17"#, "decision_context.pending_action.target"),
        (r#""boundary": "action_execute""#, r#""boundary": "elsewhere""#, "envelope.policy_scope.boundary"),
        (r#""signal": "external""#, r#""signal": []"#, "decision_context.taint_signals[0].signal"),
        (
            r#""reason_codes": ["x"]"#,
            r#""reason_codes": [1]"#,
            "decision_context.prior_same_fingerprint_denies[0].reason_codes[0]",
        ),
        (r#""raw_name": "edit_file", "#, "", "decision_context.tool_calls_in_run[0].raw_name"),
        (r#""agent_id": "a1""#, r#""agent_id": 1"#, "envelope.agent_id"),
        (
            r#""context_fill_pct": 0.1234"#,
            r#""context_fill_pct": 0.1234567890123456789012345678901234567"#,
            "context_fill_pct",
        ),
    ] {
        assert!(WIRE.contains(from), "{from}");
        let error = Request::read(&wire(&WIRE.replacen(from, to, 1))).unwrap_err();
        assert_eq!(error.place().to_string(), format!("`{place}`"), "{error}");
    }
    let lone = wire(r#"{"decision_context": {}}"#);
    assert_eq!(Request::read(&lone).unwrap_err().code(), "missing_field");
}
