//! The transparency log: which documents were issued, in an order that cannot be changed later.
//!
//! The crate has no clock, randomness, files or network: entries, tiles, keys and times are arguments. An entry is the digest of a
//! signed document ([`entry_of`]). It follows RFC 9162 and the specifications of C2SP (c2sp.org: signed-note, tlog-checkpoint,
//! tlog-tiles, tlog-cosignature, tlog-witness, tlog-proof, tlog-policy), and reads only one spelling of each thing.
//!
//! - The tree: `Hash`, [`Tiles`], [`Appender`], [`root`], [`inclusion_proof`], [`consistency_proof`] and what verifies them. Files of a
//!   log have a [`TilePath`]; entries stand in a [`bundle`].
//! - Who signs: [`Vkey`], [`LogSigner`], [`Cosigner`]; [`Note`], [`Checkpoint`] and [`SignedCheckpoint`] are what they sign.
//! - Who verifies: [`Policy`], [`ProofFile`], [`verify_proof`], with the answers of [`Code`].
//! - Who watches: [`CheckpointRequest`] is what a witness judges, [`audit`] reads a whole log, as a mirror does.

mod append;
mod audit;
mod bundle;
mod checkpoint;
mod code;
mod cosignature;
mod hash;
mod key;
mod note;
mod path;
mod policy;
mod proof;
mod proof_file;
mod text;
mod tile;
mod tree;
mod verify;
mod witness;

pub use append::Appender;
pub use audit::{AuditError, Audited, LogFiles, audit};
pub use bundle::{BUNDLE_ENTRY_BYTES, BundleError, bundle, read_bundle};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointTextError, HistoryError, LogSigner, SignedCheckpoint};
pub use code::Code;
pub use cosignature::{Cosignature, Cosigner, MAX_TIME};
pub use hash::{Hash, ParseHashError, leaf, node};
pub use key::{KeyNameError, KeyType, PrivateKeyError, Vkey, VkeyError};
pub use note::{MAX_NOTE_BYTES, MAX_NOTE_LINES, Note, NoteError, SignatureMismatch};
pub use path::{CHECKPOINT_PATH, TileContent, TilePath, TilePathError, origin_folder};
pub use policy::{MAX_POLICY_BYTES, MAX_POLICY_ITEMS, Party, Policy, PolicyError};
pub use proof::{MAX_PROOF_HASHES, ProofError, verify_consistency, verify_inclusion};
pub use proof_file::{MAX_EXTRA_BYTES, MAX_PROOF_FILE_BYTES, PROOF_HEADER, ProofFile, ProofFileError};
pub use tile::{TILE_HASHES, Tile, TileId, Tiles};
pub use tree::{TreeError, consistency_proof, inclusion_proof, root};
pub use verify::{EntryError, LogTrust, ProofVerification, TrustedKeys, Witnessed, entry_of, verify_proof};
pub use witness::{
    CheckpointRequest, Cosigned, MAX_REQUEST_BYTES, Refusal, WitnessState, add_checkpoint_body, cosignature_line,
    read_stale_size,
};
