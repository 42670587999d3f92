//! `COSE_Sign1` as the examples of the COSE working group have it (cose-wg/Examples, public domain).

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
        let read = Sign1::read(&message, ExportError::MalformedStatement);
        assert_eq!(read.as_ref().map_or_else(ExportError::code, |_| "ok"), expected, "{name}");
        let Ok((sign1, _)) = read else { continue };
        let payload = sign1.payload.unwrap();
        assert_eq!(to_be_signed(sign1.protected_bytes, payload), bytes(at(&["intermediates", "ToBeSign_hex"])));
        let key = bytes(at(&["input", "sign0", "key", "x_hex"])).try_into().unwrap();
        assert!(sign1.is_signed_by(&SignerId::from_bytes(key), payload));
        assert!(!sign1.is_signed_by(&SignerId::from_bytes(key), b"This is the content!"));
    }
}
