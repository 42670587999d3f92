//! The vectors of transparency-dev/merkle for inclusion and consistency.

use std::path::{Path, PathBuf};

use proofmark_receipt::Json;
use proofmark_testing::conformance;
use proofmark_tlog::*;

use crate::data::{member, number, text};

/// Its two roots are equal, and 12 bytes long: the only accepted case that hashes of 32 bytes cannot express.
const WITH_SHORT_ROOTS: &str = "sizes-are-equal-one-and-proof-is-empty.json";

#[test]
fn inclusion() {
    let Some(folder) = conformance("merkle/inclusion") else { return };
    let cases = cases(&folder);
    for path in &cases {
        let case = read(path);
        let verified = hashes(&case, ["leafHash", "root"]).and_then(|([leaf, root], proof)| {
            verify_inclusion(&leaf, number(&case, "leafIdx"), number(&case, "treeSize"), &proof, &root).ok()
        });
        assert_eq!(verified.is_none(), is_refused(&case), "{}", path.display());
    }
    assert_eq!(cases.len(), 98, "files are missing");
}

#[test]
fn consistency() {
    let Some(folder) = conformance("merkle/consistency") else { return };
    let cases = cases(&folder);
    for path in &cases {
        let case = read(path);
        let verified = hashes(&case, ["root1", "root2"]).and_then(|([old_root, new_root], proof)| {
            let (old, new) = (number(&case, "size1"), number(&case, "size2"));
            verify_consistency(old, new, &proof, &old_root, &new_root).ok()
        });
        let is_refused = is_refused(&case) || path.ends_with(WITH_SHORT_ROOTS);
        assert_eq!(verified.is_none(), is_refused, "{}", path.display());
    }
    assert_eq!(cases.len(), 98, "files are missing");
}

/// Two hashes of these names, and the proof; `None` when one of them has not 32 bytes, which refuses the case.
fn hashes(case: &Json, names: [&str; 2]) -> Option<([Hash; 2], Vec<Hash>)> {
    let [first, second] = names.map(|name| text(case, name).parse().ok());
    let proof = member(case, "proof").as_array().unwrap_or_default();
    let proof: Option<Vec<Hash>> = proof.iter().map(|hash| hash.as_str().unwrap().parse().ok()).collect();
    Some(([first?, second?], proof?))
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
