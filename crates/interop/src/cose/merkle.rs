//! The root that an inclusion path leads to in a Merkle tree of RFC 9162, section 2.1.

use proofmark_receipt::Sha256Digest;

/// The longest path: that of a tree with 2^64-1 entries.
pub(super) const MAX_PATH: usize = 64;

/// A hash in the tree.
pub(super) type Hash = [u8; 32];

/// The root of the tree of `size` entries in which `entry` stands at `index`, by the hashes beside its way up (RFC 9162, section
/// 2.1.3.2). `None` when the index is past the end, or the path is not as long as index and size need.
pub(super) fn root(entry: &[u8], index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    let (mut index, mut last) = (index, size.checked_sub(1)?);
    if index > last {
        return None;
    }
    let mut hash = digest(&[&[0], entry]);
    for beside in path {
        if last == 0 {
            return None;
        }
        if index & 1 == 1 || index == last {
            hash = digest(&[&[1], beside, &hash]);
            // The entry is below the last node of this level, which has no sibling until a level with an odd index.
            while index & 1 == 0 && index != 0 {
                index >>= 1;
                last >>= 1;
            }
        } else {
            hash = digest(&[&[1], &hash, beside]);
        }
        index >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

fn digest(parts: &[&[u8]]) -> Hash {
    *Sha256Digest::of(&parts.concat()).as_bytes()
}
