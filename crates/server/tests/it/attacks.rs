//! What a tenant, or an agent of one, tries against others, and what a request tries against everybody.

use proofmark_receipt::{
    Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Verdict,
};
use proofmark_testing::Home;

use crate::client::{code, listed, suite, text, verified};
use crate::receipts::{RESPONSE, step};
use crate::server::{Server, new_key};

/// A server for keys of the given ids, roles and tenants.
fn served<const N: usize>(home: &Home, keys: [(&str, &str, &str); N]) -> (Server, [String; N]) {
    let made = keys.map(|(id, role, tenant)| new_key(id, role, tenant));
    let entries: Vec<&str> = made.iter().map(|(_, entry)| entry.as_str()).collect();
    let file = crate::server::keys(&entries);
    let server = Server::with_keys(home, &file);
    (server, made.map(|(key, _)| key))
}

/// A receipt with this id that a stranger signed, over work nobody did.
fn forged(id: &str) -> String {
    let digest = Sha256Digest::of(b"nothing");
    let draft = Draft {
        receipt_id: id.parse::<ReceiptId>().unwrap(),
        verified_at: Timestamp::from_unix_millis(1_790_000_000_000),
        tier: 1,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    draft.sign(&SigningKey::from_seed([66; 32])).unwrap().to_text()
}

#[test]
fn nobody_takes_a_receipts_id_from_another() {
    let home = Home::new();
    let (server, [one, two]) = served(&home, [("a", "agent", "one"), ("b", "agent", "two")]);
    let receipt = verified(&server, &one);
    let id = text(&receipt, "receipt_id");
    // Its own tenant and another keep a forged one first; the true one is kept and found all the same.
    for key in [&one, &two] {
        let (status, kept) = server.post("/v1/receipts", key, &forged(&id));
        assert_eq!((status, text(&kept, "trust").as_str()), (200, "untrusted"));
    }
    let (status, kept) = server.post("/v1/receipts", &two, &receipt.to_text());
    assert_eq!((status, text(&kept, "trust").as_str()), (200, "trusted"), "{}", kept.to_text());
    for key in [&one, &two] {
        let path = format!("/v1/receipts/{id}");
        assert_eq!(server.get(&path, key).1, receipt);
        let head =
            format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\nhost: localhost\r\nconnection: close");
        let mut stream = server.connect();
        std::io::Write::write_all(&mut stream, format!("{head}\r\n\r\n").as_bytes()).unwrap();
        let mut whole = String::new();
        std::io::Read::read_to_string(&mut stream, &mut whole).unwrap();
        assert!(whole.contains("proofmark-other-issuers: 1\r\n"), "{whole}");
        let stranger = SigningKey::from_seed([66; 32]).signer().to_string();
        let escaped = stranger.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        assert_eq!(server.get(&format!("{path}?signer={escaped}"), key).1.to_text(), forged(&id));
    }
    // Each uses up its own copy alone.
    let redeem = format!("/v1/receipts/{id}/redeem");
    assert_eq!(server.post(&redeem, &two, "").0, 200);
    assert_eq!(server.post(&redeem, &two, "").0, 409);
    assert_eq!(server.post(&redeem, &one, "").0, 200);
}

/// What an evaluator is told to sign of the receipt with this id.
fn approved(server: &Server, key: &str, id: &str) -> Json {
    let (status, evaluation) = server.get(&format!("/v1/acp/evaluations/{id}"), key);
    assert_eq!(status, 200, "{}", evaluation.to_text());
    evaluation.as_object().unwrap().get("approved").unwrap().clone()
}

#[test]
fn a_receipt_brought_under_a_jobs_id_is_not_the_jobs() {
    let home = Home::new();
    let (server, [agent]) = served(&home, [("a", "agent", "one")]);
    let endless = suite("import time\ndef f(x):\n    while True: time.sleep(60)\n");
    let head = format!("POST /v1/verifications HTTP/1.1\r\nauthorization: Bearer {agent}\r\nprefer: respond-async");
    let (status, job) = server.send(&head, &endless);
    assert_eq!(status, 202, "{job}");
    let id = text(&Json::parse(job.as_bytes()).unwrap(), "job_id");
    assert_eq!(server.post("/v1/receipts", &agent, &forged(&id)).0, 200);
    let path = format!("/v1/jobs/{id}");
    let (_, shown) = server.get(&path, &agent);
    assert!(!shown.as_object().unwrap().contains("receipt"), "{}", shown.to_text());
    assert!(approved(&server, &agent, &id).is_null());
    let cancel = format!("DELETE {path} HTTP/1.1\r\nauthorization: Bearer {agent}");
    assert_eq!(server.send(&cancel, "").0, 200);
    assert_eq!(text(&server.get(&path, &agent).1, "state"), "cancelled");
    // Nor is any other receipt that was brought a job, whatever its id.
    let other = "6f1c1c62-7d1a-4d4e-9c1a-000000000001";
    assert_eq!(server.post("/v1/receipts", &agent, &forged(other)).0, 200);
    assert_eq!(server.get(&format!("/v1/jobs/{other}"), &agent).0, 404);
    assert!(approved(&server, &agent, other).is_null());
    let done = text(&verified(&server, &agent), "receipt_id");
    assert_eq!(text(&server.get(&format!("/v1/jobs/{done}"), &agent).1, "state"), "done");
}

#[test]
fn a_run_is_of_the_key_that_began_it() {
    let home = Home::new();
    let keys = [("bot", "agent", "one"), ("eve", "agent", "one"), ("boss", "admin", "one")];
    let (server, [bot, eve, boss]) = served(&home, keys);
    let (attempts, shown) = ("/v1/steps/r1/implement/attempts", "/v1/steps/r1/implement");
    // An agent comes first, with whatever contract it likes.
    assert_eq!(server.post(attempts, &bot, &step(RESPONSE)).0, 200);
    let (status, refused) = server.post(attempts, &eve, &step(RESPONSE));
    assert_eq!((status, code(&refused).as_str()), (403, "run_of_another"), "{}", refused.to_text());
    assert!(refused.to_text().contains("`bot` began it"));
    assert_eq!(server.post(&format!("{attempts}?begun_by=bot"), &eve, &step(RESPONSE)).0, 403);
    // The orchestrator's run of that name is another one: nothing is accepted in it yet.
    assert_eq!(server.get(shown, &boss).0, 404);
    let (status, accepted) = server.post(attempts, &boss, &step(RESPONSE));
    assert_eq!((status, text(&accepted, "state").as_str()), (200, "accepted"), "{}", accepted.to_text());
    // Neither now goes on with the other's, but the orchestrator may by name: the step is accepted there already.
    assert_eq!(server.post(attempts, &bot, &step(RESPONSE)).0, 409);
    assert_eq!(server.post(&format!("{attempts}?begun_by=boss"), &bot, &step(RESPONSE)).0, 403);
    assert_eq!(server.post(&format!("{attempts}?begun_by=bot"), &boss, &step(RESPONSE)).0, 409);
    assert_eq!(server.post(&format!("{attempts}?begun_by=nobody"), &boss, &step(RESPONSE)).0, 404);
    for (key, begun_by) in [(&bot, "bot"), (&boss, "boss")] {
        let (_, own) = server.get(shown, key);
        assert_eq!((text(&own, "begun_by").as_str(), listed(&own, "receipts").len()), (begun_by, 1));
    }
    assert_eq!(text(&server.get(&format!("{shown}?begun_by=boss"), &eve).1, "begun_by"), "boss");
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

/// Status and whole answer of a request to `/mcp`.
fn say(server: &Server, method: &str, key: &str, session: &str, body: &str) -> (u16, String) {
    let mut stream = server.connect();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\nconnection: close";
    let head =
        format!("{method} /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{accept}\r\n{session}");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut whole = String::new();
    std::io::Read::read_to_string(&mut stream, &mut whole).unwrap();
    (whole.split(' ').nth(1).unwrap().parse().unwrap(), whole)
}

#[test]
fn an_mcp_session_is_of_the_key_that_began_it() {
    let home = Home::new();
    let keys = [("bot", "agent", "one"), ("eve", "agent", "one"), ("bot", "agent", "two")];
    let (server, [bot, eve, namesake]) = served(&home, keys);
    let (_, greeted) = say(&server, "POST", &bot, "", GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let session = format!("{session}\r\n");
    assert_eq!(say(&server, "POST", &bot, &session, PING).0, 200);
    for thief in [&eve, &namesake] {
        for (method, body) in [("DELETE", ""), ("POST", PING), ("GET", "")] {
            assert_eq!(say(&server, method, thief, &session, body).0, 404, "{method}");
        }
    }
    assert_eq!(say(&server, "POST", &bot, &session, PING).0, 200, "nobody else has ended it");
    assert!(say(&server, "DELETE", &bot, &session, "").0 < 300);
}
