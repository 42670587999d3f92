//! The examples of `docs/predicate.md` do what the page says, and leave nothing out.

use proofmark_predicate::tree::names;
use proofmark_predicate::{Predicate, Truth, Value};

use crate::json::facts;

const PAGE: &str = include_str!("../../../../docs/predicate.md");

#[test]
fn every_example_does_what_the_page_says() {
    let facts = facts(&blocks("json")[0]);
    let mut examples = 0;
    for line in blocks("cel").iter().flat_map(|block| block.lines()) {
        let (source, expected) = line.rsplit_once(" // -> ").unwrap_or_else(|| panic!("no answer: {line}"));
        assert_eq!(found(source.trim(), &facts), wanted(expected), "{line}");
        examples += 1;
    }
    assert!(examples > 60, "only {examples} examples");
}

#[test]
fn every_function_is_on_the_page() {
    for name in names() {
        let called = PAGE.contains(&format!("{name}(")) || PAGE.contains(&format!("`{name}`"));
        assert!(called, "`{name}` is not explained");
    }
}

fn blocks(language: &str) -> Vec<String> {
    let fences = PAGE.split("```").collect::<Vec<_>>();
    let inside = fences.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(language)).map(|block| block.trim().to_owned()).collect()
}

fn found(source: &str, facts: &Value) -> String {
    let predicate = match Predicate::compile(source) {
        Ok(predicate) => predicate,
        Err(error) => return format!("refused: {}", error.code()),
    };
    match predicate.value(facts) {
        Ok(value) => {
            if let Value::Bool(truth) = value {
                let expected = if truth { Truth::True } else { Truth::False };
                assert_eq!(predicate.evaluate(facts).truth, expected, "{source}");
            }
            format!("{value:?}")
        }
        Err(unknown) => {
            let paths: Vec<_> = unknown.missing.into_iter().map(|missing| missing.path).collect();
            format!("unknown: {}", paths.join(", "))
        }
    }
}

/// The answer a page writes, as [`found`] writes it; a value is an expression of the language.
fn wanted(expected: &str) -> String {
    if expected.starts_with("unknown: ") || expected.starts_with("refused: ") {
        return expected.to_owned();
    }
    format!("{:?}", Predicate::compile(expected).unwrap().value(&Value::Null).unwrap())
}
