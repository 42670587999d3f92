use proofmark_contract::{Decision, Outcome, ReceiptFact, Standing};
use proofmark_receipt::{
    Answer, Draft, Hashes, InvalidCause, Object, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Trust,
    Verdict,
};

use super::{calls, contract, indented, judge, judge_with, rule};

const UI: &str = r#"```result
{"ui": true, "count": 1.0, "note": null, "empty": "", "items": [{"sku": "a"}, {"sku": "b"}], "big": 1e6200}
```"#;

#[test]
fn payload_rules() {
    use Outcome::{Met, Unknown, Unmet};
    use Standing::{Absent, SelfReported};
    let response = UI.replace(", \"big\": 1e6200", "");
    let table = [
        ("path: ui, expect: true", Met, SelfReported),
        ("path: ui, expect: 'true'", Unmet, SelfReported),
        ("path: count, expect: 1", Met, SelfReported),
        ("path: count, expect: 2", Unmet, SelfReported),
        ("path: missing, expect: true", Unknown, Absent),
        ("path: note, expect: present", Unknown, Absent),
        ("path: empty, expect: present", Unknown, Absent),
        ("path: note, expect: absent", Met, SelfReported),
        ("path: missing, expect: absent", Met, SelfReported),
        ("path: ui, expect: absent", Unmet, SelfReported),
        ("path: 'items[1].sku', expect: b", Met, SelfReported),
        ("path: items.1.sku, expect: b", Met, SelfReported),
        ("path: items, expect: {equals: [{sku: a}, {sku: b}]}", Met, SelfReported),
        ("path: items, expect: {predicate: value.size() > 1}", Met, SelfReported),
        ("path: items, expect: {predicate: value.size() > 2}", Unmet, SelfReported),
        ("path: items, expect: {predicate: 'value.size() > 1 && payload.ui'}", Met, SelfReported),
        ("path: items, expect: {predicate: value > 2}", Unknown, Absent),
        ("path: '$.items[*].sku', expect: present", Met, SelfReported),
        ("path: '$.items[*].sku', expect: a", Unmet, SelfReported),
        ("path: \"$.items[?@.sku == 'b'].sku\", expect: b", Met, SelfReported),
        ("path: \"$.items[?@.sku == 'z'].sku\", expect: present", Unknown, Absent),
        ("path: '$.items[*].price', expect: present", Unknown, Absent),
    ];
    for (line, outcome, status) in table {
        let contract = contract("readonly", &format!("verification: {{evidence: [{{id: r, {line}}}]}}"));
        let judgment = judge(&contract, &response, None);
        let found = rule(&judgment, "r");
        assert_eq!((found.outcome, found.status), (outcome, status), "{line}: {}", found.message);
        assert_eq!(found.missing.is_empty(), outcome != Unknown, "{line}");
        let expected = if outcome == Met { Decision::Accept } else { Decision::RejectAndRetry };
        assert_eq!(judgment.decision, expected, "{line}");
    }
}

#[test]
fn a_payload_that_can_not_be_held_exactly_is_unknown() {
    let contract = contract("readonly", "verification: {evidence: [{id: r, path: ui, expect: true}]}");
    assert_eq!(rule(&judge(&contract, UI, None), "r").outcome, Outcome::Unknown);
}

const TRACE: &str = r#"
{"name": "get_order", "args": {"id": "o-17", "count": 1}, "result": {"total": 25}}
{"name": "get_order", "args": {"id": "o-18"}, "result": {"total": 30}}
{"name": "book_flight", "args": {"id": "o-17"}, "error": "no seats"}
{"name": "book_flight", "args": {"id": "o-17"}, "result": "booked"}
{"name": "deploy", "args": {"env": "prod"}}
"#;

#[test]
fn tool_call_rules() {
    use Outcome::{Met, Unknown, Unmet};
    use Standing::{Absent, Observed};
    let table = [
        ("name: get_order", Met, Observed, vec![0, 1]),
        ("name: get_*", Met, Observed, vec![0, 1]),
        ("name: get_order, min: 3", Unmet, Observed, vec![0, 1]),
        ("name: get_order, max: 1", Unmet, Observed, vec![0, 1]),
        ("name: cancel, max: 0", Met, Absent, vec![]),
        ("name: cancel", Unmet, Absent, vec![]),
        ("name: deploy", Unmet, Absent, vec![]),
        ("name: deploy, status: any", Met, Observed, vec![4]),
        // It has no result, and may have happened.
        ("name: deploy, max: 0", Unmet, Absent, vec![]),
        ("name: book_flight", Met, Observed, vec![3]),
        ("name: book_flight, min: 2, status: any", Met, Observed, vec![2, 3]),
        ("name: book_flight, min: 2", Unmet, Observed, vec![3]),
        ("name: get_order, args: {id: {expect: o-18}}", Met, Observed, vec![1]),
        ("name: get_order, args: {count: {expect: 1.0}}", Met, Observed, vec![0]),
        ("name: get_order, args: {id: {expect: o-19}}", Unmet, Absent, vec![]),
        ("name: get_order, args: {count: {expect: absent}}", Met, Observed, vec![1]),
        ("name: get_order, exactArgs: {count: 1.0, id: o-17}", Met, Observed, vec![0]),
        ("name: get_order, exactArgs: {id: o-17}", Unmet, Absent, vec![]),
        ("name: get_order, result: {total: {expect: {predicate: value > 26}}}", Met, Observed, vec![1]),
        ("name: get_order, result: {total: {expect: 1}}", Unmet, Absent, vec![]),
        ("name: book_flight, result: {$: {expect: booked}}", Met, Observed, vec![3]),
        ("name: get_order, when: payload.ui == false", Met, Absent, vec![]),
        ("name: cancel, when: payload.ui == false", Met, Absent, vec![]),
        ("name: get_order, when: payload.ui == true", Met, Observed, vec![0, 1]),
        ("name: get_order, when: payload.gone == true", Unknown, Absent, vec![]),
        ("name: get_order, when: calls.size() == 5", Met, Observed, vec![0, 1]),
        ("name: book_flight, after: get_order", Met, Observed, vec![3]),
        ("name: book_flight, after: deploy", Unmet, Absent, vec![]),
        ("name: book_flight, after: cancel", Unmet, Absent, vec![]),
        ("name: get_order, before: book_flight", Met, Observed, vec![0, 1]),
        ("name: book_flight, before: get_order", Unmet, Absent, vec![]),
    ];
    let trace = calls(TRACE);
    for (line, outcome, status, expected) in table {
        let contract = contract("readonly", &format!("verification: {{toolCalls: [{{id: r, {line}}}]}}"));
        let judgment = judge(&contract, UI.replace("1e6200", "0").as_str(), Some(&trace));
        let found = rule(&judgment, "r");
        assert_eq!((found.outcome, found.status), (outcome, status), "{line}: {}", found.message);
        assert_eq!(found.calls, expected, "{line}: {}", found.message);
    }
}

#[test]
fn without_a_trace_calls_are_unknown() {
    for line in ["name: get_order", "name: get_order, max: 0"] {
        let contract = contract("readonly", &format!("verification: {{toolCalls: [{{id: r, {line}}}]}}"));
        let judgment = judge(&contract, "{}", None);
        assert_eq!(rule(&judgment, "r").outcome, Outcome::Unknown);
        assert_eq!(rule(&judgment, "r").missing[0].path, "trace");
    }
}

#[test]
fn the_order_of_parallel_calls_is_not_made_up() {
    let parallel = calls(
        r#"[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "get_a", "arguments": "{}"}}, {"id": "2", "function": {"name": "get_b", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"}, {"role": "tool", "tool_call_id": "2", "content": "x"}]"#,
    );
    let contract =
        contract("readonly", "verification: {toolCalls: [{id: r, name: get_b, after: get_a}, {name: get_a}]}");
    assert_eq!(rule(&judge(&contract, "{}", Some(&parallel)), "r").outcome, Outcome::Unmet);
}

#[test]
fn in_a_mutating_step_nothing_else_may_change() {
    let block = "verification: {toolCalls: [{name: book_flight, exactArgs: {count: 1}}]}";
    let good = r#"{"name": "book_flight", "args": {"count": 1}, "result": "ok"}"#;
    let table = [
        ("", Decision::Accept, vec![]),
        (r#"{"name": "get_order", "result": 1}"#, Decision::Accept, vec![]),
        (r#"{"name": "book_flight", "args": {"count": 2}, "error": "no"}"#, Decision::Accept, vec![]),
        (r#"{"name": "book_flight", "args": {"count": 2}, "result": 1}"#, Decision::RejectAndRetry, vec![1]),
        (r#"{"name": "deploy", "result": 1}"#, Decision::RejectAndRetry, vec![1]),
        (r#"{"name": "deploy"}"#, Decision::RejectAndRetry, vec![1]),
        (r#"{"name": "undeclared", "result": 1}"#, Decision::RejectAndRetry, vec![1]),
    ];
    for (other, decision, offenders) in table {
        let trace = calls(&format!("{good}\n{other}"));
        let judgment = judge(&contract("mutating", block), "{}", Some(&trace));
        assert_eq!(judgment.decision, decision, "{other}");
        assert_eq!(rule(&judgment, "noOtherMutations").calls, offenders, "{other}");
        let lax = contract("mutating", &block.replace("]}", "], noOtherMutations: false}"));
        assert_eq!(judge(&lax, "{}", Some(&trace)).decision, Decision::Accept, "{other}");
    }
}

#[test]
fn a_result_that_only_reads_like_an_error_may_have_changed_something() {
    let trace = calls(
        r#"[{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "book_flight", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "Error: no seats"}]}]"#,
    );
    let contract = contract("mutating", "verification: {toolCalls: [{id: r, name: book_flight}]}");
    let judgment = judge(&contract, "{}", Some(&trace));
    assert_eq!(rule(&judgment, "r").outcome, Outcome::Unmet);
    assert_eq!(rule(&judgment, "noOtherMutations").outcome, Outcome::Unmet);
}

fn receipt(output: &[u8], verdict: Verdict, tier: u8, id: u8) -> ReceiptFact {
    let key = SigningKey::from_seed([1; 32]);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([id; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier,
        verdict,
        task: None,
        results: match verdict {
            Verdict::Pass => Results { total: 1, passed: 1, ..Results::default() },
            _ => Results { total: 1, failed: 1, ..Results::default() },
        },
        hashes: Hashes { specification: Sha256Digest::of(b""), output: Sha256Digest::of(output), tests: None },
        metadata: Object::new(),
    };
    ReceiptFact {
        receipt: draft.sign(&key).unwrap(),
        answer: Answer::Valid,
        trust: Trust::Trusted,
        signer: Some(key.signer()),
        spent: false,
        age_ms: 1_000,
    }
}

#[test]
fn receipt_rules() {
    use Outcome::{Met, Unknown, Unmet};
    let good = receipt(b"artifact", Verdict::Pass, 0, 7);
    let changed = |change: fn(&mut ReceiptFact)| {
        let mut fact = good.clone();
        change(&mut fact);
        vec![fact]
    };
    let key = SigningKey::from_seed([1; 32]).signer();
    let full = "output: payload.sha, signer: trusted, max_age: 1h, single_use: true";
    let table = [
        (full.to_owned(), vec![good.clone()], Met),
        ("output: payload.bare".to_owned(), vec![good.clone()], Met),
        (format!("output: '{}'", Sha256Digest::of(b"artifact")), vec![good.clone()], Met),
        ("output: payload.gone".to_owned(), vec![good.clone()], Unknown),
        ("output: payload.word".to_owned(), vec![good.clone()], Unknown),
        (full.to_owned(), vec![], Unknown),
        (full.to_owned(), vec![receipt(b"other", Verdict::Pass, 0, 7)], Unmet),
        (full.to_owned(), vec![receipt(b"other", Verdict::Pass, 0, 8), good.clone()], Met),
        (full.to_owned(), vec![receipt(b"artifact", Verdict::Fail, 0, 7)], Unmet),
        (full.to_owned(), changed(|fact| fact.spent = true), Unmet),
        ("output: payload.sha".to_owned(), changed(|fact| fact.spent = true), Met),
        (full.to_owned(), changed(|fact| fact.age_ms = 3_600_001), Unmet),
        (full.to_owned(), changed(|fact| fact.age_ms = -1), Unmet),
        (full.to_owned(), changed(|fact| fact.answer = Answer::Invalid(InvalidCause::Signature)), Unmet),
        (full.to_owned(), changed(|fact| fact.trust = Trust::Unknown), Unmet),
        (full.to_owned(), changed(|fact| fact.trust = Trust::Untrusted), Unmet),
        ("signer: any".to_owned(), changed(|fact| fact.trust = Trust::Untrusted), Met),
        ("signer: any".to_owned(), changed(|fact| fact.answer = Answer::Invalid(InvalidCause::ContentHash)), Unmet),
        (format!("signer: '{key}'"), changed(|fact| fact.trust = Trust::Untrusted), Met),
        (format!("signer: '{}'", SigningKey::from_seed([2; 32]).signer()), vec![good.clone()], Unmet),
        ("tier: 0".to_owned(), vec![good.clone()], Met),
        ("tier: [1, 2]".to_owned(), vec![good.clone()], Unmet),
        ("verdict: fail".to_owned(), vec![receipt(b"artifact", Verdict::Fail, 0, 7)], Met),
    ];
    let digest = Sha256Digest::of(b"artifact");
    let response = format!(r#"{{"sha": "{digest}", "bare": "{}", "word": "artifact"}}"#, digest.bare_hex());
    let payload = proofmark_contract::response::extract(response.as_bytes());
    for (line, receipts, outcome) in table {
        let contract = contract(
            "mutating",
            &format!("verification:\n  noOtherMutations: false\n  receipts:\n    - {{id: r, {line}}}"),
        );
        let judgment = judge_with(&contract, &payload, None, &receipts);
        let found = rule(&judgment, "r");
        assert_eq!(found.outcome, outcome, "{line}: {}", found.message);
        let status = if outcome == Met { Standing::Verified } else { Standing::Absent };
        assert_eq!(found.status, status, "{line}");
        assert_eq!(judgment.decision == Decision::Accept, outcome == Met, "{line}");
        assert_eq!(judgment.spends.len(), usize::from(outcome == Met && line.contains("single_use")), "{line}");
    }
}

#[test]
fn one_receipt_is_not_used_once_twice() {
    let rules = "verification:\n  receipts:\n".to_owned()
        + &indented("- {id: a, single_use: true}\n- {id: b, single_use: true}", 4);
    let contract = contract("readonly", &rules);
    let payload = proofmark_contract::response::extract(b"{}");
    let one = receipt(b"x", Verdict::Pass, 0, 7);
    let other = receipt(b"x", Verdict::Pass, 0, 8);
    let judgment = judge_with(&contract, &payload, None, std::slice::from_ref(&one));
    assert_eq!([rule(&judgment, "a").outcome, rule(&judgment, "b").outcome], [Outcome::Met, Outcome::Unmet]);
    let judgment = judge_with(&contract, &payload, None, &[one, other]);
    assert_eq!(judgment.decision, Decision::Accept);
    assert_eq!(judgment.spends.len(), 2);
}
