//! A receipt that takes the place of another.

use proofmark_quorum::Reference;
use proofmark_quorum::supersedes::{self, SupersedesError};
use proofmark_receipt::{Draft, Json, Receipt, Sha256Digest, object};

use crate::samples::{FAIL, PASS, id, key, verification};

fn earlier() -> Receipt {
    verification("a", PASS).sign(&key(11)).unwrap()
}

/// A later receipt over the same work, after this change to its draft.
fn later(change: fn(&mut Draft)) -> Draft {
    let mut draft = verification("b", FAIL);
    supersedes::write(&earlier(), &mut draft.metadata);
    change(&mut draft);
    draft
}

#[test]
fn a_later_receipt_of_the_same_signer_and_work_supersedes() {
    let receipt = later(|_| {}).sign(&key(11)).unwrap();
    assert_eq!(supersedes::read(&receipt), Ok(Some(Reference::of(&earlier()))));
    let written = receipt.metadata().get("supersedes").unwrap();
    let expected = object! { "receipt_id": id("a").to_string(), "hash": earlier().hash().to_string() };
    assert_eq!(written, &Json::from(expected));
    assert_eq!(supersedes::check(&receipt, &earlier()), Ok(()));
}

#[test]
fn others_do_not() {
    let check = |draft: Draft, seed| supersedes::check(&draft.sign(&key(seed)).unwrap(), &earlier());
    assert_eq!(check(later(|_| {}), 12), Err(SupersedesError::OtherSigner));
    let work = later(|draft| draft.hashes.output = Sha256Digest::of(b"other"));
    assert_eq!(check(work, 11), Err(SupersedesError::OtherWork));
    let tests = later(|draft| draft.hashes.tests = None);
    assert_eq!(check(tests, 11), Err(SupersedesError::OtherWork));
    assert_eq!(check(verification("b", FAIL), 11), Err(SupersedesError::None));
    // The same content, signed as another receipt would be.
    let other = verification("a", FAIL).sign(&key(11)).unwrap();
    let receipt = later(|_| {}).sign(&key(11)).unwrap();
    assert_eq!(supersedes::check(&receipt, &other), Err(SupersedesError::OtherReceipt(id("a"))));
    let unsigned = later(|_| {}).unsigned().unwrap();
    assert!(
        matches!(supersedes::check(&unsigned, &earlier()), Err(SupersedesError::NotValid { receipt_id, .. }) if receipt_id == id("b"))
    );
}

#[test]
fn the_form_is_strict() {
    let read = |value: Json| {
        let mut draft = verification("b", FAIL);
        draft.metadata.insert("supersedes", value);
        supersedes::read(&draft.sign(&key(11)).unwrap())
    };
    assert_eq!(supersedes::read(&earlier()), Ok(None));
    assert_eq!(read(Json::from(id("a").to_string())), Err(SupersedesError::IdOnly));
    let (id, hash) = (id("a").to_string(), earlier().hash().to_string());
    for bad in [
        Json::Null,
        object! { "receipt_id": id.as_str() }.into(),
        object! { "hash": hash.as_str() }.into(),
        object! { "receipt_id": id.as_str(), "hash": "sha256:00" }.into(),
        object! { "receipt_id": "a", "hash": hash.as_str() }.into(),
        object! { "receipt_id": id.as_str(), "hash": hash.as_str(), "reason": "flaky" }.into(),
    ] {
        let error = read(bad).unwrap_err();
        assert!(matches!(&error, SupersedesError::Malformed(_)), "{error}");
        assert!(error.to_string().contains("`metadata.supersedes"), "{error}");
    }
}
