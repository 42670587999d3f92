//! Reads limits. Each is a denial by a condition on the fact `limits`, so that everything that is known of denials holds for it.

use std::sync::Arc;

use proofmark_evidence::{Condition, span};
use proofmark_predicate::{Decimal, Predicate, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field};

use super::rule::{optional_wording, otherwise, unless};
use crate::policy::{ActionPolicyError, Deny, Limit, OnBlock, Per, Wording};

/// The most values that one limit counts apart.
const MAX_PER: usize = 4;
/// The longest id.
const MAX_ID_BYTES: usize = 64;

const FIELDS: [&str; 6] = ["id", "sum", "per", "window", "max", "min"];

/// The ids of all limits of a policy, which its conditions may read. What is not a limit is reported where it is read.
pub(super) fn ids(boundaries: &Json) -> Vec<String> {
    let members = |json: &Json, name: &str| -> Vec<Json> {
        json.as_object().and_then(|object| object.get(name)?.as_array()).unwrap_or_default().to_vec()
    };
    let boundaries = boundaries.as_array().unwrap_or_default();
    let rules = boundaries.iter().flat_map(|boundary| members(boundary, "require"));
    let id = |rule: Json| Some(rule.as_object()?.get("limit")?.as_object()?.get("id")?.as_str()?.to_owned());
    rules.filter_map(id).collect()
}

/// The rule that keeps a limit.
pub(super) fn rule(field: &Field<'_>, limit: &Field<'_>, schema: &Schema) -> Result<Deny, ActionPolicyError> {
    let (fields, at) = (field.fields()?, limit);
    let limit = read(at)?;
    // Words that the language keeps for itself, and facts that there are not.
    for source in paths(&limit).chain([source(&limit)]) {
        if let Err(error) = Predicate::compile_with(&source, schema) {
            return Err(at.error(Cause::InvalidValue, format!("`{source}`: {error}")).into());
        }
    }
    Ok(Deny {
        at: field.at.as_str().into(),
        when: Condition::new(&source(&limit), schema),
        unless: fields.get("unless").map(|field| unless(&field)).transpose()?,
        reason: optional_wording(&fields, "reason")?.unwrap_or_else(|| wording(&limit)),
        next: optional_wording(&fields, "next")?,
        otherwise: otherwise(&fields)?.unwrap_or(OnBlock::HumanReview),
        origin: None,
        limit: Some(limit),
    })
}

fn read(field: &Field<'_>) -> Result<Limit, DocumentError> {
    let fields = field.fields()?;
    fields.only(&FIELDS)?;
    let limit = Limit {
        id: id(&fields.need("id", "name what is counted, as in `id: paid`")?)?,
        sum: sum(&fields.need("sum", "write the path of the amount, as in `action.args.amount`, or `count`")?)?,
        per: fields.get("per").map(|field| per(&field)).transpose()?.unwrap_or_default(),
        window_millis: fields.get("window").map(|field| span::read(&field)).transpose()?,
        max: fields.get("max").map(|field| number(&field)).transpose()?,
        min: fields.get("min").map(|field| number(&field)).transpose()?,
    };
    if limit.max.is_none() && limit.min.is_none() {
        let error = field.error(Cause::MissingField, "the limit has neither `max` nor `min`");
        return Err(error.with_help("write the most that the actions may come to, as in `max: 1000`"));
    }
    Ok(limit)
}

/// An id that conditions can read as a member of `limits`.
fn id(field: &Field<'_>) -> Result<Arc<str>, DocumentError> {
    let text = super::text(field)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() > MAX_ID_BYTES || !text.starts_with(|c: char| c.is_ascii_alphabetic()) || !text.chars().all(is_word) {
        let error = field.error(Cause::InvalidValue, "an id is made of letters, digits and `_`, a letter first");
        return Err(error.with_help("write it as in `paid_per_day`"));
    }
    Ok(text.into())
}

/// The path of an amount; none for `count`.
fn sum(field: &Field<'_>) -> Result<Option<Vec<String>>, DocumentError> {
    match field.text()? {
        "count" => Ok(None),
        text => path(text, &["action"]).map(Some).ok_or_else(|| {
            let error = field.error(Cause::InvalidValue, "it does not name a number of the action");
            error.with_help("write its path, as in `action.args.amount`, or `count`")
        }),
    }
}

fn per(field: &Field<'_>) -> Result<Vec<Per>, DocumentError> {
    let mut all = Vec::new();
    for item in field.items()? {
        let fact = |path: [&str; 2]| Some(Per::Fact(path.map(str::to_owned).to_vec()));
        let one = match item.text()? {
            // Each tenant has counts of its own, whatever is said here.
            "tenant" => continue,
            "session" => Some(Per::Session),
            "account" => Some(Per::Account),
            "agent" => fact(["agent", "id"]),
            "recipient" => fact(["action", "recipient"]),
            // Who asks is not a fact of the request, and all arguments are not one value.
            "agent.account" | "agent.separation" | "action.args" | "action.outer_args" => None,
            text => path(text, &["action", "agent"]).map(Per::Fact),
        };
        let Some(one) = one else {
            let error = item.error(Cause::InvalidValue, "it does not name a value of the action");
            let help =
                "write `agent`, `account`, `recipient`, `session`, `tenant`, or a path, as in `action.args.order`";
            return Err(error.with_help(help));
        };
        if all.contains(&one) {
            return Err(item.error(Cause::DuplicateName, "it is there twice").with_help("leave one out"));
        }
        all.push(one);
    }
    if all.len() > MAX_PER {
        let error = field.error(Cause::TooMany, format!("more than {MAX_PER} values"));
        return Err(error.with_help("write several limits"));
    }
    Ok(all)
}

/// A path of names that begins with one of these.
fn path(text: &str, begins: &[&str]) -> Option<Vec<String>> {
    let path: Vec<String> = text.split('.').map(str::to_owned).collect();
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let begins = path.first().is_some_and(|first| begins.contains(&first.as_str()));
    (begins && path.len() > 1 && path.iter().all(is_name)).then_some(path)
}

fn number(field: &Field<'_>) -> Result<Decimal, DocumentError> {
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("a number"))?;
    match number.as_str().parse::<Decimal>() {
        Ok(number) if number > Decimal::ZERO => Ok(number),
        Ok(_) => Err(field.error(Cause::InvalidValue, "it has to be above 0").with_help("write it as in `max: 1000`")),
        Err(error) => Err(field.error(Cause::InvalidValue, error.to_string())),
    }
}

/// What reads each value of a limit.
fn paths(limit: &Limit) -> impl Iterator<Item = String> {
    let per = limit.per.iter().filter_map(|per| match per {
        Per::Session | Per::Account => None,
        Per::Fact(path) => Some(format!("has({})", path.join("."))),
    });
    per.chain(limit.sum.iter().map(|path| format!("{} >= 0", path.join("."))))
}

/// The condition under which the action is denied.
fn source(limit: &Limit) -> String {
    let id = &limit.id;
    let least = limit.min.iter().map(|min| format!("limits.{id}.least >= {min}"));
    let most = limit.max.iter().map(|_| match &limit.sum {
        Some(path) => format!("{path} >= 0 && {path} <= limits.{id}.left", path = path.join(".")),
        None => format!("limits.{id}.left >= 1"),
    });
    format!("!({})", most.chain(least).collect::<Vec<_>>().join(" && "))
}

fn wording(limit: &Limit) -> Wording {
    let (code, message) = match limit.max {
        Some(_) => ("limit_reached", "The actions that were allowed before come to too much with this one."),
        None => ("too_few_before", "Too few such actions were allowed before."),
    };
    Wording { code: code.into(), message: message.into() }
}
