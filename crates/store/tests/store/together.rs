//! What is stored together or not at all.

use proofmark_receipt::Sha256Digest;
use proofmark_store::{Answer, Spend, Spends, StepRun, Store, StoreError};

use crate::samples::{Local, chained, decision, decision_id, draft, folder, id, sign, single};

fn run(version: u64, state: &str) -> StepRun {
    StepRun {
        run: "r1".to_owned(),
        begun_by: "local".to_owned(),
        step: "build".to_owned(),
        version,
        state: state.to_owned(),
    }
}

#[test]
fn a_judgment_and_its_state_are_kept_together() {
    let (_folder, path) = folder();
    let whole = Store::open(&path).unwrap();
    let store = whole.local();
    store.submit_all(vec![single(id(0, 1)).into(), run(1, "retry").into()]).wait().unwrap();
    assert_eq!(store.step_run("local", "r1", "build").unwrap(), Some(run(1, "retry")));
    assert!(store.receipt(&id(0, 1)).unwrap().is_some());
    assert_eq!(store.step_runs("r1").unwrap(), [run(1, "retry")]);
    assert_eq!(store.step_runs("other").unwrap(), []);
}

#[test]
fn of_two_judgments_that_race_one_is_refused_whole() {
    let (_folder, path) = folder();
    let whole = Store::open(&path).unwrap();
    let store = whole.local();
    let attempt = |number, state: &str| store.submit_all(vec![single(id(0, number)).into(), run(1, state).into()]);
    let (first, second) = (attempt(1, "accepted"), attempt(2, "accepted"));
    first.wait().unwrap();
    let moved = StoreError::RunMoved { run: "r1".to_owned(), step: "build".to_owned() };
    assert_eq!(second.wait().map(drop), Err(moved));
    assert_eq!(store.receipt(&id(0, 2)).unwrap(), None);
}

#[test]
fn a_receipt_is_spent_once_and_with_its_decision() {
    let (_folder, path) = folder();
    let whole = Store::open(&path).unwrap();
    let store = whole.local();
    let receipt = sign(draft(id(0, 7)));
    let spend = |number: u64| {
        let spends = Spends { documents: vec![Spend::of(&receipt)], by: decision_id(number) };
        let action = number.to_string();
        store.submit_all(vec![decision(number, &action, 1, true).into(), spends.into()]).wait().map(drop)
    };
    spend(1).unwrap();
    assert!(store.is_spent(&Spend::of(&receipt)).unwrap());
    assert_eq!(spend(2), Err(StoreError::Spent(receipt.receipt_id())));
    assert_eq!(store.decision(&decision_id(2)).unwrap(), None);
    assert_eq!(store.action_history("2").unwrap().decided, 0);
    let stored = store.decision(&decision_id(1)).unwrap().unwrap();
    assert_eq!((stored.position, stored.allowed, stored.outcome.as_str()), (0, true, "allow"));
    let again = store.submit(decision(1, "another", 1, true)).wait().map(drop);
    assert_eq!(again, Err(StoreError::DecisionStored(decision_id(1))));
    let other = Spend::of(&sign(draft(id(0, 8))));
    let twice = Spends { documents: vec![other; 2], by: "d".to_owned() };
    assert_eq!(store.submit(twice).wait().map(drop), Err(StoreError::Spent(id(0, 8))));
    assert!(!store.is_spent(&other).unwrap());
}

#[test]
fn what_a_refused_submission_would_have_changed_is_unchanged() {
    let (_folder, path) = folder();
    let whole = Store::open(&path).unwrap();
    let store = whole.local();
    store.submit(run(1, "retry")).wait().unwrap();
    // The last of them is refused: nothing of those before it is stored, not even a chain's name.
    let answer = Answer { key: "k".to_owned(), request: Sha256Digest::of(b"x"), document: "d".to_owned() };
    let writes = vec![chained(id(0, 1), "new").into(), decision(1, "f", 1, true).into(), answer.into()];
    let refused = store.submit_all(writes.into_iter().chain([run(1, "accepted").into()]).collect()).wait();
    assert!(matches!(refused, Err(StoreError::RunMoved { .. })));
    assert_eq!(store.chains().unwrap(), []);
    assert_eq!(store.receipt(&id(0, 1)).unwrap(), None);
    assert_eq!(store.decision(&decision_id(1)).unwrap(), None);
    assert_eq!(store.answer("k").unwrap(), None);
    assert_eq!(store.step_runs("r1").unwrap(), [run(1, "retry")]);
}
