//! Exit codes: a documented promise to scripts.

use proofmark_receipt::{Answer, SignatureStatus, Trust, Verdict, Verification};

/// The exit code. Of several results the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Pass, valid, accepted, allowed.
    Yes = 0,
    /// Fail, partial, invalid, rejected, blocked, signed by a signer that is not trusted.
    No = 1,
    /// Error verdict, undecidable, malformed input, wrong usage.
    NoAnswer = 2,
    /// Ended by Ctrl-C, as shells report it.
    Interrupted = 130,
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

impl From<Answer> for Exit {
    fn from(answer: Answer) -> Exit {
        match answer {
            Answer::Valid => Exit::Yes,
            Answer::Invalid => Exit::No,
            Answer::Undecidable => Exit::NoAnswer,
        }
    }
}

impl From<&Verification> for Exit {
    fn from(verification: &Verification) -> Exit {
        match (&verification.answer, verification.trust) {
            // Trust is unknown only where the caller named no trusted signer, and so did not ask for it.
            (SignatureStatus::Valid, Trust::Trusted | Trust::Unknown) => Exit::Yes,
            (SignatureStatus::Valid, Trust::Untrusted) => Exit::No,
            (SignatureStatus::Invalid(_), Trust::Trusted | Trust::Untrusted | Trust::Unknown) => Exit::No,
            (SignatureStatus::Undecidable(_), Trust::Trusted | Trust::Untrusted | Trust::Unknown) => Exit::NoAnswer,
        }
    }
}
