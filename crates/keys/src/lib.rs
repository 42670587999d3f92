//! Keys at rest, the signers that a user trusts, and documents verified by them.
//!
//! - [`Keyring`] stores signing keys in files that only their owner reads.
//! - [`TrustStore`] stores trusted signers by name; [`KnownSigners`] has both, and says who a signer is.
//! - [`owned`] reads and replaces files that only their owner writes.
//! - [`check_document`] verifies any signed document, [`LinkedDocument`] its place in a chain.

mod checked;
mod claims;
mod keyfile;
mod keyring;
mod known;
mod linked;
pub mod owned;
mod trust;
mod trust_store;
mod trusted;

pub use checked::{Checked, check_document, decision_signers, verify_decision, verify_head};
pub use claims::{Claims, ReceiptClaims};
pub use keyfile::{KeyFileError, Passphrase};
pub use keyring::{Keyring, KeyringError, MAX_KEY_FILE};
pub use known::{KnownAs, KnownSigners, without_kinds};
pub use linked::LinkedDocument;
pub use trust::{TrustError, signers_in, trusted_signers};
pub use trust_store::{TrustStore, TrustedName};
pub use trusted::TrustedSigners;
