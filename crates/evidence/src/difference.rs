//! Where two documents differ.

use proofmark_receipt::{Json, Object};

/// The longest value that is quoted, in characters: a digest and more.
const MAX_QUOTED_CHARS: usize = 200;

/// One place where two documents differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As in `binding.facts_hash` or `evidence[2].used`.
    pub at: String,
    /// The value of the first document; `None` where it has none.
    pub first: Option<String>,
    /// The value of the second document; `None` where it has none.
    pub second: Option<String>,
}

/// Where two documents differ, the first `max` places in the order of the first document. `skip` is asked for the place
/// of every member, and leaves it out. Lists of different lengths differ as a whole.
#[must_use]
pub fn differences(first: &Object, second: &Object, max: usize, skip: &dyn Fn(&str) -> bool) -> Vec<Difference> {
    let mut found = Found { differences: Vec::new(), max, skip };
    found.objects("", first, second);
    found.differences
}

struct Found<'a> {
    differences: Vec<Difference>,
    max: usize,
    skip: &'a dyn Fn(&str) -> bool,
}

impl Found<'_> {
    fn objects(&mut self, at: &str, first: &Object, second: &Object) {
        let (in_first, in_second) = (first.by_name(), second.by_name());
        let names = first.iter().map(|(name, _)| name);
        let added = second.iter().map(|(name, _)| name).filter(|name| !in_first.contains_key(name));
        for name in names.chain(added) {
            let place = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
            if !(self.skip)(&place) {
                self.values(&place, in_first.get(name).copied(), in_second.get(name).copied());
            }
        }
    }

    fn values(&mut self, at: &str, first: Option<&Json>, second: Option<&Json>) {
        if self.differences.len() >= self.max {
            return;
        }
        match (first, second) {
            (Some(Json::Object(first)), Some(Json::Object(second))) => self.objects(at, first, second),
            (Some(Json::Array(first)), Some(Json::Array(second))) if first.len() == second.len() => {
                for (index, (first, second)) in first.iter().zip(second).enumerate() {
                    self.values(&format!("{at}[{index}]"), Some(first), Some(second));
                }
            }
            (first, second) if first == second => {}
            (first, second) => self.differences.push(Difference {
                at: at.to_owned(),
                first: first.map(quoted),
                second: second.map(quoted),
            }),
        }
    }
}

fn quoted(json: &Json) -> String {
    let text = json.to_text();
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
