//! What the reference and the schema show is what is read.

use std::collections::BTreeSet;

use proofmark_boundary::{ActionPolicy, Cases, Outcome, Request};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Format, parse};

use crate::support::yaml;

const REFERENCE: &str = include_str!("../../../../docs/decisions.md");
const SCHEMA: &str = include_str!("../../../../schemas/action-policy.schema.json");

#[test]
fn the_examples_of_the_reference_are_read() {
    let blocks: Vec<_> = REFERENCE.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [policy, rare, logged, limits, request, ordered, reviewers, several, passkeys, cases, accepted] =
        blocks.as_slice()
    else {
        panic!("{} examples", blocks.len())
    };
    let policy = ActionPolicy::read(&yaml(policy)).unwrap();
    Request::read(&yaml(request)).unwrap();
    ActionPolicy::read(&yaml(rare)).unwrap();
    ActionPolicy::read(&yaml(ordered)).unwrap();
    for sound in [accepted, limits, logged] {
        assert_eq!(ActionPolicy::read(&yaml(sound)).unwrap().warnings(), []);
    }
    for listed in [reviewers, several, passkeys] {
        assert!(!ActionPolicy::read(&yaml(listed)).unwrap().holders("finance").is_empty());
    }
    let cases = Cases::read(&yaml(cases)).unwrap();
    for case in &cases.cases {
        let result = case.run(&policy);
        assert!(result.differences.is_empty(), "{:?}", result.differences);
        assert_eq!(result.decision.outcome(), Outcome::Allow);
    }
}

/// The reader names the fields it knows when it meets one that is like none of them.
#[test]
fn the_schema_has_the_fields_the_reader_knows() {
    let schema = parse(SCHEMA.as_bytes(), Format::Json).unwrap();
    let rule =
        |list: &str, rest: &str| format!("version: 1\nboundaries: [{{id: b, match: {{}}, {list}: [{{{rest}}}]}}]");
    let wrong = "zzzzzzzzzzzzzzzzzz: 1";
    for (at, text) in [
        (vec!["properties"], wrong.to_owned()),
        (vec!["$defs", "reviewer", "properties"], format!("version: 1\nboundaries: []\nreviewers: [{{{wrong}}}]")),
        (vec!["$defs", "boundary", "properties"], format!("version: 1\nboundaries: [{{{wrong}}}]")),
        (vec!["$defs", "match", "properties"], format!("version: 1\nboundaries: [{{id: b, match: {{{wrong}}}}}]")),
        (vec!["$defs", "require", "properties"], rule("require", wrong)),
        (vec!["$defs", "deny", "properties"], rule("deny", wrong)),
        (vec!["$defs", "warn", "properties"], rule("warn", wrong)),
        (vec!["$defs", "receipt", "properties"], rule("require", &format!("receipt: {{any_suite: true, {wrong}}}"))),
        (vec!["$defs", "approval", "properties"], rule("require", &format!("approval: {{{wrong}}}"))),
        (
            vec!["$defs", "tool", "properties"],
            format!("version: 1\ntools: [{{{wrong}}}]\nboundaries: [{{id: b, match: {{}}}}]"),
        ),
        (
            vec!["$defs", "result", "properties"],
            format!("version: 1\nresults: [{{{wrong}}}]\nboundaries: [{{id: b, match: {{}}}}]"),
        ),
        (
            vec!["$defs", "origin", "properties"],
            format!("version: 1\norigins: [{{{wrong}}}]\nboundaries: [{{id: b, match: {{}}}}]"),
        ),
        (vec!["$defs", "limit", "properties"], rule("require", &format!("limit: {{{wrong}}}"))),
        (vec!["$defs", "tool_call", "properties"], rule("require", &format!("tool_call: {{{wrong}}}"))),
    ] {
        let error = ActionPolicy::read(&yaml(&text)).unwrap_err();
        let help = error.help().unwrap();
        let known: BTreeSet<_> = help.split('`').skip(1).step_by(2).collect();
        let properties = at.iter().fold(&schema, |json, name| json.as_object().unwrap().get(name).unwrap());
        let shown: BTreeSet<_> = properties
            .as_object()
            .map(|object| object.iter())
            .into_iter()
            .flatten()
            .collect::<Vec<(&str, &Json)>>()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(known, shown, "{error}: {help}");
    }
}

#[test]
fn the_reference_lists_every_warning() {
    let codes = proofmark_boundary::warning_codes();
    assert!(codes.len() >= 30, "{codes:?}");
    for code in codes {
        let is_listed = REFERENCE.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{code}`")));
        assert!(is_listed, "{code}");
    }
}
