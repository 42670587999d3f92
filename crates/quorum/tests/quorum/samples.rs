//! Receipts that tests begin with.

use proofmark_quorum::{AgreeOn, Composition, Criterion, Judged, Judgment, Member};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Status, Timestamp,
    Verdict, object,
};

/// 2026-04-01T00:00:00Z.
const MOMENT: i64 = 1_775_001_600_000;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

/// The id of the SHA-256 of a text.
pub(crate) fn id(of: &str) -> ReceiptId {
    let digest = Sha256Digest::of(of.as_bytes());
    ReceiptId::from_random_bytes(digest.as_bytes()[..16].try_into().unwrap())
}

/// So many minutes after the samples were issued.
pub(crate) fn minutes(minutes: i64) -> Timestamp {
    Timestamp::from_unix_millis(MOMENT + minutes * 60_000)
}

pub(crate) fn hashes() -> Hashes {
    let of = |text: &str| Sha256Digest::of(text.as_bytes());
    Hashes { specification: of("specification"), output: of("output"), tests: Some(of("tests")) }
}

/// A verification with the checks `one` and `two`.
pub(crate) fn verification(name: &str, statuses: [Status; 2]) -> Draft {
    let details = ["one", "two"].into_iter().zip(statuses).map(|(name, status)| Detail::new(name, status));
    let results = Results::from_details(details.collect());
    let verdict = match (results.passed, results.errors) {
        (_, 1..) => Verdict::Error,
        (2, _) => Verdict::Pass,
        (0, _) => Verdict::Fail,
        _ => Verdict::Partial,
    };
    Draft {
        receipt_id: id(name),
        verified_at: minutes(0),
        tier: 0,
        verdict,
        task: None,
        results,
        hashes: hashes(),
        metadata: object! { "structural": true },
    }
}

pub(crate) const PASS: [Status; 2] = [Status::Pass, Status::Pass];
pub(crate) const FAIL: [Status; 2] = [Status::Fail, Status::Fail];
pub(crate) const PARTIAL: [Status; 2] = [Status::Pass, Status::Fail];
pub(crate) const ERROR: [Status; 2] = [Status::Pass, Status::Error];

/// One member for each pair of statuses: by the keys of the seeds from 11 on, and with the ids of `a`, `b`, ….
pub(crate) fn members(statuses: &[[Status; 2]]) -> Vec<Receipt> {
    let names = 'a'..;
    let sign = |((name, seed), statuses): ((char, u8), &[Status; 2])| {
        verification(&name.to_string(), *statuses).sign(&key(seed)).unwrap()
    };
    names.zip(11..).zip(statuses).map(sign).collect()
}

/// Two that pass and one that fails.
pub(crate) fn three() -> Vec<Receipt> {
    members(&[PASS, PASS, FAIL])
}

pub(crate) fn listed(receipts: &[Receipt]) -> Vec<Member<'_>> {
    receipts.iter().map(|receipt| Member { receipt, head: None }).collect()
}

/// The draft of a quorum of these members.
pub(crate) fn composed(receipts: &[Receipt], threshold: usize, agree_on: AgreeOn) -> Draft {
    let members = listed(receipts);
    let composition = Composition { members: &members, threshold, agree_on, challenge: None };
    composition.draft(id("quorum"), minutes(1)).unwrap()
}

/// The same, signed by the composer.
pub(crate) fn signed(receipts: &[Receipt], threshold: usize, agree_on: AgreeOn) -> Receipt {
    composed(receipts, threshold, agree_on).sign(&key(1)).unwrap()
}

/// The member `name` of a draft's metadata, an object.
pub(crate) fn within<'a>(draft: &'a mut Draft, name: &str) -> &'a mut Object {
    object_of(draft.metadata.get_mut(name).unwrap())
}

/// The review at this place of a draft of a quorum.
pub(crate) fn review(draft: &mut Draft, place: usize) -> &mut Object {
    match within(draft, "quorum").get_mut("reviews") {
        Some(Json::Array(reviews)) => object_of(&mut reviews[place]),
        other => panic!("{other:?}"),
    }
}

fn object_of(json: &mut Json) -> &mut Object {
    match json {
        Json::Object(object) => object,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn criterion(name: &str, status: Status) -> Criterion {
    Criterion { name: name.to_owned(), status, message: "Reads well; the edge cases are covered.".to_owned() }
}

pub(crate) fn judged(criteria: Vec<Criterion>) -> Judged {
    let Hashes { specification, output, .. } = hashes();
    Judged { task_id: Some("order-1".to_owned()), specification, output, criteria }
}

pub(crate) fn opinion() -> Judgment {
    Judgment {
        role: "maintainer".to_owned(),
        statement: "Reads well; the edge cases are covered.".to_owned(),
        shown: None,
        on: Vec::new(),
        expires_at: None,
    }
}

/// The draft of a judgment that the work is good.
pub(crate) fn approving(judgment: Judgment) -> Draft {
    judgment.draft(judged(vec![criterion("meets the brief", Status::Pass)]), id("judgment"), minutes(0)).unwrap()
}
