//! Export to an OpenTelemetry collector: a stand-in on the loopback, which takes only what the protocol allows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{DECISIONS, NOTE, listed, text};
use crate::server::{Server, keys_file, new_key};

const PARENT: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// A collector that answers the first messages with these statuses, and all others with 200. What it is sent comes out here.
pub(crate) fn collector(first: &'static [u16]) -> (String, Receiver<(String, Json)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/base", listener.local_addr().unwrap());
    let (send, messages) = mpsc::channel();
    std::thread::spawn(move || {
        let mut statuses = first.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some((path, body)) = message(&mut stream) else { continue };
            let status = statuses.next().copied().unwrap_or(200);
            let answer =
                format!("HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}");
            drop(stream.write_all(answer.as_bytes()));
            if status == 200 && send.send((path, body)).is_err() {
                return;
            }
        }
    });
    (address, messages)
}

fn message(stream: &mut TcpStream) -> Option<(String, Json)> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_ascii_lowercase()),
        }
    }
    let path = head.first()?.strip_prefix("post ")?.split(' ').next()?.to_owned();
    assert!(head.contains(&"content-type: application/json".to_owned()), "{head:?}");
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, Json::parse(&body).unwrap()))
}

pub(crate) fn member<'a>(json: &'a Json, name: &str) -> &'a Json {
    json.as_object().unwrap().get(name).unwrap_or_else(|| panic!("no `{name}` in {}", json.to_text()))
}

/// Refuses what the JSON encoding of the protocol does not have: opentelemetry-proto, `trace.proto`, `logs.proto`,
/// `common.proto`.
fn checked(json: &Json, names: &[&str]) {
    for (name, _) in json.as_object().unwrap().iter() {
        assert!(names.contains(&name), "unknown member `{name}` in {}", json.to_text());
    }
}

fn hex(json: &Json, name: &str, length: usize) -> String {
    let id = text(json, name);
    assert!(id.len() == length && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    id
}

pub(crate) fn attributes(json: &Json) -> Vec<(String, String)> {
    let attribute = |one: &Json| {
        checked(one, &["key", "value"]);
        let value = member(one, "value").as_object().unwrap();
        let [(kind, value)] = value.iter().collect::<Vec<_>>()[..] else { panic!("{}", one.to_text()) };
        match kind {
            // Numbers of 64 bits are texts.
            "stringValue" | "intValue" => (text(one, "key"), value.as_str().unwrap().to_owned()),
            "doubleValue" => (text(one, "key"), value.as_number().unwrap().to_string()),
            "boolValue" => (text(one, "key"), value.to_text()),
            other => panic!("{other}"),
        }
    };
    listed(json, "attributes").iter().map(attribute).collect()
}

fn time(json: &Json, name: &str) -> u128 {
    let nanos: u128 = text(json, name).parse().unwrap();
    assert!(nanos > 1_000_000_000_000_000_000, "{nanos}");
    nanos
}

/// The records of a message, each checked.
pub(crate) fn records(path: &str, message: &Json) -> Vec<Json> {
    let (outer, inner, name) = match path {
        "/base/v1/traces" => ("resourceSpans", "scopeSpans", "spans"),
        "/base/v1/logs" => ("resourceLogs", "scopeLogs", "logRecords"),
        other => panic!("{other}"),
    };
    checked(message, &[outer]);
    let mut found = Vec::new();
    for of_resource in listed(message, outer) {
        checked(&of_resource, &["resource", inner]);
        let resource = attributes(member(&of_resource, "resource"));
        assert!(resource.contains(&("service.name".to_owned(), "proofmark".to_owned())), "{resource:?}");
        for of_scope in listed(&of_resource, inner) {
            checked(&of_scope, &["scope", name]);
            found.extend(listed(&of_scope, name));
        }
    }
    assert!(!found.is_empty() && found.len() <= 512);
    found.iter().for_each(if name == "spans" { check_span } else { check_log });
    found
}

fn check_span(span: &Json) {
    let known = [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ];
    checked(span, &known);
    hex(span, "traceId", 32);
    hex(span, "spanId", 16);
    // Internal, or of a server.
    assert!(["1", "2"].contains(&member(span, "kind").to_text().as_str()));
    assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"));
    checked(member(span, "status"), &["code"]);
    attributes(span);
}

fn check_log(record: &Json) {
    let known = [
        "timeUnixNano",
        "observedTimeUnixNano",
        "severityNumber",
        "severityText",
        "body",
        "attributes",
        "traceId",
        "spanId",
        "eventName",
    ];
    checked(record, &known);
    time(record, "timeUnixNano");
    time(record, "observedTimeUnixNano");
    assert!([1, 5, 9, 13, 17].contains(&member(record, "severityNumber").as_number().unwrap().as_i64().unwrap()));
    assert!(!text(member(record, "body"), "stringValue").is_empty());
    attributes(record);
}

#[test]
fn requests_and_the_log_reach_a_collector_also_after_it_failed() {
    let home = Home::new();
    let (address, messages) = collector(&[503, 500, 429]);
    let (key, entry) = new_key("bot", "agent", "acme.shop");
    let file = keys_file(home.path(), &[&entry]);
    let server = Server::start(&home, &["--api-keys", &file, "--otlp", &address]);
    let asked = format!(
        "{DECISIONS}\r\nauthorization: Bearer {key}\r\ntraceparent: 00-{PARENT}-00f067aa0ba902b7-00\r\nx-request-id: r-7"
    );
    // The message that is answered with 500 is lost, and those after it are not.
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    let joined = loop {
        assert_eq!(server.send(&asked, NOTE).0, 200);
        std::thread::sleep(Duration::from_millis(300));
        for (path, message) in messages.try_iter() {
            let found = records(&path, &message);
            if path.ends_with("traces") { spans.extend(found) } else { logs.extend(found) }
        }
        // Of some requests a part is lost.
        let of_requests =
            spans.iter().filter(|span| text(span, "traceId") == PARENT && text(span, "name").starts_with("POST"));
        let joined = of_requests.clone().find_map(|span| {
            let id = text(span, "spanId");
            let of_span = |log: &&Json| log.as_object().unwrap().contains("spanId") && text(log, "spanId") == id;
            let said: Vec<String> =
                logs.iter().filter(of_span).map(|log| text(member(log, "body"), "stringValue")).collect();
            (said.len() == 2).then(|| (span.clone(), said))
        });
        if let Some(joined) = joined {
            break joined;
        }
    };
    let (span, said) = joined;
    assert_eq!(said, ["decided", "answered"]);
    assert_eq!(
        (text(&span, "name").as_str(), text(&span, "parentSpanId").as_str()),
        ("POST /v1/decisions", "00f067aa0ba902b7")
    );
    let has = |name: &str, value: &str| attributes(&span).contains(&(name.to_owned(), value.to_owned()));
    assert!(has("http.response.status_code", "200") && has("http.route", "/v1/decisions") && has("request.id", "r-7"));
    assert!(has("proofmark.tenant", "acme.shop") && has("proofmark.caller", "bot"), "{}", span.to_text());
    let whole: String = spans.iter().chain(&logs).map(Json::to_text).collect();
    assert!(!whole.contains(&key), "a key was exported");
    server.said("cannot export to the collector");
    server.signal("-TERM");
    let (code, log) = server.ended();
    assert_eq!(code, Some(0));
    assert!(log.contains("the collector rejected records") && log.contains("the collector answers again"), "{log}");
}

#[test]
fn a_collector_that_is_away_costs_nothing() {
    let home = Home::new();
    // A port that nobody listens on, and one that takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [gone, silent.local_addr().unwrap()] {
        let server = Server::start(&home, &["--otlp", &format!("http://{address}")]);
        for _ in 0..50 {
            assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
        }
        server.signal("-TERM");
        assert_eq!(server.ended_within(Duration::from_secs(30)), Some(0));
    }
}
