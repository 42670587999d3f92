//! Requests in YAML: read as the JSON they stand for, or refused.

use proofmark_checks::{Format, Request, RequestError};
use proofmark_receipt::Sha256Digest;

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
        let line = |level: usize| {
            format!("  l{}: &l{} [{}]\n", level + 1, level + 1, vec![format!("*l{level}"); 10].join(", "))
        };
        let lines: String = (0..levels).map(line).collect();
        format!("specification:\n  l0: &l0 [lol]\n{lines}")
    };
    let long = format!("specification:\n  a: &a {}\n  b: [{}]", "x".repeat(1 << 20), vec!["*a"; 60].join(", "));
    let keys: String = (0..20_000).map(|key| format!("  k{key}: 1\n")).collect();
    let table = [
        (with("specification: &a [*a]"), ""),
        (with(&bomb(9)), ""),
        (with(&long), "aliases"),
        (with(&format!("specification:\n{keys}")), "keys"),
        (with("specification: {a: 1, a: 2}"), "uplicate"),
        (with("specification: 1\nspecification: 2"), "uplicate"),
        (with("specification: {<<: {a: 1}, b: 2}"), ""),
        (with("specification: yes"), "`yes` is a boolean"),
        (with("specification: [{a: [Off]}]"), "`Off` is a boolean"),
        (with("specification: {y: 1}"), "as a key"),
        (with("specification: 123456789012345678901234567890"), "exactly"),
        (with("specification: -123456789012345678901234567890"), "exactly"),
        (with("specification: 18446744073709551616"), "exactly"),
        (with(&format!("specification: {}", "9".repeat(400))), ""),
        (with(&format!("specification: {}", "9".repeat(1 << 20))), ""),
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
    for (text, mend) in table {
        let error = yaml(&text).expect_err(text.get(..200).unwrap_or(&text));
        assert_eq!(error.code(), "invalid_yaml", "{error}");
        assert!(error.message().contains(mend), "{error} does not say {mend}");
        assert!(error.message().chars().count() <= 1_001);
    }
    assert_eq!(Request::read(b"a: \xff", Format::Yaml, None).unwrap_err().code(), "invalid_yaml");
}

#[test]
fn yaml_says_what_json_says() {
    let with = |line: &str| {
        yaml(&EXAMPLE_YAML.replace("specification: any JSON, or text", line)).unwrap().hashes.specification
    };
    let of = |text: &str| Sha256Digest::of(text.as_bytes());
    let table = [
        ("specification: \"yes\"", "yes"),
        ("specification: 'no'", "no"),
        ("specification: \"12\"", "12"),
        ("specification: [true, false, null, ~, 1, -2, 0.5, 1e-7]", "[true,false,null,null,1,-2,0.5,1e-7]"),
        ("specification: 9007199254740993", "9007199254740993"),
        ("specification: 18446744073709551615", "18446744073709551615"),
        ("specification: {a: &x [1], b: *x}", r#"{"a":[1],"b":[1]}"#),
        ("specification: |\n  two\n  lines", "two\nlines\n"),
    ];
    for (line, canonical) in table {
        assert_eq!(with(line), of(canonical), "{line}");
    }
}
