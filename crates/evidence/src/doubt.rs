//! What is doubtful in a condition, whatever the facts are: mistakes that read like rules.

mod texts;

use proofmark_predicate::Predicate;
use proofmark_predicate::meaning::{constant_parts, literal, place, walk};
use proofmark_predicate::tree::{Expression, Operator, View};
use proofmark_receipt::document::shown;

use crate::condition::Condition;

/// What a condition is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It has to hold for an action.
    Demands,
    /// It stops an action.
    Denies,
    /// It chooses where a rule applies.
    Selects,
    /// It has to hold for an argument of a call.
    OfArgument,
    /// It has to hold for a part of what an agent or a tool says.
    OfWords,
}

/// Something doubtful in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// A stable name for programs.
    pub code: &'static str,
    pub message: String,
    pub help: &'static str,
}

/// The names of all doubts.
pub const DOUBTS: [&str; 7] =
    ["always-true", "never-true", "missing-member", "raw-path", "raw-command", "loose-match", "all-of-none"];

/// Lists that are empty where nothing was recorded.
const RECORDED: [&[&str]; 3] = [&["calls"], &["facts"], &["action", "paths"]];

/// What is doubtful in a condition. One that cannot be read has another error.
#[must_use]
pub fn doubts(condition: &Condition, used: Use) -> Vec<Doubt> {
    let Some(predicate) = condition.predicate() else { return Vec::new() };
    let mut doubts = Vec::new();
    for (part, truth) in constant_parts(predicate.tree()) {
        // A lone `true` is how a rule says that it asks for nothing; what follows from it has a name of its own.
        if !(truth && matches!(part.view(), View::Constant(_)) && part == predicate.tree()) {
            doubts.push(constant_doubt(predicate, part, truth));
        }
    }
    walk(predicate.tree(), &mut |expression| doubts.extend(member_doubt(expression)));
    if used == Use::Demands {
        doubts.extend(of_none(predicate.tree()));
    }
    doubts.extend(texts::doubts(predicate.tree(), used));
    // One mistake is one finding, however often a condition makes it.
    let mut codes: Vec<(&str, String)> = Vec::new();
    doubts.retain(|doubt| {
        let key = (doubt.code, doubt.message.clone());
        let is_new = !codes.contains(&key);
        codes.push(key);
        is_new
    });
    doubts
}

fn constant_doubt(predicate: &Predicate, part: Expression<'_>, truth: bool) -> Doubt {
    let clause = shown(predicate.clause(part.span())).to_string();
    let what = if part == predicate.tree() { "the condition".to_owned() } else { format!("the part `{clause}`") };
    if truth {
        let help = if is_neither(part) {
            "every value differs from one of the two: write `&&`, or `!(x in [...])`"
        } else {
            "write a condition that can fail"
        };
        Doubt { code: "always-true", message: format!("{what} holds for all facts"), help }
    } else {
        let help = "no facts meet it: look for `&&` where `||` is meant, bounds in the wrong order, and capitals after `lower`";
        Doubt { code: "never-true", message: format!("{what} never holds"), help }
    }
}

/// Whether it is `x != a || x != b`.
fn is_neither(part: Expression<'_>) -> bool {
    let View::Or(items) = part.view() else { return false };
    let differs = |item: Expression<'_>| matches!(item.view(), View::Binary { operator: Operator::NotEqual, .. });
    items.into_iter().all(differs)
}

/// Names of other languages for the size of a value.
const LENGTHS: [&str; 2] = ["length", "len"];
/// Objects that may have any member.
const OPEN: [&[&str]; 3] = [&["action", "args"], &["payload"], &["context"]];

fn member_doubt(expression: Expression<'_>) -> Option<Doubt> {
    let View::Select { base, field } = expression.view() else { return None };
    let of_object = place(base).is_some_and(|place| OPEN.contains(&place.as_slice()));
    (LENGTHS.contains(&field) && !of_object).then(|| Doubt {
        code: "missing-member",
        message: format!("texts and lists have no member `{field}`, so what depends on it is unknown"),
        help: "write `size(…)`",
    })
}

/// `all` over a list that may be empty, where nothing says that it is not.
fn of_none(condition: Expression<'_>) -> Vec<Doubt> {
    let (mut ranges, mut sized) = (Vec::new(), Vec::new());
    walk(condition, &mut |expression| match expression.view() {
        View::Macro { kind: proofmark_predicate::tree::MacroKind::All, range, .. } => ranges.push(range),
        View::Macro { kind: proofmark_predicate::tree::MacroKind::Exists, range, .. } => sized.push(range),
        View::Call { function, arguments } if function.name() == "size" => sized.extend(arguments),
        _ => {}
    });
    let is_recorded = |range: &Expression<'_>| {
        place(*range).is_some_and(|place| RECORDED.contains(&place.as_slice())) && !sized.contains(range)
    };
    ranges
        .iter()
        .filter(|range| is_recorded(range))
        .map(|range| Doubt {
            code: "all-of-none",
            message: format!("`all` holds where `{}` is empty", place(*range).unwrap_or_default().join(".")),
            help: "add `size(…) > 0 &&`",
        })
        .collect()
}

/// The text of a literal.
fn text_of(expression: Expression<'_>) -> Option<String> {
    match literal(expression)? {
        proofmark_predicate::Value::String(text) => Some(text.to_string()),
        _ => None,
    }
}
