//! What people read: the words of policies, decisions and changes, reviewed as a whole.
//!
//! A snapshot is changed by `INSTA_UPDATE=always cargo test -p proofmark-boundary words`, and reviewed in the diff.

use proofmark_boundary::{DecisionReceipt, decide, explain_decision, explain_policy};
use proofmark_evidence::Evidence;
use proofmark_receipt::ReceiptId;

use crate::rules::{POLICY, REQUEST};
use crate::support::{approval, moment, policy, receipt, request};

/// A request that misses a fact, a receipt, an approval and a call.
fn incomplete() -> String {
    REQUEST
        .replace("payload: {ticket_id: T-17, approved_by: lead}", "payload: {}")
        .replace(", {tool: run_tests, status: succeeded}", "")
}

#[test]
fn a_policy_in_words() {
    insta::assert_snapshot!(explain_policy(&policy(POLICY)));
}

#[test]
fn a_decision_in_words() {
    let (policy, request) = (policy(POLICY), request(&incomplete()));
    let spent = proofmark_evidence::ReceiptFact { spent: true, ..receipt("used", "diff") };
    let documents = vec![spent, approval(1, "release-manager", &request)];
    let decision = decide(&policy, &request, &Evidence::new(documents), &moment(0));
    insta::assert_snapshot!(explain_decision(&policy, &decision));
}

#[test]
fn the_words_of_a_receipt() {
    let (policy, request) = (policy(POLICY), request(&incomplete()));
    let decision = decide(&policy, &request, &Evidence::default(), &moment(2));
    let receipt = DecisionReceipt::draft(&decision, &request, ReceiptId::from_random_bytes([1; 16]), None);
    let mut words = String::new();
    for name in ["reasons", "safe_next_steps", "viewer_guidance", "what_would_change_this", "resume_contract"] {
        let member = receipt.document().get(name).unwrap();
        let items = member
            .as_array()
            .map_or_else(|| vec![member.to_text()], |items| items.iter().map(|item| item.to_text()).collect());
        words.push_str(&format!("{name}\n"));
        items.iter().for_each(|item| words.push_str(&format!("  {item}\n")));
    }
    insta::assert_snapshot!(words);
}

#[test]
fn the_words_where_nothing_matches() {
    let policy = policy("version: 1\nboundaries: []\n");
    let request = request(REQUEST);
    let decision = decide(&policy, &request, &Evidence::default(), &moment(0));
    insta::assert_snapshot!(format!("{}\n{}", explain_policy(&policy), explain_decision(&policy, &decision)));
}
