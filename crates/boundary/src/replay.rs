//! Recomputes a decision from its receipt, the request and the policy.

use proofmark_receipt::{Json, Object, Timestamp};

use crate::decide::{History, Moment, decide};
use crate::evidence::{Evidence, ReceiptFact};
use crate::policy::Policy;
use crate::receipt::{DecisionReceipt, documents};
use crate::request::Request;

/// The most differences that are named.
const MAX_DIFFERENCES: usize = 64;
/// The longest value that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// What is not of the decision but of how it was issued.
const NOT_RECOMPUTED: [&str; 2] = ["signature", "issuer_key"];
const CHAIN: [&str; 3] = ["chain_position", "previous_receipt", "previous_receipt_hash"];

/// Whether a receipt is what the engine comes to again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It is, in every member.
    Same,
    /// It is not, in these.
    Differs(Vec<Difference>),
    /// The receipt lacks what it takes to decide again.
    Unreadable(&'static str),
}

/// One place where the receipt and the engine differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, as in `binding.facts_hash`.
    pub at: String,
    /// What the receipt says.
    pub recorded: String,
    /// What it comes to now.
    pub recomputed: String,
}

/// Decides again, at the time and with the documents the receipt names, and compares the whole of it.
///
/// `presented` are documents the caller verified himself: where the receipt says something else about one of them than he
/// found (apart from whether it is spent by now), that is a difference too.
#[must_use]
pub fn replay(receipt: &DecisionReceipt, request: &Request, policy: &Policy, presented: &[ReceiptFact]) -> Replay {
    let evidence = receipt.document().get("evidence").and_then(Json::as_array).and_then(documents);
    let Some(documents) = evidence else { return Replay::Unreadable("evidence") };
    let Some(now) = timestamp(receipt, "decided_at") else { return Replay::Unreadable("binding.decided_at") };
    let Some(denied) = receipt.member("binding", "denied_before").and_then(|count| count.as_number()?.as_u64()) else {
        return Replay::Unreadable("binding.denied_before");
    };
    let mut differences: Vec<Difference> = Vec::new();
    for fact in &documents {
        let own = presented.iter().find(|other| other.content == fact.content);
        if own.is_some_and(|own| ReceiptFact { spent: fact.spent, ..own.clone() } != *fact) {
            note(&mut differences, format!("evidence of {}", fact.receipt_id), "as recorded", "as verified now");
        }
    }
    let moment = Moment { now, history: History { denied } };
    let decision = decide(policy, request, &Evidence::new(documents), &moment);
    let again = DecisionReceipt::unchained(&decision, request, receipt.decision_id());
    compare(&stripped(receipt.document()), &stripped(again.document()), "", &mut differences);
    if differences.is_empty() { Replay::Same } else { Replay::Differs(differences) }
}

fn timestamp(receipt: &DecisionReceipt, name: &str) -> Option<Timestamp> {
    receipt.member("binding", name)?.as_str()?.parse().ok()
}

fn stripped(document: &Object) -> Object {
    let mut document = document.clone();
    for name in NOT_RECOMPUTED {
        document.remove(name);
    }
    if let Some(Json::Object(metadata)) = document.get_mut("metadata") {
        for name in CHAIN {
            metadata.remove(name);
        }
    }
    document
}

fn compare(recorded: &Object, recomputed: &Object, at: &str, differences: &mut Vec<Difference>) {
    let names = recorded.iter().map(|(name, _)| name);
    let more = recomputed.iter().map(|(name, _)| name).filter(|name| !recorded.contains(name));
    for name in names.chain(more) {
        let place = crate::facts::place(at, name);
        match (recorded.get(name), recomputed.get(name)) {
            (Some(Json::Object(one)), Some(Json::Object(other))) => compare(one, other, &place, differences),
            (one, other) if one == other => {}
            (one, other) => note(differences, place, &quoted(one), &quoted(other)),
        }
    }
}

fn note(differences: &mut Vec<Difference>, at: String, recorded: &str, recomputed: &str) {
    if differences.len() < MAX_DIFFERENCES {
        differences.push(Difference { at, recorded: recorded.to_owned(), recomputed: recomputed.to_owned() });
    }
}

fn quoted(value: Option<&Json>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Json::to_text);
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
