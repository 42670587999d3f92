//! Whether a receipt meets a demand.

use std::collections::BTreeSet;

use proofmark_predicate::Budget;
use proofmark_receipt::{Timestamp, Trust};

use super::{Evidence, MAX_REFUSED, ReceiptFact, Refusal};
use crate::judge::MAX_DECISION_STEPS;
use crate::policy::{Demand, Policy, ReceiptDemand, SignerDemand};
use crate::request::Request;

/// The digests (`hashes.output`) a receipt or an approval has to be over to count for this request at `now`: who keeps
/// many needs to present no others.
#[must_use]
pub fn outputs_wanted(policy: &Policy, request: &Request, now: &Timestamp) -> BTreeSet<String> {
    let rules = || policy.boundaries.iter().flat_map(|boundary| &boundary.require);
    let mut wanted = BTreeSet::new();
    if rules().any(|rule| matches!(rule.demand, Demand::Approval(_))) {
        wanted.insert(request.action_hash().to_string());
    }
    if rules().any(|rule| matches!(rule.demand, Demand::Receipt(_))) {
        let facts = request.value_at(now.as_str());
        let budget = Budget::new(MAX_DECISION_STEPS);
        wanted.extend(rules().filter_map(|rule| match &rule.demand {
            Demand::Receipt(demand) => demand.output.text(&facts, &budget).ok().map(|text| text.to_string()),
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        }));
    }
    wanted
}

/// The digests a receipt has to be of, as the policy's expressions come to.
pub(crate) struct Wanted<'a> {
    pub(crate) output: &'a str,
    pub(crate) specification: Option<&'a str>,
}

/// What was found for a demand.
pub(crate) enum Found<'e> {
    Met(&'e ReceiptFact),
    /// The refused ones, the nearest first.
    Refused(Vec<(&'e ReceiptFact, Refusal)>),
}

/// The receipt that meets the demand; of several the newest.
pub(crate) fn receipt<'e>(
    demand: &ReceiptDemand,
    wanted: &Wanted<'_>,
    evidence: &'e Evidence,
    now: &Timestamp,
) -> Found<'e> {
    let judged = evidence.documents().iter().filter(|fact| fact.approval.is_none());
    let judged: Vec<_> = judged.map(|fact| (fact, check(demand, wanted, fact, now).err())).collect();
    let met = judged.iter().filter(|(_, refusal)| refusal.is_none()).map(|(fact, _)| *fact);
    match met.max_by_key(|fact| (fact.verified_at.unix_millis(), fact.content)) {
        Some(fact) => Found::Met(fact),
        None => Found::Refused(nearest(judged)),
    }
}

/// The refused documents that got furthest, a few of them.
pub(super) fn nearest(judged: Vec<(&ReceiptFact, Option<Refusal>)>) -> Vec<(&ReceiptFact, Refusal)> {
    let mut refused: Vec<_> =
        judged.into_iter().filter_map(|(fact, refusal)| refusal.map(|refusal| (fact, refusal))).collect();
    refused.sort_by(|left, right| (right.1, left.0.content).cmp(&(left.1, right.0.content)));
    refused.truncate(MAX_REFUSED);
    refused
}

/// The checks, in the order of [`Refusal`]: the later one fails, the nearer it was.
fn check(demand: &ReceiptDemand, wanted: &Wanted<'_>, fact: &ReceiptFact, now: &Timestamp) -> Result<(), Refusal> {
    let trusted = match &demand.signer {
        SignerDemand::Trusted => fact.trust == Trust::Trusted,
        SignerDemand::Keys(keys) => fact.signer.is_some_and(|signer| keys.contains(&signer)),
    };
    let specified = wanted.specification.is_none_or(|wanted| fact.specification.to_string() == wanted);
    refuse(fact.output.to_string() != wanted.output, Refusal::OtherOutput)?;
    refuse(!fact.valid, Refusal::NotValid)?;
    refuse(!trusted, Refusal::Signer)?;
    refuse(!specified, Refusal::OtherSpecification)?;
    refuse(fact.verdict != demand.verdict, Refusal::Verdict)?;
    refuse(!demand.tiers.contains(&fact.tier), Refusal::Tier)?;
    refuse(fact.ahead_of(now), Refusal::InTheFuture)?;
    refuse(fact.older_than(demand.max_age_millis, now), Refusal::TooOld)?;
    refuse(demand.single_use && fact.spent, Refusal::Spent)
}

pub(super) fn refuse(condition: bool, refusal: Refusal) -> Result<(), Refusal> {
    if condition { Err(refusal) } else { Ok(()) }
}
