use std::fmt;
use std::str::FromStr;

use proofmark_receipt::{Sha256Digest, shown};
use thiserror::Error;

use crate::hash::HASH_BYTES;
use crate::text::decimal;
use crate::{BUNDLE_ENTRY_BYTES, TILE_HASHES, TileId};

/// The path of a log's checkpoint below its URL (C2SP tlog-tiles).
pub const CHECKPOINT_PATH: &str = "checkpoint";

/// The highest level of a path. No tree of less than 2^64 entries reaches it.
const MAX_LEVEL: u64 = 63;
/// How many groups of three digits an index of 64 bits has at most.
const MAX_GROUPS: usize = 7;

/// The path of a tile or of a bundle of entries (C2SP tlog-tiles, "Merkle tree" and "Log entries").
///
/// Written `tile/<level>/<index>` and `tile/entries/<index>`, with `.p/<width>` when it is partial. Each has one spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TilePath {
    pub content: TileContent,
    /// From 1 to 256, which is full.
    pub width: u16,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileContent {
    /// Hashes.
    Tile(TileId),
    /// The bundle of entries with this index.
    Entries(u64),
}

/// The text is not the path of a tile or a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the path of a tile or of a bundle of entries")]
pub struct TilePathError(String);

impl TilePath {
    /// The path of a tile in a tree of `size` entries; `None` when the tree does not have it.
    #[must_use]
    pub fn of_tile(id: TileId, size: u64) -> Option<Self> {
        Self::with_width(TileContent::Tile(id), id.width(size))
    }

    /// The path of a bundle in a tree of `size` entries; `None` when the tree does not have it.
    #[must_use]
    pub fn of_entries(index: u64, size: u64) -> Option<Self> {
        Self::with_width(TileContent::Entries(index), TileId { level: 0, index }.width(size))
    }

    /// Whether a tree of `size` entries has this tile or bundle, at this width or wider. A server answers 404 to all others.
    #[must_use]
    pub fn is_within(&self, size: u64) -> bool {
        let id = match self.content {
            TileContent::Tile(id) => id,
            TileContent::Entries(index) => TileId { level: 0, index },
        };
        usize::from(self.width) <= id.width(size)
    }

    /// How many bytes it has: the first of those that are stored for the wider one.
    #[must_use]
    pub fn length(&self) -> usize {
        let of_each = match self.content {
            TileContent::Tile(_) => HASH_BYTES,
            TileContent::Entries(_) => BUNDLE_ENTRY_BYTES,
        };
        usize::from(self.width) * of_each
    }

    fn with_width(content: TileContent, width: usize) -> Option<Self> {
        let width = u16::try_from(width).ok().filter(|width| *width > 0)?;
        Some(Self { content, width })
    }

    fn parse(text: &str) -> Option<Self> {
        let (level, rest) = text.strip_prefix("tile/")?.split_once('/')?;
        let (index, width) = match rest.split_once(".p/") {
            Some((index, width)) => (index, decimal(width).filter(|width| (1..TILE_HASHES as u64).contains(width))?),
            None => (rest, TILE_HASHES as u64),
        };
        let index = parse_index(index)?;
        let content = if level == "entries" {
            TileContent::Entries(index)
        } else {
            let level = decimal(level).filter(|level| *level <= MAX_LEVEL)?;
            TileContent::Tile(TileId { level: u8::try_from(level).ok()?, index })
        };
        Some(Self { content, width: u16::try_from(width).ok()? })
    }
}

impl FromStr for TilePath {
    type Err = TilePathError;

    fn from_str(text: &str) -> Result<Self, TilePathError> {
        Self::parse(text).ok_or_else(|| TilePathError(shown(text)))
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = match self.content {
            TileContent::Tile(id) => {
                write!(f, "tile/{}", id.level)?;
                id.index
            }
            TileContent::Entries(index) => {
                f.write_str("tile/entries")?;
                index
            }
        };
        let mut groups = vec![index % 1000];
        let mut rest = index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for (after, group) in groups.iter().enumerate().rev() {
            let mark = if after > 0 { "x" } else { "" };
            write!(f, "/{mark}{group:03}")?;
        }
        if usize::from(self.width) < TILE_HASHES {
            write!(f, ".p/{}", self.width)?;
        }
        Ok(())
    }
}

/// The folder of a log at a witness or a mirror: SHA-256 of its origin, in 64 lower-case hex digits (C2SP tlog-witness, tlog-mirror).
#[must_use]
pub fn origin_folder(origin: &str) -> String {
    Sha256Digest::of(origin.as_bytes()).bare_hex()
}

/// Groups of three digits, all but the last with `x` before, and no group of zeros before others.
fn parse_index(text: &str) -> Option<u64> {
    let mut index: u64 = 0;
    let mut groups = text.splitn(MAX_GROUPS + 1, '/').peekable();
    while let Some(group) = groups.next() {
        let is_last = groups.peek().is_none();
        let digits = if is_last { group } else { group.strip_prefix('x')? };
        if digits.len() != 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let is_leading_zeros = digits == "000" && index == 0 && !is_last;
        if is_leading_zeros {
            return None;
        }
        index = index.checked_mul(1000)?.checked_add(digits.parse().ok()?)?;
    }
    Some(index)
}
