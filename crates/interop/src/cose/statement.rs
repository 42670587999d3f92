//! Signed statements (RFC 9943): a signed document in a `COSE_Sign1`, alone or with COSE receipts of logs.

use proofmark_receipt::{
    InvalidCause, Json, Receipt, ReceiptError, Sha256Digest, SignatureStatus, SignerId, SigningKey, UndecidableCause,
    Verification, json,
};

use super::cbor::{Item, KeyOrder, Map};
use super::receipt::{self, CoseReceipt, MAX_RECEIPT_BYTES};
use super::sign1::{self, ALG, CLAIMS, CONTENT_TYPE, EDDSA, IAT, ISS, KID, RECEIPTS, SUB, Sign1};
use crate::document::{self, Decision, Document};
use crate::{ExportError, a2a};

/// The content type of a statement whose payload is the receipt of a decision. It is not registered.
pub const DECISION_TYPE: &str = "application/verifiedx-decision-receipt+json";

/// The largest statement that is read: the largest document, with receipts of logs and 64 KiB for the headers.
pub const MAX_STATEMENT_BYTES: usize = json::MAX_BYTES + MAX_RECEIPTS * MAX_RECEIPT_BYTES + (64 << 10);

/// The most COSE receipts in one statement.
pub const MAX_RECEIPTS: usize = 16;

/// A statement that verified, with the document inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The receipt or decision inside.
    pub document: Document,
    /// Its verification, which is valid; the statement has the same signer.
    pub verification: Verification,
    /// SHA-256 of the statement without COSE receipts: its entry in a log where it was registered.
    pub entry: Sha256Digest,
    /// The COSE receipts that came with it, not verified ([`Statement::registered_in`]).
    pub receipts: Vec<Vec<u8>>,
}

impl Statement {
    /// What the first COSE receipt says by which the log with this key includes the statement.
    ///
    /// # Errors
    /// [`ExportError`] of the last one when none verifies and is about the same, or when the statement has none.
    pub fn registered_in(&self, log: &SignerId) -> Result<CoseReceipt, ExportError> {
        let subject = self.document.subject().to_string();
        let mut error = ExportError::MalformedReceipt("the statement has none");
        for bytes in &self.receipts {
            match receipt::verify_receipt(bytes, self.entry.as_bytes(), log) {
                Ok(receipt) if receipt.subject.as_ref().is_none_or(|sub| *sub == subject) => return Ok(receipt),
                Ok(_) => error = ExportError::SubjectMismatch,
                Err(other) => error = other,
            }
        }
        Err(error)
    }
}

/// Signs the statement of a receipt or a decision, with the key that signed the document itself (`docs/receipts.md`).
///
/// # Errors
/// [`ExportError::Document`] when the document is not valid under the profile `vrf`, [`ExportError::IssuerMismatch`] when another key
/// signed it.
pub fn sign_statement(document: &Document, key: &SigningKey) -> Result<Vec<u8>, ExportError> {
    let signer = document.signer()?;
    if signer != key.signer() {
        return Err(ExportError::IssuerMismatch);
    }
    let (issuer, subject, kid) = (signer.did_key(), document.subject().to_string(), signer.key_hash());
    let claims = Map::of([
        (ISS, Item::Text(&issuer)),
        (SUB, Item::Text(&subject)),
        // Whole seconds, down also before 1970.
        (IAT, Item::Int(document.judged_at().unix_millis().div_euclid(1000).into())),
    ]);
    let protected = Map::of([
        (ALG, Item::Int(EDDSA)),
        (CONTENT_TYPE, Item::Text(content_type(document))),
        (KID, Item::Bytes(kid.as_bytes())),
        (CLAIMS, Item::Map(claims)),
    ]);
    Ok(sign1::sign(protected, Map::default(), &document.canonical(), false, key))
}

/// Verifies a statement, with or without COSE receipts: its form, its signature, the document inside by that one's own rules, and that
/// the claims are those of the document.
///
/// Trust is in the signers `trusted`, as of [`proofmark_receipt::verify`].
///
/// # Errors
/// [`ExportError`] names what is wrong.
pub fn verify_statement(bytes: &[u8], trusted: &[SignerId]) -> Result<Statement, ExportError> {
    let malformed = ExportError::MalformedStatement;
    let (sign1, protected) = read(bytes)?;
    let payload = sign1.payload.ok_or_else(|| malformed("the payload is missing"))?;
    let kid = protected.get(KID).and_then(Item::as_bytes).filter(|kid| kid.len() == 32);
    let kid = kid.ok_or_else(|| malformed("a `kid` of 32 bytes is missing"))?;
    let claims = protected.get(CLAIMS).and_then(Item::as_map).ok_or_else(|| malformed("the claims are missing"))?;
    let claim = |label| claims.get(label).and_then(Item::as_text);
    let issuer = claim(ISS).ok_or_else(|| malformed("the claim `iss` is missing"))?;
    let subject = claim(SUB).ok_or_else(|| malformed("the claim `sub` is missing"))?;
    let content_type = protected.get(CONTENT_TYPE).and_then(Item::as_text);
    let document = document(content_type.unwrap_or_default(), payload)?;
    let receipts = receipts(&sign1)?.iter().map(|bytes| bytes.to_vec()).collect();
    // The key is the one that `kid` is the digest of, so it matters little where its bytes are found.
    let named = [issuer.parse().ok(), document.as_ref().ok().and_then(Document::named_signer)];
    let key: Option<SignerId> = named.into_iter().flatten().find(|key: &SignerId| key.key_hash().as_bytes() == kid);
    if !key.is_some_and(|key| sign1.is_signed_by(&key, payload)) {
        return Err(ExportError::SignatureMismatch("the key that `kid` names did not sign the statement"));
    }
    let document = document?;
    let (signer, verification) = document::signer(document.verify(trusted))?;
    if subject != document.subject().to_string() {
        return Err(ExportError::SubjectMismatch);
    }
    // So the key is the signer's: it was named as the issuer, or by the document.
    if issuer != signer.did_key() {
        return Err(ExportError::IssuerMismatch);
    }
    Ok(Statement { document, verification, entry: entry(&sign1), receipts })
}

/// Whether bytes claim to be a COSE statement: they begin with the tag 18, as no text does.
#[must_use]
pub fn claimed_by(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0xD2)
}

/// The entry of a statement in a log: SHA-256 of the statement without COSE receipts. Nothing is verified.
///
/// # Errors
/// [`ExportError`] when it is not a statement.
pub fn statement_entry(statement: &[u8]) -> Result<Sha256Digest, ExportError> {
    Ok(entry(&read(statement)?.0))
}

/// Adds a COSE receipt to a statement, which makes it a transparent one (RFC 9943).
///
/// The receipt has to be of the statement itself. That of the document inside would claim a registration that did not happen.
///
/// # Errors
/// [`ExportError`] when the statement cannot be read, has no room, or the receipt does not verify for it under the log's key.
pub fn attach_receipt(statement: &[u8], receipt: &[u8], log: &SignerId) -> Result<Vec<u8>, ExportError> {
    let (sign1, _) = read(statement)?;
    receipt::verify_receipt(receipt, entry(&sign1).as_bytes(), log)?;
    let mut all = receipts(&sign1)?;
    if all.len() == MAX_RECEIPTS {
        return Err(ExportError::MalformedStatement("it has as many COSE receipts as are read"));
    }
    all.push(receipt);
    let mut unprotected = without_receipts(&sign1);
    unprotected.0.push((Item::Int(RECEIPTS), Item::Array(all.into_iter().map(Item::Bytes).collect())));
    Ok(sign1.with_unprotected(unprotected))
}

fn read(bytes: &[u8]) -> Result<(Sign1<'_>, Map<'_>), ExportError> {
    if bytes.len() > MAX_STATEMENT_BYTES {
        return Err(ExportError::MalformedStatement("it is larger than a statement of the largest document"));
    }
    Sign1::read(bytes, KeyOrder::Sorted, ExportError::MalformedStatement)
}

fn content_type(document: &Document) -> &'static str {
    match document {
        Document::Receipt(_) => a2a::MEDIA_TYPE,
        Document::Decision(_) => DECISION_TYPE,
    }
}

/// The document inside. The inner error is that of a document of the right type, which is told after the signature.
fn document(content_type: &str, payload: &[u8]) -> Result<Result<Document, ExportError>, ExportError> {
    match content_type {
        a2a::MEDIA_TYPE => Ok(Receipt::parse(payload).map(Document::from).map_err(|error| unreadable(payload, error))),
        DECISION_TYPE => Ok(match Json::parse(payload) {
            Ok(Json::Object(document)) => Decision::read(document).map(Document::from),
            Ok(_) => Err(ExportError::MalformedStatement("the document inside is not an object")),
            Err(error) => Err(unreadable(payload, error.into())),
        }),
        _ => Err(ExportError::MalformedStatement("the content type is not that of a receipt or a decision")),
    }
}

/// Why a document cannot be read. One that was changed after it was signed is invalid, whichever rule the change breaks.
fn unreadable(payload: &[u8], error: ReceiptError) -> ExportError {
    let status = if is_changed(payload) == Some(true) {
        SignatureStatus::Invalid(InvalidCause::ContentHash)
    } else {
        SignatureStatus::Undecidable(UndecidableCause::Malformed(error))
    };
    ExportError::Document(Box::new(status))
}

/// Whether a document has another hash than its signature says; `None` without a signature.
fn is_changed(payload: &[u8]) -> Option<bool> {
    let Ok(Json::Object(mut document)) = Json::parse(payload) else { return None };
    let signature = document.remove("signature")?;
    let claimed = signature.as_object()?.get("content_hash")?.as_str()?;
    let hash = Sha256Digest::of(&document.canonical_vrf());
    Some(claimed != hash.bare_hex() && claimed != hash.to_string())
}

/// The COSE receipts in the unprotected header: one or more, each in bytes.
fn receipts<'a>(sign1: &Sign1<'a>) -> Result<Vec<&'a [u8]>, ExportError> {
    let Some(list) = sign1.unprotected().get(RECEIPTS) else { return Ok(Vec::new()) };
    let list = list.as_array().filter(|list| (1..=MAX_RECEIPTS).contains(&list.len()));
    let bytes = list.and_then(|list| list.iter().map(Item::as_bytes).collect());
    bytes.ok_or(ExportError::MalformedStatement("`receipts` is not a list of 1 to 16 COSE receipts in bytes"))
}

fn without_receipts<'a>(sign1: &Sign1<'a>) -> Map<'a> {
    let others = sign1.unprotected().0.iter().filter(|(label, _)| *label != Item::Int(RECEIPTS));
    Map(others.cloned().collect())
}

fn entry(sign1: &Sign1<'_>) -> Sha256Digest {
    Sha256Digest::of(&sign1.with_unprotected(without_receipts(sign1)))
}
