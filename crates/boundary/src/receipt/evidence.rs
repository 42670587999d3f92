//! `evidence[]`, written and read back.

use std::str::FromStr;

use proofmark_evidence::{
    ApprovalFact, Comparison, JudgmentFact, Logged, ReceiptFact, ReceiptKind, read_votes, votes_to_object,
};
use proofmark_receipt::{Json, Object, Sha256Digest, Trust, object};

use crate::evidence::EvidenceItem;

pub(super) fn item(item: &EvidenceItem) -> Json {
    let mut entry = Object::new();
    match item {
        EvidenceItem::Fact { rule, predicate, truth, missing, .. } => {
            start(&mut entry, "fact", rule, item);
            entry.insert("predicate", shortened(predicate));
            entry.insert("truth", *truth);
            entry.insert("missing", missing.iter().map(|path| Json::from(path.as_str())).collect::<Vec<_>>());
        }
        EvidenceItem::Document { rule, role, document, refusal, single_use, any_suite } => {
            start(&mut entry, kind(role.is_some()), rule, item);
            if let Some(role) = role {
                entry.insert("role", &**role);
            }
            entry.insert("used", refusal.is_none());
            if let Some(refusal) = refusal {
                entry.insert("refused", refusal.code());
            }
            entry.insert("single_use", *single_use);
            if *any_suite {
                entry.insert("any_suite", true);
            }
            entry.insert("document", fact_object(document));
        }
        EvidenceItem::NoDocument { rule, role } => {
            start(&mut entry, kind(role.is_some()), rule, item);
            if let Some(role) = role {
                entry.insert("role", &**role);
            }
            entry.insert("used", false);
        }
        EvidenceItem::ToolCall { rule, tool, index } => {
            start(&mut entry, "tool_call", rule, item);
            entry.insert("tool", tool.as_str());
            entry.insert("call", index.map_or(Json::Null, |index| Json::from(index as u64)));
        }
    }
    Json::Object(entry)
}

/// The entry of a document that no rule read.
pub(super) fn unread(document: &ReceiptFact) -> Json {
    object! {
        "kind": "document",
        "status": document.status().as_str(),
        "used": false,
        "document": fact_object(document),
    }
    .into()
}

/// The documents among the entries, as they were at the time of the decision.
pub(crate) fn documents(evidence: &[Json]) -> Option<Vec<ReceiptFact>> {
    let with_document = evidence.iter().filter_map(|entry| entry.as_object()?.get("document"));
    // One unreadable document refuses all: a replay with fewer of them would decide on other evidence.
    with_document.map(|document| fact(document.as_object()?)).collect()
}

fn kind(approval: bool) -> &'static str {
    if approval { "approval" } else { "receipt" }
}

fn start(entry: &mut Object, kind: &str, rule: &str, item: &EvidenceItem) {
    entry.insert("kind", kind);
    entry.insert("rule", rule);
    entry.insert("status", item.status().as_str());
}

fn shortened(predicate: &str) -> String {
    const MAX_CHARS: usize = 512;
    // Cut for size only: the policy has the whole predicate, and a replay cuts it the same way.
    match predicate.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", predicate.get(..end).unwrap_or_default()),
        None => predicate.to_owned(),
    }
}

fn fact_object(fact: &ReceiptFact) -> Object {
    let word = |word: Option<&'static str>| word.map_or(Json::Null, Json::from);
    // An approval has no members about verified work, and only an approval has a person to vouch for.
    let work = fact.approval.is_none();
    let digest = |digest: Option<Sha256Digest>| digest.filter(|_| work).map(|digest| digest.to_string());
    object! {
        "receipt_id": fact.receipt_id.as_str(),
        "content": fact.content.to_string(),
        "verdict": fact.verdict.as_str(),
        "tier": u64::from(fact.tier),
        "output": fact.output.to_string(),
        "specification": fact.specification.to_string(),
        "verified_at": fact.verified_at.as_str(),
        "signer": fact.signer.map_or(Json::Null, |signer| Json::from(signer.to_string())),
        "valid": fact.valid,
        "trust": fact.trust.as_str(),
        "spent": fact.spent,
        "spent_by"?: fact.spent_by.as_deref(),
        "kind"?: work.then(|| word(fact.kind.map(ReceiptKind::as_str))),
        "comparison"?: work.then(|| word(fact.comparison.map(Comparison::as_str))),
        "strength"?: fact.strength.filter(|_| work).map(|share| share.to_string()),
        "counter_run"?: fact.counter_run.filter(|_| work).map(|share| share.to_string()),
        "environment"?: digest(fact.environment),
        "environment_from"?: fact.environment_from.as_deref().filter(|_| work),
        "tests"?: digest(fact.tests),
        "tests_from"?: fact.tests_from.as_deref().filter(|_| work),
        "suite"?: digest(fact.suite),
        "votes"?: fact.votes.as_ref().filter(|_| work).map(votes_to_object),
        "judgment"?: fact.judgment.as_ref().filter(|_| work).map(JudgmentFact::to_object),
        "logged"?: fact.logged.as_ref().filter(|_| work).map(Logged::to_object),
        "approval"?: fact.approval.as_ref().map(approval_object),
        "vouched"?: (!work).then_some(fact.vouched),
        "passkey"?: fact.passkey.as_ref().map(ToString::to_string),
    }
}

fn approval_object(approval: &ApprovalFact) -> Object {
    let mut object = Object::new();
    approval.write(&mut object);
    object
}

/// A member that may be absent. One that is there and malformed makes the whole document unreadable.
fn read<T>(object: &Object, name: &str, read: impl FnOnce(&Json) -> Option<T>) -> Option<Option<T>> {
    object.get(name).map_or(Some(None), |value| read(value).map(Some))
}

fn optional<T: FromStr>(object: &Object, name: &str) -> Option<Option<T>> {
    read(object, name, |value| value.as_str()?.parse().ok())
}

fn fact(object: &Object) -> Option<ReceiptFact> {
    let text = |name: &str| object.get(name)?.as_str();
    let flag = |name: &str| object.get(name)?.as_bool();
    let signer = match object.get("signer")? {
        Json::Null => None,
        signer => Some(signer.as_str()?.parse().ok()?),
    };
    let approval = read(object, "approval", ApprovalFact::read)?;
    let votes = read(object, "votes", read_votes)?;
    let judgment = read(object, "judgment", JudgmentFact::read)?;
    let logged = read(object, "logged", Logged::read)?;
    // An approval has no members about what was verified.
    let (kind, comparison) = match &approval {
        Some(_) => (Some(ReceiptKind::Approval), Some(Comparison::External)),
        None => (text("kind").and_then(ReceiptKind::from_word), text("comparison").and_then(Comparison::from_word)),
    };
    Some(ReceiptFact {
        kind,
        comparison,
        strength: optional(object, "strength")?,
        counter_run: optional(object, "counter_run")?,
        environment: optional(object, "environment")?,
        environment_from: optional(object, "environment_from")?,
        tests: optional(object, "tests")?,
        tests_from: optional(object, "tests_from")?,
        suite: optional(object, "suite")?,
        receipt_id: text("receipt_id")?.to_owned(),
        content: text("content")?.parse().ok()?,
        verdict: text("verdict")?.parse().ok()?,
        tier: u8::try_from(object.get("tier")?.as_number()?.as_u64()?).ok()?,
        output: text("output")?.parse().ok()?,
        specification: text("specification")?.parse().ok()?,
        verified_at: text("verified_at")?.parse().ok()?,
        signer,
        valid: flag("valid")?,
        trust: trust(text("trust")?)?,
        votes,
        judgment,
        logged,
        spent: flag("spent")?,
        spent_by: text("spent_by").map(str::to_owned),
        vouched: approval.is_some() && flag("vouched")?,
        passkey: optional(object, "passkey")?,
        approval,
    })
}

fn trust(word: &str) -> Option<Trust> {
    [Trust::Trusted, Trust::Untrusted, Trust::Unknown].into_iter().find(|trust| trust.as_str() == word)
}
