use std::collections::BTreeMap;
use std::convert::Infallible;

use proofmark_receipt::Sha256Digest;
use proofmark_tlog::*;
use proptest::prelude::*;

#[derive(Default)]
pub(crate) struct Stored(pub(crate) BTreeMap<TileId, Vec<u8>>);

impl Tiles for Stored {
    type Error = Infallible;

    fn tile(&self, id: TileId, _: usize) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.0.get(&id).cloned())
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
            let before = stored.0.insert(tile.id, tile.bytes.clone());
            assert!(tile.bytes.starts_with(&before.unwrap_or_default()));
        }
        assert_eq!(appender.root(), root(size, &stored).unwrap());
        rest = others;
    }
    stored
}

/// MTH as RFC 9162, section 2.1.1 writes it.
pub(crate) fn naive(entries: &[Sha256Digest]) -> Hash {
    match entries {
        [] => Hash::OF_NOTHING,
        [entry] => leaf(entry),
        _ => {
            let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
            node(&naive(left), &naive(right))
        }
    }
}

/// PATH of RFC 9162, section 2.1.3.1.
fn naive_path(index: usize, entries: &[Sha256Digest]) -> Vec<Hash> {
    if entries.len() < 2 {
        return Vec::new();
    }
    let middle = entries.len().next_power_of_two() / 2;
    let (left, right) = entries.split_at(middle);
    let (mut path, sibling) = if index < middle {
        (naive_path(index, left), naive(right))
    } else {
        (naive_path(index - middle, right), naive(left))
    };
    path.push(sibling);
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_of_tiles_are_those_of_the_definition(
        count in 1_u64..1200, groups in prop::collection::vec(1_usize..400, 1..4), index: prop::sample::Index, old: prop::sample::Index,
        bit in 0_usize..256, place: prop::sample::Index
    ) {
        let entries = entries(count);
        let stored = stored(&entries, &groups);
        let size = 1 + index.index(entries.len());
        let root_of_size = naive(&entries[..size]);
        prop_assert_eq!(root(size as u64, &stored).unwrap(), root_of_size);

        let index = old.index(size);
        let path = inclusion_proof(index as u64, size as u64, &stored).unwrap();
        prop_assert_eq!(&path, &naive_path(index, &entries[..size]));
        let hash = leaf(&entries[index]);
        prop_assert_eq!(verify_inclusion(&hash, index as u64, size as u64, &path, &root_of_size), Ok(()));

        let old = 1 + old.index(size);
        let old_root = naive(&entries[..old]);
        let joined = consistency_proof(old as u64, size as u64, &stored).unwrap();
        prop_assert_eq!(verify_consistency(old as u64, size as u64, &joined, &old_root, &root_of_size), Ok(()));

        let changed = |proof: &[Hash]| {
            let mut proof = proof.to_vec();
            let at = place.index(proof.len());
            let mut bytes = *proof[at].as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            proof[at] = Hash::from_bytes(bytes);
            proof
        };
        if !path.is_empty() {
            prop_assert!(verify_inclusion(&hash, index as u64, size as u64, &changed(&path), &root_of_size).is_err());
            prop_assert!(verify_inclusion(&hash, index as u64, size as u64, &path[1..], &root_of_size).is_err());
        }
        if !joined.is_empty() {
            let changed = changed(&joined);
            prop_assert!(verify_consistency(old as u64, size as u64, &changed, &old_root, &root_of_size).is_err());
        }
    }
}
