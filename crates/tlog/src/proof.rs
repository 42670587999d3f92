use thiserror::Error;

use crate::{Hash, node};

/// How many hashes a proof can have: a tree has less than 2^64 entries, and C2SP's forms take 63.
pub const MAX_PROOF_HASHES: usize = 63;

/// A proof does not prove what it is given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProofError {
    #[error("a tree of {size} entries has no entry {index}")]
    BeyondTree { index: u64, size: u64 },
    #[error("a tree of {old} entries cannot be a prefix of one of {new}")]
    NotOlder { old: u64, new: u64 },
    /// That an empty tree is a prefix says nothing (RFC 9162, section 2.1.4).
    #[error("an empty tree is a prefix of every tree, so a proof of it proves nothing")]
    OldIsEmpty,
    #[error("the proof has {0} hashes, which is not the number that it needs")]
    Length(usize),
    #[error("the hashes of the proof do not lead to the root")]
    RootMismatch,
    #[error("the hashes of the proof do not lead to the old root")]
    OldRootMismatch,
}

/// Verifies that `leaf` is the hash of entry `index` in the tree of `size` entries with this root (RFC 9162, section 2.1.3.2).
///
/// # Errors
/// [`ProofError`] when it does not.
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::BeyondTree { index, size });
    }
    let length = ProofError::Length(proof.len());
    let (mut fnode, mut snode) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in proof {
        if snode == 0 {
            return Err(length);
        }
        if fnode & 1 == 1 || fnode == snode {
            hash = node(sibling, &hash);
            while fnode & 1 == 0 && fnode != 0 {
                fnode >>= 1;
                snode >>= 1;
            }
        } else {
            hash = node(&hash, sibling);
        }
        fnode >>= 1;
        snode >>= 1;
    }
    if snode != 0 {
        return Err(length);
    }
    if hash == *root { Ok(()) } else { Err(ProofError::RootMismatch) }
}

/// Verifies that the tree of `old` entries with `old_root` is a prefix of the tree of `new` entries with `new_root` (RFC 9162, section
/// 2.1.4.2). Trees of one size need an empty proof and equal roots.
///
/// # Errors
/// [`ProofError`] when it is not, and when `old` is 0, where there is nothing to prove.
pub fn verify_consistency(
    old: u64,
    new: u64,
    proof: &[Hash],
    old_root: &Hash,
    new_root: &Hash,
) -> Result<(), ProofError> {
    if old > new {
        return Err(ProofError::NotOlder { old, new });
    }
    if old == 0 {
        return Err(ProofError::OldIsEmpty);
    }
    let length = ProofError::Length(proof.len());
    if old == new {
        return match (proof, old_root == new_root) {
            ([], true) => Ok(()),
            ([], false) => Err(ProofError::RootMismatch),
            _ => Err(length),
        };
    }
    // An old tree that is a perfect one is a node of the new one, and its root begins the path.
    let (mut hash, rest) = match proof.split_first() {
        None => return Err(length),
        Some(_) if old.is_power_of_two() => (*old_root, proof),
        Some((first, rest)) => (*first, rest),
    };
    let mut old_hash = hash;
    let (mut fnode, mut snode) = (old - 1, new - 1);
    while fnode & 1 == 1 {
        fnode >>= 1;
        snode >>= 1;
    }
    for sibling in rest {
        if snode == 0 {
            return Err(length);
        }
        if fnode & 1 == 1 || fnode == snode {
            old_hash = node(sibling, &old_hash);
            hash = node(sibling, &hash);
            while fnode & 1 == 0 && fnode != 0 {
                fnode >>= 1;
                snode >>= 1;
            }
        } else {
            hash = node(&hash, sibling);
        }
        fnode >>= 1;
        snode >>= 1;
    }
    if snode != 0 {
        return Err(length);
    }
    if old_hash != *old_root {
        return Err(ProofError::OldRootMismatch);
    }
    if hash == *new_root { Ok(()) } else { Err(ProofError::RootMismatch) }
}
