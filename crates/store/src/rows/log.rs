//! The transparency log: a row for each entry, in the order of the commits, and the tiles and the checkpoint that are made of them.
//!
//! An entry is the digest of a whole signed document, and is stored in the transaction that stores the document. Tiles and checkpoints follow
//! later, by one process at a time: what it read first is compared with what is stored when it writes. The store computes no hashes of the tree.

use proofmark_receipt::Sha256Digest;

use crate::engine::Engine;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::insert::{Insert, Set};
use crate::row::Row;
use crate::statement::{Statement, question, row};
use crate::tables::{LOG_ENTRIES, LOG_STATE, LOG_TILES};
use crate::tenant::Tenant;
use crate::value::values;

/// The most entries that [`crate::Store::log_entries`] answers at a time.
pub const MAX_LOG_ENTRIES: usize = 65_536;

/// A digest that is logged without a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry(pub Sha256Digest);

/// The state of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// How many entries are in tiles.
    pub integrated: u64,
    /// How many entries the last checkpoint covers.
    pub signed: u64,
    /// The last checkpoint, with the cosignatures that it has. Empty before the first.
    pub checkpoint: String,
}

/// Hashes of one level of the tree, in 256 places at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTile {
    pub level: u8,
    pub index: u64,
    pub hashes: Vec<u8>,
}

/// What a process adds to the log.
#[derive(Clone, Debug)]
pub struct LogChange {
    /// The state that it read. Where another one is stored, nothing is changed.
    pub from: LogState,
    pub to: LogState,
    /// The tiles that are new or have grown.
    pub tiles: Vec<LogTile>,
}

static ENTRY: Insert = Insert::into(&LOG_ENTRIES);
static TILE: Insert = Insert::or_change(&LOG_TILES, &[Set::Replace("hashes")]);
static STATE: Insert =
    Insert::or_change(&LOG_STATE, &[Set::Replace("integrated"), Set::Replace("signed"), Set::Replace("checkpoint")]);

/// The key of an entry.
pub(crate) fn key(digest: &Sha256Digest) -> Key {
    Key::new("logged", &[&digest.to_string()])
}

/// Asks whether a digest is in the log.
pub(crate) fn asks(digest: &Sha256Digest) -> Question {
    question!("SELECT number FROM log_entries WHERE digest = {digest}", digest: digest.as_bytes())
}

/// Appends a digest that is not in the log.
pub(crate) fn append(draft: &mut Draft<'_>, digest: &Sha256Digest) {
    let number = draft.number(&LOG_ENTRIES);
    draft.insert(&ENTRY, row!(LOG_ENTRIES { number: number, digest: digest.as_bytes() }));
}

impl Settle for LogEntry {
    fn keys(&self, _: &Tenant) -> Vec<Key> {
        vec![key(&self.0)]
    }

    fn questions(&self, _: &Tenant) -> Vec<Question> {
        vec![asks(&self.0)]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        // A document is logged once.
        if facts.row().is_none() {
            append(draft, &self.0);
        }
        Ok(())
    }
}

/// How many entries the log has.
pub(crate) fn length(db: &Db<'_>) -> Result<u64, Fault> {
    db.only("SELECT coalesce(max(number), 0) FROM log_entries", &[], |row| row.get(0))
}

/// The entries from this index on, at most `most`.
pub(crate) fn entries(db: &Db<'_>, from: u64, most: usize) -> Result<Vec<Sha256Digest>, Fault> {
    let most = i64::try_from(most.min(MAX_LOG_ENTRIES)).unwrap_or(i64::MAX);
    let mut next = from;
    let sql = "SELECT number, digest FROM log_entries WHERE number > $1 ORDER BY number LIMIT $2";
    db.all(sql, &values![from, most], |row| {
        next = next.saturating_add(1);
        // The tree has no gaps.
        if row.get::<u64>(0)? != next {
            return Err(Fault::changed("number", "an entry of the log is missing"));
        }
        Ok(Sha256Digest::from_bytes(row.get(1)?))
    })
}

/// The index of a digest.
pub(crate) fn index(db: &Db<'_>, digest: &Sha256Digest) -> Result<Option<u64>, Fault> {
    let number = db.value::<u64>("SELECT number FROM log_entries WHERE digest = $1", &values![digest.as_bytes()])?;
    Ok(number.and_then(|number| number.checked_sub(1)))
}

/// The hashes of a tile.
pub(crate) fn tile(db: &Db<'_>, level: u8, index: u64) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "SELECT hashes FROM log_tiles WHERE level = $1 AND nth = $2";
    db.value(sql, &values![level, index])
}

/// What is stored of the log.
pub(crate) fn state(db: &Db<'_>) -> Result<LogState, Fault> {
    Ok(db.one(READ, &[], read_state)?.unwrap_or_default())
}

const READ: &str = "SELECT integrated, signed, checkpoint FROM log_state";

fn read_state(row: &Row<'_>) -> Result<LogState, Fault> {
    Ok(LogState { integrated: row.get(0)?, signed: row.get(1)?, checkpoint: row.get(2)? })
}

/// Makes the change, unless another process was faster: whether it was made.
pub(crate) fn change(engine: &mut Engine, change: &LogChange) -> Result<bool, Fault> {
    let stored = engine.rows(READ, [])?.pop();
    let stored = match &stored {
        None => LogState::default(),
        Some(record) => LogState { integrated: record.get(0)?, signed: record.get(1)?, checkpoint: record.get(2)? },
    };
    if stored != change.from {
        return Ok(false);
    }
    let tiles = change.tiles.iter().map(|tile| {
        let hashes = tile.hashes.as_slice();
        (&TILE, row!(LOG_TILES { level: tile.level, nth: tile.index, hashes: hashes }))
    });
    let LogState { integrated, signed, checkpoint } = &change.to;
    let checkpoint = checkpoint.as_str();
    let state = row!(LOG_STATE { only_row: 0_u64, integrated: *integrated, signed: *signed, checkpoint: checkpoint });
    let rows = tiles.chain([(&STATE, state)]);
    engine.tell(rows.map(|(insert, row)| Statement::Insert { insert, row }).collect())?;
    Ok(true)
}
