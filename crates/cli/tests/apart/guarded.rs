//! Guards of MCP servers whose decisions are made elsewhere.

use super::*;

#[test]
fn a_guard_beside_an_agent_asks_another_account_and_every_decision_says_so() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    assert!(guard.call(1, "read").contains("ok read"));
    let decision = place.last_decision();
    assert_eq!((bound(&decision, "separation"), bound(&decision, "account")), ("account".into(), "60002".into()));
    assert_eq!(bound(&decision, "agent"), "60002/coder");
    let blocked = guard.call(2, "write");
    assert!(blocked.contains("Not executed") && blocked.contains("proofmark decision approve "), "{blocked}");
    let unknown = guard.call(3, "delete");
    assert!(unknown.contains("Not executed"), "{unknown}");
    assert_eq!(fs::read_to_string(place.at("agent/effects")).unwrap(), "read\n");
    guard.end();
    let shown = said(&place.judge(&["session", "show", "60002/s1"]));
    for line in ["allowed read", "blocked write", "blocked delete", "read succeeded", "closed"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn a_person_approves_where_the_decisions_are_made() {
    let Some(place) = Place::new() else { return };
    place.add_reviewer();
    let _judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    let blocked = guard.call(1, "write");
    let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap();
    let approve = ["decision", "approve", "--yes", id, "--key", "reviewer", "--role", "owner", "--note", "seen"];
    // What the agent does in its own account changes nothing.
    for arguments in [&["key", "new", "reviewer"][..], &approve] {
        drop(place.proofmark(AGENT).args(arguments).output().unwrap());
    }
    assert!(guard.call(2, "write").contains("Not executed"));
    let approved = place.judge(&approve);
    assert!(approved.status.success(), "{}", said(&approved));
    assert!(guard.call(3, "write").contains("ok write"));
}

#[test]
fn an_account_that_reaches_the_key_is_not_apart() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    // The server's own account, and one that may do everything.
    for account in [JUDGE, ROOT] {
        let mut guard = place.guard(account, "s1");
        assert!(guard.call(1, "read").contains("Not executed"), "{account}");
        assert_eq!(bound(&place.last_decision(), "separation"), "none", "{account}");
    }
    // A policy that others can change is not the server's, from the next connection on.
    let mut guard = place.guard(AGENT, "s2");
    assert!(guard.call(1, "read").contains("ok read"));
    fs::set_permissions(place.at("policy.yaml"), Permissions::from_mode(0o666)).unwrap();
    let mut guard = place.guard(AGENT, "s3");
    assert!(guard.call(1, "read").contains("Not executed"));
}

#[test]
fn a_policy_that_is_replaced_counts_for_the_next_call() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    assert!(guard.call(1, "read").contains("ok read"));
    place.write_policy(&POLICY.replace("['account', 'host']", "['host']"));
    // The server looks at its files from time to time.
    let blocked = (2..).map(|id| guard.call(id, "read")).find(|answer| answer.contains("Not executed"));
    assert!(blocked.is_some());
    let exported = said(&place.judge(&["session", "export", "60002/s1"]));
    assert!(exported.contains("\"policy\""), "{blocked:?} {exported}");
}

#[test]
fn a_server_that_locks_pins_blocks_what_nobody_has_approved() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve_with(&["--pins", "locked"]);
    assert!(place.guard(AGENT, "s1").call(1, "read").contains("Not executed"));
    // The agent's side has no say in it.
    let own = ["guard", "--server", &place.address(), "--pins", "learn", "--", "true"];
    let refused = place.proofmark(AGENT).args(own).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("cannot be used with"), "{refused:?}");
    let approved = place.judge(&["guard", "pin", "approve", "--server", "lenient", "--all"]);
    assert!(approved.status.success(), "{approved:?}");
    assert!(place.guard(AGENT, "s2").call(1, "read").contains("ok read"));
}

#[test]
fn definitions_that_several_accounts_have_listed_are_approved_as_one_of_them_has() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve_with(&["--pins", "locked"]);
    for account in [AGENT, OTHER] {
        assert!(place.guard(account, "s1").call(1, "read").contains("Not executed"));
    }
    let shown = said(&place.judge(&["guard", "pin", "list", "--waiting"]));
    let approve = ["guard", "pin", "approve", "--server", "lenient", "--all"];
    for account in ["60002", "60003"] {
        assert!(shown.contains(&format!("lenient read of {account}: ")), "{shown}");
        assert!(shown.contains(&format!("--server lenient --all --account {account} --seen sha256:")), "{shown}");
    }
    let refused = place.judge(&approve);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("`60002`, `60003`"), "{refused:?}");
    let approved = place.judge(&[&approve[..], &["--account", "60002"]].concat());
    assert!(approved.status.success(), "{approved:?}");
    for account in [AGENT, OTHER] {
        assert!(place.guard(account, "s2").call(1, "read").contains("ok read"));
    }
}

#[test]
fn nobody_joins_or_reads_a_session_of_another_account() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    guard.call(1, "read");
    let mut other = place.guard(OTHER, "s1");
    other.call(1, "read");
    for session in ["60002/s1", "60003/s1"] {
        let shown = said(&place.judge(&["session", "show", session]));
        assert_eq!(shown.matches("allowed read").count(), 1, "{session}: {shown}");
    }
    // Root asks as itself, too: by no name is there a session of another account.
    for name in ["s1", "60002/s1", "..%2F60002%2Fs1"] {
        assert_eq!(judge.request("GET", &format!("/v1/agents/sessions?name={name}"), "").0, 404, "{name}");
    }
    let mut own = place.guard(ROOT, "mine");
    own.call(1, "read");
    let (status, entries) = judge.request("GET", "/v1/agents/sessions?name=mine", "");
    assert!(status == 200 && entries.contains("\"decided\""), "{entries}");
}

/// Begins requests and sends half of each, until the socket at this path takes no more of it.
const HALF_REQUESTS: &str = r#"
import resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
def sends(text):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.sendall(text)
    return one
HALF = b'POST /v1/agents/hooks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
WHOLE = b'GET /v1/agents/sessions?name=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
kept, answer = [], b' 404 '
while b' 404 ' in answer:
    kept.extend(sends(HALF) for _ in range(32))
    try:
        answer = sends(WHOLE).recv(64)
    except ConnectionError:
        break
print('full', len(kept), flush=True)
sys.stdin.read()
"#;

#[test]
fn an_account_that_asks_for_all_that_there_is_leaves_others_their_share() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    let mut greedy = place.command(AGENT, "/usr/bin/python3");
    greedy.args(["-c", HALF_REQUESTS]).arg(place.at("run/socket"));
    let mut greedy = greedy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut full = String::new();
    BufReader::new(greedy.stdout.take().unwrap()).read_line(&mut full).unwrap();
    assert!(full.starts_with("full"), "{full}");
    assert!(place.guard(OTHER, "s1").call(1, "read").contains("ok read"), "{full}");
    drop(greedy.stdin.take());
    greedy.wait().unwrap();
}

#[test]
fn by_the_socket_nothing_is_approved_trusted_or_written_in_other_words() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    let blocked = guard.call(1, "write");
    let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap();
    let review = r#"{"verdict":"approve","note":"fine","role":"owner"}"#;
    for (method, path, body) in [
        ("POST", format!("/v1/reviews/{id}"), review),
        ("POST", format!("/ui/decisions/{id}"), review),
        ("POST", "/v1/receipts".to_owned(), "{}"),
        ("POST", "/v1/decisions".to_owned(), "{}"),
        ("POST", "/v1/verifications".to_owned(), "{}"),
        ("POST", "/mcp".to_owned(), "{}"),
        ("GET", "/v1/decisions".to_owned(), ""),
        ("GET", "/v1/reviews".to_owned(), ""),
        ("GET", "/ui/".to_owned(), ""),
        ("GET", "/metrics".to_owned(), ""),
        ("POST", "/v1/agents/guards/00000000000000000000000000000000/client".to_owned(), LIST),
        ("POST", format!("/v1/agents/decisions/{id}"), review),
    ] {
        assert_eq!(judge.request(method, &path, body).0, 404, "{method} {path}");
    }
    assert_eq!(judge.request("POST", "/v1/agents/guards", r#"{"server":"a","policy":"b"}"#).0, 400);
    assert_eq!([judge.request("GET", "/healthz", "").0, judge.request("GET", "/readyz", "").0], [200, 200]);
    assert!(guard.call(2, "write").contains("Not executed"));
}

#[test]
fn when_the_server_is_gone_calls_are_blocked_and_say_so() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    assert!(guard.call(1, "read").contains("ok read"));
    judge.kill();
    let blocked = guard.call(2, "read");
    assert!(blocked.contains("Not executed") && blocked.contains("server that decides"), "{blocked}");
    assert_eq!(fs::read_to_string(place.at("agent/effects")).unwrap(), "read\n");
    // Another server does not know what happened in this session before.
    let _judge = place.serve();
    let blocked = (3..).map(|id| guard.call(id, "read")).find(|answer| !answer.contains("reach"));
    assert!(blocked.is_some_and(|blocked| blocked.contains("restart this MCP server")));
    assert_eq!(fs::read_to_string(place.at("agent/effects")).unwrap(), "read\n");
    let mut again = place.guard(AGENT, "s1");
    assert!(again.call(1, "read").contains("ok read"));
    // Without a server nothing is guarded at all.
    let none =
        place.proofmark(AGENT).args(["guard", "--server", "unix:/nowhere/socket", "--", "true"]).output().unwrap();
    assert!(none.status.code() == Some(2) && said(&none).contains("reach the server"), "{none:?}");
}

#[test]
fn a_connection_is_the_same_beside_an_agent_and_in_one_process() {
    let Some(place) = Place::new() else { return };
    place.write_policy(&POLICY.replace("['account', 'host']", "['none', 'account', 'host']"));
    let _judge = place.serve();
    let said = |mut guard: Conversation| {
        let lines = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
            LIST,
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"big","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read","name":"write"}}"#,
            "nothing that is JSON",
        ];
        let answers = lines.map(|line| guard.ask(line));
        guard.end();
        answers
    };
    let own = |command: &mut Command| {
        command.args(["--name", "lenient", "--", "python3", &place.server(), "effects"]);
        said(Conversation::of(command))
    };
    let policy = place.at("policy.yaml");
    let here = own(place
        .proofmark(AGENT)
        .args(["guard", "--policy"])
        .arg(policy)
        .env("PROOFMARK_HOME", place.at("agent/home")));
    let there = own(place.proofmark(AGENT).args(["guard", "--server", &place.address()]));
    assert_eq!(here, there);
}
