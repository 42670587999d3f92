use crate::json::{Json, Object};
use crate::{ReceiptId, Sha256Digest, SignerId};

/// The last document of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTip {
    pub receipt_id: ReceiptId,
    /// SHA-256 of the whole document, signature included, in canonical form `vrf`.
    pub hash: Sha256Digest,
    /// From 0.
    pub position: u64,
}

impl ChainTip {
    /// Writes into `metadata` the members that append its document to the chain that ends in `tip`; `None` starts a chain.
    /// Every signed document of a chain is linked by this function.
    ///
    /// `previous_receipt_hash` = SHA-256(canonical_vrf(predecessor)), its signature included: an id alone pins nothing.
    pub fn write_link(tip: Option<&Self>, metadata: &mut Object) {
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
    }
}

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

    /// The signer that `signature` names, unverified.
    pub(crate) fn signer(&self) -> Option<SignerId> {
        self.document.get("signature")?.as_object()?.get("signer_id")?.as_str()?.parse().ok()
    }

    pub(crate) fn metadata(&self, name: &str) -> Option<&Json> {
        self.document.get("metadata")?.as_object()?.get(name)
    }
}
