//! What is found in what was read, for any texts.

use proofmark_flow::{Origins, SeenResult, SeenText, links, normal, words};
use proofmark_receipt::{Json, object};
use proptest::prelude::*;

const OWN: &str = "own";

fn read(text: &str) -> Origins {
    let texts = vec![SeenText { label: OWN.to_owned(), path: "$".to_owned(), text: text.to_owned() }];
    let mut origins = Origins::default();
    origins.read("tool", "", Some(&SeenResult { texts, ..SeenResult::default() }));
    origins
}

fn has(origins: &Origins, value: &str) -> bool {
    origins.has_label(value, &[OWN.to_owned()])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
    #[test]
    fn nothing_stands_in_a_text_that_has_none_of_its_words(text in any::<String>(), value in any::<String>()) {
        let mut origins = read(&text);
        let (found, in_text) = (has(&origins, &value), words(&text));
        prop_assert!(!found || words(&normal(&value)).iter().all(|word| in_text.contains(word)));
        let _links = links(&value);
        let fact = origins.about(&Json::from(object! { "value": value.as_str() }), std::iter::empty(), true);
        prop_assert!(Json::parse(Json::from(fact).to_text().as_bytes()).is_ok());
        origins.wrote(Some(&Json::from(value.as_str())));
        prop_assert_eq!(has(&origins, &value), found);
    }

    #[test]
    fn a_word_between_spaces_is_found_however_it_is_written(before in "[a-z ]{0,9}", value in "[a-z][a-z0-9@./-]{0,12}[a-z]", after in "[a-z ]{0,9}") {
        let origins = read(&format!("{before} {value} {after}"));
        for written in [value.clone(), value.to_uppercase(), format!("  {value}\u{200b}")] {
            prop_assert!(has(&origins, &written), "{:?}", written);
        }
        // Something before it or after it makes another value of it.
        for other in [format!("{value}9"), format!("9{value}"), format!("{value}@x"), format!("x.{value}")] {
            let text = format!("{before} {other} {after}");
            prop_assert!(!has(&read(&text), &value) || words(&text).contains(&value), "{} in {}", value, text);
        }
    }

    #[test]
    fn what_was_written_first_has_no_label(value in "[a-z]{4,9}@[a-z]{3,6}\\.com") {
        let mut origins = Origins::default();
        origins.wrote(Some(&Json::from(format!("see {value} now"))));
        let texts = vec![SeenText { label: OWN.to_owned(), path: "$".to_owned(), text: value.clone() }];
        origins.read("tool", "", Some(&SeenResult { texts, ..SeenResult::default() }));
        prop_assert!(!has(&origins, &value));
        // Also in pieces.
        let mut origins = Origins::default();
        let (one, other) = value.split_at(5);
        origins.wrote(Some(&Json::from(one)));
        origins.wrote(Some(&Json::from(other)));
        prop_assert!(origins.holds_written(&value, OWN, None));
    }
}
