//! Whether a result reports tests that failed.

use proofmark_receipt::Json;

/// Summaries stand in the first line or in the last ones; in between, an output may quote anything.
const LAST_LINES: usize = 8;
/// The longest line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 512;

const FAILED: [&str; 5] = ["failed", "failing", "failures", "failure", "fail"];
/// What is counted, between the number and the word.
const COUNTED: [&str; 10] =
    ["test", "tests", "check", "checks", "spec", "specs", "example", "examples", "suite", "suites"];

/// Whether a result says how many tests failed, and that is not none.
pub(super) fn are_reported(result: &Json) -> bool {
    match result {
        Json::String(text) => in_text(text),
        Json::Object(object) => {
            let counts =
                |name: &str| object.get(name).and_then(Json::as_number).is_some_and(|count| !is_zero(count.as_str()));
            FAILED.iter().any(|name| counts(name))
                || ["tests_failed", "failed_tests", "exit_code", "exitCode", "returncode"].iter().any(|name| counts(name))
                || object.get("passed").and_then(Json::as_bool) == Some(false)
                // Of a command, with its streams beside its exit code.
                || ["output", "stdout", "text"].iter().any(|name| object.get(name).and_then(Json::as_str).is_some_and(in_text))
        }
        _ => false,
    }
}

fn is_zero(number: &str) -> bool {
    number.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-'))
}

fn in_text(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines()
        .next()
        .into_iter()
        .chain(lines().rev().take(LAST_LINES))
        .filter(|line| line.len() <= MAX_LINE_BYTES)
        .any(in_line)
}

/// Whether a line has a number of failures, as `3 tests failed`, `failures=3` and `# fail 3`.
fn in_line(line: &str) -> bool {
    let line = line.to_lowercase();
    let words: Vec<&str> =
        line.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_count =
        |word: Option<&&str>| word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && !is_zero(word));
    let before = words.iter().enumerate().any(|(at, word)| {
        let last = at.checked_sub(1).and_then(|at| words.get(at));
        let skipped = at.checked_sub(2).and_then(|at| words.get(at));
        FAILED.contains(word)
            && (is_count(last) || (last.is_some_and(|last| COUNTED.contains(last)) && is_count(skipped)))
    });
    // After the word, a number counts only where a sign says so: `0 failed, 3 passed` has one, too.
    let after = FAILED.iter().flat_map(|word| line.match_indices(word).map(|(at, word)| at + word.len())).any(|end| {
        let rest = line.get(end..).unwrap_or_default();
        let value = rest.trim_start().strip_prefix([':', '=']);
        value.is_some_and(|value| {
            is_count(
                value
                    .split_whitespace()
                    .next()
                    .map(|word| word.trim_end_matches(|letter: char| !letter.is_ascii_digit()))
                    .as_ref(),
            )
        })
    });
    let tap = words.len() == 2 && words.first() == Some(&"fail") && is_count(words.get(1));
    before || after || tap || line.starts_with("not ok ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_tests_are_read() {
        for (text, expected) in [
            ("tests failed: 3", true),
            ("3 tests failed", true),
            ("================ 1 failed, 12 passed in 0.31s ================", true),
            ("test result: FAILED. 3 passed; 1 failed; 0 ignored", true),
            ("FAILED (failures=2)", true),
            ("# pass 3\n# fail 1\n# cancelled 0", true),
            ("Tests:       2 failed, 8 passed, 10 total", true),
            ("  1 failing\n\n  1) a test", true),
            ("not ok 3 - adds", true),
            ("0 failed, 3 passed", false),
            ("test result: ok. 3 passed; 0 failed; 0 ignored", false),
            ("tests failed: 0", false),
            ("FAILED (failures=0)", false),
            ("# pass 3\n# fail 0", false),
            ("wrote failed.txt", false),
            ("booked", false),
        ] {
            assert_eq!(are_reported(&Json::from(text)), expected, "{text}");
        }
        let quoted = format!("a\n{}", "3 tests failed\n".repeat(3)) + &"line\n".repeat(9);
        assert!(!are_reported(&Json::from(quoted.as_str())), "what an output quotes in its middle");
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        assert!(are_reported(&json(r#"{"exit_code": 1}"#)) && are_reported(&json(r#"{"stdout": "1 failed"}"#)));
        assert!(!are_reported(&json(r#"{"exit_code": 0, "failed": 0, "stdout": "0 failed"}"#)));
    }
}
