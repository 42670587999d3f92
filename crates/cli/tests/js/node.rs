//! Running Node.js, and programs that have to succeed.

use std::process::{Command, Output};

/// The oldest Node.js that the packages run on.
const NODE: u32 = 20;

/// What a program has printed.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs tests of Node.js, of which none may fail and at least one has to run. Those that were left out are noted as skipped.
pub(crate) fn run_tests(command: &mut Command) {
    let printed = said(&run(command));
    println!("{printed}");
    assert!(!printed.lines().any(|line| line.trim() == "\u{2139} pass 0"), "no test ran");
    let left_out = printed.lines().filter(|line| line.trim_start().starts_with('\u{fe63}'));
    // Another run has those that a pattern leaves out.
    for line in left_out.filter(|line| !line.contains("match pattern")) {
        proofmark_testing::skip("node", line.trim());
    }
}

/// Runs a program, which must succeed.
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
