use proofmark_receipt::{Json, Object, Sha256Digest, object};

use crate::ExportError;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The member of predicates that ties a statement to the document it restates. Readers ignore members that they do not know.
const EXTENSION: &str = "proofmark_receipt";

/// An in-toto statement 1, with its rules checked: at least one subject, each with a digest, and a type of predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement(Object);

impl Statement {
    /// Reads an unsigned statement.
    ///
    /// # Errors
    /// [`ExportError::MalformedStatement`] names the rule.
    pub fn read(bytes: &[u8]) -> Result<Self, ExportError> {
        let malformed = ExportError::MalformedStatement;
        let Ok(Json::Object(document)) = Json::parse(bytes) else {
            return Err(malformed("the payload is not a JSON object"));
        };
        let text = |name| document.get(name).and_then(Json::as_str).unwrap_or_default();
        if text("_type") != STATEMENT_TYPE {
            return Err(malformed("`_type` is not that of in-toto statements 1"));
        }
        let subjects = document.get("subject").and_then(Json::as_array).unwrap_or_default();
        if subjects.is_empty() || !subjects.iter().all(has_digest) {
            return Err(malformed("`subject` is not a list of at least one, each with a digest"));
        }
        if text("predicateType").is_empty() {
            return Err(malformed("`predicateType` is missing"));
        }
        if document.get("predicate").is_some_and(|predicate| predicate.as_object().is_none()) {
            return Err(malformed("`predicate` is not an object"));
        }
        Ok(Self(document))
    }

    /// The statement as written.
    #[must_use]
    pub fn document(&self) -> &Object {
        &self.0
    }

    /// The type of the predicate, a URI.
    #[must_use]
    pub fn predicate_type(&self) -> &str {
        self.0.get("predicateType").and_then(Json::as_str).unwrap_or_default()
    }

    /// Whether a subject has this digest. A statement about something else says nothing of it.
    #[must_use]
    pub fn is_about(&self, digest: &Sha256Digest) -> bool {
        let hex = digest.bare_hex();
        let has_it = |subject: &Json| {
            let digests = subject.as_object().and_then(|subject| subject.get("digest")?.as_object());
            digests.and_then(|digests| digests.get("sha256")?.as_str()) == Some(&hex)
        };
        self.0.get("subject").and_then(Json::as_array).is_some_and(|subjects| subjects.iter().any(has_it))
    }

    /// The hash of the receipt or decision that the statement restates, as its signer says: SHA-256 of the whole document in canonical
    /// form `vrf`.
    #[must_use]
    pub fn restated(&self) -> Option<Sha256Digest> {
        let extension = self.0.get("predicate")?.as_object()?.get(EXTENSION)?.as_object()?;
        extension.get("hash")?.as_str()?.parse().ok()
    }
}

/// A statement about one subject.
pub(crate) fn statement(name: &str, digest: &Sha256Digest, predicate_type: &str, predicate: Object) -> Object {
    object! {
        "_type": STATEMENT_TYPE,
        "subject": vec![descriptor(name, digest)],
        "predicateType": predicate_type,
        "predicate": predicate,
    }
}

/// A resource by its name and digest (in-toto attestation 1, "ResourceDescriptor").
pub(super) fn descriptor(name: &str, digest: &Sha256Digest) -> Json {
    object! { "name": name, "digest": object! { "sha256": digest.bare_hex() } }.into()
}

/// At least one digest, none of which is empty.
fn has_digest(subject: &Json) -> bool {
    let digests = subject.as_object().and_then(|subject| subject.get("digest")?.as_object());
    digests.is_some_and(|digests| {
        !digests.is_empty()
            && digests.iter().all(|(_, digest)| digest.as_str().is_some_and(|digest| !digest.is_empty()))
    })
}
