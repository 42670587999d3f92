use crate::Hash;
use crate::hash::HASH_BYTES;

/// How many hashes a full tile has, and how many entries a full bundle (C2SP tlog-tiles).
pub const TILE_HASHES: usize = 256;

/// How many levels of nodes a tile stands for: 2^8 hashes are the leaves of a tile.
pub(crate) const TILE_HEIGHT: u32 = 8;

/// The levels that a tree of less than 2^64 entries can have.
pub(crate) const LEVELS: u8 = 8;

/// Which tile: hash `i` of tile `index` at `level` is the root of `256^level` entries from entry
/// `(256 * index + i) * 256^level` (C2SP tlog-tiles, "Merkle tree").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    pub level: u8,
    pub index: u64,
}

/// A tile as it is stored: up to 256 hashes of 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub id: TileId,
    pub bytes: Vec<u8>,
}

/// Where tiles are read.
pub trait Tiles {
    /// Why reading failed.
    type Error;

    /// The hashes of a tile, or `None` when it is not stored.
    ///
    /// `width` is how many hashes the tile has in the tree that is asked about, from 1 to 256. More than that may be returned: a
    /// narrow tile is a prefix of a wide one.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, Self::Error>;
}

impl<T: Tiles + ?Sized> Tiles for &T {
    type Error = T::Error;

    fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, T::Error> {
        T::tile(self, id, width)
    }
}

impl TileId {
    /// How many hashes this tile has in a tree of `size` entries; 0 when it is not part of the tree.
    #[must_use]
    pub fn width(&self, size: u64) -> usize {
        let hashes = hashes_at(self.level, size);
        let before = self.index.checked_mul(TILE_HASHES as u64);
        let width = before.map_or(0, |before| hashes.saturating_sub(before)).min(TILE_HASHES as u64);
        usize::try_from(width).unwrap_or_default()
    }

    /// The place of its first hash among all of its level.
    pub(crate) fn first_hash(self) -> u64 {
        self.index.saturating_mul(TILE_HASHES as u64)
    }

    /// The partial tile at this level of a tree of `size` entries, with its width; `None` when all tiles of the level are full.
    #[must_use]
    pub fn edge(level: u8, size: u64) -> Option<(Self, usize)> {
        let id = Self { level, index: hashes_at(level, size) / TILE_HASHES as u64 };
        Some((id, id.width(size))).filter(|(_, width)| *width > 0)
    }
}

/// How many hashes all tiles of a level have together, in a tree of `size` entries.
pub(crate) fn hashes_at(level: u8, size: u64) -> u64 {
    size.checked_shr(u32::from(level) * TILE_HEIGHT).unwrap_or_default()
}

/// The hashes of a tile; bytes behind the last whole hash are ignored.
pub(crate) fn hashes(bytes: &[u8]) -> Vec<Hash> {
    let (hashes, _) = bytes.as_chunks::<HASH_BYTES>();
    hashes.iter().copied().map(Hash::from_bytes).collect()
}
