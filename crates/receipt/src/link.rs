use crate::json::{Json, Object};
use crate::{ReceiptId, Sha256Digest, SignerId, object};

/// The member of `metadata` that says which end of the chain was lost.
const LOSS: &str = "chain_loss";

/// The last document of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTip {
    pub receipt_id: ReceiptId,
    /// SHA-256 of the whole document, signature included, in canonical form `vrf`.
    pub hash: Sha256Digest,
    /// From 0.
    pub position: u64,
}

/// The end that a chain had, where documents up to it were signed and are lost: the database lost them, or an older copy took its
/// place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostEnd {
    pub position: u64,
    /// As [`ChainTip::hash`].
    pub hash: Sha256Digest,
}

/// What the next document of a chain is linked to.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainEnd<'a> {
    /// The last document; none: the next one starts the chain.
    pub tip: Option<&'a ChainTip>,
    /// The end that the next document says was lost.
    pub lost: Option<LostEnd>,
}

impl<'a> From<Option<&'a ChainTip>> for ChainEnd<'a> {
    fn from(tip: Option<&'a ChainTip>) -> Self {
        Self { tip, lost: None }
    }
}

impl ChainTip {
    /// Writes into `metadata` the members that append its document to the chain with this `end`; without a tip it starts one.
    /// Every signed document of a chain is linked by this function.
    ///
    /// `previous_receipt_hash` = SHA-256(canonical_vrf(predecessor)), its signature included: an id alone pins nothing.
    ///
    /// `chain_loss` = the position and the hash of the last document that was lost, where one was.
    pub fn write_link<'a>(end: impl Into<ChainEnd<'a>>, metadata: &mut Object) {
        let ChainEnd { tip, lost } = end.into();
        // Saturation never shows: a position beyond 2^53−1 is outside the safe set and is not signed.
        metadata.insert("chain_position", tip.map_or(0, |tip| tip.position.saturating_add(1)));
        match tip {
            Some(tip) => {
                metadata.insert("previous_receipt", tip.receipt_id.to_string());
                metadata.insert("previous_receipt_hash", tip.hash.to_string());
            }
            None => {
                // A predecessor left over in `metadata` would make this an invalid beginning (`wrong_first_position`).
                metadata.remove("previous_receipt");
                metadata.remove("previous_receipt_hash");
            }
        }
        match lost {
            Some(LostEnd { position, hash }) => {
                metadata.insert(LOSS, object! { "position": position, "hash": hash.to_string() });
            }
            None => drop(metadata.remove(LOSS)),
        }
    }
}

/// A `metadata.chain_loss` says no end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableLoss;

/// A signed document and its id: a receipt, or another document that is linked as receipts are.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    pub id: ReceiptId,
    pub document: &'a Object,
}

impl Link<'_> {
    /// This document as the end of its chain. `None` without a valid `metadata.chain_position`.
    ///
    /// The hash is SHA-256(canonical_vrf(document)) with `signature`, so the next link pins who signed this one, too.
    pub fn tip(&self) -> Option<ChainTip> {
        let position = self.metadata("chain_position")?.as_number()?.as_u64()?;
        let hash = Sha256Digest::of(&self.document.canonical_vrf());
        Some(ChainTip { receipt_id: self.id, hash, position })
    }

    /// The lost end of its chain that the document states, if any.
    ///
    /// # Errors
    /// [`UnreadableLoss`] where `metadata.chain_loss` has no position or no hash.
    pub fn loss(&self) -> Result<Option<LostEnd>, UnreadableLoss> {
        let Some(loss) = self.metadata(LOSS) else { return Ok(None) };
        let member = |name: &str| loss.as_object()?.get(name);
        let position = member("position").and_then(|position| position.as_number()?.as_u64());
        let hash = member("hash").and_then(|hash| hash.as_str()?.parse().ok());
        let (position, hash) = position.zip(hash).ok_or(UnreadableLoss)?;
        Ok(Some(LostEnd { position, hash }))
    }

    /// The signer that `signature` names, unverified.
    pub(crate) fn signer(&self) -> Option<SignerId> {
        self.document.get("signature")?.as_object()?.get("signer_id")?.as_str()?.parse().ok()
    }

    pub(crate) fn metadata(&self, name: &str) -> Option<&Json> {
        self.document.get("metadata")?.as_object()?.get(name)
    }
}
