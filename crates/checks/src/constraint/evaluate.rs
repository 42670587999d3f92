//! Whether a text meets its constraints.

use proofmark_predicate::{Budget, Failure, Missing, Predicate, Truth};
use proofmark_receipt::document::shown;
use proofmark_receipt::json::Json;
use proofmark_receipt::{Detail, Status};

use super::Constraint;
use super::error::TooMuch;
use super::path::Path;
use super::rule::{Comparison, Op, Rule, Unit};
use super::subject::Subject;

/// How many missing facts a message lists.
const MAX_MISSING: usize = 5;

/// What one constraint came to.
enum Met {
    Yes,
    /// It does not hold: what there is instead, and why.
    No {
        actual: Option<String>,
        message: Option<String>,
    },
    /// The submission lacks what it is about.
    Missing(String),
}

/// Checks the text against every constraint. Those past the budget are errors.
pub(crate) fn evaluate(constraints: &[Constraint], text: &str, budget: &Budget<'_>) -> Vec<Detail> {
    let subject = Subject::new(text, budget);
    let met = |constraint: &Constraint| met(&constraint.rule, &subject).unwrap_or_else(too_much);
    constraints.iter().map(|constraint| detail(constraint, met(constraint))).collect()
}

fn detail(constraint: &Constraint, met: Met) -> Detail {
    let (status, actual, message) = match met {
        Met::Yes => (Status::Pass, None, None),
        Met::No { actual, message } => (Status::Fail, actual, message),
        // Not a `fail`: what could not be checked is not refuted (docs/requests.md, "Constraints").
        Met::Missing(what) => (Status::Error, None, Some(what)),
    };
    Detail {
        actual,
        message,
        constraint: Some(constraint.text.clone()),
        ..Detail::new(constraint.name.clone(), status)
    }
}

fn met(rule: &Rule, subject: &Subject<'_>) -> Result<Met, TooMuch> {
    let budget = subject.budget;
    budget.charge(1)?;
    Ok(match rule {
        // The text is paid for before it is read: a text too long for the rest of the budget is not read at all.
        Rule::JsonParse => {
            subject.pay_for_json()?;
            match subject.json() {
                Ok(_) => Met::Yes,
                Err(error) => no(format!("the output is not JSON: {error}")),
            }
        }
        Rule::YamlParse => match subject.yaml()? {
            Ok(()) => Met::Yes,
            Err(error) => no(format!("the output is not YAML: {error}")),
        },
        Rule::Exists(path) => in_tree(subject, |tree, _| exists(path, tree, budget))?,
        Rule::Compare(path, comparison) => {
            in_tree(subject, |tree, json| compare(path, comparison, tree, json, budget))?
        }
        Rule::Count(unit, op, wanted) => {
            budget.charge_bytes(subject.text.len())?;
            count(*unit, *op, *wanted, subject.text)
        }
        Rule::Regex(pattern) => {
            if pattern.is_match(subject.text, budget)? {
                Met::Yes
            } else {
                no("the pattern matches nowhere in the output")
            }
        }
        Rule::Contains(part) => {
            if contains(subject, part)? {
                Met::Yes
            } else {
                no("the output does not contain the text")
            }
        }
        Rule::NotContains(part) => {
            if contains(subject, part)? {
                no("the output contains the text")
            } else {
                Met::Yes
            }
        }
        Rule::Schema(schema) => in_tree(subject, |tree, _| match schema.violations(tree, budget) {
            Ok(violations) if violations.is_empty() => Ok(Met::Yes),
            Ok(violations) => Ok(no(violations.join("\n"))),
            // `too_much` would blame a path.
            Err(TooMuch::ForOne) => Ok(Met::Missing(
                "the output is too large or too deep for this schema; write one with fewer ways to the same place"
                    .to_owned(),
            )),
            Err(together) => Err(together),
        })?,
        // The JSON is paid for even if only `text` is asked for: the facts hold the output as JSON either way.
        Rule::Predicate(predicate) => {
            subject.pay_for_json()?;
            holds(predicate, subject)
        }
    })
}

fn no(message: impl Into<String>) -> Met {
    Met::No { actual: None, message: Some(message.into()) }
}

/// A rule about JSON cannot be checked on a text that is not JSON.
fn in_tree(
    subject: &Subject<'_>,
    rule: impl FnOnce(&serde_json::Value, &Json) -> Result<Met, TooMuch>,
) -> Result<Met, TooMuch> {
    subject.pay_for_json()?;
    match (subject.tree(), subject.json()) {
        (Some(tree), Ok(json)) => rule(tree, json),
        (_, Err(error)) => Ok(Met::Missing(format!("the output is not JSON: {error}"))),
        (None, Ok(_)) => Ok(Met::Missing("the output holds a number past every double".to_owned())),
    }
}

fn contains(subject: &Subject<'_>, part: &str) -> Result<bool, TooMuch> {
    subject.budget.charge_bytes(subject.text.len())?;
    Ok(subject.text.contains(part))
}

fn exists(path: &Path, tree: &serde_json::Value, budget: &Budget<'_>) -> Result<Met, TooMuch> {
    if path.nodes(tree, budget)?.is_empty() { Ok(no("the path leads to nothing in the output")) } else { Ok(Met::Yes) }
}

fn too_much(why: TooMuch) -> Met {
    Met::Missing(match why {
        TooMuch::ForOne => "the output is too large for this path; write one with fewer `..`, `$` and `,`".to_owned(),
        TooMuch::Together(Failure::BudgetLimit(limit)) => format!(
            "the constraints together take more than {limit} steps on this output; write fewer, or cheaper ones"
        ),
        TooMuch::Together(failure) => failure.to_string(),
    })
}

/// All of what the path leads to, and there must be something.
fn compare(
    path: &Path,
    comparison: &Comparison,
    tree: &serde_json::Value,
    json: &Json,
    budget: &Budget<'_>,
) -> Result<Met, TooMuch> {
    let nodes = path.values(tree, json, budget)?;
    // Without this, "every match compares so" would hold where nothing matches.
    if nodes.is_empty() {
        return Ok(Met::Missing("the path leads to nothing in the output".to_owned()));
    }
    for node in nodes {
        match comparison.truth(node, budget)? {
            Truth::True => {}
            Truth::False => return Ok(Met::No { actual: Some(node.to_text()), message: None }),
            Truth::Unknown(_) => {
                let wanted = comparison.wanted.type_name();
                return Ok(Met::Missing(format!("`{}` cannot be compared with {wanted}", shown(&node.to_text()))));
            }
        }
    }
    Ok(Met::Yes)
}

fn count(unit: Unit, op: Op, wanted: u64, text: &str) -> Met {
    let found = match unit {
        Unit::Characters => text.chars().count(),
        Unit::Lines => text.lines().count(),
        Unit::Words => text.split_whitespace().count(),
    };
    if op.holds(found as u64, wanted) { Met::Yes } else { Met::No { actual: Some(found.to_string()), message: None } }
}

fn holds(predicate: &Predicate, subject: &Subject<'_>) -> Met {
    let evaluation = predicate.evaluate_within(subject.facts(), subject.budget);
    let clauses = || {
        let clauses = evaluation.decided_by.iter().map(|span| format!("`{}`", predicate.clause(*span)));
        clauses.collect::<Vec<_>>().join(", ")
    };
    match &evaluation.truth {
        Truth::True => Met::Yes,
        Truth::False => no(format!("does not hold: {}", clauses())),
        Truth::Unknown(missing) => Met::Missing(unknown(missing, subject)),
    }
}

fn unknown(missing: &[Missing], subject: &Subject<'_>) -> String {
    if let (Err(error), true) = (subject.json(), missing.iter().any(|fact| fact.path == "output")) {
        return format!("the output is not JSON: {error}");
    }
    let facts: Vec<String> = missing.iter().take(MAX_MISSING).map(ToString::to_string).collect();
    format!("unknown: {}", facts.join(", "))
}
