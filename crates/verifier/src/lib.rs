//! The one place that knows the order of things: admit, plan, run, judge, seal,
//! append.
//!
//! It knows neither HTTP nor the command line nor SQL. Clock and randomness are
//! read here and handed to the pure rooms as values.
//!
//! - [`verify_all`] runs requests on several workers and hands back one
//!   [`Judged`] each.
//! - [`Sealer`] turns them into receipts: signed, chained and on disk.
//! - [`Keyring`] keeps keys in files.

mod clock;
mod keyfile;
mod keyring;
mod run;
mod seal;
mod trust;

pub use keyfile::{KeyFileError, Passphrase};
pub use keyring::{Keyring, KeyringError};
pub use run::{Judged, verify_all};
pub use seal::{SealError, Sealer};
pub use trust::{TrustError, trusted_signers};
