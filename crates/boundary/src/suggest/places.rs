//! Where the values of results stand, as rules on their origin name the places.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proofmark_flow::{Step, each_leaf};
use proofmark_receipt::Json;

/// The longest name of a member that a rule names. A longer one is data.
const MAX_NAME: usize = 32;
/// The most steps of a place; what is deeper belongs to the value there.
const MAX_STEPS: usize = 8;

/// The places of the values, as `path` of a policy's `origins` names them: every item of a list is one, and so are members whose names
/// differ in digits only. `None` for a text without fields.
#[must_use]
pub fn result_places(values: &[Json]) -> BTreeSet<Option<String>> {
    let mut places = BTreeSet::new();
    for value in values {
        let _all = each_leaf(value, &mut |leaf| {
            if leaf.is_text || leaf.number.is_some() {
                places.insert((!leaf.steps.is_empty()).then(|| place(leaf.steps)));
            }
            ControlFlow::Continue(())
        });
    }
    places
}

/// The place of an argument, as `from` of a policy names it; `None` for one that it cannot name.
#[must_use]
pub fn argument_place(at: &str) -> Option<String> {
    let mut place = String::new();
    let mut rest = at;
    while let Some((before, after)) = rest.split_once('[') {
        let (index, next) = after.split_once(']')?;
        index.parse::<u64>().ok()?;
        place.push_str(before);
        place.push_str("[*]");
        rest = next;
    }
    place.push_str(rest);
    let is_plain = |c: char| c.is_alphanumeric() || "_-.[*] $".contains(c);
    (place.chars().all(is_plain) && !place.starts_with('*')).then_some(place)
}

fn place(steps: &[Step<'_>]) -> String {
    // The name of a member counts as what its object is.
    let (steps, names) = match steps {
        [object @ .., Step::Member(_), Step::Name] => (object, true),
        steps => (steps, false),
    };
    let mut place = String::from("$");
    for step in steps.iter().take(MAX_STEPS) {
        match step {
            Step::Member(name) => {
                place.push('.');
                place.push_str(&member(name));
            }
            Step::Item(_) => place.push_str("[*]"),
            Step::Name => {}
        }
    }
    if names && steps.len() <= MAX_STEPS {
        place.push('~');
    }
    place
}

/// The glob of a member's name.
fn member(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_- $".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return "*".to_owned();
    }
    let mut glob = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if glob.ends_with('*') => {}
            true => glob.push('*'),
            false => glob.push(c),
        }
    }
    glob
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_policies_do() {
        let json = Json::parse(br#"{"items": [{"id": 1, "to": "x"}], "Item 12": {"a.b": "y"}, "ok": true}"#).unwrap();
        let places: Vec<_> = result_places(&[json]).into_iter().flatten().collect();
        assert_eq!(places, ["$.Item *.*", "$.Item *~", "$.items[*].id", "$.items[*].to", "$.items[*]~", "$~"]);
        assert_eq!(result_places(&["text".into()]), [None].into());
        assert_eq!(argument_place("to[3].name"), Some("to[*].name".to_owned()));
        assert_eq!(argument_place("a\"b"), None);
    }
}
