use proofmark_store::{Store, StoreError};
use proofmark_tlog::{LogFiles, TILE_HASHES, TileId, Tiles, bundle};

/// The tiles and entries of a store.
#[derive(Clone, Copy)]
pub struct StoredLog<'s>(pub &'s Store);

impl Tiles for StoredLog<'_> {
    type Error = StoreError;

    fn tile(&self, id: TileId, _width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        // As wide as it is stored: a narrower one is its beginning.
        self.0.log_tile(id.level, id.index)
    }
}

impl LogFiles for StoredLog<'_> {
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let entries = self.0.log_entries(index.saturating_mul(TILE_HASHES as u64), width)?;
        Ok((entries.len() == width).then(|| bundle(&entries)))
    }
}
