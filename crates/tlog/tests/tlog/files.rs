//! Paths and bundles.

use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{entries, json, list, member, number, text};

#[test]
fn paths_are_those_of_the_data() {
    let Some(paths) = json("paths.json") else { return };
    let encode = list(&paths, "encode");
    for known in encode {
        let index = number(known, "index");
        let content = match member(known, "level").as_str() {
            Some(_) => TileContent::Entries(index),
            None => TileContent::Tile(TileId { level: u8::try_from(number(known, "level")).unwrap(), index }),
        };
        let path = TilePath { content, width: u16::try_from(number(known, "width")).unwrap() };
        assert_eq!(path.to_string(), text(known, "path"));
        assert_eq!(text(known, "path").parse(), Ok(path));
    }
    let refuse = list(&paths, "refuse");
    for path in refuse.iter().map(|path| path.as_str().unwrap()) {
        assert!(path.parse::<TilePath>().is_err(), "{path}");
    }
    assert_eq!((encode.len(), refuse.len()), (15, 32));
}

#[test]
fn a_tree_has_the_paths_of_the_specification() {
    let of = |level, index, size| TilePath::of_tile(TileId { level, index }, size).map(|path| path.to_string());
    assert_eq!(of(0, 0, 256).as_deref(), Some("tile/0/000"));
    assert_eq!(of(0, 1, 256), None);
    assert_eq!(of(1, 0, 256).as_deref(), Some("tile/1/000.p/1"));
    assert_eq!(of(0, 273, 70_000).as_deref(), Some("tile/0/273.p/112"));
    assert_eq!(of(1, 1, 70_000).as_deref(), Some("tile/1/001.p/17"));
    assert_eq!(of(2, 0, 70_000).as_deref(), Some("tile/2/000.p/1"));
    assert_eq!(of(3, 0, 70_000), None);
    assert_eq!(of(63, u64::MAX, u64::MAX), None);
    let entries = TilePath::of_entries(1, 300).unwrap();
    assert_eq!(entries.to_string(), "tile/entries/001.p/44");
    assert!(entries.is_within(300) && entries.is_within(301) && !entries.is_within(299));
    assert_eq!(
        origin_folder("log.example/proofmark"),
        "411e7a57e9e0295f0e924eb9e8073b2eed985728ef44cb9e7779f4f5e86cff9b"
    );
}

#[test]
fn a_bundle_of_other_lengths_is_refused() {
    let good = bundle(&entries(3));
    assert_eq!(read_bundle(&good), Ok(entries(3)));
    assert_eq!(read_bundle(&good[..101]), Err(BundleError::Length(101)));
    assert_eq!(read_bundle(&[]), Err(BundleError::Length(0)));
    assert_eq!(read_bundle(&bundle(&entries(257))), Err(BundleError::Length(257 * BUNDLE_ENTRY_BYTES)));
    let mut long = good;
    long[34 + 1] = 31;
    assert_eq!(read_bundle(&long), Err(BundleError::Entry(1)));
}

proptest! {
    #[test]
    fn paths_read_back(level in 0_u8..64, index: u64, width in 1_u16..=256, is_entries: bool) {
        let content = if is_entries { TileContent::Entries(index) } else { TileContent::Tile(TileId { level, index }) };
        let path = TilePath { content, width };
        prop_assert_eq!(path.to_string().parse(), Ok(path));
    }

    #[test]
    fn a_path_has_one_spelling(text in "tile/(entries|[0-9]{1,2})/(x?[0-9]{3}/){0,2}[0-9]{3}(\\.p/[0-9]{1,3})?") {
        if let Ok(path) = text.parse::<TilePath>() {
            prop_assert_eq!(path.to_string(), text);
        }
    }
}
