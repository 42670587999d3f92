//! The runtime SDK, unmodified.

use std::process::Command;

use proofmark_testing::Home;
use proofmark_testing::python_with;

use crate::server::Server;

const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/story.py");

#[test]
fn the_unmodified_sdk_blocks_allows_and_derives_what_is_stored() {
    let Some(python) = python_with("verifiedx", "verifiedx==0.1.20") else { return };
    let home = Home::new();
    let server = Server::start(&home);
    let base = server.base();
    let told = Command::new(python)
        .args([STORY, &base])
        .envs([("VERIFIEDX_API_KEY", "any"), ("VERIFIEDX_BASE_URL", &base)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success(), "{said}{}", String::from_utf8_lossy(&told.stderr));
    assert!(said.contains(r#"["executed_other_arguments", "executed_twice"]"#), "{said}");
    assert!(said.contains(r#""executed_blocked""#), "{said}");
}
