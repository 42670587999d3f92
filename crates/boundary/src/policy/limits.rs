//! Limits: what the allowed actions of a kind may come to together.

use std::sync::Arc;

use proofmark_evidence::span;
use proofmark_flow::counted;
use proofmark_predicate::Decimal;
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::{ActionPolicy, Matching};
use crate::request::{MAX_NAME_BYTES, Request, at};

/// The most values under which all limits together count one action: each is looked up in the store. A mail with more recipients is not
/// counted, and so not allowed.
const MAX_KEYS: usize = 64;
/// The most decimals of an amount.
const MAX_DECIMALS: i32 = 9;
/// The most digits of an amount before its point. Totals of 10^10 such amounts are exact.
const MAX_WHOLE_DIGITS: i32 = 15;

/// A limit on what the actions that were allowed come to.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) id: Arc<str>,
    /// The path of the amount that is added up; none counts the actions.
    pub(crate) sum: Option<Vec<String>>,
    /// What is counted apart.
    pub(crate) per: Vec<Per>,
    /// How far back it counts; none counts everything.
    pub(crate) window_millis: Option<i64>,
    /// The most that they may come to, the action itself included.
    pub(crate) max: Option<Decimal>,
    /// The least that those before it have to come to.
    pub(crate) min: Option<Decimal>,
}

/// A value by which a limit counts apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Per {
    Session,
    /// The account or the API key that asks.
    Account,
    /// The path of a fact.
    Fact(Vec<String>),
}

/// What a limit counts an action under: the limit, and the values that it counts apart. The same key is the same count, also of another
/// policy.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitKey {
    /// The limit's id.
    pub id: String,
    pub key: Sha256Digest,
    /// How far back it counts, in milliseconds; none counts everything.
    pub window_millis: Option<i64>,
    /// The values that it counts apart, by their paths.
    pub of: Object,
}

impl Per {
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Session => "session".to_owned(),
            Self::Account => "account".to_owned(),
            Self::Fact(path) => path.join("."),
        }
    }

    /// The values that a request has there; none where it has none, or something else than single values.
    fn values(&self, request: &Request) -> Option<Vec<String>> {
        match self {
            Self::Session => request.asker().session.as_ref().map(|head| vec![head.session.clone()]),
            Self::Account => request.asker().account.as_ref().map(|account| vec![account.clone()]),
            Self::Fact(path) => match at(request.facts(), path)? {
                Json::Array(items) if !items.is_empty() => {
                    let values: Option<Vec<_>> = items.iter().map(values_of).collect();
                    values.map(|values| values.concat())
                }
                value => values_of(value),
            },
        }
    }
}

impl Limit {
    /// The amount that an action counts as; none where that is not known, or no amount.
    pub(crate) fn amount(&self, request: &Request) -> Option<Decimal> {
        let Some(path) = &self.sum else { return Some(Decimal::from(1_u64)) };
        let amount: Decimal = at(request.facts(), path)?.as_number()?.as_str().parse().ok()?;
        let smallest = Decimal::new(1, MAX_DECIMALS).ok()?;
        let is_exact = amount.multiply(smallest).ok()?.to_integer().is_some();
        let is_small = amount < Decimal::new(1, MAX_WHOLE_DIGITS).ok()?;
        (is_exact && is_small && amount >= Decimal::ZERO).then_some(amount)
    }

    /// What an action is counted under; none where that is not known.
    pub(crate) fn keys(&self, request: &Request) -> Option<Vec<LimitKey>> {
        let mut all: Vec<Object> = vec![Object::new()];
        for per in &self.per {
            let (name, values) = (per.shown(), per.values(request)?);
            let mut with = Vec::new();
            for (of, value) in all.iter().flat_map(|of| values.iter().map(move |value| (of, value))) {
                let mut of = of.clone();
                of.insert(name.as_str(), value.as_str());
                if !with.contains(&of) {
                    with.push(of);
                }
                if with.len() > MAX_KEYS {
                    return None;
                }
            }
            all = with;
        }
        Some(all.into_iter().map(|of| self.key(of)).collect())
    }

    fn key(&self, of: Object) -> LimitKey {
        let counted = Json::from(object! { "limit": &*self.id, "sum": self.measured(), "of": of.clone() });
        LimitKey {
            id: self.id.to_string(),
            key: Sha256Digest::of(&counted.canonical_vrf()),
            window_millis: self.window_millis,
            of,
        }
    }

    /// What it adds up, as policies write it.
    pub(crate) fn measured(&self) -> String {
        self.sum.as_ref().map_or_else(|| "count".to_owned(), |path| path.join("."))
    }

    /// How far back it counts, in words.
    pub(crate) fn window(&self) -> String {
        self.window_millis.map_or_else(|| "in all".to_owned(), |millis| format!("within {}", span::words(millis)))
    }

    /// The limit in words.
    pub(crate) fn shown(&self) -> String {
        let what = match &self.sum {
            Some(path) => format!("the sum of `{}`", path.join(".")),
            None => "the number of actions".to_owned(),
        };
        let per: String = self.per.iter().map(|per| format!(" for each `{}`", per.shown())).collect();
        let most = self.max.iter().map(|max| format!("at most {max}"));
        let least = self.min.iter().map(|min| format!("at least {min} before it"));
        let bounds: Vec<_> = most.chain(least).collect();
        format!("{what}{per} {} to be {} (limit `{}`)", self.window(), bounds.join(" and "), self.id)
    }
}

impl ActionPolicy {
    /// The limits that an action may count under.
    pub(crate) fn limits<'p>(&'p self, request: &Request) -> impl Iterator<Item = &'p Limit> {
        let about = self.boundaries.iter().filter(|boundary| boundary.deny.iter().any(|rule| rule.limit.is_some()));
        let about: Vec<_> = about.filter(|boundary| boundary.matcher.matches(request) != Matching::No).collect();
        about.into_iter().flat_map(|boundary| boundary.deny.iter().filter_map(|rule| rule.limit.as_ref()))
    }

    /// The limits that can count an action, each with what it counts it under; as many as are looked up.
    pub(crate) fn counting<'p>(&'p self, request: &Request) -> Vec<(&'p Limit, Vec<LimitKey>)> {
        let mut left = MAX_KEYS;
        let mut counting = Vec::new();
        for limit in self.limits(request) {
            let Some(keys) = limit.keys(request).filter(|keys| keys.len() <= left) else { continue };
            left -= keys.len();
            counting.push((limit, keys));
        }
        counting
    }
}

/// What the limits of a policy would count an action under. A limit that cannot count it is left out: it does not allow it.
#[must_use]
pub fn limit_keys(policy: &ActionPolicy, request: &Request) -> Vec<LimitKey> {
    policy.counting(request).into_iter().flat_map(|(_, keys)| keys).collect()
}

/// What a single value names, so that spellings that servers take as one are counted as one.
fn values_of(value: &Json) -> Option<Vec<String>> {
    match value {
        // What is longer names nothing, and the receipt has it.
        Json::String(text) => (text.len() <= MAX_NAME_BYTES).then(|| counted(text)),
        Json::Number(number) => number.as_str().parse().ok().map(|number: Decimal| vec![number.to_string()]),
        Json::Bool(truth) => Some(vec![truth.to_string()]),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}
