//! An agent that has a shell of its own account, and tries what it can.

use super::*;

/// What the agent tries, as commands of its shell. Words in capitals stand for places and ids.
const TRICKS: [&str; 14] = [
    // It approves itself, with a key of its own, in its own home and in that of the server.
    "proofmark key new reviewer; proofmark decision approve ID --key reviewer --role owner --note fine",
    "PROOFMARK_HOME=JUDGE proofmark decision approve ID --key reviewer --role owner --note fine",
    "proofmark decision approve ID --store JUDGE/proofmark.db --key reviewer --role owner --note fine",
    "proofmark reviewer add me --key reviewer --role owner --policy POLICY; proofmark trust add me reviewer",
    // It replaces the policy, or names another one.
    "printf 'version: 1\\nboundaries: [{id: all, match: {}}]\\n' > mine.yaml; cat mine.yaml > POLICY; mv -f mine.yaml POLICY",
    "chmod 666 POLICY; rm -f POLICY; ln -sf mine.yaml POLICY",
    "printf 'policy: mine.yaml\\n' > proofmark.yaml; PROOFMARK_POLICY=mine.yaml proofmark decide --help",
    // It takes the place of the server, or its files.
    "rm -f SOCKET; ln -s /dev/null SOCKET; mv SOCKET other",
    "cp -r JUDGE copy; cat JUDGE/keys/*; ls JUDGE",
    "cp PROGRAM mine; cat mine > PROGRAM; mv -f mine PROGRAM",
    // It says to the server what it likes.
    "python3 -c \"import http.client, socket; c = http.client.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX); \
     c.sock.connect('SOCKET'); c.request('POST', '/v1/reviews/ID', '{\\\"verdict\\\": \\\"approve\\\", \\\"note\\\": \\\"fine\\\"}', \
     {'Content-Type': 'application/json'}); print(c.getresponse().read())\"",
    "echo '{\"session_id\":\"s1\",\"cwd\":\"/\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"mcp__lenient__write\",\
     \"tool_input\":{\"path\":\"a\"},\"tool_use_id\":\"1\",\"tool_response\":{}}' | proofmark hook claude --server unix:SOCKET --session s1",
    "proofmark guard pin approve --server lenient --all; proofmark session list",
    // It begins again, under other names.
    "echo 'CALL' | proofmark guard --server unix:SOCKET --name trusted --agent owner --session ann --environment dev -- python3 SERVER effects",
];

#[test]
fn plays_the_agent() {
    let Some(place) = Place::new() else { return };
    place.add_reviewer();
    let policy = fs::read_to_string(place.at("policy.yaml")).unwrap();
    let _judge = place.serve();
    let mut guard = place.guard(AGENT, "s1");
    let blocked = guard.call(1, "write");
    let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned();
    let path = |name: &str| place.at(name).display().to_string();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"path":"a"}}}"#;
    for (trick, number) in TRICKS.iter().zip(2..) {
        let trick = trick.replace("ID", &id).replace("POLICY", &path("policy.yaml")).replace("JUDGE", &path("judge"));
        let trick = trick.replace("SOCKET", &path("run/socket")).replace("PROGRAM", &path("proofmark"));
        let trick = trick.replace("SERVER", &place.server()).replace("CALL", call);
        let mut shell = place.command(AGENT, "/bin/sh");
        let programs = format!("{}:{}", place.folder.path().display(), std::env::var("PATH").unwrap());
        let done = shell.env("PATH", programs).args(["-c", &trick]).stdin(Stdio::null()).output().unwrap();
        assert!(guard.call(number, "write").contains("Not executed"), "{trick}: {}", said(&done));
    }
    assert!(place.guard(AGENT, "s2").call(1, "write").contains("Not executed"));
    let effects = fs::read_to_string(place.at("agent/effects")).unwrap_or_default();
    assert!(!effects.contains("write"), "{effects}");
    assert_eq!(fs::read_to_string(place.at("policy.yaml")).unwrap(), policy);
    assert_eq!(bound(&place.last_decision(), "separation"), "account");
    // What it may do, it still may; and so may the person.
    assert!(guard.call(90, "read").contains("ok read"));
    let approve = ["decision", "approve", &id, "--key", "reviewer", "--role", "owner", "--note", "seen"];
    assert!(place.judge(&approve).status.success());
    assert!(guard.call(91, "write").contains("ok write"));
}

#[test]
fn where_the_agents_own_account_decides_each_decision_says_so() {
    let Some(place) = Place::new() else { return };
    let mut command = place.proofmark(AGENT);
    command.env("PROOFMARK_HOME", place.at("agent/home")).arg("guard").arg("--policy").arg(place.at("policy.yaml"));
    let mut guard = Conversation::of(command.args(["--name", "lenient", "--", "python3", &place.server(), "effects"]));
    guard.ask(LIST);
    // Its rule asks for more than that.
    assert!(guard.call(1, "read").contains("Not executed"));
    guard.end();
    let mut list = place.proofmark(AGENT);
    let listed =
        list.env("PROOFMARK_HOME", place.at("agent/home")).args(["decision", "list", "--json"]).output().unwrap();
    let Ok(Json::Object(decision)) = Json::parse(listed.stdout.trim_ascii()) else { panic!("{listed:?}") };
    let mut show = place.proofmark(AGENT);
    show.env("PROOFMARK_HOME", place.at("agent/home")).args([
        "decision",
        "show",
        text(&decision, "decision_id"),
        "--json",
    ]);
    let Ok(Json::Object(shown)) = Json::parse(show.output().unwrap().stdout.trim_ascii()) else { panic!() };
    assert_eq!(bound(&shown, "separation"), "none");
}
