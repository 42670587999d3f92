//! `COSE_Sign1` as others write it: the examples of the COSE working group (cose-wg/Examples, public domain), and statements of another
//! issuer.

use proofmark_receipt::{Json, SignerId};
use proofmark_testing::conformance;

use super::super::cbor::tests::bytes;
use super::*;

/// The examples, and how this reader answers them: it knows Ed25519 and no other algorithm, and `COSE_Sign1` with its tag.
const EXAMPLES: [(&str, &str); 13] = [
    // `COSE_Sign`.
    ("eddsa-01", "malformed_statement"),
    ("eddsa-02", "malformed_statement"),
    ("eddsa-sig-01", "ok"),
    // Ed448, whose `alg` is the same; its signature is longer.
    ("eddsa-sig-02", "malformed_statement"),
    // Another tag.
    ("sign-fail-01", "malformed_statement"),
    ("sign-fail-02", "unknown_algorithm"),
    ("sign-fail-03", "unknown_algorithm"),
    ("sign-fail-04", "unknown_algorithm"),
    ("sign-fail-06", "unknown_algorithm"),
    ("sign-fail-07", "unknown_algorithm"),
    // The algorithm is not protected.
    ("sign-pass-01", "malformed_statement"),
    ("sign-pass-02", "unknown_algorithm"),
    // No tag.
    ("sign-pass-03", "malformed_statement"),
];

#[test]
fn examples_of_the_working_group() {
    let Some(folder) = conformance("cose/cose-wg") else { return };
    for (name, expected) in EXAMPLES {
        let example = Json::parse(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
        let at = |names: &[&str]| {
            names.iter().try_fold(&example, |json, name| json.as_object()?.get(name)).and_then(Json::as_str).unwrap()
        };
        let message = bytes(at(&["output", "cbor"]));
        let read = Sign1::read(&message, KeyOrder::Sorted, ExportError::MalformedStatement);
        assert_eq!(read.as_ref().map_or_else(ExportError::code, |_| "ok"), expected, "{name}");
        let Ok((sign1, _)) = read else { continue };
        let payload = sign1.payload.unwrap();
        assert_eq!(to_be_signed(sign1.protected_bytes, payload), bytes(at(&["intermediates", "ToBeSign_hex"])));
        let key = bytes(at(&["input", "sign0", "key", "x_hex"])).try_into().unwrap();
        assert!(sign1.is_signed_by(&SignerId::from_bytes(key), payload));
        assert!(!sign1.is_signed_by(&SignerId::from_bytes(key), b"This is the content!"));
    }
}

/// Statements of another issuer (action-state-group/scitt-cose, Apache-2.0), and whether they are signed as they say.
#[test]
fn statements_of_others() {
    let Some(folder) = conformance("cose/scitt-cose-v1") else { return };
    for (name, is_signed) in [
        ("valid-eddsa", true),
        ("fail-tampered-path", true),
        ("fail-unsupported-vds", true),
        ("fail-bad-statement-sig", false),
    ] {
        let file = |file: &str| std::fs::read(folder.join(name).join(file)).unwrap();
        let key = SignerId::from_public_pem(&String::from_utf8(file("issuer-key.pub")).unwrap()).unwrap();
        let (statement, payload) = (file("statement.cose"), file("payload.bin"));
        let (sign1, protected) = Sign1::read(&statement, KeyOrder::Any, ExportError::MalformedStatement).unwrap();
        assert_eq!(sign1.payload, Some(payload.as_slice()), "{name}");
        assert_eq!(protected.get(CONTENT_TYPE), Some(&Item::Text("application/json")), "{name}");
        assert_eq!(sign1.is_signed_by(&key, &payload), is_signed, "{name}");
    }
}
