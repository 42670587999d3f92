//! What exactly would be done: every argument, whole, and what is different from when it was asked for before.

use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_statement::{legible, legible_name};

use super::super::action::Action;
use super::super::text::Shown;
use super::super::words::number;

/// The longest value that cannot be folded, in bytes.
const MAX_IN_SIGHT: usize = 2_000;
/// The most lines of one.
const MAX_LINES_IN_SIGHT: usize = 40;

/// One argument.
pub(crate) struct Argument {
    pub(crate) name: Shown,
    /// None where it was left out this time.
    pub(crate) value: Option<Value>,
    /// What it was before, where that is different.
    pub(crate) was: Option<Value>,
    /// Whether it was not there before.
    pub(crate) is_new: bool,
}

/// A value, in lines as it has them.
pub(crate) struct Value {
    pub(crate) text: Shown,
    /// What is in sight of a value that can be folded.
    pub(crate) long: Option<String>,
}

impl Value {
    pub(crate) fn of(json: &Json) -> Self {
        let text = legible(json);
        let long = (text.len() > MAX_IN_SIGHT || text.lines().count() > MAX_LINES_IN_SIGHT).then(|| {
            // Of the value and not of its text: others can compute it.
            let digest = match json {
                Json::String(text) => Sha256Digest::of(text.as_bytes()),
                other => Sha256Digest::of(&other.canonical_vrf()),
            };
            let (lines, characters) = (text.lines().count(), text.chars().count());
            format!("{} characters in {} lines, {digest}", number(characters as u64), number(lines as u64))
        });
        Self { text: text.into(), long }
    }
}

/// The arguments of an action, beside those of an earlier one on the same target.
pub(crate) fn arguments(action: &Action, before: Option<&Action>) -> Vec<Argument> {
    let mut all: Vec<_> = action
        .args()
        .iter()
        .map(|(name, value)| {
            let was = before.and_then(|before| before.args().iter().find(|(known, _)| known == name));
            let was = was.map(|(_, value)| value);
            Argument {
                name: legible_name(name).into_owned().into(),
                value: Some(Value::of(value)),
                was: was.filter(|was| *was != value).map(Value::of),
                is_new: before.is_some() && was.is_none(),
            }
        })
        .collect();
    // Leaving an argument out may change what a tool does as much as another value.
    let dropped = before.iter().flat_map(|before| before.args());
    let dropped = dropped.filter(|(name, _)| !action.args().iter().any(|(known, _)| known == name));
    all.extend(dropped.map(|(name, value)| Argument {
        name: legible_name(name).into_owned().into(),
        value: None,
        was: Some(Value::of(value)),
        is_new: false,
    }));
    all
}

/// A document without these members.
pub(crate) fn without(object: &Object, names: &[&str]) -> Object {
    let mut rest = Object::new();
    for (name, value) in object.iter().filter(|(name, _)| !names.contains(name)) {
        rest.insert(name, value.clone());
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_whole_and_say_how_long_they_are() {
        assert!(Value::of(&Json::from("x".repeat(MAX_IN_SIGHT))).long.is_none());
        let long = Value::of(&Json::from("x".repeat(MAX_IN_SIGHT + 1)));
        let digest = Sha256Digest::of("x".repeat(MAX_IN_SIGHT + 1).as_bytes());
        assert_eq!(long.long, Some(format!("2,001 characters in 1 lines, {digest}")));
        assert_eq!(long.text.raw().len(), MAX_IN_SIGHT + 1);
        assert!(Value::of(&Json::from("x\n".repeat(MAX_LINES_IN_SIGHT) + "x")).long.is_some());
    }
}
