use thiserror::Error;

use crate::json::{self, CanonicalError, Json, Object};
use crate::{
    ChainTip, Detail, Hashes, Receipt, ReceiptError, ReceiptId, Results, SigningKey, Task, Timestamp, Verdict,
    signature,
};

/// A receipt still to be issued.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its id.
    pub receipt_id: ReceiptId,
    /// When the work was verified.
    pub verified_at: Timestamp,
    /// How deep the verification went: 0 to 3.
    pub tier: u8,
    /// What it came to.
    pub verdict: Verdict,
    /// What the work was for.
    pub task: Option<Task>,
    /// The checks.
    pub results: Results,
    /// What exactly was verified.
    pub hashes: Hashes,
    /// Everything else; `issuer_key` and the chain's members are set when it is linked and signed.
    pub metadata: Object,
}

/// Why a document cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignError {
    /// A number other implementations could read differently.
    #[error(
        "`{0}` holds a number other than an integer within ±(2^53−1), which not every reader keeps exactly; write it as a string"
    )]
    UnsafeNumber(String),
    /// A key that canonical forms could sort differently.
    #[error("the key `{0}` is not ASCII, and canonical forms could sort it differently; use an ASCII key")]
    UnsafeKey(String),
    /// Larger than a reader accepts.
    #[error("the document has {0} bytes, more than the {max} a reader accepts; make what it is about smaller", max = json::MAX_BYTES)]
    TooLarge(usize),
    /// The document breaks a rule of its format, or is nested deeper than a reader accepts.
    #[error(transparent)]
    Rule(#[from] ReceiptError),
    /// The profile `vrf` has a form for every document, so this is not met.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Draft {
    /// Appends the draft to the chain that ends in `tip`; `None` starts one.
    pub fn link(&mut self, tip: Option<&ChainTip>) {
        ChainTip::write_link(tip, &mut self.metadata);
    }

    /// Issues the receipt under `key`, which the signed `metadata.issuer_key` names.
    ///
    /// # Errors
    /// [`SignError`] when the draft is outside the safe set, too large, or breaks a rule of the format.
    pub fn sign(mut self, key: &SigningKey) -> Result<Receipt, SignError> {
        self.metadata.insert("issuer_key", key.signer().to_string());
        let mut document = self.document()?;
        signature::sign(&mut document, key)?;
        finish(document)
    }

    /// The receipt without a signature: a claim, not an attestation.
    ///
    /// # Errors
    /// As [`Draft::sign`].
    pub fn unsigned(self) -> Result<Receipt, SignError> {
        finish(self.document()?)
    }

    fn document(self) -> Result<Object, SignError> {
        let mut document = Object::new();
        document.insert("vrf_version", "1.0");
        document.insert("receipt_id", self.receipt_id.to_string());
        document.insert("verified_at", self.verified_at.as_str());
        document.insert("tier", u64::from(self.tier));
        document.insert("verdict", self.verdict.as_str());
        if let Some(task) = self.task {
            document.insert("task", task_object(task));
        }
        document.insert("results", results_object(self.results));
        document.insert("hashes", hashes_object(&self.hashes));
        document.insert("metadata", self.metadata);
        check_safe(&document)?;
        Ok(document)
    }
}

fn finish(document: Object) -> Result<Receipt, SignError> {
    Ok(Receipt::from_document(readable(document)?)?)
}

/// The document as a reader gets it: what is issued, every reader accepts. Too large or too deep is an error of signing.
pub(crate) fn readable(document: Object) -> Result<Json, SignError> {
    let text = Json::Object(document).to_text();
    if text.len() > json::MAX_BYTES {
        return Err(SignError::TooLarge(text.len()));
    }
    Ok(Json::parse(text.as_bytes()).map_err(ReceiptError::from)?)
}

fn task_object(task: Task) -> Object {
    let mut object = Object::new();
    insert_some(&mut object, "task_id", task.task_id);
    insert_some(&mut object, "task_type", task.task_type);
    insert_some(&mut object, "description", task.description);
    object
}

fn results_object(results: Results) -> Object {
    let mut object = Object::new();
    object.insert("total", results.total);
    object.insert("passed", results.passed);
    object.insert("failed", results.failed);
    object.insert("errors", results.errors);
    let details = results.details.into_iter().map(|detail| Json::from(detail_object(detail)));
    object.insert("details", details.collect::<Vec<_>>());
    object
}

fn detail_object(detail: Detail) -> Object {
    let mut object = Object::new();
    object.insert("name", detail.name);
    object.insert("status", detail.status.as_str());
    insert_some(&mut object, "expected", detail.expected);
    insert_some(&mut object, "actual", detail.actual);
    insert_some(&mut object, "elapsed_ms", detail.elapsed_ms);
    insert_some(&mut object, "message", detail.message);
    insert_some(&mut object, "constraint", detail.constraint);
    object
}

fn hashes_object(hashes: &Hashes) -> Object {
    let mut object = Object::new();
    object.insert("specification", hashes.specification.to_string());
    object.insert("output", hashes.output.to_string());
    insert_some(&mut object, "tests", hashes.tests.map(|digest| digest.to_string()));
    object
}

fn insert_some(object: &mut Object, name: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        object.insert(name, value);
    }
}

/// Whether every implementation reads and writes the document alike.
pub(crate) fn check_safe(document: &Object) -> Result<(), SignError> {
    safe_members(document, "")
}

fn safe_members(object: &Object, place: &str) -> Result<(), SignError> {
    object.iter().try_for_each(|(name, value)| {
        let below = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        match name.is_ascii() {
            true => safe(value, &below),
            false => Err(SignError::UnsafeKey(below)),
        }
    })
}

fn safe(value: &Json, place: &str) -> Result<(), SignError> {
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(number) if number.is_safe() => Ok(()),
        Json::Number(_) => Err(SignError::UnsafeNumber(place.to_owned())),
        Json::Array(items) => items.iter().try_for_each(|item| safe(item, place)),
        Json::Object(object) => safe_members(object, place),
    }
}
