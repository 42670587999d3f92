//! An agent that has a shell of its own account, and tries what it can.

use super::*;

/// What the agent tries, as commands of its shell. Words after `@` stand for places and ids.
const TRICKS: [&str; 14] = [
    // It approves itself, with a key of its own, in its own home and in that of the server.
    "proofmark key new reviewer; proofmark decision approve --yes @id --key reviewer --role owner --note fine",
    "PROOFMARK_HOME=@judge proofmark decision approve --yes @id --key reviewer --role owner --note fine",
    "proofmark decision approve --yes @id --store @judge/proofmark.db --key reviewer --role owner --note fine",
    "proofmark reviewer add me --key reviewer --role owner --policy @policy; proofmark trust add me reviewer --for approval,decision",
    // It replaces the policy, or names another one.
    "printf 'version: 1\\nboundaries: [{id: all, match: {}}]\\n' > mine.yaml; cat mine.yaml > @policy; mv -f mine.yaml @policy",
    "chmod 666 @policy; rm -f @policy; ln -sf mine.yaml @policy",
    "printf 'policy: mine.yaml\\n' > proofmark.yaml; PROOFMARK_POLICY=mine.yaml proofmark decide --help",
    // It takes the place of the server, or its files.
    "rm -f @socket; ln -s /dev/null @socket; mv @socket other",
    "cp -r @judge copy; cat @judge/keys/*; ls @judge",
    "cp @program mine; cat mine > @program; mv -f mine @program",
    // It says to the server what it likes.
    "python3 -c \"import http.client, socket; c = http.client.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX); \
     c.sock.connect('@socket'); c.request('POST', '/v1/reviews/@id', '{\\\"verdict\\\": \\\"approve\\\", \\\"note\\\": \\\"fine\\\"}', \
     {'Content-Type': 'application/json'}); print(c.getresponse().read())\"",
    "echo '{\"session_id\":\"s1\",\"cwd\":\"/\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"mcp__lenient__write\",\
     \"tool_input\":{\"path\":\"a\"},\"tool_use_id\":\"1\",\"tool_response\":{}}' | proofmark hook claude --server unix:@socket --session s1",
    "proofmark guard pin approve --server lenient --all; proofmark session list",
    // It begins again, under other names.
    "echo '@call' | proofmark guard --server unix:@socket --name trusted --agent owner --session ann --environment dev -- python3 @server effects",
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
        let trick =
            trick.replace("@id", &id).replace("@policy", &path("policy.yaml")).replace("@judge", &path("judge"));
        let trick = trick.replace("@socket", &path("run/socket")).replace("@program", &path("proofmark"));
        let trick = trick.replace("@server", &place.server()).replace("@call", call);
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
    let approve = ["decision", "approve", "--yes", &id, "--key", "reviewer", "--role", "owner", "--note", "seen"];
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
