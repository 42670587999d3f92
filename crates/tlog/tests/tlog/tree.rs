//! Trees of tiles are those of the definition.

use proofmark_receipt::Sha256Digest;
use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{entries, stored};

/// MTH as RFC 9162, section 2.1.1 writes it.
fn naive(entries: &[Sha256Digest]) -> Hash {
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

/// SUBPROOF of RFC 9162, section 2.1.4.1.
fn naive_subproof(old: usize, entries: &[Sha256Digest], is_known: bool) -> Vec<Hash> {
    if old == entries.len() {
        return if is_known { Vec::new() } else { vec![naive(entries)] };
    }
    let middle = entries.len().next_power_of_two() / 2;
    let (left, right) = entries.split_at(middle);
    let (mut proof, sibling) = if old <= middle {
        (naive_subproof(old, left, is_known), naive(right))
    } else {
        (naive_subproof(old - middle, right, false), naive(left))
    };
    proof.push(sibling);
    proof
}

fn with_a_bit_changed(proof: &[Hash], place: usize, bit: usize) -> Vec<Hash> {
    let mut proof = proof.to_vec();
    let mut bytes = *proof[place].as_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    proof[place] = Hash::from_bytes(bytes);
    proof
}

#[test]
fn what_a_tree_does_not_have_is_refused_by_name() {
    let mut tree = stored(&entries(300), &[300]);
    assert_eq!(inclusion_proof(300, 300, &tree), Err(TreeError::BeyondTree { index: 300, size: 300 }));
    assert_eq!(inclusion_proof(0, 0, &tree), Err(TreeError::BeyondTree { index: 0, size: 0 }));
    assert_eq!(consistency_proof(301, 300, &tree), Err(TreeError::NotOlder { old: 301, new: 300 }));
    assert_eq!(consistency_proof(0, 300, &tree), Ok(Vec::new()));
    assert_eq!(root(0, &tree), Ok(Hash::OF_NOTHING));

    let last = TileId { level: 0, index: 1 };
    assert_eq!(root(301, &tree), Err(TreeError::Short { id: last, bytes: 44 * 32, width: 45 }));
    tree.tiles.remove(&last);
    assert_eq!(root(300, &tree), Err(TreeError::Missing(last)));
    assert!(Appender::open(300, &tree).is_err());
    assert!(root(256, &tree).is_ok());
}

/// What a proof in a log of a million entries reads.
#[test]
fn a_proof_reads_at_most_two_tiles_a_level() {
    struct Counted(std::cell::RefCell<Vec<TileId>>);
    impl Tiles for Counted {
        type Error = std::convert::Infallible;

        fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, Self::Error> {
            self.0.borrow_mut().push(id);
            Ok(Some(vec![7; width * 32]))
        }
    }
    let reads = |ask: &dyn Fn(&Counted)| {
        let counted = Counted(Vec::new().into());
        ask(&counted);
        let mut read = counted.0.into_inner();
        let count = read.len();
        read.sort_unstable();
        read.dedup();
        assert_eq!(read.len(), count, "a tile is read twice");
        count
    };
    assert_eq!(reads(&|tiles| drop(root(1_000_000, tiles))), 3);
    assert_eq!(reads(&|tiles| drop(Appender::open(1_000_000, tiles))), 3);
    assert!(reads(&|tiles| drop(inclusion_proof(123_456, 1_000_000, tiles))) <= 6);
    assert!(reads(&|tiles| drop(consistency_proof(123_457, 1_000_000, tiles))) <= 6);
    assert!(reads(&|tiles| drop(inclusion_proof(u64::MAX / 3, u64::MAX, tiles))) <= 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_of_tiles_are_those_of_the_definition(
        count in 1_u64..1200,
        groups in prop::collection::vec(1_usize..400, 1..4),
        size: prop::sample::Index,
        place: prop::sample::Index,
        bit in 0_usize..256,
    ) {
        let entries = entries(count);
        let stored = stored(&entries, &groups);
        let size = 1 + size.index(entries.len());
        let (entries, wide) = (&entries[..size], size as u64);
        let new_root = naive(entries);
        prop_assert_eq!(root(wide, &stored).unwrap(), new_root);

        let index = place.index(size);
        let path = inclusion_proof(index as u64, wide, &stored).unwrap();
        prop_assert_eq!(&path, &naive_path(index, entries));
        let verify = |index: u64, size, path: &[Hash]| {
            verify_inclusion(&leaf(&entries[place.index(entries.len())]), index, size, path, &new_root)
        };
        prop_assert_eq!(verify(index as u64, wide, &path), Ok(()));
        prop_assert!(verify(wide, wide, &path).is_err());
        prop_assert!(verify(index as u64 ^ 1, wide, &path).is_err());
        prop_assert!(verify(index as u64, wide, &[path.as_slice(), &[new_root]].concat()).is_err());
        if !path.is_empty() {
            prop_assert!(verify(index as u64, wide, &path[1..]).is_err());
            prop_assert!(verify(index as u64, wide, &with_a_bit_changed(&path, place.index(path.len()), bit)).is_err());
        }

        let old = 1 + place.index(size);
        let old_root = naive(&entries[..old]);
        let proof = consistency_proof(old as u64, wide, &stored).unwrap();
        prop_assert_eq!(&proof, &naive_subproof(old, entries, true));
        let verify = |proof: &[Hash]| verify_consistency(old as u64, wide, proof, &old_root, &new_root);
        prop_assert_eq!(verify(&proof), Ok(()));
        prop_assert!(verify(&[proof.as_slice(), &[new_root]].concat()).is_err());
        if !proof.is_empty() {
            prop_assert!(verify(&proof[1..]).is_err());
            prop_assert!(verify(&with_a_bit_changed(&proof, place.index(proof.len()), bit)).is_err());
        }
    }

    /// Proofs of any length, for trees that do not exist.
    #[test]
    fn made_up_proofs_are_refused(index: u64, size: u64, length in 0_usize..70, byte: u8) {
        let hash = Hash::from_bytes([byte; 32]);
        let proof = vec![hash; length];
        prop_assert!(size == 1 || verify_inclusion(&hash, index, size, &proof, &hash).is_err());
        prop_assert!(index == size || verify_consistency(index, size, &proof, &hash, &Hash::OF_NOTHING).is_err());
    }
}
