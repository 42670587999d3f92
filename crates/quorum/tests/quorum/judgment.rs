//! A person's judgment, drafted and checked.

use proofmark_quorum::{AgreeOn, Given, Judgment, JudgmentCheck, JudgmentError, MAX_ON, Reference, check_judgment};
use proofmark_receipt::{Answer, Draft, Receipt, Sha256Digest, SignerId, Status, Timestamp, Trust};

use crate::samples::{
    FAIL, PASS, approving, criterion, id, judged, key, minutes, opinion, signed, three, verification,
};

/// A reader who knows nothing but the time.
pub(crate) fn given(now: &Timestamp) -> Given<'_> {
    Given { roles: None, issued: &[], on: &[], shown: None, now }
}

/// The key of seed 31 holds the role `maintainer`.
fn roles(role: &str) -> Vec<SignerId> {
    if role == "maintainer" { vec![key(30).signer(), key(31).signer()] } else { Vec::new() }
}

fn told(check: &JudgmentCheck) -> (&'static str, &'static str, &'static str) {
    (check.answer.as_str(), check.trust.as_str(), check.error.as_ref().map_or("", |error| error.code()))
}

fn by(seed: u8, judgment: Judgment) -> Receipt {
    approving(judgment).sign(&key(seed)).unwrap()
}

#[test]
fn a_judgment_counts_by_a_key_of_its_role() {
    let now = minutes(0);
    let check = check_judgment(&by(31, opinion()), &Given { roles: Some(&roles), ..given(&now) });
    assert_eq!(told(&check), ("valid", "trusted", ""));
    assert_eq!((check.signer, check.judgment), (Some(key(31).signer()), Some(opinion())));
    assert_eq!(told(&check_judgment(&by(31, opinion()), &given(&now))), ("valid", "unknown", ""));
    for receipt in [by(29, opinion()), by(31, Judgment { role: "owner".to_owned(), ..opinion() })] {
        let check = check_judgment(&receipt, &Given { roles: Some(&roles), ..given(&now) });
        assert_eq!(told(&check), ("valid", "untrusted", "role_not_held"));
        assert_eq!(check.answer, Answer::Valid);
    }
}

#[test]
fn the_key_of_a_program_counts_in_no_role() {
    let now = minutes(0);
    let check = |issued: &[Receipt]| {
        told(&check_judgment(&by(31, opinion()), &Given { roles: Some(&roles), issued, ..given(&now) }))
    };
    let program = verification("x", PASS).sign(&key(31)).unwrap();
    assert_eq!(check(std::slice::from_ref(&program)), ("valid", "untrusted", "role_not_held"));
    let composer = Draft { tier: 2, ..verification("x", FAIL) }.sign(&key(31)).unwrap();
    assert_eq!(check(&[composer]), ("valid", "untrusted", "role_not_held"));
    // Without roles as well.
    let unknown = Given { issued: std::slice::from_ref(&program), ..given(&now) };
    assert_eq!(told(&check_judgment(&by(31, opinion()), &unknown)), ("valid", "untrusted", "role_not_held"));
    // Receipts of others, those of people, and a receipt that somebody made up, show nothing.
    let others = verification("x", PASS).sign(&key(30)).unwrap();
    let changed = Receipt::parse(program.to_text().replace("\"one\"", "\"eno\"").as_bytes()).unwrap();
    assert_eq!(check(&[others, by(31, opinion()), changed]), ("valid", "trusted", ""));
}

#[test]
fn a_judgment_expires() {
    let receipt = by(31, Judgment { expires_at: Some(minutes(60)), ..opinion() });
    for (now, expected) in [(59, ("valid", "trusted", "")), (60, ("valid", "untrusted", "expired"))] {
        let now = minutes(now);
        assert_eq!(told(&check_judgment(&receipt, &Given { roles: Some(&roles), ..given(&now) })), expected);
    }
}

#[test]
fn what_it_rests_on_is_compared_where_it_is_given() {
    let now = minutes(0);
    let receipts = three();
    let on = receipts.iter().map(Reference::of).collect();
    let receipt = by(31, Judgment { on, ..opinion() });
    let check = |on: &[Receipt]| told(&check_judgment(&receipt, &Given { on, ..given(&now) }));
    assert_eq!(check(&[]), ("valid", "unknown", ""));
    assert_eq!(check(&receipts), ("valid", "unknown", ""));
    assert_eq!(check(&receipts[1..]), ("valid", "unknown", ""));
    let other = verification("a", FAIL).sign(&key(11)).unwrap();
    assert_eq!(check(std::slice::from_ref(&other)), ("invalid", "unknown", "member_mismatch"));
    assert_eq!(check(&[other, receipts[0].clone()]), ("valid", "unknown", ""));
    // A quorum may be among them.
    let quorum = signed(&receipts, 2, AgreeOn::Verdict);
    let receipt = by(31, Judgment { on: vec![Reference::of(&quorum)], ..opinion() });
    assert_eq!(told(&check_judgment(&receipt, &Given { on: &[quorum], ..given(&now) })), ("valid", "unknown", ""));
}

#[test]
fn what_it_rests_on_is_over_the_same_output() {
    let now = minutes(0);
    let mut other = verification("x", PASS);
    other.hashes.output = Sha256Digest::of(b"other");
    let other = other.sign(&key(11)).unwrap();
    let receipt = by(31, Judgment { on: vec![Reference::of(&other)], ..opinion() });
    let check = check_judgment(&receipt, &Given { on: &[other], ..given(&now) });
    assert_eq!((told(&check), check.trust), (("invalid", "unknown", "member_mismatch"), Trust::Unknown));
}

#[test]
fn what_was_shown_is_compared_where_it_is_given() {
    let now = minutes(0);
    let receipt = by(31, Judgment { shown: Some(Sha256Digest::of(b"the page")), ..opinion() });
    let check = |receipt: &Receipt, shown: &[u8]| {
        told(&check_judgment(receipt, &Given { shown: Some(shown), roles: Some(&roles), ..given(&now) }))
    };
    assert_eq!(check(&receipt, b"the page"), ("valid", "trusted", ""));
    assert_eq!(check(&receipt, b"another"), ("invalid", "unknown", "member_mismatch"));
    assert_eq!(check(&by(31, opinion()), b"the page"), ("invalid", "unknown", "member_mismatch"));
}

#[test]
fn a_changed_judgment_has_the_answer_of_its_signature() {
    let text = by(31, opinion()).to_text().replace("maintainer", "owner");
    let check = check_judgment(&Receipt::parse(text.as_bytes()).unwrap(), &given(&minutes(0)));
    assert_eq!(told(&check), ("invalid", "unknown", "content_hash_mismatch"));
    assert!(Judgment::is_stated(&by(31, opinion())) && !Judgment::is_stated(&three()[0]));
}

#[test]
fn an_incomplete_judgment_is_not_drafted() {
    let draft = |judgment: Judgment, criteria| judgment.draft(judged(criteria), id("j"), minutes(0)).map(|_| ());
    let whole = || vec![criterion("meets the brief", Status::Pass)];
    let reference = |name: &str| Reference { receipt_id: id(name), hash: Sha256Digest::of(name.as_bytes()) };
    let many = |count: usize| (0..count).map(|at| reference(&at.to_string())).collect();
    let words = |statement: &str| Judgment { statement: statement.to_owned(), ..opinion() };
    assert_eq!(draft(opinion(), whole()), Ok(()));
    assert_eq!(draft(opinion(), Vec::new()), Err(JudgmentError::Criteria));
    assert_eq!(draft(Judgment { role: " ".to_owned(), ..opinion() }, whole()), Err(JudgmentError::Role));
    assert_eq!(draft(words(""), whole()), Err(JudgmentError::Statement));
    assert_eq!(draft(words(&"x".repeat(4_096)), whole()), Ok(()));
    assert_eq!(draft(words(&"x".repeat(4_097)), whole()), Err(JudgmentError::Statement));
    assert_eq!(draft(Judgment { on: many(MAX_ON), ..opinion() }, whole()), Ok(()));
    assert_eq!(draft(Judgment { on: many(MAX_ON + 1), ..opinion() }, whole()), Err(JudgmentError::On));
    assert_eq!(draft(Judgment { on: vec![reference("a"); 2], ..opinion() }, whole()), Err(JudgmentError::On));
    let expired = Judgment { expires_at: Some(minutes(0)), ..opinion() };
    assert_eq!(draft(expired, whole()), Err(JudgmentError::Expired));
}
