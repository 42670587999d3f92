//! Proof files.

use proofmark_receipt::{Answer, Sha256Digest};
use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{digest, entries, folder, json, list, stored, text};

#[test]
fn proof_files_are_judged_as_the_data_says() {
    let Some(data) = json("proof.json") else { return };
    let cases = list(&data, "cases");
    for case in cases {
        let name = text(case, "name");
        let policy = Policy::parse(text(case, "policy").as_bytes()).unwrap();
        let trusted = TrustedKeys { logs: &[], policy: Some(&policy) };
        // Its entry has 64 bytes, and those of this log have 32.
        let Some(entry) = Some(text(case, "entry")).filter(|hex| hex.len() == 64).map(digest) else {
            assert_eq!(name, "node_as_leaf");
            continue;
        };
        let found = verify_proof(text(case, "proof").as_bytes(), &entry, trusted);
        let code = found.code.map_or("ok", Code::as_str);
        assert_eq!(code, text(case, "expect"), "{name}: {found:?}");
        assert_eq!(found.answer, found.code.map_or(Answer::Valid, Code::answer), "{name}");
        assert_eq!(found.code.is_some(), found.reason.is_some(), "{name}");
        assert_eq!(found.document.is_some(), name == "receipt_inside", "{name}");
        let is_judged = matches!(code, "ok" | "quorum_not_met" | "inclusion_mismatch");
        assert_eq!(found.witnessed != Witnessed::Unknown, is_judged, "{name}");
        assert_eq!(found.log == LogTrust::Trusted, is_judged || code == "cosignature_mismatch", "{name}");
        if let Ok(file) = ProofFile::parse(text(case, "proof").as_bytes()) {
            assert_eq!(file.to_bytes(), text(case, "proof").as_bytes(), "{name}");
        }
    }
    assert_eq!(cases.len(), 33);
}

#[test]
fn the_receipt_of_the_data_is_logged() {
    let Some(folder) = folder() else { return };
    let file = std::fs::read(folder.join("receipt-1.tlog-proof")).unwrap();
    let policy = Policy::parse(&std::fs::read(folder.join("policy.txt")).unwrap()).unwrap();
    let receipts = std::fs::read_to_string(folder.join("receipts.jsonl")).unwrap();
    let entry = entry_of(receipts.lines().nth(1).unwrap().as_bytes()).unwrap();
    let trusted = TrustedKeys { logs: &[], policy: Some(&policy) };
    let found = verify_proof(&file, &entry, trusted);
    assert_eq!((found.answer, found.witnessed, found.log), (Answer::Valid, Witnessed::Met, LogTrust::Trusted));
    assert_eq!(found.cosignatures.iter().map(|found| found.time).collect::<Vec<_>>(), [1_767_225_600, 1_767_225_601]);
    assert_eq!((found.index, found.checkpoint.map(|checkpoint| checkpoint.size)), (Some(1), Some(300)));

    // Without a policy no witness is known.
    let logs = [policy.logs()[0].key.clone()];
    let found = verify_proof(&file, &entry, TrustedKeys { logs: &logs, policy: None });
    assert_eq!((found.answer, found.witnessed, found.log), (Answer::Valid, Witnessed::Unknown, LogTrust::Trusted));
    let found = verify_proof(&file, &entry, TrustedKeys::default());
    assert_eq!((found.code, found.log), (Some(Code::UnsignedByLog), LogTrust::Unknown));
    let found = verify_proof(&file, &Sha256Digest::of(b"another"), trusted);
    assert_eq!(found.code, Some(Code::InclusionMismatch));
}

#[test]
fn an_entry_is_the_digest_of_the_canonical_form() {
    let written = b"{ \"b\": 1.50,\n \"a\": \"\\u00e9\" }";
    assert_eq!(entry_of(written).unwrap(), Sha256Digest::of("{\"a\":\"é\",\"b\":1.50}".as_bytes()));
    let cose = b"\xd2\x84\x40\xa0\x40\x40";
    assert_eq!(entry_of(cose).unwrap(), Sha256Digest::of(cose));
    assert!(entry_of(b"").is_err() && entry_of(b"{\"a\":1,\"a\":2}").is_err());
    assert_eq!(entry_of(b"[1]"), Err(EntryError::NotAnObject));
}

/// A proof of entry 100 of 300, with a cosignature and a document inside.
fn proof() -> (Vec<u8>, Sha256Digest, Policy) {
    let document = b"{\"a\":1}";
    let entry = entry_of(document).unwrap();
    let mut entries = entries(300);
    entries[100] = entry;
    let tree = stored(&entries, &[300]);
    let log = LogSigner::from_seed("log.example/a", &[3; 32]).unwrap();
    let witness = Cosigner::from_seed("witness.example/1", &[4; 32]).unwrap();
    let mut note = log.sign(300, root(300, &tree).unwrap()).unwrap();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    note += &witness.cosign(&text, 1_767_225_600);
    let path = inclusion_proof(100, 300, &tree).unwrap();
    let file = ProofFile { extra: Some(document.to_vec()), index: 100, path, checkpoint: note.into_bytes() };
    let policy = format!("log {}\nwitness w {}\nquorum w\n", log.vkey(), witness.vkey());
    (file.to_bytes(), entry, Policy::parse(policy.as_bytes()).unwrap())
}

#[test]
fn a_document_inside_counts_in_canonical_form_only() {
    let (file, entry, policy) = proof();
    let trusted = TrustedKeys { logs: &[], policy: Some(&policy) };
    let with = |extra: &[u8]| {
        let extra = Some(extra.to_vec());
        let file = ProofFile { extra, ..ProofFile::parse(&file).unwrap() };
        let found = verify_proof(&file.to_bytes(), &entry, trusted);
        (found.answer, found.document.is_some())
    };
    assert_eq!(with(b"{\"a\":1}"), (Answer::Valid, true));
    assert_eq!(with(b"{\"a\":1}\n"), (Answer::Valid, false));
    assert_eq!(with(b"{\"a\":2}"), (Answer::Valid, false));
}

#[test]
fn limits_have_a_code_of_their_own() {
    let (file, entry, policy) = proof();
    let trusted = TrustedKeys { logs: &[], policy: Some(&policy) };
    let long = [file, vec![b'\n'; MAX_PROOF_FILE_BYTES]].concat();
    assert_eq!(verify_proof(&long, &entry, trusted).code, Some(Code::TooLarge));
    assert_eq!(ProofFile::parse(&long), Err(ProofFileError::TooLong(long.len())));
    let with = |extra: &str| ProofFile::parse(format!("c2sp.org/tlog-proof@v1\nextra {extra}\nindex 0\n\n").as_bytes());
    assert_eq!(with("").unwrap_err(), ProofFileError::Extra);
    let whole = "AAAA".repeat(MAX_EXTRA_BYTES / 3);
    assert!(with(&format!("{whole}AA==")).is_ok());
    assert_eq!(with(&format!("{whole}AAA=")).unwrap_err(), ProofFileError::Extra);
    let lines = |count: usize| {
        format!("c2sp.org/tlog-proof@v1\nindex 0\n{}\n", format!("{}\n", Hash::OF_NOTHING).repeat(count))
    };
    assert_eq!(ProofFile::parse(lines(MAX_PROOF_HASHES).as_bytes()).unwrap().path.len(), MAX_PROOF_HASHES);
    assert_eq!(ProofFile::parse(lines(MAX_PROOF_HASHES + 1).as_bytes()), Err(ProofFileError::TooManyHashes));
}

proptest! {
    #[test]
    fn any_changed_byte_of_a_proof_is_noticed(place: prop::sample::Index, byte: u8) {
        let (mut file, entry, policy) = proof();
        let trusted = TrustedKeys { logs: &[], policy: Some(&policy) };
        let good = verify_proof(&file, &entry, trusted);
        prop_assert_eq!((good.answer, good.code, good.document.as_deref()), (Answer::Valid, None, Some(&b"{\"a\":1}"[..])));
        let place = place.index(file.len());
        prop_assume!(file[place] != byte);
        file[place] = byte;
        let changed = verify_proof(&file, &entry, trusted);
        // Extra data proves nothing; a cosignature of an unknown name or key id does not count.
        let is_noticed = changed.answer != Answer::Valid || changed.code.is_some() || changed.document.is_none();
        prop_assert!(is_noticed, "{changed:?}");
        if changed.answer == Answer::Valid && changed.code.is_none() {
            let extra = String::from_utf8_lossy(&file).find("index").unwrap();
            prop_assert!(place < extra);
        }
    }

    #[test]
    fn a_proof_file_reads_back(bytes: Vec<u8>, extra: Option<Vec<u8>>, index: u64, path: Vec<[u8; 32]>) {
        if let Ok(file) = ProofFile::parse(&bytes) {
            prop_assert_eq!(file.to_bytes(), bytes.clone());
        }
        let path = path.into_iter().take(MAX_PROOF_HASHES).map(Hash::from_bytes).collect();
        let file = ProofFile { extra: extra.filter(|extra| !extra.is_empty()), index, path, checkpoint: bytes };
        prop_assert_eq!(ProofFile::parse(&file.to_bytes()), Ok(file));
    }
}
