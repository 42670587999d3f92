use crate::error::ReceiptError;
use crate::hex;
use crate::json::{CanonicalError, Json, Object, Profile, canonical_without, check_exact};
use crate::key::SigningKey;
use crate::members::Members;
use crate::safe::{SignError, check_readable, check_safe};
use crate::verification::{InvalidCause, NotValid, SignatureStatus, Trust, UndecidableCause, Verification};
use crate::{Sha256Digest, SignerId, object, shown};

/// The only algorithm of VRF 1.0.
const ALGORITHM: &str = "ed25519";

/// The members of the `signature` object: all are required, others are refused.
const MEMBERS: [&str; 4] = ["algorithm", "signer_id", "content_hash", "signature"];

/// The `signature` object, as written (VRF 1.0, "`signature` object").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// `ed25519`, or an unknown algorithm.
    pub algorithm: String,
    /// The signer's public key, in a form that [`SignerId`] reads.
    pub signer_id: String,
    /// 64 hex digits, with or without `sha256:`; the signature is over this ASCII text.
    pub content_hash: String,
    /// 128 lower-case hex digits: one spelling, so that a signed receipt has one hash.
    pub signature: String,
}

impl Signature {
    pub(crate) fn read(members: Members<'_>) -> Result<Self, ReceiptError> {
        // No signature covers this object: anyone could add a member to a receipt that stays valid.
        members.only(&MEMBERS)?;
        Ok(Self {
            algorithm: members.string("algorithm")?.to_owned(),
            signer_id: members.string("signer_id")?.to_owned(),
            content_hash: members.string("content_hash")?.to_owned(),
            signature: members.string("signature")?.to_owned(),
        })
    }

    /// Verifies this signature of `signed`, the document that holds it:
    ///
    /// 1. `content_hash` = hex(SHA-256(canonical_profile(signed without `signature`)));
    /// 2. Ed25519-verify-strict(`signer_id`, ASCII(`content_hash`), `signature`): RFC 8032, section 5.1.7, without its
    ///    cofactored leniency. Small-order keys and non-canonical encodings are refused, so all verifiers agree;
    /// 3. `issuer_key` = `signer_id`, where the document has one. It is inside the hash and `signer_id` is not, so a
    ///    second signer cannot pass the content off as his own.
    pub(crate) fn verify(
        &self,
        signed: &Object,
        issuer_key: Option<&Json>,
        profile: Profile,
    ) -> Result<SignerId, NotValid> {
        if self.algorithm != ALGORITHM {
            return Err(UndecidableCause::UnknownAlgorithm(shown(&self.algorithm)).into());
        }
        let signer = self.signer(profile)?;
        let claimed = Sha256Digest::from_content_hash(&self.content_hash);
        let claimed = claimed.ok_or(UndecidableCause::MalformedContentHash)?;
        let bytes = hex::decode_lower::<64>(&self.signature).ok_or(UndecidableCause::MalformedSignature)?;
        // A number that two readers understand differently may stand for two values under one hash.
        check_exact(signed, profile).map_err(UndecidableCause::NoCanonicalForm)?;
        // Both checks are needed: the signature covers only the text of the hash, and only the hash
        // covers the document.
        if content_hash(signed, profile).map_err(UndecidableCause::NoCanonicalForm)? != claimed {
            return Err(InvalidCause::ContentHash.into());
        }
        // The text as written: an issuer who begins it with `sha256:` has signed that, too.
        if !signer.verify(self.content_hash.as_bytes(), &bytes) {
            return Err(InvalidCause::Signature.into());
        }
        // The same text, not the same key: outside the profile `vrf` a key has several spellings, of which the issuer
        // has signed one.
        if issuer_key.is_none_or(|issuer| issuer.as_str() == Some(&self.signer_id)) {
            Ok(signer)
        } else {
            Err(InvalidCause::IssuerKey.into())
        }
    }

    /// The signer. `signer_id` is not signed, so under the profile `vrf` it has one spelling: otherwise anyone could
    /// respell it in a receipt that stays valid, and change the receipt's hash.
    fn signer(&self, profile: Profile) -> Result<SignerId, UndecidableCause> {
        let signer: SignerId = self.signer_id.parse().map_err(UndecidableCause::SignerId)?;
        if profile != Profile::Vrf || signer.is_written(&self.signer_id) {
            Ok(signer)
        } else {
            Err(UndecidableCause::SignerSpelling)
        }
    }
}

/// SHA-256(canonical_profile(document without `signature`)): `docs/receipts.md`, "Canonical form".
pub(crate) fn content_hash(document: &Object, profile: Profile) -> Result<Sha256Digest, CanonicalError> {
    canonical_without(document, "signature", profile).map(|bytes| Sha256Digest::of(&bytes))
}

/// Adds the member `signature`: Ed25519(key, ASCII(hex(content_hash(document)))), RFC 8032, section 5.1.6.
///
/// VRF 1.0 signs the hex text of the hash, not its 32 bytes.
pub(crate) fn sign(document: &mut Object, key: &SigningKey) -> Result<(), CanonicalError> {
    let signature = of_content(&content_hash(document, Profile::Vrf)?, key);
    document.insert("signature", signature);
    Ok(())
}

/// The member `signature` of a document whose content has this hash.
pub(crate) fn of_content(content_hash: &Sha256Digest, key: &SigningKey) -> Object {
    let content_hash = content_hash.bare_hex();
    object! {
        "algorithm": ALGORITHM,
        "signer_id": key.signer().to_string(),
        "content_hash": content_hash.as_str(),
        "signature": hex::encode(&key.sign(content_hash.as_bytes())),
    }
}

/// Signs a document of another format as receipts are signed: names the signer in `issuer_key`, at the top, and adds the
/// member `signature`.
///
/// # Errors
/// [`SignError`] when the document is outside the safe set, too large or too deep.
pub fn sign_document(document: &mut Object, key: &SigningKey) -> Result<(), SignError> {
    document.remove("signature");
    document.insert("issuer_key", key.signer().to_string());
    check_safe(document)?;
    sign(document, key)?;
    // Once it is signed: the limit on bytes includes the signature.
    check_readable(document)
}

/// Verifies what [`sign_document`] signed, as [`crate::verify`] does a receipt.
pub fn verify_document(document: &Object, trusted: &[SignerId]) -> Verification {
    match check_document(document) {
        Ok(signer) => {
            let trust = Trust::in_signer(signer, trusted);
            Verification { answer: SignatureStatus::Valid, trust, signer: Some(signer), hint: None }
        }
        Err(cause) => Verification { answer: cause.into(), trust: Trust::Unknown, signer: None, hint: None },
    }
}

fn check_document(document: &Object) -> Result<SignerId, NotValid> {
    if !document.contains("signature") {
        return Err(UndecidableCause::Unsigned.into());
    }
    let members = Members::of(document).object("signature");
    let signature = members.and_then(Signature::read).map_err(UndecidableCause::Malformed)?;
    // Unlike a receipt, such a document must have an `issuer_key`; `null` never equals the signer.
    signature.verify(document, Some(document.get("issuer_key").unwrap_or(&Json::Null)), Profile::Vrf)
}
