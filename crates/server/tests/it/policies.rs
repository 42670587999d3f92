//! A workflow policy of the server: steps are accepted only of workflows that follow it.

use tempfile::TempDir;

use crate::client::text;
use crate::receipts::{RESPONSE, step};
use crate::server::{Options, Server};

const STRICT: &str = "name: everyone\nrequirements:\n  - scope: {workflow: \"*\"}\n    toolCalls: [run_tests]\n";
const LOOSE: &str = "name: everyone\nclasses:\n  mutating: {maxAttempts: 3}\n";

#[test]
fn a_workflow_that_does_not_follow_the_servers_policy_is_rejected() {
    for (policy, expected) in [(STRICT, 422), (LOOSE, 200)] {
        let home = TempDir::new().unwrap();
        let server =
            Server::with(home.path(), Options { workflow_policy: Some(policy.to_owned()), ..Options::default() });
        let (status, answer) = server.post("/v1/steps/r1/implement/attempts", "", &step(RESPONSE));
        assert_eq!(status, expected, "{answer:?}");
        if status == 422 {
            assert!(text(&answer, "detail").contains("run_tests"), "{answer:?}");
            assert_eq!(server.get("/v1/steps/r1/implement", "").0, 404, "nothing was stored");
        }
    }
}
