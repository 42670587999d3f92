//! In-toto statements in DSSE envelopes: those of `conformance/in-toto`, and those that are made here.

use std::num::NonZeroUsize;

use proofmark_interop::intoto::{
    MAX_ENVELOPE_BYTES, MAX_SIGNATURES, SVR, TEST_RESULT, bundle, claimed_by, envelope, key_id, sign_svr,
    sign_test_result, svr, test_result, verify,
};
use proofmark_interop::{Decision, Document, ExportError};
use proofmark_receipt::{
    DecidedBy, Json, Object, Receipt, Sha256Digest, SignerId, Task, Verdict, object, sign_document,
};

use crate::support::{cases, data, decision, draft, issuer, json, receipt, second, text};

fn code<T>(result: &Result<T, ExportError>) -> &'static str {
    result.as_ref().map_or_else(ExportError::code, |_| "ok")
}

fn once(bytes: &[u8], key: SignerId) -> Result<proofmark_interop::intoto::Verified, ExportError> {
    verify(bytes, &[key], NonZeroUsize::MIN)
}

#[test]
fn statements_are_those_of_the_data_byte_for_byte() {
    let Some(file) = json("in-toto/statement.json") else { return };
    let mut count = 0;
    for case in cases(&file) {
        let receipt = Receipt::parse(text(case, "receipt").as_bytes()).unwrap();
        let made = test_result(&receipt, None);
        assert_eq!(code(&made), text(case, "expect"), "{}", text(case, "name"));
        if let Ok(statement) = made {
            assert_eq!(String::from_utf8(statement.canonical_vrf()).unwrap(), text(case, "statement"));
        }
        count += 1;
    }
    assert_eq!(count, 5);
}

#[test]
fn the_envelope_is_that_of_the_data() {
    let (Some(expected), Some(file)) = (json("in-toto/envelope.dsse.json"), json("in-toto/statement.json")) else {
        return;
    };
    let receipt = Receipt::parse(text(cases(&file).next().unwrap(), "receipt").as_bytes()).unwrap();
    let made = sign_test_result(&receipt, None, &issuer()).unwrap();
    assert_eq!(Json::from(made), expected);
    let read = once(&data("in-toto/envelope.dsse.json").unwrap(), issuer().signer()).unwrap();
    assert_eq!(read.signers, [issuer().signer()]);
    assert_eq!(read.statement.predicate_type(), TEST_RESULT);
    assert_eq!(read.statement.restated(), Some(receipt.hash()));
    assert!(read.statement.is_about(&receipt.hashes().output) && !read.statement.is_about(&receipt.hash()));
}

#[test]
fn envelopes_answer_as_the_data_says() {
    let Some(file) = json("in-toto/envelope.json") else { return };
    let mut count = 0;
    for case in cases(&file) {
        let keys = case.get("keys").and_then(Json::as_array).unwrap();
        let keys: Vec<SignerId> = keys.iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect();
        let threshold = case.get("threshold").and_then(Json::as_number).unwrap().as_u64().unwrap();
        let threshold = NonZeroUsize::new(threshold.try_into().unwrap()).unwrap();
        let answer = verify(text(case, "envelope").as_bytes(), &keys, threshold);
        assert_eq!(code(&answer), text(case, "expect"), "{}: {answer:?}", text(case, "name"));
        count += 1;
    }
    assert_eq!(count, 17);
}

#[test]
fn a_suite_names_the_first_configuration() {
    let names = |statement: &Object| {
        let predicate = statement.get("predicate").and_then(Json::as_object).unwrap();
        let all = predicate.get("configuration").and_then(Json::as_array).unwrap().iter();
        let all = all.map(|one| one.as_object().unwrap());
        all.map(|one| {
            (text(one, "name").to_owned(), text(one.get("digest").unwrap().as_object().unwrap(), "sha256").to_owned())
        })
        .collect::<Vec<_>>()
    };
    let (tests, specification) = (Sha256Digest::of(b"tests").bare_hex(), Sha256Digest::of(b"specification").bare_hex());
    let statement = test_result(&receipt(Verdict::Pass), Some("checkout")).unwrap();
    let expected = [("checkout".to_owned(), tests), ("specification".to_owned(), specification.clone())];
    assert_eq!(names(&statement), expected);
    let mut without = draft(Verdict::Pass, Object::new());
    without.hashes.tests = None;
    let statement = test_result(&without.sign(&issuer()).unwrap(), Some("checkout")).unwrap();
    assert_eq!(names(&statement), [("checkout".to_owned(), specification)]);
}

#[test]
fn a_simple_verification_result_lists_what_holds() {
    let metadata = object! {
        "isolation": vec![Json::from("level:A"), Json::from("seccomp")],
        "decided": "verifier",
    };
    let mut passed = draft(Verdict::Pass, metadata);
    passed.results.details.iter_mut().for_each(|detail| detail.decided = Some(DecidedBy::Verifier));
    let passed = passed.sign(&issuer()).unwrap();
    let statement = svr(&passed.clone().into()).unwrap();
    assert_eq!(text(&statement, "predicateType"), SVR);
    let predicate = statement.get("predicate").and_then(Json::as_object).unwrap();
    let verifier = predicate.get("verifier").and_then(Json::as_object).unwrap();
    assert_eq!(text(verifier, "id"), issuer().signer().did_key());
    assert_eq!(verifier.get("policies").and_then(Json::as_array).map(<[Json]>::len), Some(2));
    assert_eq!(text(predicate, "timeCreated"), passed.verified_at().as_str());
    assert_eq!(
        properties(&statement),
        [
            "PROOFMARK_TESTS_PASSED",
            "PROOFMARK_TESTED_ISOLATED",
            "PROOFMARK_ISOLATION_LEVEL_A",
            "PROOFMARK_DECIDED_BY_VERIFIER"
        ]
    );
    let signed = sign_svr(&passed.clone().into(), &issuer()).unwrap();
    let read = once(Json::from(signed).to_text().as_bytes(), issuer().signer()).unwrap();
    assert_eq!(read.statement.document().canonical_vrf(), statement.canonical_vrf());
    assert_eq!(read.statement.restated(), Some(passed.hash()));
}

fn properties(statement: &Object) -> Vec<&str> {
    let predicate = statement.get("predicate").and_then(Json::as_object).unwrap();
    predicate.get("properties").and_then(Json::as_array).unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[test]
fn a_property_is_claimed_only_where_the_receipt_says_it_throughout() {
    let made = |metadata: Object, tier: u8, by: Option<DecidedBy>| {
        let mut draft = draft(Verdict::Pass, metadata);
        draft.tier = tier;
        draft.results.details[0].decided = by;
        draft.results.details[1].decided = Some(DecidedBy::Verifier);
        let statement = svr(&draft.sign(&issuer()).unwrap().into()).unwrap();
        properties(&statement).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let verifier = Some(DecidedBy::Verifier);
    let level = |level: &str| object! { "isolation": vec![Json::from(format!("level:{level}"))] };
    assert_eq!(made(Object::new(), 0, verifier), ["PROOFMARK_TESTS_PASSED"]);
    assert_eq!(made(Object::new(), 1, verifier), ["PROOFMARK_CONSTRAINTS_MET"]);
    assert_eq!(made(level("Z_SLSA_BUILD_LEVEL_3"), 0, None), ["PROOFMARK_TESTS_PASSED"]);
    assert_eq!(made(object! { "decided": "verifier" }, 0, None), ["PROOFMARK_TESTS_PASSED"]);
    assert_eq!(made(object! { "decided": "submission" }, 0, verifier), ["PROOFMARK_TESTS_PASSED"]);
    let in_process = object! { "decided": "verifier", "comparison": "in-process" };
    assert_eq!(made(in_process, 0, verifier), ["PROOFMARK_TESTS_PASSED"]);
}

#[test]
fn what_does_not_pass_has_no_simple_verification_result() {
    for verdict in [Verdict::Fail, Verdict::Partial, Verdict::Error] {
        assert_eq!(code(&svr(&receipt(verdict).into())), "no_judgment", "{verdict}");
    }
    assert_eq!(code(&svr(&decision(false))), "no_judgment");
    let statement = svr(&decision(true)).unwrap();
    assert_eq!(properties(&statement), ["PROOFMARK_ACTION_ALLOWED"]);
    // Enforced, the policy would have decided otherwise.
    let Document::Decision(shadowed) = decision(true) else { panic!("it is a decision") };
    let mut shadowed = shadowed.document().clone();
    shadowed.insert("metadata", object! { "shadow": object! { "outcome": "goal_fail_terminal" } });
    sign_document(&mut shadowed, &issuer()).unwrap();
    assert_eq!(code(&svr(&Decision::read(shadowed).unwrap().into())), "no_judgment");
    let Document::Decision(decision) = decision(true) else { panic!("it is a decision") };
    let signed = sign_svr(&decision.clone().into(), &issuer()).unwrap();
    let read = once(Json::from(signed).to_text().as_bytes(), issuer().signer()).unwrap();
    assert!(read.statement.is_about(&decision.action()));
    assert_eq!(read.statement.restated(), Some(Sha256Digest::of(&decision.document().canonical_vrf())));
}

#[test]
fn only_verified_work_is_a_test_result() {
    let typed = Task { task_type: Some("approval".to_owned()), ..Task::default() };
    let kinds: [(&str, Object, u8, Option<Task>); 5] = [
        ("step_acceptance", object! { "kind": "step_acceptance" }, 0, None),
        ("revocation", object! { "kind": "revocation" }, 0, None),
        ("approval", object! { "approval": Object::new() }, 0, None),
        ("tier", Object::new(), 3, None),
        ("task_type", Object::new(), 0, Some(typed)),
    ];
    for (name, metadata, tier, task) in kinds {
        let mut draft = draft(Verdict::Pass, metadata);
        (draft.tier, draft.task) = (tier, task);
        let receipt = draft.sign(&issuer()).unwrap();
        assert_eq!(code(&test_result(&receipt, None)), "no_judgment", "{name}");
        assert_eq!(code(&svr(&receipt.into())), "no_judgment", "{name}");
    }
    let unsigned = draft(Verdict::Pass, Object::new()).unsigned().unwrap();
    assert_eq!(code(&test_result(&unsigned, None)), "unsigned");
    assert_eq!(code(&svr(&unsigned.into())), "unsigned");
    assert_eq!(code(&sign_test_result(&receipt(Verdict::Pass), None, &second())), "issuer_mismatch");
    assert_eq!(code(&sign_svr(&receipt(Verdict::Pass).into(), &second())), "issuer_mismatch");
}

#[test]
fn each_key_counts_once() {
    let statement = test_result(&receipt(Verdict::Pass), None).unwrap();
    let mut twice = envelope(&statement, &issuer());
    let other = envelope(&statement, &second());
    let list = |envelope: &Object| envelope.get("signatures").and_then(Json::as_array).unwrap().to_vec();
    let two = NonZeroUsize::new(2).unwrap();
    let (first, second) = (issuer().signer(), second().signer());
    let bytes = |envelope: &Object| Json::from(envelope.clone()).to_text().into_bytes();
    twice.insert("signatures", [list(&twice), list(&twice)].concat());
    assert_eq!(code(&verify(&bytes(&twice), &[first, second], two)), "signature_mismatch");
    // Nor does a key that is given twice.
    assert_eq!(code(&verify(&bytes(&twice), &[first, first], two)), "signature_mismatch");
    twice.insert("signatures", [list(&twice), list(&other)].concat());
    let read = verify(&bytes(&twice), &[second, first], two).unwrap();
    assert_eq!(read.signers.len(), 2);
    assert_eq!(code(&verify(&bytes(&twice), &[], NonZeroUsize::MIN)), "signature_mismatch");
    twice.insert("signatures", vec![list(&other)[0].clone(); MAX_SIGNATURES + 1]);
    assert_eq!(code(&once(&bytes(&twice), second)), "malformed_envelope");
}

#[test]
fn malformed_envelopes_are_refused() {
    let good = sign_test_result(&receipt(Verdict::Pass), None, &issuer()).unwrap();
    let mut changes: Vec<Object> = Vec::new();
    for (name, value) in [
        ("payload", Json::from(1)),
        ("payload", Json::from("e30")),
        ("payload", Json::from("-_+/")),
        ("payloadType", Json::Null),
        ("signatures", Json::from(Object::new())),
        ("signatures", Json::from(vec![Json::from(1)])),
        ("signatures", Json::from(vec![Json::from(object! { "keyid": key_id(&issuer().signer()) })])),
        ("signatures", Json::from(vec![Json::from(object! { "sig": "not base64" })])),
    ] {
        let mut changed = good.clone();
        changed.insert(name, value);
        changes.push(changed);
    }
    for changed in changes {
        let text = Json::from(changed).to_text();
        assert_eq!(code(&once(text.as_bytes(), issuer().signer())), "malformed_envelope", "{text}");
    }
    for bytes in [&b"[]"[..], b"{", b"{}", &vec![b' '; MAX_ENVELOPE_BYTES + 1]] {
        assert_eq!(code(&once(bytes, issuer().signer())), "malformed_envelope");
    }
}

#[test]
fn statements_that_break_a_rule_are_refused() {
    let good = test_result(&receipt(Verdict::Pass), None).unwrap();
    for (name, value) in [
        ("_type", Json::from("https://in-toto.io/Statement/v0.1")),
        ("subject", Json::from(Vec::new())),
        ("subject", Json::from(vec![Json::from(object! { "digest": Object::new() })])),
        ("subject", Json::from(vec![Json::from(object! { "digest": object! { "sha256": "" } })])),
        ("predicateType", Json::from("")),
        ("predicate", Json::from(1)),
    ] {
        let mut changed = good.clone();
        changed.insert(name, value);
        let text = Json::from(envelope(&changed, &issuer())).to_text();
        assert_eq!(code(&once(text.as_bytes(), issuer().signer())), "malformed_statement", "{name}");
    }
}

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

#[test]
fn a_bundle_holds_the_envelope() {
    let envelope = sign_test_result(&receipt(Verdict::Pass), None, &issuer()).unwrap();
    let bundle = bundle(&envelope, &issuer().signer());
    assert_eq!(bundle.get("dsseEnvelope"), Some(&Json::from(envelope.clone())));
    assert_eq!(text(&bundle, "mediaType"), BUNDLE);
    let material = bundle.get("verificationMaterial").and_then(Json::as_object).unwrap();
    // Of the seed 32 x 01, as `securesystemslib` derives it.
    let hint = "7ab6b86cb2c9684b0ddc10896153aa2595decf4d4327a5ff1a8ab7422c828b12";
    assert_eq!(material.get("publicKey"), Some(&Json::from(object! { "hint": hint })));
    assert!(claimed_by(&bundle) && claimed_by(&envelope) && !claimed_by(&object! { "mediaType": BUNDLE }));
    let mut other = bundle.clone();
    assert!(once(Json::from(bundle).to_text().as_bytes(), issuer().signer()).is_ok());
    other.insert("mediaType", "text/plain");
    assert_eq!(code(&once(Json::from(other).to_text().as_bytes(), issuer().signer())), "malformed_envelope");
    // An envelope holds no other one: who reads only envelopes would read the outer one.
    let mut both = envelope.clone();
    both.insert("payload", "e30=");
    both.insert("mediaType", BUNDLE);
    both.insert("dsseEnvelope", envelope);
    assert_eq!(code(&once(Json::from(both).to_text().as_bytes(), issuer().signer())), "signature_mismatch");
}
