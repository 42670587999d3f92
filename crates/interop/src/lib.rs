//! Receipts and jobs in the formats of other protocols: [`acp`] (agent commerce), [`x402`] (paid HTTP answers) and
//! [`a2a`] (agent to agent).
//!
//! Documents in, documents out. It does not know whether a signature is valid, who is trusted, how a verification is
//! run or where receipts are stored: the caller says what it found out.

pub mod a2a;
pub mod acp;
pub mod x402;
