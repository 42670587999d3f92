//! Whose reviews make a receipt of a quorum count, and whose key makes one of a judgment count. The receipts are real.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use proofmark_evidence::{
    ListedReviewer, Person, ReceiptDemand, ReceiptFact, ReceiptKind, Roles, Signers, Sought, SoughtReceipt, Wanted,
    read_votes, votes_to_object,
};
use proofmark_quorum::{AgreeOn, Composition, Criterion, Judged, Judgment, Member, Votes};
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, Profile, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Status,
    Timestamp, Trust, Verdict, object, verify_receipt,
};
use proptest::prelude::*;

const NOW: i64 = 1_775_001_600_000;
const COLLECTOR: u8 = 1;

fn now() -> Timestamp {
    Timestamp::from_unix_millis(NOW)
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

fn hashes() -> Hashes {
    let of = |text: &str| Sha256Digest::of(text.as_bytes());
    Hashes { specification: of("specification"), output: of("output"), tests: Some(of("tests")) }
}

/// A review of this age by the key of the seed.
fn review(seed: u8, status: Status, age_millis: i64) -> Receipt {
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([seed; 16]),
        verified_at: Timestamp::from_unix_millis(NOW - age_millis),
        tier: 0,
        verdict: if status == Status::Pass { Verdict::Pass } else { Verdict::Fail },
        task: None,
        results: Results::from_details(vec![Detail::new("one", status)]),
        hashes: hashes(),
        metadata: object! { "structural": true },
    };
    draft.sign(&key(seed)).unwrap()
}

/// A judgment by the key of the seed, which counts for this long.
fn judgment(seed: u8, role: &str, lasts_millis: Option<i64>) -> Receipt {
    let judgment = Judgment {
        role: role.to_owned(),
        statement: "Reads well.".to_owned(),
        shown: None,
        on: Vec::new(),
        expires_at: lasts_millis.map(|lasts| Timestamp::from_unix_millis(NOW + lasts)),
    };
    let Hashes { specification, output, .. } = hashes();
    let criteria = vec![Criterion { name: "brief".to_owned(), status: Status::Pass, message: "Met.".to_owned() }];
    let judged = Judged { task_id: None, specification, output, criteria };
    let dated = Timestamp::from_unix_millis(NOW - 60_000);
    judgment.draft(judged, ReceiptId::from_random_bytes([seed; 16]), dated).unwrap().sign(&key(seed)).unwrap()
}

fn composed(reviews: &[Receipt], threshold: usize) -> Draft {
    let members: Vec<_> = reviews.iter().map(|receipt| Member { receipt, head: None }).collect();
    let composition = Composition { members: &members, threshold, agree_on: AgreeOn::Verdict, challenge: None };
    composition.draft(ReceiptId::from_random_bytes([99; 16]), now()).unwrap()
}

fn quorum(reviews: &[Receipt], threshold: usize) -> Receipt {
    composed(reviews, threshold).sign(&key(COLLECTOR)).unwrap()
}

fn fact(receipt: &Receipt, members: &[Receipt]) -> ReceiptFact {
    let fact = ReceiptFact::new(receipt, &verify_receipt(receipt, Profile::Vrf, &[]), false);
    ReceiptFact { votes: Votes::count(receipt, &members.iter().collect::<Vec<_>>()).ok(), ..fact }
}

/// Lines of a reviewers file: an operator and its seeds.
fn lines(operators: &[(&str, &[u8])]) -> String {
    let line = |operator: &str, seed: &u8| format!("reviewer {operator} {}\n", key(*seed).signer());
    operators.iter().flat_map(|(operator, seeds)| seeds.iter().map(move |seed| line(operator, seed))).collect()
}

fn read(rule: Object) -> Result<ReceiptDemand, DocumentError> {
    let mut rule = rule;
    if !rule.contains("suite") {
        rule.insert("any_suite", true);
    }
    let json = Json::from(rule);
    ReceiptDemand::read(&Field::root(&json).fields().unwrap(), None)
}

fn demand(of: &str, at_least: u64, complete: bool) -> ReceiptDemand {
    let quorum = object! { "of": of, "at_least": at_least, "complete": complete };
    read(object! { "quorum": quorum, "max_age": "1h" }).unwrap()
}

fn refused(demand: &ReceiptDemand, fact: &ReceiptFact) -> Option<&'static str> {
    demand.meets(&Wanted::default(), fact, &now()).err().map(|refusal| refusal.code())
}

#[test]
fn the_reviews_of_listed_operators_are_counted_and_nothing_else() {
    const HOUR: i64 = 3_600_000;
    let (pass, fail) = (Status::Pass, Status::Fail);
    let three = vec![review(11, pass, 0), review(12, pass, 0), review(13, fail, 0)];
    let both = lines(&[("ann", &[11]), ("bob", &[12])]);
    let all = lines(&[("ann", &[11]), ("bob", &[12]), ("cato", &[13])]);
    let more = lines(&[("ann", &[11]), ("bob", &[12]), ("dora", &[14])]);
    let one_owner = lines(&[("ann", &[11, 12]), ("cato", &[13])]);
    let strangers = lines(&[("eve", &[21]), ("fay", &[22])]);
    let collected = |reviews: &[Receipt]| fact(&quorum(reviews, 2), reviews);
    for (what, of, at_least, complete, given, cause) in [
        ("two agree", &both, 2, false, collected(&three), None),
        ("and everybody is among them", &all, 2, true, collected(&three), None),
        ("one is left out", &more, 2, true, collected(&three), Some("quorum_incomplete")),
        ("which does not matter", &more, 2, false, collected(&three), None),
        ("one owner of two keys", &one_owner, 2, false, collected(&three), Some("quorum_not_met")),
        ("who votes against it does not agree", &all, 3, false, collected(&three), Some("quorum_not_met")),
        ("nobody is listed", &strangers, 1, false, collected(&three), Some("quorum_not_met")),
        ("a member is missing", &both, 2, false, fact(&quorum(&three, 2), &three[1..]), Some("not_counted")),
        ("no member is there", &both, 2, false, fact(&quorum(&three, 2), &[]), Some("not_counted")),
        ("no quorum", &both, 2, false, fact(&three[0], &three), Some("other_kind")),
        (
            "collected now, of old reviews",
            &both,
            2,
            false,
            collected(&[review(11, pass, 0), review(12, pass, HOUR + 1), review(13, fail, 0)]),
            Some("quorum_not_met"),
        ),
        (
            "of a review of the future",
            &both,
            2,
            false,
            collected(&[review(11, pass, 0), review(12, pass, -HOUR), review(13, fail, 0)]),
            Some("quorum_not_met"),
        ),
        (
            "most are against it",
            &all,
            2,
            false,
            collected(&[review(11, fail, 0), review(12, fail, 0), review(13, pass, 0)]),
            Some("other_verdict"),
        ),
    ] {
        assert_eq!(refused(&demand(of, at_least, complete), &given), cause, "{what}");
    }
}

#[test]
fn the_collector_decides_nothing() {
    let members = vec![review(11, Status::Pass, 0), review(12, Status::Fail, 0), review(13, Status::Fail, 0)];
    let of = lines(&[("ann", &[11]), ("bob", &[12]), ("cato", &[13])]);
    let honest = quorum(&members, 2);
    assert!(fact(&honest, &members).votes.is_some());
    // The collector says `pass`, and signs that.
    let mut lie = composed(&members, 2);
    lie.verdict = Verdict::Pass;
    lie.results.details[0].status = Status::Pass;
    let lie = Draft { results: Results::from_details(lie.results.details), ..lie }.sign(&key(COLLECTOR)).unwrap();
    let lie = fact(&lie, &members);
    assert!(lie.valid && lie.kind == Some(ReceiptKind::Quorum) && lie.verdict == Verdict::Pass);
    assert_eq!(refused(&demand(&of, 1, false), &lie), Some("not_counted"));
    assert_eq!(refused(&demand(&of, 1, false), &fact(&honest, &members)), Some("other_verdict"));
}

#[test]
fn a_rule_about_a_quorum_says_whose_reviews_count() {
    let both = lines(&[("ann", &[11]), ("bob", &[12])]);
    let quorum = |at_least: u64| object! { "of": both.as_str(), "at_least": at_least };
    let suite = Sha256Digest::of(b"suite").to_string();
    let read_rule = |rule: Object| read(rule).map_err(|error| error.to_string());
    let rule = read_rule(object! { "quorum": quorum(2), "suite": suite.as_str() }).unwrap();
    assert_eq!(rule.kind, ReceiptKind::Quorum);
    assert!(!rule.is_of_anybody());
    assert_eq!(rule.quorum.unwrap().to_string(), "in which 2 of 2 operators agree");
    for (rule, message) in [
        (object! { "kind": "quorum" }, "`quorum`"),
        (object! { "quorum": quorum(3) }, "`of` lists 2 operators, and this asks for 3"),
        (object! { "quorum": quorum(0) }, "`quorum.at_least`"),
        (object! { "quorum": object! { "of": both.as_str() } }, "`quorum.at_least`"),
        (object! { "quorum": object! { "of": "nobody.txt", "at_least": 1_u64 } }, "expected `reviewer OPERATOR KEY`"),
        (object! { "quorum": object! { "of": both.as_str(), "at_least": 1_u64, "all": true } }, "all"),
        (
            object! { "quorum": quorum(2), "kind": "verification" },
            "the rule asks for a receipt of the kind `verification`",
        ),
        (object! { "quorum": quorum(2), "single_use": true }, "a quorum cannot be used up"),
        (
            object! { "judgment": object! { "role": "owner" }, "suite": suite.as_str() },
            "only a verification or a quorum has a suite",
        ),
        (object! { "judgment": object! { "role": " " } }, "is not a role"),
        (object! { "kind": "judgment" }, "`judgment`"),
        (
            object! { "quorum": quorum(2), "judgment": object! { "role": "owner" } },
            "the rule asks for a receipt of the kind `quorum`",
        ),
    ] {
        let shown = Json::from(rule.clone()).to_text();
        let error = read_rule(rule).unwrap_err();
        assert!(error.contains(message), "{shown}: {error}");
    }
    let many: String = (0..65).map(|seed| format!("reviewer r{seed} {}\n", key(seed).signer())).collect();
    let error = read_rule(object! { "quorum": object! { "of": many, "at_least": 1_u64 } }).unwrap_err();
    assert!(error.contains("65 keys"), "{error}");
}

fn roles(people: &[(&str, u8)]) -> Roles {
    let reviewer = |(role, seed): &(&str, u8)| ListedReviewer {
        name: format!("{role} {seed}"),
        people: vec![Person::Key(key(*seed).signer())],
        roles: vec![(*role).to_owned()],
    };
    Roles { reviewers: people.iter().map(reviewer).collect() }
}

#[test]
fn a_judgment_counts_by_the_key_of_its_role_until_it_expires() {
    let owner = read(object! { "judgment": object! { "role": "owner" } }).unwrap();
    assert_eq!((owner.kind, owner.is_of_anybody()), (ReceiptKind::Judgment, false));
    let ours = roles(&[("owner", 11), ("clerk", 12)]);
    let trusted = Signers::of_any_kind([]);
    let program = |seed: u8| {
        use proofmark_evidence::{Capabilities, Capability, DatedKey};
        Signers::default().with(DatedKey::endless(key(seed).signer()), Capabilities::only(Capability::Verification))
    };
    for (what, given, trusted, roles, cause) in [
        ("the owner", judgment(11, "owner", None), &trusted, Some(&ours), None),
        ("for a while", judgment(11, "owner", Some(1)), &trusted, Some(&ours), None),
        ("until then", judgment(11, "owner", Some(0)), &trusted, Some(&ours), Some("expired")),
        ("as somebody else", judgment(11, "clerk", None), &trusted, Some(&ours), Some("other_role")),
        ("somebody else", judgment(12, "owner", None), &trusted, Some(&ours), Some("signer_not_trusted")),
        ("a stranger", judgment(13, "owner", None), &trusted, Some(&ours), Some("signer_not_trusted")),
        ("a program's key", judgment(11, "owner", None), &program(11), Some(&ours), Some("signer_not_trusted")),
        (
            "nobody holds it",
            judgment(11, "owner", None),
            &trusted,
            Some(&roles(&[("clerk", 11)])),
            Some("role_of_nobody"),
        ),
        ("no roles", judgment(11, "owner", None), &trusted, None, Some("role_of_nobody")),
        ("a verification", review(11, Status::Pass, 0), &trusted, Some(&ours), Some("other_kind")),
    ] {
        let mut fact = fact(&given, &[]);
        fact.trust = trusted.in_approver(Trust::Unknown, fact.signer.as_ref());
        let wanted = Wanted { roles, ..Wanted::default() };
        let refusal = owner.meets(&wanted, &fact, &now()).err().map(|refusal| refusal.code());
        assert_eq!(refusal, cause, "{what}");
        let demand = owner.clone();
        let sought: Sought =
            [SoughtReceipt { demand, output: None, specification: None, roles: roles.cloned().map(Into::into) }]
                .into_iter()
                .collect();
        // What has expired is found, since the time is not looked at before.
        assert_eq!(sought.may_be(&given, trusted), cause.is_none() || cause == Some("expired"), "{what}");
    }
}

#[test]
fn of_stored_quorums_only_those_of_trusted_collectors_that_claim_enough_are_looked_at() {
    let members = vec![review(11, Status::Pass, 0), review(12, Status::Pass, 0)];
    let (quorum, collector) = (quorum(&members, 2), Signers::of_any_kind([key(COLLECTOR).signer()]));
    let sought = |of: String| -> Sought {
        let demand = demand(&of, 2, false);
        [SoughtReceipt { demand, output: None, specification: None, roles: None }].into_iter().collect()
    };
    let both = || lines(&[("ann", &[11]), ("bob", &[12])]);
    assert!(sought(both()).may_be(&quorum, &collector));
    assert!(!sought(both()).may_be(&quorum, &Signers::default()));
    assert!(!sought(lines(&[("ann", &[11]), ("eve", &[21])])).may_be(&quorum, &collector));
}

proptest! {
    #[test]
    fn votes_are_read_back_as_they_were_recorded(
        agreeing in prop::collection::vec((any::<u8>(), 0..NOW, prop::option::of(0..NOW)), 0..8),
        others in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let vote = |(seed, verified, expires): (u8, i64, Option<i64>)| proofmark_quorum::Vote {
            signer: key(seed).signer(),
            verified_at: Timestamp::from_unix_millis(verified),
            expires_at: expires.map(Timestamp::from_unix_millis),
        };
        let votes = Votes {
            agreeing: agreeing.into_iter().map(vote).collect(),
            others: others.into_iter().map(|seed| key(seed).signer()).collect(),
        };
        prop_assert_eq!(read_votes(&Json::from(votes_to_object(&votes))), Some(votes));
    }
}
