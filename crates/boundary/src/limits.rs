//! What the limits of a policy had counted, as a fact of the request, and what a decision adds to it.

use std::borrow::Cow;

use proofmark_predicate::Decimal;
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use crate::judge::RuleFinding;
use crate::policy::{ActionPolicy, Limit, LimitKey, Per, at};
use crate::receipt::DecisionReceipt;
use crate::request::Request;
use crate::rule_ref::RuleKind;

/// The cause of a block by a limit.
pub(crate) const CAUSE: &str = "limit";

/// What was counted under a key when a decision was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub key: Sha256Digest,
    /// How many actions, ever.
    pub actions: u64,
    /// What they come to, ever.
    pub total: Decimal,
    /// What those within the limit's window come to.
    pub used: Decimal,
}

/// What a limit had counted when an action was decided on, and what the action adds.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    pub counted: Counted,
    /// What the action adds, where it was allowed and the limit is about it.
    pub amount: Option<Decimal>,
    /// The limit's id, the values that it counts apart, its window and its bounds, as receipts have them.
    about: Object,
}

impl Counted {
    /// Nothing so far.
    #[must_use]
    pub fn nothing(key: Sha256Digest) -> Self {
        Self { key, actions: 0, total: Decimal::ZERO, used: Decimal::ZERO }
    }

    /// What was counted with the last action under a key. `before` is the last one before the window; none where the window has all.
    /// None where the numbers cannot be held exactly.
    #[must_use]
    pub fn up_to(last: &CountedAction, before: Option<&CountedAction>) -> Option<Self> {
        let used = before.map_or(Ok(last.total), |before| last.total.minus(before.total)).ok()?;
        Some(Self { key: last.key, actions: last.nth, total: last.total, used })
    }

    /// Reads it where a decision receipt has it; none for what is not of that form.
    pub(crate) fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let number = |name: &str| object.get(name)?.as_str()?.parse().ok();
        Some(Self {
            key: object.get("key")?.as_str()?.parse().ok()?,
            actions: object.get("actions")?.as_number()?.as_u64()?,
            total: number("total")?,
            used: number("used")?,
        })
    }
}

impl LimitUse {
    /// The action as it is counted; none where it is not.
    #[must_use]
    pub fn action(&self) -> Option<CountedAction> {
        CountedAction::after(&self.counted, self.amount?)
    }

    /// What [`Counted::read`] reads, with what people want to know beside it.
    pub(crate) fn to_json(&self) -> Json {
        let mut object = self.about.clone();
        object.insert("used", self.counted.used.to_string());
        if let Some(amount) = self.amount {
            object.insert("amount", amount.to_string());
        }
        object.insert("actions", self.counted.actions);
        object.insert("total", self.counted.total.to_string());
        object.insert("key", self.counted.key.to_string());
        object.into()
    }
}

/// An action that a decision has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedAction {
    pub key: Sha256Digest,
    /// Which action under the key it is, counted from 1.
    pub nth: u64,
    /// What they come to with this one.
    pub total: Decimal,
}

impl CountedAction {
    /// What the document of a decision says that it has counted.
    #[must_use]
    pub fn of_document(decision: &Object) -> Vec<Self> {
        let limits = decision.get("binding").and_then(|binding| binding.as_object()?.get("limits")?.as_array());
        let counted = limits.unwrap_or_default().iter().filter_map(|limit| {
            let amount: Decimal = limit.as_object()?.get("amount")?.as_str()?.parse().ok()?;
            Self::after(&Counted::read(limit)?, amount)
        });
        counted.collect()
    }

    fn after(counted: &Counted, amount: Decimal) -> Option<Self> {
        let total = counted.total.plus(amount).ok()?;
        Some(Self { key: counted.key, nth: counted.actions.checked_add(1)?, total })
    }
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

/// The request with the fact `limits`, where the policy has limits about its action. A request never brings it itself. What a limit does
/// not know, or cannot count, is not there.
pub(crate) fn with_limits<'r>(
    policy: &ActionPolicy,
    request: Cow<'r, Request>,
    counted: &[Counted],
) -> Cow<'r, Request> {
    if policy.limits(&request).next().is_none() && !request.facts().contains("limits") {
        return request;
    }
    let mut facts = request.facts().clone();
    let mut known = Object::new();
    for (limit, keys) in policy.counting(&request) {
        if let Some(fact) = fact(limit, &keys, &request, counted) {
            known.insert(&*limit.id, fact);
        }
    }
    facts.insert("limits", known);
    // It shares the rest.
    match request.followed_by(facts) {
        Ok(with) => Cow::Owned(with),
        // The request's own facts were read before, and these are numbers that can be held.
        Err(_) => request,
    }
}

/// What a limit knows of an action: the most and the least of what is counted under its keys.
fn fact(limit: &Limit, keys: &[LimitKey], request: &Request, counted: &[Counted]) -> Option<Object> {
    limit.amount(request)?;
    let counted: Option<Vec<&Counted>> =
        keys.iter().map(|key| counted.iter().find(|counted| counted.key == key.key)).collect();
    let counted = counted?;
    let used = counted.iter().map(|counted| counted.used).max()?;
    let least = counted.iter().map(|counted| counted.used).min()?;
    let left = limit.max.map(|max| number(max.minus(used).ok()?)).map_or(Some(None), |left| left.map(Some))?;
    let per: Vec<Json> =
        limit.per.iter().filter(|per| matches!(per, Per::Fact(_))).map(|per| per.shown().into()).collect();
    Some(object! { "used": number(used)?, "least": number(least)?, "left"?: left, "per": per })
}

fn number(decimal: Decimal) -> Option<Json> {
    Json::parse(decimal.to_string().as_bytes()).ok()
}

/// The facts about limits that still hold of a request with these facts: those that count by values that it has in common with the one
/// before it.
pub(crate) fn keep(facts: &mut Object, before: &Object) {
    let Some(limits) = facts.get("limits").and_then(Json::as_object) else { return };
    let value = |facts: &Object, path: &str| {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        at(facts, &path).cloned()
    };
    let has_same = |limit: &Json| {
        let per = limit.as_object().and_then(|limit| limit.get("per")?.as_array()).unwrap_or_default();
        per.iter().filter_map(Json::as_str).all(|path| value(facts, path) == value(before, path))
    };
    let mut kept = Object::new();
    for (id, limit) in limits.iter().filter(|(_, limit)| has_same(limit)) {
        kept.insert(id, limit.clone());
    }
    facts.insert("limits", kept);
}

/// What is known of the limits that may be about an action, and what it adds to those whose rules are among the findings, if it is
/// allowed.
pub(crate) fn uses(
    policy: &ActionPolicy,
    request: &Request,
    counted: &[Counted],
    findings: &[RuleFinding],
    is_allowed: bool,
) -> Vec<LimitUse> {
    let is_judged = |limit: &Limit| {
        findings.iter().filter(|finding| finding.source.kind == RuleKind::Deny).any(|finding| {
            let boundary = policy.boundaries.get(finding.source.boundary);
            let rule = boundary.and_then(|boundary| boundary.deny.get(finding.source.index));
            rule.and_then(|rule| rule.limit.as_ref()).is_some_and(|judged| judged.id == limit.id)
        })
    };
    let mut uses = Vec::new();
    for (limit, keys) in policy.counting(request) {
        let amount = limit.amount(request).filter(|_| is_allowed && is_judged(limit));
        for key in keys {
            let Some(counted) = counted.iter().find(|counted| counted.key == key.key).cloned() else { continue };
            uses.push(LimitUse { counted, amount, about: about(limit, key.of) });
        }
    }
    uses
}

fn about(limit: &Limit, of: Object) -> Object {
    object! {
        "id": &*limit.id,
        "sum": limit.measured(),
        "of": of,
        "window": limit.window(),
        "max"?: limit.max.map(|max| max.to_string()),
        "min"?: limit.min.map(|min| min.to_string()),
    }
}

/// Whether it is known what a limit had counted, so that it can count the action of this request.
pub(crate) fn is_known(request: &Request, limit: &Limit) -> bool {
    request.facts().get("limits").and_then(Json::as_object).is_some_and(|limits| limits.contains(&limit.id))
}

/// The path of the amount that a limit adds up, and the most that it may be.
pub(crate) fn left(request: &Request, limit: &Limit) -> Option<(String, String)> {
    let known = request.facts().get("limits")?.as_object()?.get(&limit.id)?.as_object()?;
    let left = known.get("left")?.as_number()?.as_str().to_owned();
    Some((limit.sum.as_ref()?.join("."), left))
}

/// What was counted, in words.
pub(crate) fn detail(request: &Request, limit: &Limit) -> Option<String> {
    let known = request.facts().get("limits")?.as_object()?.get(&limit.id)?.as_object()?;
    let number = |name: &str| Some(known.get(name)?.as_number()?.as_str().to_owned());
    let used = number("used")?;
    let amount = limit.amount(request).filter(|_| limit.sum.is_some());
    let amount = amount.map_or_else(String::new, |amount| format!(", and this one is {amount}"));
    Some(match (limit.max, number("left")) {
        (Some(max), Some(left)) => {
            let left = if left.starts_with('-') { "0".to_owned() } else { left };
            format!("{used} of {max} are used {}, {left} are left{amount}.", limit.window())
        }
        _ => format!("{used} are counted {}{amount}.", limit.window()),
    })
}
