//! What can be composed, and what cannot.

use proofmark_quorum::{
    AgreeOn, ChainRecord, Challenge, ComposeError, Composition, Judgment, MAX_REVIEWS, Member, Quorum,
};
use proofmark_receipt::{ChainHead, ChainTip, Draft, Receipt, Sha256Digest, SigningKey, Verdict};

use crate::samples::{
    ERROR, FAIL, PARTIAL, PASS, approving, composed, hashes, id, key, listed, members, minutes, opinion, signed, three,
    verification,
};

fn refused(receipts: &[Receipt], threshold: usize) -> ComposeError {
    let members = listed(receipts);
    let composition = Composition { members: &members, threshold, agree_on: AgreeOn::Verdict, challenge: None };
    let error = composition.draft(id("quorum"), minutes(1)).unwrap_err();
    assert!(error.to_string().starts_with("compose the quorum: "), "{error}");
    error
}

/// Three members, the last of which is this one.
fn with(last: Receipt) -> Vec<Receipt> {
    members(&[PASS, PASS]).into_iter().chain([last]).collect()
}

#[test]
fn the_rule_counts_votes() {
    use Verdict::{Error, Fail, Pass};
    for (statuses, threshold, by_verdict, by_outcomes) in [
        (vec![PASS, PASS], 2, Pass, Pass),
        (vec![PASS, FAIL], 2, Error, Error),
        (vec![PASS, PASS, FAIL], 2, Pass, Pass),
        (vec![PASS, PASS, FAIL], 3, Error, Error),
        (vec![FAIL, PARTIAL, PASS], 2, Fail, Error),
        (vec![PARTIAL, PARTIAL, PASS], 2, Fail, Fail),
        (vec![PASS, ERROR, ERROR], 2, Error, Error),
        (vec![PASS, PASS, ERROR], 2, Pass, Pass),
    ] {
        let members = members(&statuses);
        for (agree_on, verdict) in [(AgreeOn::Verdict, by_verdict), (AgreeOn::Outcomes, by_outcomes)] {
            assert_eq!(composed(&members, threshold, agree_on).verdict, verdict, "{statuses:?} {agree_on:?}");
        }
    }
}

#[test]
fn the_size_and_the_threshold_have_bounds() {
    assert_eq!(refused(&members(&[PASS]), 1), ComposeError::Size(1));
    assert_eq!(refused(&[], 0), ComposeError::Size(0));
    assert_eq!(refused(&members(&[PASS; MAX_REVIEWS + 1]), 40), ComposeError::Size(65));
    for (threshold, reviews) in [(1, 2), (3, 2), (1, 3), (0, 3), (4, 3), (2, 4)] {
        let error = refused(&members(&vec![PASS; reviews]), threshold);
        assert_eq!(error, ComposeError::Threshold { threshold, reviews });
        assert!(error.help().is_some());
    }
    assert_eq!(composed(&members(&[PASS; MAX_REVIEWS]), 33, AgreeOn::Verdict).verdict, Verdict::Pass);
}

#[test]
fn a_member_has_a_valid_signature() {
    let unsigned = verification("x", PASS).unsigned().unwrap();
    assert!(
        matches!(refused(&with(unsigned), 2), ComposeError::NotValid { status, .. } if status.code() == Some("unsigned"))
    );
    let text = verification("x", PASS).sign(&key(19)).unwrap().to_text().replace("\"one\"", "\"eno\"");
    let changed = Receipt::parse(text.as_bytes()).unwrap();
    assert!(
        matches!(refused(&with(changed), 2), ComposeError::NotValid { status, .. } if status.code() == Some("content_hash_mismatch"))
    );
}

#[test]
fn a_quorum_of_quorums_and_an_approval_are_refused() {
    let mut inner = composed(&three(), 2, AgreeOn::Verdict);
    inner.receipt_id = id("x");
    assert_eq!(refused(&with(inner.sign(&key(19)).unwrap()), 2), ComposeError::Quorum(id("x")));
    // A receipt of tier 3, but not a judgment.
    let other = Draft { tier: 3, ..verification("x", PASS) }.sign(&key(19)).unwrap();
    assert!(
        matches!(refused(&with(other), 2), ComposeError::Judgment { error, .. } if error.code() == "malformed_judgment")
    );
    let expired = Judgment { expires_at: Some(minutes(1)), ..opinion() };
    let expired = approving(expired).sign(&key(19)).unwrap();
    assert!(matches!(refused(&with(expired), 2), ComposeError::Judgment { error, .. } if error.code() == "expired"));
}

#[test]
fn nobody_counts_twice() {
    let members = three();
    assert_eq!(refused(&with(members[0].clone()), 2), ComposeError::ReceiptTwice(id("a")));
    let second = verification("x", PASS).sign(&key(11)).unwrap();
    assert_eq!(refused(&with(second), 2), ComposeError::SignerTwice(key(11).signer()));
    let renamed = verification("a", FAIL).sign(&key(19)).unwrap();
    assert_eq!(refused(&with(renamed), 2), ComposeError::ReceiptTwice(id("a")));
}

#[test]
fn members_are_of_the_same_work() {
    let change = |change: fn(&mut Draft)| {
        let mut draft = verification("x", PASS);
        change(&mut draft);
        with(draft.sign(&key(19)).unwrap())
    };
    let other = |draft: &mut Draft| draft.hashes.output = Sha256Digest::of(b"other");
    assert_eq!(refused(&change(other), 2), ComposeError::OtherWork(id("x"), "hashes.output"));
    let other = |draft: &mut Draft| draft.hashes.specification = Sha256Digest::of(b"other");
    assert_eq!(refused(&change(other), 2), ComposeError::OtherWork(id("x"), "hashes.specification"));
    let other = change(|draft| draft.hashes.tests = Some(Sha256Digest::of(b"other")));
    assert_eq!(composed(&other, 2, AgreeOn::Verdict).hashes.tests, None);
    let none = change(|draft| draft.hashes.tests = None);
    assert_eq!(composed(&none, 2, AgreeOn::Verdict).hashes.tests, None);
    assert_eq!(composed(&three(), 2, AgreeOn::Verdict).hashes, hashes());
}

#[test]
fn people_and_programs_may_agree() {
    let person = approving(opinion()).sign(&key(31)).unwrap();
    let draft = composed(&with(person), 3, AgreeOn::Verdict);
    assert_eq!(draft.metadata.get("structural").and_then(|it| it.as_bool()), Some(false));
    assert_eq!((draft.verdict, draft.tier, draft.hashes.tests), (Verdict::Pass, 2, None));
    assert!(Quorum::read(&draft.sign(&key(1)).unwrap()).is_ok());
}

#[test]
fn a_challenge_is_repeated_by_all() {
    let challenge: Challenge = "c4".repeat(32).parse().unwrap();
    assert!(
        "C4".repeat(32).parse::<Challenge>().is_err() && "c4".parse::<Challenge>().unwrap_err().help().contains("64")
    );
    let answering = |name: &str, seed: u8, challenge: &str| {
        let mut draft = verification(name, PASS);
        draft.metadata.insert("challenge", challenge);
        draft.sign(&key(seed)).unwrap()
    };
    let compose = |receipts: &[Receipt]| {
        let members = listed(receipts);
        let challenge = Some(challenge);
        Composition { members: &members, threshold: 2, agree_on: AgreeOn::Verdict, challenge }
            .draft(id("q"), minutes(1))
    };
    let one = answering("x", 18, &challenge.to_string());
    let good = compose(&[one.clone(), answering("y", 19, &challenge.to_string())]).unwrap().sign(&key(1)).unwrap();
    assert_eq!(Quorum::read(&good).unwrap().challenge, Some(challenge));
    let other = Challenge::from_random_bytes([1; 32]).to_string();
    assert_eq!(compose(&[one.clone(), answering("y", 19, &other)]), Err(ComposeError::Challenge(id("y"))));
    let none = verification("y", PASS).sign(&key(19)).unwrap();
    assert_eq!(compose(&[one, none]), Err(ComposeError::Challenge(id("y"))));
}

#[test]
fn the_record_of_a_reviewer_is_signed_by_them() {
    let members = members(&[PASS, PASS]);
    let tip = ChainTip { receipt_id: id("a"), hash: members[0].hash(), position: 4 };
    let compose = |signer: &SigningKey| {
        let head = ChainHead::sign("work", &tip, &minutes(0), signer).unwrap();
        let listed = [Member { head: Some(&head), ..listed(&members)[0] }, listed(&members)[1]];
        let composition = Composition { members: &listed, threshold: 2, agree_on: AgreeOn::Verdict, challenge: None };
        (head.clone(), composition.draft(id("q"), minutes(1)))
    };
    let (head, draft) = compose(&key(11));
    let quorum = Quorum::read(&draft.unwrap().sign(&key(1)).unwrap()).unwrap();
    let records: Vec<_> = quorum.reviews.iter().filter_map(|review| review.record).collect();
    assert_eq!(records, [ChainRecord { head: Sha256Digest::of(&head.document().canonical_vrf()), length: 5 }]);
    assert_eq!(compose(&key(12)).1, Err(ComposeError::Head(id("a"))));
}

#[test]
fn a_draft_takes_what_its_issuer_adds() {
    let mut draft = composed(&three(), 2, AgreeOn::Verdict);
    draft.metadata.insert("verifier", "proofmark/0.1.0");
    draft.link(None);
    assert!(Quorum::read(&draft.sign(&key(1)).unwrap()).is_ok());
    assert!(Quorum::is_stated(&signed(&three(), 2, AgreeOn::Verdict)) && !Quorum::is_stated(&three()[0]));
}
