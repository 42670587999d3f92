//! Receipts and decisions for readers of COSE and SCITT: signed statements and transparent statements (RFC 9943), and receipts of
//! logs (RFC 9942).
//!
//! A statement wraps a document without changing it, and is signed by the same key: two signatures of one key over one thing are
//! not two opinions. What is read has to be in deterministic CBOR, byte for byte as it would be written here.

mod cbor;
mod merkle;
mod receipt;
mod sign1;
mod statement;

pub use receipt::{CoseReceipt, Inclusion, MAX_RECEIPT_BYTES, Registration, sign_receipt, verify_receipt};
pub use statement::{
    DECISION_TYPE, MAX_RECEIPTS, MAX_STATEMENT_BYTES, Statement, attach_receipt, claimed_by, sign_statement,
    statement_entry, verify_statement,
};
