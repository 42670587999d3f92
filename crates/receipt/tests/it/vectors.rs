//! Runs the language-neutral vectors in `vectors/`.

use std::path::Path;

use proofmark_receipt::json::Limits;
use proofmark_receipt::{
    ChainHead, ChainVerifier, Json, Object, Profile, Receipt, SignatureStatus, SignedEnd, SignerId, UndecidableCause,
    Verification, verify, verify_chain,
};

#[test]
fn json() {
    run("json.json", |case| {
        let read = match Json::parse(&bytes(case, "text", "hex")) {
            Ok(document) => document,
            Err(error) => return error.code().to_owned(),
        };
        let canonical = case.get("canonical").and_then(Json::as_object);
        for (profile, expected) in canonical.expect("accepted documents have canonical forms").iter() {
            let form = read.canonical(profile.parse().unwrap());
            match expected.as_object() {
                None => assert_eq!(text_of(form.unwrap()), expected.as_str().unwrap(), "under {profile}"),
                Some(refusal) => assert_eq!(form.unwrap_err().code(), text(refusal, "error"), "under {profile}"),
            }
        }
        "ok".to_owned()
    });
}

#[test]
fn receipt() {
    run("receipt.json", |case| {
        let profile = optional_text(case, "profile").map_or(Profile::Vrf, |name| name.parse().unwrap());
        let document = bytes(case, "receipt", "receipt_hex");
        judged(case, &verify(&document, profile, &trusted(case)))
    });
}

#[test]
fn chain() {
    run("chain.json", |case| {
        let texts = case.get("receipts").and_then(Json::as_array).unwrap();
        let receipts: Vec<Receipt> =
            texts.iter().map(|text| Receipt::parse(text.as_str().unwrap().as_bytes()).unwrap()).collect();
        let head = optional_text(case, "head").map(|head| ChainHead::parse(head.as_bytes()).unwrap());
        let trusted = trusted(case);
        let mut chain = ChainVerifier::default();
        receipts.iter().for_each(|receipt| chain.add(&receipt.link()));
        let stated = chain.losses().iter().map(|loss| format!("{}:{}", loss.position, loss.lost.position));
        assert_eq!(stated.collect::<Vec<_>>().join(","), optional_text(case, "losses").unwrap_or_default());
        match verify_chain(&receipts, head.as_ref().map(|head| SignedEnd { head, trusted: &trusted })) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.code().to_owned(),
        }
    });
}

#[test]
fn head() {
    run("head.json", |case| {
        let verification = match ChainHead::parse(&bytes(case, "head", "head_hex")) {
            Ok(head) => head.verify(&trusted(case)),
            Err(error) => return judged_unreadable(case, UndecidableCause::Malformed(error)),
        };
        judged(case, &verification)
    });
}

#[test]
fn signer() {
    run("signer.json", |case| match text(case, "text").parse::<SignerId>() {
        Ok(signer) => {
            assert_eq!(format!("ed25519:{}", text(case, "key")).parse(), Ok(signer));
            "ok".to_owned()
        }
        Err(_) => "invalid_signer_id".to_owned(),
    });
}

/// Runs every case of `file`: what `answer` says must be what the case expects. Names all that do not.
fn run(file: &str, answer: impl Fn(&Object) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let limits = Limits { max_bytes: 64 << 20, max_depth: 128, max_nodes: usize::MAX };
    let vectors = Json::parse_with(&std::fs::read(path).unwrap(), limits).unwrap();
    let cases = vectors.as_object().and_then(|vectors| vectors.get("cases")).and_then(Json::as_array).unwrap();
    assert!(!cases.is_empty(), "`{file}` has no cases");
    let mut wrong = Vec::new();
    for case in cases.iter().map(|case| case.as_object().unwrap()) {
        let (found, expected) = (answer(case), text(case, "expect"));
        if found != expected {
            wrong.push(format!("{}: {found} where {expected} is due", text(case, "name")));
        }
    }
    println!("{file}: {} cases", cases.len());
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

/// The code, or `valid`, once answer, trust and hint are those the case names.
fn judged(case: &Object, verification: &Verification) -> String {
    let answer = &verification.answer;
    let code = answer.code().unwrap_or("valid").to_owned();
    if code == text(case, "expect") {
        let name = text(case, "name");
        assert_eq!(answer.as_str(), text(case, "answer"), "{name}");
        assert_eq!(verification.hint.map(Profile::as_str), optional_text(case, "hint"), "{name}");
        if let Some(trust) = optional_text(case, "trust") {
            assert_eq!(verification.trust.as_str(), trust, "{name}");
        }
        assert_eq!(verification.signer.is_some(), *answer == SignatureStatus::Valid, "{name}");
        assert_eq!(answer.cause().is_some(), *answer != SignatureStatus::Valid, "{name}");
    }
    code
}

fn judged_unreadable(case: &Object, cause: UndecidableCause) -> String {
    let answer = SignatureStatus::Undecidable(cause);
    assert_eq!(answer.as_str(), text(case, "answer"));
    answer.code().unwrap().to_owned()
}

fn trusted(case: &Object) -> Vec<SignerId> {
    let signers = case.get("trusted").and_then(Json::as_array).unwrap_or_default();
    signers.iter().map(|signer| signer.as_str().unwrap().parse().unwrap()).collect()
}

/// The document of a case, after `spaces_before` spaces and before `times` times the text `then`.
fn bytes(case: &Object, text_name: &str, hex_name: &str) -> Vec<u8> {
    let spaces = case.get("spaces_before").and_then(Json::as_number).and_then(|count| count.as_u64());
    let mut bytes = vec![b' '; spaces.unwrap_or(0).try_into().unwrap()];
    match optional_text(case, hex_name) {
        Some(digits) => bytes.extend(unhex(digits)),
        None => bytes.extend_from_slice(text(case, text_name).as_bytes()),
    }
    let times = case.get("times").and_then(Json::as_number).and_then(|count| count.as_u64());
    let then = optional_text(case, "then").unwrap_or_default();
    bytes.extend(then.repeat(times.unwrap_or(0).try_into().unwrap()).bytes());
    bytes
}

fn unhex(digits: &str) -> Vec<u8> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "an odd number of hex digits");
    pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn text<'a>(case: &'a Object, name: &str) -> &'a str {
    optional_text(case, name).unwrap_or_else(|| panic!("no text `{name}` in {case:?}"))
}

fn optional_text<'a>(case: &'a Object, name: &str) -> Option<&'a str> {
    case.get(name).and_then(Json::as_str)
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}
