//! The reports of test runners. They are written by the process of the submission, so they are read as hostile text:
//! one that is cut, empty or contradicts itself is no answer.

mod junit;
mod tap;

use proofmark_receipt::{Detail, Status};

use crate::caps::MAX_NAME_CHARS;
use crate::caps::MAX_TESTS;

/// Why a report is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadReport(String);

/// One test as a report has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    name: String,
    status: Status,
    message: Option<String>,
    elapsed_ms: Option<u64>,
}

/// The tests of a report in JUnit's XML.
pub(crate) fn junit(bytes: &[u8]) -> Result<Vec<Detail>, BadReport> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad("the report is no UTF-8"))?;
    details(junit::read(text)?)
}

/// The tests of TAP on standard output; `None` where there is none.
pub(crate) fn tap(bytes: &[u8]) -> Option<Result<Vec<Detail>, BadReport>> {
    let text = String::from_utf8_lossy(bytes);
    let begins = text.lines().any(|line| line.starts_with("TAP version ") || line.starts_with("1.."));
    begins.then(|| tap::read(&text).and_then(details))
}

fn bad(why: impl Into<String>) -> BadReport {
    BadReport(why.into())
}

fn details(tests: Vec<Reported>) -> Result<Vec<Detail>, BadReport> {
    if tests.is_empty() {
        return Err(bad("the report holds no tests"));
    }
    if tests.len() > MAX_TESTS {
        return Err(bad(format!("the report holds more than {MAX_TESTS} tests")));
    }
    let detail = |test: Reported| Detail {
        name: test.name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect(),
        status: test.status,
        expected: None,
        actual: None,
        elapsed_ms: test.elapsed_ms,
        message: test.message,
        constraint: None,
    };
    Ok(tests.into_iter().map(detail).collect())
}
