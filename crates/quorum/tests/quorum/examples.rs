//! The two examples of the proposal for tiers 2 and 3. It elides the hashes and the signers of the quorum's members, so that
//! their values are those of members made here, with the ids, keys and checks that the example's digests were made of.

use proofmark_quorum::{AgreeOn, Judgment, Quorum, QuorumStatus, Reference, outcomes, recount};
use proofmark_receipt::{
    Draft, Json, Object, Profile, Receipt, Sha256Digest, SignatureStatus, Status, Verdict, object, verify_receipt,
};

use crate::samples::{
    FAIL, PASS, approving, composed, criterion, hashes, id, judged, key, minutes, opinion, review, verification,
};

const PASSED: &str = "sha256:e03834afb7ddca36d61584398ae7b68b866343fe70c1a2523be67cb778e40ccd";
const FAILED: &str = "sha256:799803c7b3264a6052f4ecc7b22828b583d357c102a35ec19dba868044a967a0";
const FIRST: &str = "sha256:31c9bc7edb991eb3740b05d1ce328ccb6b5865f381f58b5ad852adf17e6789b5";
const SHOWN: &str = "sha256:22ca393378035528bbc9628cbf68db0fcaa0de1f4d0b76df5bb247e5b27e7ae4";

/// The members of the example: its ids are those of `a`, `b` and `c`.
fn members() -> Vec<Receipt> {
    let member = |name, statuses, seed| verification(name, statuses).sign(&key(seed)).unwrap();
    vec![member("a", PASS, 11), member("c", FAIL, 13), member("b", PASS, 12)]
}

fn parsed(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn document(draft: Draft) -> Object {
    draft.unsigned().unwrap().document().as_object().unwrap().clone()
}

#[test]
fn the_outcomes_are_those_of_the_example() {
    let digests: Vec<String> = members().iter().map(|member| outcomes(member).to_string()).collect();
    assert_eq!(digests, [PASSED, FAILED, PASSED]);
}

#[test]
fn the_quorum_is_that_of_the_example() {
    let members = members();
    let draft = composed(&members, 2, AgreeOn::Outcomes);
    let found = document(draft.clone());
    assert_eq!((found.get("tier"), found.get("verdict")), (Some(&Json::from(2)), Some(&Json::from("pass"))));
    let results = parsed(
        r#"{"total": 1, "passed": 1, "failed": 0, "errors": 0, "details": [
        {"name": "quorum", "status": "pass", "expected": "2 of 3 agree", "actual": "2 pass, 1 fail, 0 no answer"}]}"#,
    );
    assert_eq!(found.get("results"), Some(&results));
    let listed = [
        (
            "ca978112-ca1b-4dca-bac2-31b39a23dc4d",
            "MCowBQYDK2VwAyEAZr5+Myx6RTMyvZ0Kf32wVfXF7xoGraZtmLOftoEMRzo=",
            "pass",
            PASSED,
        ),
        (
            "2e7d2c03-a950-4ae2-a5ec-f5b5356885a5",
            "MCowBQYDK2VwAyEAkaKKC3Q4FZOk2UaVeSCJJq/IrYLIg5t2RDWbnrqaSzo=",
            "fail",
            FAILED,
        ),
        (
            "3e23e816-0039-494a-b389-4f6564e1b134",
            "MCowBQYDK2VwAyEAC1E62bSSQBXKCQLtB5BE06xdvsIwbwaUjBDajrbjny0=",
            "pass",
            PASSED,
        ),
    ];
    let mut reviews: Vec<(String, Json)> = listed
        .into_iter()
        .zip(&members)
        .map(|((receipt_id, signer, verdict, outcomes), member)| {
            let hash = member.hash().to_string();
            let review = object! {
                "receipt_id": receipt_id, "hash": hash.as_str(), "signer": signer, "verdict": verdict, "tier": 0, "outcomes": outcomes,
            };
            (hash, review.into())
        })
        .collect();
    reviews.sort_by(|(one, _), (other, _)| one.cmp(other));
    let reviews: Vec<Json> = reviews.into_iter().map(|(_, review)| review).collect();
    let metadata = object! {
        "kind": "quorum",
        "structural": true,
        "quorum": object! { "format": "proofmark-quorum/1", "threshold": 2, "agree_on": "outcomes", "reviews": reviews },
    };
    assert_eq!(found.get("metadata"), Some(&metadata.into()));
    assert_eq!(draft.hashes, hashes());
}

/// The example as it is written, with elided digests filled in.
#[test]
fn the_quorum_of_the_example_is_read() {
    let mut draft = composed(&members(), 2, AgreeOn::Outcomes);
    draft.metadata.remove("kind");
    let filled = |begin: &str, end: &str| format!("sha256:{begin}{}{end}", "0".repeat(64 - begin.len() - end.len()));
    let (first, second, third) = (FIRST.to_owned(), filled("68878804", "e320fe"), filled("9e6624ef", "95f3df"));
    let written =
        [("a", 11, "pass", PASSED, first), ("c", 13, "fail", FAILED, second), ("b", 12, "pass", PASSED, third)];
    for (place, (name, seed, verdict, outcomes, hash)) in written.iter().enumerate() {
        *review(&mut draft, place) = object! {
            "receipt_id": id(name).to_string(), "hash": hash.as_str(), "signer": key(*seed).signer().to_string(),
            "verdict": *verdict, "tier": 0, "outcomes": *outcomes,
        };
    }
    let receipt = draft.sign(&key(1)).unwrap();
    let quorum = Quorum::read(&receipt).unwrap();
    assert_eq!((quorum.threshold, quorum.reviews.len(), quorum.ruling().verdict), (2, 3, Verdict::Pass));
    assert_eq!(quorum.ruling().agreeing, [0, 2]);
    let recount = recount(&receipt, &[], None, &minutes(2));
    assert_eq!(recount.answer.as_str(), "valid");
    assert_eq!((recount.quorum, recount.error.unwrap().code()), (QuorumStatus::Unknown, "member_missing"));
}

#[test]
fn the_judgment_is_that_of_the_example() {
    let judgment = Judgment {
        shown: Some(SHOWN.parse().unwrap()),
        on: vec![Reference { receipt_id: id("a"), hash: FIRST.parse().unwrap() }],
        expires_at: Some("2026-04-01T01:00:00.000Z".parse().unwrap()),
        ..opinion()
    };
    let draft =
        judgment.clone().draft(judged(vec![criterion("meets the brief", Status::Pass)]), id("j"), minutes(0)).unwrap();
    let mut found = document(draft.clone());
    let example = parsed(
        r#"{"tier": 3, "verdict": "pass", "task": {"task_id": "order-1", "task_type": "judgment"},
        "results": {"total": 1, "passed": 1, "failed": 0, "errors": 0, "details": [
          {"name": "meets the brief", "status": "pass", "message": "Reads well; the edge cases are covered."}]},
        "metadata": {"structural": false, "judgment": {"format": "proofmark-judgment/1", "role": "maintainer",
          "statement": "Reads well; the edge cases are covered.", "shown": "sha256:22ca393378035528bbc9628cbf68db0fcaa0de1f4d0b76df5bb247e5b27e7ae4",
          "on": [{"receipt_id": "ca978112-ca1b-4dca-bac2-31b39a23dc4d", "hash": "sha256:31c9bc7edb991eb3740b05d1ce328ccb6b5865f381f58b5ad852adf17e6789b5"}],
          "expires_at": "2026-04-01T01:00:00.000Z"}}}"#,
    );
    let Some(Json::Object(metadata)) = found.get_mut("metadata") else { panic!("no metadata") };
    assert_eq!(metadata.remove("kind"), Some(Json::from("judgment")));
    for (name, value) in example.as_object().unwrap().iter() {
        assert_eq!(found.get(name), Some(value), "{name}");
    }
    assert_eq!(Judgment::read(&draft.sign(&key(31)).unwrap()), Ok(judgment));
}

/// Readers that know nothing of tiers 2 and 3.
#[test]
fn readers_of_vrf_accept_both() {
    let receipts = [composed(&members(), 2, AgreeOn::Outcomes), approving(opinion())];
    for receipt in receipts.map(|draft| draft.sign(&key(1)).unwrap()) {
        let read = Receipt::parse(receipt.to_text().as_bytes()).unwrap();
        for profile in [Profile::Vrf, Profile::Jcs, Profile::PyUtf8] {
            assert_eq!(verify_receipt(&read, profile, &[]).answer, SignatureStatus::Valid, "{profile}");
        }
        assert_eq!(read.hash(), Sha256Digest::of(&receipt.document().canonical_vrf()));
    }
}
