//! A server that does not read, or writes without end.

use std::process::{Command, Stdio};

use proofmark_receipt::Json;

use crate::{BINARY, Guarded, Place, text};

/// A guard whose server is a shell command.
fn guard(place: &Place, server: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["guard", "--policy", "policy.yaml", "--", "sh", "-c", server]);
    command.current_dir(place.at("")).envs(place.home.variables());
    command
}

/// A message that passes without a decision, of at least so many bytes.
fn ping(id: usize, bytes: usize) -> Vec<u8> {
    let padding = "x".repeat(bytes);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"_meta":{{"padding":"{padding}"}}}}}}"#)
        .into_bytes()
}

#[test]
fn a_server_that_does_not_read_keeps_nobody_from_a_refusal() {
    let place = Place::new();
    let mut guarded = Guarded::of(&mut guard(&place, "exec sleep 600"));
    for id in 0..20 {
        // More than a pipe holds.
        guarded.say(&ping(id, 1 << 20));
        let refused = guarded.ask("{");
        assert!(refused.contains("error") && refused.get("id").is_some_and(Json::is_null), "{refused:?}");
    }
    // What waits for the server is limited.
    for id in 20..70 {
        guarded.say(&ping(id, 1 << 20));
    }
    let refused = loop {
        let answer = guarded.ask(std::str::from_utf8(&ping(100, 1)).unwrap());
        if answer.get("id").is_some_and(|id| id.to_text() == "100") {
            break text(&answer);
        }
    };
    assert!(refused.contains("the server does not read"), "{refused}");
}

#[test]
fn what_a_server_writes_to_standard_error_is_limited() {
    let place = Place::new();
    let mut command = guard(&place, "head -c 60000000 /dev/zero >&2; echo last >&2");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let zeros = output.stderr.iter().filter(|byte| **byte == 0).count();
    assert!((1 << 20..30 << 20).contains(&zeros), "{zeros}");
    let said = String::from_utf8_lossy(&output.stderr).replace('\0', "");
    assert!(said.contains("bytes of the server's standard error are left out"), "{said}");
}
