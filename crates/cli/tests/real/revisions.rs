//! Every revision of the protocol, with a server that does what it is told: both sides see the same messages.

use proofmark_receipt::Json;

use proofmark_testing::OPEN_POLICY;

use crate::place::{Place, Session, messages, script, without_space, words};

const META: &str = r#""_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}}}"#;

/// A client that keeps what it says and hears.
struct Client {
    session: Session,
    said: Vec<String>,
    heard: Vec<String>,
}

impl Client {
    /// A client of the server behind a guard that allows everything.
    fn guarded(place: &Place) -> Self {
        let server = words(&["python3", &script("server.py"), &place.path("plays")]);
        Self { session: Session::guarded(place, "plays", &server), said: Vec::new(), heard: Vec::new() }
    }

    /// Says a message in pieces of all lengths, with space between its tokens.
    fn say(&mut self, message: &str) {
        let line = format!(" {}\r\n", message.replace('\n', " ").replace(": ", "\t: "));
        self.said.push(without_space(&line));
        for (index, piece) in line.as_bytes().chunks(line.len().div_ceil(5)).enumerate() {
            let (one, other) = piece.split_at(piece.len() / (index + 1));
            self.session.write(one);
            self.session.write(other);
        }
    }

    /// What is heard up to the answer to this id. Requests of the server get an empty result.
    fn hear(&mut self, id: &str) {
        loop {
            let line = self.session.line();
            let message = Json::parse_with(
                line.as_bytes(),
                proofmark_receipt::json::Limits { max_bytes: 64 << 20, max_depth: 64, ..Default::default() },
            )
            .unwrap();
            self.heard.push(line);
            let message = message.as_object().unwrap();
            let its = message.get("id").map(Json::to_text).unwrap_or_default();
            match message.contains("method") {
                true if its.is_empty() => {}
                true => self.say(&format!(r#"{{"jsonrpc": "2.0", "id": {its}, "result": {{"n": 1.0}}}}"#)),
                false if its == id => return,
                false => {}
            }
        }
    }

    fn ask(&mut self, id: &str, method: &str, params: &str) {
        self.say(&format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {params}}}"#));
        self.hear(id);
    }

    /// Ends the session; each side has seen what the other said.
    fn end(mut self, place: &Place) {
        self.session.close();
        assert!(self.session.wait().success());
        same(&self.heard, &messages(&place.read("plays.client")));
        let mut said = messages(&place.read("plays.server"));
        self.said.sort();
        said.sort();
        same(&self.said, &said);
    }
}

/// One by one, because messages may be long.
fn same(one: &[String], other: &[String]) {
    let short = |text: &String| text.chars().take(300).collect::<String>();
    for (one, other) in one.iter().zip(other) {
        assert!(one == other, "{} and {}", short(one), short(other));
    }
    assert_eq!(one.len(), other.len(), "{:?}", one.iter().chain(other).map(short).collect::<Vec<_>>());
}

#[test]
fn revisions_with_sessions_pass_unchanged() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let place = Place::with(OPEN_POLICY);
        let mut client = Client::guarded(&place);
        let begin = r#", "capabilities": {"roots": {}, "sampling": {}, "elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}"#;
        client.ask("0", "initialize", &format!(r#"{{"protocolVersion": "{revision}"{begin}"#));
        client.say(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        client.ask(r#""ping ä""#, "ping", "{}");
        client.ask("1", "tools/list", "{}");
        client.ask(
            "2",
            "tools/call",
            r#"{"name": "progress", "arguments": {"n": 1.0}, "_meta": {"progressToken": "t"}}"#,
        );
        client.ask("3", "tools/call", r#"{"name": "asks", "arguments": {"n": "\u2028 "}}"#);
        client.ask("4", "tools/call", r#"{"name": "structured", "arguments": {"n": 12345678901234567890}}"#);
        client.ask("5", "resources/subscribe", r#"{"uri": "a:b"}"#);
        client.ask("6", "resources/read", r#"{"uri": "a:b"}"#);
        client.ask("7", "prompts/get", r#"{"name": "p"}"#);
        client.ask(
            "8",
            "completion/complete",
            r#"{"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "b"}}"#,
        );
        client.ask("9", "logging/setLevel", r#"{"level": "debug"}"#);
        client.ask("10", "unknown/method", "{}");
        client.say(r#"{"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "hangs"}}"#);
        client.say(
            r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 11, "reason": "r"}}"#,
        );
        client.say(r#"{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}"#);
        client.ask("12", "tools/call", r#"{"name": "big"}"#);
        client.end(&place);
    }
}

#[test]
fn the_revision_without_sessions_passes_unchanged() {
    let place = Place::with(OPEN_POLICY);
    let mut client = Client::guarded(&place);
    client.ask("0", "server/discover", &format!("{{{META}}}"));
    client.ask("1", "tools/list", &format!("{{{META}}}"));
    client.ask("2", "tools/call", &format!(r#"{{"name": "read", "arguments": {{}}, {META}}}"#));
    client.ask("3", "tools/call", &format!(r#"{{"name": "input", "arguments": {{"n": 1}}, {META}}}"#));
    let answers = r#""inputResponses": {"who": {"action": "accept", "content": {}}}, "requestState": "state""#;
    client.ask("4", "tools/call", &format!(r#"{{"name": "input", "arguments": {{"n": 1}}, {answers}, {META}}}"#));
    client.say(&format!(
        r#"{{"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": {{"notifications": {{}}, {META}}}}}"#
    ));
    client.ask("6", "tools/call", &format!(r#"{{"name": "structured", {META}}}"#));
    client.end(&place);
}

#[test]
fn a_thousand_calls_in_flight_pass_unchanged() {
    let place = Place::with(OPEN_POLICY);
    let mut client = Client::guarded(&place);
    client.ask("0", "tools/list", "{}");
    for n in 1..=1000 {
        client.say(&format!(
            r#"{{"jsonrpc": "2.0", "id": {n}, "method": "tools/call", "params": {{"name": "late", "arguments": {{"n": {n}, "of": 1000}}}}}}"#
        ));
    }
    // The last call is answered first.
    client.hear("1");
    assert_eq!(client.heard.len(), 1001);
    client.end(&place);
}
