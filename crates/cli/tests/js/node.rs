//! Running Node.js, and programs that have to succeed.

use std::process::{Command, Output};

/// The oldest Node.js that the packages run on.
const NODE: u32 = 20;

/// What a program has printed.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a program to its end, which must be a success.
pub(crate) fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", said(&done));
    done
}

/// Whether there is a Node.js that the package runs on; `false` after a skip.
pub(crate) fn has_node() -> bool {
    if !proofmark_testing::has_program("node", "nodejs") {
        return false;
    }
    let version = String::from_utf8(run(Command::new("node").arg("--version")).stdout).unwrap();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    let new = major.is_some_and(|major| major >= NODE);
    if !new {
        proofmark_testing::skip("node", &format!("Node.js is older than {NODE}"));
    }
    new
}
