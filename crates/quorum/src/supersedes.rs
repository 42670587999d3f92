//! `metadata.supersedes`: a later receipt by the same signer over the same `hashes` takes the place of an earlier one. A reader who holds only
//! the earlier one cannot know.

use proofmark_receipt::document::DocumentError;
use proofmark_receipt::{Object, Profile, Receipt, ReceiptId, SignatureStatus, verify_receipt};
use thiserror::Error;

use crate::form;
use crate::reference::Reference;

const NAME: &str = "supersedes";

/// Why a receipt does not take the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SupersedesError {
    /// It is not `{receipt_id, hash}`.
    #[error("invalid reference to the earlier receipt: {0}")]
    Malformed(DocumentError),
    /// The form of a store that records it beside the receipt: an id, which pins nothing.
    #[error("the receipt names the earlier one by its id alone, without its hash")]
    IdOnly,
    #[error("the receipt supersedes none")]
    None,
    #[error("the receipt supersedes `{0}`, which is another one, or which was changed")]
    OtherReceipt(ReceiptId),
    #[error("the receipt `{receipt_id}` does not verify: {}", status.cause().unwrap_or_default())]
    NotValid { receipt_id: ReceiptId, status: SignatureStatus },
    #[error("the two receipts have different signers")]
    OtherSigner,
    #[error("the two receipts are of different work: their `hashes` differ")]
    OtherWork,
}

impl SupersedesError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Malformed(error) => error.help(),
            Self::NotValid { status, .. } => status.help(),
            Self::IdOnly => Some("write `{receipt_id, hash}`".to_owned()),
            Self::OtherReceipt(_) => Some("use the original of the earlier receipt, unchanged".to_owned()),
            Self::None | Self::OtherSigner | Self::OtherWork => None,
        }
    }
}

/// Writes into the `metadata` of a draft that its receipt takes the place of this one.
pub fn write(earlier: &Receipt, metadata: &mut Object) {
    metadata.insert(NAME, Reference::of(earlier).to_json());
}

/// The receipt that this one says it takes the place of, if any.
///
/// # Errors
/// [`SupersedesError::Malformed`] and [`SupersedesError::IdOnly`].
pub fn read(later: &Receipt) -> Result<Option<Reference>, SupersedesError> {
    match form::metadata(later, NAME) {
        None => Ok(None),
        Some(field) if field.json.as_str().is_some() => Err(SupersedesError::IdOnly),
        Some(field) => Reference::read(&field).map(Some).map_err(SupersedesError::Malformed),
    }
}

/// Checks that `later` takes the place of `earlier`: it names it by id and hash, both verify under the profile `vrf`, and they
/// have the same signer and the same `hashes`.
///
/// # Errors
/// [`SupersedesError`] says what differs.
pub fn check(later: &Receipt, earlier: &Receipt) -> Result<(), SupersedesError> {
    let named = read(later)?.ok_or(SupersedesError::None)?;
    if named != Reference::of(earlier) {
        return Err(SupersedesError::OtherReceipt(named.receipt_id));
    }
    let signer = |receipt: &Receipt| {
        let verification = verify_receipt(receipt, Profile::Vrf, &[]);
        let receipt_id = receipt.receipt_id();
        verification.signer.ok_or(SupersedesError::NotValid { receipt_id, status: verification.answer })
    };
    if signer(later)? != signer(earlier)? {
        return Err(SupersedesError::OtherSigner);
    }
    if later.hashes() == earlier.hashes() { Ok(()) } else { Err(SupersedesError::OtherWork) }
}
