//! Values that are looked for in what was read: a stranger writes the text, and the agent writes the value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_flow::{Origins, REQUEST, SeenResult, SeenText, links, normal, words};
use proofmark_receipt::{Json, object};

fuzz_target!(|data: (&str, &str)| {
    let (text, value) = data;
    let (_links, _words) = (links(value), words(value));
    let mut origins = Origins::default();
    let texts = vec![SeenText { label: "own".to_owned(), path: "$".to_owned(), text: text.to_owned() }];
    let seen = SeenResult { texts, ..SeenResult::default() };
    origins.read("tool", "", Some(&SeenResult::from_object(&seen.to_object())));
    let found = origins.has_label(value, &["own".to_owned()]);
    assert!(!origins.has_label(value, &[REQUEST.to_owned()]));
    // Nothing stands in a text that has none of its words.
    let in_text = words(text);
    assert!(!found || words(&normal(value)).iter().all(|word| in_text.contains(word)), "{value:?} in {text:?}");
    let fact = origins.about(&Json::from(object! { "value": value }), std::iter::empty(), true);
    let written = Json::from(fact).to_text();
    assert!(Json::parse(written.as_bytes()).is_ok());
    origins.wrote(Some(&Json::from(value)));
    assert!(!found || origins.has_label(value, &["own".to_owned()]), "what was read first keeps its label");
});
