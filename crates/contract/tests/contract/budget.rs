//! What one attempt may take, whatever its payload and its calls are.

use std::cell::Cell;

use proofmark_contract::{
    AttemptEvidence, AttemptOutcome, MAX_EVALUATION_STEPS, RuleOutcome, evaluate, evaluate_until, response,
};

use proofmark_evidence::EvidenceStatus;

use crate::{calls, contract, judge, rule};

fn rules(count: usize, rest: &str) -> String {
    let rules = (0..count).map(|number| format!("    - {{id: r{number}, path: '$.items[*]', {rest}}}\n"));
    format!("verification:\n  evidence:\n{}", rules.collect::<String>())
}

fn items(count: usize) -> String {
    let items: Vec<_> = (0..count).map(|number| number.to_string()).collect();
    format!("<result>{{\"items\": [{}], \"name\": \"n\"}}</result>", items.join(","))
}

#[test]
fn one_attempt_has_one_budget_for_all_rules() {
    let predicate = "expect: {predicate: 'value >= 0 && payload.name == \"n\"'}";
    let small = judge(&contract("readonly", &rules(3, predicate)), &items(100), None);
    assert_eq!(small.outcome, AttemptOutcome::Accept, "{small:?}");
    let large = judge(&contract("readonly", &rules(200, predicate)), &items(100_000), None);
    assert_eq!(large.outcome, AttemptOutcome::RejectAndRetry);
    for rule in &large.rules {
        assert_eq!((rule.outcome, rule.status), (RuleOutcome::Unknown, EvidenceStatus::Absent), "{rule:?}");
        assert!(rule.message.contains(&MAX_EVALUATION_STEPS.to_string()), "{rule:?}");
    }
    assert!(large.spends.is_empty());
}

#[test]
fn rules_about_calls_share_the_budget() {
    let text: Vec<_> = (0..4_000)
        .map(|number| {
            format!(
                r#"{{"name": "get_{number}", "arguments": {{"a": [{}]}}, "status": "succeeded"}}"#,
                "1,".repeat(200) + "1"
            )
        })
        .collect();
    let trace = calls(&format!("[{}]", text.join(",")));
    let rules: Vec<_> = (0..200)
        .map(|number| format!("    - {{id: c{number}, name: 'get_*', args: {{'$.a[*]': {{expect: {{predicate: 'value == 1'}}}}}}, after: get_1}}\n"))
        .collect();
    let judged = judge(
        &contract("readonly", &format!("verification:\n  toolCalls:\n{}", rules.concat())),
        "<result>{}</result>",
        Some(&trace),
    );
    assert!(judged.rules.iter().all(|rule| rule.outcome == RuleOutcome::Unknown), "{:?}", judged.rules.first());
}

#[test]
fn what_a_limit_kept_from_being_found_is_not_absent() {
    let contract =
        contract("readonly", "verification:\n  evidence:\n    - {id: e, path: '$..[?@..secret]', expect: absent}\n");
    let deep = format!("<result>{{\"a\": {}1{}, \"b\": {{\"secret\": 1}}}}</result>", "[".repeat(60), ",1]".repeat(60));
    let wide: Vec<_> = (0..20_000).map(|number| format!("{{\"x\": {number}}}")).collect();
    let wide = format!("<result>{{\"a\": [{}], \"b\": {{\"c\": {{\"secret\": 1}}}}}}</result>", wide.join(","));
    for response in [deep, wide] {
        let judged = judge(&contract, &response, None);
        assert_ne!(rule(&judged, "e").outcome, RuleOutcome::Met, "{judged:?}");
    }
}

#[test]
fn an_evaluation_nobody_waits_for_stops() {
    let contract = contract("readonly", &rules(200, "expect: {predicate: 'value >= 0'}"));
    let payload = response::extract(items(100_000).as_bytes());
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    let receipts = proofmark_evidence::Evidence::default();
    let evidence = AttemptEvidence { payload: &payload, trace: None, receipts: &receipts, now: &now, context: None };
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 5
    };
    assert!(evaluate_until(&contract, &evidence, &stop).is_err());
    assert_eq!(asked.get(), 6);
    assert_eq!(evaluate_until(&contract, &evidence, &|| false).unwrap(), evaluate(&contract, &evidence));
}
