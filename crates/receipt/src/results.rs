use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::shown;

/// The result of a verification (VRF 1.0, "Verdict Semantics").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every check passed.
    Pass,
    /// The work does not meet its specification.
    Fail,
    /// Some checks passed, some did not.
    Partial,
    /// The verification failed; this says nothing about the work.
    Error,
}

/// The text is not one of the words of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {what} `{found}`")]
pub struct UnknownWordError {
    found: String,
    what: &'static str,
    words: &'static str,
}

impl UnknownWordError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some(format!("write one of {}", self.words))
    }
}

impl Verdict {
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
                found: shown(other),
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

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pass,
    Fail,
    /// The check has no result, for example because the submission crashed.
    Error,
}

impl Status {
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
            other => Err(UnknownWordError { found: shown(other), what: "status", words: "`pass`, `fail`, `error`" }),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose process decided whether an answer is the one expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// That of the verifier, which never loads the submission.
    Verifier,
    /// That of the submission, which could have decided otherwise than the test says.
    Submission,
}

impl DecidedBy {
    /// The word in receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verifier => "verifier",
            Self::Submission => "submission",
        }
    }
}

impl FromStr for DecidedBy {
    type Err = UnknownWordError;

    fn from_str(word: &str) -> Result<Self, UnknownWordError> {
        match word {
            "verifier" => Ok(Self::Verifier),
            "submission" => Ok(Self::Submission),
            other => Err(UnknownWordError { found: shown(other), what: "decided", words: "`verifier`, `submission`" }),
        }
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One check (VRF 1.0, `results.details[]`; `decided`, `input`, `difference`, `location`, `stdout` and `stderr` are Proofmark's).
///
/// The texts are excerpts: the issuer limits their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    pub name: String,
    pub status: Status,
    /// Who decided it. A check that does not say so counts as decided by the submission.
    pub decided: Option<DecidedBy>,
    /// What the submission was given: its arguments, an expression, or standard input.
    pub input: Option<String>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// How the actual answer differs from the expected one, in lines.
    pub difference: Option<String>,
    /// Where it failed, as `file:line`.
    pub location: Option<String>,
    /// What the submission wrote to standard output while it was checked.
    pub stdout: Option<String>,
    /// What the submission wrote to standard error while it was checked.
    pub stderr: Option<String>,
    pub elapsed_ms: Option<u64>,
    /// Why it failed or could not be judged.
    pub message: Option<String>,
    pub constraint: Option<String>,
}

impl Detail {
    /// A check of which only the name and the status are stated.
    pub fn new(name: impl Into<String>, status: Status) -> Self {
        Self {
            name: name.into(),
            status,
            decided: None,
            input: None,
            expected: None,
            actual: None,
            difference: None,
            location: None,
            stdout: None,
            stderr: None,
            elapsed_ms: None,
            message: None,
            constraint: None,
        }
    }
}

/// The results of all checks (VRF 1.0, `results`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Always the sum of the other three.
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    /// In suite order. Hidden tests are counted and left out.
    pub details: Vec<Detail>,
}

impl Results {
    /// The results of these checks.
    pub fn from_details(details: Vec<Detail>) -> Self {
        let mut results = Self { details, ..Self::default() };
        (results.passed, results.failed, results.errors) = results.count_details();
        results.total = results.passed + results.failed + results.errors;
        results
    }

    /// Passed, failed and errors among the details.
    pub(crate) fn count_details(&self) -> (u64, u64, u64) {
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
