//! The strict readers: what is not of the form is refused, at its place.

use proofmark_quorum::{AgreeOn, Judgment, Quorum, TierError, check_judgment, recount};
use proofmark_receipt::{Answer, Detail, Draft, Json, Object, Results, Status, Timestamp, Verdict, object};

use crate::judgment::given;
use crate::samples::{
    ERROR, FAIL, PASS, approving, composed, criterion, judged, key, members, minutes, opinion, review, three, within,
};

type Change = fn(&mut Draft);

/// Each change, and the place that the error names.
const QUORUMS: &[(&str, Change)] = &[
    ("tier", |draft| draft.tier = 1),
    ("tier", |draft| draft.tier = 3),
    ("verdict", |draft| {
        draft.verdict = Verdict::Partial;
        let details = [Status::Pass, Status::Fail].map(|status| Detail::new("quorum", status));
        draft.results = Results::from_details(details.into());
    }),
    ("metadata.quorum", |draft| drop(draft.metadata.remove("quorum"))),
    ("metadata.quorum", |draft| drop(draft.metadata.insert("quorum", "2 of 3"))),
    ("metadata.kind", |draft| drop(draft.metadata.insert("kind", "verification"))),
    ("metadata.approval", |draft| drop(draft.metadata.insert("approval", Object::new()))),
    ("metadata.judgment", |draft| drop(draft.metadata.insert("judgment", Object::new()))),
    ("metadata.structural", |draft| drop(draft.metadata.remove("structural"))),
    ("metadata.structural", |draft| drop(draft.metadata.insert("structural", false))),
    ("metadata.fault", |draft| drop(draft.metadata.insert("fault", "verifier"))),
    ("results", |draft| draft.results.details.push(Detail::new("quorum", Status::Pass))),
    ("results", |draft| draft.results = Results::from_details(vec![Detail::new("quorum", Status::Pass); 2])),
    ("results.details[0]", |draft| draft.results.details.clear()),
    ("results.details[0]", |draft| draft.results.details[0].name = "Quorum".to_owned()),
    ("results.details[0]", |draft| draft.results.details[0].expected = Some("1 of 3 agree".to_owned())),
    ("results.details[0]", |draft| draft.results.details[0].actual = Some("3 pass, 0 fail, 0 no answer".to_owned())),
    ("metadata.quorum.format", |draft| set(draft, "format", "proofmark-quorum/2")),
    ("metadata.quorum.format", |draft| drop(within(draft, "quorum").remove("format"))),
    ("metadata.quorum.score", |draft| set(draft, "score", 5)),
    ("metadata.quorum.threshold", |draft| set(draft, "threshold", 1)),
    ("metadata.quorum.threshold", |draft| set(draft, "threshold", 4)),
    ("metadata.quorum.threshold", |draft| set(draft, "threshold", "2")),
    ("metadata.quorum.threshold", |draft| drop(within(draft, "quorum").remove("threshold"))),
    ("metadata.quorum.agree_on", |draft| set(draft, "agree_on", "score")),
    ("metadata.quorum.reviews[0].outcomes", |draft| set(draft, "agree_on", "verdict")),
    ("metadata.quorum.challenge", |draft| set(draft, "challenge", "ab")),
    ("metadata.quorum.challenge", |draft| set(draft, "challenge", "AB".repeat(32))),
    ("metadata.quorum.reviews", |draft| set(draft, "reviews", Vec::new())),
    ("metadata.quorum.reviews", |draft| resize(draft, 1)),
    ("metadata.quorum.reviews", |draft| resize(draft, 65)),
    ("metadata.quorum.reviews[1]", |draft| reviews(draft).reverse()),
    ("metadata.quorum.reviews[1]", |draft| {
        let hash = review(draft, 0).get("hash").cloned().unwrap();
        review(draft, 1).insert("hash", hash);
    }),
    ("metadata.quorum.reviews[2].receipt_id", |draft| repeat(draft, "receipt_id")),
    ("metadata.quorum.reviews[2].signer", |draft| repeat(draft, "signer")),
    ("metadata.quorum.reviews[0].receipt_id", |draft| drop(review(draft, 0).insert("receipt_id", "1"))),
    ("metadata.quorum.reviews[0].hash", |draft| drop(review(draft, 0).insert("hash", "sha256:00"))),
    ("metadata.quorum.reviews[0].signer", |draft| {
        drop(review(draft, 0).insert("signer", "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"))
    }),
    ("metadata.quorum.reviews[0].signer", |draft| drop(review(draft, 0).insert("signer", key(9).signer().did_key()))),
    ("metadata.quorum.reviews[0].verdict", |draft| drop(review(draft, 0).insert("verdict", "passed"))),
    ("metadata.quorum.reviews[0].tier", |draft| drop(review(draft, 0).insert("tier", 2))),
    ("metadata.quorum.reviews[0].tier", |draft| drop(review(draft, 0).insert("tier", "0"))),
    ("metadata.quorum.reviews[0].outcomes", |draft| drop(review(draft, 0).remove("outcomes"))),
    ("metadata.quorum.reviews[0].head", |draft| {
        let hash = review(draft, 0).get("hash").cloned().unwrap();
        drop(review(draft, 0).insert("head", hash));
    }),
    ("metadata.quorum.reviews[0].length", |draft| drop(review(draft, 0).insert("length", 3))),
    ("metadata.quorum.reviews[0].score", |draft| drop(review(draft, 0).insert("score", 100))),
];

fn set(draft: &mut Draft, name: &str, value: impl Into<Json>) {
    within(draft, "quorum").insert(name, value);
}

fn reviews(draft: &mut Draft) -> &mut Vec<Json> {
    match within(draft, "quorum").get_mut("reviews") {
        Some(Json::Array(reviews)) => reviews,
        other => panic!("{other:?}"),
    }
}

fn resize(draft: &mut Draft, size: usize) {
    let first = reviews(draft)[0].clone();
    reviews(draft).resize(size, first);
}

/// Gives the last review this member of the first.
fn repeat(draft: &mut Draft, name: &str) {
    let value = review(draft, 0).get(name).cloned().unwrap();
    review(draft, 2).insert(name, value);
}

#[test]
fn a_quorum_of_another_form_is_undecidable() {
    for (number, (place, change)) in QUORUMS.iter().enumerate() {
        let mut draft = composed(&three(), 2, AgreeOn::Outcomes);
        assert!(Quorum::read(&draft.clone().unsigned().unwrap()).is_ok());
        change(&mut draft);
        let receipt = match draft.sign(&key(1)) {
            Ok(receipt) => receipt,
            // The reader of receipts refuses it, too.
            Err(error) => {
                assert_eq!(*place, "results", "{number}: {error}");
                continue;
            }
        };
        let recount = recount(&receipt, &three(), None, &minutes(2));
        let error = recount.error.unwrap_or_else(|| panic!("{number}: {place} is accepted"));
        assert_eq!((error.code(), recount.answer), ("malformed_quorum", Answer::Undecidable), "{number}: {place}");
        assert!(error.to_string().contains(&format!("`{place}`")), "{number}: {error}, expected {place}");
    }
}

#[test]
fn an_undecided_quorum_says_whose_fault_it_is() {
    let members = members(&[PASS, FAIL, ERROR]);
    let draft = composed(&members, 2, AgreeOn::Verdict);
    assert_eq!((draft.verdict, draft.results.errors), (Verdict::Error, 1));
    assert_eq!(draft.metadata.get("fault"), Some(&Json::from("verifier")));
    assert!(Quorum::read(&draft.clone().sign(&key(1)).unwrap()).is_ok());
    for fault in [None, Some("submission")] {
        let mut draft = draft.clone();
        draft.metadata.remove("fault");
        fault.map(|fault| draft.metadata.insert("fault", fault));
        let error = Quorum::read(&draft.sign(&key(1)).unwrap()).unwrap_err();
        assert!(
            matches!(&error, TierError::MalformedQuorum(_)) && error.to_string().contains("`metadata.fault`"),
            "{error}"
        );
    }
}

const JUDGMENTS: &[(&str, Change)] = &[
    ("tier", |draft| draft.tier = 2),
    ("task.task_type", |draft| draft.task = None),
    ("task.task_type", |draft| draft.task.as_mut().unwrap().task_type = Some("approval".to_owned())),
    ("metadata.approval", |draft| drop(draft.metadata.insert("approval", Object::new()))),
    ("metadata.judgment", |draft| drop(draft.metadata.remove("judgment"))),
    ("metadata.kind", |draft| drop(draft.metadata.insert("kind", "approval"))),
    ("metadata.quorum", |draft| drop(draft.metadata.insert("quorum", Object::new()))),
    ("metadata.structural", |draft| drop(draft.metadata.insert("structural", true))),
    ("metadata.structural", |draft| drop(draft.metadata.remove("structural"))),
    ("metadata.fault", |draft| drop(draft.metadata.insert("fault", "verifier"))),
    ("hashes.tests", |draft| draft.hashes.tests = Some(draft.hashes.output)),
    ("results.details", |draft| draft.results.details.clear()),
    ("results.details", |draft| draft.results.details[0].message = None),
    ("verdict", |draft| draft.verdict = Verdict::Fail),
    ("metadata.judgment.format", |draft| state(draft, "format", "proofmark-judgment/2")),
    ("metadata.judgment.role", |draft| state(draft, "role", "")),
    ("metadata.judgment.role", |draft| drop(within(draft, "judgment").remove("role"))),
    ("metadata.judgment.statement", |draft| state(draft, "statement", "")),
    ("metadata.judgment.statement", |draft| state(draft, "statement", "ä".repeat(2_049))),
    ("metadata.judgment.statement", |draft| state(draft, "statement", 5)),
    ("metadata.judgment.shown", |draft| state(draft, "shown", "the page")),
    ("metadata.judgment.expires_at", |draft| state(draft, "expires_at", "tomorrow")),
    ("metadata.judgment.score", |draft| state(draft, "score", 5)),
    ("metadata.judgment.on", |draft| state(draft, "on", "a")),
    ("metadata.judgment.on[0].hash", |draft| {
        let id = draft.receipt_id.to_string();
        state(draft, "on", vec![Json::from(object! { "receipt_id": id })]);
    }),
    ("metadata.judgment.on[1]", |draft| on(draft, 2)),
    ("metadata.judgment.on", |draft| on(draft, 65)),
];

fn state(draft: &mut Draft, name: &str, value: impl Into<Json>) {
    within(draft, "judgment").insert(name, value);
}

/// Copies of one receipt.
fn on(draft: &mut Draft, count: usize) {
    let (id, hash) = (draft.receipt_id.to_string(), draft.hashes.output.to_string());
    state(draft, "on", vec![Json::from(object! { "receipt_id": id, "hash": hash }); count]);
}

#[test]
fn a_judgment_of_another_form_is_undecidable() {
    for (number, (place, change)) in JUDGMENTS.iter().enumerate() {
        let mut draft = approving(opinion());
        change(&mut draft);
        let check = check_judgment(&draft.sign(&key(31)).unwrap(), &given(&minutes(0)));
        let error = check.error.unwrap_or_else(|| panic!("{number}: {place} is accepted"));
        assert_eq!((error.code(), check.answer), ("malformed_judgment", Answer::Undecidable), "{number}: {place}");
        assert!(error.to_string().contains(&format!("`{place}`")), "{number}: {error}, expected {place}");
    }
}

#[test]
fn the_longest_statement_is_read() {
    let statement = "ä".repeat(2_048);
    let judgment = Judgment { statement: statement.clone(), ..opinion() };
    assert_eq!(Judgment::read(&approving(judgment).sign(&key(31)).unwrap()).unwrap().statement, statement);
}

#[test]
fn the_verdict_of_a_judgment_follows_from_its_criteria() {
    use Status::{Error, Fail, Pass};
    for (statuses, verdict) in [
        (vec![Pass, Pass], Verdict::Pass),
        (vec![Fail], Verdict::Fail),
        (vec![Pass, Fail], Verdict::Partial),
        (vec![Pass, Error], Verdict::Error),
        (vec![Error, Fail], Verdict::Error),
    ] {
        let criteria = statuses.into_iter().map(|status| criterion("meets the brief", status)).collect();
        let now: Timestamp = minutes(0);
        let draft = opinion().draft(judged(criteria), crate::samples::id("j"), now).unwrap();
        assert_eq!(draft.verdict, verdict);
        assert_eq!(draft.metadata.contains("fault"), verdict == Verdict::Error);
        assert!(Judgment::read(&draft.sign(&key(31)).unwrap()).is_ok());
    }
}
