use crate::hex;
use crate::json::{CanonicalError, Json, Object, Profile, canonical_without, check_exact};
use crate::key::SigningKey;
use crate::members::Members;
use crate::receipt::ReceiptError;
use crate::verify::{InvalidCause, NotValid, SignatureStatus, Trust, UndecidableCause, Verification};
use crate::{Sha256Digest, SignError, SignerId, draft};

/// The only algorithm of VRF 1.0.
const ALGORITHM: &str = "ed25519";

/// The members of the `signature` object, all there and no others.
const MEMBERS: [&str; 4] = ["algorithm", "signer_id", "content_hash", "signature"];

/// The `signature` object, as written (VRF 1.0, "`signature` object").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// `ed25519`, or the name of an algorithm this does not know.
    pub algorithm: String,
    /// The signer's public key; [`SignerId`] says which forms there are.
    pub signer_id: String,
    /// 64 hex digits, with or without `sha256:`; its ASCII text is what is signed.
    pub content_hash: String,
    /// 128 lower-case hex digits: one spelling, so that a signed receipt has one hash.
    pub signature: String,
}

impl Signature {
    pub(crate) fn read(members: Members<'_>) -> Result<Self, ReceiptError> {
        members.only(&MEMBERS)?;
        Ok(Self {
            algorithm: members.string("algorithm")?.to_owned(),
            signer_id: members.string("signer_id")?.to_owned(),
            content_hash: members.string("content_hash")?.to_owned(),
            signature: members.string("signature")?.to_owned(),
        })
    }

    /// Checks this signature of `signed`, the document it stands in: first the hash, then Ed25519, then that `issuer_key`,
    /// where the document has one, is the same text as `signer_id`.
    ///
    /// Ed25519-verify-strict(signer, ASCII(content_hash), signature), RFC 8032 section 5.1.7 without its cofactored
    /// leniency: small-order keys and non-canonical encodings are refused, so all verifiers agree.
    pub(crate) fn check(
        &self,
        signed: &Object,
        issuer_key: Option<&Json>,
        profile: Profile,
    ) -> Result<SignerId, NotValid> {
        if self.algorithm != ALGORITHM {
            return Err(UndecidableCause::UnknownAlgorithm(self.algorithm.chars().take(40).collect()).into());
        }
        let signer = self.signer(profile)?;
        let claimed = Sha256Digest::from_content_hash(&self.content_hash);
        let claimed = claimed.ok_or(UndecidableCause::MalformedContentHash)?;
        let bytes = hex::decode_lower::<64>(&self.signature).ok_or(UndecidableCause::MalformedSignature)?;
        check_exact(signed, profile).map_err(UndecidableCause::NoCanonicalForm)?;
        if content_hash(signed, profile).map_err(UndecidableCause::NoCanonicalForm)? != claimed {
            return Err(InvalidCause::ContentHash.into());
        }
        if !signer.verify(self.content_hash.as_bytes(), &bytes) {
            return Err(InvalidCause::Signature.into());
        }
        match issuer_key.is_none_or(|issuer| issuer.as_str() == Some(&self.signer_id)) {
            true => Ok(signer),
            false => Err(InvalidCause::IssuerKey.into()),
        }
    }

    /// The signer. `signer_id` is not signed, so the profile of what is issued here knows one spelling of it only:
    /// otherwise anybody could respell it in a receipt that stays valid.
    fn signer(&self, profile: Profile) -> Result<SignerId, UndecidableCause> {
        let signer: SignerId = self.signer_id.parse().map_err(UndecidableCause::SignerId)?;
        match profile != Profile::Vrf || signer.to_string() == self.signer_id {
            true => Ok(signer),
            false => Err(UndecidableCause::SignerSpelling),
        }
    }
}

/// SHA-256 of the canonical document without its own `signature`.
pub(crate) fn content_hash(document: &Object, profile: Profile) -> Result<Sha256Digest, CanonicalError> {
    canonical_without(document, "signature", profile).map(|bytes| Sha256Digest::of(&bytes))
}

/// Signs `document` in place: adds the member `signature`.
pub(crate) fn sign(document: &mut Object, key: &SigningKey) -> Result<(), CanonicalError> {
    let content_hash = content_hash(document, Profile::Vrf)?.bare_hex();
    let mut signature = Object::new();
    signature.insert("algorithm", ALGORITHM);
    signature.insert("signer_id", key.signer().to_string());
    signature.insert("content_hash", content_hash.as_str());
    signature.insert("signature", hex::encode(&key.sign(content_hash.as_bytes())));
    document.insert("signature", signature);
    Ok(())
}

/// Signs a document of another format as receipts are signed: names the signer in `issuer_key`, at the top, and adds the
/// member `signature`.
///
/// # Errors
/// [`SignError`] when the document is outside the safe set, too large or too deep.
pub fn sign_document(document: &mut Object, key: &SigningKey) -> Result<(), SignError> {
    document.remove("signature");
    document.insert("issuer_key", key.signer().to_string());
    draft::check_safe(document)?;
    sign(document, key)?;
    draft::readable(document.clone()).map(|_| ())
}

/// Verifies what [`sign_document`] signed, as [`crate::verify`] does a receipt.
pub fn verify_document(document: &Object, trusted: &[SignerId]) -> Verification {
    match check_document(document) {
        Ok(signer) => {
            let trust = Trust::in_signer(signer, trusted);
            Verification { answer: SignatureStatus::Valid, trust, signer: Some(signer), hint: None }
        }
        Err(verdictless) => {
            Verification { answer: verdictless.into(), trust: Trust::Unknown, signer: None, hint: None }
        }
    }
}

fn check_document(document: &Object) -> Result<SignerId, NotValid> {
    if !document.contains("signature") {
        return Err(UndecidableCause::Unsigned.into());
    }
    let members = Members::of(document).object("signature");
    let signature = members.and_then(Signature::read).map_err(UndecidableCause::Malformed)?;
    // `null` stands for an `issuer_key` that is not there: it never names the signer.
    signature.check(document, Some(document.get("issuer_key").unwrap_or(&Json::Null)), Profile::Vrf)
}
