//! What the evaluations of one request may take together, and that they stop when told to.

use std::cell::Cell;

use proofmark_predicate::{Budget, Failure, Predicate, Query, Truth, Value, Why};

fn facts(length: i64) -> Value {
    [("items", (0..length).map(Value::from).collect::<Vec<_>>())]
        .into_iter()
        .map(|(k, v)| (k, Value::from(v)))
        .collect()
}

fn why(truth: &Truth) -> Why {
    match truth {
        Truth::Unknown(missing) => missing.first().unwrap().why.clone(),
        Truth::True | Truth::False => Why::Absent,
    }
}

#[test]
fn evaluations_share_a_budget_and_are_unknown_once_it_is_used_up() {
    let predicate = Predicate::compile("items.all(i, i >= 0)").unwrap();
    let facts = facts(1_000);
    let alone = predicate.evaluate(&facts);
    assert_eq!(alone.truth, Truth::True);

    let budget = Budget::new(alone.steps * 3);
    for _ in 0..3 {
        assert_eq!(predicate.evaluate_within(&facts, &budget), alone);
    }
    assert_eq!((budget.taken(), budget.failure(), budget.finish()), (alone.steps * 3, None, Ok(())));
    let limit = alone.steps * 3;
    for _ in 0..2 {
        let answer = predicate.evaluate_within(&facts, &budget);
        assert_eq!(why(&answer.truth), Why::Failed(Failure::BudgetLimit(limit)));
        assert_eq!(why(&predicate.truth_within(&facts, &budget)), Why::Failed(Failure::BudgetLimit(limit)));
    }
    let Truth::Unknown(missing) = predicate.truth_within(&facts, &budget) else { panic!("{budget:?}") };
    assert!(missing.first().unwrap().to_string().contains(&limit.to_string()), "{missing:?}");
    // What follows costs next to nothing.
    assert_eq!(budget.taken(), limit + 1);
}

#[test]
fn the_same_evaluations_always_end_at_the_same_step() {
    let predicate = Predicate::compile("items.exists(i, i == -1) || items.path('$[?@ < 0]').size() > 0").unwrap();
    let (facts, taken) = (facts(3_000), Predicate::compile("true").unwrap());
    let run = || {
        let budget = Budget::new(20_000);
        let answers: Vec<_> = (0..5).map(|_| predicate.evaluate_within(&facts, &budget)).collect();
        (answers, budget.taken(), taken.truth(&facts))
    };
    assert_eq!(run(), run());
}

#[test]
fn an_evaluation_stops_soon_after_it_is_told_to() {
    let predicate = Predicate::compile("items.all(i, items.all(j, i + j >= 0))").unwrap();
    let looks = Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() > 3
    };
    let budget = Budget::stopping(u64::MAX, &stop);
    let answer = predicate.evaluate_within(&facts(100_000), &budget);
    assert_eq!(why(&answer.truth), Why::Failed(Failure::Stopped));
    assert!(answer.steps < 100_000, "{}", answer.steps);
    assert!(budget.finish().is_err());
    assert_eq!(why(&predicate.truth_within(&facts(1), &budget)), Why::Failed(Failure::Stopped));
    let query = Query::compile("$.items[*]").unwrap();
    assert!(query.values(&facts(1), &budget).is_err());
}

#[test]
fn a_budget_that_is_stopped_before_it_begins_answers_nothing() {
    let budget = Budget::stopping(1_000, &|| true);
    let answer = Predicate::compile("true").unwrap().truth_within(&facts(1), &budget);
    assert_eq!(why(&answer), Why::Failed(Failure::Stopped));
}

#[test]
fn a_sum_takes_a_step_for_each_number() {
    let steps = |length| Predicate::compile("items.sum() >= 0").unwrap().evaluate(&facts(length)).steps;
    assert_eq!(steps(1_000), steps(0) + 1_000);
    let most = Predicate::compile("[9223372036854775807, 1].sum() > 0").unwrap().evaluate(&facts(0));
    assert_eq!(why(&most.truth), Why::Failed(Failure::Overflow));
    let back = Predicate::compile("[9223372036854775807, 1, -1].sum() == 9223372036854775807").unwrap();
    assert_eq!(back.evaluate(&facts(0)).truth, Truth::True);
}
