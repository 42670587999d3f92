use proofmark_receipt::Sha256Digest;
use thiserror::Error;

use crate::bundle::{BundleError, read_bundle};
use crate::hash::HASH_BYTES;
use crate::{Appender, Code, Hash, TILE_HASHES, Tile, TileId, Tiles, leaf};

/// Where the tiles and the bundles of a log are read.
pub trait LogFiles: Tiles {
    /// The bytes of a bundle of entries, or `None` when it is not stored.
    ///
    /// `width` is how many entries the bundle has in the tree that is asked about, from 1 to 256. More than that may be returned: a
    /// narrow bundle is a prefix of a wide one.
    ///
    /// # Errors
    /// When the storage cannot be read.
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, Self::Error>;
}

impl<T: LogFiles + ?Sized> LogFiles for &T {
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, T::Error> {
        T::bundle(self, index, width)
    }
}

/// What an audit has compared: files of the log, cut to their width in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audited {
    Bundle { index: u64, entries: Vec<Sha256Digest> },
    Tile(Tile),
}

/// The first fault of a log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuditError<E> {
    #[error("tile {} of level {} is missing", .0.index, .0.level)]
    TileMissing(TileId),
    #[error("the bundle {0} of entries is missing")]
    BundleMissing(u64),
    #[error("tile {} of level {} has {bytes} bytes where the tree has {width} hashes of 32 bytes", .id.index, .id.level)]
    MalformedTile { id: TileId, bytes: usize, width: usize },
    #[error("the bundle {index} of entries: {fault}")]
    MalformedBundle { index: u64, fault: BundleError },
    #[error("entry {0} does not hash to its leaf")]
    EntryMismatch(u64),
    #[error("tile {} of level {} does not hash to its place in the level above", .0.index, .0.level)]
    TileMismatch(TileId),
    #[error("the tree of the tiles is not the one that was signed")]
    RootMismatch,
    /// The checkpoint is older than what was audited before.
    #[error("{held} entries are held already, and the tree has {size}")]
    Held { held: u64, size: u64 },
    #[error(transparent)]
    Storage(E),
}

impl<E> AuditError<E> {
    /// Its code; `None` when nothing was audited, or the storage cannot be read.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        Some(match self {
            Self::TileMissing(_) | Self::BundleMissing(_) => Code::TileMissing,
            Self::MalformedTile { .. } | Self::MalformedBundle { .. } => Code::MalformedTile,
            Self::EntryMismatch(_) => Code::EntryMismatch,
            Self::TileMismatch(_) => Code::TileMismatch,
            Self::RootMismatch => Code::RootMismatch,
            Self::Held { .. } | Self::Storage(_) => return None,
        })
    }
}

/// Compares the files of a log with each other and with the root that was signed: every bundle with its tile of leaves, every tile
/// with the level above, and the whole with the root. It holds one tile a level, and reads every file once.
///
/// `held` is the tree whose files were audited before, [`Appender::default`] for none: a mirror begins where it ended. Its files are not
/// read again, but for those that have grown. `audited` gets each file once the files below it fit; all of them are good only once the
/// audit ends well.
///
/// # Errors
/// [`AuditError`] with the first fault, or with the error of the storage or of `audited`.
pub fn audit<F: LogFiles>(
    held: Appender,
    size: u64,
    root: &Hash,
    files: F,
    mut audited: impl FnMut(Audited) -> Result<(), F::Error>,
) -> Result<(), AuditError<F::Error>> {
    let mut tree = held;
    if tree.size() > size {
        return Err(AuditError::Held { held: tree.size(), size });
    }
    while tree.size() < size {
        let index = tree.size() / TILE_HASHES as u64;
        let known = usize::try_from(tree.size() % TILE_HASHES as u64).unwrap_or_default();
        let entries = read_entries(&files, index, size)?;
        let (known, new) = entries.split_at_checked(known).unwrap_or_default();
        for entry in new {
            tree.append(entry);
        }
        for tile in tree.take_tiles() {
            if tile.id.level == 0 {
                check_known(known, &tile)?;
            }
            // A tile that grows is compared once, when it is as wide as in the whole tree.
            if tile.bytes.len() == tile.id.width(size) * HASH_BYTES {
                compare(&tile, &files, size)?;
                audited(Audited::Tile(tile)).map_err(AuditError::Storage)?;
            }
        }
        audited(Audited::Bundle { index, entries }).map_err(AuditError::Storage)?;
    }
    if tree.root() == *root { Ok(()) } else { Err(AuditError::RootMismatch) }
}

fn read_entries<F: LogFiles>(files: &F, index: u64, size: u64) -> Result<Vec<Sha256Digest>, AuditError<F::Error>> {
    let width = TileId { level: 0, index }.width(size);
    let bytes = files.bundle(index, width).map_err(AuditError::Storage)?.ok_or(AuditError::BundleMissing(index))?;
    let malformed = |fault| AuditError::MalformedBundle { index, fault };
    let mut entries = read_bundle(&bytes).map_err(malformed)?;
    if entries.len() < width {
        return Err(malformed(BundleError::Length(bytes.len())));
    }
    entries.truncate(width);
    Ok(entries)
}

/// Compares entries that were held before, and are read again because their bundle has grown, with their leaves.
fn check_known<E>(known: &[Sha256Digest], leaves: &Tile) -> Result<(), AuditError<E>> {
    let (hashes, _) = leaves.bytes.as_chunks::<HASH_BYTES>();
    let changed = known.iter().zip(hashes).position(|(entry, hash)| leaf(entry).as_bytes() != hash);
    changed.map_or(Ok(()), |place| Err(AuditError::EntryMismatch(leaves.id.first_hash() + place as u64)))
}

/// Compares a tile that was computed from the entries with the one that is stored.
fn compare<F: LogFiles>(computed: &Tile, files: &F, size: u64) -> Result<(), AuditError<F::Error>> {
    let id = computed.id;
    let width = id.width(size);
    let stored = files.tile(id, width).map_err(AuditError::Storage)?.ok_or(AuditError::TileMissing(id))?;
    let malformed = AuditError::MalformedTile { id, bytes: stored.len(), width };
    let (stored, rest) = stored.as_chunks::<HASH_BYTES>();
    if !rest.is_empty() || !(width..=TILE_HASHES).contains(&stored.len()) {
        return Err(malformed);
    }
    let (hashes, _) = computed.bytes.as_chunks::<HASH_BYTES>();
    let Some(place) = stored.iter().zip(hashes).position(|(stored, computed)| stored != computed) else {
        return Ok(());
    };
    let index = id.first_hash() + place as u64;
    Err(match id.level.checked_sub(1) {
        None => AuditError::EntryMismatch(index),
        Some(level) => AuditError::TileMismatch(TileId { level, index }),
    })
}
