//! Lines that some real server takes for a call that the policy forbids, to servers by the official SDKs.

use proofmark_receipt::Json;

use crate::place::{Place, Session, script, words};

const SMUGGLED: &str = include_str!("../../../guard/tests/smuggled.json");

const POLICY: &str = "
version: 1
tools:
  - {tool: read, class: generic, reads: true}
boundaries:
  - id: reads
    match: {action_class: generic}
";

/// The lines, as bytes.
fn smuggled() -> Vec<Vec<u8>> {
    let rows = Json::parse(SMUGGLED.as_bytes()).unwrap();
    let line = |row: &Json| row.as_object().unwrap().get("line").unwrap().as_str().unwrap().to_owned();
    let bytes = |line: String| line.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
    rows.as_array().unwrap().iter().map(line).map(bytes).collect()
}

/// Says all lines, and then two requests with one id.
fn say_all(session: &mut Session) {
    session.begin();
    session.say(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    session.answer(r#""list""#);
    for line in smuggled() {
        session.say(line);
    }
    // A request that is open has the id of the next one.
    session.say(r#"{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{"name":"read"}}"#);
    session.say(r#"{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{"name":"delete"}}"#);
}

fn attack(server: &dyn Fn(&str) -> Vec<String>) {
    let place = Place::with(POLICY);
    let (direct, guarded) = (place.path("direct"), place.path("guarded"));
    let unguarded = server(&direct);
    let (program, arguments) = unguarded.split_first().unwrap();
    let mut session = Session::of(place.command(program).args(arguments));
    say_all(&mut session);
    // Else the test would prove nothing. A server may answer in any order, and may drop at its end what it has not begun.
    place.wait_for("direct", "delete");
    drop(session);

    let mut session = Session::guarded(&place, "sdk", &server(&guarded));
    say_all(&mut session);
    let answer = session.answer(r#""end""#);
    assert!(answer.contains("ok read") || answer.contains("still open"), "{answer}");
    session.close();
    session.wait();
    assert_eq!(place.read("guarded"), "");
}

#[test]
fn nothing_is_smuggled_to_a_server_by_the_python_sdk() {
    let Some(python) = proofmark_testing::python_with("mcp.server.mcpserver", "mcp==2.3.0") else { return };
    let python = python.display().to_string();
    attack(&|file| words(&[&python, &script("sdk.py"), file]));
}

#[test]
fn nothing_is_smuggled_to_a_server_by_the_typescript_sdk() {
    let Some(modules) = proofmark_testing::node_modules_with(&["@modelcontextprotocol/sdk"]) else { return };
    let modules = modules.display().to_string();
    attack(&|file| words(&["node", &script("sdk.mjs"), &modules, file]));
}
