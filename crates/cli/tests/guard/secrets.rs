//! What a guarded server must not get from its guard.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{BINARY, Guarded, POLICY};

/// An account without rights, for tests that run as root.
const NOBODY: u32 = 65_534;
/// A server that writes down what it finds, and ends.
const SPY: &str = "
env > seen
ls -l /proc/self/fd > descriptors
cat /proc/$PPID/environ > environ
ls -l /proc/$PPID/fd > guards || echo refused > guards
";

/// The output of a guard whose server is the spy, in a folder of an account that is not root. It gets a passphrase in a variable, and
/// one in a file that it inherits.
fn spied_on(folder: &Path) -> Output {
    std::fs::write(folder.join("policy.yaml"), POLICY).unwrap();
    std::fs::write(folder.join("secret"), "battery staple\n").unwrap();
    let mut command = Command::new("/bin/sh");
    command.current_dir(folder).env("PROOFMARK_HOME", folder.join("home"));
    command.env("PROOFMARK_PASSPHRASE", "correct horse").env("PROOFMARK_UPSTREAM_TOKEN", "a token");
    let guard = "exec \"$0\" guard --policy policy.yaml --passphrase-file /dev/fd/7 -- sh -c \"$1\" 7< secret";
    command.args(["-c", guard, BINARY, SPY]);
    if rustix::process::geteuid().is_root() {
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

#[test]
fn a_server_gets_no_secret_of_its_guard() {
    let folder = tempfile::TempDir::new().unwrap();
    let output = spied_on(folder.path());
    let read = |name: &str| {
        std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}: {output:?}"))
    };
    assert!(read("seen").contains("PATH=") && !read("seen").contains("PROOFMARK_"), "{}", read("seen"));
    assert!(!read("descriptors").contains("secret"), "{}", read("descriptors"));
    // Where an account may read the memory of its own processes, as root may, what is found there is empty.
    assert!(!read("environ").contains("horse") && !read("environ").contains("a token"), "{}", read("environ"));
    assert_eq!(read("guards"), "refused\n");
}

#[test]
fn the_environment_of_a_program_that_runs_has_no_secret() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = Command::new(BINARY);
    command.arg("mcp").env("PROOFMARK_HOME", folder.path()).env("PROOFMARK_PASSPHRASE", "correct horse");
    let mut serving = Guarded::of(&mut command);
    // It has read its environment when it answers.
    serving.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let environ = std::fs::read(format!("/proc/{}/environ", serving.child.id())).unwrap();
    let environ = String::from_utf8_lossy(&environ);
    assert!(environ.contains("PATH=") && !environ.contains("horse"), "{environ}");
}
