//! Keys are in no log, no receipt and no store.

use proofmark_testing::Home;

use crate::client::{MAIL, NOTE, text};
use crate::server::{Server, keys_file, new_key};

#[test]
fn no_secret_is_written_anywhere() {
    let home = Home::new();
    let (agent, one) = new_key("bot", "agent", "acme.shop");
    let (reviewer, two) = new_key("ann", "reviewer", "acme.shop");
    let file = keys_file(home.path(), &[&one, &two]);
    let wrong = "pmk_0123456789abcdef0123456789abcdef";
    let server = Server::start(&home, &["--api-keys", &file]);
    let (_, mail) = server.post("/v1/decisions", &agent, MAIL);
    let review = format!("/v1/reviews/{}", text(&mail, "decision_id"));
    let mut answers = vec![
        server.post(&review, &reviewer, r#"{"verdict": "approve", "note": "read it"}"#).1,
        server.post("/v1/decisions", wrong, NOTE).1,
        server.post("/v1/decisions", &agent, "{").1,
        server.get("/v1/decisions", &reviewer).1,
        mail,
    ];
    // A store that fails makes it write to its log.
    home.sql("ALTER TABLE decisions RENAME TO elsewhere");
    let (status, failed) = server.post("/v1/decisions", &agent, NOTE);
    assert_eq!(status, 503);
    answers.push(failed);
    server.said("store_unavailable");

    let answers: String = answers.iter().map(proofmark_receipt::Json::to_text).collect();
    server.signal("-TERM");
    let (_, log) = server.ended();
    let pem = std::fs::read_to_string(home.path().join("keys/default.pem")).unwrap();
    let signing = pem.lines().find(|line| !line.starts_with('-')).unwrap();
    let store = home.contents();
    assert!(contains(&store, b"read it"), "it is what is stored");
    for secret in [agent.as_str(), &reviewer, wrong, signing] {
        assert!(!log.contains(secret), "it is in the log: {log}");
        assert!(!contains(&store, secret.as_bytes()), "it is in the store");
        assert!(!answers.contains(secret), "it is in an answer");
    }
    assert!(!log.to_lowercase().contains("bearer"), "{log}");
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
