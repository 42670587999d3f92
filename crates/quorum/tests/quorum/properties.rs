//! What holds for every quorum.

use std::num::NonZeroUsize;

use proofmark_quorum::{AgreeOn, Bundle, QuorumDemand, QuorumStatus, Reviewers, recount};
use proofmark_receipt::{Answer, Draft, Json, Receipt, Status, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::samples::{ERROR, FAIL, PARTIAL, PASS, composed, id, key, members, minutes, signed, three, verification};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_recount_equals_a_naive_count(
        statuses in statuses(),
        above in 0usize..3,
        outcomes in any::<bool>(),
        operators in vec(0usize..4, 7),
        at_least in 1usize..5,
        complete in any::<bool>(),
    ) {
        let (members, count) = (members(&statuses), statuses.len());
        let threshold = (count / 2 + 1 + above).min(count);
        let agree_on = if outcomes { AgreeOn::Outcomes } else { AgreeOn::Verdict };
        let receipt = signed(&members, threshold, agree_on);
        let (verdict, agreeing) = naive(&statuses, threshold, outcomes);
        prop_assert_eq!(receipt.verdict(), verdict);

        // Operator 0 is nobody: its keys are not in the file. The last line is an operator without a review where it is 3.
        let lines: String = operators.iter().zip(11u8..).take(count).filter(|(operator, _)| **operator > 0)
            .map(|(operator, seed)| format!("reviewer op-{operator} {}\n", key(seed).signer())).collect();
        let absent = format!("reviewer op-3 {}\n", key(99).signer());
        let of = Reviewers::parse((lines + &absent).as_bytes()).unwrap();
        let demand = QuorumDemand { of: &of, at_least: NonZeroUsize::new(at_least).unwrap(), complete, dated: QuorumDemand::ANY_TIME };
        let recount = recount(&receipt, &members, Some(&demand), &minutes(2));
        prop_assert_eq!(recount.answer, Answer::Valid);
        let counted = (1..4).filter(|operator| agreeing.iter().any(|place| operators[*place] == *operator)).count();
        prop_assert_eq!(recount.operators.len(), counted);
        let all_there = operators.iter().take(count).any(|operator| *operator == 3);
        let met = counted >= at_least && (!complete || all_there);
        prop_assert_eq!(recount.quorum, if met { QuorumStatus::Met } else { QuorumStatus::NotMet });
    }

    #[test]
    fn the_order_of_members_does_not_matter(statuses in statuses(), places in vec(any::<Index>(), 8)) {
        let members = members(&statuses);
        let mut shuffled = members.clone();
        for (at, place) in places.iter().enumerate() {
            shuffled.swap(at % members.len(), place.index(members.len()));
        }
        let threshold = members.len() / 2 + 1;
        prop_assert_eq!(composed(&shuffled, threshold, AgreeOn::Outcomes), composed(&members, threshold, AgreeOn::Outcomes));
        let receipt = signed(&members, threshold, AgreeOn::Outcomes);
        prop_assert_eq!(recount(&receipt, &shuffled, None, &minutes(2)), recount(&receipt, &members, None, &minutes(2)));
    }

    #[test]
    fn a_changed_byte_in_any_receipt_is_noticed(changes in vec((any::<Index>(), 0x20u8..0x7f), 1..16)) {
        let receipt = signed(&three(), 2, AgreeOn::Outcomes);
        let text = Bundle { receipt, members: three() }.to_text();
        for (at, byte) in changes {
            let mut bytes = text.clone().into_bytes();
            // The last byte is the line end, for which a space may stand.
            let at = at.index(bytes.len() - 1);
            if std::mem::replace(&mut bytes[at], byte) == byte {
                continue;
            }
            if let Ok(bundle) = Bundle::parse(&bytes) {
                let recount = recount(&bundle.receipt, &bundle.members, None, &minutes(2));
                prop_assert!(recount.error.is_some(), "byte {} is {}", at, byte as char);
            }
        }
    }

    #[test]
    fn any_metadata_has_an_answer(quorum in json(), judgment in json()) {
        let mut draft: Draft = verification("x", PASS);
        draft.tier = 2;
        draft.metadata.insert("quorum", quorum);
        draft.metadata.insert("judgment", judgment);
        draft.metadata.insert("supersedes", Json::Null);
        if let Ok(receipt) = draft.sign(&key(1)) {
            let recount = recount(&receipt, &three(), None, &minutes(2));
            prop_assert_eq!(recount.answer, Answer::Undecidable);
        }
    }

    #[test]
    fn any_reviewers_file_is_read_or_refused(lines in vec("(reviewer|#| )[ a-z\t]{0,8}(MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=)?[ \r]?", 0..4)) {
        if let Ok(reviewers) = Reviewers::parse(lines.join("\n").as_bytes()) {
            prop_assert_eq!(reviewers.operators().len(), 1);
        }
    }
}

fn statuses() -> impl Strategy<Value = Vec<[Status; 2]>> {
    vec(select(vec![PASS, PASS, FAIL, PARTIAL, [Status::Fail, Status::Pass], ERROR]), 2..8)
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        select(vec!["proofmark-quorum/1", "verdict", "outcomes", "pass"]).prop_map(Json::from),
        (0i64..4).prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let names = select(vec!["format", "threshold", "agree_on", "reviews", "receipt_id", "hash", "tier"]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((names, inner), 0..6).prop_map(|members| {
                let mut object = proofmark_receipt::Object::new();
                members.into_iter().for_each(|(name, value)| drop(object.insert(name, value)));
                object.into()
            }),
        ]
    })
}

/// The verdict, and the places of the members that agree on it: every set of votes is tried.
fn naive(statuses: &[[Status; 2]], threshold: usize, outcomes: bool) -> (Verdict, Vec<usize>) {
    for (wanted, verdict) in [(true, Verdict::Pass), (false, Verdict::Fail)] {
        for like in statuses {
            let agrees = |statuses: &[Status; 2]| {
                let votes = !statuses.contains(&Status::Error);
                let passes = statuses.iter().all(|status| *status == Status::Pass);
                votes && passes == wanted && (!outcomes || statuses == like)
            };
            let places: Vec<usize> = (0..statuses.len()).filter(|place| agrees(&statuses[*place])).collect();
            if places.len() >= threshold {
                return (verdict, places);
            }
        }
    }
    (Verdict::Error, Vec::new())
}

/// The members have the ids that tests expect.
#[test]
fn samples_are_distinct() {
    let members: Vec<Receipt> = members(&[PASS; 3]);
    assert_eq!(members.iter().map(Receipt::receipt_id).collect::<Vec<_>>(), [id("a"), id("b"), id("c")]);
}
