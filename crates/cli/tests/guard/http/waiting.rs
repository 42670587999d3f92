//! Calls over HTTP that wait for an approval: progress comes as events, and the response ends the stream.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{
    Guarded, INITIALIZE, LIST, Listening, META, METHOD, OFFICIAL_SERVER, POLICY, VERSION, call, place_with, said,
    wait_for,
};
use crate::{BINARY, Place};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_wait.py");
const TYPESCRIPT_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_wait.mjs");
const BOTH: &str = "Accept: application/json, text/event-stream";

/// A call of `write` whose client takes notifications of progress.
fn patient(id: u32) -> String {
    call(id, "write").replace("\"arguments\"", &format!(r#""_meta":{{"progressToken":"p{id}"}},"arguments""#))
}

/// The same in the revision without sessions.
fn stateless(id: u32) -> String {
    let meta = META.replace("{\"io", &format!("{{\"progressToken\":\"p{id}\",\"io"));
    call(id, "write").replace("\"arguments\"", &format!(r#"{meta},"arguments""#))
}

/// A place whose policy lists a reviewer.
fn reviewed() -> Place {
    reviewed_by(POLICY)
}

/// Such places, in which guards decide and in which a server does.
pub(super) fn reviewed_both_ways() -> [Place; 2] {
    let mut there = reviewed();
    there.judge = Some(Listening::judge(&there, &[]));
    [reviewed(), there]
}

fn reviewed_by(policy: &str) -> Place {
    let place = place_with(policy);
    place.add_reviewer();
    place
}

fn waiting(place: &Place, how: &[&str], wait: &str) -> Guarded {
    let mut guarded = Guarded::with(place, how, &["--session", "s1", "--wait", wait]);
    guarded.begin();
    guarded
}

/// Posts a call, which waits: its stream, and the decision that is waited for.
fn begun(guarded: &Guarded, call: &str, headers: &[&str]) -> (TcpStream, String) {
    let mut stream = guarded.send("POST", "/mcp", &[&[BOTH], headers].concat(), call.as_bytes());
    let told = guarded.until(&mut stream, "--note");
    assert!(told.contains("200 OK") && told.contains("content-type: text/event-stream"), "{told}");
    assert!(told.contains("notifications/progress"), "{told}");
    (stream, decision(&told))
}

fn decision(told: &str) -> String {
    told.split("proofmark decision approve ").nth(1).unwrap_or_else(|| panic!("{told}")).get(..36).unwrap().to_owned()
}

fn approve(place: &Place, decision: &str) {
    let approved = place.proofmark(&[
        "decision", "approve", "--yes", decision, "--key", "reviewer", "--role", "owner", "--note", "fine",
    ]);
    assert!(approved.status.success(), "{}", said(&approved));
}

/// Denies it at a server that has the same store.
fn deny(place: &Place, decision: &str) {
    let mut command = Command::new(BINARY);
    command.args(["serve", "--listen", "127.0.0.1:0", "--policy", "policy.yaml"]);
    command.current_dir(place.folder.path()).envs(place.home.variables());
    let server = Listening::of(&mut command, true, |line| {
        Some(line.strip_prefix("serving on http://")?.split([' ', '/']).next()?.to_owned())
    });
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = r#"{"verdict":"deny","note":"no","role":"owner"}"#;
    let head = format!(
        "POST /v1/reviews/{decision} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n",
        server.address
    );
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// What else the stream says until it ends.
fn rest(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

fn shown(place: &Place) -> String {
    said(&place.proofmark(&["session", "show", &place.session("s1")]))
}

#[test]
fn a_call_that_waits_is_told_of_progress_and_gets_the_servers_answer() {
    for (how, place) in [&[][..], &["sse"]].into_iter().zip(reviewed_both_ways().into_iter().rev()) {
        let guarded = waiting(&place, how, "300s");
        let (stream, first) = begun(&guarded, &patient(1), &[]);
        // Others go on meanwhile, and its id is in use.
        assert!(guarded.call(2, "read").body.contains("ok read"));
        assert!(guarded.call(1, "read").body.contains("still open"));
        approve(&place, &first);
        let answer = rest(stream);
        let at = answer.find("ok write").unwrap_or_else(|| panic!("{answer}"));
        assert!(answer[..at].contains(r#""id":1"#) && answer.contains("event: message") || how == ["sse"], "{answer}");
        assert_eq!(place.effects(), "read\nwrite\n");
        // The approval is of one call.
        let (stream, second) = begun(&guarded, &patient(3), &[]);
        deny(&place, &second);
        let denied = rest(stream);
        assert!(denied.contains("Not executed") && denied.contains(r#""id":3"#), "{denied}");
        assert_eq!(place.effects(), "read\nwrite\n");
    }
}

#[test]
fn a_call_of_the_revision_without_sessions_waits_too() {
    for place in reviewed_both_ways() {
        let guarded = Guarded::with(&place, &["stateless"], &["--session", "s1", "--wait", "300s"]);
        let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
        assert!(guarded.post(&list, &[VERSION, "Mcp-Method: tools/list"]).body.contains("does read"));
        let headers = [VERSION, METHOD, "Mcp-Name: write"];
        // Two clients may use one id.
        let (one, first) = begun(&guarded, &stateless(1), &headers);
        let (other, second) = begun(&guarded, &stateless(1).replace(r#""path":"a""#, r#""path":"b""#), &headers);
        approve(&place, &first);
        assert!(rest(one).contains("ok write"));
        deny(&place, &second);
        assert!(rest(other).contains("Not executed"));
        assert_eq!(place.effects(), "write\n");
    }
}

#[test]
fn a_call_waits_only_where_its_client_takes_progress_in_a_stream() {
    let place = reviewed();
    let guarded = waiting(&place, &[], "300s");
    for (call, headers) in [
        (call(1, "write"), &[BOTH][..]),
        (patient(2), &["Accept: application/json"]),
        (patient(3), &["Accept: */*"]),
        (patient(4), &[]),
    ] {
        let blocked = guarded.post(&call, headers);
        assert_eq!((blocked.status, blocked.header("content-type")), (200, Some("application/json")), "{headers:?}");
        assert!(
            blocked.body.contains("Not executed") && blocked.body.contains("proofmark decision approve"),
            "{blocked:?}"
        );
    }
    let refused = guarded.post(&format!("[{}]", patient(5)), &[BOTH]);
    assert!(refused.status == 400 && refused.body.contains("-32600"), "{refused:?}");
    assert!(place.effects().is_empty());
}

#[test]
fn a_call_that_waits_for_too_long_or_is_cancelled_is_not_executed() {
    for place in reviewed_both_ways() {
        let guarded = waiting(&place, &[], "1s");
        let (stream, late) = begun(&guarded, &patient(1), &[]);
        let over = rest(stream);
        assert!(over.contains("Not executed") && over.contains(r#""id":1"#), "{over}");
        // It was answered, so the approval is for the next call.
        approve(&place, &late);
        assert!(place.effects().is_empty());
        assert!(guarded.post(&patient(1), &[BOTH]).body.contains("ok write"));

        let guarded = waiting(&place, &[], "300s");
        let (stream, cancelled) = begun(&guarded, &patient(1), &[]);
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(guarded.post(cancel, &[]).status, 202);
        let nothing = rest(stream);
        assert!(!nothing.contains(r#""id":1"#), "a cancelled request has no answer: {nothing}");
        approve(&place, &cancelled);
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(place.effects(), "write\n");
        assert!(shown(&place).contains("executed: no"), "{}", shown(&place));
    }
}

#[test]
fn the_second_of_two_calls_that_are_alike_waits_for_an_approval_of_its_own() {
    for place in reviewed_both_ways() {
        let guarded = waiting(&place, &[], "300s");
        let (one, first) = begun(&guarded, &patient(1), &[]);
        let (mut other, second) = begun(&guarded, &patient(2), &[]);
        approve(&place, &first);
        assert!(rest(one).contains("ok write"));
        // The action was allowed since, so that decision cannot be reviewed: the call waits for another.
        let told = guarded.until(&mut other, "--note");
        let third = decision(&told);
        assert!(third != second && third != first, "{told}");
        assert_eq!(place.effects(), "write\n");
        approve(&place, &third);
        assert!(rest(other).contains("ok write"));
        assert_eq!(place.effects(), "write\nwrite\n");
    }
}

#[test]
fn a_client_that_hangs_up_takes_its_call_with_it() {
    for place in reviewed_both_ways() {
        let guarded = waiting(&place, &[], "300s");
        let (stream, decision) = begun(&guarded, &patient(1), &[]);
        drop(stream);
        wait_for("it is not recorded", || shown(&place).contains("executed: no"));
        approve(&place, &decision);
        std::thread::sleep(Duration::from_secs(1));
        assert!(place.effects().is_empty(), "{}", place.effects());
        // The id is free again, and the approval is there.
        assert!(guarded.post(&patient(1), &[BOTH]).body.contains("ok write"));
    }
}

#[test]
fn a_guard_that_is_told_to_stop_ends_the_streams_of_calls_that_wait() {
    for place in reviewed_both_ways() {
        // No test lasts for as long as the call would wait.
        let mut guarded = waiting(&place, &[], "1h");
        let (stream, decision) = begun(&guarded, &patient(1), &[]);
        guarded.guard.stop();
        assert!(!rest(stream).contains(r#""id":1"#));
        let shown = shown(&place);
        assert!(shown.contains("executed: no") && shown.contains("closed"), "{shown}");
        approve(&place, &decision);
        assert!(place.effects().is_empty());
    }
}

#[test]
fn what_the_server_answers_instead_of_an_answer_is_an_error_at_the_end_of_the_stream() {
    for (how, why) in [
        ("refuses", "the server answered with the status 503"),
        ("accepts", "given no answer"),
        ("dies", "without an answer"),
        ("twin", "not one to this request"),
        ("gzip", "packed"),
    ] {
        let place = reviewed();
        let guarded = waiting(&place, &[how], "300s");
        let (stream, decision) = begun(&guarded, &patient(7), &[]);
        approve(&place, &decision);
        let answer = rest(stream);
        assert!(answer.contains(why) && answer.contains(r#""id":7,"error""#), "{how}: {answer}");
        wait_for("it is not recorded", || shown(&place).contains("write failed"));
    }
}

#[test]
fn a_key_that_is_revoked_takes_the_call_that_waits_with_it() {
    for place in reviewed_both_ways() {
        let add = ["api-key", "add", "--api-keys", "keys.json", "robot", "agent", "--tenant", "acme.a"];
        let key = said(&place.proofmark(&add)).split("pmk_").nth(1).map(|rest| format!("pmk_{}", &rest[..64])).unwrap();
        let options = ["--session", "s1", "--wait", "300s", "--api-keys", "keys.json"];
        let guarded = Guarded::with(&place, &["stateless"], &options);
        let authorization = format!("Authorization: Bearer {key}");
        assert!(guarded.post(LIST, &[&authorization]).body.contains("does read"));
        let (stream, decision) = begun(&guarded, &patient(1), &[&authorization]);
        let revoked = place.proofmark(&["api-key", "revoke", "--api-keys", "keys.json", "robot"]);
        assert!(revoked.status.success(), "{}", said(&revoked));
        assert!(!rest(stream).contains(r#""id":1"#));
        approve(&place, &decision);
        std::thread::sleep(Duration::from_secs(1));
        assert!(place.effects().is_empty());
    }
}

/// What a client of an official library hears of a call of `read`, which a person approves meanwhile.
fn told(client: &mut Command, place: &Place) -> String {
    let client = client.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    let waiting = loop {
        let waiting = said(&place.proofmark(&["decision", "list", "--waiting"]));
        if waiting.contains("read") || since.elapsed() > crate::PATIENCE {
            break waiting;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let id = waiting.split_whitespace().find(|word| word.len() == 36).unwrap_or_else(|| panic!("{waiting}"));
    approve(place, id);
    let told = client.wait_with_output().unwrap();
    assert!(told.status.success(), "{}", said(&told));
    String::from_utf8(told.stdout).unwrap()
}

const READS: &str = "
version: 1
tools:
  - {tool: '*', class: record_mutation}
boundaries:
  - id: reads
    match: {action_class: record_mutation}
    require:
      - approval: {role: owner}
";

/// A guard that waits, before a server of the official SDK.
struct Official {
    url: String,
    // Ended in this order.
    _guard: Listening,
    _server: Listening,
    place: Place,
}

impl Official {
    fn guarded(python: &Path, how: &str) -> Self {
        let place = reviewed_by(READS);
        let mut command = Command::new(python);
        command.arg(OFFICIAL_SERVER).arg(how);
        let server = Listening::of(&mut command, false, |line| Some(format!("127.0.0.1:{line}")));
        let guard = Listening::guard(&place, &format!("http://{}/mcp", server.address), &["--wait", "300s"]);
        let url = format!("http://{}/mcp", guard.address);
        Self { url, _guard: guard, _server: server, place }
    }
}

fn typescript_client(modules: &Path, arguments: &[&str]) -> Command {
    let mut client = Command::new("node");
    client.arg(TYPESCRIPT_CLIENT).arg(modules).args(arguments);
    client
}

fn python_client(python: &Path, arguments: &[&str]) -> Command {
    let mut client = Command::new(python);
    client.arg(CLIENT).args(arguments);
    client
}

#[test]
fn the_official_clients_hear_of_progress_and_get_the_result_once_it_is_approved() {
    let Some(python) = proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0") else { return };
    let modules = proofmark_testing::node_modules_with(&["@modelcontextprotocol/sdk"]);
    for (how, mode) in [("json", "legacy"), ("sse", "legacy"), ("sse", "2026-07-28"), ("sse", "typescript")] {
        let guarded = Official::guarded(&python, how);
        let mut client = match (mode, &modules) {
            ("typescript", None) => continue,
            ("typescript", Some(modules)) => typescript_client(modules, &[&guarded.url]),
            (mode, _) => python_client(&python, &[&guarded.url, mode]),
        };
        let told = told(&mut client, &guarded.place);
        assert!(
            told.contains("progress Waits for a person to run `proofmark decision approve "),
            "{how} {mode}: {told}"
        );
        assert!(told.ends_with("result ok a\n"), "{how} {mode}: {told}");
    }
}

/// What a client hears whose user declines what the guard asks.
fn asked(client: &mut Command) -> String {
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_user_of_a_client_is_asked_and_can_only_refuse() {
    let Some(python) = proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0") else { return };
    let modules = proofmark_testing::node_modules_with(&["@modelcontextprotocol/sdk"]);
    for (how, client, answer) in
        [("json", "python", "decline"), ("sse", "python", "accept"), ("sse", "typescript", "cancel")]
    {
        let guarded = Official::guarded(&python, how);
        let mut command = match (client, &modules) {
            ("typescript", None) => continue,
            ("typescript", Some(modules)) => typescript_client(modules, &[&guarded.url, answer]),
            (_, _) => python_client(&python, &[&guarded.url, "legacy", answer]),
        };
        // Consent of the client approves nothing: it waits on.
        let heard = if answer == "accept" { told(&mut command, &guarded.place) } else { asked(&mut command) };
        assert!(heard.contains("asked `read` was not executed yet"), "{client} {answer}: {heard}");
        match answer {
            "accept" => assert!(heard.ends_with("result ok a\n"), "{client} {answer}: {heard}"),
            _ => {
                assert!(heard.contains("result Not executed") && heard.contains("has declined it"), "{client}: {heard}")
            }
        }
    }
}

#[test]
fn questions_of_the_guard_go_to_sessions_only_and_end_with_the_call() {
    for place in reviewed_both_ways() {
        let mut guarded = Guarded::with(&place, &[], &["--session", "s1", "--wait", "300s"]);
        guarded.begin_with(&INITIALIZE.replace("2025-11-25\"", "2025-11-25\",\"capabilities\":{\"elicitation\":{}}"));
        let mut stream = guarded.send("POST", "/mcp", &[BOTH], patient(1).as_bytes());
        let told = guarded.until(&mut stream, "requestedSchema");
        assert!(told.contains("elicitation/create"), "{told}");
        let first = decision(&told);
        // An answer to it by somebody else's session, and to a question that was never asked, changes nothing.
        let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"action":"decline"}}}}"#);
        assert_eq!(guarded.post(&answer("proofmark-approval-none"), &[]).status, 202);
        assert_eq!(guarded.post(&answer("none"), &[]).status, 400);
        approve(&place, &first);
        let rest = rest(stream);
        let [taken_back, result] = ["notifications/cancelled", "ok write"].map(|text| rest.find(text));
        assert!(taken_back.is_some() && taken_back < result, "{rest}");
        // Too late.
        assert_eq!(guarded.post(&answer(&format!("proofmark-approval-{first}")), &[]).status, 202);
    }
}
