//! Who may call, and what they see.

use proofmark_server::{ServeError, Settings, serve};
use proofmark_testing::Home;

use crate::client::{MAIL, listed, text};
use crate::server::{Options, Server, keys, new_key, settings};

#[test]
fn tenants_do_not_see_each_other_and_roles_hold() {
    let home = Home::new();
    let (agent, one) = new_key("bot", "agent", "acme.shop");
    let (reviewer, two) = new_key("ann", "reviewer", "acme.shop");
    let (stranger, three) = new_key("eve", "admin", "other.shop");
    let file = keys(&[&one, &two, &three]);
    let server = Server::with_keys(&home, &file);

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
    let home = Home::new();
    let open = Settings { listen: Some("0.0.0.0:0".parse().unwrap()), ..settings(&home, Options::default()) };
    let refused = serve(open, |_| panic!("it listens")).unwrap_err();
    assert!(matches!(refused, ServeError::Open(_)));
    assert!(refused.help().unwrap().contains("--api-keys"));
}

#[test]
fn a_key_is_given_once_in_a_scheme_of_any_letter_case() {
    let home = Home::new();
    let (agent, entry) = new_key("bot", "agent", "acme.shop");
    let server = Server::with_keys(&home, &keys(&[&entry]));
    let ask = |headers: &str| server.send(&format!("GET /v1/decisions HTTP/1.1{headers}"), "").0;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        assert_eq!(ask(&format!("\r\nauthorization: {scheme} {agent}")), 200, "{scheme}");
    }
    let given = format!("\r\nauthorization: Bearer {agent}");
    assert_eq!(ask(&format!("{given}{given}")), 401);
    assert_eq!(ask(&format!("{given}\r\nauthorization: Bearer other")), 401);
    for other in ["", "\r\nauthorization: Basic x", &format!("\r\nauthorization: {agent}")] {
        assert_eq!(ask(other), 401, "{other}");
    }
}

#[test]
fn everything_but_what_is_open_asks_who_calls() {
    let home = Home::new();
    let (_, entry) = new_key("bot", "agent", "acme.shop");
    let server = Server::with_keys(&home, &keys(&[&entry]));
    let (_, document) = server.get("/openapi.json", "");
    let paths = document.as_object().unwrap().get("paths").unwrap().as_object().unwrap();
    let mut asked = 0;
    for (path, item) in paths.iter() {
        for (method, operation) in item.as_object().unwrap().iter() {
            if operation.as_object().unwrap().contains("security") {
                continue;
            }
            let head = format!("{} {} HTTP/1.1", method.to_uppercase(), path.replace(['{', '}'], "x"));
            assert_eq!(server.send(&head, "").0, 401, "{head}");
            asked += 1;
        }
    }
    assert!(asked > 20, "{asked}");
    assert_eq!(server.send("POST /mcp HTTP/1.1", "{}").0, 401);
    assert_eq!(server.send("GET /mcp HTTP/1.1", "").0, 401);
}
