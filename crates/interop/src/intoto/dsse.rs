//! DSSE 1.0.2: envelopes, in which a signature covers the type of the payload, and each of several keys may sign.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use base64ct::{Base64, Base64Url, Encoding};
use proofmark_receipt::json::{self, Limits};
use proofmark_receipt::{Json, Object, Sha256Digest, SignerId, SigningKey, hex, object, shown};

use super::statement::Statement;
use crate::ExportError;

/// The payload type of in-toto statements.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The largest envelope that is read: the largest statement in base64, and 64 KiB for the rest.
pub const MAX_ENVELOPE_BYTES: usize = json::MAX_BYTES / 3 * 4 + (64 << 10);
/// The most signatures in one envelope. Each is tried with each key.
pub const MAX_SIGNATURES: usize = 64;

/// What the media types of all versions of bundles begin with.
const BUNDLE_TYPES: &str = "application/vnd.dev.sigstore.bundle";
const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// A statement whose envelope verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// The statement inside.
    pub statement: Statement,
    /// The keys that signed it, of those that were asked for.
    pub signers: Vec<SignerId>,
}

/// Puts a statement into an envelope, signed by `key`.
#[must_use]
pub fn envelope(statement: &Object, key: &SigningKey) -> Object {
    let payload = statement.canonical_vrf();
    let signature = object! {
        "keyid": key_id(&key.signer()),
        "sig": Base64::encode_string(&key.sign(&pae(PAYLOAD_TYPE, &payload))),
    };
    object! {
        "payloadType": PAYLOAD_TYPE,
        "payload": Base64::encode_string(&payload),
        "signatures": vec![Json::from(signature)],
    }
}

/// Whether a document claims to be an envelope, alone or in a Sigstore bundle.
#[must_use]
pub fn claimed_by(document: &Object) -> bool {
    document.contains("payloadType") || in_bundle(document).is_some()
}

/// Verifies an envelope, alone or in a Sigstore bundle: at least `threshold` of `keys` have signed it, and it holds a statement.
///
/// A key counts once, however often it is given or signs. Key ids are hints and decide nothing. Members that are not known are
/// ignored, as the format demands: what is signed is the payload and its type.
///
/// # Errors
/// [`ExportError`] names what is wrong. An unknown payload type, and a payload that is not a statement, are told only of an envelope
/// whose signatures fit.
pub fn verify(bytes: &[u8], keys: &[SignerId], threshold: NonZeroUsize) -> Result<Verified, ExportError> {
    let malformed = ExportError::MalformedEnvelope;
    let limits = Limits { max_bytes: MAX_ENVELOPE_BYTES, ..Limits::default() };
    let document = Json::parse_with(bytes, limits).map_err(|_| malformed("it is not JSON, or too large"))?;
    let document = document.as_object().ok_or_else(|| malformed("it is not an object"))?;
    let envelope = in_bundle(document).unwrap_or(document);
    let text = |name| envelope.get(name).and_then(Json::as_str);
    let payload_type = text("payloadType").ok_or_else(|| malformed("`payloadType` is not a string"))?;
    let payload = text("payload").and_then(decode).ok_or_else(|| malformed("`payload` is not base64"))?;
    let signed = pae(payload_type, &payload);
    let signatures = signatures(envelope)?;
    let keys: BTreeSet<SignerId> = keys.iter().copied().collect();
    let has_signed = |key: &SignerId| signatures.iter().any(|signature| key.verify(&signed, signature));
    let signers: Vec<SignerId> = keys.into_iter().filter(has_signed).collect();
    if signers.len() < threshold.get() {
        return Err(ExportError::SignatureMismatch("fewer of the given keys than are needed have signed the envelope"));
    }
    if !is_of_statement(payload_type) {
        return Err(ExportError::UnknownPayloadType(shown(payload_type)));
    }
    Ok(Verified { statement: Statement::read(&payload)?, signers })
}

/// The envelope in a Sigstore bundle 0.3, to be verified with a key that the reader has: it holds no certificate and no entry of a log.
/// `@sigstore/verify` reads it with its thresholds at 0; `sigstore` for Python wants a certificate.
#[must_use]
pub fn bundle(envelope: &Object, signer: &SignerId) -> Object {
    object! {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": object! {
            "publicKey": object! { "hint": key_id(signer) },
            "tlogEntries": Vec::<Json>::new(),
        },
        "dsseEnvelope": envelope.clone(),
    }
}

/// The envelope in a document that claims to be a bundle. What is an envelope itself holds no other one.
fn in_bundle(document: &Object) -> Option<&Object> {
    let media_type = document.get("mediaType").and_then(Json::as_str).filter(|_| !document.contains("payloadType"))?;
    document.get("dsseEnvelope").filter(|_| media_type.starts_with(BUNDLE_TYPES))?.as_object()
}

/// The id of a key as `securesystemslib` derives it, which finds keys by nothing else.
#[must_use]
pub fn key_id(signer: &SignerId) -> String {
    let public = hex::encode(signer.as_bytes());
    let key = object! { "keytype": "ed25519", "keyval": object! { "public": public }, "scheme": "ed25519" };
    Sha256Digest::of(&key.canonical_vrf()).bare_hex()
}

/// The bytes that are signed (DSSE 1.0.2, "Signature Definition"). They begin as those of no other format that is signed here.
fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// The signatures that have the length of Ed25519; others belong to unknown keys.
fn signatures(envelope: &Object) -> Result<Vec<[u8; 64]>, ExportError> {
    let malformed = ExportError::MalformedEnvelope;
    let list = envelope.get("signatures").and_then(Json::as_array);
    let list = list.filter(|list| (1..=MAX_SIGNATURES).contains(&list.len()));
    let list = list.ok_or_else(|| malformed("`signatures` is not a list of 1 to 64"))?;
    let read = |signature: &Json| decode(signature.as_object()?.get("sig")?.as_str()?);
    let all: Option<Vec<Vec<u8>>> = list.iter().map(read).collect();
    let all = all.ok_or_else(|| malformed("a signature has no `sig` in base64"))?;
    Ok(all.into_iter().filter_map(|bytes| bytes.try_into().ok()).collect())
}

/// Either alphabet of base64 (RFC 4648, sections 4 and 5), padded.
fn decode(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text).or_else(|_| Base64Url::decode_vec(text)).ok()
}

/// The type of all in-toto statements, or that of those with one predicate: `application/vnd.in-toto.<predicate>+json`.
fn is_of_statement(payload_type: &str) -> bool {
    let of_predicate =
        payload_type.strip_prefix("application/vnd.in-toto.").and_then(|rest| rest.strip_suffix("+json"));
    payload_type == PAYLOAD_TYPE || of_predicate.is_some_and(|predicate| !predicate.is_empty())
}
