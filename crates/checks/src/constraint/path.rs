//! JSONPath (RFC 9535) that cannot be made to walk a document more often than it is worth.

use proofmark_predicate::limits::MAX_PATH_BYTES;
use proofmark_predicate::{Budget, PathCost};
use proofmark_receipt::json::Json;
use proofmark_receipt::shown;
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

use super::MAX_VISITS;
use super::error::{ConstraintError, TooMuch};

/// A path and what bounds the cost of a walk.
pub(super) struct Path {
    path: JsonPath,
    cost: PathCost,
}

impl Path {
    pub(super) fn new(text: &str) -> Result<Path, ConstraintError> {
        let bad = |why: &str| {
            ConstraintError::new(
                format!("`{}` is not a JSONPath: {why}", shown(text)),
                "write one as in `$.items[*].name`",
            )
        };
        // The parser recurses, so it is never given a text that is longer or nests deeper.
        if text.len() > MAX_PATH_BYTES {
            let why = format!("the path has more than {MAX_PATH_BYTES} bytes");
            return Err(ConstraintError::new(why, "shorten it"));
        }
        let cost = PathCost::of(text);
        if cost.nests_too_deeply() {
            return Err(bad("it has too many open brackets"));
        }
        let path = JsonPath::parse(text).map_err(|error| bad(&error.to_string()))?;
        Ok(Path { path, cost })
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
        let Size { nodes, depth } = Size::of(tree);
        let visits = self.cost.visits(nodes, depth);
        if visits > MAX_VISITS {
            return Err(TooMuch::ForOne);
        }
        Ok(budget.charge(visits)?)
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

/// How many nodes there are, and how deep they nest.
#[derive(Default)]
struct Size {
    nodes: u64,
    depth: u64,
}

impl Size {
    /// Recurses, because the depth of what was read is bounded.
    fn of(tree: &Value) -> Size {
        let below = match tree {
            Value::Array(items) => items.iter().map(Size::of).fold(Size::default(), Size::beside),
            Value::Object(members) => members.values().map(Size::of).fold(Size::default(), Size::beside),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Size::default(),
        };
        Size { nodes: below.nodes + 1, depth: below.depth + 1 }
    }

    fn beside(self, other: Size) -> Size {
        Size { nodes: self.nodes + other.nodes, depth: self.depth.max(other.depth) }
    }
}
