//! Limits on what allowed actions come to together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Request};
use proofmark_decider::{Asked, DecideError, Decider, policy_diff};
use proofmark_keys::TrustedSigners;
use proofmark_receipt::document::{Format, parse};
use proofmark_receipt::{Json, SigningKey};
use proofmark_store::{DecisionsWanted, Store, Tenant};
use proofmark_testing::Home;
use proofmark_verifier::check_store;

const DAILY: &str = "id: paid, sum: action.args.amount, per: [action.args.to], window: 1d, max: 1000";

fn policy(limit: &str) -> ActionPolicy {
    let policy = format!(
        "version: 1
boundaries:
  - {{id: payments, match: {{tool: pay}}, require: [{{limit: {{{limit}}}}}]}}"
    );
    ActionPolicy::read(&parse(policy.as_bytes(), Format::Yaml).unwrap()).unwrap()
}

fn decider(home: &Home, limit: &str) -> Arc<Decider> {
    let store = Arc::new(Store::open(home.store()).unwrap());
    Arc::new(Decider::new(Some(policy(limit)), SigningKey::from_seed([7; 32]), store, TrustedSigners::default()))
}

/// A payment; `number` makes it another action.
fn pay(amount: &str, to: &str, number: usize) -> Request {
    let text = format!(
        r#"{{"action":{{"tool":"pay","class":"record_mutation","args":{{"amount":{amount},"to":"{to}","number":{number}}}}}}}"#
    );
    Request::read(&parse(text.as_bytes(), Format::Json).unwrap()).unwrap()
}

fn decide_for(tenant: &Tenant, decider: &Decider, request: &Request) -> Result<DecisionReceipt, DecideError> {
    let stop = AtomicBool::new(false);
    decider.decide(&Asked::new(request, tenant, &stop)).map(|decided| decided.receipt)
}

fn is_allowed(decider: &Decider, request: &Request) -> bool {
    decide_for(&Tenant::LOCAL, decider, request).unwrap().disposition().allows()
}

/// What the first limit had counted, by the receipt.
fn used(receipt: &DecisionReceipt) -> String {
    let limits = receipt.document().get("binding").and_then(|binding| binding.as_object()?.get("limits")?.as_array());
    limits.unwrap().first().unwrap().as_object().unwrap().get("used").and_then(Json::as_str).unwrap().to_owned()
}

#[test]
fn what_was_allowed_before_counts_also_for_the_next_process() {
    let home = Home::new();
    let first = decider(&home, DAILY);
    assert!(is_allowed(&first, &pay("600", "ann", 0)));
    assert!(!is_allowed(&first, &pay("600", "ann", 1)));
    assert!(is_allowed(&first, &pay("600", "bob", 2)));
    let other = "acme".parse().unwrap();
    assert!(decide_for(&other, &first, &pay("600", "ann", 3)).unwrap().disposition().allows());
    drop(first);
    let next = decider(&home, DAILY);
    let receipt = decide_for(&Tenant::LOCAL, &next, &pay("400.5", "Ann ", 4)).unwrap();
    assert_eq!((receipt.disposition().allows(), used(&receipt).as_str()), (false, "600"));
    assert!(is_allowed(&next, &pay("400", "ann", 5)));
    assert!(!is_allowed(&next, &pay("0.01", "ann", 6)));
    assert!(is_sound(&next));
}

#[test]
fn of_many_that_ask_at_once_none_goes_over() {
    let home = Home::new();
    let deciders = [decider(&home, DAILY), decider(&home, DAILY)];
    let (allowed, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..50 {
            let (decider, allowed, next) = (&deciders[client % 2], &allowed, &next);
            scope.spawn(move || {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if is_allowed(decider, &pay("90", "ann", number)) {
                    allowed.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(allowed.into_inner(), 11);
    assert!(is_sound(&deciders[0]));
}

#[test]
fn what_is_older_than_the_window_does_not_count() {
    let home = Home::new();
    let decider = decider(&home, "id: paid, sum: action.args.amount, window: 1ms, max: 1000");
    assert!(is_allowed(&decider, &pay("1000", "ann", 0)));
    // Longer than the window; how much longer does not matter.
    thread::sleep(Duration::from_millis(5));
    let receipt = decide_for(&Tenant::LOCAL, &decider, &pay("1000", "ann", 1)).unwrap();
    assert_eq!((receipt.disposition().allows(), used(&receipt).as_str()), (true, "0"));
}

#[test]
fn an_action_counts_under_each_of_its_recipients_at_once() {
    let home = Home::new();
    let decider = decider(&home, "id: mails, sum: count, per: [action.args.to], max: 2");
    let mail = |to: &str, number: usize| {
        let text = format!(
            r#"{{"action":{{"tool":"pay","class":"record_mutation","args":{{"to":{to},"number":{number}}}}}}}"#
        );
        Request::read(&parse(text.as_bytes(), Format::Json).unwrap()).unwrap()
    };
    assert!(is_allowed(&decider, &mail(r#"["ann","bob"]"#, 0)));
    assert!(is_allowed(&decider, &mail(r#"["bob","cid"]"#, 1)));
    assert!(!is_allowed(&decider, &mail(r#"["cid","bob"]"#, 2)));
    assert!(is_allowed(&decider, &mail(r#""cid""#, 3)));
    assert!(is_sound(&decider));
}

fn is_sound(decider: &Decider) -> bool {
    let mut wrong = Vec::new();
    check_store(decider.store(), &decider.deciders(), &mut |one| wrong.push(one), &mut |_, _| {}).unwrap();
    assert!(wrong.iter().all(|one| one.table == "counted" || one.code == "counted"), "{wrong:?}");
    wrong.is_empty()
}

#[test]
fn what_another_limit_had_counted_is_not_made_up() {
    let home = Home::new();
    let decider = decider(&home, DAILY);
    assert!(is_allowed(&decider, &pay("600", "ann", 0)) && !is_allowed(&decider, &pay("600", "ann", 1)));
    let diff = |limit: &str| {
        let wanted = DecisionsWanted { limit: 10, ..DecisionsWanted::default() };
        let diff = policy_diff(decider.store(), &wanted, &policy(DAILY), &policy(limit)).unwrap();
        (diff.same, diff.changed.len(), diff.unknown)
    };
    assert_eq!(diff(DAILY), (2, 0, 0));
    assert_eq!(diff(&DAILY.replace("1000", "2000")), (1, 1, 0));
    for other in [DAILY.replace("paid", "spent"), DAILY.replace("1d", "2d")] {
        assert_eq!(diff(&other), (0, 0, 2), "{other}");
    }
}

/// What somebody changes in the database is not believed.
#[test]
fn a_count_that_was_changed_decides_nothing_and_is_found() {
    for change in [
        "UPDATE counted SET total = '1'",
        "UPDATE counted SET counted_at = counted_at - 1",
        "UPDATE counted SET nth = nth + 1 WHERE nth = 2",
        "UPDATE counted SET decision_id = 'x'",
    ] {
        let home = Home::new();
        let decider = decider(&home, DAILY);
        assert!(is_allowed(&decider, &pay("500", "ann", 0)) && is_allowed(&decider, &pay("400", "ann", 1)));
        home.sql(change);
        let answer = decide_for(&Tenant::LOCAL, &decider, &pay("500", "ann", 2));
        let error = answer.map(|receipt| receipt.to_text()).unwrap_err();
        assert!(matches!(error, DecideError::Changed(_)), "{change}: {error}");
        assert!(!is_sound(&decider), "{change}");
    }
    let home = Home::new();
    let decider = self::decider(&home, DAILY);
    assert!(is_allowed(&decider, &pay("500", "ann", 0)));
    home.sql("DELETE FROM decisions");
    let answer = decide_for(&Tenant::LOCAL, &decider, &pay("500", "ann", 2));
    assert!(matches!(answer, Err(DecideError::Changed(_))));
    // What no row says any more is said by the decisions, which are a chain.
    let home = Home::new();
    let decider = self::decider(&home, DAILY);
    assert!(is_allowed(&decider, &pay("500", "ann", 0)));
    home.sql("DELETE FROM counted");
    assert!(!is_sound(&decider));
}
