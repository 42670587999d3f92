//! Rules about the payload.

use proofmark_evidence::EvidenceStatus;

use super::{RuleKind, RuleOutcome, RuleResult, reject_message};
use crate::evidence::{Facts, MissingFact};
use crate::expect::Match;
use crate::response::{Payload, ResponseError};
use crate::workflow::EvidenceRule;

/// The rule that there is exactly one result block, and that it can be read.
pub(super) fn result_block(payload: &Result<Payload, ResponseError>) -> RuleResult {
    let (outcome, status, message, missing) = match payload {
        Ok(payload) => {
            (RuleOutcome::Met, EvidenceStatus::SelfReported, format!("found at line {}", payload.line), Vec::new())
        }
        // No block is missing evidence (unknown); one that cannot be read is a wrong response (unmet).
        Err(error @ (ResponseError::Missing | ResponseError::OtherLabel { .. })) => {
            let fact = MissingFact::absent("result".to_owned());
            (RuleOutcome::Unknown, EvidenceStatus::Absent, with_help(error), vec![fact])
        }
        Err(error) => (RuleOutcome::Unmet, EvidenceStatus::Absent, with_help(error), Vec::new()),
    };
    RuleResult {
        id: "result".to_owned(),
        kind: RuleKind::Result,
        outcome,
        status,
        rule: "the response has one result block".to_owned(),
        message,
        missing,
        calls: Vec::new(),
        any_suite: false,
    }
}

/// The agent reads the message in its retry prompt, so it says what to do too.
fn with_help(error: &ResponseError) -> String {
    error.help().map_or_else(|| error.to_string(), |help| format!("{error}; {help}"))
}

pub(super) fn judge(rule: &EvidenceRule, facts: &Facts<'_>) -> RuleResult {
    let found = match &facts.payload {
        Some(payload) => rule.expect.check(&rule.path, payload, facts, "payload."),
        None => Match::Missing(vec![MissingFact::absent(format!("payload.{}", rule.path.text()))]),
    };
    let message = |detail| reject_message(rule.reject_message.as_deref(), detail);
    let (outcome, status, message, missing) = match found {
        Match::Holds => (RuleOutcome::Met, EvidenceStatus::SelfReported, "the payload says so".to_owned(), Vec::new()),
        Match::Differs(detail) => (RuleOutcome::Unmet, EvidenceStatus::SelfReported, message(detail), Vec::new()),
        Match::Missing(facts) => {
            let detail = facts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            (RuleOutcome::Unknown, EvidenceStatus::Absent, message(detail), facts)
        }
    };
    RuleResult {
        id: rule.id.clone(),
        kind: RuleKind::Evidence,
        outcome,
        status,
        rule: format!("{} {}", rule.path.text(), rule.expect.describe()),
        message,
        missing,
        calls: Vec::new(),
        any_suite: false,
    }
}
