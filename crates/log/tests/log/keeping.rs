use std::fs;
use std::sync::Barrier;

use proofmark_log::{LogError, audit_store};
use proofmark_receipt::Answer;
use proofmark_tlog::{SignedCheckpoint, TrustedKeys, verify_proof};

use crate::samples::{Place, add, digest, keeper};

#[test]
fn what_is_stored_is_signed_and_proven() {
    let place = Place::new();
    let store = place.store();
    let keeper = keeper(&place, &store);
    let empty = keeper.publish().unwrap();
    assert_eq!((empty.checkpoint.size, empty.is_new), (0, true));
    add(&store, 0..700);
    let published = keeper.publish().unwrap();
    assert_eq!((published.checkpoint.size, published.is_new), (700, true));
    assert_eq!(keeper.publish().unwrap(), proofmark_log::Published { is_new: false, ..published.clone() });
    let vkey = [keeper.vkey().clone()];
    let trusted = TrustedKeys { logs: &vkey, policy: None };
    for number in [0, 255, 256, 511, 699] {
        let file = keeper.prove(&digest(number), None).unwrap().to_bytes();
        let found = verify_proof(&file, &digest(number), trusted);
        assert_eq!((found.answer, found.index), (Answer::Valid, Some(number)));
        assert_eq!(verify_proof(&file, &digest(number + 1), trusted).answer, Answer::Invalid);
    }
    // One that was stored since is proven by a newer checkpoint.
    add(&store, 700..701);
    let file = keeper.prove(&digest(700), None).unwrap().to_bytes();
    assert_eq!(verify_proof(&file, &digest(700), trusted).checkpoint.unwrap().size, 701);
    assert!(matches!(keeper.prove(&digest(701), None), Err(LogError::NotLogged(_))));
    let audit = audit_store(&store, &place.home()).unwrap();
    assert_eq!((audit.entries, audit.faults), (701, Vec::new()));
}

#[test]
fn a_store_that_was_rolled_back_is_not_signed_for() {
    let place = Place::new();
    let sign_more = |numbers| {
        let store = place.store();
        add(&store, numbers);
        keeper(&place, &store).publish().unwrap();
    };
    sign_more(0..10);
    let backup = fs::read(place.database()).unwrap();
    sign_more(10..20);
    fs::write(place.database(), backup).unwrap();

    let store = place.store();
    let signing = keeper(&place, &store);
    let refused = signing.publish().unwrap_err();
    assert!(matches!(refused, LogError::CheckpointAhead { signed: 20, stored: 10 }), "{refused}");
    let codes = |place: &Place| {
        let audit = audit_store(&place.store(), &place.home()).unwrap();
        audit.faults.iter().map(|fault| fault.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&place), ["checkpoint_ahead"]);
    // With as many entries as before it is still another history.
    add(&store, 30..45);
    let refused = signing.publish().unwrap_err();
    assert!(matches!(refused, LogError::Forked { size: 20 }), "{refused}");
    assert_eq!(codes(&place), ["root_mismatch"]);
    // Another log may begin.
    place.home().retire().unwrap();
    let again = place.home().begin("log.example/second", None).unwrap();
    let signing = proofmark_log::LogKeeper::new(&store, place.home(), again);
    assert!(matches!(signing.publish(), Err(LogError::OtherLog { .. })));
    signing.restart().unwrap();
    assert_eq!(signing.publish().unwrap().checkpoint.size, 25);
}

#[test]
fn an_entry_or_a_tile_that_was_changed_is_named() {
    let place = Place::new();
    let store = place.store();
    let keeper = keeper(&place, &store);
    add(&store, 0..300);
    keeper.publish().unwrap();
    let codes = || {
        let audit = audit_store(&store, &place.home()).unwrap();
        audit.faults.iter().map(|fault| fault.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(), [""; 0]);
    place.sql("CREATE TABLE kept AS SELECT * FROM log_entries WHERE number = 7");
    place.sql("UPDATE log_entries SET digest = zeroblob(32) WHERE number = 7");
    assert_eq!(codes(), ["entry_mismatch"]);
    assert!(matches!(
        keeper.prove(&proofmark_receipt::Sha256Digest::from_bytes([0; 32]), None),
        Err(LogError::Tree(_))
    ));
    place.sql("UPDATE log_entries SET digest = (SELECT digest FROM kept) WHERE number = 7");
    assert_eq!(codes(), [""; 0]);
    place.sql("UPDATE log_tiles SET hashes = zeroblob(length(hashes)) WHERE level = 1");
    assert_eq!(codes(), ["tile_mismatch"]);
    place.sql("DELETE FROM log_tiles WHERE level = 1");
    assert_eq!(codes(), ["tile_missing"]);
    add(&store, 300..301);
    assert!(matches!(keeper.publish(), Err(LogError::Tree(_))));
}

#[test]
fn a_checkpoint_that_is_not_of_this_log_is_refused() {
    let place = Place::new();
    let store = place.store();
    let keeper = keeper(&place, &store);
    add(&store, 0..3);
    keeper.publish().unwrap();
    // Who writes the database cannot make the log go on from a tree that it has not signed.
    place.sql("UPDATE log_state SET checkpoint = replace(checkpoint, char(10) || '3' || char(10), char(10) || '2' || char(10))");
    assert!(matches!(keeper.publish(), Err(LogError::Stored(_))));
    fs::write(place.path().join("log/checkpoint"), "log.example/proofmark\n").unwrap();
    assert!(matches!(keeper.publish(), Err(LogError::Changed { .. })));
}

#[test]
fn earlier_checkpoints_survive_a_new_key() {
    let place = Place::new();
    let store = place.store();
    let old = keeper(&place, &store);
    add(&store, 0..3);
    let proof = old.prove(&digest(1), None).unwrap().to_bytes();
    let new = proofmark_log::LogKeeper::new(&store, place.home(), place.home().rotate(None).unwrap());
    assert_ne!(new.vkey(), old.vkey());
    let published = new.publish().unwrap();
    assert!(published.is_new, "the new key signs the same tree");
    SignedCheckpoint::open(published.note.as_bytes(), [new.vkey()], []).unwrap();
    let both = place.home().vkeys().unwrap();
    assert_eq!(both, [old.vkey().clone(), new.vkey().clone()]);
    let trusted = TrustedKeys { logs: &both, policy: None };
    assert_eq!(verify_proof(&proof, &digest(1), trusted).answer, Answer::Valid);
    let newest = TrustedKeys { logs: &both[1..], policy: None };
    assert_eq!(verify_proof(&proof, &digest(1), newest).answer, Answer::Undecidable);
}

#[test]
fn two_processes_keep_one_log() {
    let place = Place::new();
    let (one, other) = (place.store(), place.store());
    let keepers = [keeper(&place, &one), keeper(&place, &other)];
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for (keeper, (store, first)) in keepers.iter().zip([(&one, 0), (&other, 1_000)]) {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                for part in 0..20 {
                    add(store, first + part * 10..first + part * 10 + 10);
                    keeper.publish().unwrap();
                }
            });
        }
    });
    assert_eq!(keepers[0].publish().unwrap().checkpoint.size, 400);
    let audit = audit_store(&one, &place.home()).unwrap();
    assert_eq!((audit.entries, audit.faults), (400, Vec::new()));
}

#[test]
fn a_log_has_one_origin_that_a_key_can_have() {
    let place = Place::new();
    for origin in
        ["", "a b", "a+b", "a\nb", "https://a", "a/", "/a", "../a", "cosignature/v1", "a\u{202e}b", &"a".repeat(201)]
    {
        assert!(matches!(place.home().begin(origin, None), Err(LogError::Origin { .. })), "{origin}");
    }
    assert_eq!(place.home().origin().unwrap(), None);
    assert!(matches!(place.home().signer(None), Err(LogError::NotBegun(_))));
    let first = place.home().begin("a", None).unwrap();
    assert_eq!(place.home().begin("a", None).unwrap().vkey(), first.vkey());
    assert!(matches!(place.home().begin("b", None), Err(LogError::Begun { .. })));
}

#[test]
fn one_home_signs_one_history_whatever_store_it_is_used_with() {
    let (place, other) = (Place::new(), Place::new());
    let (store, fork) = (place.store(), other.store());
    let signing = keeper(&place, &store);
    add(&store, 0..2);
    signing.publish().unwrap();
    // The same home with another store: as many entries, and others.
    add(&fork, 10..12);
    let forking = proofmark_log::LogKeeper::new(&fork, place.home(), place.home().signer(None).unwrap());
    assert!(matches!(forking.publish(), Err(LogError::Forked { size: 2 })));
    // What was lost of the home is kept again.
    fs::remove_file(place.path().join("log/checkpoint")).unwrap();
    signing.publish().unwrap();
    assert_eq!(place.home().published().unwrap().unwrap().checkpoint.size, 2);
    assert!(matches!(forking.publish(), Err(LogError::Forked { size: 2 })));
    // A replaced key no longer signs.
    place.home().rotate(None).unwrap();
    add(&store, 2..3);
    assert!(matches!(signing.publish(), Err(LogError::Replaced(_))));
}

#[test]
fn a_home_that_follows_does_not_sign_for_a_store_that_lost_entries() {
    let (place, second) = (Place::new(), Place::new());
    let store = place.store();
    let signing = keeper(&place, &store);
    // Another server on the store, with a copy of the keys.
    second.home().begin(crate::samples::ORIGIN, None).unwrap();
    for file in fs::read_dir(place.path().join("log/keys")).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), second.path().join("log/keys").join(file.file_name())).unwrap();
    }
    let following = proofmark_log::LogKeeper::new(&store, second.home(), second.home().signer(None).unwrap());
    add(&store, 0..3);
    signing.publish().unwrap();
    following.follow().unwrap();
    for table in ["log_entries", "log_tiles", "log_state"] {
        place.sql(&format!("DELETE FROM {table}"));
    }
    add(&store, 10..13);
    assert!(matches!(following.publish(), Err(LogError::Forked { size: 3 })));
}

#[test]
fn a_document_that_was_changed_is_named() {
    use proofmark_receipt::{Draft, Hashes, ReceiptId, Results, SigningKey, Timestamp, Verdict};
    let place = Place::new();
    let store = place.store();
    let keeper = keeper(&place, &store);
    let digest = digest(1);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict: Verdict::Error,
        task: None,
        results: Results::from_details(Vec::new()),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: proofmark_receipt::Object::new(),
    };
    let receipt = draft.sign(&SigningKey::from_seed([7; 32])).unwrap();
    let tenant = proofmark_store::Tenant::LOCAL;
    store.of(&tenant).submit(proofmark_store::NewReceipt::single(receipt)).wait().unwrap();
    keeper.publish().unwrap();
    assert_eq!(audit_store(&store, &place.home()).unwrap().faults, []);
    place.sql("UPDATE receipts SET document = replace(document, '\"tier\":0', '\"tier\":1')");
    let codes: Vec<_> = audit_store(&store, &place.home()).unwrap().faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["entry_changed"]);
}
