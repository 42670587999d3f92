//! Where in a text a field stands.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::yaml;

/// The line and column, from 1, of the field `path` (as in `steps[0].verification`) in a document in JSON or YAML;
/// `None` when it cannot be read or has no such field. A path below a field that is there leads to that field.
pub fn locate(bytes: &[u8], path: &str) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let options = yaml::options(false);
    let root =
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| Spanned::<Node>::deserialize(yaml));
    let root = root.ok()?;
    let mut here = &root;
    for step in steps(path) {
        let below = match (&here.value, step) {
            (Node::Map(members), Step::Name(name)) => members.get(name),
            (Node::List(items), Step::Index(index)) => items.get(index),
            _ => None,
        };
        match below {
            Some(below) => here = below,
            None => break,
        }
    }
    Some((here.referenced.line(), here.referenced.column()))
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

/// A document of which only the shape matters.
enum Node {
    Leaf,
    List(Vec<Spanned<Node>>),
    Map(BTreeMap<String, Spanned<Node>>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Shape)
    }
}

struct Shape;

impl<'de> Visitor<'de> for Shape {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Text(name) => drop(members.insert(name, map.next_value()?)),
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Node::Map(members))
    }
}

enum Key {
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer).map_or(Key::Other, Key::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "steps:\n  - id: a\n    verification:\n      evidence:\n        - {path: x}\n  - id: b\n";

    #[test]
    fn fields_are_found_in_yaml_and_in_json() {
        assert_eq!(locate(YAML.as_bytes(), "steps[0].id"), Some((2, 9)));
        assert_eq!(locate(YAML.as_bytes(), "steps[1].id"), Some((6, 9)));
        assert_eq!(locate(YAML.as_bytes(), "steps[0].verification.evidence[0].path"), Some((5, 18)));
        assert_eq!(locate(b"{\"a\":\n  {\"b\": [1, 22]}}", "a.b[1]"), Some((2, 13)));
    }

    #[test]
    fn a_field_that_is_not_there_leads_to_where_it_would_be() {
        assert_eq!(locate(YAML.as_bytes(), "steps[1].verification.evidence"), Some((6, 5)));
        assert_eq!(locate(b"{", "a"), None);
    }
}
