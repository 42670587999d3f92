//! Receipts and decisions as in-toto attestations: Test Result 0.1 and Simple Verification Result 0.2, in DSSE envelopes.
//!
//! A statement restates a document and is not the document: a reader of both compares the hash in `proofmark_receipt`.

mod dsse;
mod predicate;
mod statement;

pub use dsse::{
    MAX_ENVELOPE_BYTES, MAX_SIGNATURES, PAYLOAD_TYPE, Verified, bundle, claimed_by, envelope, key_id, verify,
};
pub use predicate::{ACTION_ALLOWED, SVR, TEST_RESULT, sign_svr, sign_test_result, svr, test_result};
pub use statement::Statement;

pub(crate) use statement::statement;
