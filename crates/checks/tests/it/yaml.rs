//! Requests in YAML: read as the JSON they stand for, or refused.

use proofmark_checks::{Format, Request, RequestError};
use proofmark_receipt::Sha256Digest;
use proptest::prelude::*;

const EXAMPLE_YAML: &str = r#"
task: {task_id: acp-tx-789, task_type: code_generation, description: sort a list}
specification: any JSON, or text
output:
  content: |
    def sort_list(xs):
        return sorted(xs)
verification:
  kind: test_suite
  language: python
  mode: call
  entrypoint: sort_list
  tests:
    - name: basic
      input: "[[3, 1, 2]]"
      expected_output: "[1, 2, 3]"
      timeout_ms: 5000
"#;

fn yaml(text: &str) -> Result<Request, RequestError> {
    Request::read(text.as_bytes(), Format::Yaml, None)
}

#[test]
fn yaml_that_two_readers_read_differently_is_refused() {
    let with = |line: &str| EXAMPLE_YAML.replace("specification: any JSON, or text", line);
    let bomb = |levels: usize| {
        let lines: String = (0..levels)
            .map(|level| format!("  l{}: &l{} [{}]\n", level + 1, level + 1, vec![format!("*l{level}"); 10].join(", ")))
            .collect();
        format!("specification:\n  l0: &l0 [lol]\n{lines}")
    };
    let long = format!("specification:\n  a: &a {}\n  b: [{}]", "x".repeat(1 << 20), vec!["*a"; 60].join(", "));
    let table = [
        (with("specification: &a [*a]"), ""),
        (with(&bomb(9)), ""),
        (with(&long), "aliases"),
        (with("specification: {a: 1, a: 2}"), "uplicate"),
        (with("specification: 1\nspecification: 2"), "uplicate"),
        (with("specification: {<<: {a: 1}, b: 2}"), ""),
        (with("specification: yes"), "`yes` is a boolean"),
        (with("specification: [{a: [Off]}]"), "`Off` is a boolean"),
        (with("specification: {y: 1}"), "`y` is a boolean"),
        (with("specification: 0o17"), "`0o17`"),
        (with("specification: [017]"), "`017`"),
        (with("specification: 1_000"), "`1_000`"),
        (with("specification: .nan"), ""),
        (with("specification: -.inf"), ""),
        (with("specification: {1: 2}"), "as a key"),
        (with("specification: {[a]: 2}"), "as a key"),
        (with("specification: {null: 2}"), "as a key"),
        (with("specification: !!python/object/apply:os.system [x]"), ""),
        (with("specification: !include /etc/passwd"), ""),
        (format!("{EXAMPLE_YAML}---\na: 1\n"), ""),
        (with("specification: *nowhere"), ""),
        (with("specification: \"\\xZZ\""), ""),
    ];
    for (text, help) in table {
        let error = yaml(&text).expect_err(text.get(..200).unwrap_or(&text));
        assert_eq!(error.code(), "invalid_yaml", "{error}");
        assert!(error.message().contains(help), "{error} does not say {help}");
        assert!(error.message().chars().count() <= 1_001);
    }
    assert_eq!(Request::read(b"a: \xff", Format::Yaml, None).unwrap_err().code(), "invalid_yaml");
}

#[test]
fn yaml_says_what_json_says() {
    let with = |line: &str| {
        yaml(&EXAMPLE_YAML.replace("specification: any JSON, or text", line)).unwrap().hashes.specification
    };
    // A value has a byte before it that stands in no text.
    let of = |line: &str, text: &str| {
        let is_value = line.ends_with([']', '}']) || text.parse::<f64>().is_ok() && !line.ends_with('"');
        let kind: &[u8] = if is_value { &[0xFF] } else { &[] };
        Sha256Digest::of(&[kind, text.as_bytes()].concat())
    };
    let table = [
        ("specification: \"yes\"", "yes"),
        ("specification: 'no'", "no"),
        ("specification: \"12\"", "12"),
        ("specification: [true, false, null, ~, 1, -2, 0.5, 1e-7]", "[true,false,null,null,1,-2,0.5,1e-7]"),
        ("specification: 9007199254740993", "9007199254740993"),
        ("specification: 18446744073709551615", "18446744073709551615"),
        ("specification: -123456789012345678901234567890", "-123456789012345678901234567890"),
        ("specification: [1.10, 1e2, +1, .5, 0x1F]", "[1.10,1e2,1,0.5,31]"),
        ("specification: {a: &x [1], b: *x}", r#"{"a":[1],"b":[1]}"#),
        ("specification: |\n  two\n  lines", "two\nlines\n"),
    ];
    for (line, canonical) in table {
        assert_eq!(with(line), of(line, canonical), "{line}");
    }
}

proptest! {
    #[test]
    fn the_same_request_has_the_same_digests_in_yaml_and_in_json(
        numbers in proptest::collection::vec("-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?", 1..4),
        text in "[a-z \u{e9}\"\\\\]{0,8}",
    ) {
        let text = proofmark_receipt::Json::from(text).to_text();
        let value = format!("[{}, {text}, null, {{\"k\": {text}}}]", numbers.join(", "));
        let json = format!(
            r#"{{"specification": {value}, "output": {{"content": "x"}}, "verification": {{"kind": "test_suite",
               "language": "python", "entrypoint": "f", "tests": [{{"name": "a", "input": "[1]", "expected_output": {value},
               "tolerance": 0.50}}]}}}}"#
        );
        let block = format!(
            "specification: {value}\noutput: {{content: x}}\nverification:\n  kind: test_suite\n  language: python\n  \
             entrypoint: f\n  tests:\n  - name: a\n    input: '[1]'\n    expected_output: {value}\n    tolerance: 0.50\n"
        );
        let read = Request::read(json.as_bytes(), Format::Json, None).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&Request::read(json.as_bytes(), Format::Yaml, None), &Ok(read.clone()));
        prop_assert_eq!(Request::read(block.as_bytes(), Format::Yaml, None).map(|request| request.hashes), Ok(read.hashes));
    }
}
