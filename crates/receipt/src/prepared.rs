//! Signed documents of a chain, prepared before their place in it is known: only what depends on the place is left to do.

use std::sync::Arc;

use crate::json::{Json, Object, canonical_vrf_of, write_members};
use crate::link::{ChainEnd, ChainTip, LostEnd};
use crate::safe::{SignError, check_depth, check_length, check_safe};
use crate::{ReceiptId, Sha256Digest, SigningKey, signature};

/// The member that holds the place in the chain.
const METADATA: &str = "metadata";
const SIGNATURE: &str = "signature";

/// A document to sign that lacks its place in a chain, and what both of its forms have around that.
pub struct Prepared {
    id: ReceiptId,
    /// Shared with what is signed of it.
    document: Arc<Object>,
    /// The member that the place is written to.
    metadata: Object,
    /// Members in canonical form: those before `metadata`, those between that and `signature`, and those behind.
    canonical: [String; 3],
    /// Members in the order of the document: those before `metadata`, and those behind. `signature` is its last.
    text: [String; 2],
}

/// A signed document and its place in a chain. Only [`Prepared::sign`] makes one, so it continues the chain it says.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedLink {
    /// The document without its place and its signature.
    document: Arc<Object>,
    metadata: Object,
    signature: Object,
    text: String,
    previous: Option<ChainTip>,
    lost: Option<LostEnd>,
    own: ChainTip,
}

impl Prepared {
    /// Prepares the document with this id for the signature of `key`, which will be that of [`crate::sign_document`].
    ///
    /// # Errors
    /// [`SignError`] when the document is outside the safe set, or nested too deep.
    pub fn new(id: ReceiptId, mut document: Object, key: &SigningKey) -> Result<Self, SignError> {
        document.remove(SIGNATURE);
        document.insert("issuer_key", key.signer().to_string());
        let metadata = match document.get(METADATA) {
            Some(Json::Object(metadata)) => metadata.clone(),
            _ => Object::new(),
        };
        document.insert(METADATA, metadata.clone());
        check_safe(&document)?;
        check_depth(&document)?;
        let canonical = [
            inner(canonical_vrf_of(&document, |name| name < METADATA)),
            inner(canonical_vrf_of(&document, |name| METADATA < name && name < SIGNATURE)),
            inner(canonical_vrf_of(&document, |name| SIGNATURE < name)),
        ];
        let mut text = [String::with_capacity(1024), String::with_capacity(1024)];
        let [before, behind] = &mut text;
        write_members(before, document.iter().take_while(|(name, _)| *name != METADATA));
        write_members(behind, document.iter().skip_while(|(name, _)| *name != METADATA).skip(1));
        Ok(Self { id, document: Arc::new(document), metadata, canonical, text })
    }

    /// Appends the document to the chain with this end (without a tip it starts one), and signs it with the key that it was
    /// prepared for. Signed again, it has another place.
    ///
    /// # Errors
    /// [`SignError`] when it is then too long, or its position is beyond 2^53−1.
    pub fn sign<'a>(&self, end: impl Into<ChainEnd<'a>>, key: &SigningKey) -> Result<SignedLink, SignError> {
        let end @ ChainEnd { tip, lost } = end.into();
        let mut metadata = self.metadata.clone();
        ChainTip::write_link(end, &mut metadata);
        check_safe(&metadata)?;
        let [before, between, behind] = &self.canonical;
        let placed = member(METADATA, &inner(metadata.canonical_vrf()));
        let content = Sha256Digest::of(object([before, &placed, between, behind]).as_bytes());
        let signature = signature::of_content(&content, key);
        let signed = member(SIGNATURE, &inner(signature.canonical_vrf()));
        let whole = object([before, &placed, between, &signed, behind]);
        let [first, rest] = &self.text;
        let placed = member(METADATA, &members(&metadata));
        let text = object([first, &placed, rest, &member(SIGNATURE, &members(&signature))]);
        check_length(&text)?;
        let position = tip.map_or(0, |tip| tip.position.saturating_add(1));
        let own = ChainTip { receipt_id: self.id, hash: Sha256Digest::of(whole.as_bytes()), position };
        let document = Arc::clone(&self.document);
        Ok(SignedLink { document, metadata, signature, text, previous: tip.cloned(), lost, own })
    }
}

impl SignedLink {
    /// The document, as the end of its chain, if it continues the chain that had this end (without a tip: it starts one) and states
    /// what was lost of it.
    #[must_use]
    pub fn follows<'a>(&self, end: impl Into<ChainEnd<'a>>) -> Option<&ChainTip> {
        let ChainEnd { tip, lost } = end.into();
        (self.previous.as_ref() == tip && self.lost == lost).then_some(&self.own)
    }

    /// The document on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The document, and its text.
    #[must_use]
    pub fn into_parts(self) -> (Object, String) {
        let mut document = Arc::unwrap_or_clone(self.document);
        document.insert(METADATA, self.metadata);
        document.insert(SIGNATURE, self.signature);
        (document, self.text)
    }
}

/// The members of an object in canonical form, without its braces.
fn inner(canonical: Vec<u8>) -> String {
    // Canonical forms are UTF-8.
    let mut text = String::from_utf8(canonical).unwrap_or_default();
    text.pop();
    text.remove(0);
    text
}

fn members(object: &Object) -> String {
    let mut text = String::with_capacity(512);
    write_members(&mut text, object.iter());
    text
}

/// The member `name`, an object with these members.
fn member(name: &str, members: &str) -> String {
    format!("\"{name}\":{{{members}}}")
}

/// The object with these groups of members, of which some may be empty.
fn object<const N: usize>(groups: [&String; N]) -> String {
    let mut text = String::with_capacity(groups.iter().map(|group| group.len() + 1).sum::<usize>() + 1);
    text.push('{');
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(group);
    }
    text.push('}');
    text
}
