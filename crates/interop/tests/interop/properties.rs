//! Whatever byte is changed is found, and nothing makes a reader panic.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use proofmark_interop::cose::{
    Inclusion, Registration, sign_receipt, sign_statement, statement_entry, verify_receipt, verify_statement,
};
use proofmark_interop::{Document, intoto};
use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp, Verdict};
use proptest::prelude::*;

use crate::support::{draft, issuer, log, receipt};

static STATEMENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| sign_statement(&Document::from(receipt(Verdict::Pass)), &issuer()).unwrap());

static RECEIPT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let hash = |parts: &[&[u8]]| *Sha256Digest::of(&parts.concat()).as_bytes();
    let root = hash(&[&[1], &hash(&[&[0], &[7; 32]]), &[9; 32]]);
    let inclusion = Inclusion { tree_size: 2, leaf_index: 0, path: vec![[9; 32]] };
    let registration =
        Registration { origin: "log", subject: "sub", entry: &[7; 32], inclusion: &inclusion, root: &root };
    sign_receipt(&registration, &log()).unwrap()
});

static ENVELOPE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let envelope = intoto::sign_test_result(&receipt(Verdict::Pass), None, &issuer()).unwrap();
    Json::from(envelope).to_text().into_bytes()
});

fn is_envelope(bytes: &[u8]) -> bool {
    intoto::verify(bytes, &[issuer().signer()], NonZeroUsize::MIN).is_ok()
}

#[test]
fn each_changed_byte_of_a_statement_is_found() {
    for at in 0..STATEMENT.len() {
        let mut changed = STATEMENT.clone();
        changed[at] ^= 1;
        assert!(verify_statement(&changed, &[]).is_err(), "byte {at}");
    }
    assert!(verify_statement(&STATEMENT, &[]).is_ok());
}

/// All but the size and the index, which are not signed: a tree of another size may have a path of the same shape.
#[test]
fn each_changed_byte_of_a_receipt_is_found() {
    for at in 0..RECEIPT.len() {
        let mut changed = RECEIPT.clone();
        changed[at] ^= 1;
        assert!(verify_receipt(&changed, &[7; 32], &log().signer()).is_err(), "byte {at}");
    }
    assert!(verify_receipt(&RECEIPT, &[7; 32], &log().signer()).is_ok());
}

/// Other than in a key id, which is a hint.
#[test]
fn each_changed_byte_of_an_envelope_is_found() {
    let text = String::from_utf8(ENVELOPE.clone()).unwrap();
    let hint = text.find("\"keyid\"").unwrap()..text.find(",\"sig\"").unwrap() + 1;
    for at in (0..ENVELOPE.len()).filter(|at| !hint.contains(at)) {
        let mut changed = ENVELOPE.clone();
        changed[at] ^= 1;
        assert!(!is_envelope(&changed), "byte {at}");
    }
    assert!(is_envelope(&ENVELOPE));
}

fn changed(bytes: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::collection::vec(any::<u8>(), 0..8);
    (0..bytes.len(), 0..8_usize, piece).prop_map(|(at, removed, piece)| {
        let end = (at + removed).min(bytes.len());
        [&bytes[..at], &piece, &bytes[end..]].concat()
    })
}

proptest! {
    /// Only the unprotected header can differ in what still verifies: no signature covers it.
    #[test]
    fn no_other_bytes_are_another_statement(bytes in changed(&STATEMENT)) {
        if let Ok(statement) = verify_statement(&bytes, &[]) {
            prop_assert_eq!(statement.document, verify_statement(&STATEMENT, &[]).unwrap().document);
            prop_assert_eq!(statement_entry(&bytes).unwrap(), statement.entry);
        }
    }

    #[test]
    fn no_other_bytes_are_another_receipt(bytes in changed(&RECEIPT)) {
        if let Ok(receipt) = verify_receipt(&bytes, &[7; 32], &log().signer()) {
            prop_assert_eq!(Ok(receipt), verify_receipt(&RECEIPT, &[7; 32], &log().signer()));
        }
    }

    #[test]
    fn what_is_exported_verifies(name in any::<String>(), suite in any::<String>(), millis in any::<i64>()) {
        let mut draft = draft(Verdict::Pass, Object::new());
        draft.results.details[0].name = name;
        draft.verified_at = Timestamp::from_unix_millis(millis);
        let receipt = draft.sign(&issuer()).unwrap();
        let statement = verify_statement(&sign_statement(&receipt.clone().into(), &issuer()).unwrap(), &[]).unwrap();
        let Document::Receipt(inner) = statement.document else { panic!("it is a receipt") };
        prop_assert_eq!(inner.hash(), receipt.hash());
        let envelope = intoto::sign_test_result(&receipt, Some(&suite), &issuer()).unwrap();
        let read = intoto::verify(Json::from(envelope).to_text().as_bytes(), &[issuer().signer()], NonZeroUsize::MIN);
        let made = intoto::test_result(&receipt, Some(&suite)).unwrap();
        prop_assert_eq!(read.unwrap().statement.document().canonical_vrf(), made.canonical_vrf());
    }

    #[test]
    fn nothing_makes_a_reader_panic(bytes in any::<Vec<u8>>()) {
        drop(verify_statement(&bytes, &[]));
        drop(verify_receipt(&bytes, &[7; 32], &log().signer()));
        drop(intoto::verify(&bytes, &[issuer().signer()], NonZeroUsize::MIN));
    }

    #[test]
    fn no_entry_but_the_one_is_included(entry in any::<[u8; 32]>()) {
        prop_assert!(verify_receipt(&RECEIPT, &entry, &log().signer()).is_err());
    }
}
