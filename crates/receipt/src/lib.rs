//! Canonical JSON, VRF 1.0 receipts, digests, keys, signatures and chains; and the strict reader of documents.
//!
//! The crate has no clock, randomness, files or network: times, identifiers and seeds are arguments, documents are bytes.
//! It does not know what was verified or how.
//!
//! Read `json` first: its reader keeps each number as written, and its canonical forms are what is hashed and signed.
//! `digest`, `signer`, `key`, `receipt_id` and `timestamp` are the small types, `results` and `draft` what becomes a
//! document. `safe` says what may be signed, `prepared` signs it, and `link` ties it to its chain. `receipt` reads a document
//! again, `signature` and `verify` judge its signature, with the answers of `verification`, and `chain` and `head` judge a
//! whole chain; `error` is why a document is not a receipt.
//!
//! `document` reads what people write, in JSON or YAML, strictly and with the place of each error; `members` does so for one
//! object of a receipt, and `glob` reads patterns of names in them. `position`, `shown` and `hex` are for texts.
//!
//! ```
//! use proofmark_receipt::{SignatureStatus, Profile, SigningKey, Trust, verify};
//! # use proofmark_receipt::{Draft, Hashes, Object, ReceiptId, Results, Sha256Digest, Timestamp, Verdict};
//! # let draft = Draft {
//! #     receipt_id: ReceiptId::from_random_bytes([7; 16]),
//! #     verified_at: Timestamp::from_unix_millis(0),
//! #     tier: 0,
//! #     verdict: Verdict::Error,
//! #     task: None,
//! #     results: Results::default(),
//! #     hashes: Hashes { specification: Sha256Digest::of(b""), output: Sha256Digest::of(b""), tests: None },
//! #     metadata: Object::new(),
//! # };
//! let key = SigningKey::from_seed([1; 32]);
//! let receipt = draft.sign(&key)?;
//! let verification = verify(receipt.to_text().as_bytes(), Profile::Vrf, &[key.signer()]);
//! assert_eq!(verification.answer, SignatureStatus::Valid);
//! assert_eq!(verification.trust, Trust::Trusted);
//! # Ok::<(), proofmark_receipt::SignError>(())
//! ```

mod answer;
mod chain;
mod digest;
pub mod document;
mod draft;
mod error;
pub mod glob;
mod head;
pub mod hex;
pub mod json;
mod key;
mod link;
mod members;
mod position;
mod prepared;
mod receipt;
mod receipt_id;
mod results;
mod safe;
mod shown;
mod signature;
mod signer;
mod timestamp;
mod verification;
mod verify;

pub use answer::Answer;
pub use chain::{ChainError, ChainLoss, ChainVerifier, SignedEnd, verify_chain, verify_links};
pub use digest::{ParseDigestError, Sha256Digest};
pub use draft::Draft;
pub use error::ReceiptError;
pub use head::ChainHead;
pub use json::{Json, Object, Profile};
pub use key::{KeyError, SigningKey};
pub use link::{ChainEnd, ChainTip, Link, LostEnd, UnreadableLoss};
pub use prepared::{Prepared, SignedLink};
pub use receipt::{Hashes, Receipt, Task};
pub use receipt_id::{ParseReceiptIdError, ReceiptId};
pub use results::{DecidedBy, Detail, Results, Status, UnknownWordError, Verdict};
pub use safe::SignError;
pub use shown::shown;
pub use signature::{Signature, sign_document, verify_document};
pub use signer::{ParseSignerError, SignerId};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use verification::{InvalidCause, SignatureStatus, Trust, UndecidableCause, Verification};
pub use verify::{verify, verify_receipt};
