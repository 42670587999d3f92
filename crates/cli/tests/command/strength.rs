//! How much of a program a suite sees: `suite strength` and `verify --strength`, in the real sandbox.

use proofmark_receipt::{Json, Object, Receipt, Verdict};

use crate::run::{Place, request};

const CLAMP: &str = "\
def clamp(x, low, high):
    # A comment about x < low.
    if x < low:
        return low
    if x > high:
        return high
    return x
";

/// A suite of `clamp` in YAML, with these tests.
fn suite(tests: &str) -> String {
    format!("verification:\n  kind: test_suite\n  language: python\n  entrypoint: clamp\n  tests:\n{tests}")
}

const GOOD: &str = "    - {name: low, input: [-5, 0, 10], expected_output: 0}
    - {name: at low, input: [0, 0, 10], expected_output: 0}
    - {name: high, input: [50, 1, 10], expected_output: 10}
    - {name: middle, input: [5, 1, 10], expected_output: 5}
";

/// The object that the command prints.
fn measured(place: &Place, suite: &str, reference: Option<&str>) -> Object {
    let reference: Vec<&str> = reference.iter().flat_map(|file| ["--reference", file]).collect();
    let done = place.run(&[&["suite", "strength", suite, "--json"], &reference[..]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    Json::parse(done.stdout.as_bytes()).unwrap().as_object().unwrap().clone()
}

fn count(object: &Object, name: &str) -> u64 {
    object.get(name).unwrap().as_number().unwrap().as_u64().unwrap()
}

fn figure(object: &Object) -> f64 {
    object.get("figure").unwrap().as_str().unwrap().parse().unwrap()
}

/// What the survivors change, as `before → after`.
fn survivors(object: &Object) -> Vec<String> {
    let text =
        |survivor: &Json, name: &str| survivor.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
    let all = object.get("survivors").unwrap().as_array().unwrap().iter();
    all.map(|one| format!("{} → {}", text(one, "before"), text(one, "after"))).collect()
}

#[test]
fn mutants_that_make_no_difference_are_all_that_survive_a_good_suite() {
    let place = Place::new();
    let (suite, program) = (place.file("suite.yaml", suite(GOOD)), place.file("clamp.py", CLAMP));
    let strength = measured(&place, &suite, Some(&program));
    assert_eq!(survivors(&strength), ["if x < low: → if x <= low:", "if x > high: → if x >= high:"]);
    assert_eq!(count(&strength, "mutants"), count(&strength, "drawn"));
    assert_eq!(count(&strength, "killed") + 2 + count(&strength, "invalid"), count(&strength, "mutants"));
    assert!(figure(&strength) > 0.8, "{strength:?}");
    // Anyone who measures again finds the same.
    assert_eq!(measured(&place, &suite, Some(&program)), strength);
    // People see where each one is.
    let done = place.run(&["suite", "strength", &suite, "--reference", &program]);
    assert!(done.stdout.contains("  3:10     comparison  if x < low:  →  if x <= low:\n"), "{done:?}");
}

#[test]
fn a_suite_that_sees_nothing_has_no_strength() {
    let place = Place::new();
    // It calls the function, and the answer is right whatever the function does with the bounds.
    let suite = place.file("suite.yaml", suite("    - {name: middle, input: [5, 5, 5], expected_output: 5}\n"));
    let program = place.file("clamp.py", CLAMP);
    let strength = measured(&place, &suite, Some(&program));
    let done = place.run(&["suite", "strength", &suite, "--reference", &program, "--at-least", "0.9"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(figure(&strength) < 0.7, "{strength:?}");
}

const SORT: &str = "const f = xs => { const ys = xs.slice(); ys.sort(); return ys; };";
const ADD: &str = "read n\nif [ \"$n\" -gt 3 ]; then echo $(( n + 3 )); else echo no; fi\n";

#[test]
fn every_language_and_mode_is_measured() {
    let place = Place::new();
    for (language, mode, tests, program) in [
        ("javascript", "call, entrypoint: f", "[{name: a, input: [[3, 1, 2]], expected_output: [1, 2, 3]}]", SORT),
        (
            "ruby",
            "call, entrypoint: f",
            "[{name: a, input: [4], expected_output: 10}]",
            "def f(n)\n  (1..n).map { |i| i }.sum\nend\n",
        ),
        ("python", "expression", "[{name: a, input: 'f(3)', expected_output: '6'}]", "def f(x):\n    return x * 2\n"),
        ("bash", "stdio", "[{name: a, input: '4', expected_output: '7'}]", ADD),
        ("python", "stdio", "[{name: a, input: '4', expected_output: '8'}]", "n = int(input())\nprint(n * 2)\n"),
    ] {
        let suite = format!("verification: {{kind: test_suite, language: {language}, mode: {mode}, tests: {tests}}}\n");
        let (suite, program) = (place.file("suite.yaml", suite), place.file("program", program));
        let strength = measured(&place, &suite, Some(&program));
        assert!(count(&strength, "killed") > 0, "{language} {mode}: {strength:?}");
    }
}

#[test]
fn a_mutant_that_runs_without_end_is_killed_and_one_that_does_not_load_is_not_counted() {
    let place = Place::new();
    let suite = suite("    - {name: three, input: [3, 0, 0], expected_output: 3}\n");
    let program = "LIMIT = 1 / 1\ndef clamp(n, a, b):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n";
    let (suite, program) = (place.file("suite.yaml", suite), place.file("clamp.py", program));
    let strength = measured(&place, &suite, Some(&program));
    // `i -= 1` does not end, and `1 / 0` does not load.
    assert!(!survivors(&strength).iter().any(|one| one.contains("i -= 1") || one.contains("/ 0")), "{strength:?}");
    assert!(count(&strength, "invalid") > 0, "{strength:?}");
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    let place = Place::new();
    let good = place.file("suite.yaml", suite(GOOD));
    let wrong = place.file("wrong.py", CLAMP.replace("return high", "return low"));
    let open = place.file("open.py", "def clamp(x, low, high):\n    return (x\n");
    let plain = place.file("plain.py", "from math import *\n");
    let texts = place.file("texts.yaml", "output: {content: a}\nverification: {kind: json_schema, schema: {}}\n");
    for (suite, program, message) in [
        (&good, &wrong, "the program does not pass the test `high`"),
        (&good, &open, "the bracket that begins at line 2, column 12 has no end"),
        (&good, &plain, "the program does not pass the test `low`"),
    ] {
        let done = place.run(&["suite", "strength", suite, "--reference", program]);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains(message), "{done:?}");
    }
    let done = place.run(&["suite", "strength", &texts]);
    assert_eq!(done.code, 2, "{done:?}");
    for option in ["--at-least=2", "--at-least=much", "--time=10"] {
        assert_eq!(place.run(&["suite", "strength", &good, option]).code, 2, "{option}");
    }
}

#[test]
fn a_receipt_states_the_strength_of_a_submission_that_passes() {
    let place = Place::new();
    let strength = |receipt: &Receipt| receipt.metadata().get("strength").and_then(Json::as_object).cloned();
    let receipt = place.receipt(&request("def f(x):\n    return x * 2\n"), &["--strength"]);
    let stated = strength(&receipt).unwrap();
    assert_eq!(stated.get("method").and_then(Json::as_str), Some("tokens/1"));
    assert!(count(&stated, "mutants") > 0);
    // It would show hidden tests.
    assert!(!receipt.to_text().contains("survivors"), "{}", receipt.to_text());
    // `2 * 2` and `2 ** 2` are the same, and people are told.
    let file = place.file("power.json", request("def f(x):\n    return x ** 2\n"));
    let done = place.run(&["verify", &file, "--strength=20s"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("strength 0."), "{done:?}");
    assert!(done.stdout.contains("return x ** 2  →  return x * 2"), "{done:?}");
    // Only a submission that passes has a strength.
    let failed = place.receipt(&request("def f(x):\n    return x * 3\n"), &["--strength"]);
    assert_eq!((failed.verdict(), strength(&failed)), (Verdict::Fail, None));
}
