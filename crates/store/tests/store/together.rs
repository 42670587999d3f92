//! What is stored together or not at all.

use proofmark_receipt::Sha256Digest;
use proofmark_store::{Answer, Spend, Spends, StepRun, StoreError};

use crate::samples::{Home, Local, chained, decision, decision_id, draft, id, sign, single};

fn run(version: u64, state: &str) -> StepRun {
    StepRun {
        run: "r1".to_owned(),
        begun_by: "local".to_owned(),
        step: "build".to_owned(),
        version,
        state: state.to_owned(),
    }
}

engines! {
    a_judgment_and_its_state_are_kept_together,
    of_two_judgments_that_race_one_is_refused_whole,
    a_receipt_is_spent_once_and_with_its_decision,
    what_a_refused_submission_would_have_changed_is_unchanged,
    what_is_refused_early_does_not_answer_for_those_behind_it,
    what_no_index_can_hold_is_refused_alone,
    a_text_that_not_every_engine_can_hold_is_refused_alone,
}

fn a_text_that_not_every_engine_can_hold_is_refused_alone(home: &Home) {
    let whole = home.open();
    let store = whole.local();
    let answer = |key: &str| Answer { key: key.to_owned(), request: Sha256Digest::of(b"x"), document: "d".to_owned() };
    let hold = home.hold();
    let first = store.submit(single(id(0, 1)));
    let texts = [store.submit(answer("a\0b")), store.submit(run(1, "a\0b"))];
    hold.release();
    first.wait().unwrap();
    for text in texts {
        assert_eq!(text.wait().map(drop), Err(StoreError::Text));
    }
    assert!(matches!(store.answer("a\0b"), Ok(None) | Err(StoreError::Text)));
    assert_eq!(store.step_runs("r1").unwrap(), []);
}

fn what_no_index_can_hold_is_refused_alone(home: &Home) {
    let whole = home.open();
    let store = whole.local();
    // Hashes cannot be packed, which makes them the longest that an index has.
    let hashes: String = (0..60_u8).map(|number| Sha256Digest::of(&[number]).to_string()).collect();
    let answer = |length: usize| Answer {
        key: hashes[..length].to_owned(),
        request: Sha256Digest::of(b"x"),
        document: "d".to_owned(),
    };
    // Two texts of one index count together.
    let of_run = |length: usize| StepRun { step: hashes[..length].to_owned(), ..run(1, &"s".repeat(9_000)) };
    let hold = home.hold();
    let first = store.submit(single(id(0, 1)));
    let fitting = [store.submit(answer(2_500)), store.submit(of_run(2_480))];
    let long = [store.submit(answer(2_600)), store.submit(of_run(2_590))];
    hold.release();
    first.wait().unwrap();
    for stored in fitting {
        stored.wait().unwrap();
    }
    for refused in long {
        let refused = refused.wait().map(drop);
        assert!(matches!(refused, Err(StoreError::LongKey { max: 2_600, .. })), "{refused:?}");
    }
    assert_eq!(store.step_runs("r1").unwrap().len(), 1);
}

fn a_judgment_and_its_state_are_kept_together(home: &Home) {
    let whole = home.open();
    let store = whole.local();
    store.submit_all(vec![single(id(0, 1)).into(), run(1, "retry").into()]).wait().unwrap();
    assert_eq!(store.step_run("local", "r1", "build").unwrap(), Some(run(1, "retry")));
    assert!(store.receipt(&id(0, 1)).unwrap().is_some());
    assert_eq!(store.step_runs("r1").unwrap(), [run(1, "retry")]);
    assert_eq!(store.step_runs("other").unwrap(), []);
}

fn of_two_judgments_that_race_one_is_refused_whole(home: &Home) {
    let whole = home.open();
    let store = whole.local();
    let attempt = |number, state: &str| store.submit_all(vec![single(id(0, number)).into(), run(1, state).into()]);
    let (first, second) = (attempt(1, "accepted"), attempt(2, "accepted"));
    first.wait().unwrap();
    let moved = StoreError::RunMoved { run: "r1".to_owned(), step: "build".to_owned() };
    assert_eq!(second.wait().map(drop), Err(moved));
    assert_eq!(store.receipt(&id(0, 2)).unwrap(), None);
}

fn a_receipt_is_spent_once_and_with_its_decision(home: &Home) {
    let whole = home.open();
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

fn what_is_refused_early_does_not_answer_for_those_behind_it(home: &Home) {
    let whole = home.open();
    let store = whole.local();
    let document = |number| Spend::of(&sign(draft(id(0, number))));
    let spends = |number| Spends { documents: vec![document(number)], by: "d".to_owned() };
    store.submit(spends(1)).wait().unwrap();
    let hold = home.hold();
    let waiting = store.submit(single(id(0, 9)));
    // Its first write is refused, so nobody reads what is so of the second.
    let refused = store.submit_all(vec![run(7, "late").into(), spends(2).into()]);
    let spent = store.submit(spends(1));
    let fresh = store.submit(spends(3));
    hold.release();
    waiting.wait().unwrap();
    assert!(matches!(refused.wait(), Err(StoreError::RunMoved { .. })));
    assert_eq!(spent.wait().map(drop), Err(StoreError::Spent(id(0, 1))));
    fresh.wait().unwrap();
    assert!(!store.is_spent(&document(2)).unwrap());
}

fn what_a_refused_submission_would_have_changed_is_unchanged(home: &Home) {
    let whole = home.open();
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
