//! Runs the language-neutral vectors of signed documents, `vectors/decision.json`.

#![allow(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::path::Path;

use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object, Profile, SignerId};
use proofmark_verifier::check_document;

#[test]
fn every_document_is_of_one_kind_and_judged_as_that() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/decision.json");
    let limits = Limits { max_bytes: 64 << 20, max_depth: 128 };
    let vectors = Json::parse_with(&std::fs::read(path).unwrap(), limits).unwrap();
    let cases = vectors.as_object().unwrap().get("cases").and_then(Json::as_array).unwrap();
    assert!(cases.len() > 50, "cases are missing");
    for case in cases.iter().map(|case| case.as_object().unwrap()) {
        let trusted = case.get("trusted").and_then(Json::as_array).unwrap_or_default();
        let trusted: Vec<SignerId> = trusted.iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect();
        let checked = check_document(text(case, "document").unwrap().as_bytes(), Profile::Vrf, &trusted);
        let (name, answer) = (text(case, "name"), &checked.verification.answer);
        assert_eq!(Some(answer.code().unwrap_or("valid")), text(case, "expect"), "{name:?}");
        assert_eq!(Some(answer.as_str()), text(case, "answer"), "{name:?}");
        assert_eq!(Some(checked.kind), text(case, "kind"), "{name:?}");
        assert!(text(case, "trust").is_none_or(|trust| checked.verification.trust.as_str() == trust), "{name:?}");
        assert_eq!(checked.verification.signer.is_some(), text(case, "expect") == Some("valid"), "{name:?}");
    }
}

fn text<'a>(case: &'a Object, name: &str) -> Option<&'a str> {
    case.get(name).and_then(Json::as_str)
}
