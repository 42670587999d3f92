//! The log of `log.json`: roots, proofs, tiles and bundles of many sizes.

use proofmark_receipt::Sha256Digest;
use proofmark_tlog::*;

use crate::data::{Stored, digest, folder, json, key, list, log_entries, member, number, stored, text};

fn hashes(json: &proofmark_receipt::Json) -> Vec<Hash> {
    list(json, "path").iter().map(|hash| hash.as_str().unwrap().parse().unwrap()).collect()
}

fn tree(size: usize) -> Option<Stored> {
    Some(stored(&log_entries(size)?, &[1, 255, 300, 70_000]))
}

#[test]
fn entries_roots_and_proofs_are_those_of_the_data() {
    let Some(log) = json("log.json") else { return };
    let Some(entries) = log_entries(70_000) else { return };
    for (entry, known) in entries.iter().zip(list(&log, "first_entries")) {
        assert_eq!(entry, &digest(known.as_str().unwrap()));
    }
    for (entry, known) in entries.iter().zip(list(&log, "first_leaf_hashes")) {
        assert_eq!(leaf(entry).as_bytes(), digest(known.as_str().unwrap()).as_bytes());
    }
    let Some(tree) = tree(70_000) else { return };
    let roots = list(&log, "roots");
    for known in roots {
        let found = root(number(known, "size"), &tree).unwrap();
        assert_eq!(found.to_string(), text(known, "root"));
        assert_eq!(found.as_bytes(), digest(text(known, "root_hex")).as_bytes());
    }
    let root_of = |size| root(size, &tree).unwrap();
    let inclusion = list(&log, "inclusion");
    for known in inclusion {
        let (index, size) = (number(known, "index"), number(known, "size"));
        let path = hashes(known);
        assert_eq!(inclusion_proof(index, size, &tree), Ok(path.clone()));
        let leaf = leaf(&entries[usize::try_from(index).unwrap()]);
        assert_eq!(verify_inclusion(&leaf, index, size, &path, &root_of(size)), Ok(()));
    }
    let consistency = list(&log, "consistency");
    for known in consistency {
        let (old, new) = (number(known, "old"), number(known, "new"));
        let proof = hashes(known);
        assert_eq!(consistency_proof(old, new, &tree), Ok(proof.clone()));
        assert_eq!(verify_consistency(old, new, &proof, &root_of(old), &root_of(new)), Ok(()));
    }
    assert_eq!((roots.len(), inclusion.len(), consistency.len()), (21, 19, 18));
}

#[test]
fn every_file_of_the_log_of_70000_is_that_of_the_data() {
    let Some(folder) = folder() else { return };
    let Some(tree) = tree(70_000) else { return };
    let sums = std::fs::read_to_string(folder.join("tiles-70000.sha256")).unwrap();
    let mut count = 0;
    for line in sums.lines() {
        let (sum, path) = line.split_once("  ").unwrap();
        assert_eq!(Sha256Digest::of(&file(&tree, path)), digest(sum), "{path}");
        count += 1;
    }
    assert_eq!(count, tree.tiles.len() + tree.bundles.len());
}

#[test]
fn every_file_of_the_log_of_300_is_that_of_the_data() {
    let Some(folder) = folder() else { return };
    let Some(tree) = tree(300) else { return };
    let paths = ["tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000", "tile/entries/001.p/44"];
    for path in paths {
        let stored = std::fs::read(folder.join("tree").join(path)).unwrap();
        assert_eq!(file(&tree, path), stored, "{path}");
        if let Ok(TilePath { content: TileContent::Entries(_), .. }) = path.parse() {
            assert_eq!(bundle(&read_bundle(&stored).unwrap()), stored, "{path}");
        }
    }
}

#[test]
fn keys_and_the_checkpoint_are_those_of_the_data() {
    let Some(log) = json("log.json") else { return };
    let Some(folder) = folder() else { return };
    let Some(tree) = tree(300) else { return };
    let keys = list(&log, "keys");
    let seed = |place: usize| *digest(text(&keys[place], "seed")).as_bytes();
    let signer = LogSigner::from_seed(text(&log, "origin"), &seed(0)).unwrap();
    assert_eq!(signer.vkey().to_string(), text(&keys[0], "vkey"));
    assert_eq!(signer.vkey(), &key(&keys[0], "vkey"));
    assert_eq!(signer.vkey().id_hex(), text(&keys[0], "key_id"));

    // Signatures of Ed25519 have one form, so that what is signed here is the file.
    let mut note = signer.sign(300, root(300, &tree).unwrap()).unwrap();
    let checkpoint = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    for (time, known) in [(1_767_225_600, &keys[1]), (1_767_225_601, &keys[2])] {
        let witness = Cosigner::from_seed(text(known, "name"), digest(text(known, "seed")).as_bytes()).unwrap();
        assert_eq!(witness.vkey().to_string(), text(known, "vkey"));
        note.push_str(&witness.cosign(&checkpoint, time));
    }
    assert_eq!(note, std::fs::read_to_string(folder.join("tree/checkpoint")).unwrap());

    let proof = ProofFile {
        extra: None,
        index: 1,
        path: inclusion_proof(1, 300, &tree).unwrap(),
        checkpoint: note.into_bytes(),
    };
    assert_eq!(proof.to_bytes(), std::fs::read(folder.join("receipt-1.tlog-proof")).unwrap());
    assert_eq!(keys.len(), 4);
    assert!(member(&log, "about").as_str().is_some());
}

/// The hash at the end of a path, in a stored tree.
fn file(tree: &Stored, path: &str) -> Vec<u8> {
    let parsed: TilePath = path.parse().unwrap();
    assert_eq!(parsed.to_string(), path);
    let stored = match parsed.content {
        TileContent::Tile(id) => &tree.tiles[&id],
        TileContent::Entries(index) => &tree.bundles[&index],
    };
    stored[..parsed.length()].to_vec()
}
