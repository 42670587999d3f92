//! A workflow policy of the server: steps are accepted only of workflows that follow it.

use proofmark_testing::Home;

use crate::client::text;
use crate::mcp::called;
use crate::receipts::{RESPONSE, step};
use crate::server::{Options, Server};

const STRICT: &str = "name: everyone\nrequirements:\n  - scope: {workflow: \"*\"}\n    toolCalls: [run_tests]\n";
const LOOSE: &str = "name: everyone\nclasses:\n  mutating: {maxAttempts: 3}\n";

#[test]
fn a_workflow_that_does_not_follow_the_servers_policy_is_rejected() {
    for (policy, expected) in [(STRICT, 422), (LOOSE, 200)] {
        let home = Home::new();
        let options = Options { workflow_policy: Some(policy), ..Options::default() };
        let server = Server::with(&home, options);
        let (status, answer) = server.post("/v1/steps/r1/implement/attempts", "", &step(RESPONSE));
        assert_eq!(status, expected, "{answer:?}");
        if status == 422 {
            assert!(text(&answer, "detail").contains("run_tests"), "{answer:?}");
            assert_eq!(server.get("/v1/steps/r1/implement", "").0, 404, "nothing was stored");
        }
    }
}

#[test]
fn the_policy_holds_over_mcp_too() {
    for (policy, accepted) in [(STRICT, false), (LOOSE, true)] {
        let home = Home::new();
        let options = Options { workflow_policy: Some(policy), ..Options::default() };
        let server = Server::with(&home, options);
        let attempt = step(RESPONSE).replacen('{', r#"{"run": "r1", "step": "implement", "#, 1);
        let answer = called(&server.address, "accept_step", &attempt);
        assert_eq!(
            answer.contains(r#""state":{"name":"accepted""#) || answer.contains("accepted"),
            accepted,
            "{answer}"
        );
        assert_eq!(answer.contains("run_tests"), !accepted, "{answer}");
    }
}
