//! Audits of whole logs, and of what a mirror adds to one.

use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{Stored, entries, stored};

fn code(result: Result<(), AuditError<std::convert::Infallible>>) -> Option<Code> {
    result.err().map(|error| error.code().unwrap())
}

fn whole(size: u64, root: &Hash, files: &Stored) -> Result<(), AuditError<std::convert::Infallible>> {
    audit(Appender::default(), size, root, files, |_| Ok(()))
}

#[test]
fn a_mirror_adds_what_it_has_audited() {
    let all = entries(70_000);
    let files = stored(&all, &[70_000]);
    let mut copy = Stored::default();
    let mut held = 0_u64;
    for size in [0, 1, 255, 256, 257, 300, 300, 1000, 65_536, 65_537, 70_000] {
        let appender = Appender::open(held, &copy).unwrap();
        let mut taken = Vec::new();
        let root = root(size, &files).unwrap();
        let audited = audit(appender, size, &root, &files, |file| {
            taken.push(file);
            Ok(())
        });
        assert_eq!(audited, Ok(()), "{size}");
        for file in taken {
            match file {
                Audited::Bundle { index, entries } => drop(copy.bundles.insert(index, bundle(&entries))),
                Audited::Tile(tile) => drop(copy.tiles.insert(tile.id, tile.bytes)),
            }
        }
        held = size;
        assert_eq!(Appender::open(held, &copy).unwrap().root(), root);
    }
    assert!(copy.tiles == files.tiles && copy.bundles == files.bundles);
    assert_eq!(whole(held, &root(held, &copy).unwrap(), &copy), Ok(()));
}

#[test]
fn each_fault_has_its_name() {
    let good = stored(&entries(70_000), &[70_000]);
    let root = root(70_000, &good).unwrap();
    let fault = |change: &dyn Fn(&mut Stored)| {
        let mut files = good.clone();
        change(&mut files);
        whole(70_000, &root, &files).unwrap_err()
    };
    let id = |level, index| TileId { level, index };
    assert_eq!(fault(&|files| drop(files.tiles.remove(&id(0, 273)))), AuditError::TileMissing(id(0, 273)));
    assert_eq!(fault(&|files| drop(files.tiles.remove(&id(1, 0)))), AuditError::TileMissing(id(1, 0)));
    assert_eq!(fault(&|files| drop(files.tiles.remove(&id(2, 0)))), AuditError::TileMissing(id(2, 0)));
    assert_eq!(fault(&|files| drop(files.bundles.remove(&5))), AuditError::BundleMissing(5));
    let leaf_changed = fault(&|files| files.tiles.get_mut(&id(0, 7)).unwrap()[3 * 32] ^= 1);
    assert_eq!(leaf_changed, AuditError::EntryMismatch(7 * 256 + 3));
    let parent_changed = fault(&|files| files.tiles.get_mut(&id(1, 0)).unwrap()[9 * 32] ^= 1);
    assert_eq!(parent_changed, AuditError::TileMismatch(id(0, 9)));
    let grandparent_changed = fault(&|files| files.tiles.get_mut(&id(2, 0)).unwrap()[0] ^= 1);
    assert_eq!(grandparent_changed, AuditError::TileMismatch(id(1, 0)));
    let entry_changed = fault(&|files| files.bundles.get_mut(&2).unwrap()[34 * 5 + 2] ^= 1);
    assert_eq!(entry_changed, AuditError::EntryMismatch(2 * 256 + 5));
    let both_changed = fault(&|files| {
        let other = entries(300);
        files.bundles.insert(2, bundle(&other[..256]));
        let leaves: Vec<u8> = other[..256].iter().flat_map(|entry| *leaf(entry).as_bytes()).collect();
        files.tiles.insert(id(0, 2), leaves);
    });
    assert_eq!(both_changed, AuditError::TileMismatch(id(0, 2)));
    let length = fault(&|files| files.bundles.get_mut(&2).unwrap()[1] = 31);
    assert_eq!(length, AuditError::MalformedBundle { index: 2, fault: BundleError::Entry(0) });
    let short = fault(&|files| files.bundles.get_mut(&2).unwrap().truncate(255 * 34));
    let length = BundleError::Length(255 * 34);
    assert_eq!(short, AuditError::MalformedBundle { index: 2, fault: length });
    let long = fault(&|files| files.tiles.get_mut(&id(0, 273)).unwrap().push(0));
    assert_eq!(long, AuditError::MalformedTile { id: id(0, 273), bytes: 112 * 32 + 1, width: 112 });
    let cut = fault(&|files| files.tiles.get_mut(&id(0, 273)).unwrap().truncate(33));
    assert_eq!(cut, AuditError::MalformedTile { id: id(0, 273), bytes: 33, width: 112 });

    let other = stored(&entries(300), &[300]);
    assert_eq!(code(whole(300, &Hash::OF_NOTHING, &other)), Some(Code::RootMismatch));
    let ahead = audit(Appender::open(300, &other).unwrap(), 299, &root, &other, |_| Ok(()));
    assert_eq!(ahead, Err(AuditError::Held { held: 300, size: 299 }));
}

/// What was held before is not good any more when its bundle was changed.
#[test]
fn entries_that_are_held_are_compared_again_where_their_bundle_grows() {
    let mut files = stored(&entries(300), &[300]);
    let held = Appender::open(260, &files).unwrap();
    files.bundles.get_mut(&1).unwrap()[2] ^= 1;
    let root = root(300, &files).unwrap();
    assert_eq!(audit(held, 300, &root, &files, |_| Ok(())), Err(AuditError::EntryMismatch(256)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_changed_byte_is_found(size in 1_u64..700, is_tile: bool, file: prop::sample::Index, byte: prop::sample::Index, bit in 0_u8..8) {
        let mut files = stored(&entries(size), &[1000]);
        let root = root(size, &files).unwrap();
        prop_assert_eq!(whole(size, &root, &files), Ok(()));
        let count = if is_tile { files.tiles.len() } else { files.bundles.len() };
        let place = file.index(count);
        let bytes = if is_tile { files.tiles.values_mut().nth(place) } else { files.bundles.values_mut().nth(place) }.unwrap();
        let at = byte.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(whole(size, &root, &files).is_err());
    }
}
