use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::{Json, Receipt, ReceiptId, Sha256Digest, object};

use crate::form;

/// Another receipt, pinned by the hash of the whole of it: an id alone pins nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    pub receipt_id: ReceiptId,
    /// SHA-256 of the canonical form `vrf`, the signature included ([`Receipt::hash`]).
    pub hash: Sha256Digest,
}

impl Reference {
    /// The reference to this receipt.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Self {
        Self { receipt_id: receipt.receipt_id(), hash: receipt.hash() }
    }

    /// Reads `{receipt_id, hash}`.
    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["receipt_id", "hash"])?;
        Ok(Self {
            receipt_id: form::receipt_id(&fields.need("receipt_id", "name the receipt")?)?,
            hash: form::digest(&fields.need("hash", "write the hash of the whole receipt")?)?,
        })
    }

    /// The form that [`Reference::read`] reads.
    pub(crate) fn to_json(self) -> Json {
        object! { "receipt_id": self.receipt_id.to_string(), "hash": self.hash.to_string() }.into()
    }
}
