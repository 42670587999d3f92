use proofmark_contract::{AttemptEvidence, Contract, NotGiven, evaluate, not_given, response};
use proofmark_receipt::{Json, Timestamp};

use super::{NOW_MS, calls, indented, workflow};

/// What the caller of an attempt at the one step of a workflow left out.
fn lacks(rules: &str, payload: &str, trace: Option<&str>, context: Option<&str>) -> Option<NotGiven> {
    let text = format!(
        "name: w\nclass: readonly\ncontext: {{ticket: string, limit: number, tags: list}}\nsteps:\n  - id: s\n    verification:\n{}",
        indented(rules, 6)
    );
    let workflow = workflow(&text);
    let contract = Contract::of(&workflow, "s", None, NOW_MS).unwrap();
    let (payload, trace) = (response::extract(payload.as_bytes()), trace.map(calls));
    let context = context.map(|text| Json::parse(text.as_bytes()).unwrap());
    let (receipts, now) = (proofmark_evidence::Evidence::new(Vec::new()), Timestamp::from_unix_millis(NOW_MS));
    let evidence = AttemptEvidence {
        payload: &payload,
        trace: trace.as_ref(),
        receipts: &receipts,
        now: &now,
        context: context.as_ref(),
    };
    not_given(&workflow, &evaluate(&contract, &evidence), &evidence)
}

fn context(name: &str) -> Option<NotGiven> {
    Some(NotGiven::Context(name.to_owned()))
}

#[test]
fn a_trace_is_lacking_where_a_rule_reads_calls() {
    let (plain, done) = ("evidence: [{path: a, expect: 1}]", r#"{"a": 1}"#);
    let by_tool = format!("{plain}\ntoolCalls: [{{name: get_order}}]");
    let by_mutation = format!("{plain}\nnoOtherMutations: true");
    let by_predicate = "evidence: [{path: a, expect: {predicate: 'calls.size() > 0'}}]";
    let sometimes = format!("{plain}\ntoolCalls: [{{name: get_order, when: payload.a == 2}}]");
    for rules in [&by_tool, &by_mutation, by_predicate] {
        assert_eq!(lacks(rules, done, None, None), Some(NotGiven::Trace), "{rules}");
        assert_eq!(lacks(rules, done, Some("[]"), None), None, "{rules}");
    }
    assert_eq!(lacks(plain, r#"{"a": 2}"#, None, None), None, "no rule is about calls");
    assert_eq!(lacks(&sometimes, done, None, None), None, "the rule does not apply");
    assert_eq!(lacks(&format!("onMissingEvidence: warn\n{by_tool}"), done, None, None), None, "it is accepted");
}

#[test]
fn a_fact_of_the_context_is_lacking_where_a_rule_reads_it() {
    let by = |predicate: &str| format!("evidence: [{{path: a, expect: {{predicate: \"{predicate}\"}}}}]");
    let ticket = by("value == context.ticket");
    let done = r#"{"a": "T-1"}"#;
    for given in [None, Some("{}"), Some(r#"{"limit": 1}"#), Some(r#"{"ticket": 1}"#)] {
        assert_eq!(lacks(&ticket, done, None, given), context("ticket"), "{given:?}");
    }
    assert_eq!(lacks(&ticket, done, None, Some(r#"{"ticket": "T-1"}"#)), None);
    assert_eq!(lacks(&ticket, done, None, Some(r#"{"ticket": "T-2"}"#)), None, "that is the agent's mistake");
    assert_eq!(lacks("evidence: [{path: a, expect: 2}]", done, None, None), None, "no rule reads the context");
}

#[test]
fn what_the_agent_writes_never_makes_an_attempt_free() {
    // The payload chooses which part of the context is read; that part is missing for the agent's reasons.
    let rules = "evidence: [{path: a, expect: {predicate: 'context.tags[value] == 1'}}]";
    for payload in [r#"{"a": 7}"#, r#"{"a": "x"}"#, "no block"] {
        assert_eq!(lacks(rules, payload, None, Some(r#"{"tags": [1]}"#)), None, "{payload}");
    }
}
