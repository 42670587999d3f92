//! What changes while a guard runs: reviews, keys, the policy, the disk; and how it ends.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{BINARY, Guarded, PATIENCE, Place, SERVER, call, children_of, is_running, said, text};

/// A call whose client takes notifications of progress.
fn patient(id: u32) -> String {
    let meta = format!(r#""_meta":{{"progressToken":"p{id}"}},"arguments""#);
    call(id, "write").replace("\"arguments\"", &meta)
}

fn decision(text: &str) -> String {
    text.split("proofmark decision approve ").nth(1).unwrap_or_else(|| panic!("{text}")).get(..36).unwrap().to_owned()
}

fn approve(place: &Place, decision: &str) {
    let approved = place.proofmark(&[
        "decision", "approve", "--yes", decision, "--key", "reviewer", "--role", "owner", "--note", "fine",
    ]);
    assert!(approved.status.success(), "{}", said(&approved));
}

/// Waits until `holds`.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_call_waits_for_a_person_who_is_listed_meanwhile() {
    let place = Place::new();
    let mut guarded = Guarded::of(&mut place.command(&["--wait", "300s"], &[]));
    let told = text(&guarded.ask(&patient(1)));
    assert!(told.contains(r#""progressToken":"p1""#) && place.effects().is_empty(), "{told}");
    // Others go on meanwhile.
    assert!(text(&guarded.call(2, "read")).contains("ok read"));
    place.add_reviewer();
    // The guard has seen the policy.
    std::thread::sleep(Duration::from_secs(3));
    approve(&place, &decision(&told));
    assert!(text(&guarded.hear()).contains("ok write"));
    assert_eq!(place.effects(), "read\nwrite\n");
    // The approval is of one call.
    let second = text(&guarded.ask(&patient(3)));
    assert!(second.contains("progressToken"), "{second}");
    guarded.say(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    let third = text(&guarded.ask(&patient(4)));
    drop(guarded.stdin.take());
    let blocked = text(&guarded.hear());
    assert!(blocked.contains(r#""id":4"#) && blocked.contains("Not executed"), "{blocked}");
    assert!(guarded.wait().success());
    approve(&place, &decision(&third));
    assert_eq!(place.effects(), "read\nwrite\n");
    let shown = said(&place.proofmark(&["session", "show", "s1"]));
    for line in ["waiting", "executed: no", "write succeeded"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn a_call_that_waits_for_too_long_is_blocked() {
    let place = Place::new();
    let mut guarded = Guarded::of(&mut place.command(&["--wait", "1s"], &[]));
    assert!(text(&guarded.ask(&patient(1))).contains("progressToken"));
    assert!(text(&guarded.hear()).contains("Not executed"));
    // Without a token it does not wait.
    assert!(text(&guarded.call(2, "write")).contains("Not executed"));
    assert!(place.effects().is_empty());
}

#[test]
fn a_policy_that_changes_is_in_force_and_a_broken_one_is_not() {
    let place = Place::new();
    let mut command = place.command(&[], &[]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut noted = |what: &str| while !notes.next().unwrap().unwrap().contains(what) {};
    let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
    let mut guarded = Guarded { child, stdin, stdout };
    assert!(text(&guarded.call(1, "read")).contains("ok read"));
    let closed = "version: 1\nboundaries: [{id: none, match: {tool: none}}]\n";
    std::fs::write(place.at("policy.yaml"), closed).unwrap();
    noted("the policy has changed");
    assert!(text(&guarded.call(2, "read")).contains("Not executed"));
    std::fs::write(place.at("policy.yaml"), "version: 1\nboundaries: [{id: all, match: {}, requires: []}]\n").unwrap();
    noted("the policy before it stays in force");
    assert!(text(&guarded.call(3, "read")).contains("Not executed"));
    std::fs::remove_file(place.at("policy.yaml")).unwrap();
    noted("the policy before it stays in force");
    assert!(text(&guarded.call(4, "read")).contains("Not executed"));
    std::fs::write(place.at("policy.yaml"), crate::POLICY).unwrap();
    noted("the policy has changed");
    assert!(text(&guarded.call(5, "read")).contains("ok read"));
    assert!(guarded.end().success());
    let shown = said(&place.proofmark(&["session", "show", "s1"]));
    assert_eq!(shown.matches("another policy: sha256:").count(), 2, "{shown}");
    assert_eq!(place.effects(), "read\nread\n");
}

fn descendants_of(pid: u32) -> Vec<u32> {
    let children = children_of(pid);
    children.iter().flat_map(|child| [vec![*child], descendants_of(*child)].concat()).collect()
}

#[test]
fn a_server_that_ignores_a_closed_input_ends_with_a_guard_that_is_killed() {
    let place = Place::new();
    let mut command = Command::new(BINARY);
    command.args(["guard", "--policy", "policy.yaml", "--name", "stays", "--", "sh", "-c"]);
    // As a runner of packages starts a server, and both stay.
    command.arg(format!("trap '' HUP; python3 {SERVER} {} stays; sleep 600", place.at("effects").display()));
    let mut guarded =
        Guarded::of(command.current_dir(place.folder.path()).envs(place.home.variables()).process_group(0));
    assert!(text(&guarded.call(1, "read")).contains("ok read"));
    let left = descendants_of(guarded.child.id());
    assert!(left.len() >= 3, "{left:?}");
    // As a host does that ends what it started: the whole group.
    let killed = Command::new("kill").args(["-KILL", "--", &format!("-{}", guarded.child.id())]).status().unwrap();
    assert!(killed.success());
    guarded.wait();
    until("the server goes on", || !left.iter().any(|pid| is_running(*pid)));
}

#[test]
fn a_guard_that_ends_leaves_nothing_running() {
    let place = Place::new();
    let mut guarded = place.listed(&[]);
    guarded.call(1, "read");
    let left = descendants_of(guarded.child.id());
    assert!(guarded.end().success());
    until("something goes on", || !left.iter().any(|pid| is_running(*pid)));
}

#[test]
fn on_a_full_disk_calls_are_blocked_until_there_is_room() {
    // The disk of PostgreSQL is full in a test of the store.
    let place = Place::in_file();
    // Its own store, so that nothing else writes to it. A file that is too long is an error, not a signal.
    let limited = format!(
        "trap '' XFSZ; exec {BINARY} guard --policy policy.yaml --session s1 --name lenient -- python3 {SERVER} {}",
        place.at("effects").display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).current_dir(place.folder.path()).envs(place.home.variables());
    let mut guarded = Guarded::of(&mut command);
    assert!(text(&guarded.call(1, "read")).contains("ok read"));
    let pid = guarded.child.id().to_string();
    let limit = |bytes: &str| {
        let limited = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}")]).output().unwrap();
        assert!(limited.status.success(), "{}", said(&limited));
    };
    limit("4096:unlimited");
    let effects = place.effects();
    for id in 2..12 {
        let blocked = text(&guarded.call(id, "read"));
        assert!(blocked.contains("Not executed: The action could not be decided"), "{blocked}");
    }
    assert_eq!(place.effects(), effects);
    // What is not a call goes on.
    assert!(text(&guarded.ask(r#"{"jsonrpc":"2.0","id":12,"method":"ping"}"#)).contains("result"));
    limit("unlimited:unlimited");
    until("calls are still blocked", || text(&guarded.call(13, "read")).contains("ok read"));
    assert!(guarded.end().success());
    std::fs::write(place.at("s1.jsonl"), place.proofmark(&["session", "export", "s1"]).stdout).unwrap();
    let verified = place.proofmark(&["receipt", "verify", "s1.jsonl", "--as-chain"]);
    assert!(verified.status.success(), "{}", said(&verified));
}

#[test]
fn a_configuration_that_is_wrapped_again_is_unwrapped_as_it_was() {
    // The URL of a database with its password is not written to a configuration.
    let place = Place::in_file();
    let now = || std::fs::read_to_string(place.at("mcp.json")).unwrap();
    let wrap = ["guard", "wrap", "mcp.json", "--policy", "policy.yaml"];
    let one = r#"{"mcpServers": {"one": {"command": "npx", "args": ["x"]}}}"#;
    std::fs::write(place.at("mcp.json"), one).unwrap();
    assert!(place.proofmark(&wrap).status.success());
    // A server that the user adds later.
    let added = now().replacen(
        "\"mcpServers\": {",
        "\"mcpServers\": {\"two\": {\"command\": \"y\", \"env\": {\"A\": \"b\"}},",
        1,
    );
    std::fs::write(place.at("mcp.json"), added).unwrap();
    assert!(place.proofmark(&wrap).status.success());
    assert_eq!(now().matches("PROOFMARK_HOME").count(), 2, "{}", now());
    // A third time, in which nothing changes.
    assert!(place.proofmark(&wrap).status.success());
    assert!(place.proofmark(&["guard", "unwrap", "mcp.json"]).status.success());
    let both =
        r#"{"mcpServers": {"two": {"command": "y", "env": {"A": "b"}}, "one": {"command": "npx", "args": ["x"]}}}"#;
    let parsed = |text: &str| proofmark_receipt::Json::parse(text.as_bytes()).unwrap();
    assert_eq!(parsed(&now()).to_text(), parsed(both).to_text());
    assert!(!place.at("mcp.json.unguarded").exists());
}

#[test]
fn a_guard_of_somebody_else_is_replaced_and_shown() {
    let place = Place::in_file();
    let wrap = ["guard", "wrap", "mcp.json", "--policy", "policy.yaml"];
    let theirs = r#"{"mcpServers": {"theirs": {"command": "proofmark", "args": ["guard", "--shadow", "--policy", "p", "--", "x"]}}}"#;
    std::fs::write(place.at("mcp.json"), theirs).unwrap();
    let wrapped = said(&place.proofmark(&wrap));
    // It is guarded as this command says from then on, and what it was is shown.
    assert!(wrapped.contains("- proofmark guard --shadow --policy p -- x"), "{wrapped}");
    let now = std::fs::read_to_string(place.at("mcp.json")).unwrap();
    assert!(!now.contains("--shadow") && now.contains(r#""--", "x""#), "{now}");
    std::fs::write(place.at("mcp.json"), r#"{"mcpServers": {"ours": {"command": "x"}}}"#).unwrap();
    assert!(place.proofmark(&wrap).status.success());
    let again = said(&place.proofmark(&wrap));
    assert!(again.contains("ours is guarded already"), "{again}");
}
