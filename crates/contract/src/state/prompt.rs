//! What the next attempt is told.

use crate::contract::Contract;
use crate::evaluate::{Judgment, Outcome};

/// The contract's own words, then each rule that failed and the facts it misses.
pub(super) fn write(contract: &Contract, judgment: &Judgment) -> String {
    let mut text = String::new();
    if let Some(prompt) = &contract.verification.retry_prompt {
        text.push_str(prompt);
        text.push_str("\n\n");
    }
    text.push_str("Not accepted:\n");
    for rule in judgment.failed() {
        let word = match rule.outcome {
            Outcome::Unknown => "unknown",
            Outcome::Unmet | Outcome::Met => "unmet",
        };
        text.push_str(&format!("- {} ({word}): {}\n", rule.id, rule.message));
        for fact in &rule.missing {
            text.push_str(&format!("  missing: {fact}\n"));
        }
    }
    text
}
