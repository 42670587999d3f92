//! Values of columns, and the error that one holds something else.

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};
use rusqlite::Row;
use rusqlite::types::Type;

/// The columns that [`receipt`] reads.
pub(crate) const RECEIPT: &str = "hash, document";

/// The receipt of a row that begins with [`RECEIPT`], if it still is the one that was stored.
pub(crate) fn receipt(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    let hash = Sha256Digest::from_bytes(row.get(0)?);
    let document = row.get_ref(1)?.as_str()?;
    let receipt = Receipt::parse(document.as_bytes()).map_err(|error| changed(1, Type::Text, error))?;
    // The signature is not checked: the store knows no keys, and some receipts have none. An edit of both columns shows
    // when the signature is verified.
    match receipt.hash() == hash {
        true => Ok(receipt),
        false => {
            let id = receipt.receipt_id();
            Err(changed(1, Type::Text, format!("receipt `{id}` was changed after it was stored")))
        }
    }
}

pub(crate) fn receipt_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ReceiptId> {
    ReceiptId::from_bytes(row.get(column)?).map_err(|error| changed(column, Type::Blob, error))
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let count: i64 = row.get(column)?;
    u64::try_from(count).map_err(|error| changed(column, Type::Integer, error))
}

/// The value of a column is not one that was stored there.
pub(crate) fn changed(
    column: usize,
    stored: Type,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, stored, error.into())
}
