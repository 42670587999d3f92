//! What each kind of rule comes to.

use std::cell::Cell;

use proofmark_boundary::{
    DecisionReceipt, Disposition, MAX_DECISION_STEPS, MAX_SEARCH_STEPS, Request, decide, decide_until,
};
use proofmark_evidence::Evidence;
use proofmark_receipt::ReceiptId;

use crate::support::{approval, causes, codes, decided, moment, policy, receipt, request, yaml};

/// The policy of the reference, a little shortened.
pub(crate) const POLICY: &str = r#"
version: 1
boundaries:
  - id: resolve-ticket
    match: {action_class: record_mutation, tool: update_ticket}
    when: 'action.args.status == "resolved"'
    require:
      - fact: 'facts.exists(f, f.payload.ticket_id == action.target && f.payload.approved_by != "")'
        reason: {code: missing_approval, message: "No lead has approved this ticket."}
        next: {code: ask_lead, message: "Ask the lead to approve the ticket, then retry."}
      - receipt: {any_suite: true, verdict: pass, tier: 0, output: 'sha256(action.args.patch)', signer: trusted, max_age: 1h, single_use: true}
      - approval: {role: release-manager, count: 2, distinct: true}
      - tool_call: {name: run_tests, status: succeeded, after: edit_file}
    deny:
      - when: 'taint.exists(t, t.signal == "prompt_injection")'
        reason: {code: tainted_context, message: "The context is tainted."}
        otherwise: human_review
    warn:
      - when: 'context_fill_pct > 0.9'
        reason: {code: context_nearly_full, message: "The context is nearly full."}
repeat: {same_action_denied: 3, then: human_review}
unmatched: replan_required
mode: enforce
"#;

pub(crate) const REQUEST: &str = r#"
action:
  tool: update_ticket
  class: record_mutation
  target: T-17
  args: {status: resolved, patch: "diff"}
agent: {id: a1, environment: prod, step: s1}
facts: [{type: ticket, payload: {ticket_id: T-17, approved_by: lead}, source: lookup}]
calls: [{tool: edit_file, status: succeeded}, {tool: run_tests, status: succeeded}]
memory: []
taint: []
denies: []
context_fill_pct: 0.5
"#;

#[test]
fn the_policy_of_the_reference_allows_what_meets_it() {
    let (policy, request) = (policy(POLICY), request(REQUEST));
    let documents =
        vec![receipt("r", "diff"), approval(1, "release-manager", &request), approval(2, "release-manager", &request)];
    let decision = decided(&policy, &request, documents);
    assert_eq!(decision.disposition(), Disposition::Allow, "{:?}", decision.findings());
    assert_eq!(decision.spends().len(), 3);
    assert_eq!(decision.expires_at().as_str(), "2026-03-01T12:05:00.000Z");
    assert!(decision.steps() > 0);
}

#[test]
fn every_reason_is_reported_in_policy_order() {
    let request = request(&REQUEST.replace("taint: []", "taint: [{signal: prompt_injection}]").replace("0.5", "0.95"));
    let request_without = proofmark_boundary::Request::from_facts({
        let mut facts = request.facts().clone();
        facts.insert("facts", Vec::new());
        facts.insert("calls", Vec::new());
        facts
    })
    .unwrap();
    let decision = decided(&policy(POLICY), &request_without, Vec::new());
    assert_eq!(
        codes(&decision),
        [
            "tainted_context",
            "missing_approval",
            "missing_receipt",
            "missing_approval",
            "missing_tool_call",
            "context_nearly_full"
        ]
    );
    assert_eq!(decision.disposition(), Disposition::HumanReview);
}

/// One boundary with one rule over one action, and what it comes to.
#[test]
fn rules_come_to_what_the_table_says() {
    const DENY: &str = "deny: [{when: 'WHEN', reason: {code: denied, message: Denied.}, otherwise: OTHERWISE}]";
    let deny = |when: &str, otherwise: &str| DENY.replace("WHEN", when).replace("OTHERWISE", otherwise);
    let fact = |fact: &str, otherwise: &str| format!("require: [{{fact: '{fact}', otherwise: {otherwise}}}]");
    let table: Vec<(String, &str, Disposition, &[&str])> = vec![
        (String::new(), "", Disposition::Allow, &[]),
        (deny("action.args.amount > 1", "human_review"), "args: {amount: 1}", Disposition::Allow, &[]),
        (deny("action.args.amount > 1", "human_review"), "args: {amount: 2}", Disposition::HumanReview, &["denied"]),
        (
            deny("action.args.amount > 1", "goal_fail_terminal"),
            "args: {amount: 2}",
            Disposition::TerminalBlock,
            &["denied"],
        ),
        (deny("action.args.amount > 1", "local"), "args: {amount: 2}", Disposition::LocalReplan, &["denied"]),
        (deny("action.args.amount > 1", "upstream"), "args: {amount: 2}", Disposition::LocalReplan, &["denied"]),
        (
            deny("action.args.amount > 1", "goal_fail_terminal"),
            "args: {}",
            Disposition::LocalReplan,
            &["missing_facts"],
        ),
        (
            deny("action.args.amount > 1", "human_review"),
            "args: {amount: '2'}",
            Disposition::LocalReplan,
            &["missing_facts"],
        ),
        (fact("action.args.amount > 1", "replan_required"), "args: {amount: 2}", Disposition::Allow, &[]),
        (
            fact("action.args.amount > 1", "replan_required"),
            "args: {amount: 1}",
            Disposition::LocalReplan,
            &["requirement_not_met"],
        ),
        (
            fact("action.args.amount > 1", "human_review"),
            "args: {}",
            Disposition::HumanReview,
            &["requirement_not_met"],
        ),
        (
            "warn: [{when: 'action.args.amount > 1', reason: {code: w, message: W.}}]".to_owned(),
            "args: {amount: 2}",
            Disposition::AllowWithWarning,
            &["w"],
        ),
        (
            "warn: [{when: 'action.args.amount > 1', reason: {code: w, message: W.}}]".to_owned(),
            "args: {}",
            Disposition::AllowWithWarning,
            &["w"],
        ),
        ("when: 'action.args.amount > 1'".to_owned(), "args: {amount: 2}", Disposition::Allow, &[]),
        (
            "when: 'action.args.amount > 1'".to_owned(),
            "args: {amount: 1}",
            Disposition::LocalReplan,
            &["unmatched_action"],
        ),
        ("when: 'action.args.amount > 1'".to_owned(), "args: {}", Disposition::LocalReplan, &["missing_facts"]),
    ];
    for (rules, args, disposition, expected) in table {
        let policy = policy(&format!("version: 1\nboundaries:\n  - id: b\n    match: {{tool: t}}\n    {rules}\n"));
        let request = request(&format!("action: {{tool: t, class: upload, {args}}}"));
        let decision = decided(&policy, &request, Vec::new());
        assert_eq!((decision.disposition(), codes(&decision)), (disposition, strings(expected)), "{rules} {args}");
    }
}

#[test]
fn deny_beats_require_beats_warn() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    deny: [{when: 'action.args.d', reason: {code: d, message: D.}, otherwise: local}]
    require: [{fact: 'action.args.r', otherwise: goal_fail_terminal}]
    warn: [{when: 'action.args.w', reason: {code: w, message: W.}}]
",
    );
    for (d, r, w, disposition) in [
        (true, false, true, Disposition::LocalReplan),
        (false, false, true, Disposition::TerminalBlock),
        (false, true, true, Disposition::AllowWithWarning),
        (false, true, false, Disposition::Allow),
    ] {
        let request = request(&format!("action: {{tool: t, class: upload, args: {{d: {d}, r: {r}, w: {w}}}}}"));
        assert_eq!(decided(&policy, &request, Vec::new()).disposition(), disposition, "{d} {r} {w}");
    }
}

#[test]
fn support_comes_from_upstream_where_there_is_one() {
    let with = |otherwise: &str| {
        policy(&format!(
            "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require: [{{fact: 'size(facts) > 0', otherwise: {otherwise}}}]\n"
        ))
    };
    let action = "action: {tool: t, class: upload}\nfacts: []\n";
    let (alone, node) = (request(action), request(&format!("{action}upstream: {{parent_node: planner}}\n")));
    for (otherwise, alone_ruling, node_ruling) in [
        ("replan_required", Disposition::LocalReplan, Disposition::UpstreamReplan),
        ("upstream", Disposition::LocalReplan, Disposition::UpstreamReplan),
        ("local", Disposition::LocalReplan, Disposition::LocalReplan),
    ] {
        let policy = with(otherwise);
        assert_eq!(decided(&policy, &alone, Vec::new()).disposition(), alone_ruling, "{otherwise}");
        assert_eq!(decided(&policy, &node, Vec::new()).disposition(), node_ruling, "{otherwise}");
    }
}

#[test]
fn globs_choose_the_boundaries_and_what_is_absent_may_match() {
    let policy = policy(
        "version: 1
boundaries:
  - {id: any, match: {tool: 'db_*'}}
  - {id: prod, match: {tool: 'db_*', environment: [prod, 'stag*']}, require: [{fact: 'false || action.args.ok'}]}
",
    );
    for (agent, disposition, expected) in [
        ("agent: {environment: dev}", Disposition::Allow, &[][..]),
        ("agent: {environment: prod}", Disposition::LocalReplan, &["requirement_not_met"]),
        ("agent: {environment: staging}", Disposition::LocalReplan, &["requirement_not_met"]),
        ("agent: {}", Disposition::LocalReplan, &["missing_facts"]),
    ] {
        let request = request(&format!("action: {{tool: db_drop, class: system_change}}\n{agent}\n"));
        let decision = decided(&policy, &request, Vec::new());
        assert_eq!((decision.disposition(), codes(&decision)), (disposition, strings(expected)), "{agent}");
    }
}

#[test]
fn what_no_boundary_is_about_is_not_allowed() {
    let unmatched = |rest: &str| policy(&format!("version: 1\nboundaries: []\n{rest}\n"));
    let exempt = |expires: &str| {
        format!(
            "unmatched: allow\nexemptions: [{{reason: trial, approver: ann, expires: '{expires}', match: {{tool: 'read_*'}}}}]"
        )
    };
    let (late, early) = (exempt("2026-04-01T00:00:00Z"), exempt("2026-02-01T00:00:00Z"));
    for (rest, tool, disposition, code) in [
        ("", "t", Disposition::LocalReplan, "unmatched_action"),
        ("unmatched: human_review", "t", Disposition::HumanReview, "unmatched_action"),
        ("unmatched: goal_fail_terminal", "t", Disposition::TerminalBlock, "unmatched_action"),
        (&late, "read_mail", Disposition::AllowWithWarning, "exempted"),
        (&late, "send_mail", Disposition::LocalReplan, "unmatched_action"),
        (&early, "read_mail", Disposition::LocalReplan, "exemption_expired"),
    ] {
        let request = request(&format!("action: {{tool: {tool}, class: generic}}"));
        let decision = decided(&unmatched(rest), &request, Vec::new());
        assert_eq!((decision.disposition(), codes(&decision)), (disposition, strings(&[code])), "{rest} {tool}");
    }
}

#[test]
fn a_denied_action_asked_again_is_not_a_loop_for_ever() {
    let policy = policy(&format!("{POLICY}presentation: [args.note]\n"));
    let request = request(REQUEST);
    let denied = |count| decide(&policy, &request, &Evidence::default(), &moment(count));
    let first = denied(0);
    assert_eq!(first.disposition(), Disposition::HumanReview, "an approval is missing");
    let text = REQUEST.replace("patch: \"diff\"", "patch: \"diff\", note: hello");
    let noted = crate::support::request(&text);
    assert_eq!(first.fingerprint(), policy.fingerprint(&noted));
    assert_ne!(first.action_hash(), noted.action_hash());
    assert!(!codes(&denied(1)).contains(&"repeated_denial".to_owned()));
    assert!(codes(&denied(2)).contains(&"repeated_denial".to_owned()));
}

#[test]
fn at_the_limit_it_goes_to_a_human_or_stops() {
    let policy = |then: &str| {
        policy(&format!(
            "version: 1\nboundaries:\n  - {{id: b, match: {{}}, require: [{{fact: 'size(facts) > 0'}}]}}\nrepeat: {{same_action_denied: 2, then: {then}}}\n"
        ))
    };
    let request = request("action: {tool: t, class: upload}\nfacts: []\n");
    for (then, count, disposition, must_not) in [
        ("human_review", 0, Disposition::LocalReplan, false),
        ("human_review", 1, Disposition::HumanReview, true),
        ("goal_fail_terminal", 5, Disposition::TerminalBlock, true),
    ] {
        let decision = decide(&policy(then), &request, &Evidence::default(), &moment(count));
        assert_eq!(
            (decision.disposition(), decision.must_not_retry_same_action()),
            (disposition, must_not),
            "{then} {count}"
        );
    }
    // What the runtime says of earlier denials counts as well.
    let told =
        crate::support::request("action: {tool: t, class: upload}\nfacts: []\ndenies: [{outcome: replan_required}]\n");
    assert_eq!(decided(&policy("human_review"), &told, Vec::new()).disposition(), Disposition::HumanReview);
}

#[test]
fn shadow_mode_allows_with_a_warning_and_says_what_would_have_happened() {
    let policy = policy(&POLICY.replace("mode: enforce", "mode: shadow"));
    let decision = decided(&policy, &request(REQUEST), vec![receipt("r", "diff")]);
    assert_eq!(decision.disposition(), Disposition::AllowWithWarning);
    assert_eq!(decision.shadowed(), Some(Disposition::HumanReview));
    assert!(decision.spends().is_empty());
    // A class nobody knows is an error, which no mode softens.
    let unknown = request(&REQUEST.replace("class: record_mutation", "class: recrod_mutation"));
    let decision = decided(&policy, &unknown, Vec::new());
    assert_eq!(decision.disposition(), Disposition::LocalReplan);
    assert!(codes(&decision).contains(&"unknown_action_class".to_owned()));
}

#[test]
fn an_approval_lifts_a_denial_that_says_so() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    deny:
      - when: 'taint.exists(t, t.signal == \"external\")'
        unless: {approval: {role: security}}
        reason: {code: tainted, message: Tainted.}
        otherwise: human_review
",
    );
    let request = request("action: {tool: t, class: upload}\ntaint: [{signal: external}]\n");
    let blocked = decided(&policy, &request, Vec::new());
    assert_eq!(blocked.disposition(), Disposition::HumanReview);
    assert_eq!(blocked.changes().len(), 1);
    let lifted = decided(&policy, &request, vec![approval(1, "security", &request)]);
    assert_eq!((lifted.disposition(), causes(&lifted)), (Disposition::AllowWithWarning, vec!["lifted"]));
    assert_eq!(lifted.spends().len(), 1);
}

#[test]
fn a_predicate_that_gives_up_is_an_error_not_an_answer() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    deny:
      - when: 'memory.all(a, memory.all(b, memory.all(c, a + b + c >= 0)))'
        reason: {code: never, message: Never.}
",
    );
    let memory: Vec<_> = (0..200).map(|number| number.to_string()).collect();
    let request = request(&format!("action: {{tool: t, class: upload}}\nmemory: [{}]\n", memory.join(", ")));
    let decision = decided(&policy, &request, Vec::new());
    assert_eq!((decision.disposition(), codes(&decision)), (Disposition::LocalReplan, strings(&["policy_error"])));
    assert!(decision.must_not_retry_same_action());
}

#[test]
fn matching_the_names_of_calls_counts_as_steps() {
    let globs = (0..64).map(|number| format!("\"*{number}\"")).collect::<Vec<_>>().join(", ");
    let policy = policy(&format!(
        "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require: [{{tool_call: {{name: [{globs}]}}}}]\n"
    ));
    let calls = |length: usize| {
        let calls = vec![format!("{{\"tool\": \"{}\"}}", "x".repeat(length)); 2_000].join(",");
        format!("{{\"action\": {{\"tool\": \"t\", \"class\": \"upload\"}}, \"calls\": [{calls}]}}")
    };
    assert_eq!(codes(&decided(&policy, &request(&calls(1)), Vec::new())), strings(&["missing_tool_call"]));
    assert_eq!(codes(&decided(&policy, &request(&calls(4_096)), Vec::new())), strings(&["policy_error"]));
    let refused = Request::read(&yaml(&calls(4_097))).unwrap_err().to_string();
    assert!(refused.contains("calls[0].tool") && refused.contains("4096"), "{refused}");
}

#[test]
fn all_rules_of_a_decision_share_a_budget() {
    let rules: String = (0..400)
        .map(|number| format!("      - fact: 'memory.all(m, m.n >= 0 && m.n < {})'\n", 1_000_000 + number))
        .collect();
    let policy = policy(&format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n{rules}"));
    let memory: Vec<_> = (0..10_000).map(|number| format!("{{\"n\": {number}}}")).collect();
    let request = request(&format!(
        "{{\"action\": {{\"tool\": \"t\", \"class\": \"upload\"}}, \"memory\": [{}]}}",
        memory.join(",")
    ));
    let decision = decided(&policy, &request, Vec::new());
    assert_eq!(decision.disposition(), Disposition::LocalReplan);
    let codes = codes(&decision);
    assert!(!codes.is_empty() && codes.iter().all(|code| code == "policy_error"), "{codes:?}");
    let reason = decision.reasons().next().unwrap();
    assert!(reason.message.contains(&MAX_DECISION_STEPS.to_string()), "{reason:?}");
    assert!(decision.changes().is_empty());

    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let stopped = decide_until(&policy, &request, &Evidence::default(), &moment(0), &stop);
    assert!(stopped.is_err() && asked.get() < 10, "{}", asked.get());
}

#[test]
fn the_search_for_changes_ends_and_says_so() {
    let searched = |rules: usize, facts: usize| {
        let rules: String = (0..rules)
            .map(|number| format!("      - fact: 'memory.exists(m, m.n == {})'\n", 50_000 + number))
            .collect();
        let policy = policy(&format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n{rules}"));
        let memory: Vec<_> = (0..facts).map(|number| format!("{{\"n\": {number}}}")).collect();
        let action = "{\"tool\": \"t\", \"class\": \"upload\"}";
        let request = request(&format!("{{\"action\": {action}, \"memory\": [{}]}}", memory.join(",")));
        let decision = decided(&policy, &request, Vec::new());
        assert_eq!(decision.disposition(), Disposition::LocalReplan);
        let receipt = DecisionReceipt::draft(&decision, &request, ReceiptId::from_random_bytes([1; 16]), None);
        (decision.changes().len(), receipt.to_text())
    };
    assert_eq!(searched(50, 2_000).0, 50);
    let (changes, receipt) = searched(60, 10_000);
    assert_eq!(changes, 0);
    assert!(receipt.contains(&format!("was not found within {MAX_SEARCH_STEPS} steps")), "{receipt}");
}

#[test]
fn calls_are_looked_for_in_their_order() {
    let policy = |rule: &str| {
        policy(&format!("version: 1\nboundaries:\n  - {{id: b, match: {{}}, require: [{{tool_call: {rule}}}]}}\n"))
    };
    let tests = "{name: run_tests, status: succeeded, after: edit_*}";
    let backup = "{name: backup, before: migrate}";
    for (rule, calls, disposition) in [
        (tests, "[{tool: edit_a}, {tool: run_tests, status: succeeded}]", Disposition::Allow),
        (tests, "[{tool: edit_a}, {tool: run_tests, status: failed}]", Disposition::LocalReplan),
        (tests, "[{tool: edit_a}, {tool: run_tests}]", Disposition::LocalReplan),
        (tests, "[{tool: run_tests, status: succeeded}, {tool: edit_a}]", Disposition::LocalReplan),
        (tests, "[{tool: run_tests, status: succeeded}]", Disposition::LocalReplan),
        (tests, "[]", Disposition::LocalReplan),
        (backup, "[{tool: backup}]", Disposition::Allow),
        (backup, "[{tool: backup}, {tool: migrate}]", Disposition::Allow),
        (backup, "[{tool: migrate}, {tool: backup}]", Disposition::LocalReplan),
    ] {
        let request = request(&format!("action: {{tool: t, class: upload}}\ncalls: {calls}\n"));
        assert_eq!(decided(&policy(rule), &request, Vec::new()).disposition(), disposition, "{rule} {calls}");
    }
    let unknown = request("action: {tool: t, class: upload}\n");
    let decision = decided(&policy(tests), &unknown, Vec::new());
    assert_eq!((decision.disposition(), causes(&decision)), (Disposition::LocalReplan, vec!["unknown"]));
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_call_whose_end_is_not_known_breaks_the_order() {
    let policy = policy(
        "version: 1
boundaries:
  - {id: b, match: {}, require: [{tool_call: {name: run_tests, status: succeeded, after: 'edit_fil?'}}]}
",
    );
    let good = "{tool: edit_file, status: succeeded}, {tool: run_tests, status: succeeded}";
    for (calls, cause) in [
        (good.to_owned(), None),
        (format!("{good}, {{tool: edit_file, status: pending}}"), Some("unknown")),
        (format!("{good}, {{tool: edit_file, status: doubtful}}"), Some("unknown")),
        (format!("{{tool: edit_file, status: pending}}, {good}"), Some("unknown")),
        (format!("{good}, {{status: pending, args: {{}}, tool: edit_file}}"), Some("unknown")),
        // What was blocked or failed was not done, so nothing came after it.
        ("{tool: edit_file, status: blocked}, {tool: run_tests, status: succeeded}".to_owned(), Some("absent")),
        ("{tool: edit_file, status: failed}, {tool: run_tests, status: succeeded}".to_owned(), Some("absent")),
        (format!("{good}, {{tool: edit_file}}"), Some("absent")),
    ] {
        let request = request(&format!("{{action: {{tool: t, class: upload}}, calls: [{calls}]}}"));
        assert_eq!(causes(&decided(&policy, &request, Vec::new())), cause.into_iter().collect::<Vec<_>>(), "{calls}");
    }
}

#[test]
fn exemptions_end_with_their_day_and_spans_are_compound() {
    let text = "version: 1\nboundaries: []\nunmatched: allow\nvalid_for: 1h30m\nexemptions: [{reason: r, approver: a, expires: DAY}]";
    let request = request("action: {tool: t, class: upload}");
    for (day, disposition) in [("2026-03-01", Disposition::AllowWithWarning), ("2026-02-28", Disposition::LocalReplan)]
    {
        let decision = decided(&policy(&text.replace("DAY", day)), &request, Vec::new());
        assert_eq!(decision.disposition(), disposition, "{day}");
        assert_eq!(decision.expires_at().as_str(), "2026-03-01T13:30:00.000Z");
    }
}

#[test]
fn a_sum_over_calls_holds_however_it_is_split() {
    let policy = policy(
        "version: 1
boundaries:
  - id: budget
    match: {tool: pay}
    require:
      - fact: 'calls.filter(c, c.tool == \"pay\" && c.status != \"blocked\").map(c, c.args.amount).sum() + action.args.amount <= 1000'
",
    );
    let allows = |earlier: &[&str]| {
        let call = |amount: &&str| format!("{{tool: pay, status: succeeded, args: {{{amount}}}}}");
        let calls = earlier.iter().map(call).collect::<Vec<_>>().join(", ");
        let text = format!("action: {{tool: pay, class: generic, args: {{amount: 90}}}}\ncalls: [{calls}]");
        decided(&policy, &request(&text), Vec::new()).allows()
    };
    assert!(allows(&[]) && allows(&["amount: 900", "amount: 10"]) && allows(&["amount: 909.99"]));
    assert!(!allows(&["amount: 90"; 11]) && !allows(&["amount: 910.01"]));
    // An amount that nobody knows may have been any.
    assert!(!allows(&[""]));
}
