use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Place, RIGHT, request};
use crate::transcript::Transcript;

/// Bad requests, and the names and places that the error must have.
const BAD: &[(&str, &str, &[&str])] = &[
    ("cut", r#"{"output": {"content": "#, &["cut.json:1:24:"]),
    ("duplicate_key", r#"{"output":{"content":"x"},"output":{"content":"y"}}"#, &["`output`", "duplicate"]),
    ("no_suite", r#"{"output":{"content":"x"}}"#, &["verification"]),
    (
        "empty_suite",
        r#"{"output":{"content":"x"},"verification":{"kind":"test_suite","language":"python","tests":[]}}"#,
        &["verification.tests"],
    ),
    (
        "duplicate_name",
        r#"{"output":{"content":"x"},"verification":{"kind":"test_suite","language":"python","tests":
        [{"name":"a","input":"1","expected_output":"1"},{"name":"a","input":"2","expected_output":"2"}]}}"#,
        &["`a`", "tests[1]"],
    ),
    (
        "no_entrypoint",
        r#"{"output":{"content":"x"},"verification":{"kind":"test_suite","language":"python","mode":"call","tests":
        [{"name":"a","input":[1],"expected_output":1}]}}"#,
        &["entrypoint"],
    ),
    (
        "unknown_language",
        r#"{"output":{"content":"x"},"verification":{"kind":"test_suite","language":"cobol","tests":
        [{"name":"a","input":"1","expected_output":"1"}]}}"#,
        &["cobol", "python"],
    ),
    (
        "unknown_field",
        r#"{"output":{"content":"x"},"verification":{"kind":"test_suite","langauge":"python","tests":
        [{"name":"a","input":"1","expected_output":"1"}]}}"#,
        &["langauge", "language"],
    ),
    ("not_a_request", "[1, 2, 3]", &["object"]),
];

#[test]
fn every_bad_request_names_the_file_the_place_and_the_way_out() {
    let place = Place::new();
    let mut transcript = Transcript::new(&place);
    for (name, text, words) in BAD {
        let file = place.file(&format!("{name}.json"), text);
        let done = transcript.run(&["verify", &file]);
        assert_eq!(done.code, 2, "{name}: {done:?}");
        assert!(done.stderr.starts_with("error: failed to ") && done.stderr.contains(&file), "{name}: {done:?}");
        for word in *words {
            assert!(done.stderr.contains(word), "{name} lacks {word}: {done:?}");
        }
        // The same as JSON, where programs read it.
        let json = place.run(&["verify", &file, "--json"]);
        assert!(json.code == 2 && json.stderr.is_empty(), "{name}: {json:?}");
        let object = Json::parse(json.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {json:?}"));
        let member = |name: &str| object.as_object().unwrap().get(name).and_then(Json::as_str);
        let help = member("help").map_or(String::new(), |help| format!("help: {help}\n"));
        // For people, the line with a caret is between the two.
        assert!(done.stderr.starts_with(&format!("error: {}\n", member("error").unwrap())), "{name}: {done:?}");
        assert!(done.stderr.ends_with(&help), "{name}: {done:?}");
        assert!(!place.path("home/proofmark.db").exists(), "{name}");
    }
    assert_snapshot!(transcript.text);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    let empty = place.path("empty");
    for argument in ["nowhere.json", empty.to_str().unwrap()] {
        let done = place.run(&["verify", argument]);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains(argument), "{done:?}");
    }
    let binary = place.file("solution.py", [0xFF, 0xFE, 0x00]);
    let suite = place.file("r.json", request(RIGHT));
    let done = place.run(&["verify", &suite, "--submission", &binary]);
    assert!(done.code == 2 && done.stderr.contains("UTF-8"), "{done:?}");
}

#[test]
fn wrong_usage_is_no_answer() {
    let place = Place::new();
    for arguments in [
        &["verify"][..],
        &["verify", "x.json", "--jobs", "0"],
        &["verify", "x.json", "--isolation", "Z"],
        &["verify", "x.json", "--unsigned", "--chain", "c"],
        &["receipt", "verify", "x.json", "--profile", "xml"],
        &["receipt", "verify", "x.json", "--head", "h.json"],
        &["frobnicate"],
    ] {
        let done = place.run(arguments);
        assert_eq!(done.code, 2, "{arguments:?}: {done:?}");
    }
}

#[test]
fn control_characters_of_a_submission_do_not_reach_the_terminal() {
    let place = Place::new();
    let file = place.file("r.json", request("def f(x):\n    return '\\x1b[2J\\x07'\n"));
    let done = place.run(&["verify", &file]);
    assert_eq!(done.code, 1);
    assert!(!done.stdout.contains('\u{1b}') && !done.stdout.contains('\u{7}'), "{done:?}");
}
