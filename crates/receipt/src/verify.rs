use crate::error::ReceiptError;
use crate::json::Profile;
use crate::results::{Results, Verdict};
use crate::verification::{InvalidCause, NotValid, SignatureStatus, Trust, UndecidableCause, Verification};
use crate::{Receipt, SignerId};

/// Verifies the receipt in `bytes`: the format, then the hash in canonical form `profile`, then the signature.
///
/// Trust is in the signers `trusted`; without any it is unknown, never trusted.
pub fn verify(bytes: &[u8], profile: Profile, trusted: &[SignerId]) -> Verification {
    match Receipt::parse(bytes) {
        Ok(receipt) => verify_receipt(&receipt, profile, trusted),
        Err(error) => Verification {
            answer: SignatureStatus::Undecidable(UndecidableCause::Malformed(error)),
            trust: Trust::Unknown,
            signer: None,
            hint: None,
        },
    }
}

/// As [`verify`], of a parsed receipt.
pub fn verify_receipt(receipt: &Receipt, profile: Profile, trusted: &[SignerId]) -> Verification {
    match check(receipt, profile) {
        Ok(signer) => Verification {
            answer: SignatureStatus::Valid,
            trust: Trust::in_signer(signer, trusted),
            signer: Some(signer),
            hint: None,
        },
        Err(cause) => Verification {
            hint: hint(receipt, profile, &cause),
            answer: cause.into(),
            // Anyone can name a trusted signer in a document that is not valid.
            trust: Trust::Unknown,
            signer: None,
        },
    }
}

fn check(receipt: &Receipt, profile: Profile) -> Result<SignerId, NotValid> {
    let signature = receipt.signature().ok_or(UndecidableCause::Unsigned)?;
    let signer = signature.verify(receipt.object(), receipt.metadata().get("issuer_key"), profile)?;
    // The signature first: a receipt whose verdict was changed is not what its signer signed.
    agree(receipt).map_err(UndecidableCause::Malformed)?;
    Ok(signer)
}

/// Checks that the verdict can be that of the counts. A project's tests can all pass and its command fail, so `fail` can have any,
/// and `error` says nothing about the work.
fn agree(receipt: &Receipt) -> Result<(), ReceiptError> {
    let (verdict, &Results { total, passed, .. }) = (receipt.verdict(), receipt.results());
    let agrees = match verdict {
        Verdict::Pass => passed == total && total > 0,
        Verdict::Partial => passed > 0 && passed < total,
        Verdict::Fail | Verdict::Error => true,
    };
    if agrees { Ok(()) } else { Err(ReceiptError::VerdictMismatch { verdict, passed, total }) }
}

/// Another profile under which the receipt would verify. It explains the failure and never makes the receipt valid.
fn hint(receipt: &Receipt, asked: Profile, cause: &NotValid) -> Option<Profile> {
    match cause {
        // Only causes that another canonical form can explain; the others do not depend on the profile.
        NotValid::Invalid(InvalidCause::ContentHash)
        | NotValid::Undecidable(UndecidableCause::NoCanonicalForm(_) | UndecidableCause::SignerSpelling) => {
            Profile::ALL.into_iter().find(|profile| *profile != asked && check(receipt, *profile).is_ok())
        }
        NotValid::Invalid(_) | NotValid::Undecidable(_) => None,
    }
}
