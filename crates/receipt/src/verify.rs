use crate::json::Profile;
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
    receipt.results().agree_with(receipt.verdict()).map_err(UndecidableCause::Malformed)?;
    Ok(signer)
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
