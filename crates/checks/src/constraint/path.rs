//! JSONPath (RFC 9535) that cannot be made to walk a document more often than it is worth.

use proofmark_predicate::Budget;
use proofmark_predicate::limits::{MAX_PATH_BYTES, MAX_PATH_NESTING};
use proofmark_receipt::json::Json;
use proofmark_receipt::shown;
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

use super::error::{ConstraintError, TooMuch};

/// The most visits of nodes one path may take.
const MAX_VISITS: u64 = 1 << 24;

/// A path and what bounds the cost of a walk.
pub(super) struct Path {
    path: JsonPath,
    marks: Marks,
}

impl Path {
    pub(super) fn new(text: &str) -> Result<Path, ConstraintError> {
        let bad = |why: &str| {
            ConstraintError::new(
                format!("`{}` is not a JSONPath: {why}", shown(text)),
                "write one as in `$.items[*].name`",
            )
        };
        // What is longer or nests deeper is never given to the parser, which recurses.
        if text.len() > MAX_PATH_BYTES {
            let why = format!("the path has more than {MAX_PATH_BYTES} bytes");
            return Err(ConstraintError::new(why, "shorten it"));
        }
        let marks = Marks::of(text);
        if marks.nesting > MAX_PATH_NESTING {
            return Err(bad("it has too many open brackets"));
        }
        let path = JsonPath::parse(text).map_err(|error| bad(&error.to_string()))?;
        Ok(Path { path, marks })
    }

    /// The nodes the path leads to.
    pub(super) fn nodes<'a>(&self, tree: &'a Value, budget: &Budget<'_>) -> Result<Vec<&'a Value>, TooMuch> {
        self.pay(tree, budget)?;
        Ok(self.path.query(tree).all())
    }

    /// The same, taken from the JSON the tree is of, in which numbers are exact.
    pub(super) fn values<'a>(
        &self,
        tree: &Value,
        json: &'a Json,
        budget: &Budget<'_>,
    ) -> Result<Vec<&'a Json>, TooMuch> {
        self.pay(tree, budget)?;
        let located = self.path.query_located(tree);
        located.iter().map(|node| find(json, node.location().iter()).ok_or(TooMuch::ForOne)).collect()
    }

    /// Takes the visits of a walk from the budget, where they are not too many.
    fn pay(&self, tree: &Value, budget: &Budget<'_>) -> Result<(), TooMuch> {
        let visits = self.visits(tree).filter(|visits| *visits <= MAX_VISITS).ok_or(TooMuch::ForOne)?;
        Ok(budget.charge(visits)?)
    }

    /// How many nodes are visited; `None` where they are more than can be counted.
    fn visits(&self, tree: &Value) -> Option<u64> {
        let (nodes, depth) = size(tree);
        nodes
            .checked_pow(self.marks.roots)?
            .checked_mul(depth.checked_pow(self.marks.descents)?)?
            .checked_mul(self.marks.repeats)
    }
}

fn find<'a, 'b>(json: &'a Json, path: impl Iterator<Item = &'b PathElement<'b>>) -> Option<&'a Json> {
    let mut at = json;
    for element in path {
        at = match (element, at) {
            (PathElement::Name(name), Json::Object(object)) => object.get(name)?,
            (PathElement::Index(index), Json::Array(items)) => items.get(*index)?,
            _ => return None,
        };
    }
    Some(at)
}

/// What multiplies the visits of a walk.
struct Marks {
    /// `$`: each begins a walk of its own, in a filter one for each node.
    roots: u32,
    /// `..`: each visits a node once for each of the nodes above it.
    descents: u32,
    /// In how many ways unions and filters visit the same node.
    repeats: u64,
    /// The most brackets open at once.
    nesting: usize,
}

impl Marks {
    /// Counts generously: one mark too many only lowers how much is walked.
    fn of(text: &str) -> Marks {
        let mut marks = Marks { roots: 0, descents: 0, repeats: 1, nesting: 0 };
        let mut open: Vec<u64> = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\'' | '"' => skip_string(&mut characters, character),
                '$' => marks.roots += 1,
                '.' if characters.peek() == Some(&'.') => marks.descents += 1,
                '@' => marks.repeats = marks.repeats.saturating_add(1),
                ',' => open.iter_mut().last().into_iter().for_each(|commas| *commas += 1),
                // One selector, and one more for each comma.
                '[' | '(' => {
                    open.push(1);
                    marks.nesting = marks.nesting.max(open.len());
                }
                // A bracket that closes nothing multiplies by one; the parser refuses such a path afterwards.
                ']' | ')' => marks.repeats = marks.repeats.saturating_mul(open.pop().unwrap_or(1)),
                _ => {}
            }
        }
        marks
    }
}

fn skip_string(characters: &mut impl Iterator<Item = char>, quote: char) {
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            character if character == quote => return,
            _ => {}
        }
    }
}

/// How many nodes there are, and how deep they nest; the depth of what was read is bounded.
fn size(tree: &Value) -> (u64, u64) {
    let inner: (u64, u64) = match tree {
        Value::Array(items) => items.iter().map(size).fold((0, 0), larger),
        Value::Object(members) => members.values().map(size).fold((0, 0), larger),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (0, 0),
    };
    (inner.0 + 1, inner.1 + 1)
}

fn larger(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1.max(other.1))
}
