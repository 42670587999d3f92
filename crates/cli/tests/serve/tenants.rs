//! Who may call, and what they see.

use std::process::Command;

use tempfile::TempDir;

use crate::server::{MAIL, POLICY, PROOFMARK, Server, keys_file, listed, new_key, text};

#[test]
fn tenants_do_not_see_each_other_and_roles_hold() {
    let home = TempDir::new().unwrap();
    let (agent, one) = new_key("bot", "agent", "acme.shop");
    let (reviewer, two) = new_key("ann", "reviewer", "acme.shop");
    let (stranger, three) = new_key("eve", "admin", "other.shop");
    let file = keys_file(home.path(), &[&one, &two, &three]);
    let server = Server::start(home.path(), &["--api-keys", &file]);

    assert_eq!(server.get("/v1/decisions", "wrong").0, 401);
    let (status, mail) = server.post("/v1/decisions", &agent, MAIL);
    assert_eq!(status, 200);
    let id = text(&mail, "decision_id");
    let path = format!("/v1/decisions/{id}");
    assert_eq!(server.get(&path, &agent).0, 200);
    assert_eq!(server.get(&path, &stranger).0, 404);
    assert!(listed(&server.get("/v1/decisions", &stranger).1, "decisions").is_empty());
    assert!(listed(&server.get("/v1/reviews", &stranger).1, "decisions").is_empty());

    let review = format!("/v1/reviews/{id}");
    let word = r#"{"verdict": "approve", "note": "read it"}"#;
    assert_eq!(server.post(&review, &agent, word).0, 403);
    assert_eq!(server.post(&review, &stranger, word).0, 404);
    assert_eq!(server.post(&review, &reviewer, word).0, 200);
    assert_eq!(server.post(&review, &reviewer, word).0, 409);
    // The approval is of this tenant's decision: another's same action is not allowed by it.
    assert_eq!(text(&server.post("/v1/decisions", &stranger, MAIL).1, "outcome"), "replan_required");
    assert_eq!(text(&server.post("/v1/decisions", &agent, MAIL).1, "outcome"), "allow");
    assert_eq!(text(&server.post("/v1/decisions", &agent, MAIL).1, "outcome"), "replan_required");
}

#[test]
fn without_keys_it_listens_on_the_loopback_only() {
    let home = TempDir::new().unwrap();
    let done = Command::new(PROOFMARK)
        .args(["serve", "--policy", POLICY, "--listen", "0.0.0.0:0"])
        .env("PROOFMARK_HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("--api-keys"));
}

#[test]
fn without_keys_pages_of_browsers_may_not_ask() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let ask = |headers: &str| {
        let mut stream = server.connect();
        let head = format!("GET /v1/reviews HTTP/1.1\r\nconnection: close\r\n{headers}\r\n\r\n");
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        crate::server::answer(&mut stream).unwrap().0
    };
    assert_eq!(ask("host: 127.0.0.1:8700"), 200);
    assert_eq!(ask("host: [::1]:8700\r\norigin: http://localhost:3000"), 200);
    assert_eq!(ask("host: evil.example"), 403);
    assert_eq!(ask("host: localhost\r\norigin: http://evil.example"), 403);
    assert_eq!(ask("host: localhost\r\norigin: null"), 403);
}
