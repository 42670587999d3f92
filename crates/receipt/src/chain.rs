use thiserror::Error;

use crate::json::{Json, Object};
use crate::{ChainHead, Receipt, ReceiptId, Sha256Digest, SignerId};

/// The end of a chain, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTip {
    /// The last receipt's id.
    pub receipt_id: ReceiptId,
    /// The hash of the whole of it ([`Receipt::hash`]).
    pub hash: Sha256Digest,
    /// Its position; the first is 0.
    pub position: u64,
}

impl ChainTip {
    /// Writes into `metadata` the members that append its document to the chain that ends in `tip`; `None` starts a chain.
    /// Every signed document that is on a chain is linked by this function.
    ///
    /// The predecessor is pinned by the hash of the whole of it, signature included, not only by its id.
    pub fn write_link(tip: Option<&Self>, metadata: &mut Object) {
        metadata.insert("chain_position", tip.map_or(0, |tip| tip.position.saturating_add(1)));
        match tip {
            Some(tip) => {
                metadata.insert("previous_receipt", tip.receipt_id.to_string());
                metadata.insert("previous_receipt_hash", tip.hash.to_string());
            }
            None => {
                metadata.remove("previous_receipt");
                metadata.remove("previous_receipt_hash");
            }
        }
    }
}

/// Why receipts are not one whole chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// There are no receipts.
    #[error("there are no receipts; give the chain's receipts in order")]
    Empty,
    /// A receipt belongs to no chain.
    #[error("receipt {0} has no `metadata.chain_position`; it belongs to no chain")]
    Unlinked(ReceiptId),
    /// The first receipt is not the first of a chain.
    #[error("the first receipt, {receipt_id}, has position {position}; a chain begins at 0 without a predecessor")]
    WrongStart {
        /// The receipt.
        receipt_id: ReceiptId,
        /// Its position.
        position: u64,
    },
    /// Receipts are missing between two.
    #[error("position {due} is missing: receipt {receipt_id} has position {position}")]
    Gap {
        /// The receipt after the gap.
        receipt_id: ReceiptId,
        /// Its position.
        position: u64,
        /// The position due.
        due: u64,
    },
    /// Two receipts stand at one position.
    #[error("receipts {first} and {second} both have position {position}: the chain forks")]
    Fork {
        /// The one before.
        first: ReceiptId,
        /// The other one.
        second: ReceiptId,
        /// The position of both.
        position: u64,
    },
    /// A receipt stands after one it precedes.
    #[error(
        "receipt {receipt_id} with position {position} stands after position {after}: the receipts are out of order"
    )]
    Reordered {
        /// The receipt.
        receipt_id: ReceiptId,
        /// Its position.
        position: u64,
        /// The position it stands after.
        after: u64,
    },
    /// A receipt pins another predecessor than the one before it.
    #[error(
        "receipt {receipt_id} pins another predecessor than {found}, the one before it: that one was swapped or changed"
    )]
    SwappedPredecessor {
        /// The receipt.
        receipt_id: ReceiptId,
        /// The receipt before it.
        found: ReceiptId,
    },
    /// A receipt says its predecessor's id and not its hash, which pins nothing.
    #[error("receipt {0} has no `metadata.previous_receipt_hash`; an id alone pins nothing")]
    Unpinned(ReceiptId),
    /// The signed head says there are more receipts.
    #[error("the signed head says {signed} receipts and there are {found}: the chain was cut off")]
    Truncated {
        /// The length the head says.
        signed: u64,
        /// How many there are.
        found: u64,
    },
    /// The head is signed by a stranger, and so says nothing about the chain.
    #[error(
        "the head is signed by {0}, who did not sign every receipt of the chain and is not trusted; trust that key if the head is its issuer's"
    )]
    UntrustedHead(String),
    /// The signed head pins another last receipt, or fewer receipts.
    #[error("the signed head is of another chain: it pins {signed} receipts ending in {tip}")]
    OtherHead {
        /// The length the head says.
        signed: u64,
        /// The tip it pins.
        tip: Sha256Digest,
    },
}

impl ChainError {
    /// The name of the refusal, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty_chain",
            Self::Unlinked(_) => "unlinked",
            Self::WrongStart { .. } => "wrong_first_position",
            Self::Gap { .. } => "gap",
            Self::Fork { .. } => "fork",
            Self::Reordered { .. } => "reordered",
            Self::SwappedPredecessor { .. } => "swapped_predecessor",
            Self::Unpinned(_) => "unpinned",
            Self::Truncated { .. } => "truncated",
            Self::UntrustedHead(_) => "untrusted_head",
            Self::OtherHead { .. } => "other_head",
        }
    }
}

/// A signed document and its id: a receipt, or another document that is linked as receipts are.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Its id.
    pub id: ReceiptId,
    /// The whole of it.
    pub document: &'a Object,
}

impl Link<'_> {
    /// The document as the end of its chain; none without a readable `metadata.chain_position`.
    pub fn tip(&self) -> Option<ChainTip> {
        let position = self.metadata("chain_position")?.as_number()?.as_u64()?;
        let hash = Sha256Digest::of(&Json::Object(self.document.clone()).canonical_vrf());
        Some(ChainTip { receipt_id: self.id, hash, position })
    }

    /// Whether the document continues the chain that ends in `tip`; `None` is the beginning of a chain.
    #[must_use]
    pub fn follows(&self, tip: Option<&ChainTip>) -> bool {
        match (self.tip(), tip) {
            (None, _) => false,
            (Some(own), None) => starts(self, &own).is_ok(),
            (Some(own), Some(tip)) => follows(self, &own, tip).is_ok(),
        }
    }

    /// The signer that `signature` names, unchecked.
    fn signer(&self) -> Option<SignerId> {
        self.document.get("signature")?.as_object()?.get("signer_id")?.as_str()?.parse().ok()
    }

    fn metadata(&self, name: &str) -> Option<&Json> {
        self.document.get("metadata")?.as_object()?.get(name)
    }
}

/// A chain's signed end, and whom to believe it besides the signer of the receipts.
#[derive(Clone, Copy, Debug)]
pub struct SignedEnd<'a> {
    /// The head.
    pub head: &'a ChainHead,
    /// Signers whose heads count for any chain.
    pub trusted: &'a [SignerId],
}

/// Checks that `receipts`, in this order, are one chain from its beginning, and with an `end` that it is whole.
///
/// Only the links are checked, and that the head names the signer whom every receipt names, or one who is trusted. The
/// signatures of the receipts and of the head are not.
///
/// # Errors
/// [`ChainError`] names the first link that does not hold.
pub fn verify_chain(receipts: &[Receipt], end: Option<SignedEnd<'_>>) -> Result<(), ChainError> {
    let links: Vec<Link<'_>> = receipts.iter().map(Receipt::link).collect();
    verify_links(&links, end)
}

/// Checks what [`verify_chain`] checks, of documents of any kind.
///
/// # Errors
/// As [`verify_chain`].
pub fn verify_links(links: &[Link<'_>], end: Option<SignedEnd<'_>>) -> Result<(), ChainError> {
    let mut last: Option<ChainTip> = None;
    for link in links {
        let tip = link.tip().ok_or(ChainError::Unlinked(link.id))?;
        match &last {
            None => starts(link, &tip)?,
            Some(last) => follows(link, &tip, last)?,
        }
        last = Some(tip);
    }
    let last = last.ok_or(ChainError::Empty)?;
    match end {
        None => Ok(()),
        Some(end) => {
            signed_by_issuer(links, end)?;
            ends(&last, end.head)
        }
    }
}

/// A stranger can sign a head for a chain cut off anywhere, so only the signer of all of it, or one trusted, is heard.
fn signed_by_issuer(links: &[Link<'_>], end: SignedEnd<'_>) -> Result<(), ChainError> {
    let named = end.head.signer_id();
    let signer: Option<SignerId> = named.parse().ok();
    let issued = || links.iter().all(|link| link.signer() == signer);
    match signer.is_some_and(|signer| end.trusted.contains(&signer) || issued()) {
        true => Ok(()),
        false => Err(ChainError::UntrustedHead(named.chars().take(100).collect())),
    }
}

fn starts(link: &Link<'_>, tip: &ChainTip) -> Result<(), ChainError> {
    let predecessor = link.metadata("previous_receipt").is_some() || link.metadata("previous_receipt_hash").is_some();
    match (tip.position, predecessor) {
        (0, false) => Ok(()),
        (position, _) => Err(ChainError::WrongStart { receipt_id: tip.receipt_id, position }),
    }
}

fn follows(link: &Link<'_>, tip: &ChainTip, last: &ChainTip) -> Result<(), ChainError> {
    let (receipt_id, position, after) = (tip.receipt_id, tip.position, last.position);
    if position == after {
        return Err(ChainError::Fork { first: last.receipt_id, second: receipt_id, position });
    }
    if position < after {
        return Err(ChainError::Reordered { receipt_id, position, after });
    }
    if position != after + 1 {
        return Err(ChainError::Gap { receipt_id, position, due: after + 1 });
    }
    let text = |name: &str| link.metadata(name).and_then(Json::as_str);
    let hash = text("previous_receipt_hash").ok_or(ChainError::Unpinned(receipt_id))?;
    let id = text("previous_receipt").and_then(|id| id.parse().ok());
    match hash.parse() == Ok(last.hash) && id == Some(last.receipt_id) {
        true => Ok(()),
        false => Err(ChainError::SwappedPredecessor { receipt_id, found: last.receipt_id }),
    }
}

fn ends(last: &ChainTip, head: &ChainHead) -> Result<(), ChainError> {
    let found = last.position.saturating_add(1);
    if found < head.length() {
        return Err(ChainError::Truncated { signed: head.length(), found });
    }
    match (found == head.length(), last.hash == head.tip()) {
        (true, true) => Ok(()),
        (true, false) | (false, _) => Err(ChainError::OtherHead { signed: head.length(), tip: head.tip() }),
    }
}
