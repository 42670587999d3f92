use proofmark_contract::workflow::{Action, Jitter, OnFailure, Strategy as Growth};
use proofmark_contract::{AttemptOutcome, Event, RetryPlan, State, TransitionError, delay_ms};
use proofmark_receipt::Sha256Digest;
use proptest::prelude::*;

fn contract() -> Sha256Digest {
    Sha256Digest::of(b"contract")
}

fn plan(max_attempts: u32, action: Action) -> RetryPlan {
    let on_failure = OnFailure { action, max_attempts, ..OnFailure::default() };
    RetryPlan { on_failure, prompt: "again".into(), seed: 7 }
}

fn submitted(attempt: u32) -> Event {
    Event::Submitted { attempt, contract: contract(), now_ms: 0 }
}

fn judged(attempt: u32, outcome: AttemptOutcome, plan: RetryPlan) -> Event {
    Event::Judged { attempt, outcome, plan, now_ms: 0 }
}

fn run(events: &[Event]) -> Result<State, TransitionError> {
    events.iter().try_fold(State::Pending, |state, event| state.apply(event))
}

#[test]
fn each_outcome_leads_to_its_state() {
    let abort = plan(2, Action::Abort);
    let table = [
        (vec![submitted(1), judged(1, AttemptOutcome::Accept, abort.clone())], "accepted", 1),
        (vec![submitted(1), judged(1, AttemptOutcome::AcceptWithWarnings, abort.clone())], "accepted_with_warnings", 1),
        (vec![submitted(1), judged(1, AttemptOutcome::RejectAndRetry, abort.clone())], "retry", 2),
        (vec![submitted(1), judged(1, AttemptOutcome::RejectAndAbort, abort.clone())], "aborted", 1),
        (vec![submitted(1), judged(1, AttemptOutcome::AwaitApproval, abort.clone())], "awaiting_approval", 1),
        (
            vec![
                submitted(1),
                judged(1, AttemptOutcome::RejectAndRetry, abort.clone()),
                submitted(2),
                judged(2, AttemptOutcome::AwaitApproval, abort.clone()),
                submitted(2),
                judged(2, AttemptOutcome::AwaitApproval, abort.clone()),
            ],
            "awaiting_approval",
            2,
        ),
        (vec![submitted(1)], "evaluating", 1),
        (vec![submitted(1), Event::Interrupted { attempt: 1 }], "pending", 1),
        (
            vec![
                submitted(1),
                judged(1, AttemptOutcome::RejectAndRetry, abort.clone()),
                submitted(2),
                Event::Interrupted { attempt: 2 },
            ],
            "retry",
            2,
        ),
        (
            vec![
                submitted(1),
                judged(1, AttemptOutcome::RejectAndRetry, abort.clone()),
                submitted(2),
                judged(2, AttemptOutcome::RejectAndRetry, abort),
            ],
            "aborted",
            2,
        ),
    ];
    for (events, word, attempt) in table {
        let state = run(&events).unwrap();
        assert_eq!((state.as_str(), state.attempt()), (word, attempt), "{events:?}");
        assert_eq!(State::from_json(&state.to_json()), Ok(state));
    }
}

#[test]
fn used_up_attempts_lead_to_the_action() {
    for action in [Action::Abort, Action::Continue, Action::Goto("fix".into())] {
        let events = [submitted(1), judged(1, AttemptOutcome::RejectAndRetry, plan(1, action.clone()))];
        let state = run(&events).unwrap();
        assert_eq!(state, State::Aborted { attempt: 1, action: action.clone() });
        assert_eq!(State::from_json(&state.to_json()), Ok(state));
        // Without a retry the action is not asked.
        let events = [submitted(1), judged(1, AttemptOutcome::RejectAndAbort, plan(3, action))];
        assert_eq!(run(&events).unwrap(), State::Aborted { attempt: 1, action: Action::Abort });
    }
}

#[test]
fn a_reviewer_reopens_what_was_aborted_for_one_attempt() {
    let retry = |attempt| judged(attempt, AttemptOutcome::RejectAndRetry, plan(2, Action::Abort));
    let reopened =
        |attempt| Event::Reopened { attempt, contract: contract(), prompt: "the browser was down".into(), now_ms: 5 };
    let aborted = run(&[submitted(1), retry(1), submitted(2), retry(2)]).unwrap();
    let state = aborted.apply(&reopened(2)).unwrap();
    let State::Retry(awaited) = &state else { panic!("{state:?}") };
    assert_eq!((awaited.attempt, awaited.prompt.as_str(), awaited.not_before_ms), (3, "the browser was down", 5));
    assert_eq!(State::from_json(&state.to_json()), Ok(state.clone()));
    let submit = Event::Submitted { attempt: 3, contract: contract(), now_ms: 5 };
    let again = state.apply(&submit).unwrap().apply(&retry(3)).unwrap();
    assert_eq!(again, State::Aborted { attempt: 3, action: Action::Abort });
    // Another attempt than the last one, and what was not aborted.
    assert_eq!(aborted.apply(&reopened(1)).unwrap_err().code(), "already_aborted");
    let waits = judged(1, AttemptOutcome::AwaitApproval, plan(2, Action::Abort));
    for events in [vec![], vec![submitted(1)], vec![submitted(1), retry(1)], vec![submitted(1), waits]] {
        let state = run(&events).unwrap();
        assert_eq!(state.apply(&reopened(state.attempt())).unwrap_err().code(), "not_aborted", "{events:?}");
    }
    let accepted = run(&[submitted(1), judged(1, AttemptOutcome::Accept, plan(2, Action::Abort))]).unwrap();
    assert_eq!(accepted.apply(&reopened(1)).unwrap_err().code(), "already_accepted");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let retry = |attempt| judged(attempt, AttemptOutcome::RejectAndRetry, plan(9, Action::Abort));
    let accept = |attempt| judged(attempt, AttemptOutcome::Accept, plan(9, Action::Abort));
    let other = |attempt| Event::Submitted { attempt, contract: Sha256Digest::of(b"laxer"), now_ms: 0 };
    let wait = |attempt| judged(attempt, AttemptOutcome::AwaitApproval, plan(9, Action::Abort));
    let at_three = [submitted(1), retry(1), submitted(2), retry(2)];
    let table: Vec<(Vec<Event>, &str)> = vec![
        (vec![submitted(2)], "out_of_order_attempt"),
        (vec![submitted(0)], "out_of_order_attempt"),
        (vec![accept(1)], "not_evaluating"),
        (vec![Event::Interrupted { attempt: 1 }], "not_evaluating"),
        (vec![submitted(1), submitted(1)], "being_judged"),
        (vec![submitted(1), accept(2)], "not_evaluating"),
        (vec![submitted(1), accept(1), submitted(1)], "already_accepted"),
        (vec![submitted(1), accept(1), submitted(2)], "already_accepted"),
        (vec![submitted(1), accept(1), accept(1)], "already_accepted"),
        (vec![submitted(1), retry(1), submitted(1)], "repeated_attempt"),
        (vec![submitted(1), retry(1), submitted(3)], "out_of_order_attempt"),
        (vec![submitted(1), retry(1), other(2)], "other_contract"),
        (vec![submitted(1), wait(1), other(1)], "other_contract"),
        (vec![submitted(1), wait(1), submitted(2)], "out_of_order_attempt"),
        (vec![submitted(1), wait(1), accept(1)], "not_evaluating"),
        (vec![submitted(1), retry(1), submitted(2), wait(2), submitted(1)], "repeated_attempt"),
        ([&at_three[..], &[submitted(1)]].concat(), "late_attempt"),
        ([&at_three[..], &[submitted(2)]].concat(), "repeated_attempt"),
        ([&at_three[..], &[submitted(0)]].concat(), "out_of_order_attempt"),
        (
            vec![submitted(1), judged(1, AttemptOutcome::RejectAndAbort, plan(9, Action::Abort)), submitted(2)],
            "already_aborted",
        ),
    ];
    for (events, code) in table {
        assert_eq!(run(&events).expect_err(code).code(), code, "{events:?}");
    }
}

#[test]
fn damaged_states_are_not_read() {
    let table = [
        "1",
        "{}",
        r#"{"state": "accepted"}"#,
        r#"{"state": "accepted", "attempt": 0}"#,
        r#"{"state": "done", "attempt": 1}"#,
        r#"{"state": "retry", "attempt": 2}"#,
        r#"{"state": "retry", "attempt": 2, "prompt": "", "not_before_ms": 0, "contract": "sha256:x"}"#,
        r#"{"state": "evaluating", "attempt": 1}"#,
        r#"{"state": "aborted", "attempt": 1, "action": "goto:"}"#,
    ];
    for text in table {
        let json = proofmark_receipt::Json::parse(text.as_bytes()).unwrap();
        assert!(State::from_json(&json).is_err(), "{text}");
    }
}

#[test]
fn delays_are_those_of_the_formula() {
    let on_failure = |strategy, jitter| OnFailure {
        strategy,
        jitter,
        initial_delay_ms: 500,
        max_delay_ms: 3_000,
        ..OnFailure::default()
    };
    let delays = |on_failure: OnFailure| [1, 2, 3, 4, 90].map(|attempt| delay_ms(&on_failure, attempt, 42));
    assert_eq!(delays(on_failure(Growth::Fixed, Jitter::None)), [500, 500, 500, 500, 500]);
    assert_eq!(delays(on_failure(Growth::Linear, Jitter::None)), [500, 1_000, 1_500, 2_000, 3_000]);
    assert_eq!(delays(on_failure(Growth::Exponential, Jitter::None)), [500, 1_000, 2_000, 3_000, 3_000]);
    // Computed apart from this code, by the documented formula.
    assert_eq!(delays(on_failure(Growth::Exponential, Jitter::Full)), FULL);
    assert_eq!(delays(on_failure(Growth::Exponential, Jitter::Equal)), EQUAL);
}

const FULL: [u64; 5] = [487, 256, 1073, 2858, 2082];
const EQUAL: [u64; 5] = [494, 628, 1536, 2929, 2541];

fn growth() -> impl Strategy<Value = Growth> {
    prop_oneof![Just(Growth::Fixed), Just(Growth::Linear), Just(Growth::Exponential)]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal)]
}

fn outcome() -> impl Strategy<Value = AttemptOutcome> {
    prop_oneof![
        1 => Just(AttemptOutcome::Accept),
        1 => Just(AttemptOutcome::AcceptWithWarnings),
        8 => Just(AttemptOutcome::RejectAndRetry),
        1 => Just(AttemptOutcome::RejectAndAbort),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0u32..6, 0i64..4_000).prop_map(|(attempt, now_ms)| Event::Submitted { attempt, contract: contract(), now_ms }),
        (0u32..6, outcome(), 1u32..5, growth(), 0i64..4_000).prop_map(
            |(attempt, outcome, max_attempts, strategy, now_ms)| {
                let on_failure = OnFailure { max_attempts, strategy, initial_delay_ms: 100, ..OnFailure::default() };
                let plan = RetryPlan { on_failure, prompt: "again".into(), seed: 7 };
                Event::Judged { attempt, outcome, plan, now_ms }
            }
        ),
        (0u32..6).prop_map(|attempt| Event::Interrupted { attempt }),
    ]
}

proptest! {
    #[test]
    fn nothing_follows_a_terminal_state_and_attempts_never_go_back(events in prop::collection::vec(event(), 0..60)) {
        let mut state = State::Pending;
        let mut acceptances = 0;
        for event in &events {
            let was_terminal = state.is_terminal();
            match state.apply(event) {
                Ok(next) => {
                    prop_assert!(!was_terminal);
                    prop_assert!(next.attempt() >= state.attempt());
                    prop_assert!(next.attempt() <= state.attempt() + 1);
                    // What is accepted was judged, and what is judged was submitted.
                    if matches!(next, State::Accepted { .. } | State::AcceptedWithWarnings { .. }) {
                        acceptances += 1;
                        let was_evaluating = matches!(state, State::Evaluating { .. });
                        prop_assert!(was_evaluating);
                    }
                    if let (State::Retry(retry), Event::Judged { now_ms, .. }) = (&next, event) {
                        prop_assert!(retry.not_before_ms >= *now_ms);
                    }
                    prop_assert_eq!(State::from_json(&next.to_json()), Ok(next.clone()));
                    state = next;
                }
                Err(refusal) => prop_assert!(!refusal.code().is_empty()),
            }
        }
        prop_assert!(acceptances <= 1);
    }

    #[test]
    fn delays_stay_within_bounds_and_can_be_replayed(
        growth in growth(), jitter in jitter(), initial in 0u64..100_000, more in 0u64..100_000,
        attempt in 1u32..200, seed in any::<u64>(),
    ) {
        let on_failure = OnFailure {
            strategy: growth, jitter, initial_delay_ms: initial, max_delay_ms: initial + more, ..OnFailure::default()
        };
        let delay = delay_ms(&on_failure, attempt, seed);
        let base = delay_ms(&OnFailure { jitter: Jitter::None, ..on_failure.clone() }, attempt, seed);
        prop_assert!(base >= initial && base <= initial + more);
        match jitter {
            Jitter::None => prop_assert_eq!(delay, base),
            Jitter::Full => prop_assert!(delay <= base),
            Jitter::Equal => prop_assert!(delay <= base && delay >= base / 2),
        }
        prop_assert_eq!(delay, delay_ms(&on_failure, attempt, seed));
    }
}
