//! One server for several tenants, with policies that have names, and the accounts of its own host among them.

use super::*;

use std::net::{SocketAddr, TcpListener, TcpStream};

/// A second policy: everything is for an auditor.
const STRICT: &str = "
version: 1
tools:
  - {tool: '*', class: record_mutation}
boundaries:
  - id: all
    match: {}
    require:
      - approval: {role: auditor}
";

impl Place {
    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.at(name), text).unwrap();
        fs::set_permissions(self.at(name), Permissions::from_mode(0o644)).unwrap();
        self.at(name).display().to_string()
    }

    /// A new API key of a tenant.
    pub(super) fn key(&self, id: &str, role: &str, tenant: &str, more: &[&str]) -> String {
        let keys = self.at("judge/keys.json").display().to_string();
        let add = ["api-key", "add", "--api-keys", &keys, id, role, "--tenant", tenant];
        let added = self.judge(&[&add, more].concat());
        assert!(added.status.success(), "{added:?}");
        String::from_utf8(added.stdout).unwrap().trim().to_owned()
    }

    /// As [`Place::guard`], with further options.
    fn guard_with(&self, account: u32, session: &str, options: &[&str]) -> Command {
        let mut command = self.proofmark(account);
        command.args(["guard", "--server", &self.address(), "--session", session, "--name", "lenient"]);
        command.args(options).args(["--", "python3", &self.server(), "effects"]);
        command
    }

    fn listed_guard(&self, session: &str, options: &[&str]) -> Conversation {
        let mut guard = Conversation::of(&mut self.guard_with(AGENT, session, options));
        guard.ask(LIST);
        guard
    }
}

pub(super) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The status and the body of the answer over HTTP with a key.
pub(super) fn ask(address: SocketAddr, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
    let headers = [&*format!("Host: {address}"), &format!("Authorization: Bearer {key}")];
    let (status, _, body) = exchange(TcpStream::connect(address).unwrap(), method, path, &headers, body);
    (status, body)
}

pub(super) fn decision_of(blocked: &str) -> String {
    blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned()
}

#[test]
fn an_agent_names_one_of_its_tenants_policies_and_the_decision_says_which() {
    let Some(place) = Place::new() else { return };
    let strict = format!("local:strict={}", place.write("strict.yaml", STRICT));
    let other = format!("acme:secret={}", place.write("other.yaml", POLICY));
    let _judge = place.serve_with(&["--policy", &strict, "--policy", &other]);
    let mut plain = place.guard(AGENT, "s1");
    assert!(plain.call(1, "read").contains("ok read"));
    assert_eq!(bound(&place.last_decision(), "policy"), "default");
    let mut named = place.listed_guard("s2", &["--policy-name", "strict"]);
    assert!(named.call(1, "read").contains("Not executed"));
    assert_eq!(bound(&place.last_decision(), "policy"), "strict");
    // That of another tenant is none of its own, and is not told.
    for name in ["secret", "nothing", "acme:secret"] {
        let refused = place.guard_with(AGENT, "s3", &["--policy-name", name]).output().unwrap();
        let told = said(&refused);
        assert!(refused.status.code() == Some(2) && told.contains("default, strict"), "{told}");
    }
    let twice = place.judge(&["serve", "--check", "--policy", "a=x.yaml", "--policy", "a=y.yaml"]);
    assert!(twice.status.code() == Some(2) && said(&twice).contains("already"), "{twice:?}");
}

#[test]
fn accounts_of_a_socket_with_a_policy_ask_no_other() {
    let Some(place) = Place::new() else { return };
    let (strict, policy) = (place.write("strict.yaml", STRICT), place.at("policy.yaml").display().to_string());
    let strict = format!("local:strict={strict}");
    let _judge = place.serve_with(&["--policy", &strict, "--socket-policy", "strict"]);
    let mut guard = place.listed_guard("s1", &[]);
    assert!(guard.call(1, "read").contains("Not executed"));
    assert_eq!(bound(&place.last_decision(), "policy"), "strict");
    let mut named = place.listed_guard("s2", &["--policy-name", "strict"]);
    assert!(named.call(1, "read").contains("Not executed"));
    // By the policy that all ask who name none, it would be allowed.
    let refused = place.guard_with(AGENT, "s3", &["--policy-name", "default"]).output().unwrap();
    let told = said(&refused);
    assert!(refused.status.code() == Some(2) && told.contains("may not ask this policy"), "{told}");
    let socket = place.at("run/other").display().to_string();
    let check = ["serve", "--check", "--policy", &policy, "--policy", &strict, "--socket", &socket, "--socket-policy"];
    assert_eq!(place.judge(&[&check[..], &["strict"]].concat()).status.code(), Some(0));
    let refused = place.judge(&[&check[..], &["strickt"]].concat());
    let told = said(&refused);
    assert!(refused.status.code() == Some(2) && told.contains("`local` has none of this name"), "{told}");
}

#[test]
fn reviewers_of_the_sockets_tenant_see_its_agents_and_approve_by_the_policy_that_asked() {
    let Some(place) = Place::new() else { return };
    let strict = format!("acme:strict={}", place.write("strict.yaml", STRICT));
    let ann = place.key("ann", "reviewer", "acme", &["--holds", "auditor"]);
    let eve = place.key("eve", "reviewer", "other", &["--holds", "auditor"]);
    let (keys, address) = (place.at("judge/keys.json").display().to_string(), free());
    let listen = address.to_string();
    let options = ["--policy", &strict, "--api-keys", &keys, "--listen", &listen, "--socket-tenant", "acme"];
    let _judge = place.serve_with(&options);
    let mut guard = place.listed_guard("s1", &["--policy-name", "strict"]);
    let id = decision_of(&guard.call(1, "read"));
    let shown = said(&place.judge(&["session", "list", "--tenant", "acme"]));
    assert!(shown.contains("60002/s1"), "{shown}");
    // The server's own policy lacks this role: the one that asked has it.
    let review = r#"{"verdict":"approve","note":"seen","role":"auditor"}"#;
    let path = format!("/v1/reviews/{id}");
    assert_eq!(ask(address, "POST", &path, &eve, review).0, 404);
    assert!(!ask(address, "GET", "/v1/decisions", &eve, "").1.contains(&id));
    assert!(ask(address, "GET", "/v1/reviews", &ann, "").1.contains(&id));
    let (status, told) = ask(address, "POST", &path, &ann, review);
    assert_eq!(status, 200, "{told}");
    assert!(guard.call(2, "read").contains("ok read"));
}

#[test]
fn an_account_does_not_get_the_sessions_of_a_key_with_its_name() {
    let Some(place) = Place::new() else { return };
    place.key(&AGENT.to_string(), "agent-host", "acme", &[]);
    let (keys, address) = (place.at("judge/keys.json").display().to_string(), free().to_string());
    let _judge = place.serve_with(&["--api-keys", &keys, "--listen", &address, "--socket-tenant", "acme"]);
    let refused = place.guard_with(AGENT, "s1", &[]).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("name of this account"), "{refused:?}");
    assert!(place.guard(OTHER, "s1").call(1, "read").contains("ok read"));
}

#[test]
fn a_key_for_one_policy_asks_no_other() {
    let Some(place) = Place::new() else { return };
    let strict = format!("acme:strict={}", place.write("strict.yaml", STRICT));
    let key = place.key("laptop", "agent", "acme", &["--policy", "strict"]);
    let (keys, address) = (place.at("judge/keys.json").display().to_string(), free());
    let listen = address.to_string();
    let _judge = place.serve_with(&["--policy", &strict, "--api-keys", &keys, "--listen", &listen]);
    let action = r#"{"action": {"tool": "read", "class": "generic"}}"#;
    for path in ["/v1/decisions", "/v1/decisions?policy=strict"] {
        let (status, decision) = ask(address, "POST", path, &key, action);
        assert!(status == 200 && decision.contains(r#""policy":"strict""#), "{decision}");
        assert!(decision.contains("auditor"), "{decision}");
    }
    let (status, refused) = ask(address, "POST", "/v1/decisions?policy=default", &key, action);
    assert!(status == 403 && refused.contains("other_policy"), "{refused}");
}

#[test]
fn a_policy_of_a_tenant_is_read_again_and_a_bad_one_changes_nothing() {
    let Some(place) = Place::new() else { return };
    let strict = place.write("strict.yaml", STRICT);
    let judge = place.serve_with(&["--policy", &format!("local:strict={strict}")]);
    let mut guard = place.listed_guard("s1", &["--policy-name", "strict"]);
    let blocked = guard.call(1, "read");
    assert!(blocked.contains("Not executed"), "{blocked}");
    place.write("strict.yaml", "version: 1\nboundarys: []\n");
    let told = (0..600).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        judge.request("GET", "/readyz", "").1
    });
    let stale = told.into_iter().find(|told| told.contains("stale"));
    assert!(stale.as_deref().is_some_and(|told| told.contains("action_policy local:strict")), "{stale:?}");
    assert!(guard.call(2, "read").contains("Not executed"));
    place.write("strict.yaml", POLICY);
    // The server looks at its files from time to time.
    assert!((3..).map(|id| guard.call(id, "read")).any(|answer| answer.contains("ok read")));
}

/// Once something was read, only what the user has asked for.
const ASKED: &str = "
version: 1
tools: [{tool: '*', class: generic}]
boundaries: [{id: all, match: {}, require: [{asked: [report]}]}]
";

#[test]
fn a_person_tells_a_server_what_the_user_asked_for_and_no_agent_does() {
    let Some(place) = Place::new() else { return };
    let asked = format!("acme:asked={}", place.write("asked.yaml", ASKED));
    let ann = place.key("ann", "reviewer", "acme", &[]);
    let eve = place.key("eve", "reviewer", "other", &[]);
    let agents = [place.key("bot", "agent", "acme", &[]), place.key("laptop", "agent-host", "acme", &[])];
    let (keys, address) = (place.at("judge/keys.json").display().to_string(), free());
    let listen = address.to_string();
    let options = ["--policy", &asked, "--api-keys", &keys, "--listen", &listen, "--socket-tenant", "acme"];
    let _judge = place.serve_with(&options);
    let mut guard = place.listed_guard("s1", &["--policy-name", "asked"]);
    assert!(guard.call(1, "read").contains("ok read"));
    assert!(guard.call(2, "read").contains("Not executed"));
    let told = r#"{"session": "60002/s1", "request": "Write the report."}"#;
    for agent in &agents {
        assert_eq!(ask(address, "POST", "/v1/sessions/requests", agent, told).0, 403);
    }
    assert_eq!(ask(address, "POST", "/v1/sessions/requests", &eve, told).0, 200);
    assert!(guard.call(3, "read").contains("Not executed"), "a session of another tenant is another one");
    for (body, code) in [
        (r#"{"session": "", "request": "x"}"#, "invalid_request"),
        (r#"{"session": "s", "request": " "}"#, "invalid_request"),
        (r#"{"session": "s"}"#, "request"),
    ] {
        let (status, refused) = ask(address, "POST", "/v1/sessions/requests", &ann, body);
        assert!((400..500).contains(&status) && refused.contains(code), "{refused}");
    }
    assert_eq!(
        ask(address, "POST", "/v1/sessions/requests", &ann, told),
        (200, r#"{"session":"60002/s1"}"#.to_owned())
    );
    assert!(guard.call(4, "read").contains("ok read"));
    let shown = said(&place.judge(&["session", "list", "--tenant", "acme"]));
    assert!(shown.contains("60002/s1"), "{shown}");
}
