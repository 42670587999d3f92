//! A server that takes the tokens of a real issuer: `oidc-provider`, a certified one, on the loopback.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use proofmark_receipt::Json;
use proofmark_testing::{Home, OPEN_POLICY};

use crate::client::{MAIL, NOTE, text};
use crate::server::{PROOFMARK, Server, serve, serve_by};

const AUDIENCE: &str = "urn:example:proofmark";
const MAP: &str = "
version: 1
rules:
  - {claim: groups, has: agents, role: agent, tenant: acme}
  - {claim: groups, has: reviewers, role: reviewer, tenant: acme, holds: [reviewer]}
  - {claim: scope, word: decide, and: [{claim: groups, has: hosts}], role: agent-host, tenant: acme}
";

/// The issuer, which is killed when it is dropped.
struct Issuer {
    child: Child,
    url: String,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Issuer {
    /// None after a skip.
    fn start() -> Option<Self> {
        let modules = proofmark_testing::node_modules_with(&["oidc-provider"])?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/issuer.mjs");
        let mut node = Command::new("node");
        node.arg(script).env("PROOFMARK_NODE_MODULES", modules).stderr(Stdio::null());
        let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut issuer = Self { child, url: String::new(), to, from };
        issuer.url = issuer.answer();
        Some(issuer)
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let answer =
            self.from.by_ref().map(Result::unwrap).find_map(|line| line.strip_prefix("answer ").map(str::to_owned));
        answer.unwrap_or_else(|| panic!("the issuer has ended"))
    }

    /// The options of a server that takes its tokens by these rules.
    fn options(&self, map: &Path) -> Vec<String> {
        let map = map.to_str().unwrap();
        ["--oidc", &self.url, "--oidc-audience", AUDIENCE, "--oidc-map", map].map(str::to_owned).into()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn map_in(home: &Home, text: &str) -> std::path::PathBuf {
    let map = home.path().join("map.yaml");
    std::fs::write(&map, text).unwrap();
    map
}

fn words(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

#[test]
fn a_program_and_a_person_of_a_real_issuer_decide_and_review_until_its_keys_or_the_rules_change() {
    let Some(mut issuer) = Issuer::start() else { return };
    let home = Home::new();
    let map = map_in(&home, MAP);
    let options = issuer.options(&map);
    let server = Server::begin(serve(&home, &[&words(&options)[..], &["--log-format", "json"]].concat()));
    let mut tokens = Vec::new();
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let token = issuer.ask(&format!("agent agents {algorithm}"));
        let (status, decision) = server.post("/v1/decisions", &token, NOTE);
        assert_eq!(status, 200, "{algorithm}: {}", decision.to_text());
        let binding = decision.as_object().unwrap().get("binding").unwrap();
        assert_eq!(text(binding, "account"), format!("{}#robot", issuer.url));
        tokens.push(token);
    }
    let (_, waiting) = server.post("/v1/decisions", &tokens[0], MAIL);
    let person = issuer.ask("person reviewers");
    let review = format!("/v1/reviews/{}", text(&waiting, "decision_id"));
    let (status, approval) = server.post(&review, &person, r#"{"verdict": "approve", "note": "seen"}"#);
    assert_eq!(status, 200, "{}", approval.to_text());
    let said = approval.to_text();
    assert!(said.contains(&format!("{}#ann", issuer.url)) && !said.contains("ann@example.org"), "{said}");
    let (_, allowed) = server.post("/v1/decisions", &tokens[0], MAIL);
    assert_eq!(text(&allowed, "outcome"), "allow", "{}", allowed.to_text());
    // Other rules: read again when the file changes, and a file with a mistake changes nothing.
    map_in(&home, "version: 1\nrules: [{claim: groups, has: agents, rolle: admin}]");
    server.signal("-HUP");
    server.until(|status| status.contains(r#""stale":["oidc_map"]"#));
    assert_eq!(server.get("/v1/reviews", &person).0, 200);
    map_in(&home, "version: 1\nrules: [{claim: groups, has: agents, role: agent, tenant: other}]");
    server.signal("-HUP");
    server.said("what it says is in force");
    assert_eq!(server.get("/v1/reviews", &person).0, 403);
    let path = format!("/v1/decisions/{}", text(&waiting, "decision_id"));
    assert_eq!(server.get(&path, &tokens[0]).0, 404, "another tenant");
    // Other keys: tokens that the old ones signed no longer count.
    assert_eq!(issuer.ask("keys"), "ok");
    let new = issuer.ask("agent agents ES256");
    assert_eq!(server.get("/v1/receipts", &new).0, 200);
    assert_eq!(server.get("/v1/receipts", &tokens[0]).0, 401);
    tokens.extend([new, person]);
    server.signal("-TERM");
    let (code, log) = server.ended();
    assert_eq!(code, Some(0));
    for part in tokens.iter().flat_map(|token| token.split('.')).filter(|part| part.len() > 40) {
        assert!(!log.contains(part), "the log has a part of a token: {log}");
    }
    assert!(log.contains("no_rule: ") && log.contains("#ann"), "the log names a holder who gets nothing: {log}");
}

#[test]
fn the_hook_of_a_host_asks_with_a_token() {
    let Some(mut issuer) = Issuer::start() else { return };
    let home = Home::new();
    let policy = home.path().join("open.yaml");
    std::fs::write(&policy, OPEN_POLICY).unwrap();
    let options = issuer.options(&map_in(&home, MAP));
    let server = Server::begin(serve_by(&policy, &home, &words(&options)));
    let hook = |token: &str, id: &str| {
        let file = home.path().join("token");
        std::fs::write(&file, format!("{token}\n")).unwrap();
        let event = format!(
            r#"{{"session_id":"s1","transcript_path":"","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"{id}"}}"#
        );
        let mut command = Command::new(PROOFMARK);
        command.args(["hook", "claude", "--server", &server.base(), "--api-key-file"]).arg(file).envs(home.variables());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        said(&child.wait_with_output().unwrap())
    };
    const DENIED: &str = r#""permissionDecision":"deny""#;
    let allowed = hook(&issuer.ask("agent hosts RS256"), "1");
    assert!(!allowed.contains(DENIED), "{allowed}");
    let refused = hook(&issuer.ask("agent agents RS256"), "2");
    assert!(refused.contains(DENIED), "{refused}");
    let refused = hook(&format!("{}x", issuer.ask("agent hosts RS256")), "3");
    assert!(refused.contains(DENIED), "{refused}");
}

fn check(home: &Home, options: &[&str]) -> Output {
    let mut check = serve(home, options);
    check.args(["--check"]).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn a_check_says_whose_tokens_would_count() {
    let Some(issuer) = Issuer::start() else { return };
    let home = Home::new();
    let map = map_in(&home, MAP);
    let options = issuer.options(&map);
    let found = check(&home, &[&words(&options)[..], &["--json"]].concat());
    assert_eq!(found.status.code(), Some(0), "{}", said(&found));
    let found = Json::parse(&found.stdout).unwrap();
    let wanted = format!(r#"{{"issuer":"{}","audience":"{AUDIENCE}","rules":3,"keys":4}}"#, issuer.url);
    assert_eq!(found.as_object().unwrap().get("oidc").map(Json::to_text), Some(wanted));
    let shown = said(&check(&home, &words(&options)));
    assert!(shown.contains(&format!("{}, audience {AUDIENCE}, keys 4, rules 3", issuer.url)), "{shown}");
    let other = format!("{}/", issuer.url);
    let [_, _, rest @ ..] = &words(&options)[..] else { unreachable!() };
    let refused = check(&home, &[&["--oidc", &other], rest].concat());
    assert!(
        refused.status.code() == Some(2) && said(&refused).contains("its metadata is of the issuer"),
        "{}",
        said(&refused)
    );
    map_in(&home, "version: 1\nrules: [{claim: email, is: ann@example.org, role: admin, tenant: acme}]");
    let warned = said(&check(&home, &words(&options)));
    assert!(warned.contains("`rules[0]` rests on claims that some issuers let people choose"), "{warned}");
}

/// These need no issuer.
#[test]
fn options_that_would_admit_nobody_or_everybody_are_refused() {
    let home = Home::new();
    let map = map_in(&home, MAP);
    let map = map.to_str().unwrap();
    let unreachable = "http://127.0.0.1:1";
    let all = |issuer: &'static str, audience: &'static str| {
        vec!["--oidc", issuer, "--oidc-audience", audience, "--oidc-map", map]
    };
    for (options, wanted) in [
        (all("http://login.example.org", AUDIENCE), "its keys would come over http"),
        (all("login.example.org", AUDIENCE), "it is not a URL"),
        (all("https://ann@login.example.org", AUDIENCE), "it is not a URL"),
        (all(unreachable, ""), "an audience has"),
        (all(unreachable, AUDIENCE), "failed to get `http://127.0.0.1:1/.well-known/openid-configuration`"),
        (vec!["--oidc", unreachable, "--oidc-map", map], "--oidc-audience"),
        (vec!["--oidc", unreachable, "--oidc-audience", AUDIENCE], "--oidc-map"),
        (vec!["--oidc-audience", AUDIENCE], "--oidc"),
        (vec!["--oidc-map", map], "--oidc"),
        (vec!["--oidc", unreachable, "--oidc-audience", AUDIENCE, "--oidc-map", "missing.yaml"], "missing.yaml"),
    ] {
        let refused = check(&home, &options);
        assert!(refused.status.code() == Some(2) && said(&refused).contains(wanted), "{options:?}: {}", said(&refused));
    }
    map_in(&home, "version: 1\nrules:\n  - {claim: groups, has: agents, rolle: admin, tenant: acme}\n");
    let refused = said(&check(&home, &all(unreachable, AUDIENCE)));
    assert!(refused.contains("map.yaml:3:") && refused.contains("did you mean `role`?"), "{refused}");
}
