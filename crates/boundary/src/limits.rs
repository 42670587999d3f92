//! What the limits of a policy had counted, as a fact of the request, and what a decision adds to it.

use std::borrow::Cow;

use proofmark_predicate::Decimal;
use proofmark_receipt::{Json, Object, object};

use crate::counted::{Counted, LimitUse};
use crate::policy::{ActionPolicy, Limit, LimitKey, Per};
use crate::request::Request;

/// The cause of a block by a limit.
pub(crate) const CAUSE: &str = "limit";

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

/// What is known of the limits that can count an action, and what it adds to those that were judged about it, if it is allowed.
pub(crate) fn uses(
    policy: &ActionPolicy,
    request: &Request,
    counted: &[Counted],
    is_added: &dyn Fn(&Limit) -> bool,
) -> Vec<LimitUse> {
    let mut uses = Vec::new();
    for (limit, keys) in policy.counting(request) {
        let amount = limit.amount(request).filter(|_| is_added(limit));
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
    let least = number("least")?;
    let lacks = |min: &Decimal| least.parse::<Decimal>().is_ok_and(|least| least < *min);
    if let Some(min) = limit.min.filter(lacks) {
        return Some(format!("{least} of {min} that have to come before it are counted {}.", limit.window()));
    }
    Some(match (limit.max, number("left")) {
        (Some(max), Some(left)) => {
            let left = if left.starts_with('-') { "0".to_owned() } else { left };
            format!("{used} of {max} are used {}, {left} are left{amount}.", limit.window())
        }
        _ => format!("{used} are counted {}{amount}.", limit.window()),
    })
}
