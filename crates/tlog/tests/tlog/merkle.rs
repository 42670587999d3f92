//! The vectors of transparency-dev/merkle for inclusion and consistency.

use std::path::{Path, PathBuf};

use proofmark_receipt::Json;
use proofmark_testing::conformance;
use proofmark_tlog::*;

use crate::data::{member, number, text};

/// Its roots are 12 bytes long, and equal. Hashes here have 32 bytes, so it runs with zeros behind them.
const ACCEPTED_WITH_SHORT_ROOTS: &str = "sizes-are-equal-one-and-proof-is-empty.json";

#[test]
fn inclusion() {
    let Some(folder) = conformance("merkle/inclusion") else { return };
    let cases = cases(&folder);
    for path in &cases {
        let case = read(path);
        let proof: Vec<Padded> = proof(&case);
        let (leaf, root) = (padded(text(&case, "leafHash")), padded(text(&case, "root")));
        let hashes: Vec<Hash> = proof.iter().map(|padded| padded.hash).collect();
        let (index, size) = (number(&case, "leafIdx"), number(&case, "treeSize"));
        let verified = verify_inclusion(&leaf.hash, index, size, &hashes, &root.hash);
        assert_eq!(verified.is_err(), is_refused(&case), "{}: {verified:?}", path.display());
        let is_exact = proof.iter().chain([&leaf, &root]).all(|padded| padded.is_exact);
        assert!(is_exact || verified.is_err(), "{}", path.display());
    }
    assert_eq!(cases.len(), 98, "files are missing");
}

#[test]
fn consistency() {
    let Some(folder) = conformance("merkle/consistency") else { return };
    let cases = cases(&folder);
    for path in &cases {
        let case = read(path);
        let proof: Vec<Padded> = proof(&case);
        let (old_root, new_root) = (padded(text(&case, "root1")), padded(text(&case, "root2")));
        let hashes: Vec<Hash> = proof.iter().map(|padded| padded.hash).collect();
        let (old, new) = (number(&case, "size1"), number(&case, "size2"));
        let verified = verify_consistency(old, new, &hashes, &old_root.hash, &new_root.hash);
        assert_eq!(verified.is_err(), is_refused(&case), "{}: {verified:?}", path.display());
        let is_exact = proof.iter().chain([&old_root, &new_root]).all(|padded| padded.is_exact);
        let is_named = path.ends_with(ACCEPTED_WITH_SHORT_ROOTS);
        assert!(is_exact || verified.is_err() || is_named, "{}", path.display());
    }
    assert_eq!(cases.len(), 98, "files are missing");
}

/// A hash, and whether the vector has all of its 32 bytes.
struct Padded {
    hash: Hash,
    is_exact: bool,
}

fn padded(base64: &str) -> Padded {
    let is_exact = base64.parse::<Hash>().is_ok();
    let bytes = decoded(base64);
    let mut hash = [0; 32];
    let length = bytes.len().min(32);
    hash[..length].copy_from_slice(&bytes[..length]);
    Padded { hash: Hash::from_bytes(hash), is_exact }
}

fn decoded(base64: &str) -> Vec<u8> {
    // The extra data of a proof file is the shortest way to decode base64 of any length.
    let file = format!("c2sp.org/tlog-proof@v1\nextra {base64}\nindex 0\n\n");
    ProofFile::parse(file.as_bytes()).ok().and_then(|file| file.extra).unwrap_or_default()
}

fn proof(case: &Json) -> Vec<Padded> {
    let hashes = member(case, "proof").as_array().unwrap_or_default();
    hashes.iter().map(|hash| padded(hash.as_str().unwrap())).collect()
}

fn is_refused(case: &Json) -> bool {
    member(case, "wantErr").as_bool().unwrap()
}

fn read(path: &Path) -> Json {
    Json::parse(&std::fs::read(path).unwrap()).unwrap()
}

/// Every file below the folder.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(cases(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
