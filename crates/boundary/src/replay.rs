//! Recomputes a decision from its receipt, the request and the policy.

use proofmark_evidence::{Evidence, ReceiptFact};
use proofmark_receipt::{Json, Object, SignatureStatus, SignerId, Timestamp, Trust, Verification};

use crate::decide::decide;
use crate::moment::{Denial, History, Moment};
use crate::policy::ActionPolicy;
use crate::receipt::{DecisionReceipt, documents};
use crate::request::Request;

/// The most differences that are named.
const MAX_DIFFERENCES: usize = 64;
/// The longest value that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// The members of a receipt that say how it was issued, not what was decided. They are not compared: they are what the
/// signature vouches for.
pub const NOT_COMPARED: [&str; 6] = [
    "decision_id",
    "metadata.chain_position",
    "metadata.previous_receipt",
    "metadata.previous_receipt_hash",
    "issuer_key",
    "signature",
];

/// What replaying a decision receipt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Whether the receipt is as its signer signed it, who that is, and whether he is trusted.
    pub verification: Verification,
    pub recomputed: Recomputed,
}

/// Whether a receipt is what the engine comes to again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recomputed {
    Same,
    Differs(Vec<Difference>),
    Unreadable(&'static str),
}

/// One place where the receipt and the engine differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, as in `binding.facts_hash`.
    pub at: String,
    pub recorded: String,
    pub recomputed: String,
}

impl Replay {
    /// Whether somebody trusted issued this receipt, and the engine comes to it again. What nobody trusted signed proves
    /// nothing, whatever it says.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.is_genuine() && self.recomputed == Recomputed::Same
    }

    /// Whether the signature is valid and of a trusted signer.
    #[must_use]
    pub fn is_genuine(&self) -> bool {
        self.verification.answer == SignatureStatus::Valid && self.verification.trust == Trust::Trusted
    }
}

/// Verifies the receipt, decides again, at the time and with the documents the receipt names, and compares the whole of it.
///
/// `presented` are documents the caller verified himself: where the receipt says something else about one of them than he
/// found (apart from whether it is spent by now), that is a difference too. `trusted` are the signers whose decisions
/// count; none are trusted when it is empty.
#[must_use]
pub fn replay(
    receipt: &DecisionReceipt,
    request: &Request,
    policy: &ActionPolicy,
    presented: &[ReceiptFact],
    trusted: &[SignerId],
) -> Replay {
    Replay { verification: receipt.verify(trusted), recomputed: recompute(receipt, request, policy, presented) }
}

fn recompute(
    receipt: &DecisionReceipt,
    request: &Request,
    policy: &ActionPolicy,
    presented: &[ReceiptFact],
) -> Recomputed {
    let evidence = receipt.document().get("evidence").and_then(Json::as_array).and_then(documents);
    let Some(documents) = evidence else { return Recomputed::Unreadable("evidence") };
    let Some(now) = timestamp(receipt, "decided_at") else { return Recomputed::Unreadable("binding.decided_at") };
    let Some(denied) = receipt.member("binding", "denied_before").and_then(|count| count.as_number()?.as_u64()) else {
        return Recomputed::Unreadable("binding.denied_before");
    };
    let denial = receipt.member("binding", "denial").map(Denial::read);
    let Some(denial) = denial.map_or(Some(None), |denial| denial.map(Some)) else {
        return Recomputed::Unreadable("binding.denial");
    };
    let mut differences: Vec<Difference> = Vec::new();
    for fact in &documents {
        let own = presented.iter().find(|other| other.content == fact.content);
        if own.is_some_and(|own| {
            ReceiptFact { spent: fact.spent, spent_by: fact.spent_by.clone(), ..own.clone() } != *fact
        }) {
            note(&mut differences, format!("evidence of {}", fact.receipt_id), "as recorded", "as verified now");
        }
    }
    let moment = Moment { now, history: History { denied, denial } };
    let decision = decide(policy, request, &Evidence::new(documents), &moment);
    let again = DecisionReceipt::unchained(&decision, request, receipt.decision_id());
    compare(&compared(receipt.document()), &compared(again.document()), "", &mut differences);
    if differences.is_empty() { Recomputed::Same } else { Recomputed::Differs(differences) }
}

fn timestamp(receipt: &DecisionReceipt, name: &str) -> Option<Timestamp> {
    receipt.member("binding", name)?.as_str()?.parse().ok()
}

/// The document without what is not compared.
fn compared(document: &Object) -> Object {
    let mut document = document.clone();
    for place in NOT_COMPARED {
        match place.split_once('.') {
            None => drop(document.remove(place)),
            Some((object, member)) => {
                if let Some(Json::Object(object)) = document.get_mut(object) {
                    object.remove(member);
                }
            }
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
