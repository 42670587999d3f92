use std::collections::BTreeMap;

use thiserror::Error;

use crate::hash::HASH_BYTES;
use crate::tile::{self, TILE_HEIGHT};
use crate::{Hash, TileId, Tiles, node};

/// Why a hash of the tree could not be computed from its tiles.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError<E> {
    #[error("tile {} of level {} is missing", .0.index, .0.level)]
    Missing(TileId),
    /// Fewer hashes than the tree has there.
    #[error("tile {} of level {} has {bytes} bytes where the tree has {width} hashes of 32 bytes", .id.index, .id.level)]
    Short { id: TileId, bytes: usize, width: usize },
    #[error("a tree of {size} entries has no entry {index}")]
    BeyondTree { index: u64, size: u64 },
    #[error("a tree of {old} entries cannot be a prefix of one of {new}")]
    NotOlder { old: u64, new: u64 },
    #[error(transparent)]
    Storage(E),
}

/// The root of the first `size` entries (RFC 9162, section 2.1.1). Reads at most one tile a level.
///
/// # Errors
/// [`TreeError`] when a tile is missing or cannot be read.
pub fn root<T: Tiles>(size: u64, tiles: T) -> Result<Hash, TreeError<T::Error>> {
    Reader::new(size, tiles).range(0, size)
}

/// The inclusion proof of entry `index` in the tree of the first `size` entries: siblings from the leaf up (RFC 9162,
/// section 2.1.3.1). Reads at most two tiles a level.
///
/// # Errors
/// [`TreeError`] when `index` is not below `size`, or when a tile is missing or cannot be read.
pub fn inclusion_proof<T: Tiles>(index: u64, size: u64, tiles: T) -> Result<Vec<Hash>, TreeError<T::Error>> {
    if index >= size {
        return Err(TreeError::BeyondTree { index, size });
    }
    let mut reader = Reader::new(size, tiles);
    let (mut from, mut to) = (0, size);
    let mut path = Vec::new();
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            path.push(reader.range(middle, to)?);
            to = middle;
        } else {
            path.push(reader.range(from, middle)?);
            from = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that the first `old` entries are a prefix of the first `new` ones (RFC 9162, section 2.1.4.1). It is empty when both
/// are equal and when `old` is 0, where nothing has to be proven. Reads at most two tiles a level.
///
/// # Errors
/// [`TreeError`] when `old` is more than `new`, or when a tile is missing or cannot be read.
pub fn consistency_proof<T: Tiles>(old: u64, new: u64, tiles: T) -> Result<Vec<Hash>, TreeError<T::Error>> {
    if old > new {
        return Err(TreeError::NotOlder { old, new });
    }
    if old == 0 {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(new, tiles);
    let (mut from, mut to) = (0, new);
    let mut path = Vec::new();
    while old != to {
        let middle = from + split(to - from);
        if old <= middle {
            path.push(reader.range(middle, to)?);
            to = middle;
        } else {
            path.push(reader.range(from, middle)?);
            from = middle;
        }
    }
    // The verifier knows the root of the old tree; where that tree is not one subtree of the new one, it lacks this part of it.
    if from > 0 {
        path.push(reader.range(from, to)?);
    }
    path.reverse();
    Ok(path)
}

/// Reads each tile of a tree at most once.
pub(crate) struct Reader<T> {
    size: u64,
    tiles: T,
    read: BTreeMap<TileId, Vec<Hash>>,
}

impl<T: Tiles> Reader<T> {
    pub(crate) fn new(size: u64, tiles: T) -> Self {
        Self { size, tiles, read: BTreeMap::new() }
    }

    /// The hashes that a tile has in this tree.
    pub(crate) fn hashes(&mut self, id: TileId) -> Result<&[Hash], TreeError<T::Error>> {
        use std::collections::btree_map::Entry;

        match self.read.entry(id) {
            Entry::Occupied(read) => Ok(read.into_mut()),
            Entry::Vacant(place) => {
                let width = id.width(self.size);
                let bytes = self.tiles.tile(id, width).map_err(TreeError::Storage)?.ok_or(TreeError::Missing(id))?;
                let short = TreeError::Short { id, bytes: bytes.len(), width };
                let used = bytes.get(..width * HASH_BYTES).ok_or(short)?;
                Ok(place.insert(tile::hashes(used)))
            }
        }
    }

    /// `MTH(D[from:to])` for a range that the tree's recursion meets: `from` is a multiple of the smallest power of two that is not
    /// below `to - from`.
    fn range(&mut self, from: u64, to: u64) -> Result<Hash, TreeError<T::Error>> {
        let mut roots = Vec::new();
        let mut from = from;
        while from < to {
            let height = (to - from).ilog2();
            roots.push(self.perfect_tree(from, height)?);
            from += 1 << height;
        }
        Ok(root_of_perfect(roots))
    }

    /// The root of the perfect tree of `2^height` entries from `from`, which is a multiple of that.
    fn perfect_tree(&mut self, from: u64, height: u32) -> Result<Hash, TreeError<T::Error>> {
        let level = height / TILE_HEIGHT;
        // Where its hashes begin among all of that level.
        let place = from >> (level * TILE_HEIGHT);
        let index = place >> TILE_HEIGHT;
        let first = usize::try_from(place & 0xFF).unwrap_or_default();
        let id = TileId { level: u8::try_from(level).unwrap_or_default(), index };
        let count = 1 << (height % TILE_HEIGHT);
        let hashes = self.hashes(id)?;
        let short = TreeError::Short { id, bytes: hashes.len() * HASH_BYTES, width: first + count };
        Ok(perfect(hashes.get(first..first + count).ok_or(short)?))
    }
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// The root over a number of hashes that is a power of two.
pub(crate) fn perfect(hashes: &[Hash]) -> Hash {
    let mut hashes = hashes.to_vec();
    while hashes.len() > 1 {
        let (pairs, _) = hashes.as_chunks::<2>();
        hashes = pairs.iter().map(|[left, right]| node(left, right)).collect();
    }
    hashes.first().copied().unwrap_or(Hash::OF_NOTHING)
}

/// The root over perfect trees of falling size.
pub(crate) fn root_of_perfect(roots: Vec<Hash>) -> Hash {
    roots.into_iter().rev().reduce(|right, left| node(&left, &right)).unwrap_or(Hash::OF_NOTHING)
}
