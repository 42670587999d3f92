//! A workflow policy of the server: steps are accepted only of workflows that follow it.

use tempfile::TempDir;

use crate::receipts::{RESPONSE, step};
use crate::server::{Server, text};

const STRICT: &str = "name: house\nrequirements:\n  - scope: {workflow: \"*\"}\n    toolCalls: [run_tests]\n";
const LOOSE: &str = "name: house\nclasses:\n  mutating: {maxAttempts: 3}\n";

#[test]
fn a_workflow_that_does_not_follow_the_servers_policy_is_rejected() {
    for (policy, expected) in [(STRICT, 422), (LOOSE, 200)] {
        let home = TempDir::new().unwrap();
        let file = home.path().join("workflow-policy.yaml");
        std::fs::write(&file, policy).unwrap();
        let server = Server::start(home.path(), &["--workflow-policy", file.to_str().unwrap()]);
        let (status, answer) = server.post("/v1/steps/r1/implement/attempts", "", &step(RESPONSE));
        assert_eq!(status, expected, "{answer:?}");
        if status == 422 {
            assert!(text(&answer, "detail").contains("run_tests"), "{answer:?}");
            assert_eq!(server.get("/v1/steps/r1/implement", "").0, 404, "nothing was stored");
        }
    }
}
