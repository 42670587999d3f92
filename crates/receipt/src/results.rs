use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What the whole verification came to (VRF 1.0, "Verdict Semantics").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All checks succeeded.
    Pass,
    /// The work does not meet its specification.
    Fail,
    /// Some checks passed, some did not.
    Partial,
    /// Verification itself failed; not a judgment on the work.
    Error,
}

/// The text is none of the words it may be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{found}` is not a {what}; write one of {words}")]
pub struct UnknownWordError {
    found: String,
    what: &'static str,
    words: &'static str,
}

impl Verdict {
    /// The word in the receipt.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Partial => "partial",
            Self::Error => "error",
        }
    }
}

impl FromStr for Verdict {
    type Err = UnknownWordError;

    fn from_str(word: &str) -> Result<Self, UnknownWordError> {
        match word {
            "pass" => Ok(Self::Pass),
            "fail" => Ok(Self::Fail),
            "partial" => Ok(Self::Partial),
            "error" => Ok(Self::Error),
            other => Err(UnknownWordError {
                found: other.chars().take(40).collect(),
                what: "verdict",
                words: "`pass`, `fail`, `partial`, `error`",
            }),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The right answer.
    Pass,
    /// A wrong answer.
    Fail,
    /// No answer.
    Error,
}

impl Status {
    /// The word in the receipt.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

impl FromStr for Status {
    type Err = UnknownWordError;

    fn from_str(word: &str) -> Result<Self, UnknownWordError> {
        match word {
            "pass" => Ok(Self::Pass),
            "fail" => Ok(Self::Fail),
            "error" => Ok(Self::Error),
            other => Err(UnknownWordError {
                found: other.chars().take(40).collect(),
                what: "status",
                words: "`pass`, `fail`, `error`",
            }),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One check (VRF 1.0, `results.details[]`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The check's name.
    pub name: String,
    /// What it came to.
    pub status: Status,
    /// What was expected.
    pub expected: Option<String>,
    /// What came.
    pub actual: Option<String>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// Why it failed or could not be judged.
    pub message: Option<String>,
    /// The constraint it checked.
    pub constraint: Option<String>,
}

/// All checks (VRF 1.0, `results`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// How many checks there were: always the sum of the other three.
    pub total: u64,
    /// How many passed.
    pub passed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many gave no answer.
    pub errors: u64,
    /// The checks in suite order; may leave some out.
    pub details: Vec<Detail>,
}

impl Results {
    /// The results these checks add up to.
    pub fn from_details(details: Vec<Detail>) -> Self {
        let mut results = Self { details, ..Self::default() };
        (results.passed, results.failed, results.errors) = results.shown();
        results.total = results.passed + results.failed + results.errors;
        results
    }

    /// Passed, failed and errors among the details.
    pub(crate) fn shown(&self) -> (u64, u64, u64) {
        let (mut passed, mut failed, mut errors) = (0, 0, 0);
        for detail in &self.details {
            match detail.status {
                Status::Pass => passed += 1,
                Status::Fail => failed += 1,
                Status::Error => errors += 1,
            }
        }
        (passed, failed, errors)
    }
}
