//! What a value must be.

use proofmark_evidence::{Condition, Path, facts};
use proofmark_predicate::{Missing, Schema, Truth, Value, Why};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use crate::evidence::{Facts, MissingFact};
use crate::vocabulary;

/// Steps that checking one value counts as, beside those of its condition.
const STEPS_PER_VALUE: u64 = 16;

/// What the value at a path must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// Equal to this; `1` and `1.0` are equal.
    Equals(Json),
    /// Neither absent, nor `null`, nor an empty text.
    Present,
    /// Absent or `null`.
    Absent,
    /// One for which the condition over `value` holds.
    Predicate(Condition),
}

/// Whether a value is as expected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Match {
    Holds,
    Differs(String),
    Missing(Vec<MissingFact>),
}

impl Expect {
    pub(crate) fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, DocumentError> {
        match field.json {
            Json::String(word) if word == "present" => Ok(Self::Present),
            Json::String(word) if word == "absent" => Ok(Self::Absent),
            Json::Object(_) => Self::read_object(field, schema),
            plain => Ok(Self::Equals(plain.clone())).and_then(|expect| exact(field, expect)),
        }
    }

    fn read_object(field: &Field<'_>, schema: &Schema) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::EXPECT)?;
        match (fields.get("predicate"), fields.get("equals")) {
            (Some(predicate), None) => Ok(Self::Predicate(Condition::new(predicate.text()?, schema))),
            (None, Some(equals)) => exact(&equals, Self::Equals(equals.json.clone())),
            (Some(_), Some(_)) => Err(field
                .error(Cause::ConflictingFields, "`predicate` and `equals` exclude each other")
                .with_help("write one of them")),
            (None, None) => {
                Err(fields.missing("predicate", "write `predicate` with a condition or `equals` with a value"))
            }
        }
    }

    /// Whether all values at `path` in `document` are as expected. `facts` are what predicates may read beside
    /// `value`; `place` is what messages call the document.
    pub(crate) fn check(&self, path: &Path, document: &Value, facts: &Facts<'_>, place: &str) -> Match {
        let found = match path.select(document, facts.budget) {
            Ok(found) => found,
            Err(missing) => return Match::Missing(missing_at(missing, &format!("{place}{}", path.text()))),
        };
        if *self == Self::Absent {
            return if found.iter().all(|value| *value == Value::Null) {
                Match::Holds
            } else {
                Match::Differs(format!("`{place}{}` is present", path.text()))
            };
        }
        if found.is_empty() {
            return Match::Missing(vec![MissingFact::absent(format!("{place}{}", path.text()))]);
        }
        let mut checked = found.iter().map(|value| self.check_one(value, path, facts, place));
        checked.find(|result| *result != Match::Holds).unwrap_or(Match::Holds)
    }

    fn check_one(&self, value: &Value, path: &Path, facts: &Facts<'_>, place: &str) -> Match {
        let named = format!("{place}{}", path.text());
        if let Err(failure) = facts.budget.charge(STEPS_PER_VALUE) {
            return Match::Missing(vec![MissingFact::new(named, &Why::Failed(failure).to_string())]);
        }
        match self {
            Self::Present if is_null_or_empty(value) => Match::Missing(vec![MissingFact::new(named, "is empty")]),
            Self::Present | Self::Absent => Match::Holds,
            Self::Equals(expected) => match facts::value(expected) {
                Ok(exact) if facts.same(&exact, value) => Match::Holds,
                // `exact` refused such a number when the rule was read, so `Err` does not occur here.
                Ok(_) | Err(_) => {
                    Match::Differs(format!("`{named}` is {}, expected {}", brief(value), brief_json(expected)))
                }
            },
            Self::Predicate(condition) => match condition.truth(&with_value(&facts.all, value), facts.budget) {
                Truth::True => Match::Holds,
                Truth::False => {
                    Match::Differs(format!("`{named}` is {}; it must {}", brief(value), demand(condition.source())))
                }
                Truth::Unknown(missing) => Match::Missing(missing_at(missing, &named)),
            },
        }
    }

    /// The rule in a few words, for receipts.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Present => "present".to_owned(),
            Self::Absent => "absent".to_owned(),
            Self::Equals(json) => format!("== {}", brief_json(json)),
            Self::Predicate(condition) => format!("satisfies {}", condition.source()),
        }
    }

    pub(crate) fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Predicate(condition) => Some(condition),
            Self::Equals(_) | Self::Present | Self::Absent => None,
        }
    }
}

/// What a condition over `value` asks of it, after "it must".
fn demand(source: &str) -> String {
    let compared = source.strip_prefix("value ").and_then(|rest| rest.trim().split_once(' '));
    match compared {
        // One operand, so the words say the same as the condition.
        Some((operator @ ("==" | "!=" | "<" | "<=" | ">" | ">="), operand)) if !operand.trim().contains(' ') => {
            format!("be {operator} {}", operand.trim())
        }
        Some(_) | None => format!("satisfy `{source}`"),
    }
}

/// A value, short enough for a message.
pub(crate) fn brief_json(json: &Json) -> String {
    shown(&json.to_text())
}

/// A number of things: `1 call`, `2 calls`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn exact(field: &Field<'_>, expect: Expect) -> Result<Expect, DocumentError> {
    // A number that cannot be held exactly equals nothing, so a rule with one could never be met.
    match facts::value(field.json) {
        Ok(_) => Ok(expect),
        Err(error) => {
            Err(field.error(Cause::InvalidValue, error.to_string()).with_help("write a number with fewer digits"))
        }
    }
}

fn is_null_or_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn with_value(facts: &Value, value: &Value) -> Value {
    // The parts of a value are shared, so these copies are cheap.
    let mut all: Vec<(std::sync::Arc<str>, Value)> = vec![("value".into(), value.clone())];
    for name in ["payload", "context", "calls"] {
        if let Some(fact) = facts.get(name) {
            all.push((name.into(), fact.clone()));
        }
    }
    all.into_iter().collect()
}

/// What a predicate over `value` misses, under the path of the value.
fn missing_at(missing: Vec<Missing>, place: &str) -> Vec<MissingFact> {
    let rename = |path: String| match path.strip_prefix("value") {
        Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => format!("{place}{rest}"),
        _ => path,
    };
    if missing.is_empty() {
        // Only a condition that cannot be compiled is unknown without a reason (`Condition::truth`).
        vec![MissingFact::new(place.to_owned(), "cannot be judged: the condition cannot be read")]
    } else {
        missing.into_iter().map(|fact| MissingFact::new(rename(fact.path), &fact.why.to_string())).collect()
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::String(text) => brief_json(&Json::from(&**text)),
        Value::List(items) => format!("a list of {}", counted(items.len() as u64, "item")),
        other => format!("a {}", other.type_name().name()),
    }
}
