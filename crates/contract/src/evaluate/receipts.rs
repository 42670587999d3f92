//! Rules about receipts.

use std::collections::BTreeSet;

use proofmark_evidence::{
    Accepts, Comparison, Evidence, EvidenceStatus, ReceiptFact, ReceiptKind, Refusal, SignerDemand, Spend, Wanted,
    assign, nearest,
};
use proofmark_predicate::Value;
use proofmark_receipt::{Sha256Digest, Timestamp, Trust};

use super::{Facts, Kind, MissingFact, Outcome, RuleResult};
use crate::workflow::{Binding, ReceiptRule};

/// A rule, the bytes it is about, and the places of the receipts that meet it.
struct Looked<'r> {
    rule: &'r ReceiptRule,
    bound: Result<Option<String>, MissingFact>,
    candidates: Vec<usize>,
}

/// Judges the rules in their order. A receipt that one rule uses up is used by no other such rule, and as many of them as
/// possible have one; what they use up comes with the results.
pub(super) fn judge_all(
    rules: &[ReceiptRule],
    presented: &Evidence,
    facts: &Facts<'_>,
    now: &Timestamp,
) -> (Vec<RuleResult>, Vec<Spend>) {
    let looked: Vec<_> = rules.iter().map(|rule| look_up(rule, presented, facts, now)).collect();
    let exclusive: Vec<_> = looked.iter().filter(|looked| looked.rule.demand.single_use).collect();
    let candidates: Vec<_> = exclusive.iter().map(|looked| looked.candidates.clone()).collect();
    let mut assigned = assign(&candidates).into_iter();
    let mut spends = Vec::new();
    let mut results = Vec::new();
    for looked in &looked {
        let place = match looked.rule.demand.single_use {
            true => assigned.next().flatten(),
            false => looked.candidates.first().copied(),
        };
        let used = place.and_then(|place| presented.documents().get(place));
        if looked.rule.demand.single_use {
            spends.extend(used.map(ReceiptFact::spend));
        }
        results.push(judge(looked, used, presented, now));
    }
    (results, spends)
}

/// The digests (`hashes.output`) a receipt has to be over to count for these rules.
pub(super) fn outputs_wanted(rules: &[ReceiptRule], facts: &Facts<'_>) -> BTreeSet<String> {
    rules.iter().filter_map(|rule| bound_to(rule, facts).ok().flatten()).collect()
}

fn look_up<'r>(rule: &'r ReceiptRule, presented: &Evidence, facts: &Facts<'_>, now: &Timestamp) -> Looked<'r> {
    let bound = bound_to(rule, facts);
    let candidates = match &bound {
        Ok(output) => with_wanted(rule, output.as_deref(), |wanted| rule.demand.candidates(wanted, presented, now)),
        Err(_) => Vec::new(),
    };
    Looked { rule, bound, candidates }
}

fn with_wanted<T>(rule: &ReceiptRule, output: Option<&str>, ask: impl FnOnce(&Wanted<'_>) -> T) -> T {
    let specification = rule.specification.map(|digest| digest.to_string());
    ask(&Wanted { output, specification: specification.as_deref() })
}

fn judge(looked: &Looked<'_>, used: Option<&ReceiptFact>, presented: &Evidence, now: &Timestamp) -> RuleResult {
    let rule = looked.rule;
    let result = |outcome, status, message: String, missing| RuleResult {
        id: rule.id.clone(),
        kind: Kind::Receipt,
        outcome,
        status,
        rule: describe(rule),
        message,
        missing,
        calls: Vec::new(),
        any_suite: rule.demand.accepts == Accepts::AnySuite,
    };
    let bound = match &looked.bound {
        Ok(bound) => bound.as_deref(),
        Err(fact) => {
            let message = said(rule, fact.to_string());
            return result(Outcome::Unknown, EvidenceStatus::Absent, message, vec![fact.clone()]);
        }
    };
    if let Some(fact) = used {
        let message = format!("receipt {}", fact.receipt_id);
        return result(Outcome::Met, worth(rule, fact), message, Vec::new());
    }
    let missing = vec![MissingFact::new("receipts".to_owned(), "hold none that this rule asks for")];
    let refusal = |fact| with_wanted(rule, bound, |wanted| rule.demand.meets(wanted, fact, now)).err();
    let judged = presented.documents().iter().map(|fact| (fact, refusal(fact).or(Some(Refusal::UsedByAnotherRule))));
    let refused = nearest(judged.collect());
    if refused.is_empty() {
        let message = said(rule, "no receipt was presented".to_owned());
        return result(Outcome::Unknown, EvidenceStatus::Absent, message, missing);
    }
    let words = refused.iter().map(|(fact, refusal)| format!("receipt {} {}", fact.receipt_id, refusal.words()));
    let message = said(rule, words.collect::<Vec<_>>().join("; "));
    result(Outcome::Unmet, EvidenceStatus::Absent, message, missing)
}

/// Anyone can sign: where the rule takes any signer, a receipt verifies only if the caller trusts who signed it.
fn worth(rule: &ReceiptRule, fact: &ReceiptFact) -> EvidenceStatus {
    match rule.demand.signer {
        SignerDemand::Any if fact.trust != Trust::Trusted => EvidenceStatus::SelfReported,
        SignerDemand::Any | SignerDemand::Trusted | SignerDemand::Keys(_) => EvidenceStatus::Verified,
    }
}

/// The digest the receipt must be about, if the rule says so.
fn bound_to(rule: &ReceiptRule, facts: &Facts<'_>) -> Result<Option<String>, MissingFact> {
    let path = match &rule.output {
        None => return Ok(None),
        Some(Binding::Digest(digest)) => return Ok(Some(digest.to_string())),
        Some(Binding::Payload(path)) => path,
    };
    let place = format!("payload.{}", path.text());
    let found = facts.payload.as_ref().map_or_else(|| Ok(Vec::new()), |payload| path.select(payload, facts.budget));
    let found = found.map_err(|missing| match missing.first() {
        Some(fact) => MissingFact::new(place.clone(), &fact.why.to_string()),
        None => MissingFact::absent(place.clone()),
    })?;
    match found.as_slice() {
        [] => Err(MissingFact::absent(place)),
        [Value::String(text)] => match digest(text) {
            Some(digest) => Ok(Some(digest.to_string())),
            None => {
                Err(MissingFact::new(place, "is not a SHA-256: 64 lower-case hex digits, `sha256:` before them or not"))
            }
        },
        [_] => Err(MissingFact::new(place, "is not a text")),
        _ => Err(MissingFact::new(place, "is more than one value")),
    }
}

fn digest(text: &str) -> Option<Sha256Digest> {
    match text.starts_with("sha256:") {
        true => text.parse().ok(),
        false => format!("sha256:{text}").parse().ok(),
    }
}

fn describe(rule: &ReceiptRule) -> String {
    let demand = &rule.demand;
    let mut words = vec![format!("a {} receipt with verdict {}", demand.kind.as_str(), demand.verdict)];
    match (&demand.accepts, rule.specification) {
        (Accepts::Suite(digest), _) => words.push(format!("suite {digest}")),
        (Accepts::Specification, Some(digest)) => words.push(format!("specification {digest}")),
        (Accepts::Specification, None) | (Accepts::AnySuite, _) => words.push("any suite".to_owned()),
    }
    if let Some(tests) = demand.tests {
        words.push(format!("tests {tests}"));
    }
    if demand.kind == ReceiptKind::Verification && demand.comparison == Comparison::InProcess {
        words.push("compared in the submission's process or outside".to_owned());
    }
    let tiers: Vec<_> = demand.tiers.iter().map(u8::to_string).collect();
    if tiers.len() < 4 {
        words.push(format!("tier {}", tiers.join(" or ")));
    }
    match &rule.output {
        Some(Binding::Digest(digest)) => words.push(format!("about {digest}")),
        Some(Binding::Payload(path)) => words.push(format!("about payload.{}", path.text())),
        None => {}
    }
    match &demand.signer {
        SignerDemand::Trusted => words.push("signer trusted".to_owned()),
        SignerDemand::Any => words.push("signer any".to_owned()),
        SignerDemand::Keys(keys) => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            words.push(format!("signer {}", keys.join(" or ")));
        }
    }
    if let Some(age) = demand.max_age_millis {
        words.push(format!("at most {age} ms old"));
    }
    if demand.single_use {
        words.push("not used before".to_owned());
    }
    words.join(", ")
}

fn said(rule: &ReceiptRule, how: String) -> String {
    match &rule.reject_message {
        Some(message) => format!("{message} ({how})"),
        None => how,
    }
}
