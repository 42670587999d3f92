//! Notes, verifier keys, checkpoints and cosignatures.

use proofmark_receipt::Json;
use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{json, key, list, member, number, text};

/// The note of a case, which need not be text.
fn note(case: &Json) -> Vec<u8> {
    match case.as_object().unwrap().get("note") {
        Some(note) => note.as_str().unwrap().as_bytes().to_vec(),
        None => {
            let digits = text(case, "note_hex").as_bytes().chunks(2);
            digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
        }
    }
}

fn outcome<T>(result: &Result<T, CheckpointError>) -> &'static str {
    result.as_ref().err().map_or("ok", |error| error.code().as_str())
}

#[test]
fn notes_of_others_verify() {
    let Some(data) = json("note.json") else { return };
    for case in list(&data, "notes") {
        let note = text(case, "note");
        let parsed = Note::parse(note.as_bytes()).unwrap();
        let key = key(case, "vkey");
        assert_eq!(parsed.is_signed_by(&key), Ok(true), "{}", text(case, "from"));
        let changed = note.replacen('e', "f", 1);
        let changed = Note::parse(changed.as_bytes()).unwrap();
        assert_eq!(changed.is_signed_by(&key), Err(SignatureMismatch(key.name().to_owned())));
    }
}

#[test]
fn verifier_keys_have_one_spelling() {
    let Some(data) = json("note.json") else { return };
    let cases = list(&data, "vkeys");
    for case in cases {
        let parsed = text(case, "vkey").parse::<Vkey>();
        let outcome = parsed.as_ref().err().map_or("ok", |error| error.code().as_str());
        assert_eq!(outcome, text(case, "expect"), "{}: {parsed:?}", text(case, "name"));
        if let Ok(key) = parsed {
            assert_eq!(key.to_string(), text(case, "vkey"));
        }
    }
    assert_eq!(cases.len(), 13);
}

#[test]
fn checkpoints_are_judged_as_the_data_says() {
    let Some(data) = json("checkpoint.json") else { return };
    let log = key(&data, "log");
    let cases = list(&data, "cases");
    for case in cases {
        let opened = SignedCheckpoint::open(&note(case), [&log], []);
        assert_eq!(outcome(&opened), text(case, "expect"), "{}: {opened:?}", text(case, "name"));
        if let Ok(signed) = opened {
            assert_eq!(signed.checkpoint.size, number(case, "size"));
            assert_eq!(signed.checkpoint.root.to_string(), text(case, "root"));
            assert_eq!((signed.checkpoint.origin.as_str(), &signed.log), (text(&data, "origin"), &log));
        }
    }
    assert_eq!(cases.len(), 49);
}

#[test]
fn cosignatures_are_judged_as_the_data_says() {
    let Some(data) = json("cosignature.json") else { return };
    let log = key(&data, "log");
    let witnesses: Vec<Vkey> =
        list(&data, "witnesses").iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect();
    let cases = list(&data, "cases");
    for case in cases {
        let opened = SignedCheckpoint::open(&note(case), [&log], &witnesses);
        assert_eq!(outcome(&opened), text(case, "expect"), "{}: {opened:?}", text(case, "name"));
        let found = opened.map(|signed| signed.cosignatures).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|found| (found.witness.name().to_owned(), found.time)).collect();
        let known = list(case, "cosigned_by").iter();
        let known: Vec<_> = known.map(|known| (text(known, "name").to_owned(), number(known, "time"))).collect();
        assert_eq!(found, known, "{}", text(case, "name"));
    }
    assert_eq!(cases.len(), 16);
}

fn log() -> LogSigner {
    LogSigner::from_seed("log.example/a", &[3; 32]).unwrap()
}

fn witness() -> Cosigner {
    Cosigner::from_seed("witness.example/1", &[4; 32]).unwrap()
}

/// A checkpoint of a tree of 5 with a cosignature.
fn signed() -> String {
    let note = log().sign(5, Hash::from_bytes([9; 32])).unwrap();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    note + &witness().cosign(&text, 1_767_225_600)
}

#[test]
fn limits_have_a_code_of_their_own() {
    let code = |note: &str| Note::parse(note.as_bytes()).err().map(|error| error.code());
    let line = signed().lines().last().unwrap().to_owned() + "\n";
    let of_lines = |count| format!("text\n\n{}", line.repeat(count));
    assert_eq!(code(&of_lines(MAX_NOTE_LINES)), None);
    assert_eq!(code(&of_lines(MAX_NOTE_LINES + 1)), Some(Code::TooLarge));
    let of_bytes = |count: usize| format!("{}\n\n{line}", "x".repeat(count - line.len() - 2));
    assert_eq!(code(&of_bytes(MAX_NOTE_BYTES)), None);
    assert_eq!(code(&of_bytes(MAX_NOTE_BYTES + 1)), Some(Code::TooLarge));
}

#[test]
fn what_readers_refuse_is_not_signed() {
    assert_eq!(log().sign(0, Hash::from_bytes([9; 32])), Err(CheckpointTextError::EmptyTreeRoot));
    assert!(log().sign(0, Hash::OF_NOTHING).is_ok());
    for name in ["", "log example", "log+example", "log\u{7f}", "log\u{2003}example"] {
        assert!(LogSigner::from_seed(name, &[3; 32]).is_err(), "{name:?}");
    }
    let confusing = LogSigner::from_seed("cosignature/v1", &[3; 32]).unwrap();
    let refused = confusing.sign(0, Hash::OF_NOTHING);
    assert_eq!(refused, Err(CheckpointTextError::Origin("cosignature/v1".to_owned())));
}

#[test]
fn the_latest_time_of_a_witness_counts() {
    let note = signed();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    let note = note + &witness().cosign(&text, 1_767_225_700) + &witness().cosign(&text, 5);
    let opened = SignedCheckpoint::open(note.as_bytes(), [log().vkey()], [witness().vkey(), witness().vkey()]);
    let cosignatures = opened.unwrap().cosignatures;
    assert_eq!(cosignatures, [Cosignature { witness: witness().vkey().clone(), time: 1_767_225_700 }]);
}

#[test]
fn a_time_has_63_bits() {
    let note = log().sign(5, Hash::from_bytes([9; 32])).unwrap();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    let note = note + &witness().cosign(&text, u64::MAX);
    let signed = SignedCheckpoint::open(note.as_bytes(), [log().vkey()], [witness().vkey()]).unwrap();
    assert_eq!(signed.cosignatures[0].time, MAX_TIME);
}

#[test]
fn keys_of_another_type_are_left_out() {
    let (log, witness) = (log(), witness());
    let keys = [log.vkey(), witness.vkey()];
    let signed = SignedCheckpoint::open(signed().as_bytes(), keys, keys).unwrap();
    assert_eq!((&signed.log, signed.cosignatures.len()), (log.vkey(), 1));
    assert_eq!(&signed.cosignatures[0].witness, witness.vkey());
}

#[test]
fn private_keys_are_read_from_pem_and_not_shown() {
    let key = proofmark_receipt::SigningKey::from_seed([3; 32]);
    let read = LogSigner::from_pkcs8_pem("log.example/a", &key.to_pkcs8_pem()).unwrap();
    assert_eq!(read.vkey(), log().vkey());
    assert_eq!(format!("{read:?}"), format!("LogSigner(private key of {})", log().vkey()));
    assert_eq!(LogSigner::from_pkcs8_pem("a", "PEM").unwrap_err(), PrivateKeyError::Pem);
    assert!(matches!(Cosigner::from_pkcs8_pem("a b", &key.to_pkcs8_pem()), Err(PrivateKeyError::Name(_))));
}

#[test]
fn two_trees_of_one_size_are_evidence() {
    let checkpoint = |size, byte| Checkpoint { origin: "a".to_owned(), size, root: Hash::from_bytes([byte; 32]) };
    let code = |result: Result<(), HistoryError>| result.err().map(|error| error.code());
    let (one, two) = (checkpoint(5, 1), checkpoint(5, 2));
    assert_eq!(code(one.verify_prefix_of(&two, &[])), Some(Code::SplitView));
    assert_eq!(code(one.verify_prefix_of(&one, &[])), None);
    assert_eq!(code(one.verify_prefix_of(&one, &[one.root])), Some(Code::ConsistencyMismatch));
    assert_eq!(code(checkpoint(8, 1).verify_prefix_of(&two, &[])), Some(Code::ConsistencyMismatch));
    assert_eq!(
        code(one.verify_prefix_of(&Checkpoint { origin: "b".to_owned(), ..one.clone() }, &[])),
        Some(Code::WrongOrigin)
    );
    let empty = Checkpoint { origin: "a".to_owned(), size: 0, root: Hash::OF_NOTHING };
    assert_eq!(code(empty.verify_prefix_of(&one, &[])), None);
    assert_eq!(code(empty.verify_prefix_of(&one, &[one.root])), Some(Code::ConsistencyMismatch));
}

proptest! {
    #[test]
    fn any_changed_byte_of_a_checkpoint_is_refused(place: prop::sample::Index, byte: u8) {
        let mut note = signed().into_bytes();
        let place = place.index(note.len());
        prop_assume!(note[place] != byte);
        note[place] = byte;
        let opened = SignedCheckpoint::open(&note, [log().vkey()], [witness().vkey()]);
        // A line of another name or key id is of an unknown key, and says nothing.
        let is_unsaid = opened.as_ref().is_ok_and(|signed| signed.cosignatures.is_empty());
        prop_assert!(opened.is_err() || is_unsaid, "{opened:?}");
        prop_assert!(!is_unsaid || place > 100);
    }

    #[test]
    fn notes_of_any_bytes_are_read_or_refused(bytes: Vec<u8>, tail in "(\n|x|\n\n|\u{2014} a AAAAAAA=\n){0,5}") {
        let bytes = [bytes.as_slice(), tail.as_bytes()].concat();
        if let Ok(note) = Note::parse(&bytes) {
            prop_assert!(bytes.starts_with(note.text().as_bytes()) && note.text().ends_with('\n'));
        }
        let _ = Checkpoint::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_checkpoint_reads_back(size in 1_u64.., root: [u8; 32], origin in "[a-z./-]{1,20}") {
        let root = Hash::from_bytes(root);
        let signer = LogSigner::from_seed(&origin, &[1; 32]).unwrap();
        let note = signer.sign(size, root).unwrap();
        let signed = SignedCheckpoint::open(note.as_bytes(), [signer.vkey()], []).unwrap();
        prop_assert_eq!(signed.checkpoint, Checkpoint { origin, size, root });
        prop_assert_eq!(&signer.vkey().to_string().parse::<Vkey>().unwrap(), signer.vkey());
    }
}

#[test]
fn the_message_of_a_cosignature_is_that_of_the_data() {
    let Some(data) = json("cosignature.json") else { return };
    let message = member(&data, "message_hex_of_one").as_str().unwrap();
    let text = Note::parse(&note(&list(&data, "cases")[0])).unwrap().text().to_owned();
    let hex: String =
        format!("cosignature/v1\ntime 1767225600\n{text}").bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, message);
}
