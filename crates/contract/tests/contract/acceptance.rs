use proofmark_contract::{AttemptOutcome, Contract, Event, RetryPlan, RuleOutcome, State, seed};
use proofmark_evidence::EvidenceStatus;

use super::{NOW_MS, SPEC_BLOCK, calls, contract, judge, one_step, rule};

const BROWSED: &str = r#"{"name": "open_simple_browser", "args": {"url": "http://localhost:6006"}, "result": "ok"}"#;
const PROVEN: &str = "Done.\n```result\n{\"visualVerification\": {\"performed\": true}, \"storybookInstance\": {\"url\": \"http://localhost:6006\"}}\n```\n";

#[test]
fn self_reported_success_alone_accepts_nothing() {
    let responses = [
        "Done! Everything was verified, all checks pass, the booking is made.",
        "{\"status\": \"success\", \"done\": true, \"verified\": true}",
        "```result\n{\"status\": \"success\", \"accepted\": true}\n```",
        PROVEN,
    ];
    let contracts = [
        contract("readonly", SPEC_BLOCK),
        contract("mutating", SPEC_BLOCK),
        contract("mutating", "verification: {toolCalls: [{name: book_flight}]}"),
        contract("mutating", "verification: {receipts: [{any_suite: true, output: payload.sha}]}"),
        contract(
            "mutating",
            "verification: {evidence: [{path: status, expect: success}], toolCalls: [{name: book_flight, when: payload.ui == true}]}",
        ),
    ];
    for contract in &contracts {
        for response in responses {
            for trace in [None, Some(calls(""))] {
                let judgment = judge(contract, response, trace.as_ref());
                assert_eq!(judgment.outcome, AttemptOutcome::RejectAndRetry, "{response}");
            }
        }
    }
}

#[test]
fn a_condition_the_agent_answers_does_not_free_a_mutating_step_from_evidence() {
    let block = "verification: {toolCalls: [{name: book_flight, when: payload.ui == true}]}";
    let judgment = judge(&contract("mutating", block), "{\"ui\": false}", Some(&calls("")));
    assert_eq!(rule(&judgment, "toolCalls:book_flight").outcome, RuleOutcome::Met);
    assert_eq!(rule(&judgment, "ground").outcome, RuleOutcome::Unmet);
    assert_eq!(judgment.outcome, AttemptOutcome::RejectAndRetry);
}

#[test]
fn every_rule_is_judged_whatever_the_others_say() {
    let judgment = judge(&contract("mutating", SPEC_BLOCK), "no result", None);
    let ids: Vec<_> = judgment.rules.iter().map(|rule| rule.id.as_str()).collect();
    let expected = [
        "result",
        "evidence:visualVerification.performed",
        "evidence:storybookInstance.url",
        "toolCalls:open_simple_browser",
        "noOtherMutations",
        "ground",
    ];
    assert_eq!(ids, expected);
    assert!(
        judgment.rules.iter().all(|rule| rule.outcome != RuleOutcome::Met && rule.status == EvidenceStatus::Absent)
    );
}

#[test]
fn the_standing_of_each_rule_is_told() {
    let judgment = judge(&contract("readonly", SPEC_BLOCK), PROVEN, Some(&calls(BROWSED)));
    assert_eq!(judgment.outcome, AttemptOutcome::Accept);
    assert_eq!(rule(&judgment, "evidence:storybookInstance.url").status, EvidenceStatus::SelfReported);
    assert_eq!(rule(&judgment, "toolCalls:open_simple_browser").status, EvidenceStatus::Observed);
}

#[test]
fn two_result_blocks_are_rejected_though_both_would_do() {
    let judgment = judge(&contract("readonly", SPEC_BLOCK), &format!("{PROVEN}{PROVEN}"), Some(&calls(BROWSED)));
    assert_eq!(judgment.outcome, AttemptOutcome::RejectAndRetry);
    assert_eq!(rule(&judgment, "result").outcome, RuleOutcome::Unmet);
}

#[test]
fn what_follows_a_failed_check_is_what_the_contract_says() {
    let table = [
        ("reject-and-retry", AttemptOutcome::RejectAndRetry),
        ("reject-and-abort", AttemptOutcome::RejectAndAbort),
        ("warn", AttemptOutcome::AcceptWithWarnings),
    ];
    for (word, decision) in table {
        let contract = contract("readonly", &SPEC_BLOCK.replace("reject-and-retry", word));
        assert_eq!(judge(&contract, "no", None).outcome, decision);
    }
}

#[test]
fn a_step_is_rejected_then_told_why_then_accepted() {
    let workflow = one_step("readonly", &format!("{SPEC_BLOCK}onFailure: {{maxAttempts: 3, initialDelayMs: 500}}"));
    let contract = Contract::of(&workflow, "s", None, NOW_MS).unwrap();
    let (digest, seed) = (contract.digest(), seed("run-1", "s"));
    let submitted = |attempt, now_ms| Event::Submitted { attempt, contract: digest, now_ms };

    let state = State::Pending.apply(&submitted(1, NOW_MS)).unwrap();
    let judgment = judge(&contract, "Looks great, I checked it in the browser.", Some(&calls("")));
    let plan = RetryPlan::of(&contract, &judgment, seed);
    let state = state.apply(&Event::Judged { attempt: 1, outcome: judgment.outcome, plan, now_ms: NOW_MS }).unwrap();
    let State::Retry(retry) = &state else { panic!("{state:?}") };
    assert_eq!((retry.attempt, retry.not_before_ms), (2, NOW_MS + 500));
    insta::assert_snapshot!(retry.prompt);

    assert_eq!(state.apply(&submitted(2, NOW_MS)).unwrap_err().code(), "early_attempt");
    let state = state.apply(&submitted(2, NOW_MS + 500)).unwrap();
    let judgment = judge(&contract, PROVEN, Some(&calls(BROWSED)));
    let plan = RetryPlan::of(&contract, &judgment, seed);
    let event = Event::Judged { attempt: 2, outcome: judgment.outcome, plan, now_ms: NOW_MS + 500 };
    let state = state.apply(&event).unwrap();
    assert_eq!(state, State::Accepted { attempt: 2 });
    assert_eq!(state.apply(&event).unwrap_err().code(), "already_accepted");
}
