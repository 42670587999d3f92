//! Other projects' Ed25519 vectors, where they are present: what verifies here is what verifies strictly, nothing else.

use super::SignerId;
use crate::hex;
use crate::json::{Json, Limits, Object};

/// What makes a signature of C2SP/CCTV one a strict verifier refuses.
const NOT_STRICT: [&str; 6] =
    ["low_order_A", "low_order_R", "low_order_residue", "non_canonical_A", "non_canonical_R", "reencoded_k"];

#[test]
fn wycheproof() {
    let Some(vectors) = vectors("wycheproof.json") else { return };
    let (mut valid, mut invalid) = (0, 0);
    for group in array(vectors.as_object().unwrap(), "testGroups") {
        let group = group.as_object().unwrap();
        let key = text(group.get("publicKey").and_then(Json::as_object).unwrap(), "pk");
        for case in array(group, "tests").iter().map(|case| case.as_object().unwrap()) {
            let expected = text(case, "result") == "valid";
            let found = verifies(key, &bytes(text(case, "msg")), text(case, "sig"));
            assert_eq!(found, expected, "{case:?}");
            *(if expected { &mut valid } else { &mut invalid }) += 1;
        }
    }
    println!("wycheproof: {valid} valid, {invalid} invalid");
    assert_eq!((valid, invalid), (88, 63));
}

#[test]
fn cctv() {
    let Some(vectors) = vectors("cctv.json") else { return };
    let (mut valid, mut invalid) = (0, 0);
    for case in vectors.as_array().unwrap().iter().map(|case| case.as_object().unwrap()) {
        let flags = case.get("flags").and_then(Json::as_array).unwrap_or_default();
        let expected = !flags.iter().any(|flag| NOT_STRICT.contains(&flag.as_str().unwrap()));
        let found = verifies(text(case, "key"), text(case, "msg").as_bytes(), text(case, "sig"));
        assert_eq!(found, expected, "{case:?}");
        *(if expected { &mut valid } else { &mut invalid }) += 1;
    }
    println!("cctv: {valid} valid, {invalid} invalid");
    assert_eq!((valid, invalid), (43, 871));
}

#[test]
fn speccheck() {
    let Some(vectors) = vectors("speccheck.json") else { return };
    let cases = vectors.as_array().unwrap().iter().map(|case| case.as_object().unwrap());
    let found: Vec<bool> = cases
        .map(|case| verifies(text(case, "pub_key"), &bytes(text(case, "message")), text(case, "signature")))
        .collect();
    // Only number 3, of mixed order and without a cofactor, verifies strictly (Chalkias et al., 2020, table 5).
    let expected: Vec<bool> = (0..12).map(|number| number == 3).collect();
    println!("speccheck: {} cases", found.len());
    assert_eq!(found, expected);
}

/// A signature of another length than 64 bytes never reaches the verifier: reading the receipt refuses it.
fn verifies(key: &str, message: &[u8], signature: &str) -> bool {
    let signer = SignerId::from_bytes(hex::decode(key).unwrap());
    hex::decode::<64>(signature).is_some_and(|signature| signer.verify(message, &signature))
}

fn vectors(name: &str) -> Option<Json> {
    let bytes = std::fs::read(proofmark_testing::conformance("ed25519")?.join(name)).unwrap();
    let limits = Limits { max_bytes: 16 << 20, ..Limits::default() };
    Some(Json::parse_with(&bytes, limits).unwrap())
}

fn bytes(digits: &str) -> Vec<u8> {
    let (pairs, _) = digits.as_bytes().as_chunks::<2>();
    pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn array<'a>(object: &'a Object, name: &str) -> &'a [Json] {
    object.get(name).and_then(Json::as_array).unwrap()
}

fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Json::as_str).unwrap()
}
