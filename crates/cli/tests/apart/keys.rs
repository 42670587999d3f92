//! API keys of hosts of agents.

use super::*;

#[test]
fn a_key_of_a_host_of_agents_asks_for_decisions_and_nothing_else() {
    let Some(place) = Place::new() else { return };
    let keys = place.at("judge/keys.json").display().to_string();
    let key = |id: &str, role: &str| {
        let added = place.judge(&["api-key", "add", "--api-keys", &keys, id, role, "--tenant", "acme"]);
        assert!(added.status.success(), "{added:?}");
        String::from_utf8(added.stdout).unwrap().trim().to_owned()
    };
    let [host, agent] = [key("laptop", "agent-host"), key("bot", "agent")];
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _judge = place.serve_with(&["--api-keys", &keys, "--listen", &free.to_string()]);
    let url = format!("http://{free}");
    let guard = |key: &str| {
        let mut command = place.proofmark(AGENT);
        command.args([
            "guard",
            "--server",
            &url,
            "--session",
            "s1",
            "--name",
            "lenient",
            "--",
            "python3",
            &place.server(),
            "effects",
        ]);
        command.env("PROOFMARK_API_KEY", key);
        command
    };
    let mut guarded = Conversation::of(&mut guard(&host));
    guarded.ask(LIST);
    // It asks from this very host, so nothing says that it is apart.
    assert!(guarded.call(1, "read").contains("Not executed"));
    let shown = said(&place.judge(&["session", "list", "--tenant", "acme"]));
    assert!(shown.contains("laptop/s1"), "{shown}");
    for key in [agent.as_str(), "pmk_unknown"] {
        let refused = guard(key).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
    for path in ["/v1/decisions", "/v1/reviews", "/v1/receipts", "/v1/findings", "/v1/stats", "/metrics"] {
        assert_eq!(get(&free, path, &host), 403, "{path}");
    }
    assert_eq!(get(&free, "/v1/decisions", &agent), 200);
    assert_eq!(get(&free, "/v1/agents/sessions?name=s1", &agent), 403);
    assert_eq!(get(&free, "/v1/agents/sessions?name=s1", &host), 200);
}

#[test]
fn without_keys_no_account_reaches_more_beside_the_socket() {
    let Some(place) = Place::new() else { return };
    let mut command = place.proofmark(JUDGE);
    command.envs(place.home.variables()).args(["serve", "--no-verify", "--listen", "127.0.0.1:0", "--socket"]);
    let refused = command.arg(place.at("run/socket")).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("could approve there"), "{refused:?}");
    let mut open = place.proofmark(JUDGE);
    open.envs(place.home.variables()).args(["serve", "--no-verify", "--socket"]).arg("/tmp/proofmark-test-socket");
    let refused = open.output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("write to its folder"), "{refused:?}");
}

fn get(address: &std::net::SocketAddr, path: &str, key: &str) -> u16 {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap()
}
