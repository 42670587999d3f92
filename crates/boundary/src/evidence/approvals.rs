//! Whether approvals meet a demand.

use proofmark_receipt::{Sha256Digest, SignerId, Timestamp, Trust, Verdict};

use super::receipts::{nearest, refuse};
use super::{Evidence, ReceiptFact, Refusal};
use crate::policy::{ApprovalDemand, Policy};

/// The tier of a human's attestation (VRF 1.0, "Tier 3").
pub(crate) const HUMAN_TIER: u8 = 3;

/// What was found for a demand.
pub(crate) struct Approvals<'e> {
    /// Those that count, as many as were asked for or fewer.
    pub(crate) counted: Vec<&'e ReceiptFact>,
    /// The refused ones, the nearest first.
    pub(crate) refused: Vec<(&'e ReceiptFact, Refusal)>,
}

/// The approvals of this action that count for the demand, the oldest first.
pub(crate) fn approvals<'e>(
    policy: &Policy,
    demand: &ApprovalDemand,
    action: Sha256Digest,
    evidence: &'e Evidence,
    now: &Timestamp,
) -> Approvals<'e> {
    let keys = policy.role_keys(&demand.role);
    let of_role = |fact: &&ReceiptFact| fact.approval.as_ref().is_some_and(|approval| approval.role == demand.role);
    let judged: Vec<_> =
        evidence.documents().iter().filter(of_role).map(|fact| (fact, check(keys, action, fact, now).err())).collect();
    let mut good: Vec<_> = judged.iter().filter(|(_, refusal)| refusal.is_none()).map(|(fact, _)| *fact).collect();
    good.sort_by_key(|fact| (fact.verified_at.unix_millis(), fact.content));
    let mut counted: Vec<&ReceiptFact> = Vec::new();
    for fact in good {
        let again = demand.distinct && counted.iter().any(|other| other.signer == fact.signer);
        if counted.len() < demand.count && !again {
            counted.push(fact);
        }
    }
    Approvals { counted, refused: nearest(judged) }
}

/// Whether an approval counts for this action.
pub(crate) fn usable(policy: &Policy, action: Sha256Digest, fact: &ReceiptFact, now: &Timestamp) -> bool {
    let keys = fact.approval.as_ref().and_then(|approval| policy.role_keys(&approval.role));
    check(keys, action, fact, now).is_ok()
}

fn check(keys: Option<&[SignerId]>, action: Sha256Digest, fact: &ReceiptFact, now: &Timestamp) -> Result<(), Refusal> {
    let Some(approval) = &fact.approval else { return Err(Refusal::OtherOutput) };
    let trusted = match keys {
        Some(keys) => fact.signer.is_some_and(|signer| keys.contains(&signer)),
        None => fact.trust == Trust::Trusted,
    };
    refuse(approval.action_hash != action || fact.output != action, Refusal::OtherOutput)?;
    refuse(!fact.valid, Refusal::NotValid)?;
    refuse(!trusted, Refusal::Signer)?;
    refuse(fact.verdict != Verdict::Pass, Refusal::Verdict)?;
    refuse(fact.tier != HUMAN_TIER, Refusal::Tier)?;
    refuse(fact.ahead_of(now), Refusal::InTheFuture)?;
    refuse(approval.expires_at.unix_millis() <= now.unix_millis(), Refusal::Expired)?;
    refuse(fact.spent, Refusal::Spent)
}
