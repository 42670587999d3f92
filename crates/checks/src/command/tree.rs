//! Trees of git, in which a repository holds the files of a project.

use std::collections::BTreeSet;

use proofmark_receipt::hex;

/// The bytes of an id of git: SHA-1 or SHA-256.
const ID_BYTES: [usize; 2] = [20, 32];

/// What of a mode says the kind of an entry, as of a file in Unix.
const KIND_BITS: u32 = 0o170_000;
/// The right of the owner to execute, the only one that git looks at.
const EXECUTE_BIT: u32 = 0o100;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Any bytes but NUL and `/`.
    pub name: Vec<u8>,
    pub kind: TreeEntryKind,
    /// The id of its object, in hex.
    pub id: String,
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEntryKind {
    File,
    Executable,
    Folder,
    Link,
    /// A commit of another repository.
    Submodule,
}

/// Why an object is not a tree that git could have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("an id has neither 20 nor 32 bytes")]
    Id,
    #[error("an entry is cut off")]
    Cut,
    #[error("an entry has an unknown mode")]
    Mode,
    #[error("an entry has a name that is not the name of a file")]
    Name,
    #[error("two entries have the same name")]
    Twice,
}

/// Reads the content of a tree object, whose ids have `id_bytes` bytes.
///
/// # Errors
/// [`TreeError`] where git would not check the tree out, or two readers could take it for two trees.
pub fn tree_entries(tree: &[u8], id_bytes: usize) -> Result<Vec<TreeEntry>, TreeError> {
    if !ID_BYTES.contains(&id_bytes) {
        return Err(TreeError::Id);
    }
    let (mut entries, mut names, mut rest) = (Vec::new(), BTreeSet::new(), tree);
    while !rest.is_empty() {
        let (mode, after) = until(rest, b' ')?;
        let (name, after) = until(after, 0)?;
        let (id, after) = after.split_at_checked(id_bytes).ok_or(TreeError::Cut)?;
        if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') {
            return Err(TreeError::Name);
        }
        if !names.insert(name) {
            return Err(TreeError::Twice);
        }
        let id = hex::encode(id);
        entries.push(TreeEntry { name: name.to_vec(), kind: kind(mode)?, id });
        rest = after;
    }
    Ok(entries)
}

/// What is before and after the next `end`.
fn until(bytes: &[u8], end: u8) -> Result<(&[u8], &[u8]), TreeError> {
    let at = bytes.iter().position(|byte| *byte == end).ok_or(TreeError::Cut)?;
    let (before, after) = bytes.split_at_checked(at).ok_or(TreeError::Cut)?;
    Ok((before, after.get(1..).unwrap_or_default()))
}

fn kind(mode: &[u8]) -> Result<TreeEntryKind, TreeError> {
    let digits = mode.iter().all(|byte| matches!(byte, b'0'..=b'7'));
    let text = std::str::from_utf8(mode).ok().filter(|text| digits && (5..=6).contains(&text.len()));
    let mode = text.and_then(|text| u32::from_str_radix(text, 8).ok()).ok_or(TreeError::Mode)?;
    match mode & KIND_BITS {
        0o100_000 if mode & EXECUTE_BIT != 0 => Ok(TreeEntryKind::Executable),
        0o100_000 => Ok(TreeEntryKind::File),
        0o040_000 => Ok(TreeEntryKind::Folder),
        0o120_000 => Ok(TreeEntryKind::Link),
        0o160_000 => Ok(TreeEntryKind::Submodule),
        _ => Err(TreeError::Mode),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree(entries: &[(&str, &[u8], [u8; 20])]) -> Vec<u8> {
        entries.iter().flat_map(|(mode, name, id)| [mode.as_bytes(), b" ", name, b"\0", id].concat()).collect()
    }

    #[test]
    fn modes_say_what_entries_are() {
        let id = [0xab; 20];
        let modes = ["100644", "100755", "100664", "40000", "040000", "120000", "160000"];
        let names: Vec<String> = (0..modes.len()).map(|at| format!("f{at}")).collect();
        let entries: Vec<_> = modes.iter().zip(&names).map(|(mode, name)| (*mode, name.as_bytes(), id)).collect();
        let read = tree_entries(&tree(&entries), 20).unwrap();
        use TreeEntryKind::{Executable, File, Folder, Link, Submodule};
        let kinds: Vec<_> = read.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [File, Executable, File, Folder, Folder, Link, Submodule]);
        assert_eq!(read[0].id, "ab".repeat(20));
        assert_eq!(tree_entries(b"", 32), Ok(Vec::new()));
    }

    #[test]
    fn what_git_would_not_write_is_refused() {
        let id = [1; 20];
        for (entries, error) in [
            (vec![("100644", &b"a"[..], id), ("100644", b"a", id)], TreeError::Twice),
            (vec![("100644", b"a", id), ("40000", b"a", id)], TreeError::Twice),
            (vec![("100644", b"..", id)], TreeError::Name),
            (vec![("100644", b"a/b", id)], TreeError::Name),
            (vec![("100644", b"", id)], TreeError::Name),
            (vec![("060000", b"a", id)], TreeError::Mode),
            (vec![("+10644", b"a", id)], TreeError::Mode),
            (vec![("1000000644", b"a", id)], TreeError::Mode),
        ] {
            assert_eq!(tree_entries(&tree(&entries), 20), Err(error));
        }
        let whole = tree(&[("100644", b"a", id)]);
        for length in 1..whole.len() {
            assert_eq!(tree_entries(&whole[..length], 20), Err(TreeError::Cut));
        }
        // An id of another length makes another tree of the same bytes.
        assert!(tree_entries(&whole, 32).is_err() && tree_entries(&whole, 0) == Err(TreeError::Id));
    }

    proptest! {
        #[test]
        fn a_tree_is_read_as_it_was_written(names in proptest::collection::btree_set("[^/\u{0}]{1,8}", 0..8), bytes: Vec<u8>) {
            let names: Vec<_> = names.into_iter().filter(|name| name != "." && name != "..").collect();
            let entries: Vec<_> = names.iter().map(|name| ("100644", name.as_bytes(), [7; 20])).collect();
            let read = tree_entries(&tree(&entries), 20).unwrap();
            let read: Vec<_> = read.iter().map(|entry| entry.name.as_slice()).collect();
            prop_assert_eq!(read, names.iter().map(String::as_bytes).collect::<Vec<_>>());
            let _ = tree_entries(&bytes, 20);
        }
    }
}
