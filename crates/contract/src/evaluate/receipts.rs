//! Rules about receipts.
//!
//! Most rules read receipts without using them up, and rest on the newest receipt that meets them. Rules with
//! `single_use` are different: a receipt that two of them accept serves one. Taking them in their order could give the
//! only receipt of the second rule to the first one. So the receipts are assigned to all of them together, such that as
//! many rules as possible have one ([`assign()`]); only what is assigned is spent.

use std::collections::BTreeSet;
use std::sync::Arc;

use proofmark_evidence::{
    Accepts, Comparison, Evidence, EvidenceStatus, ReceiptFact, ReceiptKind, Refusal, Roles, SignerDemand, Sought,
    SoughtReceipt, Spend, Wanted, assign, nearest,
};
use proofmark_predicate::Value;
use proofmark_receipt::{Sha256Digest, Timestamp, Trust};

use super::{RuleKind, RuleOutcome, RuleResult, reject_message};
use crate::evidence::{Facts, MissingFact};
use crate::workflow::{Binding, ReceiptRule};

/// A rule and the receipts that meet it.
struct RuleCandidates<'r> {
    rule: &'r ReceiptRule,
    /// Whose judgments count.
    roles: &'r Roles,
    /// The digest of the bytes it is about, if it binds any.
    bound: Result<Option<String>, MissingFact>,
    /// Positions among the presented documents, the newest first.
    candidates: Vec<usize>,
}

/// Judges the rules in their order, and returns what they use up.
pub(super) fn judge_all(
    (rules, roles): (&[ReceiptRule], &Roles),
    presented: &Evidence,
    facts: &Facts<'_>,
    now: &Timestamp,
) -> (Vec<RuleResult>, Vec<Spend>) {
    let rules: Vec<_> = rules.iter().map(|rule| find_candidates((rule, roles), presented, facts, now)).collect();
    let exclusive: Vec<_> = rules.iter().filter(|found| found.rule.demand.single_use).collect();
    let candidates: Vec<_> = exclusive.iter().map(|found| found.candidates.clone()).collect();
    let mut assigned = assign(&candidates).into_iter();
    let mut spends = Vec::new();
    let mut results = Vec::new();
    for found in &rules {
        // `assigned` has one entry for each single-use rule, in the order of the rules.
        let place =
            if found.rule.demand.single_use { assigned.next().flatten() } else { found.candidates.first().copied() };
        let used = place.and_then(|place| presented.documents().get(place));
        if found.rule.demand.single_use {
            spends.extend(used.map(ReceiptFact::spend));
        }
        results.push(judge(found, used, presented, now));
    }
    (results, spends)
}

/// The digests (`hashes.output`) a receipt must be over to count for these rules.
pub(super) fn outputs_wanted(rules: &[ReceiptRule], facts: &Facts<'_>) -> BTreeSet<String> {
    rules.iter().filter_map(|rule| bound_to(rule, facts).ok().flatten()).collect()
}

/// What the receipts over those digests are looked up for.
pub(super) fn sought(rules: &[ReceiptRule], roles: &Roles, facts: &Facts<'_>) -> Sought {
    let roles = Arc::new(roles.clone());
    let of = |rule: &ReceiptRule| {
        let specification = rule.specification.map(|digest| digest.to_string());
        let output = bound_to(rule, facts).ok()?;
        Some(SoughtReceipt { demand: rule.demand.clone(), output, specification, roles: Some(Arc::clone(&roles)) })
    };
    rules.iter().filter_map(of).collect()
}

fn find_candidates<'r>(
    (rule, roles): (&'r ReceiptRule, &'r Roles),
    presented: &Evidence,
    facts: &Facts<'_>,
    now: &Timestamp,
) -> RuleCandidates<'r> {
    let mut found = RuleCandidates { rule, roles, bound: bound_to(rule, facts), candidates: Vec::new() };
    if let Ok(output) = &found.bound {
        found.candidates =
            found.with_wanted(output.as_deref(), |wanted| rule.demand.candidates(wanted, presented, now));
    }
    found
}

impl RuleCandidates<'_> {
    fn with_wanted<T>(&self, output: Option<&str>, ask: impl FnOnce(&Wanted<'_>) -> T) -> T {
        let specification = self.rule.specification.map(|digest| digest.to_string());
        ask(&Wanted { output, specification: specification.as_deref(), roles: Some(self.roles) })
    }
}

fn judge(found: &RuleCandidates<'_>, used: Option<&ReceiptFact>, presented: &Evidence, now: &Timestamp) -> RuleResult {
    let rule = found.rule;
    let result = |outcome, status, message: String, missing| RuleResult {
        id: rule.id.clone(),
        kind: RuleKind::Receipt,
        outcome,
        status,
        rule: describe(rule),
        message,
        missing,
        calls: Vec::new(),
        any_suite: rule.demand.accepts == Accepts::AnySuite,
    };
    let message = |detail: String| reject_message(rule.reject_message.as_deref(), detail);
    let bound = match &found.bound {
        Ok(bound) => bound.as_deref(),
        Err(fact) => {
            return result(RuleOutcome::Unknown, EvidenceStatus::Absent, message(fact.to_string()), vec![fact.clone()]);
        }
    };
    if let Some(fact) = used {
        let receipt = format!("receipt {}", fact.receipt_id);
        return result(RuleOutcome::Met, worth(rule, fact), receipt, Vec::new());
    }
    let missing = vec![MissingFact::new("receipts".to_owned(), "include none that this rule accepts")];
    let refusal = |fact| found.with_wanted(bound, |wanted| rule.demand.meets(wanted, fact, now)).err();
    // A receipt that meets the rule and is not used here was assigned to another rule.
    let judged = presented.documents().iter().map(|fact| (fact, refusal(fact).or(Some(Refusal::UsedByAnotherRule))));
    let refused = nearest(judged.collect());
    if refused.is_empty() {
        let detail = "no receipt was presented".to_owned();
        return result(RuleOutcome::Unknown, EvidenceStatus::Absent, message(detail), missing);
    }
    let words = refused.iter().map(|(fact, refusal)| format!("receipt {} {}", fact.receipt_id, refusal.words()));
    let detail = words.collect::<Vec<_>>().join("; ");
    result(RuleOutcome::Unmet, EvidenceStatus::Absent, message(detail), missing)
}

/// What a receipt that meets the rule is worth. Anyone can sign, so where the rule accepts any signer a receipt is only
/// the agent's word, unless the caller trusts its signer.
fn worth(rule: &ReceiptRule, fact: &ReceiptFact) -> EvidenceStatus {
    let is_own_word = rule.demand.is_of_anybody() && fact.trust != Trust::Trusted;
    if is_own_word { EvidenceStatus::SelfReported } else { EvidenceStatus::Verified }
}

/// The digest of the bytes the receipt must be about, if the rule binds any.
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
            None => Err(MissingFact::new(
                place,
                "is not a SHA-256 digest: 64 lower-case hex digits, with or without `sha256:`",
            )),
        },
        [_] => Err(MissingFact::new(place, "is not a text")),
        _ => Err(MissingFact::new(place, "is more than one value")),
    }
}

fn digest(text: &str) -> Option<Sha256Digest> {
    if text.starts_with("sha256:") { text.parse().ok() } else { format!("sha256:{text}").parse().ok() }
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
    words.extend(demand.tests_from.as_ref().map(ToString::to_string));
    if demand.kind == ReceiptKind::Verification && demand.comparison == Comparison::InProcess {
        words.push("compared in the submission's process or outside".to_owned());
    }
    if let Some(strength) = demand.strength {
        words.push(format!("strength of at least {strength}"));
    }
    words.extend(demand.counter_run.map(|share| share.contradicted().to_string()));
    words.extend(demand.environment.map(|environment| environment.to_string()));
    let tiers: Vec<_> = demand.tiers.iter().map(u8::to_string).collect();
    // All four tiers are no demand.
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
        SignerDemand::Any if !demand.is_of_anybody() => {}
        SignerDemand::Any => words.push("signer any".to_owned()),
        SignerDemand::Keys(keys) => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            words.push(format!("signer {}", keys.join(" or ")));
        }
    }
    if let Some(age) = demand.max_age_millis {
        words.push(format!("at most {age} ms old"));
    }
    words.extend(demand.quorum.as_ref().map(ToString::to_string));
    words.extend(demand.judgment.as_ref().map(ToString::to_string));
    words.extend(demand.logged.as_ref().map(ToString::to_string));
    if demand.single_use {
        words.push("not used before".to_owned());
    }
    words.join(", ")
}
