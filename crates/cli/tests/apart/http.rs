//! Guards of servers over HTTP whose decisions are made elsewhere.

use std::net::TcpStream;

use super::team::{ask, decision_of, free};
use super::*;

const HTTP_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/http_server.py");
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;

/// A process that listens, and is ended with the test.
struct Listening {
    child: Child,
    address: String,
}

impl Listening {
    fn of(command: &mut Command, found: impl Fn(&str) -> Option<String>) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut all, mut lines) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it does not listen: {all}");
            match found(line.trim()) {
                Some(address) => break address,
                None => all.push_str(&line),
            }
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { child, address }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A guard over HTTP beside an agent, its server, and the session of a client.
struct Guarded {
    guard: Listening,
    _server: Listening,
    session: Option<String>,
}

impl Place {
    /// The options of a guard over HTTP of the server at this address.
    fn http_options(&self, server: &str) -> Vec<String> {
        let (decides, upstream) = (self.address(), format!("http://{server}/mcp"));
        ["guard", "--server", &decides, "--listen", "127.0.0.1:0", "--upstream", &upstream, "--name", "lenient"]
            .map(str::to_owned)
            .into()
    }

    fn guarded(&self, account: u32, options: &[&str]) -> Guarded {
        let mut server = Command::new("python3");
        let server =
            Listening::of(server.arg(HTTP_SERVER).arg(self.at("effects")), |line| Some(format!("127.0.0.1:{line}")));
        // It says on standard error where it listens.
        let mut guard = self.command(account, "sh");
        guard.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(self.at("proofmark"));
        guard.args(self.http_options(&server.address)).args(options);
        let guard =
            Listening::of(&mut guard, |line| Some(line.split_once(" on http://")?.1.split('/').next()?.to_owned()));
        Guarded { guard, _server: server, session: None }
    }

    fn http_effects(&self) -> String {
        fs::read_to_string(self.at("effects")).unwrap_or_default()
    }
}

impl Guarded {
    fn post(&self, body: &str) -> (u16, String, String) {
        let session = self.session.as_ref().map(|session| format!("Mcp-Session-Id: {session}"));
        let host = format!("Host: {}", self.guard.address);
        let headers: Vec<&str> = [Some(host.as_str()), session.as_deref()].into_iter().flatten().collect();
        exchange(TcpStream::connect(&self.guard.address).unwrap(), "POST", "/mcp", &headers, body)
    }

    /// Begins a session of the protocol, and lists the tools in it.
    fn begin(&mut self) {
        self.session = None;
        let (status, head, body) = self.post(INITIALIZE);
        assert_eq!(status, 200, "{body}");
        let named =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        self.session = named;
        assert!(self.session.is_some() && self.post(LIST).2.contains("does read"));
    }

    fn call(&self, id: u32, tool: &str) -> (u16, String) {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"path":"a"}}}}}}"#
        );
        let (status, _, body) = self.post(&call);
        (status, body)
    }
}

#[test]
fn a_server_over_http_is_guarded_by_another_account_which_alone_approves() {
    let Some(place) = Place::new() else { return };
    place.add_reviewer();
    let _judge = place.serve();
    let mut guarded = place.guarded(AGENT, &["--session", "s1", "--agent", "coder"]);
    guarded.begin();
    assert!(guarded.call(1, "read").1.contains("ok read"));
    let decision = place.last_decision();
    assert_eq!((bound(&decision, "separation"), bound(&decision, "account")), ("account".into(), "60002".into()));
    assert_eq!(bound(&decision, "agent"), "60002/coder");
    let (_, blocked) = guarded.call(2, "write");
    let id = decision_of(&blocked);
    let approve = ["decision", "approve", "--yes", &id, "--key", "reviewer", "--role", "owner", "--note", "seen"];
    for arguments in [&["key", "new", "reviewer"][..], &approve] {
        drop(place.proofmark(AGENT).args(arguments).output().unwrap());
    }
    assert!(guarded.call(3, "write").1.contains("Not executed"));
    let approved = place.judge(&approve);
    assert!(approved.status.success(), "{}", said(&approved));
    assert!(guarded.call(4, "write").1.contains("ok write"));
    assert_eq!(place.http_effects(), "read\nwrite\n");
    // Another account has a session of its own under the same name.
    let mut other = place.guarded(OTHER, &["--session", "s1"]);
    other.begin();
    assert!(other.call(1, "read").1.contains("ok read"));
    // A session of one guard is none of another's.
    other.session = guarded.session.clone();
    assert_eq!(other.call(2, "read").0, 404);
    let shown = said(&place.judge(&["session", "show", "60002/s1"]));
    assert!(shown.matches("allowed").count() == 2 && shown.contains("read succeeded"), "{shown}");
    let pins = said(&place.judge(&["guard", "pin", "list"]));
    assert!(pins.contains("lenient") && pins.contains("write"), "{pins}");
}

#[test]
fn what_is_told_of_http_is_not_recorded_unless_it_was_asked_for_and_allowed() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    // Root asks as itself; its calls are not apart, so none is allowed.
    let new = r#"{"server":"lenient","origin":[],"session":"raw","hide":false,"wait_ms":0,"over_http":true}"#;
    let (status, begun) = judge.request("POST", "/v1/agents/guards", new);
    assert_eq!(status, 200, "{begun}");
    let guard = begun.split('"').nth(3).unwrap().to_owned();
    let path = format!("/v1/agents/guards/{guard}/http");
    let tell = |what: &str, body: &str| judge.request("POST", &path, &format!("{what}\n{body}"));
    let posted = r#"{"what":"posted","exchange":0,"may_wait":false,"headers":[]}"#;
    let of = |id: &str| {
        format!(
            r#"{{"what":"streamed","by":0,"stream":"of","resumable":false,"of":{{"request":"{id}","exchange":0}}}}"#
        )
    };
    let answer = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    assert!(tell(posted, list).1.contains(r#""to":"server""#));
    let tools = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"delete","inputSchema":{"type":"object"}}]}}"#;
    assert!(tell(&of("2"), tools).1.contains(r#""to":"client""#));
    let (_, blocked) = tell(posted, call);
    assert!(blocked.contains("Not executed") && !blocked.contains(r#""to":"server""#), "{blocked}");
    // A call that was blocked has no result, and neither has one that nobody asked for.
    for id in [1, 9] {
        let (status, told) = tell(&of(&id.to_string()), &answer(id));
        assert!(status == 200 && !told.contains(r#""to":"client""#), "{told}");
        let (status, told) = tell(r#"{"what":"streamed","by":0,"stream":"resumed","resumable":true}"#, &answer(id));
        assert!(status == 200 && !told.contains(r#""to":"client""#), "{told}");
        let request = format!(r#""request":"{id}","exchange":0"#);
        for what in [
            format!(r#"{{"what":"failed",{request}}}"#),
            format!(r#"{{"what":"hung-up",{request},"when":"for-good"}}"#),
            format!(r#"{{"what":"is-open",{request}}}"#),
        ] {
            let (status, told) = tell(&what, "it was executed");
            assert!(status == 200 && told.contains(r#""is_open":false"#), "{what}: {told}");
        }
    }
    // Nothing is said in other words than the protocol's.
    for (what, body) in [
        (r#"{"what":"not-a-message","headers":[]}"#, call),
        (r#"{"what":"not-a-message","headers":[],"reason":"approved"}"#, "{"),
        (r#"{"what":"decided","outcome":"allow"}"#, call),
        (r#"{"what":"posted","exchange":0,"may_wait":false,"headers":[],"session":"60002/s1"}"#, call),
        ("{}", call),
        ("", ""),
    ] {
        assert_eq!(tell(what, body).0, 400, "{what}");
    }
    for what in ["client", "server", "moved", "client-ended", "approve", "record"] {
        assert_eq!(judge.request("POST", &format!("/v1/agents/guards/{guard}/{what}"), call).0, 404, "{what}");
    }
    // Another account does not have this guard.
    let asks = format!(
        "import http.client, socket\nasks = http.client.HTTPConnection('localhost')\n\
         asks.sock = socket.socket(socket.AF_UNIX)\nasks.sock.connect('{}')\n\
         asks.request('POST', '/v1/agents/guards/{guard}/time', '', {{'Content-Type': 'application/json'}})\n\
         print(asks.getresponse().status)",
        judge.socket.display()
    );
    let asked = place.command(OTHER, "python3").args(["-c", &asks]).output().unwrap();
    assert_eq!(said(&asked), "404\n");
    assert_eq!(judge.request("POST", &format!("/v1/agents/guards/{guard}/closed"), "").0, 200);
    let (_, entries) = judge.request("GET", "/v1/agents/sessions?name=raw", "");
    let kinds: Vec<&str> = entries.split(r#""kind":""#).skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(kinds.contains(&"decided") && kinds.contains(&"closed"), "{kinds:?}");
    assert!(!kinds.contains(&"result") && !kinds.contains(&"cancelled") && !kinds.contains(&"refused"), "{kinds:?}");
}

#[test]
fn when_the_server_that_decides_is_gone_calls_over_http_are_blocked_and_say_so() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    let mut guarded = place.guarded(AGENT, &["--session", "s1"]);
    guarded.begin();
    assert!(guarded.call(1, "read").1.contains("ok read"));
    judge.kill();
    // Or the guard has noticed before, and the session has ended.
    let (status, blocked) = guarded.call(2, "read");
    let is_blocked = status == 200 && blocked.contains("Not executed") && blocked.contains("server that decides");
    assert!(is_blocked || status == 404 && blocked.contains("initialize"), "{blocked}");
    // No session begins.
    let session = guarded.session.take();
    let (status, _, refused) = guarded.post(INITIALIZE);
    assert!(status == 503 && refused.contains("reach the server that decides"), "{refused}");
    guarded.session = session;
    // Another server does not know what happened in the session before, so the client begins another.
    let _judge = place.serve();
    let ended = (3..).map(|id| guarded.call(id, "read")).find(|(status, _)| *status != 200).unwrap();
    assert!(ended.0 == 404 && ended.1.contains("initialize"), "{ended:?}");
    assert_eq!(place.http_effects(), "read\n");
    guarded.begin();
    assert!(guarded.call(1, "read").1.contains("ok read"));
}

#[test]
fn a_guard_over_http_is_refused_where_the_server_does_not_decide_for_it() {
    let Some(place) = Place::new() else { return };
    place.add_reviewer();
    let host = place.key("laptop", "agent-host", "acme", &[]);
    let agent = place.key("robot", "agent", "acme", &[]);
    let policy = format!("acme:team={}", place.at("policy.yaml").display());
    let (keys, address) = (place.at("judge/keys.json").display().to_string(), free());
    let _judge = place.serve_with(&["--policy", &policy, "--api-keys", &keys, "--listen", &address.to_string()]);
    let refused = |options: &[&str], key: &str| {
        let options = [&["guard", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1/mcp"], options].concat();
        let refused = place.proofmark(AGENT).args(options).env("PROOFMARK_API_KEY", key).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        said(&refused)
    };
    let url = format!("http://{address}");
    let socket = place.address();
    for (options, key, why) in [
        (&["--server", "unix:/nowhere/socket"][..], host.as_str(), "reach the server that decides"),
        (&["--server", &socket, "--policy-name", "nothing"], &host, "team"),
        (&["--server", &url], &agent, "role"),
        (&["--server", &url], "pmk_0", "key"),
        // Nothing of a decider is taken from this side.
        (&["--server", &socket, "--policy", "policy.yaml"], &host, "cannot be used with"),
        (&["--server", &socket, "--shadow"], &host, "cannot be used with"),
    ] {
        let told = refused(options, key);
        assert!(told.contains(why), "{options:?}: {told}");
    }
    // By the key that guards, nothing is approved or read of others.
    let review = r#"{"verdict":"approve","note":"fine","role":"owner"}"#;
    for (method, path) in [
        ("POST", "/v1/reviews/00000000-0000-4000-8000-000000000000"),
        ("GET", "/v1/decisions"),
        ("POST", "/v1/decisions"),
        ("POST", "/v1/receipts"),
    ] {
        assert_eq!(ask(address, method, path, &host, review).0, 403, "{method} {path}");
    }
}
