//! Replays a decision from its receipt, the request and the policy.

use proofmark_evidence::{Evidence, ReceiptFact, difference};
use proofmark_receipt::{Json, SignatureStatus, SignerId, Timestamp, Trust, Verification};

use crate::counted::Counted;
use crate::decide::{Decision, decide};
use crate::moment::{Denial, History, Moment};
use crate::policy::{ActionPolicy, Limit, LimitKey};
use crate::receipt::{DecisionReceipt, ENGINE, documents};
use crate::request::Request;

/// The most differences that are named.
const MAX_DIFFERENCES: usize = 64;

/// The members of a receipt that say how it was issued. A replay does not compare them: the signature vouches for them.
pub const NOT_COMPARED: [&str; 6] = [
    "decision_id",
    "metadata.chain_position",
    "metadata.previous_receipt",
    "metadata.previous_receipt_hash",
    "issuer_key",
    "signature",
];

/// Members that are words for people. Each engine has its own, so a replay compares them with its own receipts only; codes,
/// conditions, evidence and the outcome are always compared.
const WORDS: [&str; 3] = ["viewer_guidance", "what_would_change_this", "resume_contract.resume_when"];
/// The last names of such members.
const WORDS_OF_CODES: [&str; 2] = [".message", ".detail"];

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The receipt's signature, its signer, and whether the signer is trusted.
    pub verification: Verification,
    pub recomputed: Recomputed,
}

/// Whether the engine decides the same again.
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
    /// Whether a trusted signer issued this receipt and the engine decides the same again. Without a trusted signer it
    /// proves nothing, whatever it says.
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

/// Verifies the receipt, decides again at the time and with the documents that the receipt names, and compares the two.
///
/// `presented` are documents that the caller verified: where the receipt says something else about one of them (apart from
/// whether it is spent), that is a difference too. `trusted` are the signers whose decisions count; none when empty.
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
    let (documents, moment) = match recorded(receipt) {
        Ok(recorded) => recorded,
        Err(place) => return Recomputed::Unreadable(place),
    };
    // Whether a document is spent changes with time, as do the proofs that a log gives of it; the members of a quorum need not be presented
    // again; and whether the issuer vouched for a reviewer is known to itself. So only what was recorded about that counts.
    let as_recorded = |own: &ReceiptFact, fact: &ReceiptFact| ReceiptFact {
        spent: fact.spent,
        spent_by: fact.spent_by.clone(),
        vouched: fact.vouched,
        votes: fact.votes.clone(),
        logged: fact.logged.clone(),
        ..own.clone()
    };
    let own = |fact: &ReceiptFact| presented.iter().find(|other| other.content == fact.content);
    let contradicted = documents.iter().filter(|fact| own(fact).is_some_and(|own| as_recorded(own, fact) != **fact));
    let mut differences: Vec<Difference> = contradicted
        .map(|fact| Difference {
            at: format!("evidence of {}", fact.receipt_id),
            recorded: "as recorded".to_owned(),
            recomputed: "as verified now".to_owned(),
        })
        .collect();
    let request = &request.asked_by(&receipt.asker());
    let decision = decide(policy, request, &Evidence::new(documents), &moment);
    // The id is taken over and the chain left out: neither can be recomputed (`NOT_COMPARED`).
    let again = DecisionReceipt::unchained(&decision, request, receipt.decision_id());
    let other_engine = other_engine(receipt).is_some();
    let is_words = |place: &str| {
        place == "binding.engine" || WORDS.contains(&place) || WORDS_OF_CODES.iter().any(|name| place.ends_with(name))
    };
    // A receipt that says nothing of it is of an unknown asker, for whom `none` is written.
    let is_untold = |place: &str| place == "binding.separation" && receipt.bound("separation").is_none();
    let not_compared =
        |place: &str| NOT_COMPARED.contains(&place) || (other_engine && is_words(place)) || is_untold(place);
    let found = difference::differences(receipt.document(), again.document(), MAX_DIFFERENCES, &not_compared);
    differences.extend(found.into_iter().map(|difference| Difference {
        at: difference.at,
        recorded: difference.first.unwrap_or_else(|| "nothing".to_owned()),
        recomputed: difference.second.unwrap_or_else(|| "nothing".to_owned()),
    }));
    differences.truncate(MAX_DIFFERENCES);
    if differences.is_empty() { Recomputed::Same } else { Recomputed::Differs(differences) }
}

/// The engine that made the decision, if it is not this one.
#[must_use]
pub fn other_engine(receipt: &DecisionReceipt) -> Option<&str> {
    receipt.member("binding", "engine").and_then(Json::as_str).filter(|engine| *engine != ENGINE)
}

/// Decides on a request at the time and with the documents that a receipt records.
///
/// # Errors
/// The member of the receipt that cannot be read.
pub fn decide_as_recorded(
    receipt: &DecisionReceipt,
    request: &Request,
    policy: &ActionPolicy,
) -> Result<Decision, &'static str> {
    let (documents, moment) = recorded(receipt)?;
    Ok(decide(policy, &request.asked_by(&receipt.asker()), &Evidence::new(documents), &moment))
}

/// The documents that a receipt records, as they were found, and the moment of the decision; or the member that cannot be
/// read.
fn recorded(receipt: &DecisionReceipt) -> Result<(Vec<ReceiptFact>, Moment), &'static str> {
    let evidence = receipt.document().get("evidence").and_then(Json::as_array).and_then(documents);
    let documents = evidence.ok_or("evidence")?;
    let now = timestamp(receipt, "decided_at").ok_or("binding.decided_at")?;
    let denied = receipt.member("binding", "denied_before").and_then(|count| count.as_number()?.as_u64());
    let denied = denied.ok_or("binding.denied_before")?;
    let denial = receipt.member("binding", "denial").map(Denial::read);
    // Without the member there was no denial; one that cannot be read must not be replayed as if there was none.
    let denial = denial.map_or(Some(None), |denial| denial.map(Some)).ok_or("binding.denial")?;
    let counted = receipt
        .member("binding", "limits")
        .map_or(Some(Vec::new()), |limits| limits.as_array()?.iter().map(Counted::read).collect());
    let counted = counted.ok_or("binding.limits")?;
    Ok((documents, Moment { now, history: History { denied, denial, counted } }))
}

/// Whether a receipt records what the limits of a policy had counted for its action, which only the store knows otherwise.
#[must_use]
pub fn records_limits(receipt: &DecisionReceipt, request: &Request, policy: &ActionPolicy) -> bool {
    let recorded = receipt.member("binding", "limits").and_then(Json::as_array).unwrap_or_default();
    let has = |limit: &Limit, key: &LimitKey| {
        recorded.iter().filter_map(Json::as_object).any(|one| {
            let is = |name: &str, value: &str| one.get(name).and_then(Json::as_str) == Some(value);
            is("key", &key.key.to_string()) && is("window", &limit.window())
        })
    };
    let counting = policy.counting(&request.asked_by(&receipt.asker()));
    counting.iter().all(|(limit, keys)| keys.iter().all(|key| has(limit, key)))
}

fn timestamp(receipt: &DecisionReceipt, name: &str) -> Option<Timestamp> {
    receipt.member("binding", name)?.as_str()?.parse().ok()
}
