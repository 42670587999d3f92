//! Passkeys (WebAuthn) of reviewers, and whether one has signed an approval.
//!
//! A reviewer's authenticator signs an assertion whose challenge is the SHA-256 of the approval, and the receipt of the approval
//! keeps it (`metadata.approval.passkey`). So whoever has the receipt checks offline that the holder of the passkey, verified by the
//! authenticator, approved exactly this on a page of this origin, whoever signed the receipt around it.
//!
//! Only assertions are read, and of these only the fixed part: no CBOR, no attestation, no extensions. The public key comes
//! from the browser when the passkey is made, as text that a person puts into a policy; a wrong one verifies nothing.

mod approval;
mod assertion;
mod error;
mod key;
mod origin;
mod passkey;

pub use approval::{Approved, approved, challenge, statement};
pub use assertion::{Assertion, AssertionError};
pub use error::PasskeyError;
pub use key::PublicKey;
pub use origin::Origin;
pub use passkey::Passkey;
