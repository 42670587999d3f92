//! Which test was running when a command was stopped, as its runner told. The submission shares a process with the runner, so this is a
//! hint for people and decides nothing.

use proofmark_receipt::document::shown;

use crate::command::Command;
use crate::job::Written;
use crate::report;
use crate::reporting::{Report, ReportForm, Runner};

/// What is known of the test that was running.
pub(super) fn told(command: &Command, written: &Written) -> String {
    let tests = Tests::read(&written.running);
    if let Some(name) = tests.unfinished.last() {
        return format!("the last test that started and did not end is `{}`", named(name));
    }
    if let Some(name) = tests.ended {
        return format!("no test was running; the last that ended is `{}`", named(name));
    }
    let is_tap = command.report == Report::Stdout(ReportForm::Tap);
    let output = String::from_utf8_lossy(&written.stdout.bytes);
    match output.lines().rev().filter(|_| is_tap).find_map(of_tap) {
        Some(name) => format!("the last result that it reported is `{}`", named(name)),
        None if command.runner.is_some_and(Runner::tells_tests) => {
            "the runner has not told of any test that it started".to_owned()
        }
        None => "which test was running is not known of this command".to_owned(),
    }
}

fn named(name: &str) -> String {
    shown(&report::name(0, name))
}

/// The name of the test whose result a line of TAP is.
fn of_tap(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix("ok ").or_else(|| line.strip_prefix("not ok "))?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().trim_start_matches("- ");
    (!name.is_empty()).then_some(name)
}

/// The tests that a runner told of.
#[derive(Default)]
struct Tests<'a> {
    /// Those that started and did not end, in this order.
    unfinished: Vec<&'a str>,
    /// The last that ended.
    ended: Option<&'a str>,
}

impl Tests<'_> {
    /// Only whole lines count: the first may be cut.
    fn read(lines: &[u8]) -> Tests<'_> {
        let mut tests = Tests::default();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
            match line.and_then(|line| line.split_at_checked(1)) {
                Some(("+", name)) if !name.trim().is_empty() => tests.unfinished.push(name),
                Some(("-", name)) if !name.trim().is_empty() => {
                    if let Some(at) = tests.unfinished.iter().rposition(|running| *running == name) {
                        tests.unfinished.remove(at);
                    }
                    tests.ended = Some(name);
                }
                _ => {}
            }
        }
        tests
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Tests;

    fn read(lines: &str) -> (Vec<&str>, Option<&str>) {
        let Tests { unfinished, ended } = Tests::read(lines.as_bytes());
        (unfinished, ended)
    }

    #[test]
    fn a_test_runs_until_it_ends() {
        assert_eq!(read(""), (vec![], None));
        assert_eq!(read("+a\n+b\n-a\n"), (vec!["b"], Some("a")));
        assert_eq!(read("+a\n+a\n-a\n"), (vec!["a"], Some("a")));
        assert_eq!(read("+a\n-a\n"), (vec![], Some("a")));
        assert_eq!(read("t of a name\n+\n+ \n*x\n+b\n+cut"), (vec!["b"], None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(lines: Vec<u8>) {
            let tests = Tests::read(&lines);
            prop_assert!(tests.unfinished.len() <= lines.len());
        }
    }
}
