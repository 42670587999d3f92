//! The webhook: a receiver on the loopback that fails at first, and gets what waits, signed, without what it is about.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use proofmark_receipt::{Json, Sha256Digest};
use proofmark_testing::Home;

use crate::client::{DECISIONS, text};
use crate::server::Server;

/// 24 bytes in base64, and what they are.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const KEY: &[u8; 24] = b"0123456789abcdef01234567";

/// Requests that a reviewer has to approve.
const MAIL: &str =
    r#"{"action": {"tool": "send_email", "class": "external_message_send", "args": {"to": "lena-secret"}}}"#;
const OTHER: &str = r#"{"action": {"tool": "send_email", "class": "external_message_send", "args": {"to": "ann"}}}"#;

/// What a receiver was sent.
struct Sent {
    head: Vec<String>,
    body: String,
}

impl Sent {
    fn header(&self, name: &str) -> &str {
        let line = self.head.iter().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no `{name}` in {:?}", self.head))
    }
}

/// A receiver that answers so, one connection after another, and to all further ones with 204. `None` closes the connection.
fn receiver(answers: &'static [Option<&str>]) -> (String, Receiver<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook?to=proofmark", listener.local_addr().unwrap());
    let (send, sent) = mpsc::channel();
    std::thread::spawn(move || {
        let mut answers = answers.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let answer = answers.next().copied().unwrap_or(Some("204 x\r\nconnection: close"));
            let mut reader = BufReader::new(&mut stream);
            let head: Vec<String> =
                reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            if let Some(answer) = answer {
                drop(stream.write_all(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes()));
            }
            if send.send(Sent { head, body: String::from_utf8(body).unwrap() }).is_err() {
                return;
            }
        }
    });
    (address, sent)
}

/// HMAC-SHA256 (RFC 2104) by its definition, in hex.
fn hmac(message: &str) -> String {
    let mut key = KEY.to_vec();
    key.resize(64, 0);
    let inner: Vec<u8> = key.iter().map(|byte| byte ^ 0x36).chain(message.bytes()).collect();
    let digest = Sha256Digest::of(&inner);
    let outer = key.iter().map(|byte| byte ^ 0x5c).chain(digest.as_bytes().iter().copied());
    Sha256Digest::of(&outer.collect::<Vec<u8>>()).to_string()
}

fn hex_of_base64(text: &str) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = text.chars().filter_map(|one| LETTERS.find(one)).map(|six| format!("{six:06b}")).collect();
    let bytes =
        bits.as_bytes().chunks_exact(8).map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap());
    format!("sha256:{}", bytes.map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn next(sent: &Receiver<Sent>) -> Sent {
    sent.recv_timeout(Duration::from_secs(60)).unwrap()
}

fn started(home: &Home, address: &str) -> Server {
    let secret = home.path().join("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    Server::start(home, &["--webhook", address, "--webhook-secret-file", secret.to_str().unwrap()])
}

#[test]
fn what_waits_is_told_until_it_is_taken_and_an_answer_approves_nothing() {
    // A redirection is not followed: the operator named one address.
    let first = &[
        Some("500 x\r\nconnection: close\r\ncontent-length: 0"),
        None,
        Some("307 x\r\nlocation: /elsewhere\r\nconnection: close\r\ncontent-length: 0"),
        Some(
            "200 x\r\nconnection: close\r\ncontent-length: 40\r\n\r\n{\"verdict\": \"approve\", \"note\": \"go on\"} ",
        ),
    ];
    let (address, sent) = receiver(first);
    let home = Home::new();
    let server = started(&home, &address);
    let (status, decision) = server.send(DECISIONS, MAIL);
    assert_eq!(status, 200, "{decision}");
    let decision = Json::parse(decision.as_bytes()).unwrap();
    let id = text(&decision, "decision_id");
    let mut taken = Vec::new();
    for _ in 0..4 {
        let one = next(&sent);
        assert_eq!(one.head[0], "POST /hook?to=proofmark HTTP/1.1");
        assert_eq!(one.header("content-type"), "application/cloudevents+json; charset=UTF-8");
        assert_eq!(one.header("webhook-id"), id, "what is sent again has the same id");
        let signed = format!("{id}.{}.{}", one.header("webhook-timestamp"), one.body);
        let signature = one.header("webhook-signature").strip_prefix("v1,").unwrap().to_owned();
        assert_eq!(hex_of_base64(&signature), hmac(&signed));
        taken.push(one.body);
    }
    let event = Json::parse(taken[3].as_bytes()).unwrap();
    for (name, value) in
        [("specversion", "1.0"), ("type", "org.proofmark.decision.waiting"), ("id", &id), ("subject", &id)]
    {
        assert_eq!(text(&event, name), value);
    }
    assert!(text(&event, "source").starts_with("urn:proofmark:sha256:"));
    let data = event.as_object().unwrap().get("data").unwrap();
    assert_eq!((text(data, "tool"), text(data, "page")), ("send_email".to_owned(), format!("/ui/decisions/{id}")));
    assert!(!taken[3].contains("secret"), "an argument is told: {}", taken[3]);
    // Once it was taken, it is not sent again, not even where it is asked for again; what waits next is.
    server.said("the webhook has taken that it waits");
    let (_, again) = server.send(DECISIONS, MAIL);
    let again = Json::parse(again.as_bytes()).unwrap();
    assert_eq!(text(&again, "outcome"), "replan_required", "the answer approved nothing");
    let (_, other) = server.send(DECISIONS, OTHER);
    assert_eq!(next(&sent).header("webhook-id"), text(&Json::parse(other.as_bytes()).unwrap(), "decision_id"));
}

#[test]
fn what_was_not_taken_is_told_after_a_restart() {
    let home = Home::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let unreachable = format!("http://{}/hook", nobody.local_addr().unwrap());
    drop(nobody);
    let server = started(&home, &unreachable);
    let (status, decision) = server.send(DECISIONS, MAIL);
    assert_eq!(status, 200, "decisions wait for no webhook: {decision}");
    server.said("the webhook cannot be reached");
    // Where nobody is told, an alert can be.
    let (_, figures) = server.send("GET /metrics HTTP/1.1", "");
    assert!(figures.contains("\nproofmark_decisions_waiting 1\n"), "{figures}");
    let oldest = figures.lines().find_map(|line| line.strip_prefix("proofmark_oldest_waiting_decision_seconds "));
    assert!(oldest.unwrap().parse::<f64>().unwrap() < 3_600.0, "{figures}");
    drop(server);
    let (address, sent) = receiver(&[]);
    let _server = started(&home, &address);
    let id = text(&Json::parse(decision.as_bytes()).unwrap(), "decision_id");
    assert_eq!(next(&sent).header("webhook-id"), id);
}

#[test]
fn of_two_servers_one_tells_and_the_other_takes_over_when_it_is_killed() {
    let home = Home::new();
    let (address, sent) = receiver(&[]);
    let first = started(&home, &address);
    first.said("this server tells the webhook");
    let second = started(&home, &address);
    second.said("another server tells the webhook");
    let id_of = |body: &str| text(&Json::parse(body.as_bytes()).unwrap(), "decision_id");
    let waits: Vec<String> =
        [(&first, MAIL), (&second, OTHER)].map(|(server, request)| id_of(&server.send(DECISIONS, request).1)).into();
    let told = || -> Vec<String> { waits.iter().map(|_| next(&sent).header("webhook-id").to_owned()).collect() };
    assert_eq!(told(), waits);
    first.said(&format!("the webhook has taken that it waits decision=\"{}\"", waits[1]));
    // It is killed with an event that nobody was told of.
    first.signal("-STOP");
    let last = id_of(&second.send(DECISIONS, &MAIL.replace("lena", "eve")).1);
    drop(first);
    // What still waits is told again, since the receiver knows it by its id; what was not told is not lost.
    second.said("this server tells the webhook");
    assert_eq!(told(), waits);
    assert_eq!(next(&sent).header("webhook-id"), last);
    assert!(sent.try_recv().is_err(), "each server has told each event once");
}
