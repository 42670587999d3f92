//! Decisions: one chain, and a count for each action.

use proofmark_receipt::{ChainTip, Json, Link, Sha256Digest, SignError, verify_links};
use proofmark_store::{ActionHistory, DecisionsWanted, NewDecision, Store, StoreError, Tenant};
use rusqlite::Connection;

use crate::samples::{Home, Local, as_child, child, decision, decision_id, folder};

/// Whether the decisions that are stored are one whole chain; how many there are.
fn chain_length(store: &Store) -> usize {
    let wanted = DecisionsWanted { limit: 1000, ..DecisionsWanted::default() };
    let mut decisions = store.all_tenants_decisions(&wanted).unwrap().decisions;
    decisions.sort_by_key(|decision| decision.position);
    let read = |text: &str| Json::parse(text.as_bytes()).unwrap();
    let documents: Vec<Json> = decisions.iter().map(|decision| read(&decision.document)).collect();
    let links: Vec<_> = decisions
        .iter()
        .zip(&documents)
        .map(|(decision, document)| Link {
            id: decision.decision_id.parse().unwrap(),
            document: document.as_object().unwrap(),
        })
        .collect();
    verify_links(&links, None).unwrap();
    decisions.len()
}

engines! {
    an_action_is_decided_on_one_after_another_and_others_meanwhile,
    a_decision_that_cannot_be_signed_fails_alone,
    processes_that_decide_on_different_actions_do_not_refuse_each_other,
}

fn an_action_is_decided_on_one_after_another_and_others_meanwhile(home: &Home) {
    let store = home.open();
    let (local, other) = (store.local(), store.of(&"a".parse::<Tenant>().unwrap()));
    local.submit(decision(1, "f", 1, false)).wait().unwrap();
    // Made from the same view of the action: the second is refused, decisions on other actions are not.
    let refused = local.submit(decision(2, "f", 1, true)).wait().map(drop);
    assert!(matches!(refused, Err(StoreError::DecidedMeanwhile(_))), "{refused:?}");
    local.submit(decision(3, "g", 1, false)).wait().unwrap();
    other.submit(decision(4, "f", 1, false)).wait().unwrap();
    for (number, nth, allowed) in [(5, 2, false), (6, 3, true), (7, 4, false)] {
        local.submit(decision(number, "f", nth, allowed)).wait().unwrap();
    }
    let history = |decided, denied| ActionHistory { decided, denied };
    assert_eq!(local.action_history("f").unwrap(), history(4, 1));
    assert_eq!(local.action_history("g").unwrap(), history(1, 1));
    assert_eq!(other.action_history("f").unwrap(), history(1, 1));
    assert_eq!(other.action_history("g").unwrap(), history(0, 0));
    assert_eq!(chain_length(&store), 6);
}

fn a_decision_that_cannot_be_signed_fails_alone(home: &Home) {
    let store = home.open();
    let holder = home.hold();
    let unsigned = NewDecision { sign: Box::new(|_| Err(SignError::TooLarge(2_000_000))), ..decision(1, "f", 1, true) };
    // Linked to another end than that of the chain, and another document.
    let NewDecision { sign, .. } = decision(2, "g", 1, true);
    let tip = ChainTip { receipt_id: decision_id(1).parse().unwrap(), hash: Sha256Digest::of(b"x"), position: 3 };
    let unlinked = NewDecision { sign: Box::new(move |_| sign(Some(&tip).into())), ..decision(2, "g", 1, true) };
    let other = NewDecision { sign: decision(2, "g", 1, true).sign, ..decision(4, "h", 1, true) };
    let unsigned = store.local().submit(unsigned);
    let unlinked = [unlinked, other].map(|unlinked| store.local().submit(unlinked));
    let good = store.local().submit(decision(3, "f", 1, true));
    holder.release();
    assert_eq!(unsigned.wait().map(drop), Err(StoreError::Sign(SignError::TooLarge(2_000_000))));
    for unlinked in unlinked {
        assert!(matches!(unlinked.wait(), Err(StoreError::NotLinked(_))));
    }
    good.wait().unwrap();
    assert_eq!(chain_length(&store), 1);
}

fn processes_that_decide_on_different_actions_do_not_refuse_each_other(home: &Home) {
    let children = ["1", "2", "3"].map(|family| child("decisions::child_decides", home, family));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(chain_length(&home.open_existing()), 3 * 40);
}

/// Not a test by itself: one of the processes above.
#[test]
fn child_decides() {
    let Some((store, family)) = as_child() else {
        return;
    };
    let first = family.parse::<u64>().unwrap() * 1000;
    for nth in 1..=40 {
        store.local().submit(decision(first + nth, &family, nth, false)).wait().unwrap();
    }
}

#[test]
fn the_history_of_an_action_is_read_from_indexes() {
    let (_folder, path) = folder();
    drop(Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    for (more, index) in [("", "decisions_by_action"), (" AND allowed", "decisions_allowed")] {
        let sql =
            format!("EXPLAIN QUERY PLAN SELECT max(nth) FROM decisions WHERE tenant = 'a' AND fingerprint = 'f'{more}");
        let plan: String = connection.query_row(&sql, [], |row| row.get(3)).unwrap();
        assert!(plan.contains("SEARCH") && plan.contains(index), "{plan}");
    }
}
