//! Official clients and servers, which hear the same with and without guard.

use std::process::Command;

use super::{Listening, OFFICIAL_SERVER, place_with, said};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_client.py");
const TYPESCRIPT_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_client.mjs");

/// The official client, in each of these modes, is told the same by an official server that answers so with and without guard.
fn is_the_same_for_the_official_client(how: &str, modes: &[&str]) {
    let Some(python) = proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0") else { return };
    let place = place_with(proofmark_testing::OPEN_POLICY);
    let mut command = Command::new(&python);
    command.arg(OFFICIAL_SERVER).arg(how);
    let server = Listening::of(&mut command, false, |line| Some(format!("127.0.0.1:{line}")));
    let guard = Listening::guard(&place, &format!("http://{}/mcp", server.address), &[]);
    for mode in modes {
        let told = |address: &str| {
            let url = format!("http://{address}/mcp");
            let told = Command::new(&python).args([CLIENT, &url, mode]).output().unwrap();
            assert!(told.status.success(), "{how} {mode}: {}", said(&told));
            String::from_utf8(told.stdout).unwrap()
        };
        let (direct, guarded) = (told(&server.address), told(&guard.address));
        assert!(direct.contains("asked: yes") || (how, *mode) != ("sse", "legacy"), "{direct}");
        assert_eq!(direct, guarded, "{how} {mode}");
    }
}

#[test]
fn the_official_client_sees_the_same_server_whose_answers_are_json_with_and_without_guard() {
    is_the_same_for_the_official_client("json", &["legacy"]);
}

#[test]
fn the_official_client_sees_the_same_server_whose_answers_are_streams_with_and_without_guard() {
    is_the_same_for_the_official_client("sse", &["legacy", "auto", "2026-07-28"]);
}

#[test]
fn the_official_client_sees_the_same_server_without_sessions_with_and_without_guard() {
    is_the_same_for_the_official_client("stateless", &["legacy"]);
}

#[test]
fn the_typescript_client_sees_the_same_everything_server_with_and_without_guard() {
    let packages = ["@modelcontextprotocol/sdk", "@modelcontextprotocol/server-everything"];
    let Some(modules) = proofmark_testing::node_modules_with(&packages) else { return };
    let place = place_with(proofmark_testing::OPEN_POLICY);
    let port = proofmark_testing::free_port();
    let mut command = Command::new("node");
    command.arg(modules.join(packages[1]).join("dist/index.js")).arg("streamableHttp").env("PORT", port.to_string());
    let server = Listening::of(&mut command, true, |line| {
        line.contains("listening on port").then(|| format!("127.0.0.1:{port}"))
    });
    let guard = Listening::guard(&place, &format!("http://{}/mcp", server.address), &[]);
    let told = |address: &str| {
        let told = Command::new("node")
            .arg(TYPESCRIPT_CLIENT)
            .arg(&modules)
            .arg(format!("http://{address}/mcp"))
            .output()
            .unwrap();
        assert!(told.status.success(), "{}", said(&told));
        String::from_utf8(told.stdout).unwrap()
    };
    let (direct, guarded) = (told(&server.address), told(&guard.address));
    assert_eq!(direct, guarded);
    assert!(direct.contains("sampled") && direct.contains("Echo: 29"), "{direct}");
}
