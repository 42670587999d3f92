//! A quorum counted again by its reader: every code, and what does not matter.

use std::num::NonZeroUsize;

use proofmark_quorum::{
    AgreeOn, Bundle, BundleError, Judgment, QuorumDemand, QuorumStatus, Recount, Reviewers, recount,
};
use proofmark_receipt::{Answer, Draft, Receipt, Results, Sha256Digest, Status, Verdict};

use crate::samples::{
    FAIL, PASS, approving, composed, id, key, members, minutes, opinion, review, signed, three, verification, within,
};

/// A reviewers file: each operator, and the seeds of its keys.
fn file(operators: &[(&str, &[u8])]) -> Reviewers {
    let lines = operators.iter().flat_map(|(operator, seeds)| {
        seeds.iter().map(move |seed| format!("reviewer {operator} {}\n", key(*seed).signer()))
    });
    Reviewers::parse(lines.collect::<String>().as_bytes()).unwrap()
}

fn demanded(receipt: &Receipt, members: &[Receipt], of: &Reviewers, at_least: usize, complete: bool) -> Recount {
    let demand =
        QuorumDemand { of, at_least: NonZeroUsize::new(at_least).unwrap(), complete, dated: QuorumDemand::ANY_TIME };
    recount(receipt, members, Some(&demand), &minutes(2))
}

/// The answer, the status of the quorum, and the code.
fn told(recount: &Recount) -> (&'static str, &'static str, &'static str) {
    let code = recount.error.as_ref().map_or("", |error| error.code());
    (recount.answer.as_str(), recount.quorum.as_str(), code)
}

fn plain(receipt: &Receipt, members: &[Receipt]) -> (&'static str, &'static str, &'static str) {
    told(&recount(receipt, members, None, &minutes(2)))
}

type Change = fn(&mut Draft);

/// A quorum of three, after this change to its draft, with its members.
fn changed(change: Change) -> (Receipt, Vec<Receipt>) {
    let mut draft = composed(&three(), 2, AgreeOn::Outcomes);
    change(&mut draft);
    (draft.sign(&key(1)).unwrap(), three())
}

#[test]
fn a_quorum_without_a_demand_is_valid_and_unknown() {
    let receipt = signed(&three(), 2, AgreeOn::Outcomes);
    let recount = recount(&receipt, &three(), None, &minutes(2));
    assert_eq!(told(&recount), ("valid", "unknown", ""));
    assert_eq!(recount.composer, Some(key(1).signer()));
    assert_eq!(recount.stated.unwrap().tally().to_string(), "2 pass, 1 fail, 0 no answer");
}

#[test]
fn operators_count_and_not_keys() {
    let members = members(&[PASS, PASS, PASS, FAIL]);
    let receipt = signed(&members, 3, AgreeOn::Verdict);
    let apart = file(&[("a", &[11]), ("b", &[12]), ("c", &[13])]);
    let recount = demanded(&receipt, &members, &apart, 3, true);
    assert_eq!((told(&recount), recount.operators.len()), (("valid", "met", ""), 3));
    // Two keys of one operator.
    let shared = file(&[("a", &[11, 12]), ("c", &[13])]);
    assert_eq!(told(&demanded(&receipt, &members, &shared, 2, true)), ("valid", "met", ""));
    let recount = demanded(&receipt, &members, &shared, 3, false);
    assert_eq!(told(&recount), ("valid", "not_met", "quorum_not_met"));
    assert_eq!(recount.operators, ["a", "c"]);
    // Who disagrees does not count, nor does a stranger.
    let others = file(&[("a", &[11]), ("d", &[14]), ("e", &[15])]);
    assert_eq!(demanded(&receipt, &members, &others, 2, false).operators, ["a"]);
}

#[test]
fn every_operator_is_among_the_reviews_of_a_complete_quorum() {
    let receipt = signed(&three(), 2, AgreeOn::Outcomes);
    // The third one disagrees, and is there.
    let all = file(&[("a", &[11]), ("b", &[12]), ("c", &[13])]);
    assert_eq!(told(&demanded(&receipt, &three(), &all, 2, true)), ("valid", "met", ""));
    let more = file(&[("a", &[11]), ("b", &[12]), ("left-out", &[14])]);
    assert_eq!(told(&demanded(&receipt, &three(), &more, 2, false)), ("valid", "met", ""));
    let recount = demanded(&receipt, &three(), &more, 2, true);
    assert_eq!(told(&recount), ("valid", "not_met", "quorum_incomplete"));
    assert!(recount.error.unwrap().to_string().contains("`left-out`"));
    // One of an operator's keys suffices.
    let two_keys = file(&[("a", &[11, 21]), ("b", &[12])]);
    assert_eq!(told(&demanded(&receipt, &three(), &two_keys, 2, true)), ("valid", "met", ""));
}

#[test]
fn operators_may_agree_that_work_is_bad_and_never_on_an_error() {
    let bad = members(&[FAIL, FAIL, PASS]);
    let all = file(&[("a", &[11]), ("b", &[12]), ("c", &[13])]);
    let receipt = signed(&bad, 2, AgreeOn::Outcomes);
    let recount = demanded(&receipt, &bad, &all, 2, false);
    assert_eq!((told(&recount), receipt.verdict()), (("valid", "met", ""), Verdict::Fail));
    let split = members(&[FAIL, PASS]);
    let receipt = signed(&split, 2, AgreeOn::Outcomes);
    let recount = demanded(&receipt, &split, &all, 1, false);
    assert_eq!((told(&recount), receipt.verdict()), (("valid", "not_met", "quorum_not_met"), Verdict::Error));
}

#[test]
fn a_missing_member_leaves_the_quorum_unknown() {
    let receipt = signed(&three(), 2, AgreeOn::Outcomes);
    let all = file(&[("a", &[11]), ("b", &[12]), ("c", &[13])]);
    for left_out in 0..3 {
        let mut members = three();
        let id = members.remove(left_out).receipt_id();
        let recount = demanded(&receipt, &members, &all, 1, false);
        assert_eq!(told(&recount), ("valid", "unknown", "member_missing"));
        assert!(recount.error.unwrap().to_string().contains(&id.to_string()));
    }
}

#[test]
fn a_member_is_as_listed() {
    let receipt = signed(&three(), 2, AgreeOn::Outcomes);
    // Another receipt with the same id by the same signer.
    let mut members = three();
    members[0] = verification("a", FAIL).sign(&key(11)).unwrap();
    let recount = recount(&receipt, &members, None, &minutes(2));
    assert_eq!(told(&recount), ("invalid", "unknown", "member_mismatch"));
    assert!(recount.error.unwrap().to_string().contains("`hash`"));
    // A changed copy beside the member does not spoil it, and neither do other receipts.
    let more = [members[0].clone(), verification("x", FAIL).sign(&key(19)).unwrap()];
    let more: Vec<Receipt> = more.into_iter().chain(three()).collect();
    assert_eq!(plain(&receipt, &more), ("valid", "unknown", ""));
}

/// Each change is a lie of the composer about a member, whose hash is right.
#[test]
fn a_composer_cannot_lie_about_a_member() {
    let lies: [(&str, Change); 7] = [
        ("signer", |draft| drop(review(draft, 0).insert("signer", key(99).signer().to_string()))),
        ("verdict", |draft| {
            let place =
                (0..3).find(|place| review(draft, *place).get("verdict").unwrap().as_str() == Some("fail")).unwrap();
            review(draft, place).insert("verdict", "partial");
        }),
        ("tier", |draft| drop(review(draft, 0).insert("tier", 1))),
        ("outcomes", |draft| {
            let other = Sha256Digest::of(b"other").to_string();
            review(draft, 0).insert("outcomes", other);
        }),
        ("hashes.output", |draft| draft.hashes.output = Sha256Digest::of(b"other")),
        ("hashes.specification", |draft| draft.hashes.specification = Sha256Digest::of(b"other")),
        ("metadata.challenge", |draft| drop(within(draft, "quorum").insert("challenge", "c4".repeat(32)))),
    ];
    for (field, lie) in lies {
        let (receipt, members) = changed(lie);
        let recount = recount(&receipt, &members, None, &minutes(2));
        assert_eq!(told(&recount), ("invalid", "unknown", "member_mismatch"), "{field}");
        assert!(recount.error.as_ref().unwrap().to_string().contains(&format!("`{field}`")), "{:?}", recount.error);
    }
    for tests in [None, Some(Sha256Digest::of(b"other"))] {
        let mut draft = composed(&three(), 2, AgreeOn::Outcomes);
        draft.hashes.tests = tests;
        let recount = recount(&draft.sign(&key(1)).unwrap(), &three(), None, &minutes(2));
        assert!(recount.error.as_ref().unwrap().to_string().contains("`hashes.tests`"), "{:?}", recount.error);
        assert_eq!(told(&recount), ("invalid", "unknown", "member_mismatch"));
    }
}

/// The place of the review with this id, and its hash as of another receipt.
fn list_instead(draft: &mut Draft, member: &Receipt) {
    let place = (0..3).find(|place| {
        review(draft, *place).get("receipt_id").unwrap().as_str() == Some(&member.receipt_id().to_string())
    });
    review(draft, place.unwrap()).insert("hash", member.hash().to_string());
    let Some(proofmark_receipt::Json::Array(reviews)) = within(draft, "quorum").get_mut("reviews") else { panic!() };
    reviews.sort_by_key(|review| review.as_object().unwrap().get("hash").unwrap().as_str().unwrap().to_owned());
}

#[test]
fn a_member_that_does_not_verify_is_invalid() {
    // The composer lists a changed receipt by its own hash.
    let text = three()[0].to_text().replace("\"structural\":true", "\"structural\":false");
    let changed = Receipt::parse(text.as_bytes()).unwrap();
    let mut draft = composed(&three(), 2, AgreeOn::Outcomes);
    list_instead(&mut draft, &changed);
    let receipt = draft.sign(&key(1)).unwrap();
    let mut members = three();
    members[0] = changed;
    let recount = recount(&receipt, &members, None, &minutes(2));
    assert_eq!(told(&recount), ("invalid", "unknown", "member_invalid"));
    assert!(recount.error.unwrap().to_string().contains(&id("a").to_string()));
}

#[test]
fn a_receipt_of_tier_3_has_to_be_a_judgment() {
    let judgments: Vec<Receipt> = [("a", 11), ("b", 12), ("c", 13)]
        .map(|(name, seed)| Draft { receipt_id: id(name), ..approving(opinion()) }.sign(&key(seed)).unwrap())
        .into();
    let mut draft = composed(&judgments, 2, AgreeOn::Verdict);
    // The same, marked as an approval of an action.
    let mut approval = Draft { receipt_id: id("a"), ..approving(opinion()) };
    approval.metadata.insert("approval", proofmark_receipt::Object::new());
    let approval = approval.sign(&key(11)).unwrap();
    list_instead(&mut draft, &approval);
    let mut members = judgments;
    members[0] = approval;
    assert_eq!(plain(&draft.sign(&key(1)).unwrap(), &members), ("invalid", "unknown", "member_invalid"));
}

#[test]
fn a_verdict_that_the_reviews_do_not_come_to_is_miscounted() {
    let say = |verdict, status| {
        let mut draft = composed(&three(), 2, AgreeOn::Outcomes);
        draft.verdict = verdict;
        let mut details = draft.results.details.clone();
        details[0].status = status;
        draft.results = Results::from_details(details);
        if verdict == Verdict::Error {
            draft.metadata.insert("fault", "verifier");
        }
        draft.sign(&key(1)).unwrap()
    };
    for receipt in [say(Verdict::Fail, Status::Fail), say(Verdict::Error, Status::Error)] {
        assert_eq!(plain(&receipt, &three()), ("invalid", "unknown", "quorum_miscounted"));
        // It needs no member to see that.
        assert_eq!(plain(&receipt, &[]), ("invalid", "unknown", "quorum_miscounted"));
    }
    assert_eq!(plain(&say(Verdict::Pass, Status::Pass), &three()), ("valid", "unknown", ""));
}

#[test]
fn a_receipt_that_does_not_verify_has_the_answer_of_its_signature() {
    let receipt = signed(&three(), 2, AgreeOn::Outcomes);
    let changed = Receipt::parse(receipt.to_text().replace("2 of 3", "1 of 3").as_bytes()).unwrap();
    assert_eq!(plain(&changed, &three()), ("invalid", "unknown", "content_hash_mismatch"));
    let unsigned = composed(&three(), 2, AgreeOn::Outcomes).unsigned().unwrap();
    assert_eq!(plain(&unsigned, &three()), ("undecidable", "unknown", "unsigned"));
}

#[test]
fn an_expired_judgment_does_not_count_for_a_demand() {
    let judgment = |name: &str, seed, expires_at| {
        Draft { receipt_id: id(name), ..approving(Judgment { expires_at, ..opinion() }) }.sign(&key(seed)).unwrap()
    };
    let members = [judgment("a", 11, None), judgment("b", 12, Some(minutes(60)))];
    let receipt = signed(&members, 2, AgreeOn::Verdict);
    let of = file(&[("a", &[11]), ("b", &[12])]);
    let demand = QuorumDemand {
        of: &of,
        at_least: NonZeroUsize::new(2).unwrap(),
        complete: true,
        dated: QuorumDemand::ANY_TIME,
    };
    assert_eq!(recount(&receipt, &members, Some(&demand), &minutes(59)).quorum, QuorumStatus::Met);
    let later = recount(&receipt, &members, Some(&demand), &minutes(60));
    assert_eq!((told(&later), later.answer), (("valid", "not_met", "quorum_not_met"), Answer::Valid));
}

#[test]
fn a_quorum_travels_as_one_file() {
    let bundle = Bundle { receipt: signed(&three(), 2, AgreeOn::Outcomes), members: three() };
    let text = bundle.to_text();
    assert_eq!(text.lines().count(), 4);
    assert_eq!(Bundle::parse(text.as_bytes()), Ok(bundle.clone()));
    assert_eq!(Bundle::parse(text.trim_end().as_bytes()), Ok(bundle.clone()));
    assert_eq!(plain(&bundle.receipt, &bundle.members), ("valid", "unknown", ""));
    assert_eq!(Bundle::parse(b""), Err(BundleError::Empty));
    assert_eq!(Bundle::parse(b"\n"), Err(BundleError::Empty));
    let bad = Bundle::parse(format!("{text}\n").as_bytes()).unwrap_err();
    assert!(matches!(bad, BundleError::Line { line: 5, .. }) && bad.to_string().starts_with("line 5: "), "{bad}");
    let line = text.lines().next().unwrap();
    let lines = |count: usize| format!("{line}\n").repeat(count);
    assert!(Bundle::parse(lines(65).as_bytes()).is_ok());
    assert_eq!(Bundle::parse(lines(66).as_bytes()), Err(BundleError::TooMany));
}
