//! An agent with a shell that wants what the example policies forbid, and tries what its account can do (`played.py`).

use proofmark_testing::Network;

use super::*;

const PLAYED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/apart/played.py");
/// One that every account can start.
const PYTHON: &str = "/usr/bin/python3";
const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/guard/server.py");
const EXAMPLES: [&str; 2] =
    [include_str!("../../../../examples/guard/policy.yaml"), include_str!("../../../../examples/hooks/agent.yaml")];

/// Passes on what it is sent: arguments are the host and the port.
const FORWARDS: &str = "
import socket, sys, threading
def move(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
while True:
    near, _ = server.accept()
    far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    for ends in ((near, far), (far, near)):
        threading.Thread(target=move, args=ends, daemon=True).start()
";

impl Place {
    fn with_examples(policy: &str) -> Option<Self> {
        let place = Self::new()?;
        place.write_policy(policy);
        for (from, name) in [(PLAYED, "played.py"), (NOTES, "notes.py")] {
            fs::copy(from, place.at(name)).unwrap();
            open(&place.at(name));
        }
        Some(place)
    }

    /// What the agent says that it has tried and gained, against a server at this address.
    fn play(&self, python: &mut Command, address: &str) -> String {
        python.arg(self.at("played.py")).arg(self.at("proofmark")).arg(address).arg(self.at("notes.py"));
        said(&python.arg(self.at("judge")).arg(self.at("policy.yaml")).output().unwrap())
    }

    /// Nothing was gained, each decision says `separation`, and the server still decides.
    fn holds(&self, played: &str, separation: &str, tenant: &str) {
        assert!(!played.contains("gained"), "{played}");
        assert!(played.matches("tried").count() >= 6, "{played}");
        let exported = self.judge(&["receipt", "export", "--decisions", "--tenant", tenant]);
        let decisions: Vec<_> = exported.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert!(decisions.len() > 4, "{}", said(&exported));
        for decision in decisions {
            let Ok(Json::Object(decision)) = Json::parse(decision) else { panic!("{exported:?}") };
            assert_eq!(bound(&decision, "separation"), separation);
        }
        let checked = self.judge(&["store", "check"]);
        assert!(checked.status.success(), "{}", said(&checked));
    }
}

#[test]
fn an_agent_with_a_shell_gains_nothing_where_another_account_decides() {
    for policy in EXAMPLES {
        let Some(place) = Place::with_examples(policy) else { return };
        let _judge = place.serve();
        let played = place.play(&mut place.command(AGENT, PYTHON), &place.address());
        place.holds(&played, "account", "local");
    }
}

#[test]
fn an_agent_with_a_shell_gains_nothing_where_another_host_decides() {
    let Some(network) = Network::start() else { return };
    for policy in EXAMPLES {
        let Some(place) = Place::with_examples(policy) else { return };
        let keys = place.at("judge/keys.json").display().to_string();
        let added = place.judge(&["api-key", "add", "--api-keys", &keys, "laptop", "agent-host", "--tenant", "acme"]);
        let free = std::net::TcpListener::bind((network.here(), 0)).unwrap().local_addr().unwrap();
        let _judge = place.serve_with(&["--api-keys", &keys, "--listen", &free.to_string()]);
        // A proxy on the host of the agent: a key goes over TLS, or to the host itself.
        let mut forwards = network.command("python3");
        forwards.args(["-c", FORWARDS, &free.ip().to_string(), &free.port().to_string()]).stdout(Stdio::piped());
        let mut forwards = forwards.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(forwards.stdout.take().unwrap()).read_line(&mut port).unwrap();

        let mut python = network.command("setpriv");
        let account = AGENT.to_string();
        python.args(["--reuid", &account, "--regid", &account, "--clear-groups", PYTHON]).env_clear();
        python.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", place.at("agent"));
        python.env("PROOFMARK_API_KEY", String::from_utf8(added.stdout).unwrap().trim()).current_dir(place.at("agent"));
        let played = place.play(&mut python, &format!("http://127.0.0.1:{}", port.trim()));
        forwards.kill().unwrap();
        forwards.wait().unwrap();
        place.holds(&played, "host", "acme");
    }
}

/// Where the agent's account decides, it can decide for itself: then the decision says so.
#[test]
fn an_agent_that_decides_for_itself_is_not_apart() {
    let Some(place) = Place::with_examples(EXAMPLES[0]) else { return };
    let agent = |arguments: &[&str]| place.proofmark(AGENT).args(arguments).output().unwrap();
    fs::copy(place.at("policy.yaml"), place.at("agent/policy.yaml")).unwrap();
    chown(place.at("agent/policy.yaml"), Some(AGENT), Some(AGENT)).unwrap();
    for arguments in [
        &["key", "new", "owner"][..],
        &["reviewer", "add", "me", "--key", "owner", "--role", "owner", "--policy", "policy.yaml"],
    ] {
        assert!(agent(arguments).status.success(), "{arguments:?}");
    }
    let notes = place.at("notes.py").display().to_string();
    let send = || {
        let mut guard = place.proofmark(AGENT);
        guard.args(["guard", "--policy", "policy.yaml", "--name", "notes", "--", "python3", &notes]);
        let mut guard = Conversation::of(&mut guard);
        guard.ask(LIST);
        guard.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_note","arguments":{"name":"plan","to":"eve"}}}"#)
    };
    let blocked = send();
    let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned();
    let approved = agent(&["decision", "approve", &id, "--key", "owner", "--role", "owner", "--note", "fine", "--yes"]);
    assert!(approved.status.success(), "{}", said(&approved));
    assert!(send().contains("sent plan to eve"));
    let exported = agent(&["receipt", "export", "--decisions"]);
    for decision in exported.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(Json::Object(decision)) = Json::parse(decision) else { panic!("{exported:?}") };
        assert_eq!(bound(&decision, "separation"), "none");
    }
}
