//! Where the values of a document are in its text.

use crate::json::{Json, Object};

/// Where the values of a document start, as bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// In document order: a value, then the values inside it. An object's keys are not values.
    starts: Vec<usize>,
}

impl Places {
    pub(super) fn new(starts: Vec<usize>) -> Places {
        Places { starts }
    }

    /// The byte at which the field `path` starts, as in `steps[0].verification`, or, where it is missing, the nearest
    /// value around it. `document` is what was read together with these places; its scalars may have changed since.
    pub fn find(&self, document: &Json, path: &str) -> Option<usize> {
        let mut index = 0;
        let mut here = document;
        for step in steps(path) {
            // A path that leads no further is that of a missing field, or has a name with a dot, which `steps` splits.
            let Some((skipped, below)) = step.descend(here) else { break };
            // `starts` has one entry for each value in document order: 1 is `here` itself.
            index += 1 + skipped;
            here = below;
        }
        self.starts.get(index).copied()
    }
}

enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split(['.', '[']).filter(|part| !part.is_empty()).map(|part| {
        let index = part.strip_suffix(']').and_then(|digits| digits.parse().ok());
        index.map_or(Step::Name(part), Step::Index)
    })
}

impl Step<'_> {
    /// The value below `json` that this leads to, and how many values are before it in `json`.
    fn descend<'j>(&self, json: &'j Json) -> Option<(usize, &'j Json)> {
        let mut before = 0;
        match (json, self) {
            (Json::Object(object), Step::Name(name)) => {
                for (key, value) in object.iter() {
                    if key == *name {
                        return Some((before, value));
                    }
                    before += count(value);
                }
                None
            }
            (Json::Array(items), Step::Index(index)) => {
                let value = items.get(*index)?;
                Some((items.iter().take(*index).map(count).sum(), value))
            }
            _ => None,
        }
    }
}

/// How many values `json` is, with itself.
fn count(json: &Json) -> usize {
    let members = |object: &Object| object.iter().map(|(_, value)| count(value)).sum::<usize>();
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 1,
        Json::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Json::Object(object) => 1 + members(object),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{Format, line_and_column, parse_with_places};

    const YAML: &str = "steps:\n  - id: é\n    verification:\n      evidence:\n        - {päth: x, b: z}\n  - id: b\n";

    fn locate(text: &str, format: Format, path: &str) -> (u64, u64) {
        let (json, places) = parse_with_places(text.as_bytes(), format).unwrap();
        line_and_column(text.as_bytes(), places.find(&json, path).unwrap())
    }

    #[test]
    fn fields_are_found_in_yaml_and_in_json() {
        let yaml = |path| locate(YAML, Format::Yaml, path);
        assert_eq!(yaml("steps[0].id"), (2, 9));
        assert_eq!(yaml("steps[1].id"), (6, 9));
        assert_eq!(yaml("steps[0].verification.evidence[0].päth"), (5, 18));
        assert_eq!(yaml("steps[0].verification.evidence[0].b"), (5, 24));
        assert_eq!(locate("{\"a\":\n  {\"b\": [1, 22]}}", Format::Json, "a.b[1]"), (2, 13));
    }

    #[test]
    fn a_missing_field_leads_to_where_it_would_be() {
        assert_eq!(locate(YAML, Format::Yaml, "steps[1].verification.evidence"), (6, 5));
        assert_eq!(locate("{\"a\": {}}", Format::Json, "a.b[1]"), (1, 7));
    }

    #[test]
    fn what_an_alias_stands_for_is_at_the_alias() {
        let text = "a: &x {b: {c: 1}}\nd: *x\ne: 2\n";
        assert_eq!(locate(text, Format::Yaml, "a.b.c"), (1, 15));
        assert_eq!(locate(text, Format::Yaml, "d.b.c"), (2, 4));
        assert_eq!(locate(text, Format::Yaml, "e"), (3, 4));
    }
}
