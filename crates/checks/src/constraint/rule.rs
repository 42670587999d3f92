//! What a constraint demands, compiled.

use proofmark_predicate::tree::Operator;
use proofmark_predicate::{Budget, Predicate, Truth};
use proofmark_receipt::json::Json;
use proofmark_receipt::shown;

use super::error::{ConstraintError, TooMuch};
use super::path::Path;
use super::pattern::Pattern;
use super::schema::Schema;
use super::subject::fact;

/// What a text must meet.
pub(super) enum Rule {
    JsonParse,
    YamlParse,
    /// The path leads to something.
    Exists(Path),
    /// Everything the path leads to compares so with the value.
    Compare(Path, Comparison),
    /// So many characters, lines or words.
    Count(Unit, Op, u64),
    Regex(Pattern),
    Contains(String),
    NotContains(String),
    Schema(Box<Schema>),
    Predicate(Predicate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Characters,
    Lines,
    Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Equal,
    NotEqual,
    AtMost,
    Less,
    AtLeast,
    Greater,
}

impl Op {
    /// Longer spellings first.
    const ALL: [Op; 6] = [Op::Equal, Op::NotEqual, Op::AtMost, Op::AtLeast, Op::Less, Op::Greater];

    fn as_str(self) -> &'static str {
        match self {
            Op::Equal => "==",
            Op::NotEqual => "!=",
            Op::AtMost => "<=",
            Op::Less => "<",
            Op::AtLeast => ">=",
            Op::Greater => ">",
        }
    }

    fn operator(self) -> Operator {
        match self {
            Op::Equal => Operator::Equal,
            Op::NotEqual => Operator::NotEqual,
            Op::AtMost => Operator::LessOrEqual,
            Op::Less => Operator::Less,
            Op::AtLeast => Operator::GreaterOrEqual,
            Op::Greater => Operator::Greater,
        }
    }

    pub(super) fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Op::Equal => left == right,
            Op::NotEqual => left != right,
            Op::AtMost => left <= right,
            Op::Less => left < right,
            Op::AtLeast => left >= right,
            Op::Greater => left > right,
        }
    }
}

/// Compares a value found with the one wanted, exactly, as predicates do.
pub(super) struct Comparison {
    pub(super) wanted: Json,
    predicate: Predicate,
}

impl Comparison {
    pub(super) fn truth(&self, found: &Json, budget: &Budget<'_>) -> Result<Truth, TooMuch> {
        // Both are copied into facts before they are compared.
        budget.charge(values(found) + values(&self.wanted))?;
        let facts = [("found", fact(found)), ("wanted", fact(&self.wanted))].into_iter().collect();
        Ok(self.predicate.truth_within(&facts, budget))
    }
}

/// How many values a JSON value holds.
fn values(json: &Json) -> u64 {
    match json {
        Json::Object(object) => object.iter().fold(1, |sum, (_, value)| sum + values(value)),
        Json::Array(items) => items.iter().fold(1, |sum, value| sum + values(value)),
        Json::String(text) => 1 + text.len() as u64 / 16,
        Json::Null | Json::Bool(_) | Json::Number(_) => 1,
    }
}

const FORMS: &str = "write `json_parse`, `yaml_parse`, `json_path:$.name exists`, `json_path:$.age >= 18`, \
    `length <= 1000`, `lines <= 20`, `words >= 3`, `regex:^ok$`, `contains:text`, `not_contains:text`, `json_schema` or `cel:size(text) > 0`";

impl Rule {
    /// Reads a constraint other than `json_schema`, which has its schema beside it.
    pub(super) fn read(text: &str) -> Result<Rule, ConstraintError> {
        let text = text.trim();
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        match head {
            "json_parse" | "is_json" if rest.is_empty() => Ok(Rule::JsonParse),
            "yaml_parse" if rest.is_empty() => Ok(Rule::YamlParse),
            "json_path" => path(rest.trim()),
            // Not trimmed: white space right after the colon is part of the pattern.
            "regex" => regex(rest),
            "contains" if !rest.is_empty() => Ok(Rule::Contains(rest.to_owned())),
            "not_contains" if !rest.is_empty() => Ok(Rule::NotContains(rest.to_owned())),
            "contains" | "not_contains" => {
                Err(ConstraintError::new(format!("`{head}:` names no text"), "write the text after it"))
            }
            "cel" | "expr" => predicate(rest.trim()),
            _ => count(text).unwrap_or_else(|| {
                Err(ConstraintError::new(format!("unknown constraint `{}`", shown(head.trim())), FORMS))
            }),
        }
    }
}

/// A predicate over `output` and `text`.
pub(super) fn predicate(source: &str) -> Result<Rule, ConstraintError> {
    let compiled = Predicate::compile(source).map_err(|error| ConstraintError {
        message: format!("{error}\n{}", error.caret()),
        help: error.help().map(|help| help.to_string()),
    })?;
    match compiled.names().iter().find(|name| !matches!(&***name, "output" | "text")) {
        None => Ok(Rule::Predicate(compiled)),
        Some(name) => Err(ConstraintError::new(
            format!("unknown fact `{name}`"),
            "the facts are `output` (the text as JSON) and `text`",
        )),
    }
}

fn regex(pattern: &str) -> Result<Rule, ConstraintError> {
    Pattern::new(pattern)
        .map(Rule::Regex)
        .map_err(|error| ConstraintError::new(format!("the pattern cannot be used: {error}"), "write another one"))
}

/// `<path> exists`, or `<path> <op> <JSON value>`.
fn path(text: &str) -> Result<Rule, ConstraintError> {
    if let Some(path) = text.strip_suffix("exists").filter(|path| path.ends_with(char::is_whitespace)) {
        return Ok(Rule::Exists(Path::new(path.trim_end())?));
    }
    // A path may hold comparisons in its filters, so the last that leaves a path and a value counts.
    let starts = text.char_indices().rev().map(|(at, _)| at);
    for (path, rest) in starts.filter_map(|at| text.split_at_checked(at)) {
        let Some(op) = Op::ALL.into_iter().find(|op| rest.starts_with(op.as_str())) else { continue };
        let value = rest.get(op.as_str().len()..).unwrap_or_default().trim();
        let Ok(wanted) = Json::parse(value.as_bytes()) else { continue };
        if let Ok(path) = Path::new(path.trim_end()) {
            return Ok(compare(path, op, wanted));
        }
    }
    // An invalid path has an error of its own, which says more than the one below.
    Path::new(text)?;
    Err(ConstraintError::new(
        "the path is followed by neither `exists` nor a comparison with a JSON value",
        "write as in `$.age >= 18`",
    ))
}

fn compare(path: Path, op: Op, wanted: Json) -> Rule {
    let predicate = Predicate::comparison("found", op.operator(), "wanted");
    Rule::Compare(path, Comparison { wanted, predicate })
}

/// `length`, `lines` or `words`, an operator and a number.
fn count(text: &str) -> Option<Result<Rule, ConstraintError>> {
    let units = [("length", Unit::Characters), ("lines", Unit::Lines), ("words", Unit::Words)];
    let (rest, unit) =
        units.into_iter().find_map(|(word, unit)| Some((text.strip_prefix(word)?.trim_start(), unit)))?;
    let op = Op::ALL.into_iter().find(|op| rest.starts_with(op.as_str()))?;
    let number = rest.get(op.as_str().len()..).unwrap_or_default().trim();
    let parsed = number.parse().map(|number| Rule::Count(unit, op, number));
    Some(
        parsed.map_err(|_| ConstraintError::new(format!("`{}` is not a count", shown(number)), "write a whole number")),
    )
}
