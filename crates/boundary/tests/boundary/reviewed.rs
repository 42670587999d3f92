//! Rules that ask for a quorum of reviewers, or for a person's judgment.

use proofmark_boundary::{
    ActionPolicy, Admission, DecisionReceipt, Disposition, Recomputed, admits, decide, decide_as_recorded,
    explain_policy, replay,
};
use proofmark_evidence::{Evidence, JudgmentFact, ReceiptFact, ReceiptKind};
use proofmark_quorum::{Vote, Votes};
use proofmark_receipt::{ReceiptId, SigningKey, Timestamp, Trust};

use crate::support::{causes, decided, moment, now, policy, receipt, request, reviewer, run_case};

fn text(rule: &str, more: &str) -> String {
    format!(
        "version: 1\n{more}boundaries:\n  - id: b\n    match: {{}}\n    require:\n      - receipt: {{any_suite: true, output: 'sha256(action.args.patch)', max_age: 1h, {rule}}}\n"
    )
}

/// The operator of each number, who has the key of that number; `0` has the key 10, too.
fn lines(numbers: &[u8]) -> String {
    let line = |operator: u8, key: u8| format!("reviewer op{operator} {}\\n", reviewer(key));
    numbers.iter().map(|number| line(*number, *number)).collect::<String>() + &line(0, 10)
}

fn quorum_of(numbers: &[u8], at_least: usize, complete: bool) -> ActionPolicy {
    let of = lines(numbers);
    policy(&text(&format!("quorum: {{of: \"{of}\", at_least: {at_least}, complete: {complete}}}"), ""))
}

fn judged_by(number: u8) -> ActionPolicy {
    let people = format!("reviewers:\n  - {{name: Ann, key: {}, roles: [maintainer]}}\n", reviewer(number));
    policy(&text("judgment: {role: maintainer}", &people))
}

fn patching() -> proofmark_boundary::Request {
    request("action: {tool: apply, class: system_change, args: {patch: diff}}")
}

fn vote(number: u8) -> Vote {
    Vote { signer: reviewer(number), verified_at: now(), expires_at: None }
}

/// A receipt of a quorum that was counted.
fn counted(agreeing: Vec<Vote>, others: &[u8]) -> ReceiptFact {
    let votes = Votes { agreeing, others: others.iter().map(|number| reviewer(*number)).collect() };
    ReceiptFact {
        kind: Some(ReceiptKind::Quorum),
        tier: 2,
        trust: Trust::Untrusted,
        votes: Some(votes),
        ..receipt("q", "diff")
    }
}

fn agreed(numbers: &[u8], others: &[u8]) -> ReceiptFact {
    counted(numbers.iter().map(|number| vote(*number)).collect(), others)
}

fn judgment(number: u8, role: &str) -> ReceiptFact {
    ReceiptFact {
        kind: Some(ReceiptKind::Judgment),
        tier: 3,
        trust: Trust::Unknown,
        signer: Some(reviewer(number)),
        judgment: Some(JudgmentFact { role: role.to_owned(), expires_at: None }),
        ..receipt("j", "diff")
    }
}

fn id(number: u8) -> ReceiptId {
    ReceiptId::from_random_bytes([number; 16])
}

/// Blocked, this is what the decision says is missing, and what it has the agent do.
fn blocked(by: &ActionPolicy, fact: ReceiptFact, cause: &str, step: &str) -> DecisionReceipt {
    let decision = decided(by, &patching(), vec![fact]);
    assert_eq!((decision.disposition(), causes(&decision)), (Disposition::LocalReplan, vec![cause]));
    let receipt =
        DecisionReceipt::draft(&decision, &patching(), id(1), None).sign(&SigningKey::from_seed([1; 32])).unwrap();
    assert!(receipt.to_text().contains(step), "{step}: {}", receipt.to_text());
    receipt
}

/// Whether the evidence takes away the conditions of a blocked decision.
fn is_admitted(receipt: &DecisionReceipt, by: &ActionPolicy, fact: ReceiptFact) -> bool {
    admits(receipt, by, &patching(), &Evidence::new(vec![fact]), &moment(1)) == Admission::Admitted
}

#[test]
fn a_quorum_is_missed_by_name_and_a_retry_is_admitted_by_the_same_count() {
    let by = quorum_of(&[0, 1, 2], 2, false);
    for (fact, cause, step) in [
        (ReceiptFact { votes: None, ..agreed(&[0, 1], &[]) }, "not_counted", "present_reviews"),
        (agreed(&[0, 7], &[1]), "quorum_not_met", "ask_reviewers"),
        (agreed(&[], &[0, 1, 2]), "quorum_not_met", "ask_reviewers"),
        // Two keys of one operator.
        (agreed(&[0, 10], &[]), "quorum_not_met", "ask_reviewers"),
    ] {
        let receipt = blocked(&by, fact.clone(), cause, step);
        assert!(is_admitted(&receipt, &by, agreed(&[0, 1], &[7])));
        assert!(is_admitted(&receipt, &by, agreed(&[10, 2], &[1])));
        assert!(!is_admitted(&receipt, &by, fact));
    }
    assert_eq!(decided(&by, &patching(), vec![agreed(&[0, 2], &[1])]).disposition(), Disposition::Allow);
    let complete = quorum_of(&[0, 1, 2], 2, true);
    let receipt = blocked(&complete, agreed(&[0, 1], &[7]), "quorum_incomplete", "ask_reviewers");
    assert!(!is_admitted(&receipt, &complete, agreed(&[0, 1], &[7])));
    assert!(is_admitted(&receipt, &complete, agreed(&[0, 1], &[2])));
    assert_eq!(causes(&decided(&by, &patching(), Vec::new())), ["absent"]);
}

#[test]
fn a_vote_counts_while_it_is_new_enough_and_has_not_expired() {
    let by = quorum_of(&[0, 1], 2, false);
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    for (second, counts) in [
        (Vote { expires_at: Some(at("2026-03-01T12:00:01Z")), ..vote(1) }, true),
        (Vote { expires_at: Some(now()), ..vote(1) }, false),
        (Vote { verified_at: at("2026-03-01T11:00:00Z"), ..vote(1) }, true),
        (Vote { verified_at: at("2026-03-01T10:59:59Z"), ..vote(1) }, false),
        (Vote { verified_at: at("2026-03-01T12:01:00Z"), ..vote(1) }, true),
        (Vote { verified_at: at("2026-03-01T12:01:01Z"), ..vote(1) }, false),
    ] {
        let fact = counted(vec![vote(0), second.clone()], &[]);
        let decision = decided(&by, &patching(), vec![fact.clone()]);
        assert_eq!(decision.allows(), counts, "{second:?}");
        let receipt = blocked(&by, agreed(&[0], &[1]), "quorum_not_met", "ask_reviewers");
        assert_eq!(is_admitted(&receipt, &by, fact), counts, "{second:?}");
    }
}

#[test]
fn a_replay_needs_no_member_and_judges_by_the_recorded_votes() {
    let by = quorum_of(&[0, 1], 2, false);
    let (key, request) = (SigningKey::from_seed([1; 32]), patching());
    let decision = decide(&by, &request, &Evidence::new(vec![agreed(&[0, 1], &[2])]), &moment(0));
    assert_eq!(decision.disposition(), Disposition::Allow);
    let receipt = DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key).unwrap();
    for fact in [ReceiptFact { votes: None, ..agreed(&[], &[]) }, agreed(&[0], &[1])] {
        assert_eq!(replay(&receipt, &request, &by, &[fact], &[key.signer()]).recomputed, Recomputed::Same);
    }
    let again = |policy: &ActionPolicy| causes(&decide_as_recorded(&receipt, &request, policy).unwrap());
    assert_eq!(again(&quorum_of(&[0, 1, 2], 2, true)), Vec::<&str>::new());
    assert_eq!(again(&quorum_of(&[0, 1, 3], 2, true)), ["quorum_incomplete"]);
    assert_eq!(again(&quorum_of(&[0, 2, 3], 2, false)), ["quorum_not_met"]);
    let unreadable = receipt.to_text().replace(r#""others":["#, r#""others":[1,"#);
    let unreadable = DecisionReceipt::parse(unreadable.as_bytes()).unwrap();
    assert_eq!(replay(&unreadable, &request, &by, &[], &[]).recomputed, Recomputed::Unreadable("evidence"));
}

#[test]
fn a_judgment_counts_by_who_signed_it_in_which_role() {
    let by = judged_by(1);
    assert_eq!(decided(&by, &patching(), vec![judgment(1, "maintainer")]).disposition(), Disposition::Allow);
    let expired = Some(JudgmentFact { role: "maintainer".to_owned(), expires_at: Some(now()) });
    for (fact, cause) in [
        (judgment(1, "clerk"), "other_role"),
        (judgment(2, "maintainer"), "signer_not_trusted"),
        (ReceiptFact { trust: Trust::Untrusted, ..judgment(1, "maintainer") }, "signer_not_trusted"),
        (ReceiptFact { judgment: expired, ..judgment(1, "maintainer") }, "expired"),
        (receipt("r", "diff"), "other_kind"),
    ] {
        let blocked = blocked(&by, fact.clone(), cause, "verify_output");
        assert!(!is_admitted(&blocked, &by, fact));
        assert!(is_admitted(&blocked, &by, judgment(1, "maintainer")));
    }
    // One that is used up serves no second time.
    let once = policy(&text(
        "judgment: {role: maintainer}, single_use: true",
        &format!("reviewers:\n  - {{name: Ann, key: {}, roles: [maintainer]}}\n", reviewer(1)),
    ));
    let spent = ReceiptFact { spent: true, ..judgment(1, "maintainer") };
    assert_eq!(causes(&decided(&once, &patching(), vec![spent])), ["spent"]);
}

#[test]
fn lint_names_a_role_that_no_key_holds() {
    let codes = |by: &ActionPolicy| by.warnings().iter().map(|warning| warning.code).collect::<Vec<_>>();
    assert!(!codes(&judged_by(1)).contains(&"role-of-nobody"));
    assert!(!codes(&judged_by(1)).contains(&"unused-role"));
    let nobody = policy(&text("judgment: {role: maintainer}", ""));
    assert!(codes(&nobody).contains(&"role-of-nobody"));
    assert!(nobody.warnings().iter().any(|warning| warning.is_error));
    // A server signs as no person.
    let caller = format!("reviewers:\n  - {{name: Ann, key: 'reviewer:ann@{}', roles: [maintainer]}}\n", reviewer(1));
    assert!(codes(&policy(&text("judgment: {role: maintainer}", &caller))).contains(&"role-of-nobody"));
}

#[test]
fn a_case_supposes_who_agrees_and_who_has_judged() {
    let run = run_case;
    let none = || Ok(Vec::new());
    let two = quorum_of(&[0, 1, 2], 2, true);
    assert_eq!(run(&two, "", "replan_required"), none());
    assert_eq!(run(&two, ", quorum: {agree: [op0, op1], disagree: [op2]}", "allow"), none());
    assert_eq!(run(&two, ", quorum: {agree: [op0, op1]}", "replan_required"), none());
    assert_eq!(run(&two, ", quorum: {agree: [op0], disagree: [op1, op2]}", "replan_required"), none());
    assert_eq!(
        run(&two, ", quorum: {agree: [op0, op1, op9], disagree: [op2]}", "allow").unwrap(),
        ["`quorum` names `op9`, which no rule of the policy lists"]
    );
    let by = judged_by(1);
    assert_eq!(run(&by, ", judgment: {role: maintainer}", "allow"), none());
    assert_eq!(run(&by, ", judgment: {role: clerk}", "replan_required"), none());
    assert_eq!(
        run(&by, ", judgment: {role: maintainer, expires_at: '2026-01-01T00:00:00Z'}", "replan_required"),
        none()
    );
    let stranger = format!(", judgment: {{role: maintainer}}, signer: {}", reviewer(2));
    assert_eq!(run(&by, &stranger, "replan_required"), none());
}

#[test]
fn explain_says_whose_word_counts() {
    let quorum = explain_policy(&quorum_of(&[0, 1, 2], 2, true));
    assert!(quorum.contains("signed by anybody who collects it"), "{quorum}");
    assert!(quorum.contains(", in which 2 of 3 operators agree, and all of them are asked"), "{quorum}");
    let judgment = explain_policy(&judged_by(1));
    assert!(
        judgment.contains("signed by who has the role") && judgment.contains(", by a person as `maintainer`"),
        "{judgment}"
    );
}

#[test]
fn a_condition_with_the_most_keys_that_a_rule_may_list_is_still_read() {
    let of: String = (0..64).map(|number| format!("reviewer op{number} {}\\n", reviewer(number))).collect();
    let by = policy(&text(&format!("quorum: {{of: \"{of}\", at_least: 2, complete: true}}"), ""));
    let receipt = blocked(&by, agreed(&[0], &[]), "quorum_not_met", "ask_reviewers");
    let all: Vec<u8> = (1..64).collect();
    assert!(is_admitted(&receipt, &by, agreed(&all, &[0])));
    assert!(!is_admitted(&receipt, &by, agreed(&all, &[])));
}
