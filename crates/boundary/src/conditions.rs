//! The conditions of a `resume_contract`, and the facts they see.

use proofmark_evidence::{Binds, Comparison, Evidence, ReceiptFact, ReceiptKind, Refusal, Roles, Share, approval};
use proofmark_predicate::{Budget, Decimal, Predicate, Truth, Value};
use proofmark_quorum::{Vote, Votes};
use proofmark_receipt::{Sha256Digest, SignerId, Timestamp, Trust};

use crate::moment::Moment;
use crate::policy::ActionPolicy;
use crate::request::Request;

/// Approvals, each with the reason why it does not count.
type JudgedApprovals<'e> = Vec<(&'e ReceiptFact, Option<Refusal>)>;

pub(crate) fn holds(condition: &str, facts: &Value, budget: &Budget<'_>) -> bool {
    // A condition that does not compile, is unknown or is past the budget does not hold, so that no retry is admitted by it.
    Predicate::compile(condition).is_ok_and(|predicate| predicate.truth_within(facts, budget) == Truth::True)
}

/// The facts of the request, with `receipts`, `approvals` and `approvers` of the evidence.
pub(crate) fn facts(policy: &ActionPolicy, request: &Request, evidence: &Evidence, moment: &Moment) -> Value {
    let judged = judged(policy, request, evidence, moment);
    let receipts = evidence.documents().iter().filter(|fact| fact.approval.is_none());
    let mut with = vec![
        (
            "receipts".to_owned(),
            receipts.map(|fact| receipt_value(policy, fact, &moment.now)).collect::<Vec<_>>().into(),
        ),
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
    // Of two entries with one name the later counts: a fact of the request never stands in for judged evidence.
    own.chain(with.into_iter().map(|(name, value)| (name.into(), value))).collect()
}

/// The approvals of the evidence, judged under each way of binding.
fn judged<'e>(
    policy: &ActionPolicy,
    request: &Request,
    evidence: &'e Evidence,
    moment: &Moment,
) -> [(Binds, JudgedApprovals<'e>); Binds::ALL.len()] {
    // The subject is a hash of the whole action, which nothing else here needs.
    if evidence.documents().iter().all(|fact| fact.approval.is_none()) {
        return Binds::ALL.map(|binds| (binds, Vec::new()));
    }
    let (subject, occasion) = (request.subject(), request.occasion());
    Binds::ALL.map(|binds| {
        let scopes = |role: &str| policy.scopes(role, binds);
        (binds, approval::judged(&policy.roles, (&subject, &occasion), binds, scopes, evidence, &moment.now))
    })
}

fn receipt_value(policy: &ActionPolicy, fact: &ReceiptFact, now: &Timestamp) -> Value {
    let standing = policy.log_policy().zip(fact.logged.as_ref()).and_then(|(by, logged)| by.standing(logged));
    let key = |key: &SignerId| Value::from(key.to_string());
    let reviewed: Vec<_> = fact.votes.iter().flat_map(Votes::signers).map(key).collect();
    let agreeing = fact.votes.iter().flat_map(|votes| &votes.agreeing).filter(|vote| vote.has_not_expired(now));
    let vote = |vote: &Vote| {
        [("signer", key(&vote.signer)), ("verified_at", Value::from(vote.verified_at.as_str()))].into_iter().collect()
    };
    let agreeing: Vec<Value> = agreeing.map(vote).collect();
    let judgment = fact.judgment.as_ref();
    let expires_at = judgment.and_then(|judgment| judgment.expires_at.as_ref());
    let digest = |digest: Option<Sha256Digest>| digest.map_or(Value::Null, |digest| Value::from(digest.to_string()));
    let signer = fact.signer.map_or(Value::Null, |signer| Value::from(signer.to_string()));
    [
        ("output", Value::from(fact.output.to_string())),
        ("specification", Value::from(fact.specification.to_string())),
        ("kind", fact.kind.map(ReceiptKind::as_str).map_or(Value::Null, Value::from)),
        ("comparison", fact.comparison.map(Comparison::as_str).map_or(Value::Null, Value::from)),
        ("strength", fact.strength.map_or(Value::Null, share)),
        ("counter_run", fact.counter_run.map_or(Value::Null, share)),
        ("environment", digest(fact.environment)),
        ("environment_from", fact.environment_from.as_deref().map_or(Value::Null, Value::from)),
        ("tests", digest(fact.tests)),
        ("tests_from", fact.tests_from.as_deref().map_or(Value::Null, Value::from)),
        ("suite", digest(fact.suite)),
        ("verdict", Value::from(fact.verdict.as_str())),
        ("tier", Value::from(i64::from(fact.tier))),
        ("verified_at", Value::from(fact.verified_at.as_str())),
        ("signer", signer),
        ("valid", Value::from(fact.valid)),
        ("trusted", Value::from(fact.trust == Trust::Trusted)),
        ("distrusted", Value::from(fact.trust == Trust::Untrusted)),
        ("spent", Value::from(fact.spent)),
        ("agreeing", Value::from(agreeing)),
        ("reviewed", Value::from(reviewed)),
        ("role", judgment.map_or(Value::Null, |judgment| Value::from(judgment.role.as_str()))),
        ("expires_at", expires_at.map_or(Value::Null, |end| Value::from(end.as_str()))),
        ("logged", Value::from(standing.is_some_and(|standing| standing.quorum))),
        ("witnesses", Value::from(standing.map_or(0, |standing| standing.witnesses as i64))),
    ]
    .into_iter()
    .collect()
}

/// A decimal such as `0.833`. It has three places, so there is always one.
fn share(share: Share) -> Value {
    Decimal::new(i128::from(share.thousandths()), -3).map_or(Value::Null, Value::from)
}

/// The presented approvals, each with whether it counts under each way of binding.
fn approvals(judged: &[(Binds, JudgedApprovals<'_>)]) -> Vec<Value> {
    let Some((_, first)) = judged.first() else { return Vec::new() };
    let value = |at: usize, fact: &ReceiptFact| {
        let role = fact.approval.as_ref().map_or("", |approval| &approval.role);
        let usable = judged.iter().map(|(binds, judged)| {
            // Every way of binding judges the same approvals in the same order, so `at` is one approval in all of them.
            let usable = judged.get(at).is_some_and(|(_, refusal)| refusal.is_none());
            (bound("usable", *binds), Value::from(usable))
        });
        [("role".to_owned(), Value::from(role))].into_iter().chain(usable).collect()
    };
    first.iter().enumerate().map(|(at, (fact, _))| value(at, fact)).collect()
}

/// How many different people have approved, by role.
fn approvers<'a>(roles: &Roles, approvals: impl Iterator<Item = &'a ReceiptFact>) -> Value {
    let mut approved: Vec<(&str, Vec<&ReceiptFact>)> = Vec::new();
    for fact in approvals {
        let Some(approval) = &fact.approval else { continue };
        match approved.iter_mut().find(|(role, _)| *role == approval.role) {
            // Who has approved in several ways counts once.
            Some((_, people)) if people.iter().any(|other| roles.is_one_person(other, fact)) => {}
            Some((_, people)) => people.push(fact),
            None => approved.push((&approval.role, vec![fact])),
        }
    }
    approved.into_iter().map(|(role, people)| (role, Value::from(people.len() as i64))).collect()
}

/// The name of a fact about the approvals that count under a way of binding. Signed receipts hold these names.
pub(crate) fn bound(name: &str, binds: Binds) -> String {
    let of = match (binds.environment, binds.agent) {
        (true, true) => "",
        (true, false) => "_in_environment",
        (false, true) => "_for_agent",
        (false, false) => "_of_action",
    };
    let with = if binds.passkey { "_with_passkey" } else { "" };
    format!("{name}{of}{with}")
}
