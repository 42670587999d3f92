//! What a request may say, and what it is refused for.

mod refusals;

use std::time::Duration;

use proofmark_checks::{
    Caps, Checks, Expected, Format, Language, Mode, Program, Raises, Request, RequestError, Reveal, Suite, TextRule,
    Tolerance,
};
use proofmark_receipt::{Json, Sha256Digest};

const EXAMPLE: &str = r#"{
  "task": {"task_id": "acp-tx-789", "task_type": "code_generation", "description": "sort a list"},
  "specification": "any JSON, or text",
  "output": {"content": "def sort_list(xs):\n    return sorted(xs)\n"},
  "verification": {
    "kind": "test_suite", "language": "python", "mode": "call", "entrypoint": "sort_list",
    "tests": [{"name": "basic", "input": "[[3, 1, 2]]", "expected_output": "[1, 2, 3]", "timeout_ms": 5000}]
  }
}"#;

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

/// The suite of a request that has one.
#[expect(clippy::panic, reason = "a test that cannot be set up fails")]
fn of(request: &Request) -> &Suite {
    match &request.checks {
        Checks::Suite(suite) => suite,
        other => panic!("no suite: {other:?}"),
    }
}

fn json(text: &str) -> Result<Request, RequestError> {
    Request::read(text.as_bytes(), Format::Json, None)
}

fn yaml(text: &str) -> Result<Request, RequestError> {
    Request::read(text.as_bytes(), Format::Yaml, None)
}

/// A request whose verification block is a suite of the kind and these members.
fn suite(members: &str) -> Result<Request, RequestError> {
    json(&format!(r#"{{"output": {{"content": "x"}}, "verification": {{"kind": "test_suite", {members}}}}}"#))
}

/// The digest of a byte that stands in no text, and a text.
fn of_kind(kind: u8, text: &str) -> Sha256Digest {
    Sha256Digest::of(&[&[kind], text.as_bytes()].concat())
}

/// A suite in python of one test with these members.
fn test(head: &str, members: &str) -> Result<Request, RequestError> {
    suite(&format!(r#""language": "python", {head} "tests": [{{{members}}}]"#))
}

#[test]
fn the_example_is_read_in_both_notations() {
    let request = json(EXAMPLE).unwrap();
    let same = yaml(EXAMPLE_YAML).unwrap();
    // The digest of the request is that of its bytes, whatever they mean.
    assert_eq!(
        [&request, &same].map(|read| read.bytes),
        [EXAMPLE, EXAMPLE_YAML].map(|text| Some(Sha256Digest::of(text.as_bytes())))
    );
    assert_eq!(Request { bytes: request.bytes, ..same }, request);
    let task = request.task.as_ref().unwrap();
    assert_eq!(task.task_id.as_deref(), Some("acp-tx-789"));
    assert_eq!(task.task_type.as_deref(), Some("code_generation"));
    assert_eq!(task.description.as_deref(), Some("sort a list"));
    assert_eq!(request.checks.tier(), 0);
    assert_eq!(request.output, "def sort_list(xs):\n    return sorted(xs)\n");
    assert_eq!(of(&request).language, Language::Python);
    assert_eq!(of(&request).mode, Mode::Call { entrypoint: "sort_list".to_owned() });
    assert_eq!(of(&request).reveal, Reveal::All);
    let test = &of(&request).tests[0];
    assert_eq!((test.name.as_str(), test.input.as_str()), ("basic", "[[3,1,2]]"));
    assert_eq!(test.expected, Expected::Json(Json::parse(b"[1,2,3]").unwrap()));
    assert_eq!(test.timeout, Some(Duration::from_millis(5_000)));
}

#[test]
fn the_hashes_are_those_of_what_was_judged() {
    let request = json(EXAMPLE).unwrap();
    let of = |text: &str| Sha256Digest::of(text.as_bytes());
    assert_eq!(request.hashes.output, of("def sort_list(xs):\n    return sorted(xs)\n"));
    assert_eq!(request.hashes.specification, of("any JSON, or text"));
    let block = concat!(
        r#"{"entrypoint":"sort_list","kind":"test_suite","language":"python","mode":"call","tests":"#,
        r#"[{"expected_output":"[1, 2, 3]","input":"[[3, 1, 2]]","name":"basic","timeout_ms":5000}]}"#
    );
    assert_eq!(request.hashes.tests, Some(of(block)));
    let specification = |member: &str| {
        let text = EXAMPLE.replace(r#""specification": "any JSON, or text","#, member);
        json(&text).unwrap().hashes.specification
    };
    assert_eq!(specification(""), of("sort a list"));
    let value = specification(r#""specification": {"b": 1.50, "a": [true]},"#);
    assert_eq!(value, of_kind(0xFF, r#"{"a":[true],"b":1.50}"#));
    // A text that reads like a value is another specification.
    assert_ne!(specification(r#""specification": "{\"a\":[true],\"b\":1.50}","#), value);
    assert_eq!(test("", r#""name": "a", "input": "1", "expected_output": "1""#).unwrap().hashes.specification, of(""));
}

/// Anyone who has the suite can compute the digests; guessing at the suite does not.
#[test]
fn a_salt_is_part_of_both_digests() {
    let request = |salt: &str, specification: &str| {
        let text = format!(
            r#"{{{specification} "task": {{"description": "sort"}}, "output": {{"content": "x"}}, "verification": {{"kind": "test_suite",
            "language": "python", {salt} "tests": [{{"name": "a", "input": "f(1)", "expected_output": "1"}}]}}}}"#
        );
        json(&text).unwrap().hashes
    };
    let of = |text: &str| Sha256Digest::of(text.as_bytes());
    const SALT: &str = r#""reveal": "none", "salt": "0123456789abcdef","#;
    let text = request(SALT, r#""specification": "hidden","#);
    assert_eq!(text.specification, of_kind(0xFE, r#"{"salt":"0123456789abcdef","specification":"hidden"}"#));
    assert_eq!(
        text.tests,
        Some(of(concat!(
            r#"{"kind":"test_suite","language":"python","reveal":"none","salt":"0123456789abcdef","#,
            r#""tests":[{"expected_output":"1","input":"f(1)","name":"a"}]}"#
        )))
    );
    let value = request(SALT, r#""specification": {"b": 1},"#);
    assert_eq!(value.specification, of_kind(0xFE, r#"{"salt":"0123456789abcdef","specification":{"b":1}}"#));
    let description = request(SALT, "");
    assert_eq!(description.specification, of_kind(0xFE, r#"{"salt":"0123456789abcdef","specification":"sort"}"#));
    let other = request(&SALT.replace("abcdef", "abcdeg"), "");
    assert!(other.specification != description.specification && other.tests != description.tests);
    assert_eq!(request("", "").specification, of("sort"));
}

#[test]
fn a_suite_may_stand_in_a_nested_block_and_be_spelt_as_the_reference_does() {
    let request = json(
        r#"{"task_id": "t", "task_type": "k", "tier": 0, "output": {"content": "x"}, "verification": {"kind": "test_suite",
            "test_suite": {"language": "py", "runtime": "python3.11", "reveal": "none", "salt": "0123456789abcdef",
            "tests": [{"name": "a", "expression": "f(1)", "expected": "1 + 1"}]}}}"#,
    )
    .unwrap();
    assert_eq!(request.task.as_ref().unwrap().task_id.as_deref(), Some("t"));
    assert_eq!(of(&request).runtime.as_deref(), Some("python3.11"));
    assert_eq!(of(&request).reveal, Reveal::None);
    assert_eq!(of(&request).mode, Mode::Expression);
    assert_eq!(of(&request).tests[0].input, "f(1)");
    assert_eq!(of(&request).tests[0].expected, Expected::Expression("1 + 1".to_owned()));
}

#[test]
fn the_mode_follows_from_entrypoint_and_language() {
    const TESTS: &str = r#""tests": [{"name": "a", "input": "[]", "expected_output": "1"}]"#;
    let call = Mode::Call { entrypoint: "f".to_owned() };
    let table = [
        (r#""language": "python""#, Mode::Expression),
        (r#""language": "javascript""#, Mode::Expression),
        (r#""language": "node""#, Mode::Expression),
        (r#""language": "bash""#, Mode::Stdio),
        (r#""language": "sh""#, Mode::Stdio),
        (r#""language": "python", "entrypoint": "f""#, call.clone()),
        (r#""language": "js", "mode": "call", "entrypoint": "f""#, call),
        (r#""language": "python", "mode": "stdio""#, Mode::Stdio),
        (r#""language": "javascript", "mode": "stdio""#, Mode::Stdio),
    ];
    for (head, mode) in table {
        assert_eq!(of(&suite(&format!("{head}, {TESTS}")).unwrap()).mode, mode, "{head}");
    }
}

#[test]
fn arguments_and_answers_are_json_or_strings_that_hold_it() {
    let table = [
        (r#"[[3, 1], "a"]"#, r#"{"a": 1.0}"#, r#"[[3,1],"a"]"#, r#"{"a":1.0}"#),
        (r#""[[3, 1], \"a\"]""#, r#""{\"a\": 1.0}""#, r#"[[3,1],"a"]"#, r#"{"a":1.0}"#),
        ("[]", "null", "[]", "null"),
        ("[]", r#""\"text\"""#, "[]", r#""text""#),
        ("[123456789012345678901234567890]", "true", "[123456789012345678901234567890]", "true"),
    ];
    for (input, expected, read_input, read_expected) in table {
        let members = format!(r#""name": "a", "input": {input}, "expected_output": {expected}"#);
        let request = test(r#""entrypoint": "f","#, &members).unwrap();
        assert_eq!(of(&request).tests[0].input, read_input);
        let Expected::Json(json) = &of(&request).tests[0].expected else { panic!("{expected}") };
        assert_eq!(json.to_text(), read_expected);
    }
}

#[test]
fn expected_takes_a_value_as_it_is() {
    let expected = |head: &str, members: &str| {
        let request = test(head, &format!(r#""input": "[]", {members}"#)).unwrap();
        of(&request).tests[0].expected.clone()
    };
    const CALL: &str = r#""entrypoint": "f","#;
    for text in [r#""hello-world""#, r#""[1, 2]""#, "[1, 2.50]", "null", "true", r#"{"a": "1"}"#] {
        let json = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(expected(CALL, &format!(r#""expected": {text}"#)), Expected::Json(json.clone()), "{text}");
        if json.as_str().is_none() {
            assert_eq!(expected("", &format!(r#""expected": {text}"#)), Expected::Json(json), "{text}");
        }
    }
    // As requests of the reference implementation write it.
    assert_eq!(expected("", r#""expected": "g(1)""#), Expected::Expression("g(1)".to_owned()));
    assert_eq!(
        expected(r#""mode": "stdio","#, r#""expected": "1""#),
        Expected::Text("1".to_owned(), TextRule::Trimmed)
    );
    for head in [CALL, ""] {
        let kind = "ValueError".to_owned();
        let raises = Raises { kind: kind.clone(), contains: None };
        assert_eq!(expected(head, r#""raises": "ValueError""#), Expected::Raises(raises));
        let raises = Raises { kind, contains: Some("negative".to_owned()) };
        let text = r#""raises": {"type": "ValueError", "contains": "negative"}"#;
        assert_eq!(expected(head, text), Expected::Raises(raises));
    }
}

#[test]
fn tests_without_a_name_are_numbered() {
    let request = suite(
        r#""language": "python", "tests": [{"input": "1", "expected": "1"}, {"name": "b", "input": "1", "expected": "1"},
            {"input": "1", "expected": "1"}]"#,
    );
    let names: Vec<_> = of(&request.unwrap()).tests.iter().map(|test| test.name.clone()).collect();
    assert_eq!(names, ["test 1", "b", "test 3"]);
}

#[test]
fn a_method_is_called_with_what_the_test_and_the_suite_say() {
    let request = suite(
        r#""language": "python", "entrypoint": "Account.deposit", "construct": [100], "packages": ["numpy"], "tests": [
            {"input": "[1]", "expected": 1},
            {"kwargs": {"fee": [2]}, "expected": 1},
            {"input": [1], "kwargs": {"fee": 2}, "construct": {"kwargs": {"a": null}}, "expected": 1}]"#,
    )
    .unwrap();
    let job = request.plan(&Caps::default()).unwrap().submission.unwrap();
    let inputs: Vec<_> = job.cases.iter().map(|case| case.input.as_str()).collect();
    assert_eq!(
        inputs,
        [
            r#"{"args":[1],"kwargs":{},"construct":{"args":[100],"kwargs":{}}}"#,
            r#"{"args":[],"kwargs":{"fee":[2]},"construct":{"args":[100],"kwargs":{}}}"#,
            r#"{"args":[1],"kwargs":{"fee":2},"construct":{"args":[],"kwargs":{"a":null}}}"#,
        ]
    );
    assert_eq!(job.packages, ["numpy"]);
    assert_eq!(of(&request).mode, Mode::Call { entrypoint: "Account.deposit".to_owned() });
}

#[test]
fn a_tolerance_of_a_test_replaces_that_of_the_suite() {
    let tolerances = |head: &str| -> Vec<_> {
        let tests = r#""tests": [{"input": "1", "expected": 1}, {"input": "1", "expected": 1, "tolerance": 2},
            {"input": "1", "expected": 1, "approx": 1e-3}, {"input": "1", "expected": 1, "approx": false}]"#;
        let request = suite(&format!(r#""language": "python", {head} {tests}"#)).unwrap();
        of(&request).tests.iter().map(|test| test.tolerance).collect()
    };
    let own = [Some(Tolerance::Absolute(2.0)), Some(Tolerance::Relative(1e-3)), None];
    for (head, shared) in [
        ("", None),
        (r#""tolerance": 0.5,"#, Some(Tolerance::Absolute(0.5))),
        (r#""approx": true,"#, Some(Tolerance::Relative(1e-6))),
    ] {
        assert_eq!(tolerances(head), [&[shared], &own[..]].concat(), "{head}");
    }
}

#[test]
fn a_submission_is_run_without_its_byte_order_mark_and_fences() {
    let source = |head: &str, content: &str| {
        let text = format!(
            r#"{{"output": {{"content": {}}}, "verification": {{"kind": "test_suite", "language": "python", {head}
            "tests": [{{"input": "1", "expected": "1"}}]}}}}"#,
            Json::from(content).to_text()
        );
        let request = json(&text).unwrap();
        assert_eq!(request.hashes.output, Sha256Digest::of(content.as_bytes()));
        request.plan(&Caps::default()).unwrap().submission.map(|job| job.program)
    };
    let runs = |source: &str| Some(Program::Expression { source: source.to_owned() });
    assert_eq!(source("", "\u{feff}x = 1"), runs("x = 1"));
    assert_eq!(source("", "```\nx = 1\n```"), runs("```\nx = 1\n```"));
    const STRIPPED: &str = r#""strip_fences": true,"#;
    assert_eq!(source(STRIPPED, "\u{feff}```python\nx = 1\n```\n"), runs("x = 1\n"));
    assert_eq!(source(STRIPPED, "x = 1"), runs("x = 1"));
    assert_eq!(source(STRIPPED, "```\na\n```\n```\nb\n```\n"), None);
}

#[test]
fn a_request_may_begin_with_a_byte_order_mark() {
    let read = |text: &str, format| Request::read(format!("\u{feff}{text}").as_bytes(), format, None).unwrap();
    // The mark is one of the bytes, and says nothing.
    let said = |request: Request| Request { bytes: None, ..request };
    assert_eq!(said(read(EXAMPLE, Format::Json)), said(json(EXAMPLE).unwrap()));
    assert_eq!(said(read(EXAMPLE_YAML, Format::Yaml)), said(yaml(EXAMPLE_YAML).unwrap()));
    // Only one.
    assert!(Request::read(format!("\u{feff}\u{feff}{EXAMPLE}").as_bytes(), Format::Json, None).is_err());
}

#[test]
fn what_a_suite_says_holds_for_every_test_that_says_nothing() {
    let request = suite(
        r#""language": "python", "tolerance": 0.5, "tests": [
            {"name": "a", "input": "1", "expected_output": "1"},
            {"name": "b", "input": "1", "expected_output": "1", "tolerance": 0}]"#,
    );
    let tolerances: Vec<_> = of(&request.unwrap()).tests.iter().map(|test| test.tolerance).collect();
    assert_eq!(tolerances, [0.5, 0.0].map(|most| Some(Tolerance::Absolute(most))));
    for (word, rule) in [("exact", TextRule::Exact), ("trimmed", TextRule::Trimmed), ("tokens", TextRule::Tokens)] {
        let members = format!(
            r#""language": "bash", "compare": "{word}", "tests": [{{"name": "a", "input": "", "expected_output": "1"}}]"#
        );
        let request = suite(&members).unwrap();
        assert_eq!(of(&request).tests[0].expected, Expected::Text("1".to_owned(), rule));
    }
}

#[test]
fn a_submission_may_come_from_a_file_but_not_twice() {
    let bare = EXAMPLE.replace(r#""output": {"content": "def sort_list(xs):\n    return sorted(xs)\n"},"#, "");
    let read = |text: &str, file: Option<&str>| Request::read(text.as_bytes(), Format::Json, file);
    assert_eq!(read(&bare, Some("code")).unwrap().output, "code");
    assert_eq!(read(&bare, Some("code")).unwrap().hashes.output, Sha256Digest::of(b"code"));
    assert_eq!(read(&bare, None).unwrap_err().code(), "missing_field");
    assert_eq!(read(EXAMPLE, Some("code")).unwrap_err().code(), "conflicting_fields");
}
