//! Rules about receipts that rest on other documents: reviews, judgments of people, and proofs of a log.

use proofmark_contract::{Contract, RuleOutcome, Workflow, WorkflowPolicy};
use proofmark_evidence::{EvidenceStatus, JudgmentFact, ReceiptFact, ReceiptKind};
use proofmark_quorum::{Vote, Votes};
use proofmark_receipt::{SignerId, SigningKey, Timestamp, Trust};

use crate::{NOW_MS, judge_with, rule, yaml};

const LOG: &str = "log.example.org/proofmark+37fa6d46+Ae1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";
const WITNESS: &str = "witness.example.net/w1+7a571b28+BMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58";

fn key(seed: u8) -> SignerId {
    SigningKey::from_seed([seed; 32]).signer()
}

fn workflow(rule: &str, more: &str) -> Result<Workflow, String> {
    let text = format!(
        "name: w\nclass: readonly\n{more}steps:\n  - id: s\n    verification:\n      receipts:\n        - {{id: r, any_suite: true, {rule}}}\n"
    );
    Workflow::read(&yaml(&text)).map_err(|error| error.to_string())
}

fn contract_of(workflow: &Workflow, policy: Option<&WorkflowPolicy>) -> Contract {
    Contract::of(workflow, "s", policy, NOW_MS).unwrap()
}

fn blank() -> ReceiptFact {
    ReceiptFact::blank("r", &Timestamp::from_unix_millis(NOW_MS - 1_000))
}

/// What the rule comes to with this receipt.
fn outcome(contract: &Contract, fact: ReceiptFact) -> (RuleOutcome, EvidenceStatus) {
    let payload = proofmark_contract::response::extract(b"{}");
    let judgment = judge_with(contract, &payload, None, &[fact]);
    let rule = rule(&judgment, "r");
    (rule.outcome, rule.status)
}

const MET: (RuleOutcome, EvidenceStatus) = (RuleOutcome::Met, EvidenceStatus::Verified);
const UNMET: (RuleOutcome, EvidenceStatus) = (RuleOutcome::Unmet, EvidenceStatus::Absent);

#[test]
fn a_quorum_counts_by_the_operators_that_the_rule_lists() {
    let of = format!("reviewer ann {}\\nreviewer bob {}\\n", key(1), key(2));
    let contract = contract_of(&workflow(&format!("quorum: {{of: \"{of}\", atLeast: 2}}"), "").unwrap(), None);
    let voted = |seeds: &[u8]| {
        let vote =
            |seed: &u8| Vote { signer: key(*seed), verified_at: Timestamp::from_unix_millis(NOW_MS), expires_at: None };
        let votes = Votes { agreeing: seeds.iter().map(vote).collect(), others: Vec::new() };
        ReceiptFact { kind: Some(ReceiptKind::Quorum), trust: Trust::Untrusted, votes: Some(votes), ..blank() }
    };
    assert_eq!(outcome(&contract, voted(&[1, 2])), MET);
    assert_eq!(outcome(&contract, voted(&[1, 3])), UNMET);
    assert_eq!(outcome(&contract, ReceiptFact { votes: None, trust: Trust::Trusted, ..voted(&[1, 2]) }), UNMET);
    assert!(workflow("kind: quorum", "").unwrap_err().contains("`steps[0].verification.receipts[0].quorum`"));
}

#[test]
fn a_judgment_counts_by_the_reviewers_in_force_which_are_part_of_the_contract() {
    let people = |seed: u8| format!("reviewers:\n  - {{name: Ann, key: '{}', roles: [maintainer]}}\n", key(seed));
    let ours = workflow("judgment: {role: maintainer}", &people(1)).unwrap();
    let judged = |seed: u8, role: &str| ReceiptFact {
        kind: Some(ReceiptKind::Judgment),
        trust: Trust::Unknown,
        signer: Some(key(seed)),
        judgment: Some(JudgmentFact { role: role.to_owned(), expires_at: None }),
        ..blank()
    };
    let contract = contract_of(&ours, None);
    assert_eq!(outcome(&contract, judged(1, "maintainer")), MET);
    assert_eq!(outcome(&contract, judged(2, "maintainer")), UNMET);
    assert_eq!(outcome(&contract, judged(1, "clerk")), UNMET);
    let theirs = contract_of(&workflow("judgment: {role: maintainer}", &people(2)).unwrap(), None);
    assert_ne!(contract.digest(), theirs.digest());
    // Where the policy of an organization lists people, they take the place of the workflow's.
    let policy = WorkflowPolicy::read(&yaml(&format!("name: p\n{}", people(2)))).unwrap();
    let governed = contract_of(&ours, Some(&policy));
    assert_eq!(outcome(&governed, judged(1, "maintainer")), UNMET);
    assert_eq!(outcome(&governed, judged(2, "maintainer")), MET);
}

#[test]
fn a_log_counts_by_the_keys_of_the_workflow_which_are_part_of_the_contract() {
    let pins = |quorum: &str| format!("logPolicy: |\n  log {LOG}\n  witness w {WITNESS}\n  quorum {quorum}\n");
    let ours = workflow("logged: true", &pins("w")).unwrap();
    let contract = contract_of(&ours, None);
    let by = ours.log_policy.as_ref().unwrap();
    let logged = |cosigned: bool| ReceiptFact { logged: by.supposed(|_| cosigned), ..blank() };
    assert_eq!(outcome(&contract, logged(true)), MET);
    assert_eq!(outcome(&contract, logged(false)), UNMET);
    assert_eq!(outcome(&contract, blank()), UNMET);
    let other = contract_of(&workflow("logged: true", &pins("none")).unwrap(), None);
    assert_ne!(contract.digest(), other.digest());
    // A policy that no rule reads changes no contract.
    let plain = contract_of(&workflow("tier: 0", "").unwrap(), None);
    assert_eq!(contract_of(&workflow("tier: 0", &pins("w")).unwrap(), None).digest(), plain.digest());
    assert!(workflow("witnesses: 1", "").unwrap_err().contains("the policy does not say which logs count"));
    assert!(workflow("logged: true", "logPolicy: quorum none\n").unwrap_err().contains("`logPolicy`"));
}
