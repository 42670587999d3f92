//! Any bytes have an answer as a signed statement, a COSE receipt and an envelope, and a statement that verifies has one entry in a log.

#![no_main]

use std::num::NonZeroUsize;

use libfuzzer_sys::fuzz_target;
use proofmark_interop::{cose, intoto};
use proofmark_receipt::SigningKey;

fuzz_target!(|bytes: &[u8]| {
    let key = SigningKey::from_seed([1; 32]).signer();
    if let Ok(statement) = cose::verify_statement(bytes, &[]) {
        assert_eq!(cose::statement_entry(bytes).ok(), Some(statement.entry));
        let _ = statement.registered_in(&key);
    }
    let _ = cose::verify_receipt(bytes, &[0; 32], &key);
    let _ = cose::attach_receipt(bytes, bytes, &key);
    let _ = intoto::verify(bytes, &[key], NonZeroUsize::MIN);
    let _ = intoto::Statement::read(bytes);
});
