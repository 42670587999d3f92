//! Rules about the payload.

use proofmark_evidence::EvidenceStatus;

use super::{Facts, Kind, MissingFact, Outcome, RuleResult};
use crate::expect::Answer;
use crate::response::{Payload, ResponseError};
use crate::workflow::EvidenceRule;

/// That there is exactly one result block that can be read.
pub(super) fn result_block(payload: &Result<Payload, ResponseError>) -> RuleResult {
    let (outcome, status, message, missing) = match payload {
        Ok(payload) => {
            (Outcome::Met, EvidenceStatus::SelfReported, format!("found at line {}", payload.line), Vec::new())
        }
        Err(ResponseError::Missing) => {
            let fact = MissingFact::absent("result".to_owned());
            (Outcome::Unknown, EvidenceStatus::Absent, ResponseError::Missing.to_string(), vec![fact])
        }
        Err(error) => (Outcome::Unmet, EvidenceStatus::Absent, error.to_string(), Vec::new()),
    };
    RuleResult {
        id: "result".to_owned(),
        kind: Kind::Result,
        outcome,
        status,
        rule: "the response has one result block".to_owned(),
        message,
        missing,
        calls: Vec::new(),
        any_suite: false,
    }
}

pub(super) fn judge(rule: &EvidenceRule, facts: &Facts<'_>) -> RuleResult {
    let answer = match &facts.payload {
        Some(payload) => rule.expect.answer(&rule.path, payload, facts, "payload."),
        None => Answer::Missing(vec![MissingFact::absent(format!("payload.{}", rule.path.text()))]),
    };
    let (outcome, status, message, missing) = match answer {
        Answer::Holds => (Outcome::Met, EvidenceStatus::SelfReported, "the payload says so".to_owned(), Vec::new()),
        Answer::Differs(how) => (Outcome::Unmet, EvidenceStatus::SelfReported, said(rule, how), Vec::new()),
        Answer::Missing(facts) => {
            let how = facts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            (Outcome::Unknown, EvidenceStatus::Absent, said(rule, how), facts)
        }
    };
    RuleResult {
        id: rule.id.clone(),
        kind: Kind::Evidence,
        outcome,
        status,
        rule: format!("{} {}", rule.path.text(), rule.expect.describe()),
        message,
        missing,
        calls: Vec::new(),
        any_suite: false,
    }
}

/// The author's words, and what is the matter.
fn said(rule: &EvidenceRule, how: String) -> String {
    match &rule.reject_message {
        Some(message) => format!("{message} ({how})"),
        None => how,
    }
}
