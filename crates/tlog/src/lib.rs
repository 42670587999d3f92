//! The transparency log: the tree and its tiles.

mod append;
mod hash;
mod proof;
mod tile;
mod tree;

pub use append::Appender;
pub use hash::{Hash, ParseHashError, leaf, node};
pub use proof::{MAX_PROOF_HASHES, ProofError, verify_consistency, verify_inclusion};
pub use tile::{TILE_HASHES, Tile, TileId, Tiles};
pub use tree::{TreeError, consistency_proof, inclusion_proof, root};
