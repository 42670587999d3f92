//! The receipt room: canonical JSON, VRF 1.0 receipts, digests, keys, signatures and chains.
//!
//! It knows no clock, no randomness, no files and no network: times, identifiers and seeds are arguments, documents are
//! bytes. It does not know what was verified or how.

pub mod json;

pub use json::{Json, Object, Profile};
