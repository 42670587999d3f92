//! The exit code is the answer, whatever becomes of what is written.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::run::{Place, RIGHT, WRONG, project_file, request};

/// Where a stream of the command leads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stream {
    /// A pipe whose reader has closed it.
    Gone,
    /// A disk without room.
    Full,
    /// Nowhere: the descriptor is closed.
    Closed,
    Null,
}

impl Stream {
    fn open(self) -> Stdio {
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        match self {
            Stream::Gone => std::io::pipe().unwrap().1.into(),
            Stream::Full => full().into(),
            Stream::Closed | Stream::Null => Stdio::null(),
        }
    }
}

/// Runs the command with its output led there; its exit code.
fn code(place: &Place, arguments: &[&str], stdout: Stream, stderr: Stream) -> i32 {
    // Only a shell closes a descriptor.
    let closing = |stream, redirection| if stream == Stream::Closed { redirection } else { "" };
    let script = format!(r#"exec "$@" {} {}"#, closing(stdout, ">&-"), closing(stderr, "2>&-"));
    let done = Command::new("bash")
        .args(["-c", &script, "bash", env!("CARGO_BIN_EXE_proofmark")])
        .args(arguments)
        .envs(place.home.variables())
        .stdin(Stdio::null())
        .stdout(stdout.open())
        .stderr(stderr.open())
        .status();
    done.unwrap().code().expect("the command ends by itself")
}

#[test]
fn no_answer_is_better_for_being_unread() {
    let place = Place::new();
    let decide = |name: &str| project_file(&format!("examples/decide/{name}"));
    let accept = |name: &str| project_file(&format!("examples/accept/{name}"));
    let (right, wrong) = (place.file("right.json", request(RIGHT)), place.file("wrong.json", request(WRONG)));
    let receipt = place.receipt(&request(WRONG), &[]).to_text();
    let valid = place.file("valid.json", &receipt);
    let invalid = place.file("invalid.json", receipt.replacen("\"fail\"", "\"pass\"", 1));
    let undecidable = place.file("undecidable.json", &receipt[..receipt.len() / 2]);
    let cases = std::fs::read_to_string(decide("cases.yaml")).unwrap();
    let cases = cases.replace("policy.yaml", &decide("policy.yaml")).replacen(
        "reasons: [not_verified]",
        "reasons: [not_approved]",
        1,
    );
    let cases = cases.replace("../sort.json", &project_file("examples/sort.json"));
    let cases = place.file("cases.yaml", cases);
    let job = std::fs::read_to_string(project_file("examples/commerce/job.json")).unwrap();
    let job = place.file("job.json", job.replace("return sorted(xs)", "return xs"));
    let (policy, action) = (decide("policy.yaml"), decide("request.json"));
    let (workflow, response) = (accept("workflow.yaml"), accept("attempt1.md"));
    let bad = project_file("crates/cli/tests/bad_workflows/cycle.yaml");
    let table: [(&[&str], i32); 14] = [
        (&["verify", &right], 0),
        (&["verify", &wrong], 1),
        (&["verify", &wrong, "--json"], 1),
        (&["verify", &valid], 2),
        (&["receipt", "verify", &valid], 0),
        (&["receipt", "verify", &invalid], 1),
        (&["receipt", "verify", &invalid, "--json"], 1),
        (&["receipt", "verify", &undecidable], 2),
        (&["decide", &action, "--policy", &policy, "--json"], 1),
        (&["workflow", "accept", &workflow, "--step", "implement", "--trace", "none", "--response", &response], 1),
        (&["lint", &bad], 1),
        (&["policy", "test", &cases], 1),
        (&["acp", "evaluate", &job], 1),
        (&["verify"], 2),
    ];
    for (arguments, due) in table {
        assert_eq!(code(&place, arguments, Stream::Null, Stream::Null), due, "{arguments:?}");
        for stdout in [Stream::Gone, Stream::Full, Stream::Closed] {
            // A yes that could not be written is not an answer; a reader that has gone has seen enough.
            let due = if due == 0 && stdout == Stream::Full { 2 } else { due };
            assert_eq!(code(&place, arguments, stdout, Stream::Null), due, "{arguments:?} {stdout:?}");
            assert_eq!(code(&place, arguments, stdout, stdout), due, "{arguments:?} {stdout:?} twice");
        }
        assert_eq!(code(&place, arguments, Stream::Null, Stream::Full), due, "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["completions", "bash"], &["doctor"], &["receipt", "list"]] {
        assert_eq!(code(&place, arguments, Stream::Full, Stream::Null), 2, "{arguments:?}");
        assert_eq!(code(&place, arguments, Stream::Gone, Stream::Full), 0, "{arguments:?}");
    }
    assert_eq!(code(&place, &["verify", &right, "--out", "/dev/full"], Stream::Null, Stream::Null), 2);
    assert_eq!(code(&place, &["verify", &wrong, "--out", "/dev/full"], Stream::Null, Stream::Null), 1);
}

/// A batch of any length takes the memory of its beginning, so its first receipts come before its end is read.
#[test]
fn a_batch_is_answered_while_it_is_read() {
    let place = Place::new();
    let pipe = place.path("many.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["verify", pipe.to_str().unwrap(), "--json", "--unsigned", "--no-store"])
        .envs(place.home.variables())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(lines.next()).map(|()| lines.count()));
    let mut file = File::options().write(true).open(&pipe).unwrap();
    let line = r#"{"output":{"content":"{}"},"verification":{"kind":"schema_check","checks":[{"name":"a","constraint":"json_parse"}]}}"#;
    let lines = format!("{line}\n").repeat(4_000);
    file.write_all(lines.as_bytes()).unwrap();
    let first = receive.recv_timeout(Duration::from_secs(120));
    drop(file);
    let ended = child.wait().unwrap();
    assert!(first.is_ok_and(|line| line.is_some_and(|line| line.is_ok())), "no receipt before the end of the batch");
    assert_eq!(ended.code(), Some(0));
}
