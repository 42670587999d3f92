//! Processes whose clocks are wrong.

use std::process::Command;

/// Has processes run with a clock that shows `difference`, such as `+1h`, more than that of this machine. How time passes is not
/// changed. Nothing where that is impossible, after a skip.
///
/// # Panics
/// When Debian's program for it does not do it.
#[must_use]
pub fn wrong_clock(difference: &str) -> Option<Vec<(String, String)>> {
    if !crate::has_program("faketime", "faketime") {
        return None;
    }
    // What it gives to a program. The program itself is not started by it, because that would have another process.
    let mut env = Command::new("faketime");
    let output = env.args(["-m", "--exclude-monotonic", "-f", difference, "env"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = ["LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC"];
    let variable = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found: Vec<_> = text.lines().filter_map(variable).filter(|(name, _)| wanted.contains(&name.as_str())).collect();
    assert_eq!(found.len(), wanted.len(), "{text}");
    Some(found)
}
