//! Mistakes in rules about origins, and how rules are explained.

use proofmark_boundary::{ActionPolicy, explain_policy};

use crate::origins::BANK;
use crate::support::{policy, yaml};

#[test]
fn mistakes_are_named() {
    let read = |text: &str| {
        let text = format!("version: 1\n{text}");
        ActionPolicy::read(&yaml(&text))
            .map(drop)
            .map_err(|error| format!("{error}; {}", error.help().unwrap_or_default()))
    };
    let origins = |entry: &str| read(&format!("origins: [{entry}]\nboundaries: [{{id: b, match: {{}}}}]"));
    for (entry, expected) in [
        ("{label: a}", "name the tools"),
        ("{tool: a}", "name who vouches for it"),
        ("{tool: a, label: request}", "no result"),
        ("{tool: a, label: '=x'}", "name another"),
        ("{tool: a, label: a, path: 'x'}", "begins with `$`"),
        ("{tool: a, label: a, if: {}}", "no condition"),
        ("{tool: a, label: a, args: {x: {form: [z]}}}", "from"),
        ("{tool: a, label: a, wihtin: true}", "within"),
        ("{tool: a, label: a, anchor: ['<= x']}", "a limit is a number"),
        ("{tool: a, label: a, anchor: ['<= -1']}", "a limit is a number"),
    ] {
        let error = origins(entry).unwrap_err();
        assert!(
            error.contains(expected) || (expected == "no result" && error.contains("what the user asked for")),
            "{error}"
        );
    }
    let require = |rule: &str| read(&format!("boundaries: [{{id: b, match: {{}}, require: [{rule}]}}]"));
    for (rule, expected) in [
        ("{from: {}}", "no argument is named"),
        ("{from: {to: []}}", "no labels"),
        ("{from: {to: ['<= x']}}", "a limit is a number"),
        ("{from: {to: ['<= -1']}}", "a limit is a number"),
        ("{from: {to: [a]}, links: {to: [a]}}", "write two rules"),
        ("{from: {to: [a]}, fact: 'true'}", "write two rules"),
        ("{fact: 'true', unless: {approval: {role: owner}}}", "no approval takes the place"),
        ("{asked: []}", "no labels"),
    ] {
        let error = require(rule).unwrap_err();
        assert!(error.contains(expected), "{rule}: {error}");
    }
    let words = explain_policy(&policy(BANK));
    for expected in [
        "requires the values of `to` from request or payee or named",
        "Values of list_payments at `$[*].to` have the label payee, if `sender` is me.",
        "After results that are only own, a session counts as one that has read nothing.",
    ] {
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn labels_that_no_entry_gives_are_named() {
    let warned = |text: &str| {
        policy(text).warnings().iter().map(|warning| format!("{} {}", warning.at, warning.code)).collect::<Vec<_>>()
    };
    assert_eq!(warned(BANK), [""; 0]);
    let wrong = BANK
        .replace("[request, payee, named]", "[request, payeee]")
        .replace("clean: [own]", "clean: [owned]")
        .replace("path: {from: [request]}", "path: {from: [ask]}");
    let expected = ["boundaries[2].require[0] unknown-label", "origins[2] unknown-label", "clean unknown-label"];
    assert_eq!(warned(&wrong), expected);
    let nobody = BANK.replace("role: owner", "role: nobody");
    assert!(warned(&nobody).contains(&"boundaries[2].require[0] role-of-nobody".to_owned()));
}
