//! Receipts and jobs in the formats of other protocols: [`acp`] (agent commerce), [`x402`] (paid HTTP answers), [`a2a`] (agent to
//! agent), [`erc8004`] (registries of agents on a chain), [`cose`] (SCITT) and [`intoto`] (attestations); and guarded sessions as
//! traces and audit records ([`session`]).
//!
//! Documents in, documents out. It does not know who is trusted, how a verification is run or where receipts are stored: the caller
//! says what it found out. `cose` and `intoto` sign what they write with the key that the caller gives, and verify what they read.

pub mod a2a;
pub mod acp;
pub mod cose;
mod document;
pub mod erc8004;
mod error;
pub mod intoto;
pub mod session;
pub mod x402;

pub use document::{Decision, Document};
pub use error::ExportError;
