//! Exit codes: a documented promise to scripts.

use crate::out;
use proofmark_receipt::{SignatureStatus, Trust, Verdict, Verification};

/// What the exit code says. The worst of several answers counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Pass, valid.
    Yes = 0,
    /// Fail, partial, invalid, signed by someone not trusted.
    No = 1,
    /// Error verdict, undecidable, malformed input, wrong usage.
    NoAnswer = 2,
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Exit {
        match verdict {
            Verdict::Pass => Exit::Yes,
            Verdict::Fail | Verdict::Partial => Exit::No,
            Verdict::Error => Exit::NoAnswer,
        }
    }
}

impl From<&Verification> for Exit {
    fn from(verification: &Verification) -> Exit {
        match (&verification.answer, verification.trust) {
            (SignatureStatus::Valid, Trust::Trusted | Trust::Unknown) => Exit::Yes,
            (SignatureStatus::Valid, Trust::Untrusted) => Exit::No,
            (SignatureStatus::Invalid(_), Trust::Trusted | Trust::Untrusted | Trust::Unknown) => Exit::No,
            (SignatureStatus::Undecidable(_), Trust::Trusted | Trust::Untrusted | Trust::Unknown) => Exit::NoAnswer,
        }
    }
}

/// Says on standard error why there is no answer.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    out::say(format_args!("error: failed to {}", words(error)));
    Exit::NoAnswer
}

/// An error and what caused it. An error that quotes its cause is not followed by it.
fn words(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.contains(&cause) {
            words.push_str(": ");
            words.push_str(&cause);
        }
    }
    words
}
