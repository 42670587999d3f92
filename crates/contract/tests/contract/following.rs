use std::convert::Infallible;

use proofmark_contract::workflow::Action;
use proofmark_contract::{AttemptEvidence, NextStep, State, Workflow, is_in_order, next_step, response};
use proofmark_receipt::{Json, Timestamp};

use super::{NOW_MS, workflow};

fn steps(lines: &[&str]) -> Workflow {
    let steps: String = lines.iter().map(|line| format!("  - {{{line}}}\n")).collect();
    workflow(&format!("name: w\nclass: readonly\ncontext: {{kind: string}}\nsteps:\n{steps}"))
}

fn next(workflow: &Workflow, step: &str, state: &State, payload: &str) -> Option<NextStep> {
    let payload = response::extract(payload.as_bytes());
    let (receipts, now) = (proofmark_evidence::Evidence::new(Vec::new()), Timestamp::from_unix_millis(NOW_MS));
    let context = Json::parse(br#"{"kind": "k"}"#).unwrap();
    let (trace, context) = (None, Some(&context));
    next_step(
        workflow,
        step,
        state,
        &AttemptEvidence { payload: &payload, trace, receipts: &receipts, now: &now, context },
    )
}

fn to(step: &str) -> Option<NextStep> {
    Some(NextStep::Step(step.to_owned()))
}

const ACCEPTED: State = State::Accepted { attempt: 1 };

#[test]
fn an_accepted_step_leads_where_its_workflow_says() {
    let plain = steps(&["id: a", "id: b, next: d", "id: c, next: abort", "id: d, terminal: true", "id: e"]);
    let table = [
        ("a", to("b")),
        ("b", to("d")),
        ("c", Some(NextStep::Abort)),
        ("d", Some(NextStep::End)),
        ("e", Some(NextStep::End)),
    ];
    for (step, expected) in table {
        assert_eq!(next(&plain, step, &ACCEPTED, "{}"), expected, "{step}");
        assert_eq!(next(&plain, step, &State::AcceptedWithWarnings { attempt: 2 }, "{}"), expected, "{step}");
    }
    let branches = "id: a, next: [{when: retriesExhausted, goto: abort}, {when: payload.x == 1, goto: b}, \
                    {when: \"context.kind == 'k' && payload.x == 2\", goto: c}]";
    let branching = steps(&[branches, "id: b", "id: c"]);
    let next_of = |payload: &str| next(&branching, "a", &ACCEPTED, payload);
    assert_eq!(next_of(r#"{"x": 1}"#), to("b"));
    assert_eq!(next_of(r#"{"x": 2}"#), to("c"));
    assert_eq!(next_of(r#"{"x": 3}"#), Some(NextStep::Unknown(Vec::new())));
    let Some(NextStep::Unknown(missing)) = next_of("{}") else {
        panic!("a branch was taken on facts that are missing")
    };
    assert_eq!(missing[0].path, "payload.x");
}

#[test]
fn a_step_that_is_not_accepted_leads_where_its_action_says() {
    let workflow = steps(&["id: a", "id: b"]);
    let aborted = |action| next(&workflow, "a", &State::Aborted { attempt: 3, action }, "{}");
    assert_eq!(aborted(Action::Abort), Some(NextStep::Abort));
    assert_eq!(aborted(Action::Continue), to("b"));
    assert_eq!(aborted(Action::Goto("z".to_owned())), to("z"));
    assert_eq!(next(&workflow, "a", &State::Pending, "{}"), None);
}

#[test]
fn a_step_is_in_order_if_it_is_the_first_or_a_step_before_it_lets_it_follow() {
    let workflow = steps(&["id: a, next: c", "id: b", "id: c"]);
    let in_order = |step: &str, states: &[(&str, State)]| {
        is_in_order(&workflow, step, |id| -> Result<Option<State>, Infallible> {
            Ok(states.iter().find(|(step, _)| *step == id).map(|(_, state)| state.clone()))
        })
        .unwrap()
    };
    let aborted = |action| State::Aborted { attempt: 1, action };
    assert!(in_order("a", &[]));
    assert!(!in_order("c", &[]));
    assert!(!in_order("c", &[("c", ACCEPTED)]));
    assert!(in_order("c", &[("a", ACCEPTED)]));
    assert!(in_order("c", &[("b", State::AcceptedWithWarnings { attempt: 1 })]));
    assert!(!in_order("b", &[("a", ACCEPTED)]), "no step leads to it");
    assert!(!in_order("c", &[("a", aborted(Action::Abort))]));
    assert!(in_order("c", &[("a", aborted(Action::Continue))]));
    assert!(!in_order("c", &[("b", aborted(Action::Goto("a".to_owned())))]));
    assert!(!in_order("gone", &[("a", ACCEPTED)]));
}
