//! What came of one check.

use proofmark_receipt::Status;

use super::Fault;
use crate::difference::Difference;

/// What came of one check.
pub(super) struct Check {
    pub(super) status: Status,
    pub(super) fault: Option<Fault>,
    pub(super) expected: Option<String>,
    pub(super) actual: Option<String>,
    pub(super) difference: Difference,
    pub(super) message: Option<String>,
    /// Replaces the message of a hidden check where the message reveals part of the suite.
    pub(super) hidden: Option<&'static str>,
}

impl Check {
    /// A check that could not be judged for a reason outside the submission.
    pub(super) fn broken(why: &str) -> Check {
        Check { fault: Some(Fault::Verifier), ..Check::unanswered(why.to_owned()) }
    }

    /// A check the submission gave no answer to.
    pub(super) fn unanswered(message: String) -> Check {
        Check {
            status: Status::Error,
            fault: Some(Fault::Submission),
            expected: None,
            actual: None,
            difference: Difference::default(),
            message: Some(message),
            hidden: None,
        }
    }

    /// A check that the submission would have decided, in a suite whose checks the verifier decides.
    pub(super) fn undecided(why: &str) -> Check {
        Check::unanswered(format!(
            "the submission would decide it: {why}; write one call of a function, or leave `decided` out of the suite"
        ))
    }

    /// A check of the right answer.
    pub(super) fn right(actual: String) -> Check {
        Check {
            status: Status::Pass,
            fault: None,
            actual: Some(actual),
            message: None,
            ..Check::unanswered(String::new())
        }
    }

    /// A check of a wrong answer.
    pub(super) fn wrong(actual: String, difference: Difference, message: Option<String>) -> Check {
        Check { status: Status::Fail, difference, message, ..Check::right(actual) }
    }
}
