//! What came of one check.

use proofmark_receipt::Status;

use super::Fault;

/// What came of one check.
pub(super) struct Check {
    pub(super) status: Status,
    pub(super) fault: Option<Fault>,
    pub(super) expected: Option<String>,
    pub(super) actual: Option<String>,
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
            message: Some(message),
            hidden: None,
        }
    }

    pub(super) fn answered(right: bool, actual: String, message: Option<String>) -> Check {
        let status = if right { Status::Pass } else { Status::Fail };
        let message = message.filter(|_| !right);
        Check { status, fault: None, expected: None, actual: Some(actual), message, hidden: None }
    }
}
