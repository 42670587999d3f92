use crate::run::{Place, RIGHT, WRONG, request};

#[test]
fn trust_is_said_apart_from_validity() {
    let place = Place::new();
    let file = place.file("r.json", place.receipt(&request(RIGHT), &[]).to_text());
    let own = place.run(&["key", "show", "--format", "pem"]).stdout;
    let own = place.file("own.pem", own);
    place.run(&["key", "new", "other"]);
    let other = place.run(&["key", "show", "other", "--format", "jwk"]).stdout;
    let set = place.file("set.json", format!("{{\"keys\":[{}]}}", other.trim()));
    let unknown = place.run(&["receipt", "verify", &file]);
    assert!(unknown.code == 0 && unknown.stdout.contains("signer unknown"), "{unknown:?}");
    let trusted = place.run(&["receipt", "verify", &file, "--trust", &set, "--trust", &own]);
    assert!(trusted.code == 0 && trusted.stdout.contains("signer trusted"), "{trusted:?}");
    let untrusted = place.run(&["receipt", "verify", &file, "--trust", &set]);
    assert!(untrusted.code == 1 && untrusted.stdout.contains("signer untrusted"), "{untrusted:?}");
    let nobody = place.run(&["receipt", "verify", &file, "--trust", "nobody"]);
    assert_eq!(nobody.code, 2, "{nobody:?}");
}

#[test]
fn a_changed_receipt_is_invalid_and_a_cut_one_undecidable() {
    let place = Place::new();
    let text = place.receipt(&request(WRONG), &[]).to_text();
    let changed = place.file("changed.json", text.replacen("\"fail\"", "\"pass\"", 1));
    let done = place.run(&["receipt", "verify", &changed, "--json"]);
    assert!(done.code == 1 && done.stdout.contains("\"cause\":\"content_hash_mismatch\""), "{done:?}");
    let cut = place.file("cut.json", &text[..text.len() / 2]);
    let done = place.run(&["receipt", "verify", &cut]);
    assert!(done.code == 2 && done.stdout.contains("unexpected_end"), "{done:?}");
    let unsigned = place.receipt(&request(RIGHT), &["--unsigned"]).to_text();
    let done = place.run(&["receipt", "verify", &place.file("unsigned.json", unsigned)]);
    assert!(done.code == 2 && done.stdout.contains("unsigned"), "{done:?}");
}

#[test]
fn several_receipts_are_answered_one_by_one_and_the_worst_counts() {
    let place = Place::new();
    let good = place.receipt(&request(RIGHT), &[]).to_text();
    let file = place.file("mixed.jsonl", format!("{good}\n{}\n", good.replacen("pass", "fail", 1)));
    let done = place.run(&["receipt", "verify", &file]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.contains("valid ") && done.stdout.contains("invalid "), "{done:?}");
    assert!(done.stdout.contains("mixed.jsonl:2"), "{done:?}");
}

#[test]
fn ids_are_found_by_their_beginning() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &[]);
    let id = receipt.receipt_id().to_string();
    assert_eq!(place.run(&["receipt", "verify", &id]).code, 0);
    assert_eq!(place.run(&["receipt", "export", &id[..6]]).stdout.trim(), receipt.to_text());
    let absent = place.run(&["receipt", "show", "ffff0000"]);
    assert_eq!(absent.code, 2);
    assert!(absent.stderr.contains("receipt list"), "{absent:?}");
}

#[test]
fn lists_are_filtered_and_paged() {
    let place = Place::new();
    for source in [RIGHT, WRONG, RIGHT] {
        place.receipt(&request(source), &[]);
    }
    let failed = place.run(&["receipt", "list", "--verdict", "fail", "--json"]);
    assert_eq!(failed.stdout.lines().count(), 1);
    let page = place.run(&["receipt", "list", "--limit", "2"]);
    assert_eq!(page.stdout.lines().count(), 2, "{page:?}");
    let cursor = page.stderr.split("--after ").nth(1).unwrap().trim();
    let rest = place.run(&["receipt", "list", "--limit", "2", "--after", cursor]);
    assert_eq!(rest.stdout.lines().count(), 1, "{rest:?}");
}

#[test]
fn without_a_store_nothing_is_made() {
    let place = Place::new();
    let done = place.run(&["receipt", "list"]);
    assert_eq!(done.code, 2);
    assert!(!place.path("home").exists(), "{done:?}");
}

#[test]
fn a_damaged_store_is_said_and_left_alone() {
    let place = Place::new();
    place.receipt(&request(RIGHT), &[]);
    let store = place.path("home/proofmark.db");
    let garbage = vec![b'x'; 8192];
    std::fs::write(&store, &garbage).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!("home/proofmark.db{suffix}")));
    }
    let file = place.file("r.json", request(RIGHT));
    let done = place.run(&["verify", &file]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stderr.contains("proofmark.db"), "{done:?}");
    assert_eq!(std::fs::read(&store).unwrap(), garbage);
}
