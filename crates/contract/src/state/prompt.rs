//! The prompt of the next attempt.

use crate::contract::Contract;
use crate::evaluate::{Judgment, RuleOutcome};

/// The contract's `retryPrompt`, then each rule that failed. Messages name the facts that a rule misses.
pub(super) fn write(contract: &Contract, judgment: &Judgment) -> String {
    let mut text = String::new();
    if let Some(prompt) = &contract.verification.retry_prompt {
        text.push_str(prompt);
        text.push_str("\n\n");
    }
    text.push_str("Not accepted:\n");
    for rule in judgment.failed() {
        let word = match rule.outcome {
            RuleOutcome::Unknown => "unknown",
            // `failed` leaves out the rules that are met.
            RuleOutcome::Unmet | RuleOutcome::Met => "unmet",
        };
        text.push_str(&format!("- {} ({word}): {}\n", rule.id, rule.message));
    }
    text
}
