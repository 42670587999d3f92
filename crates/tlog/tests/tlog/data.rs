//! The conformance data, and trees that are kept in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;

use proofmark_receipt::{Json, Sha256Digest};
use proofmark_testing::conformance;
use proofmark_tlog::{Appender, LogFiles, TileId, Tiles, Vkey, bundle, root};

/// The folder `conformance/tlog`; `None` after a skip.
pub(crate) fn folder() -> Option<PathBuf> {
    conformance("tlog")
}

/// One of its JSON files.
pub(crate) fn json(name: &str) -> Option<Json> {
    let bytes = std::fs::read(folder()?.join(name)).unwrap();
    Some(Json::parse(&bytes).unwrap())
}

pub(crate) fn member<'a>(json: &'a Json, name: &str) -> &'a Json {
    json.as_object().and_then(|object| object.get(name)).unwrap_or_else(|| panic!("no `{name}` in {json:?}"))
}

pub(crate) fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    member(json, name).as_str().unwrap()
}

pub(crate) fn number(json: &Json, name: &str) -> u64 {
    member(json, name).as_number().and_then(|number| number.as_u64()).unwrap()
}

pub(crate) fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    member(json, name).as_array().unwrap()
}

pub(crate) fn key(json: &Json, name: &str) -> Vkey {
    text(json, name).parse().unwrap()
}

pub(crate) fn digest(hex: &str) -> Sha256Digest {
    format!("sha256:{hex}").parse().unwrap()
}

/// The first entries of the log of `log.json`: three receipts, then digests of texts.
pub(crate) fn log_entries(count: usize) -> Option<Vec<Sha256Digest>> {
    let receipts = std::fs::read_to_string(folder()?.join("receipts.jsonl")).unwrap();
    let receipts = receipts.lines().map(|line| proofmark_tlog::entry_of(line.as_bytes()).unwrap());
    let others = (3..count).map(|index| Sha256Digest::of(format!("proofmark test entry {index}").as_bytes()));
    Some(receipts.chain(others).take(count).collect())
}

/// The tiles and bundles of a log.
#[derive(Clone, Default)]
pub(crate) struct Stored {
    pub(crate) tiles: BTreeMap<TileId, Vec<u8>>,
    pub(crate) bundles: BTreeMap<u64, Vec<u8>>,
}

impl Tiles for Stored {
    type Error = Infallible;

    fn tile(&self, id: TileId, _: usize) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.tiles.get(&id).cloned())
    }
}

impl LogFiles for Stored {
    fn bundle(&self, index: u64, _: usize) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.bundles.get(&index).cloned())
    }
}

pub(crate) fn entries(count: u64) -> Vec<Sha256Digest> {
    (0..count).map(|index| Sha256Digest::of(&index.to_be_bytes())).collect()
}

/// Appends in groups of these sizes; each group begins from what is stored.
pub(crate) fn stored(entries: &[Sha256Digest], groups: &[usize]) -> Stored {
    let mut stored = Stored::default();
    let mut size = 0;
    let mut rest = entries;
    let mut groups = groups.iter().copied().cycle();
    while !rest.is_empty() {
        let (group, others) = rest.split_at(groups.next().unwrap().clamp(1, rest.len()));
        let mut appender = Appender::open(size, &stored).unwrap();
        for entry in group {
            assert_eq!(appender.append(entry), size);
            size += 1;
        }
        for tile in appender.take_tiles() {
            let before = stored.tiles.insert(tile.id, tile.bytes.clone());
            assert!(tile.bytes.starts_with(&before.unwrap_or_default()), "a tile has changed");
        }
        assert_eq!(appender.take_tiles(), []);
        assert_eq!(appender.root(), root(size, &stored).unwrap());
        rest = others;
    }
    stored.bundles = (0..).zip(entries.chunks(256).map(bundle)).collect();
    stored
}
