//! What the calls of a run brought, in which the values of later calls are found. This explains a ruling and decides nothing.

use proofmark_receipt::Json;

/// The most text of a run that is searched, in bytes.
const MAX_SEARCHED: usize = 8 << 20;
/// The most values of one call that are looked for.
const MAX_SOUGHT: usize = 16;
/// The most calls that are named for one value.
const MAX_NAMED: usize = 4;
/// How many characters a value has at least that is looked for: shorter ones stand in many texts.
const MIN_VALUE: usize = 3;

/// A value of a call, and the earlier calls that brought a text in which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The argument, as in `message.to`.
    pub at: String,
    pub calls: Vec<FoundIn>,
}

/// A call that brought a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundIn {
    /// Which call of the run it is, counted from 1.
    pub number: usize,
    pub tool: String,
}

/// What the calls so far have brought.
#[derive(Default)]
pub(super) struct Brought {
    texts: Vec<Text>,
    bytes: usize,
}

struct Text {
    from: FoundIn,
    /// In lower case.
    text: String,
}

impl Brought {
    pub(super) fn add(&mut self, number: usize, tool: &str, content: &Json) {
        let mut text = String::new();
        collect(content, &mut text);
        self.bytes += text.len();
        if self.bytes <= MAX_SEARCHED {
            let from = FoundIn { number, tool: tool.to_owned() };
            self.texts.push(Text { from, text: text.to_lowercase() });
        }
    }

    /// Looks for those of the values, as the fact `origins` has them, that have no label.
    pub(super) fn find(&self, values: &[Json]) -> Vec<Found> {
        let mut found = Vec::new();
        let unlabelled = values
            .iter()
            .filter_map(Json::as_object)
            .filter(|value| value.get("labels").and_then(Json::as_array).is_none_or(<[Json]>::is_empty));
        for value in unlabelled.take(MAX_SOUGHT) {
            let text = |name: &str| value.get(name).and_then(Json::as_str);
            let (Some(at), Some(sought)) = (text("at"), text("value")) else { continue };
            let sought = sought.trim().to_lowercase();
            if sought.chars().count() < MIN_VALUE {
                continue;
            }
            let holding = self.texts.iter().filter(|text| stands_in(&sought, &text.text));
            let calls: Vec<_> = holding.take(MAX_NAMED).map(|text| text.from.clone()).collect();
            if !calls.is_empty() {
                found.push(Found { at: at.to_owned(), calls });
            }
        }
        found
    }
}

/// Whether a value stands in a text, and not as a part of a word.
fn stands_in(value: &str, text: &str) -> bool {
    text.match_indices(value).any(|(begin, _)| {
        let before = text.get(..begin).and_then(|before| before.chars().next_back());
        let after = text.get(begin + value.len()..).and_then(|after| after.chars().next());
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

fn collect(json: &Json, out: &mut String) {
    match json {
        Json::String(text) => out.push_str(text),
        Json::Number(number) => out.push_str(number.as_str()),
        Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Json::Object(object) => object.iter().for_each(|(_, value)| collect(value, out)),
        Json::Null | Json::Bool(_) => return,
    }
    out.push('\n');
}
