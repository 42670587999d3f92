//! The clock and the randomness of this room.

use std::time::{SystemTime, UNIX_EPOCH};

use proofmark_receipt::{ReceiptId, Timestamp};

/// The time, in milliseconds, as receipts carry it.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A fresh UUID v4.
pub(crate) fn receipt_id() -> Result<ReceiptId, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(ReceiptId::from_random_bytes(bytes))
}
