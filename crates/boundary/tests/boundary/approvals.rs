//! Who approves, and what of.

use proofmark_boundary::{
    Admission, DecisionReceipt, Denial, Disposition, History, Moment, Recomputed, admits, decide, replay,
};
use proofmark_evidence::{Evidence, ReceiptFact, Reviewer};
use proofmark_receipt::{ReceiptId, SigningKey};

use crate::support::{approval, causes, codes, decided, moment, now, policy, request, reviewer};

fn asked(environment: &str, agent: &str) -> proofmark_boundary::Request {
    request(&format!(
        "action: {{tool: wipe, class: system_change, args: {{disk: all}}}}\nagent: {{environment: {environment}, id: {agent}}}"
    ))
}

fn approving(demand: &str) -> String {
    format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n      - approval: {{{demand}}}\n")
}

/// An approval a server signed for the caller with this id.
fn vouched(id: &str, role: &str, of: &proofmark_boundary::Request) -> ReceiptFact {
    let mut fact = ReceiptFact { vouched: true, ..approval(9, role, of) };
    fact.content = proofmark_receipt::Sha256Digest::of(format!("{id} as {role}").as_bytes());
    fact.approval.as_mut().unwrap().reviewer = Some(Reviewer { id: id.to_owned(), key: None, roles: Vec::new() });
    fact
}

fn holding(roles: &[&str], mut fact: ReceiptFact) -> ReceiptFact {
    let reviewer = fact.approval.as_mut().unwrap().reviewer.as_mut().unwrap();
    reviewer.roles = roles.iter().map(|role| (*role).to_owned()).collect();
    fact
}

#[test]
fn an_approval_counts_where_and_for_whom_it_was_given() {
    let (staging, production) = (asked("staging", "a"), asked("production", "a"));
    let nameless = request("action: {tool: wipe, class: system_change, args: {disk: all}}");
    let given = || vec![approval(1, "lead", &staging)];
    let whole = policy(&approving("role: lead"));
    assert_eq!(decided(&whole, &staging, given()).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&whole, &production, given())), ["other_environment"]);
    assert_eq!(causes(&decided(&whole, &nameless, given())), ["other_environment"]);
    assert_eq!(causes(&decided(&whole, &asked("staging", "b"), given())), ["other_agent"]);
    let action = policy(&approving("role: lead, binds: [action]"));
    let agent = policy(&approving("role: lead, binds: [action, agent]"));
    assert_eq!(decided(&action, &production, given()).disposition(), Disposition::Allow);
    assert_eq!(decided(&agent, &production, given()).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&agent, &asked("production", "b"), given())), ["other_agent"]);
}

#[test]
fn what_would_change_it_and_resuming_know_what_binds() {
    let (staging, production) = (asked("staging", "a"), asked("production", "a"));
    for (demand, admitted) in [
        ("role: lead, count: 2", false),
        ("role: lead, count: 2, binds: [action]", true),
        ("role: lead, count: 2, distinct: false", false),
        ("role: lead, count: 2, distinct: false, binds: [action, agent]", true),
    ] {
        let policy = policy(&approving(demand));
        let blocked = decided(&policy, &production, vec![]);
        assert!(!blocked.changes().is_empty(), "{demand}");
        let receipt = DecisionReceipt::draft(&blocked, &production, ReceiptId::from_random_bytes([1; 16]), None);
        let evidence = Evidence::new(vec![approval(1, "lead", &staging), approval(2, "lead", &staging)]);
        let admission = admits(&receipt, &policy, &production, &evidence, &moment(1));
        assert_eq!(admission == Admission::Admitted, admitted, "{demand}: {admission:?}");
        let allows = decide(&policy, &production, &evidence, &moment(1)).allows();
        assert_eq!(allows, admitted, "{demand}");
    }
}

#[test]
fn callers_of_a_server_are_different_people() {
    let action = asked("p", "a");
    let policy = policy(&approving("role: lead, count: 2"));
    let both = vec![vouched("ann", "lead", &action), vouched("bob", "lead", &action)];
    assert_eq!(decided(&policy, &action, both.clone()).disposition(), Disposition::Allow);
    // A signer who is not the server gives one approval, no matter who is named in it.
    let unvouched = both.into_iter().map(|fact| ReceiptFact { vouched: false, ..fact }).collect();
    assert_eq!(causes(&decided(&policy, &action, unvouched)), ["same_reviewer"]);
    // The caller's own key makes one person of both ways to approve.
    let mut by_server = vouched("ann", "lead", &action);
    by_server.approval.as_mut().unwrap().reviewer.as_mut().unwrap().key = Some(reviewer(1));
    let twice = vec![by_server, approval(1, "lead", &action)];
    assert_eq!(causes(&decided(&policy, &action, twice)), ["same_reviewer"]);
}

#[test]
fn a_pinned_role_is_of_keys_of_callers_and_of_who_holds_it() {
    let action = asked("p", "a");
    let text = approving("role: lead");
    let pinned = |member: String| policy(&format!("{text}roles: {{lead: ['{member}']}}\n"));
    let ann = || vouched("ann", "lead", &action);
    let server = reviewer(9);
    let elsewhere = ReceiptFact { vouched: false, ..ann() };
    let key = pinned(reviewer(1).to_string());
    assert_eq!(causes(&decided(&key, &action, vec![ann()])), ["signer_not_trusted"]);
    assert_eq!(decided(&key, &action, vec![holding(&["lead"], ann())]).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&key, &action, vec![holding(&["lead"], elsewhere.clone())])), ["signer_not_trusted"]);
    let named = pinned(format!("reviewer:ann@{server}"));
    assert_eq!(decided(&named, &action, vec![ann()]).disposition(), Disposition::Allow);
    assert_eq!(
        decided(&named, &action, vec![elsewhere]).disposition(),
        Disposition::Allow,
        "the policy names the server"
    );
    assert_eq!(causes(&decided(&named, &action, vec![vouched("bob", "lead", &action)])), ["signer_not_trusted"]);
    let open = policy(&text);
    assert_eq!(causes(&decided(&open, &action, vec![holding(&["owner"], ann())])), ["signer_not_trusted"]);
}

#[test]
fn one_reviewer_is_not_two_roles_unless_both_are_theirs() {
    let action = asked("p", "a");
    let text = format!("{}      - approval: {{role: owner}}\n", approving("role: lead"));
    let roles = |pins: &str| policy(&format!("{text}{pins}"));
    let (one, two) = (reviewer(1), reviewer(2));
    let both = || vec![approval(1, "lead", &action), approval(1, "owner", &action)];
    for pins in [String::new(), format!("roles: {{lead: ['{one}']}}\n")] {
        assert_eq!(causes(&decided(&roles(&pins), &action, both())).len(), 1, "{pins}");
    }
    let held = roles(&format!("roles: {{lead: ['{one}', '{two}'], owner: ['{one}']}}\n"));
    assert_eq!(decided(&held, &action, both()).disposition(), Disposition::Allow);
    let people = vec![approval(1, "owner", &action), approval(2, "lead", &action)];
    assert_eq!(decided(&roles(""), &action, people).disposition(), Disposition::Allow);
    let vouching = |held: &[&str]| ["lead", "owner"].map(|role| holding(held, vouched("ann", role, &action))).to_vec();
    assert_eq!(decided(&roles(""), &action, vouching(&["lead", "owner"])).disposition(), Disposition::Allow);
    assert_eq!(decided(&roles(""), &action, vouching(&["lead"])).disposition(), Disposition::HumanReview);
}

#[test]
fn a_denial_answers_and_replays() {
    let action = asked("p", "a");
    let policy = policy(&approving("role: lead"));
    let denial = Denial {
        decision_id: "d1".to_owned(),
        reviewer: "ann".to_owned(),
        note: "Not on a Friday.".to_owned(),
        until: "2026-03-01T18:00:00Z".parse().unwrap(),
    };
    let moment = Moment { now: now(), history: History { denied: 5, denial: Some(denial) } };
    let evidence = Evidence::new(vec![approval(1, "lead", &action)]);
    let denied = decide(&policy, &action, &evidence, &moment);
    assert_eq!((denied.disposition(), codes(&denied)), (Disposition::TerminalBlock, vec!["human_denied".to_owned()]));
    assert_eq!(&*denied.reasons().next().unwrap().message, "Not on a Friday.");
    assert!(denied.spends().is_empty());
    let key = SigningKey::from_seed([1; 32]);
    let receipt =
        DecisionReceipt::draft(&denied, &action, ReceiptId::from_random_bytes([1; 16]), None).sign(&key).unwrap();
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    let replayed = replay(&again, &action, &policy, &[], &[key.signer()]);
    assert!(replayed.recomputed == Recomputed::Same && replayed.is_same(), "{replayed:?}");
}

#[test]
fn decisions_on_reviewed_actions_replay() {
    let action = asked("p", "a");
    let text = format!("{}      - approval: {{role: owner}}\n", approving("role: lead, count: 2"));
    let policy = policy(&text);
    let key = SigningKey::from_seed([1; 32]);
    let documents = vec![
        vouched("ann", "lead", &action),
        holding(&["lead"], vouched("bob", "lead", &action)),
        vouched("ann", "owner", &action),
        ReceiptFact { spent: true, spent_by: Some("d0".to_owned()), ..approval(3, "owner", &action) },
        approval(3, "lead", &asked("q", "a")),
    ];
    let decision = decided(&policy, &action, documents);
    assert_eq!(causes(&decision).len(), 1, "{:?}", causes(&decision));
    let receipt =
        DecisionReceipt::draft(&decision, &action, ReceiptId::from_random_bytes([1; 16]), None).sign(&key).unwrap();
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    let replayed = replay(&again, &action, &policy, &[], &[key.signer()]);
    assert!(replayed.is_same(), "{replayed:?}");
    let decision = decided(
        &policy,
        &action,
        vec![ReceiptFact { spent: true, spent_by: Some("decision d0".to_owned()), ..approval(3, "owner", &action) }],
    );
    let details: Vec<_> = decision.reasons().filter_map(|reason| reason.detail.clone()).collect();
    assert!(details.iter().any(|detail| detail.contains("used up before, by decision d0")), "{details:?}");
}
