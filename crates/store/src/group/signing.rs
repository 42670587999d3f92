use std::panic::{AssertUnwindSafe, catch_unwind};

use proofmark_receipt::SignError;

use crate::error::StoreError;

/// Calls a function that links a document to the tip of `chain` and signs it. A panic in it is reported by the panic hook and
/// fails its own write alone: it must not end the writer. It leaves nothing half changed, because nothing is changed before
/// every document of a submission is signed.
pub(crate) fn call<T>(chain: &str, sign: impl FnOnce() -> Result<T, SignError>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(sign)) {
        Ok(signed) => Ok(signed?),
        Err(_) => Err(StoreError::NotLinked(chain.to_owned())),
    }
}
