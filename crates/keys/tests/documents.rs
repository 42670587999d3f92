//! Runs the language-neutral vectors of signed documents and of key files: `vectors/decision.json`, `vectors/passkey.json`,
//! `vectors/linked.json` and `vectors/keyfile.json`.

#![allow(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::path::Path;

use proofmark_evidence::{Capabilities, Signers};
use proofmark_keys::{LinkedDocument, check_document, signers_in};
use proofmark_receipt::json::Limits;
use proofmark_receipt::{ChainHead, ChainVerifier, Json, Object, Profile, SignedEnd, SignerId, Timestamp};

#[test]
fn every_document_is_of_one_kind_and_judged_as_that() {
    for case in cases("decision.json", 200).into_iter().chain(cases("passkey.json", 40)) {
        let profile = text(&case, "profile").map_or(Profile::Vrf, |name| name.parse().unwrap());
        let checked =
            check_document(text(&case, "document").unwrap().as_bytes(), profile, &Signers::of_any_kind(trusted(&case)));
        let (name, answer) = (text(&case, "name"), &checked.verification.answer);
        assert_eq!(Some(answer.code().unwrap_or("valid")), text(&case, "expect"), "{name:?}");
        assert_eq!(Some(answer.as_str()), text(&case, "answer"), "{name:?}");
        assert_eq!(Some(checked.kind), text(&case, "kind"), "{name:?}");
        assert!(text(&case, "trust").is_none_or(|trust| checked.verification.trust.as_str() == trust), "{name:?}");
        assert_eq!(checked.verification.hint.map(Profile::as_str), text(&case, "hint"), "{name:?}");
        assert_eq!(checked.verification.signer.is_some(), text(&case, "expect") == Some("valid"), "{name:?}");
    }
}

#[test]
fn decisions_and_entries_of_sessions_are_linked_as_receipts_are() {
    for case in cases("linked.json", 30) {
        let mut chain = ChainVerifier::default();
        for document in case.get("documents").and_then(Json::as_array).unwrap() {
            if let Some(linked) = LinkedDocument::read(document.as_str().unwrap().as_bytes()) {
                chain.add(&linked.link());
            }
        }
        let (head, trusted) =
            (text(&case, "head").map(|head| ChainHead::parse(head.as_bytes()).unwrap()), trusted(&case));
        let found = chain.finish(head.as_ref().map(|head| SignedEnd { head, trusted: &trusted }));
        assert_eq!(Some(found.map_or_else(|error| error.code(), |()| "ok")), text(&case, "expect"), "{case:?}");
    }
}

#[test]
fn a_key_file_names_its_keys_and_their_ends_and_nothing_else_is_one() {
    for case in cases("keyfile.json", 50) {
        let name = text(&case, "name");
        let keys = signers_in(text(&case, "text").unwrap()).unwrap_or_default();
        let found: Vec<_> =
            keys.iter().map(|key| (key.signer, key.until.as_ref().map(Timestamp::unix_millis))).collect();
        let listed = case.get("signers").and_then(Json::as_array).unwrap_or_default();
        let due: Vec<(SignerId, Option<i64>)> = listed.iter().map(|key| named(key.as_object().unwrap())).collect();
        assert_eq!(found, due, "{name:?}");
        assert_eq!(text(&case, "expect"), Some(if keys.is_empty() { "no_key" } else { "ok" }), "{name:?}");
        let Some(document) = text(&case, "document") else { continue };
        let signers = keys.into_iter().fold(Signers::default(), |all, key| all.with(key, Capabilities::ALL));
        let verification = check_document(document.as_bytes(), Profile::Vrf, &signers).verification;
        assert_eq!(verification.answer.as_str(), "valid", "{name:?}");
        assert_eq!(Some(verification.trust.as_str()), text(&case, "trust"), "{name:?}");
    }
}

/// A key in hex, and its end in milliseconds.
fn named(key: &Object) -> (SignerId, Option<i64>) {
    let until = key.get("until").and_then(Json::as_number).and_then(|until| until.as_u64());
    (format!("ed25519:{}", text(key, "key").unwrap()).parse().unwrap(), until.map(|until| until.try_into().unwrap()))
}

/// The cases of a file, which has at least this many.
fn cases(file: &str, least: usize) -> Vec<Object> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let limits = Limits { max_bytes: 64 << 20, max_depth: 128, max_nodes: usize::MAX };
    let vectors = Json::parse_with(&std::fs::read(path).unwrap(), limits).unwrap();
    let cases = vectors.as_object().unwrap().get("cases").and_then(Json::as_array).unwrap();
    assert!(cases.len() >= least, "cases are missing");
    cases.iter().map(|case| case.as_object().unwrap().clone()).collect()
}

fn trusted(case: &Object) -> Vec<SignerId> {
    let trusted = case.get("trusted").and_then(Json::as_array).unwrap_or_default();
    trusted.iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect()
}

fn text<'a>(case: &'a Object, name: &str) -> Option<&'a str> {
    case.get(name).and_then(Json::as_str)
}
