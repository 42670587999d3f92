//! Who signed a document, in words.

use proofmark_receipt::{SignerId, Trust};
use proofmark_verifier::{KnownAs, KnownSigners};

/// The signer by the name that the user knows, and whether the command trusts it.
pub(crate) fn signed_by(known: &KnownSigners, signer: &SignerId, trust: Trust) -> String {
    let name = known.name(signer);
    match (trust, name) {
        (Trust::Trusted, Some(KnownAs::Own(name))) => format!("signed by {name} (your key)"),
        (Trust::Trusted, Some(KnownAs::Trusted(name))) => format!("signed by {name} (trusted)"),
        (Trust::Trusted, None) => format!("signed by {signer} (trusted)"),
        (Trust::Untrusted, Some(KnownAs::Own(name))) => {
            format!("signed by {name} (your key), not trusted: `--trust` does not name it")
        }
        (Trust::Untrusted, Some(KnownAs::Trusted(name))) => {
            format!("signed by {name}, not trusted: `--trust` does not name it")
        }
        (Trust::Untrusted, None) => format!("signed by {signer} (not trusted)"),
        (Trust::Unknown, _) => format!("signed by {signer} (unknown)"),
    }
}
