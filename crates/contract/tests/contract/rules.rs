use proofmark_contract::{AttemptOutcome, RuleOutcome};
use proofmark_evidence::{Comparison, EvidenceStatus, ReceiptFact, ReceiptKind, suite_digest};
use proofmark_receipt::{Sha256Digest, SigningKey, Timestamp, Trust, Verdict};

use super::{NOW_MS, calls, contract, indented, judge, judge_with, rule};

const UI: &str = r#"```result
{"ui": true, "count": 1.0, "note": null, "empty": "", "items": [{"sku": "a"}, {"sku": "b"}], "big": 1e6200}
```"#;

#[test]
fn payload_rules() {
    use EvidenceStatus::{Absent, SelfReported};
    use RuleOutcome::{Met, Unknown, Unmet};
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
        let expected = if outcome == Met { AttemptOutcome::Accept } else { AttemptOutcome::RejectAndRetry };
        assert_eq!(judgment.outcome, expected, "{line}");
    }
}

#[test]
fn a_payload_that_cannot_be_held_exactly_is_unknown() {
    let contract = contract("readonly", "verification: {evidence: [{id: r, path: ui, expect: true}]}");
    assert_eq!(rule(&judge(&contract, UI, None), "r").outcome, RuleOutcome::Unknown);
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
    use EvidenceStatus::{Absent, Observed};
    use RuleOutcome::{Met, Unknown, Unmet};
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
        assert_eq!(rule(&judgment, "r").outcome, RuleOutcome::Unknown);
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
    assert_eq!(rule(&judge(&contract, "{}", Some(&parallel)), "r").outcome, RuleOutcome::Unmet);
}

#[test]
fn in_a_mutating_step_nothing_else_may_change() {
    let block = "verification: {toolCalls: [{name: book_flight, exactArgs: {count: 1}}]}";
    let good = r#"{"name": "book_flight", "args": {"count": 1}, "result": "ok"}"#;
    let table = [
        ("", AttemptOutcome::Accept, vec![]),
        (r#"{"name": "get_order", "result": 1}"#, AttemptOutcome::Accept, vec![]),
        (r#"{"name": "book_flight", "args": {"count": 2}, "error": "no"}"#, AttemptOutcome::Accept, vec![]),
        (r#"{"name": "book_flight", "args": {"count": 2}, "result": 1}"#, AttemptOutcome::RejectAndRetry, vec![1]),
        (r#"{"name": "deploy", "result": 1}"#, AttemptOutcome::RejectAndRetry, vec![1]),
        (r#"{"name": "deploy"}"#, AttemptOutcome::RejectAndRetry, vec![1]),
        (r#"{"name": "undeclared", "result": 1}"#, AttemptOutcome::RejectAndRetry, vec![1]),
    ];
    for (other, decision, offenders) in table {
        let trace = calls(&format!("{good}\n{other}"));
        let judgment = judge(&contract("mutating", block), "{}", Some(&trace));
        assert_eq!(judgment.outcome, decision, "{other}");
        assert_eq!(rule(&judgment, "noOtherMutations").calls, offenders, "{other}");
        let lax = contract("mutating", &block.replace("]}", "], noOtherMutations: false}"));
        assert_eq!(judge(&lax, "{}", Some(&trace)).outcome, AttemptOutcome::Accept, "{other}");
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
    assert_eq!(rule(&judgment, "r").outcome, RuleOutcome::Unmet);
    assert_eq!(rule(&judgment, "noOtherMutations").outcome, RuleOutcome::Unmet);
}

fn receipt(output: &[u8], verdict: Verdict, tier: u8, id: u8) -> ReceiptFact {
    let (specification, tests) = (Sha256Digest::of(b"spec"), Sha256Digest::of(b"tests"));
    ReceiptFact {
        verdict,
        tier,
        output: Sha256Digest::of(output),
        specification,
        tests: Some(tests),
        suite: Some(suite_digest(&specification, &tests)),
        signer: Some(SigningKey::from_seed([1; 32]).signer()),
        ..ReceiptFact::blank(&format!("r{id}"), &Timestamp::from_unix_millis(NOW_MS - 1_000))
    }
}

fn aged(fact: &mut ReceiptFact, age_ms: i64) {
    fact.verified_at = Timestamp::from_unix_millis(NOW_MS - age_ms);
}

#[test]
fn receipt_rules() {
    use RuleOutcome::{Met, Unknown, Unmet};
    let good = receipt(b"artifact", Verdict::Pass, 0, 7);
    let changed = |change: fn(&mut ReceiptFact)| {
        let mut fact = good.clone();
        change(&mut fact);
        vec![fact]
    };
    let key = SigningKey::from_seed([1; 32]).signer();
    let full = "any_suite: true, output: payload.sha, signer: trusted, max_age: 1h, single_use: true";
    let suite = good.suite.unwrap();
    let spec = good.specification;
    let any = |rest: &str| format!("any_suite: true, {rest}");
    let table = [
        (full.to_owned(), vec![good.clone()], Met),
        (any("output: payload.bare"), vec![good.clone()], Met),
        (any(&format!("output: '{}'", Sha256Digest::of(b"artifact"))), vec![good.clone()], Met),
        (any("output: payload.gone"), vec![good.clone()], Unknown),
        (any("output: payload.word"), vec![good.clone()], Unknown),
        (full.to_owned(), vec![], Unknown),
        (full.to_owned(), vec![receipt(b"other", Verdict::Pass, 0, 7)], Unmet),
        (full.to_owned(), vec![receipt(b"other", Verdict::Pass, 0, 8), good.clone()], Met),
        (full.to_owned(), vec![receipt(b"artifact", Verdict::Fail, 0, 7)], Unmet),
        (full.to_owned(), changed(|fact| fact.spent = true), Unmet),
        ("anySuite: true, output: payload.sha, singleUse: true".to_owned(), changed(|fact| fact.spent = true), Unmet),
        ("anySuite: true, output: payload.sha, maxAge: 1h".to_owned(), changed(|fact| aged(fact, 3_600_001)), Unmet),
        (any("output: payload.sha"), changed(|fact| fact.spent = true), Met),
        (full.to_owned(), changed(|fact| aged(fact, 3_600_001)), Unmet),
        // Clocks differ by a minute, and by no more, whether the rule has a limit of age or not.
        (full.to_owned(), changed(|fact| aged(fact, -1)), Met),
        (full.to_owned(), changed(|fact| aged(fact, -60_001)), Unmet),
        (any("output: payload.sha"), changed(|fact| aged(fact, -60_001)), Unmet),
        (full.to_owned(), changed(|fact| fact.valid = false), Unmet),
        (full.to_owned(), changed(|fact| fact.trust = Trust::Unknown), Unmet),
        (full.to_owned(), changed(|fact| fact.trust = Trust::Untrusted), Unmet),
        (any("signer: any"), vec![good.clone()], Met),
        (any("signer: any"), changed(|fact| fact.valid = false), Unmet),
        (any(&format!("signer: '{key}'")), changed(|fact| fact.trust = Trust::Untrusted), Met),
        (any(&format!("signer: ['{}', '{key}']", SigningKey::from_seed([2; 32]).signer())), vec![good.clone()], Met),
        (any(&format!("signer: '{}'", SigningKey::from_seed([2; 32]).signer())), vec![good.clone()], Unmet),
        (any("tier: 0"), vec![good.clone()], Met),
        (any("tier: [1, 2]"), vec![good.clone()], Unmet),
        (any("verdict: fail"), vec![receipt(b"artifact", Verdict::Fail, 0, 7)], Met),
        // What was proven is part of the evidence.
        (format!("suite: '{suite}'"), vec![good.clone()], Met),
        (format!("suite: '{suite}'"), changed(|fact| fact.suite = Some(Sha256Digest::of(b"trivial"))), Unmet),
        (format!("suite: '{suite}'"), changed(|fact| fact.suite = None), Unmet),
        (format!("specification: '{spec}'"), vec![good.clone()], Met),
        (format!("specification: '{}'", Sha256Digest::of(b"other")), vec![good.clone()], Unmet),
        (any(&format!("tests: '{}'", Sha256Digest::of(b"tests"))), vec![good.clone()], Met),
        (any(&format!("tests: '{}'", Sha256Digest::of(b"other"))), vec![good.clone()], Unmet),
        // A kind never stands for another.
        (full.to_owned(), changed(|fact| fact.kind = Some(ReceiptKind::StepAcceptance)), Unmet),
        (full.to_owned(), changed(|fact| fact.kind = Some(ReceiptKind::Approval)), Unmet),
        (full.to_owned(), changed(|fact| fact.kind = None), Unmet),
        (any("kind: step_acceptance"), vec![good.clone()], Unmet),
        (any("kind: step_acceptance"), changed(|fact| fact.kind = Some(ReceiptKind::StepAcceptance)), Met),
        // What was compared in the submission's process counts only where the rule says so.
        (full.to_owned(), changed(|fact| fact.comparison = Some(Comparison::InProcess)), Unmet),
        (any("comparison: in_process"), changed(|fact| fact.comparison = Some(Comparison::InProcess)), Met),
        (any("comparison: in_process"), vec![good.clone()], Met),
        (any("comparison: in_process"), changed(|fact| fact.comparison = None), Unmet),
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
        let status = if outcome == Met { EvidenceStatus::Verified } else { EvidenceStatus::Absent };
        assert_eq!(found.status, status, "{line}");
        let has = |snake: &str, camel: &str| line.contains(snake) || line.contains(camel);
        assert_eq!(found.any_suite, has("any_suite", "anySuite"), "{line}");
        assert_eq!(judgment.outcome == AttemptOutcome::Accept, outcome == Met, "{line}");
        assert_eq!(judgment.spends.len(), usize::from(outcome == Met && has("single_use", "singleUse")), "{line}");
    }
}

#[test]
fn a_receipt_anyone_may_have_signed_is_the_agents_word() {
    let stranger = ReceiptFact { trust: Trust::Untrusted, ..receipt(b"artifact", Verdict::Pass, 0, 7) };
    let block = "verification: {noOtherMutations: false, receipts: [{id: r, any_suite: true, signer: any}]}";
    let judgment = judge_with(
        &contract("mutating", block),
        &proofmark_contract::response::extract(b"{}"),
        None,
        std::slice::from_ref(&stranger),
    );
    assert_eq!(rule(&judgment, "r").outcome, RuleOutcome::Met);
    assert_eq!(rule(&judgment, "r").status, EvidenceStatus::SelfReported);
    assert_eq!(rule(&judgment, "ground").outcome, RuleOutcome::Unmet);
}

#[test]
fn receipts_are_given_to_the_rules_that_need_them() {
    let rules = "verification:\n  receipts:\n".to_owned()
        + &indented(
            "- {id: a, any_suite: true, single_use: true}\n- {id: b, any_suite: true, tier: 0, single_use: true}",
            4,
        );
    let contract = contract("readonly", &rules);
    let payload = proofmark_contract::response::extract(b"{}");
    // The better receipt for the first rule is the only one for the second.
    let only = receipt(b"x", Verdict::Pass, 0, 7);
    let mut older = receipt(b"x", Verdict::Pass, 1, 8);
    aged(&mut older, 5_000);
    for receipts in [[only.clone(), older.clone()], [older, only]] {
        let judgment = judge_with(&contract, &payload, None, &receipts);
        assert_eq!(judgment.outcome, AttemptOutcome::Accept);
        assert_eq!(rule(&judgment, "a").message, "receipt r8");
        assert_eq!(rule(&judgment, "b").message, "receipt r7");
    }
}

#[test]
fn a_later_call_that_may_have_happened_breaks_the_order() {
    let block = "verification: {toolCalls: [{id: edit, name: edit_file, result: {ok: {expect: true}}}, {id: r, name: get_tests, after: edit}]}";
    let good = r#"{"name": "edit_file", "args": {}, "result": {"ok": true}}
{"name": "get_tests", "args": {}, "result": "passed"}"#;
    let table = [
        ("", RuleOutcome::Met),
        (r#"{"name": "edit_file", "args": {}}"#, RuleOutcome::Unmet),
        (r#"{"name": "edit_file", "args": {}, "status": "doubtful", "result": {"ok": true}}"#, RuleOutcome::Unmet),
        (r#"{"name": "edit_file", "args": {}, "status": "pending"}"#, RuleOutcome::Unmet),
        (r#"{"name": "edit_file", "args": {}, "status": "blocked"}"#, RuleOutcome::Met),
        (r#"{"name": "edit_file", "args": {}, "error": "no such file"}"#, RuleOutcome::Met),
        (r#"{"name": "edit_file", "args": {}, "result": {"ok": true}}"#, RuleOutcome::Unmet),
    ];
    for (later, outcome) in table {
        let trace = calls(&format!("{good}\n{later}"));
        let judgment = judge(&contract("readonly", block), "{}", Some(&trace));
        assert_eq!(rule(&judgment, "r").outcome, outcome, "{later}: {}", rule(&judgment, "r").message);
    }
    // Nor is it known whether a call without an end, made earlier, ended before.
    let trace = calls(&format!("{{\"name\": \"edit_file\", \"args\": {{}}}}\n{good}"));
    assert_eq!(rule(&judge(&contract("readonly", block), "{}", Some(&trace)), "r").outcome, RuleOutcome::Unmet);
    // The same in front of the rule that has to come first.
    let before = "verification: {toolCalls: [{id: pay, name: pay, args: {amount: {expect: 1}}}, {id: r, name: get_quote, before: pay}]}";
    let trace = calls(
        r#"{"name": "pay", "args": {"amount": 1}}
{"name": "get_quote", "args": {}, "result": 1}
{"name": "pay", "args": {"amount": 1}, "result": 1}"#,
    );
    assert_eq!(rule(&judge(&contract("readonly", before), "{}", Some(&trace)), "r").outcome, RuleOutcome::Unmet);
}

#[test]
fn a_tool_that_failed_is_not_one_to_come_after() {
    for (first, outcome) in [
        ("\"result\": 1", RuleOutcome::Met),
        ("\"error\": \"no\"", RuleOutcome::Unmet),
        ("\"status\": \"blocked\"", RuleOutcome::Unmet),
    ] {
        let trace = calls(&format!(
            r#"{{"name": "get_a", {first}}}
{{"name": "get_b", "result": 1}}"#
        ));
        let block = "verification: {toolCalls: [{id: r, name: get_b, after: get_a}]}";
        // Lint would ask for a rule about `get_a`; the order is judged without one.
        let judgment =
            judge(&contract("readonly", &block.replace("]}", ", {name: get_a, min: 0, max: 9}]}")), "{}", Some(&trace));
        assert_eq!(rule(&judgment, "r").outcome, outcome, "{first}");
    }
}

#[test]
fn a_call_has_its_tool_under_either_name() {
    let trace = calls(r#"{"name": "get_tests", "args": {}, "result": 1}"#);
    for name in ["tool", "name"] {
        let block = format!(
            "verification: {{toolCalls: [{{id: r, name: 'get_t?sts', when: 'calls[0].{name} == \"get_tests\"'}}]}}"
        );
        assert_eq!(rule(&judge(&contract("readonly", &block), "{}", Some(&trace)), "r").calls, [0], "{name}");
    }
}

#[test]
fn one_receipt_is_not_used_once_twice() {
    let rules = "verification:\n  receipts:\n".to_owned()
        + &indented("- {id: a, any_suite: true, single_use: true}\n- {id: b, any_suite: true, single_use: true}", 4);
    let contract = contract("readonly", &rules);
    let payload = proofmark_contract::response::extract(b"{}");
    let one = receipt(b"x", Verdict::Pass, 0, 7);
    let other = receipt(b"x", Verdict::Pass, 0, 8);
    let judgment = judge_with(&contract, &payload, None, std::slice::from_ref(&one));
    assert_eq!([rule(&judgment, "a").outcome, rule(&judgment, "b").outcome], [RuleOutcome::Met, RuleOutcome::Unmet]);
    let judgment = judge_with(&contract, &payload, None, &[one, other]);
    assert_eq!(judgment.outcome, AttemptOutcome::Accept);
    assert_eq!(judgment.spends.len(), 2);
}
