//! Every receipt the engine can write is consistent: all combinations are walked.

use std::collections::BTreeSet;

use proofmark_boundary::{Decision, DecisionReceipt, Disposition, Request, decide};
use proofmark_evidence::Evidence;
use proofmark_receipt::{Json, Object, ReceiptId};

use crate::support::{moment, policy, request};

const TOP: [&str; 18] = [
    "receipt_type",
    "decision_id",
    "outcome",
    "action_class",
    "safe_to_execute",
    "human_review_terminal",
    "must_not_retry_same_action",
    "reasons",
    "safe_next_steps",
    "viewer_guidance",
    "what_would_change_this",
    "disposition",
    "routing",
    "resume_contract",
    "runtime_loopback",
    "metadata",
    "binding",
    "evidence",
];

/// Every rule that can block or warn, with each `otherwise`, with and without an upstream context, after any number of
/// denials, with each way of repeating, in each mode.
#[test]
fn every_combination_is_consistent() {
    let (mut seen, mut walked) = (BTreeSet::new(), 0);
    for rules in rules() {
        for unmatched in ["replan_required", "human_review", "goal_fail_terminal"] {
            for then in ["human_review", "goal_fail_terminal"] {
                for mode in ["enforce", "shadow"] {
                    let policy = policy(&format!(
                        "version: 1\nunmatched: {unmatched}\nmode: {mode}\nrepeat: {{same_action_denied: 3, then: {then}}}\nboundaries:\n{rules}\n"
                    ));
                    for request in requests() {
                        for denied in [0, 1, 2, 9] {
                            let decision = decide(&policy, &request, &Evidence::default(), &moment(denied));
                            seen.insert((
                                decision.outcome(),
                                decision.disposition(),
                                decision.must_not_retry_same_action(),
                            ));
                            consistent(&decision, &request);
                            walked += 1;
                        }
                    }
                }
            }
        }
    }
    let rulings: BTreeSet<_> = seen.iter().map(|(_, disposition, _)| *disposition).collect();
    assert_eq!(rulings.len(), Disposition::ALL.len(), "{seen:?}");
    // Replans come with and without a retry; the other four rulings leave no choice.
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(walked > 5_000, "{walked}");
}

fn rules() -> Vec<String> {
    const OTHERWISE: [&str; 5] = ["replan_required", "local", "upstream", "human_review", "goal_fail_terminal"];
    let blocking = [
        "deny: [{when: 'size(facts) == 0', reason: {code: d, message: D.}, otherwise: OTHERWISE}]",
        "deny: [{when: 'memory == [1]', reason: {code: d, message: D.}, otherwise: OTHERWISE}]",
        "require: [{fact: 'size(facts) > 0', otherwise: OTHERWISE}]",
        "require: [{fact: 'action.tool == \"other\"', next: {code: next, message: N.}, otherwise: OTHERWISE}]",
        "require: [{receipt: {any_suite: true, output: 'sha256(action.args.patch)'}, otherwise: OTHERWISE}]",
        "require: [{approval: {role: r}, otherwise: OTHERWISE}]",
        "require: [{tool_call: {name: test}, otherwise: OTHERWISE}]",
    ];
    let boundary = |rest: &str| format!("  - id: b\n    match: {{tool: t}}\n    {rest}");
    let mut rules: Vec<String> = Vec::new();
    for first in blocking {
        rules.extend(OTHERWISE.map(|otherwise| boundary(&first.replace("OTHERWISE", otherwise))));
    }
    rules.extend(
        [
            "when: 'size(facts) > 0'",
            "when: 'size(memory) > 0'",
            "warn: [{when: 'true', reason: {code: w, message: W.}}]",
            "require: []",
        ]
        .map(boundary),
    );
    rules.push("  - {id: b, match: {surface: db}}".to_owned());
    rules.push("  []".to_owned());
    rules
}

fn requests() -> Vec<Request> {
    let action = "action: {tool: t, class: record_mutation, args: {patch: p}}\nfacts: []\ncalls: []\n";
    let unknown = action.replace("record_mutation", "nobody_knows");
    let upstream = "upstream: {source: intake, request_id: 7, nested: [{return_node: planner}]}\n";
    [action.to_owned(), format!("{action}{upstream}"), unknown, format!("{action}agent: {{step: s9}}\n")]
        .map(|text| request(&text))
        .to_vec()
}

fn consistent(decision: &Decision, request: &Request) {
    let receipt = DecisionReceipt::draft(decision, request, ReceiptId::from_random_bytes([9; 16]), None);
    let document = receipt.document();
    let names: Vec<_> = document.iter().map(|(name, _)| name).collect();
    assert_eq!(names, TOP);
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    assert_eq!(again.disposition(), decision.disposition());
    let context = || receipt.to_text();
    let derived = derived(document, request);
    for name in ["safe_to_execute", "disposition", "routing", "resume_contract"] {
        assert_eq!(plain(document.get(name).unwrap(), name), *derived.get(name).unwrap(), "{name} of {}", context());
    }
    own_rules(decision, document);
}

/// What a client makes of the decision part, in its own words: the receipt has to be the same.
fn derived(document: &Object, request: &Request) -> Object {
    let text = |name: &str| document.get(name).and_then(Json::as_str).unwrap();
    let flag = |name: &str| document.get(name).and_then(Json::as_bool).unwrap();
    let list = |name: &str| document.get(name).and_then(Json::as_array).unwrap();
    let upstream = request.facts().contains("upstream");
    let scope = document.get("routing").unwrap().as_object().unwrap().get("direction").unwrap().as_str().unwrap();
    let outcome = if flag("human_review_terminal") { "ask_human" } else { text("outcome") };
    let (mode, direction) = match outcome {
        "allow" | "allow_with_warning" => ("continue_downstream", "downstream"),
        "replan_required" if upstream && scope == "upstream" => ("upstream_replan", "upstream"),
        "replan_required" => ("local_replan", "local"),
        "ask_human" => ("human_review", "human"),
        _ => ("terminal_block", "stop"),
    };
    let can_retry = !flag("must_not_retry_same_action") && outcome == "replan_required";
    let replans = mode == "local_replan" || mode == "upstream_replan";
    let mut resume_when = list("what_would_change_this").to_vec();
    if resume_when.is_empty() {
        let messages = list("safe_next_steps").iter().map(|step| step.as_object().unwrap().get("message").unwrap());
        resume_when = messages.cloned().collect();
    }
    let hint = |text: &str| if upstream { Json::from(text) } else { Json::Null };
    let node = request.facts().get("agent").map_or(Json::Null, |_| Json::from("s9"));
    object(vec![
        ("safe_to_execute", (outcome == "allow" || outcome == "allow_with_warning").into()),
        (
            "disposition",
            object(vec![
                ("mode", mode.into()),
                ("downstream_allowed", (mode == "continue_downstream").into()),
                ("local_replan_recommended", (mode == "local_replan").into()),
                ("upstream_replan_required", (mode == "upstream_replan").into()),
            ])
            .into(),
        ),
        (
            "routing",
            object(vec![
                ("direction", direction.into()),
                ("target_hint", hint("planner")),
                ("return_to_node", hint("planner")),
                ("workflow_id", hint("7")),
                ("node_id", node),
            ])
            .into(),
        ),
        (
            "resume_contract",
            object(vec![
                ("retry_this_node", (replans && can_retry).into()),
                ("pass_receipt_upstream", (mode == "upstream_replan").into()),
                ("pass_new_upstream_context_on_retry", (mode == "upstream_replan" && can_retry).into()),
                ("resume_when", resume_when.into()),
            ])
            .into(),
        ),
    ])
}

/// What goes beyond what a client derives.
fn own_rules(decision: &Decision, document: &Object) {
    let list = |name: &str| document.get(name).and_then(Json::as_array).unwrap();
    let allows = decision.allows();
    let loopback = document.get("runtime_loopback").unwrap();
    assert_eq!(loopback.is_null(), allows);
    if let Some(loopback) = loopback.as_object() {
        assert_eq!(loopback.get("boundary_outcome"), document.get("outcome"));
        assert_eq!(loopback.get("reasons"), document.get("reasons"));
        assert_eq!(loopback.get("must_not_claim_success"), Some(&Json::Bool(true)));
    }
    let disposition = decision.disposition();
    assert_eq!(list("reasons").is_empty(), disposition == Disposition::Allow);
    let ends = allows || disposition == Disposition::TerminalBlock;
    assert_eq!(list("safe_next_steps").is_empty(), ends);
    assert!(!allows || list("what_would_change_this").is_empty());
    // A reviewer can lift the end of a path where a rule asks for an approval.
    let lifts = ends && !allows && decision.approvals_missing() > 0;
    assert!(!ends || lifts || list("what_would_change_this").is_empty());
    assert!(allows || decision.spends().is_empty());
    let human = document.get("human_review_terminal").and_then(Json::as_bool).unwrap();
    assert_eq!(human, disposition == Disposition::HumanReview);
    assert!(!human || document.get("outcome") == Some(&Json::from("replan_required")));
    let shadow = document.get("metadata").unwrap().as_object().unwrap().contains("shadow");
    assert_eq!(shadow, decision.shadowed().is_some());
    assert!(!shadow || disposition == Disposition::AllowWithWarning);
}

/// A member without what is added to the format.
fn plain(member: &Json, name: &str) -> Json {
    let mut member = member.clone();
    if let (Json::Object(object), "resume_contract") = (&mut member, name) {
        let conditions = object.remove("conditions").unwrap();
        assert!(conditions.as_array().is_some());
    }
    member
}

fn object(members: Vec<(&str, Json)>) -> Object {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    object
}
