//! Whether a retry may be asked for at all: the conditions of the receipt it resumes from hold.

use proofmark_evidence::{Binds, Comparison, Evidence, Person, ReceiptFact, ReceiptKind, Refusal, Roles, approval};
use proofmark_predicate::{Budget, Predicate, Truth, Value};
use proofmark_receipt::{Json, Sha256Digest};

use super::condition::bound;
use super::{Change, MAX_CHANGES};
use crate::disposition::Disposition;
use crate::judge::{MAX_DECISION_STEPS, World};
use crate::moment::Moment;
use crate::policy::ActionPolicy;
use crate::receipt::DecisionReceipt;
use crate::request::Request;

/// Approvals, each with why it does not count.
type Judged<'e> = Vec<(&'e ReceiptFact, Option<Refusal>)>;

/// Whether a retry is admitted. Being admitted allows nothing: the retry is decided anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    ConditionsUnmet(Vec<String>),
    Refused { code: &'static str, message: &'static str },
}

/// Whether a retry that resumes from `resumed` may be asked for. Its signature is the caller's to check.
#[must_use]
pub fn admits(
    resumed: &DecisionReceipt,
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    moment: &Moment,
) -> Admission {
    let refused = |code, message| Admission::Refused { code, message };
    match resumed.disposition() {
        Disposition::Allow | Disposition::AllowWithWarning => {
            return refused("not_blocked", "the receipt allowed its action; there is nothing to resume");
        }
        Disposition::TerminalBlock => return refused("terminal", "the receipt ended its path; start another one"),
        Disposition::LocalReplan | Disposition::UpstreamReplan | Disposition::HumanReview => {}
    }
    if resumed.text("action_class") != request.action_class() {
        return refused("other_action", "the request is for an action of another class than the receipt");
    }
    let Some(conditions) = conditions(resumed) else {
        return refused("unreadable_conditions", "the receipt's `resume_contract.conditions` cannot be read");
    };
    let policy_hash = resumed.member("binding", "policy_hash").and_then(Json::as_str);
    if conditions.is_empty() {
        // What no fact can change, another policy can.
        return match policy_hash == Some(policy.hash().to_string().as_str()) {
            true => refused("nothing_would_change", "nothing but another policy would change the decision"),
            false => Admission::Admitted,
        };
    }
    let facts = facts(policy, request, evidence, moment);
    let budget = Budget::new(MAX_DECISION_STEPS);
    let unmet = conditions.into_iter().filter(|condition| !holds(condition, &facts, &budget));
    let unmet: Vec<_> = unmet.map(str::to_owned).collect();
    if unmet.is_empty() { Admission::Admitted } else { Admission::ConditionsUnmet(unmet) }
}

fn conditions(resumed: &DecisionReceipt) -> Option<Vec<&str>> {
    let conditions = resumed.member("resume_contract", "conditions")?.as_array()?;
    if conditions.len() > MAX_CHANGES {
        return None;
    }
    conditions.iter().map(|condition| condition.as_object()?.get("predicate")?.as_str()).collect()
}

fn holds(condition: &str, facts: &Value, budget: &Budget<'_>) -> bool {
    Predicate::compile(condition).is_ok_and(|predicate| predicate.truth_within(facts, budget) == Truth::True)
}

/// Whether all changes hold for a request and the documents presented with it.
pub(super) fn all_hold(changes: &[Change], world: &World<'_>) -> bool {
    let facts = facts(world.policy, world.request, world.evidence, world.moment);
    changes.iter().all(|change| holds(&change.predicate, &facts, world.budget))
}

/// The facts of the request, and the documents presented with it.
fn facts(policy: &ActionPolicy, request: &Request, evidence: &Evidence, moment: &Moment) -> Value {
    let subject = request.subject();
    let judged =
        Binds::ALL.map(|binds| (binds, approval::judged(&policy.roles, &subject, binds, evidence, &moment.now)));
    let receipts = evidence.documents().iter().filter(|fact| fact.approval.is_none());
    let mut with = vec![
        ("receipts".to_owned(), receipts.map(receipt_value).collect::<Vec<_>>().into()),
        ("approvals".to_owned(), approvals(&judged).into()),
    ];
    for (binds, judged) in &judged {
        let usable = judged.iter().filter(|(_, refusal)| refusal.is_none()).map(|(fact, _)| *fact);
        with.push((bound("approvers", *binds), approvers(&policy.roles, usable)));
    }
    let facts = request.value_at(moment.now.as_str());
    let Value::Map(map) = &facts else { return facts };
    let own = map.entries().iter().filter_map(|(key, value)| match key {
        proofmark_predicate::Key::String(name) => Some((name.clone(), value.clone())),
        _ => None,
    });
    own.chain(with.into_iter().map(|(name, value)| (name.into(), value))).collect()
}

fn receipt_value(fact: &ReceiptFact) -> Value {
    let digest = |digest: Option<Sha256Digest>| digest.map_or(Value::Null, |digest| Value::from(digest.to_string()));
    let signer = fact.signer.map_or(Value::Null, |signer| Value::from(signer.to_string()));
    [
        ("output", Value::from(fact.output.to_string())),
        ("specification", Value::from(fact.specification.to_string())),
        ("kind", fact.kind.map(ReceiptKind::as_str).map_or(Value::Null, Value::from)),
        ("comparison", fact.comparison.map(Comparison::as_str).map_or(Value::Null, Value::from)),
        ("tests", digest(fact.tests)),
        ("suite", digest(fact.suite)),
        ("verdict", Value::from(fact.verdict.as_str())),
        ("tier", Value::from(i64::from(fact.tier))),
        ("verified_at", Value::from(fact.verified_at.as_str())),
        ("signer", signer),
        ("valid", Value::from(fact.valid)),
        ("trusted", Value::from(fact.trust == proofmark_receipt::Trust::Trusted)),
        ("spent", Value::from(fact.spent)),
    ]
    .into_iter()
    .collect()
}

/// The approvals that were presented, each with whether it counts when so much binds it.
fn approvals(judged: &[(Binds, Judged<'_>)]) -> Vec<Value> {
    let Some((_, first)) = judged.first() else { return Vec::new() };
    let value = |at: usize, fact: &ReceiptFact| {
        let role = fact.approval.as_ref().map_or("", |approval| &approval.role);
        let usable = judged.iter().map(|(binds, judged)| {
            let usable = judged.get(at).is_some_and(|(_, refusal)| refusal.is_none());
            (bound("usable", *binds), Value::from(usable))
        });
        [("role".to_owned(), Value::from(role))].into_iter().chain(usable).collect()
    };
    first.iter().enumerate().map(|(at, (fact, _))| value(at, fact)).collect()
}

/// How many different reviewers have approved the action, by role.
fn approvers<'a>(roles: &Roles, approvals: impl Iterator<Item = &'a ReceiptFact>) -> Value {
    let mut spoken: Vec<(&str, Vec<Option<Person>>)> = Vec::new();
    for fact in approvals {
        let Some(approval) = &fact.approval else { continue };
        let person = roles.person(fact);
        match spoken.iter_mut().find(|(role, _)| *role == approval.role) {
            Some((_, people)) if people.contains(&person) => {}
            Some((_, people)) => people.push(person),
            None => spoken.push((&approval.role, vec![person])),
        }
    }
    spoken.into_iter().map(|(role, people)| (role, Value::from(people.len() as i64))).collect()
}
