//! Requests that are wrong, or say strange things.

use proofmark_receipt::{Json, Timestamp};
use proofmark_testing::Home;

use crate::client::{DECISIONS, NOTE, code, json, listed, text};
use crate::server::Server;

const PREFLIGHT: &str = "/v4/runtime/boundaries/preflight";
const REPORT: &str = "/v4/runtime/boundaries/executions/report";

#[test]
fn what_is_of_the_wrong_type_is_a_problem() {
    let home = Home::new();
    let server = Server::start(&home);
    for path in [PREFLIGHT, REPORT, "/v4/runtime/taint/probe", "/v1/events/batch", "/v1/decisions"] {
        for body in
            ["", "{", "[]", "{}", "null", "1", "\"a\"", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\\ud800\"}", "\u{feff}{}"]
        {
            let (status, problem) = server.post(path, "", body);
            assert_eq!(status, 400, "{path} {body}");
            assert!(!text(&problem, "detail").is_empty());
        }
    }
    let action =
        |member: &str| format!(r#"{{"action": {{"tool": "add_note", "class": "record_mutation", {member}}}}}"#);
    let context = |member: &str| {
        format!(r#"{{"envelope": {{}}, "decision_context": {{"pending_action": {{"raw_name": "a"}}, {member}}}}}"#)
    };
    let observed = |member: &str| format!(r#"{{"observed_execution": {member}}}"#);
    for (path, body) in [
        ("/v1/decisions", action(r#""crossing": "yes""#)),
        ("/v1/decisions", action(r#""target": 7"#)),
        ("/v1/decisions", action(r#""boundary": "elsewhere""#)),
        ("/v1/decisions", action(r#""colour": "red""#)),
        (PREFLIGHT, r#"{"envelope": [], "decision_context": {}}"#.to_owned()),
        (PREFLIGHT, r#"{"envelope": {}, "decision_context": {"pending_action": []}}"#.to_owned()),
        (PREFLIGHT, context(r#""taint_signals": {}"#)),
        (PREFLIGHT, context(r#""tool_calls_in_run": [{"raw_name": "b"}, 1]"#)),
        (PREFLIGHT, context(r#""context_fill_pct": "full""#)),
        (REPORT, observed("[]")),
        (REPORT, observed("{}")),
        (REPORT, observed(r#"{"side_effect_executed": "true"}"#)),
        (REPORT, observed(r#"{"side_effect_executed": true, "decision_id": 7}"#)),
        (REPORT, observed(r#"{"side_effect_executed": true, "candidate_hash": []}"#)),
        (REPORT, observed(r#"{"side_effect_executed": true, "downstream_trace": "args"}"#)),
        ("/v4/runtime/taint/probe", r#"{"excerpt": 1}"#.to_owned()),
        ("/v4/runtime/taint/probe", format!(r#"{{"excerpt": "{}"}}"#, "a".repeat(300_000))),
        ("/v1/events/batch", r#"{"events": {}}"#.to_owned()),
    ] {
        assert_eq!(server.post(path, "", &body).0, 400, "{path} {body:.80}");
    }
    assert!(listed(&server.get("/v1/decisions", "").1, "decisions").is_empty(), "something was decided");
    assert!(listed(&server.get("/v1/findings", "").1, "findings").is_empty(), "something was found");
}

#[test]
fn what_is_not_there_is_a_problem_too() {
    let home = Home::new();
    let server = Server::start(&home);
    assert_eq!(server.get("/nowhere", "").0, 404);
    assert_eq!(server.get("/v1/decisions/none", "").0, 404);
    assert_eq!(server.post("/v1/reviews/none", "", r#"{"verdict": "deny", "note": "no"}"#).0, 404);
    assert_eq!(server.post("/healthz", "", "").0, 405);
    for (query, wanted) in [
        ("limit=x", "invalid_parameter"),
        ("limit=0", "invalid_parameter"),
        ("limit=1001", "invalid_parameter"),
        ("limit=-1", "invalid_parameter"),
        ("after=7", "invalid_parameter"),
        ("since=yesterday", "invalid_parameter"),
        ("outcome=allowed", "invalid_parameter"),
        ("colour=red", "unknown_parameter"),
        ("limit=1&limit=2", "repeated_parameter"),
        ("agent=%ff", "invalid_query"),
        ("agent=%0", "invalid_query"),
        ("agent=%00", "invalid_query"),
    ] {
        let (status, problem) = server.get(&format!("/v1/decisions?{query}"), "");
        assert_eq!((status, code(&problem).as_str()), (400, wanted), "{query}");
    }
    let long = "k".repeat(201);
    for key in ["", "two words", "\u{e9}", &long] {
        let (status, body) = server.send(&format!("{DECISIONS}\r\nidempotency-key: {key}"), NOTE);
        assert_eq!(status, 400, "{key}: {body}");
    }
    let (status, twice) = server.send(&format!("{DECISIONS}\r\nidempotency-key: a\r\nidempotency-key: a"), NOTE);
    assert_eq!((status, code(&json(&twice)).as_str()), (400, "invalid_idempotency_key"));
    assert_eq!(server.get("/healthz", "").0, 200);
    assert_eq!(server.get("/readyz", "").0, 200);
    assert_eq!(listed(&server.get("/.well-known/jwks.json", "").1, "keys").len(), 1);
}

#[test]
fn yaml_means_what_the_same_json_does() {
    let home = Home::new();
    let server = Server::start(&home);
    let yaml = |path: &str, body: &str| {
        let (status, answer) = server.send(&format!("POST {path} HTTP/1.1\r\ncontent-type: application/yaml"), body);
        (status, json(&answer))
    };
    let member = |json: &Json, path: [&str; 2]| {
        let outer = json.as_object().unwrap().get(path[0]).unwrap().clone();
        text(&outer, path[1])
    };
    let note = "action:\n  tool: add_note # a comment\n  class: record_mutation\n  args: {text: done}\n";
    let (status, decided) = yaml("/v1/decisions", note);
    assert_eq!((status, text(&decided, "outcome").as_str()), (200, "allow"));
    let same = server.post("/v1/decisions", "", NOTE).1;
    assert_eq!(member(&decided, ["binding", "action_hash"]), member(&same, ["binding", "action_hash"]));
    let request = "task_id: t\noutput: {content: x}\nverification:\n  kind: schema_check\n  checks:\n  - {name: a, constraint: length <= 1.50}\n";
    let request = request.replace("1.50", "3");
    for path in ["/v1/verifications", "/verify"] {
        let (status, receipt) = yaml(path, &request);
        assert_eq!((status, text(&receipt, "verdict").as_str()), (200, "pass"), "{path}: {receipt:?}");
        // It is stored as JSON, from which it can be run again.
        let id = text(&receipt, "receipt_id");
        assert_eq!(server.post(&format!("/v1/receipts/{id}/recheck"), "", "").0, 200, "{path}");
    }
    for bad in ["action: [", "a: 1\na: 2", "action: !!str x", "&a [*a]", "action: yes"] {
        let (status, problem) = yaml("/v1/decisions", bad);
        assert_eq!(status, 400, "{bad}: {problem:?}");
    }
    assert_eq!(yaml("/mcp", "jsonrpc: '2.0'").0, 415);
}

#[test]
fn every_verification_may_be_as_long_as_requests_are() {
    let home = Home::new();
    let server = Server::start(&home);
    let long = "x".repeat(6 << 20);
    let request =
        format!(r#"{{"output": {{"content": "{long}"}}, "constraints": [{{"name": "a", "expr": "length > 3"}}]}}"#);
    let (status, receipt) = server.post("/verify/schema", "", &request);
    assert_eq!(status, 200, "{:.300}", receipt.to_text());
}

#[test]
fn a_class_nobody_knows_is_never_allowed() {
    let home = Home::new();
    let server = Server::start(&home);
    for class in ["teleportation", "", "RECORD_MUTATION", "record_mutation ", "record\u{200b}_mutation"] {
        let (status, receipt) = server.post("/v1/decisions", "", &NOTE.replace("record_mutation", class));
        assert_eq!(status, 200);
        assert_eq!(text(&receipt, "outcome"), "replan_required", "{class}");
        let codes: Vec<String> = listed(&receipt, "reasons").iter().map(|reason| text(reason, "code")).collect();
        assert!(codes.contains(&"unknown_action_class".to_owned()), "{codes:?}");
    }
}

#[test]
fn a_clients_clock_decides_nothing() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut last = 0;
    for (number, clock) in
        ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "never", "2026-01-01T00:00:00Z"].iter().enumerate()
    {
        let body = format!(
            r#"{{"envelope": {{"timestamp": "{clock}", "expires_at": "{clock}", "policy_scope": {{"action_class": "record_mutation"}}}},
                "decision_context": {{"pending_action": {{"raw_name": "add_note", "raw_args": {{"text": "{number}"}}, "timestamp": "{clock}"}}}}}}"#
        );
        let (status, answer) = server.post(PREFLIGHT, "", &body);
        assert_eq!((status, text(&answer, "outcome").as_str()), (200, "allow"), "{clock}");
        let (decided, ends) = (time(&answer, "decided_at"), time(&answer, "expires_at"));
        assert!(decided >= last, "{clock}");
        assert_eq!(ends - decided, 300_000, "{clock}");
        last = decided;
    }
}

fn time(answer: &Json, name: &str) -> i64 {
    let binding = answer.as_object().unwrap().get("receipt").unwrap().as_object().unwrap().get("binding").unwrap();
    text(binding, name).parse::<Timestamp>().unwrap().unix_millis()
}
