//! Rules about receipts.

use proofmark_predicate::Value;
use proofmark_receipt::{Answer, ReceiptId, Sha256Digest, Trust};

use super::{Facts, Kind, MissingFact, Outcome, ReceiptFact, RuleResult, Standing};
use crate::workflow::{Binding, ReceiptRule, Signer};

/// Judges the rules in their order. A receipt that is used once is not used for two rules; the ids of those that
/// were used once come with the results.
pub(super) fn judge_all(
    rules: &[ReceiptRule],
    presented: &[ReceiptFact],
    facts: &Facts<'_>,
) -> (Vec<RuleResult>, Vec<ReceiptId>) {
    let mut spends: Vec<ReceiptId> = Vec::new();
    let mut results = Vec::new();
    for rule in rules {
        let (result, used) = judge(rule, presented, facts, &spends);
        if rule.single_use {
            spends.extend(used);
        }
        results.push(result);
    }
    (results, spends)
}

fn judge(
    rule: &ReceiptRule,
    presented: &[ReceiptFact],
    facts: &Facts<'_>,
    spends: &[ReceiptId],
) -> (RuleResult, Option<ReceiptId>) {
    let result = |outcome, status, message: String, missing| RuleResult {
        id: rule.id.clone(),
        kind: Kind::Receipt,
        outcome,
        status,
        rule: describe(rule),
        message,
        missing,
        calls: Vec::new(),
    };
    let bound = match bound_to(rule, facts) {
        Ok(bound) => bound,
        Err(fact) => {
            let message = said(rule, fact.to_string());
            return (result(Outcome::Unknown, Standing::Absent, message, vec![fact]), None);
        }
    };
    let mut refusals = Vec::new();
    for fact in presented {
        match refusal(rule, fact, bound.as_ref(), spends) {
            None => {
                let id = fact.receipt.receipt_id();
                return (result(Outcome::Met, Standing::Verified, format!("receipt {id}"), Vec::new()), Some(id));
            }
            Some(why) => refusals.push(format!("receipt {}: {why}", fact.receipt.receipt_id())),
        }
    }
    let missing = vec![MissingFact::new("receipts".to_owned(), "hold none that this rule asks for")];
    match refusals.is_empty() {
        true => {
            let message = said(rule, "no receipt was presented".to_owned());
            (result(Outcome::Unknown, Standing::Absent, message, missing), None)
        }
        false => (result(Outcome::Unmet, Standing::Absent, said(rule, shorten(&refusals)), missing), None),
    }
}

/// The digest the receipt must be about, if the rule says so.
fn bound_to(rule: &ReceiptRule, facts: &Facts<'_>) -> Result<Option<Sha256Digest>, MissingFact> {
    let path = match &rule.output {
        None => return Ok(None),
        Some(Binding::Digest(digest)) => return Ok(Some(*digest)),
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
            Some(digest) => Ok(Some(digest)),
            None => {
                Err(MissingFact::new(place, "is no SHA-256: 64 lower-case hex digits, `sha256:` before them or not"))
            }
        },
        [_] => Err(MissingFact::new(place, "is no text")),
        _ => Err(MissingFact::new(place, "is more than one value")),
    }
}

fn digest(text: &str) -> Option<Sha256Digest> {
    match text.starts_with("sha256:") {
        true => text.parse().ok(),
        false => format!("sha256:{text}").parse().ok(),
    }
}

/// Why a receipt is not what the rule asks for.
fn refusal(
    rule: &ReceiptRule,
    fact: &ReceiptFact,
    bound: Option<&Sha256Digest>,
    spends: &[ReceiptId],
) -> Option<String> {
    let receipt = &fact.receipt;
    if fact.answer != Answer::Valid {
        let cause = fact.answer.code().unwrap_or_default();
        return Some(format!("its signature is {} ({cause})", fact.answer.as_str()));
    }
    if let Some(why) = signer_refusal(&rule.signer, fact) {
        return Some(why);
    }
    if receipt.verdict() != rule.verdict {
        return Some(format!("its verdict is `{}`, not `{}`", receipt.verdict(), rule.verdict));
    }
    if !rule.tiers.is_empty() && !rule.tiers.contains(&receipt.tier()) {
        return Some(format!("its tier is {}", receipt.tier()));
    }
    if bound.is_some_and(|bound| *bound != receipt.hashes().output) {
        return Some("it is about other bytes".to_owned());
    }
    age_refusal(rule, fact).or_else(|| {
        let spent = rule.single_use && (fact.spent || spends.contains(&receipt.receipt_id()));
        spent.then(|| "it was used before".to_owned())
    })
}

fn signer_refusal(signer: &Signer, fact: &ReceiptFact) -> Option<String> {
    let fits = match signer {
        Signer::Any => true,
        Signer::Trusted => fact.trust == Trust::Trusted,
        Signer::Key(key) => fact.signer.as_ref() == Some(key),
    };
    (!fits).then(|| match signer {
        Signer::Key(_) => "another key signed it".to_owned(),
        Signer::Any | Signer::Trusted => format!("its signer is {}", fact.trust.as_str()),
    })
}

fn age_refusal(rule: &ReceiptRule, fact: &ReceiptFact) -> Option<String> {
    let limit = rule.max_age_ms?;
    match u64::try_from(fact.age_ms) {
        Err(_) => Some("its time is still to come".to_owned()),
        Ok(age) if age > limit => Some(format!("it is {age} ms old, and {limit} are allowed")),
        Ok(_) => None,
    }
}

fn describe(rule: &ReceiptRule) -> String {
    let mut words = vec![format!("a receipt with verdict {}", rule.verdict)];
    if !rule.tiers.is_empty() {
        words.push(format!("tier {}", rule.tiers.iter().map(u8::to_string).collect::<Vec<_>>().join(" or ")));
    }
    match &rule.output {
        Some(Binding::Digest(digest)) => words.push(format!("about {digest}")),
        Some(Binding::Payload(path)) => words.push(format!("about payload.{}", path.text())),
        None => {}
    }
    match &rule.signer {
        Signer::Trusted => words.push("signer trusted".to_owned()),
        Signer::Any => words.push("signer any".to_owned()),
        Signer::Key(key) => words.push(format!("signer {key}")),
    }
    if let Some(age) = rule.max_age_ms {
        words.push(format!("at most {age} ms old"));
    }
    if rule.single_use {
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

fn shorten(refusals: &[String]) -> String {
    const MAX_SHOWN: usize = 5;
    let mut shown: Vec<_> = refusals.iter().take(MAX_SHOWN).cloned().collect();
    if refusals.len() > MAX_SHOWN {
        shown.push(format!("{} more", refusals.len() - MAX_SHOWN));
    }
    shown.join("; ")
}
