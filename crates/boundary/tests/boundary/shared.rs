//! Requests that follow each other share what they have in common.

use proofmark_boundary::{Request, decide};
use proofmark_evidence::Evidence;
use proofmark_receipt::{Json, object};
use proptest::prelude::*;

use crate::support::{moment, policy};

/// A call, of which a run has many.
fn any_call() -> impl Strategy<Value = Json> {
    ("[a-c]{1,2}", prop::option::of(-3i64..3), "(succeeded|pending)").prop_map(|(tool, n, status)| {
        let args = n.map(|n| object! { "n": n, "list": vec![Json::from(n), Json::from("é\"")] });
        object! { "tool": tool, "args"?: args, "status": status }.into()
    })
}

proptest! {
    /// A request that follows another one is what it is without that one.
    #[test]
    fn what_requests_share_changes_nothing(
        runs in prop::collection::vec(prop::collection::vec(any_call(), 0..6), 1..5),
        keeps in prop::collection::vec(0usize..6, 5),
        odd in any::<bool>(),
    ) {
        let mut calls: Vec<Json> = Vec::new();
        let mut last: Option<Request> = None;
        for (run, keep) in runs.into_iter().zip(keeps) {
            calls.truncate(keep);
            calls.extend(run);
            let facts = object! {
                "calls": if odd && calls.len() == 1 { Json::from("none") } else { Json::from(calls.clone()) },
                "action": object! { "tool": "t", "args": object! { "of": calls.len() as u64 } },
                "a\"b"?: (calls.len() > 3).then_some(true),
            };
            let alone = Request::from_facts(facts.clone()).unwrap();
            let following = last.as_ref().map_or_else(|| alone.clone(), |last| last.followed_by(facts).unwrap());
            prop_assert_eq!(following.facts(), alone.facts());
            prop_assert_eq!(following.facts_hash(), alone.facts_hash());
            prop_assert_eq!(following.action_hash(), alone.action_hash());
            for rule in ["calls.exists(c, c.args.n == 1)", "size(calls) > 3", "calls.all(c, c.tool == \"a\")"] {
                let policy = policy(&format!("version: 1\nboundaries: [{{id: b, match: {{}}, require: [{{fact: '{rule}'}}]}}]"));
                let decided = |request| decide(&policy, request, &Evidence::new(Vec::new()), &moment(0)).outcome();
                prop_assert_eq!(decided(&following), decided(&alone));
            }
            last = Some(following);
        }
    }
}
