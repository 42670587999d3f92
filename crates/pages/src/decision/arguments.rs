//! What exactly would be done: every argument, whole, and what is different from when it was asked for before.

use proofmark_receipt::{Json, Object};
use proofmark_statement::indented;

use super::super::action::Action;
use super::super::text::Shown;

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
    /// What it is, where the text does not say so by itself.
    pub(crate) kind: Option<&'static str>,
}

impl Value {
    pub(crate) fn of(json: &Json) -> Self {
        match json {
            Json::String(text) if text.is_empty() => Self { text: Shown::default(), kind: Some("empty text") },
            // `1240` in quotes is another value than `1240`, to many tools.
            Json::String(text) if Json::parse(text.as_bytes()).is_ok_and(|json| json.as_object().is_none()) => {
                Self { text: text.as_str().into(), kind: Some("text") }
            }
            Json::String(text) => Self { text: text.as_str().into(), kind: None },
            Json::Array(_) | Json::Object(_) => Self { text: indented(json).into(), kind: None },
            other => Self { text: other.to_text().into(), kind: None },
        }
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
                name: name.as_str().into(),
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
        name: name.as_str().into(),
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
    fn values_are_whole_and_say_what_they_are() {
        let shown = |text: &str| {
            let value = Value::of(&Json::parse(text.as_bytes()).unwrap());
            (value.text.raw().to_owned(), value.kind)
        };
        assert_eq!(shown("\"plain\\ntwo\""), ("plain\ntwo".to_owned(), None));
        assert_eq!(shown("\"1240\""), ("1240".to_owned(), Some("text")));
        assert_eq!(shown("1240"), ("1240".to_owned(), None));
        assert_eq!(shown("\"\""), (String::new(), Some("empty text")));
        assert_eq!(shown("{\"a\":[1,{}],\"b\":[]}").0, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
    }
}
