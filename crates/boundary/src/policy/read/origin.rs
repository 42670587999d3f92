//! Reads the requirements on where the values of an action come from. Each is a denial by a condition on the fact `origins`, so
//! that everything that is known of denials holds for it.

use proofmark_evidence::Condition;
use proofmark_predicate::Schema;
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field};

use super::rule::{optional_wording, otherwise, unless};
use crate::policy::{ActionPolicyError, Asked, Deny, OnBlock, OriginDemand, Wording};

/// The most arguments that one requirement names.
const MAX_ARGUMENTS: usize = 64;

/// What a requirement of this name asks for, where it is one of these.
pub(super) fn demand(name: &str, field: &Field<'_>) -> Result<Option<OriginDemand>, DocumentError> {
    Ok(Some(match name {
        "from" => OriginDemand::From(arguments(field)?),
        "links" => OriginDemand::Links(arguments(field)?),
        "cover" => OriginDemand::Cover(arguments(field)?),
        "asked" => OriginDemand::Asked(super::super::origins::labels(field)?),
        _ => return Ok(None),
    }))
}

/// The rule that asks for that.
pub(super) fn rule(field: &Field<'_>, demand: OriginDemand, schema: &Schema) -> Result<Deny, ActionPolicyError> {
    let fields = field.fields()?;
    Ok(Deny {
        at: field.at.as_str().into(),
        when: Condition::new(&source(&demand), schema),
        unless: fields.get("unless").map(|field| unless(&field)).transpose()?,
        reason: optional_wording(&fields, "reason")?.unwrap_or_else(|| wording(&demand)),
        next: optional_wording(&fields, "next")?,
        // Another plan of the agent does not help, so a person looks at it.
        otherwise: otherwise(&fields)?.unwrap_or(OnBlock::HumanReview),
        origin: Some(demand),
        limit: None,
    })
}

/// Arguments, each with what its values may be.
fn arguments(field: &Field<'_>) -> Result<Vec<Asked>, DocumentError> {
    let fields = field.fields()?;
    let mut arguments = Vec::new();
    for (name, allowed) in fields.iter() {
        if arguments.len() >= MAX_ARGUMENTS {
            let error = field.error(Cause::TooMany, format!("more than {MAX_ARGUMENTS} arguments"));
            return Err(error.with_help("write two rules"));
        }
        let mut asked = Asked { argument: name.to_owned(), ..Asked::default() };
        for word in super::super::origins::labels(&allowed)? {
            match (word.strip_prefix('='), word.strip_prefix("<=")) {
                (Some(constant), _) => asked.constants.push(constant.to_owned()),
                (None, Some(limit)) => asked.at_most = Some(number(limit.trim(), &allowed)?),
                (None, None) => asked.labels.push(word),
            }
        }
        arguments.push(asked);
    }
    if arguments.is_empty() {
        let error = field.error(Cause::Empty, "no argument is named");
        return Err(error.with_help("write one, as in `{to: [request]}`; `*` is every argument"));
    }
    Ok(arguments)
}

/// A limit as it is written.
fn number(text: &str, field: &Field<'_>) -> Result<String, DocumentError> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    match Json::parse(text.as_bytes()) {
        Ok(Json::Number(_)) if text.chars().all(is_digit) => Ok(text.to_owned()),
        _ => Err(field.error(Cause::InvalidValue, "a limit is a number").with_help("write it as in `<=100`")),
    }
}

/// The condition under which the action is denied. A value is not looked at before something was read for which nobody vouches.
fn source(demand: &OriginDemand) -> String {
    let met = match demand {
        OriginDemand::From(asked) => values("values", asked, |_| String::new()),
        OriginDemand::Links(asked) => values("links", asked, |_| String::new()),
        OriginDemand::Cover(asked) => values("values", asked, |labels| {
            format!(" || (has(v.pieces) && v.pieces.all(p, p.labels.exists(l, l in {labels})))")
        }),
        OriginDemand::Asked(words) => {
            let said = words.iter().map(|word| {
                let word = quoted(&format!(r"(^|\W){}($|\W)", escaped(&word.to_lowercase())));
                format!("lower(task.first).matches({word}) || lower(task.latest).matches({word})")
            });
            format!("(has(task) && ({}))", said.collect::<Vec<_>>().join(" || "))
        }
    };
    format!("!(size(origins.unknown) == 0 || {met})")
}

/// That all values of these arguments are as asked. `or` is one more thing that one of the labels makes enough.
fn values(of: &str, asked: &[Asked], or: impl Fn(&str) -> String) -> String {
    let all = asked;
    let each = asked.iter().map(|asked| {
        let labels =
            Json::from(asked.labels.iter().map(|label| Json::from(label.as_str())).collect::<Vec<_>>()).to_text();
        let mut may_be = format!("v.labels.exists(l, l in {labels})");
        for constant in &asked.constants {
            may_be.push_str(&format!(" || (has(v.value) && v.value == {})", quoted(constant)));
        }
        if let Some(limit) = &asked.at_most {
            may_be.push_str(&format!(" || (has(v.number) && v.number >= 0 && v.number <= {limit})"));
        }
        may_be.push_str(&or(&labels));
        let other = if asked.argument == "*" {
            // Names of arguments are those of the tool.
            let named =
                all.iter().filter(|other| other.argument != "*").map(|other| format!(" || {}", is_at(&other.argument)));
            format!("(has(v.plain) && v.plain){}", named.collect::<String>())
        } else {
            format!("!{}", is_at(&asked.argument))
        };
        format!("origins.{of}.all(v, {other} || {may_be})")
    });
    format!("(origins.complete && {})", each.collect::<Vec<_>>().join(" && "))
}

/// That a value is that of this argument, or below it.
fn is_at(argument: &str) -> String {
    let item = escaped("[*]");
    // A server may read a text in place of an object as one, and a name in other letters as this one.
    let above = argument.match_indices(['.', '[']).filter_map(|(at, _)| argument.get(..at));
    let pattern = |path: &str| escaped(path).replace(&item, r"\[[0-9]+\]");
    let above: String = above.map(|path| format!("|{}$", pattern(path))).collect();
    format!("v.at.matches({})", quoted(&format!(r"(?i)^({}($|[.\[]){above})", pattern(argument))))
}

/// A text as a regular expression that matches it.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() && c.is_ascii() && !c.is_ascii_control() && c != ' ' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A text of the predicate language.
fn quoted(text: &str) -> String {
    Json::from(text).to_text()
}

fn wording(demand: &OriginDemand) -> Wording {
    let (code, message) = match demand {
        OriginDemand::From(_) => {
            ("untrusted_origin", "A value of this action comes from no source that the rule accepts.")
        }
        OriginDemand::Links(_) => {
            ("untrusted_link", "A link or a number in this action comes from no source that the rule accepts.")
        }
        OriginDemand::Cover(_) => ("untrusted_text", "A text of this action is not made of what the rule accepts."),
        OriginDemand::Asked(_) => ("not_asked", "The user's request does not speak of this action."),
    };
    Wording { code: code.into(), message: message.into() }
}
