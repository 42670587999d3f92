//! Tokens of an issuer beside API keys: who holds one, what is refused, and an issuer that misbehaves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use proofmark_receipt::document::{self, Format};
use proofmark_receipt::{Json, Object};
use proofmark_server::{ClaimMap, Oidc};
use proofmark_testing::Home;
use sha2::Sha256;

use crate::client::{MAIL, NOTE, text};
use crate::issuer::{Issuer, Key, Manner, base64, now};
use crate::server::{Options, Server, new_key};

const MAP: &str = "
version: 1
rules:
  - {claim: groups, has: agents, role: agent, tenant: acme}
  - {claim: groups, has: reviewers, role: reviewer, tenant: acme, holds: [reviewer, manager]}
  - {claim: groups, has: admins, role: admin, tenant: acme}
  - {claim: groups, has: elsewhere, role: agent, tenant: other}
  - {claim: groups, has: hosts, role: agent-host, tenant: acme}
";
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn server(home: &Home, issuer: &Issuer, keys: Option<String>) -> Server {
    let map = ClaimMap::read(&document::parse(MAP.as_bytes(), Format::Yaml).unwrap()).unwrap();
    let oidc = Oidc { issuer: issuer.url.parse().unwrap(), audience: "proofmark".to_owned(), map };
    Server::with(home, Options { oidc: Some(oidc), keys, ..Options::default() })
}

/// The claims with this member in place of theirs.
fn with(mut claims: Object, name: &str, value: impl Into<Json>) -> Object {
    claims.insert(name, value);
    claims
}

fn without(mut claims: Object, name: &str) -> Object {
    claims.remove(name);
    claims
}

fn code(answer: &Json) -> String {
    text(answer.as_object().unwrap().get("error").unwrap(), "code")
}

/// The whole answer to a request with this bearer.
fn raw(server: &Server, bearer: &str) -> String {
    let mut stream = server.connect();
    write!(
        stream,
        "GET /v1/receipts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {bearer}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn who_holds_a_token_is_a_caller_like_any_other_named_by_issuer_and_subject() {
    let (ed, ec) = (Key::ed("one", 1), Key::ec("two"));
    let (home, issuer) = (Home::new(), Issuer::start(&[&ed, &ec]));
    let (key, entry) = new_key("bot", "agent", "acme");
    let server = server(&home, &issuer, Some(format!("{{\"keys\": [{entry}]}}")));
    let ann = format!("{}#ann", issuer.url);
    let agent = ed.token(&issuer.claims(&["agents"]));
    let (status, decision) = server.post("/v1/decisions", &agent, MAIL);
    assert_eq!(status, 200, "{}", decision.to_text());
    let binding = decision.as_object().unwrap().get("binding").unwrap();
    assert_eq!(text(binding, "account"), ann, "what is signed names the issuer and the subject");
    // An access token (RFC 9068), signed with another algorithm and for a list of one audience; the name and the address say nothing.
    let claims = with(with(issuer.claims(&["reviewers"]), "sub", "bea/|x"), "email", "ann@example.org");
    let claims = with(claims, "aud", vec![Json::from("proofmark")]);
    let header = Json::from(with(ec.header(), "typ", "at+jwt")).to_text();
    let reviewer = ec.signed(&header, &Json::from(claims).to_text());
    assert_eq!(server.post("/v1/decisions", &reviewer, NOTE).0, 403, "roles are those of API keys");
    let review = format!("/v1/reviews/{}", text(&decision, "decision_id"));
    assert_eq!(server.post(&review, &agent, r#"{"verdict": "approve", "note": "fine"}"#).0, 403);
    let (status, approval) = server.post(&review, &reviewer, r#"{"verdict": "approve", "note": "fine"}"#);
    assert_eq!(status, 200, "{}", approval.to_text());
    assert!(approval.to_text().contains(&format!("\"{}#bea/|x\"", issuer.url)), "{}", approval.to_text());
    // Another tenant sees nothing of it, and keys and tokens of one tenant see the same.
    let other = ed.token(&issuer.claims(&["elsewhere"]));
    let path = format!("/v1/decisions/{}", text(&decision, "decision_id"));
    let seen = [&other, &agent, &key].map(|bearer| server.get(&path, bearer).0);
    assert_eq!(seen, [404, 200, 200]);
    // Over the Model Context Protocol, and for guards and hooks of hosts.
    let head = |token: &str| {
        format!("POST /mcp HTTP/1.1\r\naccept: application/json, text/event-stream\r\nauthorization: bearer {token}")
    };
    let (status, hello_back) = server.send(&head(&agent), HELLO);
    assert_eq!(status, 200, "{hello_back}");
    assert_eq!(server.send(&head(&ed.token(&issuer.claims(&["hosts"]))), HELLO).0, 403);
}

#[test]
fn without_api_keys_nobody_else_is_admitted() {
    let key = Key::ed("one", 1);
    let (home, issuer) = (Home::new(), Issuer::start(&[&key]));
    let server = server(&home, &issuer, None);
    let (_, body) = server.send("GET /v1/receipts HTTP/1.1", "");
    assert!(body.contains("unauthorized"), "{body}");
    assert_eq!(server.get("/v1/receipts", "pmk_0").0, 401);
    assert_eq!(server.get("/v1/receipts", &key.token(&issuer.claims(&["agents"]))).0, 200);
    let mut both = String::from("GET /v1/receipts HTTP/1.1");
    for _ in 0..2 {
        both += &format!("\r\nauthorization: Bearer {}", key.token(&issuer.claims(&["agents"])));
    }
    assert_eq!(server.send(&both, "").0, 401, "the right one of two would be a guess");
}

/// Tokens that do not count, with the labels of the metric.
fn hostile(issuer: &Issuer, ed: &Key, ec: &Key) -> Vec<(&'static str, String)> {
    let good = issuer.claims(&["agents"]);
    let payload = Json::from(good.clone()).to_text();
    let header = |name: &str, value: Json| Json::from(with(ed.header(), name, value)).to_text();
    let headed = |name: &str, value: Json| ed.signed(&header(name, value), &payload);
    let claim = |name: &str, value: Json| ed.token(&with(good.clone(), name, value));
    let lacking = |name: &str| ed.token(&without(good.clone(), name));
    let whole = ed.token(&good);
    let (message, signature) = whole.rsplit_once('.').unwrap();
    let unsigned = format!("{}.{}.", base64(header("alg", "none".into())), base64(&payload));
    // A public key as a secret, as its bytes and as its text.
    let by_secret = |secret: &[u8]| {
        let message = format!("{}.{}", base64(header("alg", "HS256".into())), base64(&payload));
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        mac.update(message.as_bytes());
        format!("{message}.{}", base64(mac.finalize().into_bytes()))
    };
    let Key::Ed(_, secret) = ed else { unreachable!() };
    let point = secret.verifying_key().to_bytes();
    let stranger = Key::ed("one", 9);
    let flipped = |text: &str| {
        let (before, after) = text.split_at(10);
        let other = if after.starts_with('A') { 'B' } else { 'A' };
        format!("{before}{other}{}", after.split_at(1).1)
    };
    let now = now();
    let twice = payload.replacen('{', "{\"groups\": [\"admins\"], ", 1);
    let (begin, _) = message.split_once('.').unwrap();
    vec![
        ("algorithm", unsigned.clone()),
        ("algorithm", format!("{unsigned}{signature}")),
        ("algorithm", headed("alg", "None".into())),
        ("algorithm", headed("alg", "HS256".into())),
        ("algorithm", by_secret(&point)),
        ("algorithm", by_secret(ed.public().to_text().as_bytes())),
        ("algorithm", headed("alg", "RS512".into())),
        ("algorithm", headed("alg", vec![Json::from("EdDSA")].into())),
        ("other_algorithm", headed("alg", "RS256".into())),
        ("other_algorithm", headed("alg", "ES256".into())),
        ("other_algorithm", ec.signed(&Json::from(with(ec.header(), "alg", "EdDSA")).to_text(), &payload)),
        ("signature", stranger.token(&good)),
        ("signature", format!("{message}.{}", flipped(signature))),
        ("signature", format!("{message}.")),
        ("signature", format!("{message}.{}", signature.split_at(40).0)),
        ("signature", format!("{begin}.{}.{signature}", base64(payload.replace("agents", "admins")))),
        ("signature", ec.signed(&Json::from(ed.header()).to_text(), &payload)),
        ("signature", ed.signed(&Json::from(ec.header()).to_text(), &payload)),
        ("unknown_key", headed("kid", "three".into())),
        ("unknown_key", headed("kid", "../keys/one".into())),
        ("no_key_id", headed("kid", Json::Null)),
        ("no_key_id", headed("kid", "".into())),
        ("no_key_id", headed("kid", "k".repeat(257).into())),
        ("no_key_id", ed.signed(&Json::from(without(ed.header(), "kid")).to_text(), &payload)),
        ("own_key", headed("jku", "http://127.0.0.1:1/keys".into())),
        ("own_key", headed("x5u", "http://127.0.0.1:1/chain".into())),
        ("own_key", headed("x5c", Json::Array(Vec::new()))),
        ("own_key", stranger.signed(&header("jwk", stranger.public()), &payload)),
        ("critical", headed("crit", vec![Json::from("exp")].into())),
        ("critical", headed("b64", Json::Bool(false))),
        ("critical", headed("zip", "DEF".into())),
        ("type", headed("typ", "logout+jwt".into())),
        ("type", headed("typ", "dpop+jwt".into())),
        ("type", headed("typ", Json::Null)),
        ("header", ed.signed(&Json::from(ed.header()).to_text().replacen('{', "{\"alg\": \"none\", ", 1), &payload)),
        ("header", ed.signed("[]", &payload)),
        ("header", ed.signed("", &payload)),
        ("header", format!("{begin}={}", whole.split_at(begin.len()).1)),
        ("header", "..".to_owned()),
        ("form", format!("{whole}.{whole}")),
        ("form", format!("{whole}.x")),
        ("form", format!("{message}.{signature}=")),
        ("form", ed.signed(&Json::from(ed.header()).to_text(), "no JSON")),
        ("form", ed.signed(&Json::from(ed.header()).to_text(), "[1]")),
        ("encrypted", "a.b.c.d.e".to_owned()),
        ("too_long", claim("more", "x".repeat(16 << 10).into())),
        ("claims", ed.signed(&Json::from(ed.header()).to_text(), &twice)),
        ("issuer", claim("iss", format!("{}/", issuer.url).into())),
        ("issuer", claim("iss", "https://accounts.example.org".into())),
        ("issuer", claim("iss", vec![Json::from(issuer.url.as_str())].into())),
        ("issuer", lacking("iss")),
        ("audience", claim("aud", "proofmark2".into())),
        ("audience", claim("aud", "Proofmark".into())),
        ("audience", claim("aud", Json::Array(Vec::new()))),
        ("audience", claim("aud", Json::Array(vec!["other".into()]))),
        ("audience", claim("aud", Json::Null)),
        ("audience", lacking("aud")),
        ("party", claim("aud", Json::Array(vec!["proofmark".into(), "other".into()]))),
        (
            "party",
            ed.token(&with(with(good.clone(), "aud", vec![Json::from("other"), "proofmark".into()]), "azp", "other")),
        ),
        ("subject", claim("sub", "".into())),
        ("subject", claim("sub", 7_u64.into())),
        ("subject", claim("sub", "a\nb".into())),
        ("subject", claim("sub", "\u{e4}nn".into())),
        ("subject", claim("sub", "s".repeat(250).into())),
        ("subject", lacking("sub")),
        ("times", lacking("exp")),
        ("times", lacking("iat")),
        ("times", claim("exp", (now + 600).to_string().into())),
        ("times", claim("nbf", "soon".into())),
        ("times", ed.token(&with(with(good.clone(), "exp", now - 5), "iat", now - 4))),
        ("expired", ed.token(&with(with(good.clone(), "exp", now - 31), "iat", now - 600))),
        ("not_yet", claim("nbf", (now + 60).into())),
        ("not_yet", ed.token(&with(with(good.clone(), "iat", now + 60), "exp", now + 600))),
        ("too_lasting", claim("exp", (now + 25 * 3_600).into())),
        ("too_lasting", ed.token(&with(with(good.clone(), "iat", now + 10), "nbf", now - 25 * 3_600))),
        ("bound", claim("cnf", Json::Object(Object::new()))),
        ("event", claim("events", Json::Object(Object::new()))),
    ]
}

#[test]
fn tokens_that_do_not_count_are_refused_with_a_word_on_why_and_nothing_of_the_token() {
    let (ed, ec) = (Key::ed("one", 1), Key::ec("two"));
    let (home, issuer) = (Home::new(), Issuer::start(&[&ed, &ec]));
    let (key, entry) = new_key("eve", "admin", "acme");
    let server = server(&home, &issuer, Some(format!("{{\"keys\": [{entry}]}}")));
    assert_eq!(server.get("/v1/receipts", &ed.token(&issuer.claims(&["agents"]))).0, 200);
    let mut wanted = std::collections::BTreeMap::new();
    for (number, (cause, token)) in hostile(&issuer, &ed, &ec).into_iter().enumerate() {
        let answer = raw(&server, &token);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 401 "), "{number} {cause}: {answer}");
        assert!(body.contains("\"invalid_token\""), "{number} {cause}: {answer}");
        let challenge = head.lines().find_map(|line| line.strip_prefix("www-authenticate: ")).unwrap();
        let said = challenge.strip_prefix("Bearer error=\"invalid_token\", error_description=\"").unwrap();
        let said = said.strip_suffix('"').unwrap();
        assert!(said.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'), "{said}");
        for part in token.split('.').filter(|part| part.len() > 8) {
            assert!(!answer.contains(part), "{number} {cause}: {answer}");
        }
        *wanted.entry(cause).or_insert(0_u64) += 1;
    }
    // Servers of one process share their figures, and other tests refuse tokens, too.
    let (_, figures) = server.send(&format!("GET /metrics HTTP/1.1\r\nauthorization: Bearer {key}"), "");
    for (cause, number) in wanted {
        let line = format!("proofmark_token_refusals_total{{cause=\"{cause}\"}} ");
        let counted =
            figures.lines().find_map(|known| known.strip_prefix(&line)).unwrap_or_else(|| panic!("{line}: {figures}"));
        assert!(counted.parse::<u64>().unwrap() >= number, "{cause}: {counted}");
    }
}

#[test]
fn a_holder_whom_the_rules_do_not_name_gets_nothing() {
    let key = Key::ed("one", 1);
    let (home, issuer) = (Home::new(), Issuer::start(&[&key]));
    let server = server(&home, &issuer, None);
    for groups in [&[][..], &["x"], &["agents", "elsewhere"], &["agents", "reviewers"]] {
        let (status, answer) = server.get("/v1/receipts", &key.token(&issuer.claims(groups)));
        assert_eq!((status, &*code(&answer)), (403, "no_role"), "{groups:?}: {}", answer.to_text());
        assert!(!answer.to_text().contains("ann"), "only the log names the holder: {}", answer.to_text());
    }
}

#[test]
fn a_new_key_counts_at_once_an_old_one_no_more_and_unknown_ones_cost_the_issuer_little() {
    let (old, new) = (Key::ed("old", 1), Key::ed("new", 2));
    let (home, issuer) = (Home::new(), Issuer::start(&[&old]));
    let server = server(&home, &issuer, None);
    let [of_old, of_new] = [&old, &new].map(|key| key.token(&issuer.claims(&["agents"])));
    assert_eq!(server.get("/v1/receipts", &of_old).0, 200);
    issuer.publish(&[&new]);
    assert_eq!(server.get("/v1/receipts", &of_new).0, 200, "the issuer is asked at once");
    assert_eq!(server.get("/v1/receipts", &of_old).0, 401, "it is not one of the issuer's keys any more");
    let asked = issuer.asked();
    for number in 0..100 {
        let header = Json::from(with(new.header(), "kid", format!("random-{number}"))).to_text();
        let (status, _) =
            server.get("/v1/receipts", &new.signed(&header, &Json::from(issuer.claims(&["agents"])).to_text()));
        assert_eq!(status, 401);
    }
    // On a very slow machine this takes longer than the time between two questions.
    assert!(issuer.asked() <= asked + 3, "{asked}, {}", issuer.asked());
    // The same id for another key.
    let impostor = Key::ed("new", 3);
    assert_eq!(server.get("/v1/receipts", &impostor.token(&issuer.claims(&["agents"]))).0, 401);
    issuer.publish(&[]);
    assert_eq!(server.get("/v1/receipts", &of_new).0, 200, "what is known counts until the issuer is asked again");
}

#[test]
fn an_issuer_that_misbehaves_admits_nobody_and_api_keys_go_on() {
    let key = Key::ed("one", 1);
    let (api_key, entry) = new_key("bot", "agent", "acme");
    let manners = [
        Manner::Broken,
        Manner::Endless,
        Manner::Elsewhere,
        Manner::Other,
        Manner::FarKeys,
        Manner::Twice,
        Manner::Silent,
    ];
    std::thread::scope(|scope| {
        for manner in manners {
            let (key, entry, api_key) = (&key, &entry, &api_key);
            scope.spawn(move || {
                let (home, issuer) = (Home::new(), Issuer::start(&[key]));
                issuer.behave(manner);
                let server = server(&home, &issuer, Some(format!("{{\"keys\": [{entry}]}}")));
                assert_eq!(server.get("/v1/receipts", api_key).0, 200, "{manner:?}");
                let url = issuer.url.clone();
                let probing = scope.spawn(move || Oidc::probe(&url.parse().unwrap()).unwrap_err());
                let begun = Instant::now();
                let (status, answer) = server.get("/v1/receipts", &key.token(&issuer.claims(&["agents"])));
                assert_eq!((status, &*code(&answer)), (503, "issuer_unavailable"), "{manner:?}: {}", answer.to_text());
                assert!(begun.elapsed() < PATIENCE, "{manner:?}");
                let probed = probing.join().unwrap().to_string();
                assert!(!probed.is_empty() && !probed.contains("xxx"), "{manner:?}: {probed}");
            });
        }
    });
}

const HELLO: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}"#;

/// An open stream of a session of the Model Context Protocol that was begun with this token; none if it no longer counts.
fn stream_of(server: &Server, token: &str) -> Option<TcpStream> {
    let mut stream = server.connect();
    let bearer = format!("host: localhost\r\nauthorization: Bearer {token}");
    let length = HELLO.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\n{bearer}\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {length}\r\n\r\n{HELLO}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "))?;
    let mut stream = server.connect();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /mcp HTTP/1.1\r\n{bearer}\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n")
        .unwrap();
    let mut begin = [0; 15];
    stream.read_exact(&mut begin).unwrap();
    (begin == *b"HTTP/1.1 200 OK").then_some(stream)
}

/// Reads a stream to its end.
fn read_to_its_end(mut stream: TcpStream) {
    let (mut all, mut piece) = (Vec::new(), [0; 4_096]);
    while !all.ends_with(b"0\r\n\r\n") {
        match stream.read(&mut piece).unwrap() {
            0 => return,
            read => all.extend(piece.iter().take(read)),
        }
    }
}

#[test]
fn what_was_begun_with_a_token_ends_with_it() {
    let (old, new) = (Key::ed("old", 1), Key::ed("new", 2));
    let (home, issuer) = (Home::new(), Issuer::start(&[&old]));
    let server = server(&home, &issuer, None);
    // It has expired, and counts for some seconds more because clocks differ: for more of them where the machine is slow.
    let begun = [3, 9, 27].into_iter().find_map(|left| {
        let claims = with(with(issuer.claims(&["agents"]), "iat", now() - 600), "exp", now() + left - 30);
        let token = old.token(&claims);
        Some((stream_of(&server, &token)?, token))
    });
    let (stream, token) = begun.unwrap();
    read_to_its_end(stream);
    assert_eq!(server.get("/v1/receipts", &token).0, 401);
    // The issuer withdraws the key, and is asked because of another one.
    let stream = stream_of(&server, &old.token(&issuer.claims(&["agents"]))).unwrap();
    issuer.publish(&[&new]);
    assert_eq!(server.get("/v1/receipts", &new.token(&issuer.claims(&["agents"]))).0, 200);
    read_to_its_end(stream);
}
