//! `proofmark guard --upstream` in front of a server that is lenient and misbehaves.

mod doors;
mod guarded;
mod official;
mod waiting;

use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use proofmark_receipt::Json;

pub(crate) use self::guarded::Listening;
use self::guarded::{Answer, Guarded};
use crate::{BINARY, PATIENCE, Place, SMUGGLED, call, said};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_server.py");
const OFFICIAL_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_official.py");

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#;

const POLICY: &str = "
version: 1
tools:
  - {tool: [read, big, query, slow], class: generic, reads: true}
  - {tool: write, class: record_mutation, target: path}
boundaries:
  - id: reads
    match: {action_class: generic}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - approval: {role: owner}
";

/// A folder with this policy.
fn place_with(policy: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.at("policy.yaml"), policy).unwrap();
    place
}

/// The same twice: guards decide themselves, and a server decides for them.
fn both_ways(policy: &str) -> [Place; 2] {
    let (here, mut there) = (place_with(policy), place_with(policy));
    there.judge = Some(Listening::judge(&there, &[]));
    [here, there]
}

impl Place {
    /// What a session is called where it is recorded. A server puts the account that asks before it.
    fn session(&self, name: &str) -> String {
        if self.judge.is_none() {
            return name.to_owned();
        }
        let account = Command::new("id").arg("-un").output().unwrap();
        format!("{}/{name}", String::from_utf8(account.stdout).unwrap().trim())
    }
}

const VERSION: &str = "MCP-Protocol-Version: 2026-07-28";
const METHOD: &str = "Mcp-Method: tools/call";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn stateless(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},{META}}}}}"#
    )
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_that_is_smuggled_over_http_has_an_effect() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::listed(&place, &[]);
        for line in Json::parse(SMUGGLED.as_bytes()).unwrap().as_array().unwrap() {
            let line = line.as_object().unwrap().get("line").unwrap().as_str().unwrap();
            let bytes: Vec<u8> = line.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
            guarded.post_bytes(&bytes, &[]);
        }
        let batch = format!("[{}]", call(1, "delete"));
        let refused = guarded.post(&batch, &[]);
        assert!(
            refused.status == 400 && refused.body.contains(r#""id":null"#) && refused.body.contains("-32600"),
            "{refused:?}"
        );
        // The server goes by these headers.
        for headers in [
            &["Mcp-Name: delete"][..],
            &["Mcp-Method: tools/call", "Mcp-Name: delete"],
            &["Mcp-Name: read", "Mcp-Name: delete"],
            &["Mcp-Name: =?base64?ZGVsZXRl?="],
        ] {
            let refused = guarded.post(&call(2, "read"), headers);
            assert!(refused.status == 400 && refused.body.contains("-32020"), "{headers:?}: {refused:?}");
        }
        // The body is of an older revision.
        let refused = guarded.post(&call(2, "read"), &[VERSION, METHOD, "Mcp-Name: read"]);
        assert!(refused.status == 400 && refused.body.contains("-32602"), "{refused:?}");
        let listed = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;
        assert_eq!(guarded.post(listed, &["Mcp-Method: tools/call", "Mcp-Name: delete"]).status, 400);
        assert_eq!(guarded.post(&call(2, "read"), &["Mcp-Param-Region: delete"]).status, 400);
        assert!(place.effects().is_empty(), "{}", place.effects());
        // What is packed, and sent in parts, is judged as what it is.
        let chunked = |call: &str| {
            let parts = call
                .as_bytes()
                .chunks(5)
                .map(|part| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat());
            let body = [parts.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat();
            guarded.ask("POST", "/mcp", &["Transfer-Encoding: chunked"], &body)
        };
        assert!(chunked(&call(3, "delete")).body.contains("Not executed"));
        assert!(chunked(&call(4, "read")).body.contains("ok read"));
        assert_eq!(guarded.post(&call(5, "delete"), &["Content-Encoding: br"]).status, 415);
        assert_eq!(guarded.post(&call(5, "delete"), &["Content-Type: text/plain"]).status, 415);
        assert!(guarded.post(&call(6, "delete"), &["X-HTTP-Method-Override: PUT"]).body.contains("Not executed"));
        assert_eq!(place.effects(), "read\n");
    }
}

#[test]
fn headers_of_the_revision_without_sessions_say_what_the_body_says() {
    for place in both_ways(POLICY) {
        let mut guarded = Guarded::start(&place, &["stateless", "by-param"]);
        let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
        assert!(guarded.post(&list, &[VERSION, "Mcp-Method: tools/list"]).body.contains("does read"));
        assert!(guarded.stateless(1, "read").body.contains("ok read"));
        assert!(guarded.stateless(1, "delete").body.contains("Not executed"));
        assert!(guarded.stateless(1, "never_listed").body.contains("tool_quarantined"));
        let query = stateless(1, "query").replace(r#""arguments":{}"#, r#""arguments":{"region":"eu"}"#);
        let name = "Mcp-Name: query";
        for headers in [
            &[VERSION, METHOD, name][..],
            &[VERSION, METHOD, name, "Mcp-Param-Region: delete"],
            &[VERSION, METHOD, name, "Mcp-Param-Region: eu", "mcp-param-region: delete"],
            &[VERSION, METHOD],
            &[VERSION, name],
            &[METHOD, name],
        ] {
            let refused = guarded.post(&query, headers);
            assert!(refused.status == 400 && refused.body.contains("-32020"), "{headers:?}: {refused:?}");
        }
        assert!(guarded.post(&query, &[VERSION, METHOD, name, "Mcp-Param-Region: eu"]).body.contains("ok eu"));
        // This revision has no sessions: the server sees none.
        guarded.session = Some("smuggled".to_owned());
        assert!(guarded.stateless(1, "read").body.contains("ok read"));
        let heads = std::fs::read_to_string(place.at("effects.heads")).unwrap();
        assert!(!heads.contains("smuggled") && place.effects() == "read\neu\nread\n", "{}", place.effects());
    }
}

#[test]
fn each_session_has_a_record_and_knows_nothing_of_the_others() {
    for place in both_ways(POLICY) {
        let mut guarded = Guarded::listed(&place, &[]);
        assert!(guarded.call(1, "read").body.contains("ok read"));
        let first = guarded.session.clone();
        guarded.begin();
        assert_ne!(first, guarded.session);
        // The same id, at the same time, in another session.
        assert!(guarded.call(1, "delete").body.contains("Not executed"));
        let task = r#"{"jsonrpc":"2.0","id":5,"method":"tasks/result","params":{"taskId":"t1"}}"#;
        assert!(guarded.post(task, &[]).body.contains("-32602"));
        let retry = r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"read","requestState":"handed out elsewhere"}}"#;
        assert!(guarded.post(retry, &[]).body.contains("requestState"));
        // One that is unknown here is not asked for at the server.
        let second = guarded.session.replace("0123".to_owned());
        let unknown = guarded.call(2, "read");
        assert!(unknown.status == 404 && unknown.body.contains(r#""id":2"#), "{unknown:?}");
        assert_eq!(guarded.ask("GET", "/mcp", &[], b"").status, 404);
        assert_eq!(guarded.ask("DELETE", "/mcp", &[], b"").status, 404);
        guarded.session = second.clone();
        assert_eq!(guarded.ask("DELETE", "/mcp", &[], b"").status, 200);
        assert_eq!(guarded.call(2, "read").status, 404);
        wait_for("the session is not closed", || said(&place.proofmark(&["session", "list"])).lines().count() == 3);
        guarded.guard.stop();
        let listed = said(&place.proofmark(&["session", "list", "--json"]));
        let names: Vec<_> =
            listed.split(r#""session":""#).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(names.len(), 2, "{listed}");
        for name in names {
            let shown = said(&place.proofmark(&["session", "show", name]));
            assert!(shown.contains("closed"), "{shown}");
            std::fs::write(place.at("s.jsonl"), place.proofmark(&["session", "export", name]).stdout).unwrap();
            let verified = place.proofmark(&["receipt", "verify", "s.jsonl", "--as-chain"]);
            assert!(verified.status.success(), "{}", said(&verified));
        }
        assert_eq!(place.effects(), "read\n");
    }
}

#[test]
fn a_named_session_goes_on_whatever_a_client_begins() {
    for place in both_ways(POLICY) {
        let mut guarded = Guarded::with(&place, &["injects"], &["--session", "try"]);
        guarded.begin();
        guarded.call(1, "read");
        guarded.begin();
        guarded.call(2, "read");
        guarded.guard.stop();
        let shown = said(&place.proofmark(&["session", "show", &place.session("try")]));
        assert_eq!(shown.matches("allowed read").count(), 2, "{shown}");
    }
}

#[test]
fn an_approval_passes_the_call_once_and_two_at_once_are_decided_one_after_the_other() {
    for place in waiting::reviewed_both_ways() {
        let guarded = Guarded::listed(&place, &[]);
        let blocked = guarded.call(1, "write").body;
        let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned();
        let approved = place.proofmark(&[
            "decision", "approve", "--yes", &id, "--key", "reviewer", "--role", "owner", "--note", "fine",
        ]);
        assert!(approved.status.success(), "{}", said(&approved));
        let answers: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = (2..8)
                .map(|id| {
                    scope.spawn({
                        let guarded = &guarded;
                        move || guarded.call(id, "write").body
                    })
                })
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert_eq!(answers.iter().filter(|answer| answer.contains("ok write")).count(), 1, "{answers:?}");
        assert_eq!(place.effects(), "write\n");
    }
}

#[test]
fn a_definition_that_changes_is_blocked_over_http() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::listed(&place, &["changes"]);
        assert!(guarded.call(1, "read").body.contains("ok read"));
        guarded.post(LIST, &[]);
        let blocked = guarded.call(2, "read").body;
        assert!(blocked.contains("tool_quarantined"), "{blocked}");
        assert_eq!(place.effects(), "read\n");
    }
}

#[test]
fn every_event_of_a_stream_is_judged() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::listed(&place, &["sse", "forges", "asks"]);
        let answer = guarded.call(7, "read");
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let events: Vec<_> = answer.body.split("\n\n").collect();
        assert_eq!(&events[..2], [": ping", "id: 1\ndata: "], "{answer:?}");
        assert!(
            events[2].starts_with("event: message\ndata: {\"jsonrpc\"") && events[2].contains("progress"),
            "{answer:?}"
        );
        assert!(events[3].starts_with("id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"), "{answer:?}");
        assert!(!answer.body.contains("1000") && !answer.body.contains("other"), "{answer:?}");
        // The stream that the client opens brings news, and neither answers nor what the policy does not allow.
        let news = guarded.ask("GET", "/mcp", &["Accept: text/event-stream"], b"").body;
        assert!(news.contains("list_changed") && news.contains(": hello"), "{news}");
        assert!(!news.contains("1000") && !news.contains("Password"), "{news}");
        let declined = || std::fs::read_to_string(place.at("effects.answers")).unwrap_or_default();
        assert!(declined().contains(r#""id": "s1", "result": {"action": "decline"}"#), "{}", declined());
        // What the guard answers itself is in the form that the client takes.
        let blocked = guarded.post(&call(9, "delete"), &["Accept: text/event-stream"]);
        assert_eq!(blocked.header("content-type"), Some("text/event-stream"));
        assert!(
            blocked.body.starts_with("event: message\ndata: {") && blocked.body.contains("Not executed"),
            "{blocked:?}"
        );
        // 10 MiB pass.
        assert!(guarded.call(8, "big").body.len() > 10 << 20);
    }
}

#[test]
fn a_stream_that_was_lost_goes_on_and_brings_its_answer() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::listed(&place, &["resumes"]);
        let begun = guarded.call(7, "read").body;
        assert_eq!(begun, "id: r1\nretry: 10\ndata: \n\n");
        for _ in 0..2 {
            let answer = guarded.ask("GET", "/mcp", &["Last-Event-ID: r1"], b"").body;
            assert!(answer.contains("ok read"), "{answer}");
        }
        // Not as the answer to another request, and not without being asked for.
        assert!(!guarded.ask("GET", "/mcp", &[], b"").body.contains("ok read"));
    }
}

#[test]
fn what_the_server_answers_instead_of_an_answer_is_not_passed_on() {
    for (how, why) in [
        ("twin", "not one to this request"),
        ("batch", "not one to this request"),
        ("gzip", "packed"),
        ("dies", "without an answer"),
    ] {
        let place = place_with(POLICY);
        let guarded = Guarded::listed(&place, &[how]);
        let answer = guarded.call(7, "read");
        assert!(
            answer.status == 502 && answer.body.contains(why) && answer.body.contains(r#""id":7"#),
            "{how}: {answer:?}"
        );
    }
    let place = place_with(POLICY);
    let guarded = Guarded::start(&place, &["redirects"]);
    let answer = guarded.post(INITIALIZE, &["Authorization: Bearer secret"]);
    assert!(
        answer.status == 502 && answer.body.contains("redirects") && answer.header("location").is_none(),
        "{answer:?}"
    );
    assert!(place.effects().is_empty());
    let place = place_with(POLICY);
    let guarded = Guarded::start(&place, &["401"]);
    let answer = guarded.post(INITIALIZE, &[]);
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some(r#"Bearer resource_metadata="x""#)));
    assert!(answer.header("set-cookie").is_some() && answer.body.contains("invalid_token"), "{answer:?}");
    let place = place_with(POLICY);
    let guarded = Guarded::start(&place, &["429"]);
    let answer = guarded.post(INITIALIZE, &[]);
    assert_eq!((answer.status, answer.header("retry-after"), &*answer.body), (429, Some("7"), "slow down"));
    let place = place_with(POLICY);
    let guarded = Guarded::start(&place, &["500"]);
    let answer = guarded.post(INITIALIZE, &[]);
    assert_eq!((answer.status, &*answer.body), (500, ""), "a text that gives orders");
    let place = place_with(POLICY);
    let guarded = Guarded::listed(&place, &["accepts"]);
    assert_eq!(guarded.call(1, "read").status, 202);
    // The request is not open any more.
    assert_eq!(guarded.call(1, "read").status, 202);
    let place = place_with(POLICY);
    let mut guarded = Guarded::start(&place, &["old"]);
    let old = guarded.send("GET", "/mcp", &[], b"");
    let mut all = Vec::new();
    drop((&old).read_to_end(&mut all));
    assert!(!String::from_utf8_lossy(&all).contains("session_id"), "{}", String::from_utf8_lossy(&all));
    guarded.server.child.kill().unwrap();
    guarded.server.child.wait().unwrap();
    let answer = guarded.post(INITIALIZE, &[]);
    assert!(answer.status == 502 && answer.body.contains("cannot be reached"), "{answer:?}");
}

#[test]
fn a_page_and_another_host_reach_nothing() {
    let place = place_with(POLICY);
    let guarded = Guarded::listed(&place, &[]);
    let port = guarded.guard.address.rsplit(':').next().unwrap();
    for headers in [
        &["Host: evil.example"][..],
        &["Host: evil.example:8700"],
        &["Origin: http://evil.example"],
        &["Origin: null"],
        &["Origin: http://127.0.0.1:1"],
        &["Sec-Fetch-Site: cross-site"],
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let refused = guarded.ask(method, "/mcp", headers, call(1, "read").as_bytes());
            assert_eq!(refused.status, 403, "{headers:?}: {refused:?}");
        }
    }
    assert_eq!(guarded.post(&call(1, "read"), &[&format!("Origin: http://127.0.0.1:{port}")]).status, 200);
    for (method, path) in [
        ("POST", "/"),
        ("POST", "/mcp/"),
        ("POST", "/mcp?tool=delete"),
        ("POST", "//mcp"),
        ("GET", "/other"),
        ("GET", "/.well-known/oauth-protected-resource/../../other"),
        ("GET", "/.well-known/oauth-protected-resource/%2e%2e/other"),
        ("GET", "/.well-known/other"),
    ] {
        assert_eq!(guarded.ask(method, path, &[], call(1, "delete").as_bytes()).status, 404, "{method} {path}");
    }
    assert_eq!(guarded.ask("PUT", "/mcp", &[], call(1, "delete").as_bytes()).status, 405);
    let metadata = guarded.ask("GET", "/.well-known/oauth-protected-resource/mcp", &[], b"");
    assert!(metadata.status == 200 && metadata.body.contains("resource"), "{metadata:?}");
    assert_eq!(place.effects(), "read\n");
}

#[test]
fn the_guard_holds_the_credential_and_clients_have_keys_of_their_own() {
    let place = place_with(POLICY);
    std::fs::write(place.at("token"), "upstream-secret\n").unwrap();
    let made = place.proofmark(&["api-key", "add", "--api-keys", "keys.json", "robot", "agent", "--tenant", "acme.a"]);
    assert!(made.status.success(), "{}", said(&made));
    let key = said(&made).split("pmk_").nth(1).map(|rest| format!("pmk_{}", &rest[..64])).unwrap();
    let options = ["--upstream-token-file", "token", "--api-keys", "keys.json"];
    let mut guarded = Guarded::with(&place, &[], &options);
    for headers in [&[][..], &["Authorization: Bearer upstream-secret"], &["Authorization: Bearer pmk_0"]] {
        assert_eq!(guarded.post(INITIALIZE, headers).status, 401, "{headers:?}");
    }
    let authorization = format!("Authorization: Bearer {key}");
    let with_key = [&*authorization, "Cookie: client=cookie"];
    guarded.session = guarded.post(INITIALIZE, &with_key).header("mcp-session-id").map(str::to_owned);
    guarded.post(LIST, &with_key);
    assert!(guarded.post(&call(1, "read"), &with_key).body.contains("ok read"));
    assert_eq!(guarded.ask("GET", "/.well-known/oauth-protected-resource", &with_key, b"").status, 404);
    let heads = std::fs::read_to_string(place.at("effects.heads")).unwrap();
    assert!(
        heads.contains("Bearer upstream-secret") && !heads.contains("pmk_") && !heads.contains("cookie"),
        "{heads}"
    );
    guarded.guard.stop();
    let sessions = said(&place.proofmark(&["session", "list"]));
    assert!(sessions.contains(" robot"), "{sessions}");
    // Whose credential the server refuses is not the client's concern.
    let refused = Guarded::with(&place, &["401"], &["--upstream-token-file", "token"]);
    let answer = refused.post(INITIALIZE, &[]);
    assert!(answer.status == 502 && answer.header("www-authenticate").is_none(), "{answer:?}");
    assert!(answer.body.contains("the guard's credential") && !answer.body.contains("secret"), "{answer:?}");
    for (options, why) in [
        (&["--listen", "0.0.0.0:0", "--upstream", "http://127.0.0.1:1/mcp"][..], "loopback only"),
        (
            &["--listen", "127.0.0.1:0", "--upstream", "http://example.org/mcp", "--upstream-token-file", "token"],
            "readable",
        ),
        (&["--listen", "127.0.0.1:0", "--upstream", "ftp://example.org/mcp"], "not a URL"),
        // What is for HTTP is not ignored where a server is started.
        (&["--listen", "127.0.0.1:0", "--", "true"], "cannot be used with"),
        (&["--api-keys", "keys.json", "--", "true"], "cannot be used with"),
        (&["--upstream-token-file", "token", "--", "true"], "cannot be used with"),
    ] {
        let refused = place.proofmark(&[&["guard", "--policy", "policy.yaml"], options].concat());
        assert!(refused.status.code() == Some(2) && said(&refused).contains(why), "{}", said(&refused));
    }
}

#[test]
fn a_credential_that_changes_is_sent_from_then_on() {
    let place = place_with(POLICY);
    std::fs::write(place.at("token"), "first-secret\n").unwrap();
    let guarded = Guarded::with(&place, &["stateless"], &["--upstream-token-file", "token"]);
    let heads = || {
        guarded.post(LIST, &[]);
        std::fs::read_to_string(place.at("effects.heads")).unwrap()
    };
    assert!(heads().contains("Bearer first-secret"));
    std::fs::write(place.at("token"), "second-secret\n").unwrap();
    wait_for("the new credential is not sent", || heads().contains("Bearer second-secret"));
    // What cannot be a credential changes nothing.
    std::fs::write(place.at("token"), "two words\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let sent = heads();
    assert!(sent.trim_end().lines().any(|line| line.ends_with("Bearer second-secret")), "{sent}");
    assert!(!sent.contains("two words") && guarded.post(LIST, &[]).status == 200);
}

#[test]
fn who_hangs_up_cancels_without_a_session_and_does_not_with_one() {
    for place in both_ways(POLICY) {
        let guarded = Guarded::with(&place, &["stateless"], &["--session", "s1"]);
        let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
        guarded.post(&list, &[VERSION, "Mcp-Method: tools/list"]);
        let mut stream =
            guarded.send("POST", "/mcp", &[VERSION, METHOD, "Mcp-Name: slow"], stateless(1, "slow").as_bytes());
        guarded.until(&mut stream, ": begun");
        drop(stream);
        wait_for("the server is not told", || place.effects().contains("hung up"));
        wait_for("it is not recorded", || {
            said(&place.proofmark(&["session", "show", &place.session("s1")])).contains("cancelled")
        });
        // A client that sends half a head, and one that sends half a body, keep nobody out.
        let mut half = guarded.connect();
        half.write_all(b"POST /mcp HTTP/1.1\r\nHost:").unwrap();
        let half_body = guarded.send("POST", "/mcp", &["Content-Length: 100000"], b"{");
        assert!(guarded.stateless(2, "read").body.contains("ok read"));
        drop((half, half_body));
    }
}

#[test]
fn a_guard_that_is_told_to_stop_ends_streams_and_records_what_it_saw() {
    for place in both_ways(POLICY) {
        let mut guarded = Guarded::listed(&place, &[]);
        guarded.call(1, "read");
        let mut stream = guarded.send("POST", "/mcp", &[], call(2, "slow").as_bytes());
        guarded.until(&mut stream, ": begun");
        guarded.guard.stop();
        let listed = said(&place.proofmark(&["session", "list", "--json"]));
        let name = listed.split(r#""session":""#).nth(1).unwrap().split('"').next().unwrap();
        let exported = said(&place.proofmark(&["session", "export", name]));
        let last = exported.lines().last().unwrap();
        // It did not wait for the call.
        assert!(last.contains(r#""kind":"closed""#) && last.contains(r#""unanswered":["2"]"#), "{last}");
    }
}

#[test]
fn a_server_over_tls_is_known_by_the_systems_certificates() {
    if !proofmark_testing::has_program("openssl", "openssl") {
        return;
    }
    let place = place_with(POLICY);
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2"])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        ])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let mut command = Command::new("python3");
    command.arg(SERVER).arg(place.at("effects")).args(["tls", "cert.pem", "key.pem"]).current_dir(place.folder.path());
    let server = Listening::of(&mut command, false, |line| Some(format!("localhost:{line}")));
    let upstream = format!("https://{}/mcp", server.address);
    for (known, status) in [("cert.pem", 200), ("/dev/null", 502)] {
        let mut command = Command::new(BINARY);
        command.args(["guard", "--policy", "policy.yaml", "--listen", "127.0.0.1:0", "--upstream", &upstream]);
        command.current_dir(place.folder.path()).envs(place.home.variables()).env("SSL_CERT_FILE", known);
        command.env_remove("SSL_CERT_DIR");
        if known == "/dev/null" {
            // Nobody is trusted, so nothing is guarded.
            assert_eq!(command.output().unwrap().status.code(), Some(2));
            continue;
        }
        let guard = Listening::of(&mut command, true, |line| {
            Some(line.split_once(" on http://")?.1.split('/').next()?.to_owned())
        });
        let server = Listening::server(&place, &[]);
        let guarded = Guarded { guard, server, session: None };
        assert_eq!(guarded.post(INITIALIZE, &[]).status, status);
    }
}
