//! Which receipts the rules of a policy use.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proofmark_evidence::{
    Evidence, Logged, NoText, ReceiptFact, Refusal, Roles, Sought, SoughtReceipt, TextExpression, Wanted, assign,
    nearest,
};
use proofmark_predicate::{Budget, Value};
use proofmark_receipt::Timestamp;

use crate::input::{Input, MAX_DECISION_STEPS};
use crate::policy::{ActionPolicy, Demand, ReceiptRule};
use crate::request::Request;
use crate::rule_ref::RuleRef;

/// Steps that reading one document counts as.
const STEPS_PER_DOCUMENT: u64 = 8;
/// Steps that looking for a witness or a reviewer among those of a policy counts as.
const STEPS_PER_KEY: u64 = 8;

/// The digests (`hashes.output`) a receipt or an approval must be over to count for this request at `now`, so that a store
/// looks up no others.
#[must_use]
pub fn outputs_wanted(policy: &ActionPolicy, request: &Request, now: &Timestamp) -> BTreeSet<String> {
    let rules = || policy.boundaries.iter().flat_map(|boundary| &boundary.require);
    let mut denials = policy.boundaries.iter().flat_map(|boundary| &boundary.deny);
    let mut wanted = BTreeSet::new();
    if rules().any(|rule| matches!(rule.demand, Demand::Approval(_))) || denials.any(|rule| rule.unless.is_some()) {
        wanted.insert(request.action_hash().to_string());
    }
    if rules().any(|rule| matches!(&rule.demand, Demand::Approval(demand) if demand.scopes.are_any())) {
        wanted.extend(request.occasion().key().map(|key| key.to_string()));
    }
    if rules().any(|rule| matches!(rule.demand, Demand::Receipt(_))) {
        let facts = request.value_at(now.as_str());
        let budget = Budget::new(MAX_DECISION_STEPS);
        wanted.extend(rules().filter_map(|rule| match &rule.demand {
            // A rule without a digest cannot be met, so there is nothing to look up for it.
            Demand::Receipt(rule) => rule.output.text(&facts, &budget).ok().map(|text| text.to_string()),
            Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        }));
    }
    wanted
}

/// What the receipts over those digests are looked up for.
#[must_use]
pub fn sought(policy: &ActionPolicy, request: &Request, now: &Timestamp) -> Sought {
    let (facts, budget) = (request.value_at(now.as_str()), Budget::new(MAX_DECISION_STEPS));
    let rules = policy.boundaries.iter().flat_map(|boundary| &boundary.require);
    let roles = OnceCell::new();
    let sought = rules.filter_map(|rule| match &rule.demand {
        Demand::Receipt(rule) => {
            let Digests { output, specification } = digests(rule, &facts, &budget).ok()?;
            let roles = || Arc::clone(roles.get_or_init(|| Arc::new(policy.roles.clone())));
            let roles = rule.demand.judgment.as_ref().map(|_| roles());
            Some(SoughtReceipt { demand: rule.demand.clone(), output: Some(output), specification, roles })
        }
        Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
    });
    sought.collect()
}

/// The digests that a rule's expressions evaluate to.
pub(crate) struct Digests {
    pub(crate) output: String,
    specification: Option<String>,
}

impl Digests {
    fn wanted<'w>(&'w self, roles: &'w Roles) -> Wanted<'w> {
        Wanted { output: Some(&self.output), specification: self.specification.as_deref(), roles: Some(roles) }
    }

    /// The positions of the receipts that meet the rule, the newest first.
    pub(crate) fn candidates(&self, rule: &ReceiptRule, input: &Input<'_>) -> Vec<usize> {
        rule.demand.candidates(&self.wanted(&input.policy.roles), input.evidence, &input.moment.now)
    }
}

/// The digests that a rule asks for; or the expression that has none, and why.
pub(crate) fn digests<'r>(
    rule: &'r ReceiptRule,
    facts: &Value,
    budget: &Budget<'_>,
) -> Result<Digests, (&'r TextExpression, NoText)> {
    let text = |expression: &'r TextExpression| match expression.text(facts, budget) {
        Ok(text) => Ok(text.to_string()),
        Err(none) => Err((expression, none)),
    };
    Ok(Digests { output: text(&rule.output)?, specification: rule.specification.as_ref().map(text).transpose()? })
}

/// The receipt that each single-use rule uses up, by its position in the evidence: no receipt twice, and as many rules as
/// possible have one.
pub(crate) fn assigned<'w>(
    rules: impl Iterator<Item = (RuleRef, &'w ReceiptRule)>,
    facts: &Value,
    input: &Input<'_>,
) -> BTreeMap<RuleRef, usize> {
    let exclusive = rules.filter(|(_, rule)| rule.demand.single_use);
    let (sources, candidates): (Vec<_>, Vec<_>) = exclusive
        .filter_map(|(source, rule)| {
            // A rule that is left out here gets no receipt. It fails with its own reason when it is judged.
            input.budget.charge(reading_steps(input.evidence)).ok()?;
            Some((source, digests(rule, facts, input.budget).ok()?.candidates(rule, input)))
        })
        .unzip();
    sources.into_iter().zip(assign(&candidates)).filter_map(|(source, place)| Some((source, place?))).collect()
}

/// The steps that reading every document once counts as.
pub(crate) fn reading_steps(evidence: &Evidence) -> u64 {
    let keys = evidence.documents().iter().map(|fact| {
        let reviewed = fact.votes.as_ref().map_or(0, |votes| votes.signers().count());
        reviewed + fact.logged.as_ref().map_or(0, Logged::cosigned) + usize::from(fact.judgment.is_some())
    });
    evidence.documents().len() as u64 * STEPS_PER_DOCUMENT + keys.sum::<usize>() as u64 * STEPS_PER_KEY
}

/// The refused receipts, the nearest first. Approvals are not receipts.
pub(crate) fn refused<'e>(rule: &ReceiptRule, digests: &Digests, input: &Input<'e>) -> Vec<(&'e ReceiptFact, Refusal)> {
    let (wanted, now) = (digests.wanted(&input.policy.roles), &input.moment.now);
    let receipts = input.evidence.documents().iter().filter(|fact| fact.approval.is_none());
    // A receipt that meets the rule and is not assigned to it is assigned to another rule.
    let refused = receipts.map(|fact| {
        let refusal = rule.demand.meets(&wanted, fact, now).err();
        (fact, Some(refusal.unwrap_or(Refusal::UsedByAnotherRule)))
    });
    nearest(refused.collect())
}
