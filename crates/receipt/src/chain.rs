use std::fmt;

use thiserror::Error;

use crate::json::Json;
use crate::link::{ChainEnd, ChainTip, Link, LostEnd};
use crate::{ChainHead, Receipt, ReceiptId, Sha256Digest, SignerId, shown};

/// Why receipts are not one complete chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    #[error("there are no receipts")]
    Empty,
    #[error("receipt {0} has no `metadata.chain_position`, so it belongs to no chain")]
    Unlinked(ReceiptId),
    #[error("the first receipt, {receipt_id}, has position {position}: a chain begins at 0 without a predecessor")]
    WrongStart { receipt_id: ReceiptId, position: u64 },
    /// Receipts are missing before this one.
    #[error("position {due} is missing: receipt {receipt_id} has position {position}")]
    Gap { receipt_id: ReceiptId, position: u64, due: u64 },
    #[error("receipts {first} and {second} both have position {position}: the chain forks")]
    Fork { first: ReceiptId, second: ReceiptId, position: u64 },
    #[error(
        "receipt {receipt_id} with position {position} comes after position {after}: the receipts are out of order"
    )]
    Reordered { receipt_id: ReceiptId, position: u64, after: u64 },
    /// `metadata` pins another predecessor than `found`, the receipt before this one.
    #[error(
        "receipt {receipt_id} pins another predecessor than {found}, the one before it: that one was replaced or changed"
    )]
    SwappedPredecessor { receipt_id: ReceiptId, found: ReceiptId },
    #[error("receipt {0} has no `metadata.previous_receipt_hash`: an id alone pins nothing")]
    Unpinned(ReceiptId),
    /// `metadata.chain_loss` is not the position and the hash of a document.
    #[error("receipt {0} has a `metadata.chain_loss` without a position or a hash, so what was lost is not known")]
    UnreadableLoss(ReceiptId),
    /// The signed head says there are more receipts.
    #[error("the signed head says {signed} receipts and there are {found}: the end of the chain is missing")]
    Truncated { signed: u64, found: u64 },
    /// The head is signed by neither the issuer of the chain nor a trusted signer, so it proves nothing.
    #[error("the head is signed by {0}, who did not sign every receipt of the chain and is not trusted")]
    UntrustedHead(String),
    /// The signed head pins another last receipt, or fewer receipts.
    #[error("the signed head is of another chain: it pins {signed} receipts ending in {tip}")]
    OtherHead { signed: u64, tip: Sha256Digest },
}

impl ChainError {
    /// A stable name for programs.
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
            Self::UnreadableLoss(_) => "unreadable_loss",
            Self::Truncated { .. } => "truncated",
            Self::UntrustedHead(_) => "untrusted_head",
            Self::OtherHead { .. } => "other_head",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Empty => Some("give the receipts of the chain in order".to_owned()),
            Self::UntrustedHead(_) => Some("trust that key if the head is its issuer's".to_owned()),
            Self::Unlinked(_)
            | Self::WrongStart { .. }
            | Self::Gap { .. }
            | Self::Fork { .. }
            | Self::Reordered { .. }
            | Self::SwappedPredecessor { .. }
            | Self::Unpinned(_)
            | Self::UnreadableLoss(_)
            | Self::Truncated { .. }
            | Self::OtherHead { .. } => None,
        }
    }
}

impl Link<'_> {
    /// This document as the end of the chain that had this `end` (without a tip: of a new one); `None` where it does not continue
    /// that chain, or does not state what was lost of it.
    #[must_use]
    pub fn follows<'a>(&self, end: impl Into<ChainEnd<'a>>) -> Option<ChainTip> {
        let ChainEnd { tip, lost } = end.into();
        let stated = self.loss().ok()?;
        if lost.is_some() && stated != lost {
            return None;
        }
        // Without a position of its own a document is part of no chain, not even of an empty one.
        let own = self.tip()?;
        let follows = match tip {
            None => starts(self, &own),
            Some(tip) => follows(self, &own, tip),
        };
        follows.is_ok().then_some(own)
    }
}

/// The signed end of a chain, and who may sign it besides the signer of the receipts.
#[derive(Clone, Copy, Debug)]
pub struct SignedEnd<'a> {
    pub head: &'a ChainHead,
    /// Signers whose heads count for any chain.
    pub trusted: &'a [SignerId],
}

/// A document of a chain that states a lost end of it: what was signed before and was lost, from its own position on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLoss {
    pub receipt_id: ReceiptId,
    /// The position of the document.
    pub position: u64,
    pub lost: LostEnd,
}

/// Verifies that `receipts`, in this order, are one chain from its beginning; and, with an `end`, up to that end.
///
/// For receipts r\[0\], r\[1\], …: `chain_position`(r\[i\]) = i, `previous_receipt`(r\[i\]) = `receipt_id`(r\[i−1\]) and
/// `previous_receipt_hash`(r\[i\]) = SHA-256(canonical_vrf(r\[i−1\])), signature included; r\[0\] has neither of the latter
/// two. A head has `length` = the number of receipts and `tip` = the hash of the last (`docs/receipts.md`, "Chains").
///
/// Signatures are not verified, neither of the receipts nor of the head: only that the head names the signer whom every
/// receipt names, or a trusted one.
///
/// # Errors
/// [`ChainError`] names the first link that does not hold.
pub fn verify_chain(receipts: &[Receipt], end: Option<SignedEnd<'_>>) -> Result<(), ChainError> {
    let links: Vec<Link<'_>> = receipts.iter().map(Receipt::link).collect();
    verify_links(&links, end)
}

/// As [`verify_chain`], for linked documents of any kind.
///
/// # Errors
/// As [`verify_chain`].
pub fn verify_links(links: &[Link<'_>], end: Option<SignedEnd<'_>>) -> Result<(), ChainError> {
    let mut chain = ChainVerifier::default();
    links.iter().for_each(|link| chain.add(link));
    chain.finish(end)
}

/// The verification of a chain whose documents come one after another: [`verify_links`] without all of them in memory.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    last: Option<ChainTip>,
    /// The signer of all documents so far; none where one is unsigned or another signed it.
    signer: Option<SignerId>,
    losses: Vec<ChainLoss>,
    error: Option<ChainError>,
}

impl ChainVerifier {
    /// Adds the next document. After one that does not continue the chain, the rest changes nothing.
    pub fn add(&mut self, link: &Link<'_>) {
        if self.error.is_none() {
            self.error = self.append(link).err();
        }
    }

    /// What the documents state that the chain has lost, in their order.
    #[must_use]
    pub fn losses(&self) -> &[ChainLoss] {
        &self.losses
    }

    /// The result, as of [`verify_links`].
    ///
    /// # Errors
    /// As [`verify_links`].
    pub fn finish(self, end: Option<SignedEnd<'_>>) -> Result<(), ChainError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        // Nothing to verify is not a valid chain: an export that failed would pass as one.
        let last = self.last.ok_or(ChainError::Empty)?;
        match end {
            None => Ok(()),
            Some(end) => {
                signed_by_issuer(self.signer, end)?;
                ends(&last, end.head)
            }
        }
    }

    fn append(&mut self, link: &Link<'_>) -> Result<(), ChainError> {
        let tip = link.tip().ok_or(ChainError::Unlinked(link.id))?;
        let signer = link.signer();
        match &self.last {
            None => {
                starts(link, &tip)?;
                self.signer = signer;
            }
            Some(last) => {
                follows(link, &tip, last)?;
                self.signer = self.signer.filter(|_| self.signer == signer);
            }
        }
        let lost = link.loss().map_err(|_| ChainError::UnreadableLoss(link.id))?;
        let (receipt_id, position) = (tip.receipt_id, tip.position);
        self.losses.extend(lost.map(|lost| ChainLoss { receipt_id, position, lost }));
        self.last = Some(tip);
        Ok(())
    }
}

impl fmt::Display for ChainLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { receipt_id, position, lost } = self;
        write!(
            formatter,
            "receipt {receipt_id} with position {position} states a loss: the chain had an end at position {}, {}",
            lost.position, lost.hash
        )
    }
}

/// Anyone can sign a head for a chain cut off anywhere, so only the signer of all receipts counts, or a trusted one.
fn signed_by_issuer(issuer: Option<SignerId>, end: SignedEnd<'_>) -> Result<(), ChainError> {
    let named = end.head.signer_id();
    let signer: Option<SignerId> = named.parse().ok();
    // An unsigned link has no signer, and so never the signer of a head.
    if signer.is_some_and(|signer| end.trusted.contains(&signer) || issuer == Some(signer)) {
        Ok(())
    } else {
        Err(ChainError::UntrustedHead(shown(named)))
    }
}

fn starts(link: &Link<'_>, tip: &ChainTip) -> Result<(), ChainError> {
    // `null` counts as present: a field without a value is absent (`docs/receipts.md`, "Fields").
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
    // `after + 1` cannot overflow: `position` is larger here.
    if position != after + 1 {
        return Err(ChainError::Gap { receipt_id, position, due: after + 1 });
    }
    let text = |name: &str| link.metadata(name).and_then(Json::as_str);
    // An id does not fix the content of the predecessor; its hash does.
    let hash = text("previous_receipt_hash").ok_or(ChainError::Unpinned(receipt_id))?;
    let id = text("previous_receipt").and_then(|id| id.parse().ok());
    if hash.parse() == Ok(last.hash) && id == Some(last.receipt_id) {
        Ok(())
    } else {
        Err(ChainError::SwappedPredecessor { receipt_id, found: last.receipt_id })
    }
}

fn ends(last: &ChainTip, head: &ChainHead) -> Result<(), ChainError> {
    let found = last.position.saturating_add(1);
    // Before the tips are compared: they differ in a truncated chain, too, and only the lengths tell the cause.
    if found < head.length() {
        return Err(ChainError::Truncated { signed: head.length(), found });
    }
    match (found == head.length(), last.hash == head.tip()) {
        (true, true) => Ok(()),
        (true, false) | (false, _) => Err(ChainError::OtherHead { signed: head.length(), tip: head.tip() }),
    }
}
