//! Where a rule looks: dotted paths and JSONPath.

use std::sync::Arc;

use proofmark_predicate::{Budget, CompileError, Missing, Query, Value, Why};

/// A place in a document: `order.items[0].sku`, or JSONPath when it starts with `$`.
#[derive(Clone, Debug)]
pub struct Path {
    text: String,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Steps(Vec<String>),
    Query(Result<Arc<Query>, Box<CompileError>>),
}

impl PartialEq for Path {
    /// The text determines the way.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Path {
    /// The path as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The error in an invalid JSONPath.
    pub fn fault(&self) -> Option<&CompileError> {
        match &self.way {
            Way::Steps(_) => None,
            Way::Query(query) => query.as_ref().err().map(|fault| &**fault),
        }
    }

    /// Reads a path; `None` when it is empty or has an empty or unfinished part.
    pub fn read(text: &str) -> Option<Self> {
        let way = if text.starts_with('$') {
            Way::Query(Query::compile(text).map(Arc::new).map_err(Box::new))
        } else {
            Way::Steps(steps(text)?)
        };
        Some(Self { text: text.to_owned(), way })
    }

    /// The values at this place.
    ///
    /// # Errors
    /// The reasons, when a limit ended the search, so that it is unknown whether there are values.
    pub fn select(&self, document: &Value, budget: &Budget<'_>) -> Result<Vec<Value>, Vec<Missing>> {
        let query = match &self.way {
            // Not charged: the length of the path, which the author of the rule chose, bounds the work.
            Way::Steps(steps) => return Ok(walk(document, steps).into_iter().collect()),
            // `Contract::of` refuses such a path before anything is judged, so it cannot meet a rule with `absent`.
            Way::Query(Err(_)) => return Ok(Vec::new()),
            Way::Query(Ok(query)) => query,
        };
        // A strict query reports an absent member, which is just no value here; a limit must not look like that.
        match query.values(document, budget) {
            Ok(found) => Ok(found),
            Err(unknown) if unknown.missing.iter().any(is_limit) => Err(unknown.missing),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The first name of the path, if it begins with one.
    pub fn first_name(&self) -> Option<&str> {
        match &self.way {
            Way::Steps(steps) => steps.first().map(String::as_str),
            Way::Query(_) => {
                let rest = self.text.strip_prefix("$.")?;
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                rest.get(..end).filter(|name| !name.is_empty())
            }
        }
    }

    /// Whether this place is `other` or inside it; `false` when that is not obvious.
    pub fn is_within(&self, other: &Self) -> bool {
        match (&self.way, &other.way) {
            (Way::Steps(inner), Way::Steps(outer)) => inner.starts_with(outer),
            _ => self.text == other.text,
        }
    }
}

/// `a.b[0].c` as `a`, `b`, `0`, `c`.
fn steps(text: &str) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (name, indexes) = part.split_at_checked(part.find('[').unwrap_or(part.len()))?;
        if name.is_empty() {
            return None;
        }
        steps.push(name.to_owned());
        let mut rest = indexes;
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            index.parse::<usize>().ok()?;
            steps.push(index.to_owned());
            rest = after;
        }
    }
    Some(steps)
}

fn walk(document: &Value, steps: &[String]) -> Option<Value> {
    let mut here = document;
    for step in steps {
        // `a[0]` and `a.0` are the same step: an index in a list, a name in a map.
        here = match here {
            Value::List(items) => item(items, step)?,
            other => other.get(step)?,
        };
    }
    Some(here.clone())
}

fn item<'v>(items: &'v Arc<[Value]>, step: &str) -> Option<&'v Value> {
    items.get(step.parse::<usize>().ok()?)
}

fn is_limit(fact: &Missing) -> bool {
    matches!(fact.why, Why::Failed(failure) if failure.is_limit())
}
