//! Who signed a document, in words.

use proofmark_keys::{KnownAs, KnownSigners};
use proofmark_receipt::{SignerId, Trust};

/// As in `signed by default (your key)`.
pub(crate) fn signed_by(known: &KnownSigners, signer: &SignerId, trust: Trust) -> String {
    format!("signed by {}", signer_words(known, signer, trust))
}

/// The signer by the name that the user knows, and whether the command trusts it.
pub(crate) fn signer_words(known: &KnownSigners, signer: &SignerId, trust: Trust) -> String {
    match (trust, known.name(signer)) {
        (Trust::Trusted, Some(KnownAs::Own(name))) => format!("{name} (your key)"),
        (Trust::Trusted, Some(KnownAs::Trusted(name))) => format!("{name} (trusted)"),
        (Trust::Trusted, None) => format!("{signer} (trusted)"),
        (Trust::Untrusted, Some(KnownAs::Own(name))) => {
            format!("{name} (your key), not trusted: `--trust` does not name it, or it ended before")
        }
        (Trust::Untrusted, Some(KnownAs::Trusted(name))) => {
            let kinds = known.trusted_for(signer).map(|may| may.to_string()).unwrap_or_default();
            format!("{name}, not trusted for this: it is known for {kinds}, or `--trust` does not name it")
        }
        (Trust::Untrusted, None) => format!("{signer} (not trusted)"),
        (Trust::Unknown, _) => format!("{signer} (unknown)"),
    }
}
