use proofmark_receipt::Sha256Digest;

use crate::hash::HASH_BYTES;
use crate::tile::{LEVELS, hashes_at};
use crate::tree::{Reader, perfect, root_of_perfect};
use crate::{Hash, TILE_HASHES, Tile, TileId, Tiles, TreeError, leaf};

/// Appends entries to a tree of which only the right edge is held: one growing tile a level.
///
/// [`Appender::take_tiles`] hands out what is to be stored: tiles that became full, and those that grew. Full tiles never change
/// again, so a group of entries writes each tile once.
#[derive(Clone, Debug)]
pub struct Appender {
    size: u64,
    edges: Vec<Edge>,
    full: Vec<Tile>,
}

/// The growing tile of a level.
#[derive(Clone, Debug, Default)]
struct Edge {
    index: u64,
    hashes: Vec<Hash>,
    is_changed: bool,
}

impl Default for Appender {
    /// An appender to the empty tree.
    fn default() -> Self {
        let edges = std::iter::repeat_n(Edge::default(), usize::from(LEVELS)).collect();
        Self { size: 0, edges, full: Vec::new() }
    }
}

impl Appender {
    /// An appender to the tree of `size` entries. Reads one tile for each level that has a partial one.
    ///
    /// # Errors
    /// [`TreeError`] when a tile is missing or cannot be read.
    pub fn open<T: Tiles>(size: u64, tiles: T) -> Result<Self, TreeError<T::Error>> {
        let mut reader = Reader::new(size, tiles);
        let mut edges = Vec::new();
        for level in 0..LEVELS {
            let index = hashes_at(level, size) / TILE_HASHES as u64;
            let hashes = match TileId::edge(level, size) {
                Some((id, _)) => reader.hashes(id)?.to_vec(),
                None => Vec::new(),
            };
            edges.push(Edge { index, hashes, is_changed: false });
        }
        Ok(Self { size, edges, full: Vec::new() })
    }

    /// How many entries the tree has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry and returns its index.
    pub fn append(&mut self, entry: &Sha256Digest) -> u64 {
        let index = self.size;
        self.size = self.size.saturating_add(1);
        let mut hash = leaf(entry);
        for (level, edge) in (0..).zip(&mut self.edges) {
            edge.hashes.push(hash);
            edge.is_changed = true;
            if edge.hashes.len() < TILE_HASHES {
                break;
            }
            // Only full tiles are hashed into the level above.
            hash = perfect(&edge.hashes);
            let next = Edge { index: edge.index.saturating_add(1), ..Edge::default() };
            let full = std::mem::replace(edge, next);
            self.full.push(full.tile(level));
        }
        index
    }

    /// The root of the tree as it stands.
    #[must_use]
    pub fn root(&self) -> Hash {
        let perfect_trees = self.edges.iter().rev().flat_map(|edge| {
            let mut rest = edge.hashes.as_slice();
            let mut roots = Vec::new();
            for bit in (0..u8::BITS).rev() {
                if let Some((tree, others)) = rest.split_at_checked(1 << bit) {
                    roots.push(perfect(tree));
                    rest = others;
                }
            }
            roots
        });
        root_of_perfect(perfect_trees.collect())
    }

    /// The tiles that are new or have grown since the last call, each as it is to be stored.
    pub fn take_tiles(&mut self) -> Vec<Tile> {
        let mut tiles = std::mem::take(&mut self.full);
        for (level, edge) in (0..).zip(&mut self.edges) {
            if std::mem::take(&mut edge.is_changed) {
                tiles.push(edge.clone().tile(level));
            }
        }
        tiles
    }
}

impl Edge {
    fn tile(self, level: u8) -> Tile {
        let mut bytes = Vec::with_capacity(self.hashes.len() * HASH_BYTES);
        for hash in &self.hashes {
            bytes.extend_from_slice(hash.as_bytes());
        }
        Tile { id: TileId { level, index: self.index }, bytes }
    }
}
