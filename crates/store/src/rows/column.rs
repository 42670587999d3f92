//! Values of columns that are more than text and numbers.

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};

use crate::fault::Fault;
use crate::row::Row;

/// The columns that [`receipt`] reads.
pub(crate) const RECEIPT: &str = "hash, document";

/// The receipt of a row that begins with [`RECEIPT`], if it still is the one that was stored.
pub(crate) fn receipt(row: &Row<'_>) -> Result<Receipt, Fault> {
    let hash = Sha256Digest::from_bytes(row.get(0)?);
    let receipt = Receipt::parse(row.text(1)?.as_bytes()).map_err(|error| Fault::changed(1, error))?;
    // The signature is not checked: the store knows no keys, and some receipts have none. An edit of both columns shows
    // when the signature is verified.
    if receipt.hash() == hash {
        Ok(receipt)
    } else {
        let id = receipt.receipt_id();
        Err(Fault::changed(1, format!("receipt `{id}` was changed after it was stored")))
    }
}

pub(crate) fn receipt_id(row: &Row<'_>, column: usize) -> Result<ReceiptId, Fault> {
    ReceiptId::from_bytes(row.get(column)?).map_err(|error| Fault::changed(column, error))
}
