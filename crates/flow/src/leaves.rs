//! The values within a value.

use std::ops::ControlFlow;

use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};

/// A step from a value to one within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The value of a member.
    Member(&'a str),
    /// An item of a list.
    Item(usize),
    /// The name of a member, which is a text too.
    Name,
}

/// A text, a number, a boolean, or the name of a member.
#[derive(Debug)]
pub struct Leaf<'s, 'a> {
    /// How it is reached.
    pub steps: &'s [Step<'a>],
    /// The object that tells about it: the innermost item of a list that it is in and that is an object, or the whole value.
    pub record: Option<&'a Object>,
    pub text: &'a str,
    /// Whether it is a text. Others can say nothing to an agent.
    pub is_text: bool,
    pub number: Option<&'a Number>,
}

/// The longest name of a field, in bytes.
const MAX_FIELD: usize = 24;

impl Leaf<'_, '_> {
    /// Whether it is the name of a member, and one that programs choose.
    #[must_use]
    pub fn is_name_of_field(&self) -> bool {
        let is_separator = |c: char| matches!(c, '_' | '-' | '$');
        let is_word = |c: char| c.is_ascii_alphanumeric() || is_separator(c);
        // A longer one may be a sentence, and one with digits an account.
        let is_short = self.text.len() <= MAX_FIELD && self.text.chars().filter(|c| is_separator(*c)).count() <= 2;
        let has_few_digits = self.text.bytes().filter(u8::is_ascii_digit).count() <= 2;
        self.steps.last() == Some(&Step::Name) && is_short && has_few_digits && self.text.chars().all(is_word)
    }
}

/// Calls `take` with every leaf of a value, in order, until it breaks. `null` is none.
pub fn each_leaf<'a>(json: &'a Json, take: &mut impl FnMut(&Leaf<'_, 'a>) -> ControlFlow<()>) -> ControlFlow<()> {
    walk(json, &mut Vec::new(), json.as_object(), take)
}

fn walk<'a>(
    json: &'a Json,
    steps: &mut Vec<Step<'a>>,
    record: Option<&'a Object>,
    take: &mut impl FnMut(&Leaf<'_, 'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (text, is_text, number) = match json {
        Json::Null => return ControlFlow::Continue(()),
        Json::Bool(true) => ("true", false, None),
        Json::Bool(false) => ("false", false, None),
        Json::Number(number) => (number.as_str(), false, Some(number)),
        Json::String(text) => (text.as_str(), true, None),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                steps.push(Step::Item(index));
                let flow = walk(item, steps, item.as_object().or(record), take);
                steps.pop();
                flow?;
            }
            return ControlFlow::Continue(());
        }
        Json::Object(object) => {
            for (name, value) in object.iter() {
                steps.push(Step::Member(name));
                let flow = match walk(value, steps, record, take) {
                    ControlFlow::Continue(()) => {
                        steps.push(Step::Name);
                        let flow = take(&Leaf { steps, record, text: name, is_text: true, number: None });
                        steps.pop();
                        flow
                    }
                    broken @ ControlFlow::Break(()) => broken,
                };
                steps.pop();
                flow?;
            }
            return ControlFlow::Continue(());
        }
    };
    take(&Leaf { steps, record, text, is_text, number })
}

/// The path of a leaf as text: `$.items[2].name`. The name of a member has a `~` at the end. A path of more than `limit` bytes is
/// cut short.
#[must_use]
pub fn path_text(steps: &[Step<'_>], limit: usize) -> String {
    let mut path = String::from("$");
    for step in steps {
        if path.len() > limit {
            path.push('…');
            break;
        }
        match step {
            Step::Member(name) => {
                path.push('.');
                path.extend(name.chars().take(limit));
            }
            Step::Item(index) => path.push_str(&format!("[{index}]")),
            Step::Name => path.push('~'),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_its_place() {
        let json = Json::parse(br#"{"a": [1, {"b": "x", "c": null}], "d": true}"#).unwrap();
        let mut found = Vec::new();
        let _all = each_leaf(&json, &mut |leaf| {
            found.push((
                path_text(leaf.steps, 99),
                leaf.text.to_owned(),
                leaf.record.is_some_and(|record| record.contains("b")),
            ));
            ControlFlow::Continue(())
        });
        let found: Vec<_> = found.iter().map(|(path, text, around)| (path.as_str(), text.as_str(), *around)).collect();
        let expected = [
            ("$.a[0]", "1", false),
            ("$.a[1].b", "x", true),
            ("$.a[1].b~", "b", true),
            ("$.a[1].c~", "c", true),
            ("$.a~", "a", false),
            ("$.d", "true", false),
            ("$.d~", "d", false),
        ];
        assert_eq!(found, expected);
    }
}
