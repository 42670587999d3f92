//! The clock and the randomness of this crate, and of those that decide and run jobs.

use std::io::{self, Write};
use std::sync::Once;
use std::time::{SystemTime, UNIX_EPOCH};

use proofmark_receipt::{ReceiptId, Timestamp};
use proofmark_store::{MAX_CLOCK_SKEW, Store, StoreError};

/// The time, in milliseconds, as receipts carry it.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The time by which things in this store expire ([`Store::now`]): where the clock was set back, what had expired stays
/// expired. A clock that was set back is reported once, on standard error.
///
/// # Errors
/// When the store cannot be read.
pub fn now_in(store: &Store) -> Result<Timestamp, StoreError> {
    Ok(of_store(store.now()?))
}

/// The time of this store when the clock of this host showed `shown`, not long ago ([`Store::time_when`]).
pub fn when(store: &Store, shown: &Timestamp) -> Timestamp {
    Timestamp::from_unix_millis(store.time_when(shown.unix_millis()))
}

/// The time of this store, without asking it ([`Store::time_when`]).
pub fn known_in(store: &Store) -> Timestamp {
    when(store, &now())
}

/// A time that a store answered to be now.
pub fn of_store(time: i64) -> Timestamp {
    static REPORTED: Once = Once::new();
    // Within this difference it is the skew of another host, which needs no report.
    let behind = time.saturating_sub(now().unix_millis());
    if behind > MAX_CLOCK_SKEW {
        REPORTED.call_once(|| {
            let seconds = behind / 1_000;
            let line =
                format!("the clock is {seconds} s behind what the store has recorded, so that counts; set the clock");
            // Standard error may be closed.
            drop(writeln!(io::stderr().lock(), "{line}"));
        });
    }
    Timestamp::from_unix_millis(time)
}

/// How far the clock is behind the latest time the store has recorded, in milliseconds; negative where it is ahead.
///
/// # Errors
/// When the store cannot be read.
pub fn clock_behind(store: &Store) -> Result<i64, StoreError> {
    Ok(store.latest_time()?.saturating_sub(now().unix_millis()))
}

/// A fresh UUID v4.
///
/// # Errors
/// When the system has no randomness.
pub fn receipt_id() -> Result<ReceiptId, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(ReceiptId::from_random_bytes(bytes))
}
