//! Cases of a policy, and which rules they reach.

use proofmark_boundary::{Cases, Coverage};

use crate::rules::POLICY;
use crate::support::{policy, yaml};

const CASES: &str = r#"
policy: policy.yaml
cases:
  - name: all there
    now: '2026-03-01T12:00:00Z'
    request: &request
      action: {tool: update_ticket, class: record_mutation, target: T-1, args: {status: resolved, patch: p}}
      facts: [{payload: {ticket_id: T-1, approved_by: ann}}]
      calls: [{tool: edit_file}, {tool: run_tests, status: succeeded}]
      taint: []
      context_fill_pct: 0.1
    receipts: [{of: p}]
    approvals: [{role: release-manager}, {role: release-manager, reviewer: 2}]
    expect: {outcome: allow, disposition: continue_downstream, reasons: []}
  - name: spent
    request:
      action: {tool: update_ticket, class: record_mutation, target: T-1, args: {status: resolved, patch: p}}
    receipts: [{of: p, spent: true}]
    denied: 1
    expect: {outcome: allow}
"#;

#[test]
fn cases_pass_or_say_what_differs() {
    let text = CASES.replace("&request", "");
    let cases = Cases::read(&yaml(&text)).unwrap();
    assert_eq!(cases.policy.as_deref(), Some("policy.yaml"));
    let policy = policy(POLICY);
    let results: Vec<_> = cases.cases.iter().map(|case| case.run(&policy)).collect();
    assert!(results[0].differences.is_empty(), "{:?}", results[0]);
    assert_eq!(results[1].differences, ["outcome is `replan_required`, expected `allow`"]);
}

#[test]
fn coverage_names_what_no_case_hit() {
    let policy = policy(POLICY);
    let cases = Cases::read(&yaml(&CASES.replace("&request", ""))).unwrap();
    let mut coverage = Coverage::new(&policy);
    assert_eq!(coverage.never_reached().count(), 7);
    coverage.add(&cases.cases[0].run(&policy).decision);
    assert_eq!(coverage.never_reached().count(), 0);
    assert_eq!(coverage.never_hit().count(), 6);
    coverage.add(&cases.cases[1].run(&policy).decision);
    let hit: Vec<_> = coverage.rules().iter().filter(|rule| rule.hit > 0).map(|rule| rule.rule.as_str()).collect();
    assert!(hit.contains(&"boundaries[0].require[1]"), "{hit:?}");
}

#[test]
fn cases_are_read_strictly() {
    for (text, code) in [
        ("cases: []", "empty"),
        ("{}", "missing_field"),
        ("cases: [{name: a}]", "missing_field"),
        ("cases: [{name: a, request: {action: {}}, expect: {outcome: allow}}]", "invalid_value"),
        ("cases: [{name: a, request: {action: {tool: t, class: upload}}, expect: {outcome: fine}}]", "invalid_value"),
        (
            "cases: [{name: a, request: {action: {tool: t, class: upload}}, receipts: [{}], expect: {outcome: allow}}]",
            "conflicting_fields",
        ),
    ] {
        assert_eq!(Cases::read(&yaml(text)).unwrap_err().code(), code, "{text}");
    }
}
