//! What a request may say, and what it is refused for.

use std::time::Duration;

use proofmark_checks::limits::{MAX_PACKAGE_CHARS, MAX_PACKAGES, MAX_REQUEST_DEPTH, MAX_TESTS};
use proofmark_checks::{
    Caps, Checks, Expected, Format, Language, MAX_REQUEST_BYTES, Mode, Place, Program, Raises, Request, RequestError,
    Reveal, Suite, TextRule, Tolerance,
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
    assert_eq!(specification(r#""specification": {"b": 1.50, "a": [true]},"#), of(r#"{"a":[true],"b":1.50}"#));
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
    assert_eq!(text.specification, of(r#"{"salt":"0123456789abcdef","specification":"hidden"}"#));
    assert_eq!(
        text.tests,
        Some(of(concat!(
            r#"{"kind":"test_suite","language":"python","reveal":"none","salt":"0123456789abcdef","#,
            r#""tests":[{"expected_output":"1","input":"f(1)","name":"a"}]}"#
        )))
    );
    let value = request(SALT, r#""specification": {"b": 1},"#);
    assert_eq!(value.specification, of(r#"{"salt":"0123456789abcdef","specification":{"b":1}}"#));
    let description = request(SALT, "");
    assert_eq!(description.specification, of(r#"{"salt":"0123456789abcdef","specification":"sort"}"#));
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

#[test]
fn every_refusal_names_its_cause_the_place_and_the_mend() {
    const OK: &str = r#""name": "a", "input": "1", "expected_output": "1""#;
    let call = |members: &str| test(r#""entrypoint": "f","#, members);
    let bash = |members: &str| suite(&format!(r#""language": "bash", {members}"#));
    let table: Vec<(Result<Request, RequestError>, &str, &str, &str)> = vec![
        (json(""), "invalid_json", "line 1, column 1", "cut off"),
        (json("{\n  \"a\": 1,\n  \"a\": 2}"), "invalid_json", "line 3, column 3", "keep one"),
        (json(r#"{"output": "\ud800"}"#), "invalid_json", "line 1", "surrogate"),
        (json("[]"), "wrong_type", "the document", "expected an object, found array"),
        (json("{}"), "missing_field", "`verification`", "write the suite"),
        (json(&EXAMPLE.replace("\"task\"", "\"taks\"")), "unknown_field", "`taks`", "did you mean `task`?"),
        (json(&EXAMPLE.replace("task_type", "tasktype")), "unknown_field", "`task.tasktype`", "`task_type`?"),
        (
            json(&EXAMPLE.replace("acp-tx-789\"", "x\", \"zzz\": \"\"")),
            "unknown_field",
            "`task.zzz`",
            "known fields here are `task_id`",
        ),
        (json(&EXAMPLE.replace("\"acp-tx-789\"", "7")), "wrong_type", "`task.task_id`", "expected a string"),
        (
            json(&EXAMPLE.replace("\"specification\"", "\"task_id\"")),
            "conflicting_fields",
            "`task_id`",
            "`task.task_id`",
        ),
        (
            json(&EXAMPLE.replace("\"specification\": \"any JSON, or text\"", "\"tier\": 2")),
            "invalid_value",
            "`tier`",
            "write 0",
        ),
        (
            json(
                r#"{"output": {}, "verification": {"kind": "test_suite", "language": "python", "tests": [{"name": "a", "input": "1", "expected_output": "1"}]}}"#,
            ),
            "missing_field",
            "`output.content`",
            "--submission",
        ),
        (json(r#"{"verification": {}}"#), "missing_field", "`verification.kind`", "`test_suite`"),
        (json(r#"{"verification": {"kind": "schema"}}"#), "unsupported", "`verification.kind`", "`schema`"),
        (suite(r#""tests": []"#), "missing_field", "`verification.language`", "`python`"),
        (suite(r#""language": "cobol", "tests": []"#), "unsupported", "`verification.language`", "`cobol`"),
        (suite(r#""language": 3, "tests": []"#), "wrong_type", "`verification.language`", "string"),
        (suite(r#""language": "python""#), "missing_field", "`verification.tests`", "array of tests"),
        (suite(r#""language": "python", "tests": {}"#), "wrong_type", "`verification.tests`", "expected an array"),
        (suite(r#""language": "python", "tests": []"#), "empty", "`verification.tests`", "at least one"),
        (
            suite(r#""test_suite": {"language": "python", "tests": []}"#),
            "empty",
            "`verification.test_suite.tests`",
            "at least one",
        ),
        (
            suite(r#""language": "python", "tests": [1], "test_suite": {"tests": [1]}"#),
            "conflicting_fields",
            "`verification.tests`",
            "`verification.test_suite.tests`",
        ),
        (
            suite(r#""language": "python", "test_suite": {"kind": "x"}"#),
            "unknown_field",
            "`verification.test_suite.kind`",
            "fields here",
        ),
        (
            suite(&format!(r#""language": "python", "tests": [{}0]"#, "0,".repeat(MAX_TESTS))),
            "too_many",
            "`verification.tests`",
            "split the suite",
        ),
        (
            suite(&format!(r#""language": "python", "tests": [{{{OK}}}, {{{OK}}}]"#)),
            "duplicate_name",
            "`verification.tests[1].name`",
            "another test is named `a`",
        ),
        (suite(r#""language": "python", "tests": [7]"#), "wrong_type", "`verification.tests[0]`", "expected an object"),
        (
            test("", &format!(r#"{OK}, "time_ms": 1"#)),
            "unknown_field",
            "`verification.tests[0].time_ms`",
            "`timeout_ms`?",
        ),
        (
            suite(
                r#""language": "python", "tests": [{"name": "test 2", "input": "1", "expected": "1"}, {"input": "1", "expected": "1"}]"#,
            ),
            "duplicate_name",
            "`verification.tests[1]`",
            "another test is named `test 2`",
        ),
        (
            test("", r#""name": " ", "input": "1", "expected_output": "1""#),
            "invalid_value",
            "`verification.tests[0].name`",
            "empty",
        ),
        (
            test("", r#""name": "a\u0007", "input": "1", "expected_output": "1""#),
            "invalid_value",
            "`verification.tests[0].name`",
            "control",
        ),
        (
            test("", &format!(r#""name": "{}", "input": "1", "expected_output": "1""#, "é".repeat(257))),
            "invalid_value",
            "`verification.tests[0].name`",
            "256",
        ),
        (
            test("", r#""name": "a", "expected_output": "1""#),
            "missing_field",
            "`verification.tests[0].input`",
            "expression",
        ),
        (test("", r#""name": "a", "input": "1""#), "missing_field", "`verification.tests[0].expected`", "right"),
        (
            test("", &format!(r#"{OK}, "expected": "1""#)),
            "conflicting_fields",
            "`verification.tests[0].expected_output`",
            "`verification.tests[0].expected`",
        ),
        (
            test("", &format!(r#"{OK}, "expression": "1""#)),
            "conflicting_fields",
            "`verification.tests[0].input`",
            "leave one",
        ),
        (
            test("", r#""name": "a", "input": [1], "expected_output": "1""#),
            "wrong_type",
            "`verification.tests[0].input`",
            "as a string",
        ),
        (
            test("", r#""name": "a", "input": "", "expected_output": "1""#),
            "invalid_value",
            "`verification.tests[0].input`",
            "empty",
        ),
        (
            test("", &format!(r#"{OK}, "timeout_ms": 0"#)),
            "invalid_value",
            "`verification.tests[0].timeout_ms`",
            "from 1",
        ),
        (
            test("", &format!(r#"{OK}, "timeout_ms": 1.5"#)),
            "invalid_value",
            "`verification.tests[0].timeout_ms`",
            "`1.5`",
        ),
        (
            test("", &format!(r#"{OK}, "timeout_ms": "1""#)),
            "wrong_type",
            "`verification.tests[0].timeout_ms`",
            "integer",
        ),
        (
            test("", &format!(r#"{OK}, "tolerance": -1"#)),
            "invalid_value",
            "`verification.tests[0].tolerance`",
            "finite",
        ),
        (
            test("", &format!(r#"{OK}, "tolerance": 1e999"#)),
            "invalid_value",
            "`verification.tests[0].tolerance`",
            "finite",
        ),
        (test(r#""mode": "repl","#, OK), "invalid_value", "`verification.mode`", "`call`, `expression`, `stdio`"),
        (test(r#""mode": "call","#, OK), "missing_field", "`verification.entrypoint`", "function to call"),
        (test(r#""mode": "stdio", "entrypoint": "f","#, OK), "conflicting_fields", "`verification.entrypoint`", "call"),
        (test(r#""entrypoint": "a.b.c","#, OK), "invalid_value", "`verification.entrypoint`", "`a.b.c`"),
        (test(r#""entrypoint": ".f","#, OK), "invalid_value", "`verification.entrypoint`", "identifier"),
        (test(r#""entrypoint": "A.","#, OK), "invalid_value", "`verification.entrypoint`", "identifier"),
        (test(r#""entrypoint": "A.class","#, OK), "invalid_value", "`verification.entrypoint`", "`Account.deposit`"),
        (test(r#""entrypoint": "lambda","#, OK), "invalid_value", "`verification.entrypoint`", "identifier"),
        (test(r#""entrypoint": "$f","#, OK), "invalid_value", "`verification.entrypoint`", "python"),
        (test(r#""compare": "exact","#, OK), "conflicting_fields", "`verification.compare`", "stdio"),
        (test(r#""reveal": "none","#, OK), "missing_field", "`verification.salt`", "random string"),
        (
            test(r#""reveal": "none", "salt": "0123456789abcde","#, OK),
            "invalid_value",
            "`verification.salt`",
            "16 to 256 characters",
        ),
        (test(r#""salt": 1234567890123456,"#, OK), "wrong_type", "`verification.salt`", "string"),
        (
            test("", r#""name": "a", "input": "f(7) == 49", "expected_output": "True""#),
            "invalid_value",
            "`verification.tests[0].input`",
            "`expected_output`, as in `f(7)` and `49`",
        ),
        (
            test("", r#""name": "a", "expression": "not (f(7) in [1])", "expected": "True""#),
            "invalid_value",
            "`verification.tests[0].expression`",
            "`in`",
        ),
        (test(r#""reveal": "some","#, OK), "invalid_value", "`verification.reveal`", "`all`, `failures`, `none`"),
        (test(r#""runtime": "","#, OK), "invalid_value", "`verification.runtime`", "empty"),
        (test(r#""limits": {"memory": 1},"#, OK), "unknown_field", "`verification.limits.memory`", "`memory_mb`?"),
        (test(r#""limits": {"memory_mb": 0},"#, OK), "invalid_value", "`verification.limits.memory_mb`", "from 1"),
        (test(r#""limits": 5,"#, OK), "wrong_type", "`verification.limits`", "object"),
        (
            call(r#""name": "a", "input": [], "expected_output": "hello-world""#),
            "invalid_json",
            "`verification.tests[0].expected_output`",
            "write it as `expected: \"hello-world\"`",
        ),
        (
            call(r#""name": "a", "input": [], "expected": 1, "raises": "E""#),
            "conflicting_fields",
            "`verification.tests[0].expected`",
            "`verification.tests[0].raises`",
        ),
        (call(r#""input": [], "raises": 1"#), "wrong_type", "`verification.tests[0].raises`", "`ValueError`"),
        (
            call(r#""input": [], "raises": "a.B""#),
            "invalid_value",
            "`verification.tests[0].raises`",
            "without its module",
        ),
        (
            call(r#""input": [], "raises": {"contains": "x"}"#),
            "missing_field",
            "`verification.tests[0].raises.type`",
            "name",
        ),
        (
            call(r#""input": [], "raises": {"type": "E", "match": "x"}"#),
            "unknown_field",
            "`verification.tests[0].raises.match`",
            "`contains`",
        ),
        (
            call(r#""input": [], "raises": {"type": "E", "contains": ""}"#),
            "invalid_value",
            "`verification.tests[0].raises.contains`",
            "empty",
        ),
        (
            test(r#""mode": "stdio","#, r#""input": "", "raises": "E""#),
            "conflicting_fields",
            "`verification.tests[0].raises`",
            "exceptions",
        ),
        (
            test(r#""mode": "stdio","#, r#""input": "", "expected": 49"#),
            "wrong_type",
            "`verification.tests[0].expected`",
            "in quotes",
        ),
        (
            call(r#""input": [], "kwargs": [], "expected": 1"#),
            "wrong_type",
            "`verification.tests[0].kwargs`",
            "by their names",
        ),
        (
            test("", &format!(r#"{OK}, "kwargs": {{}}"#)),
            "conflicting_fields",
            "`verification.tests[0].kwargs`",
            "in the expression",
        ),
        (
            suite(r#""language": "js", "entrypoint": "f", "tests": [{"kwargs": {"a": 1}, "expected": 1}]"#),
            "unsupported",
            "`verification.tests[0].kwargs`",
            "as the last item of `input`",
        ),
        (
            suite(
                r#""language": "js", "entrypoint": "A.f", "construct": {"kwargs": {"a": 1}}, "tests": [{"input": [], "expected": 1}]"#,
            ),
            "unsupported",
            "`verification.construct.kwargs`",
            "as the last item",
        ),
        (
            call(r#""input": [], "construct": [], "expected": 1"#),
            "conflicting_fields",
            "`verification.tests[0].construct`",
            "`Account.deposit`",
        ),
        (
            test(r#""entrypoint": "A.f", "construct": 1,"#, r#""input": [], "expected": 1"#),
            "wrong_type",
            "`verification.construct`",
            "constructor's arguments",
        ),
        (
            test(r#""entrypoint": "A.f", "construct": {"arg": []},"#, r#""input": [], "expected": 1"#),
            "unknown_field",
            "`verification.construct.arg`",
            "`args`?",
        ),
        (
            test(r#""entrypoint": "A.f", "construct": {"args": {}},"#, r#""input": [], "expected": 1"#),
            "wrong_type",
            "`verification.construct.args`",
            "array",
        ),
        (test(r#""construct": [],"#, OK), "conflicting_fields", "`verification.construct`", "only the mode `call`"),
        (
            suite(&format!(
                r#""language": "python", "entrypoint": "A.f", "construct": ["{}"], "tests": [{}]"#,
                "x".repeat(MAX_REQUEST_BYTES / 10),
                [r#"{"input": [], "expected": 1}"#; 10].join(",")
            )),
            "too_large",
            "`verification.construct`",
            "each of 10 tests",
        ),
        (test(r#""approx": true, "tolerance": 1,"#, OK), "conflicting_fields", "`verification.tolerance`", "`approx`"),
        (
            test("", &format!(r#"{OK}, "approx": 0.1, "tolerance": 1"#)),
            "conflicting_fields",
            "`verification.tests[0].tolerance`",
            "`approx`",
        ),
        (test(r#""approx": 1,"#, OK), "invalid_value", "`verification.approx`", "below 1"),
        (test(r#""approx": 0,"#, OK), "invalid_value", "`verification.approx`", "1e-3"),
        (test(r#""approx": -0.5,"#, OK), "invalid_value", "`verification.approx`", "above 0"),
        (test(r#""approx": 1e-999,"#, OK), "invalid_value", "`verification.approx`", "above 0"),
        (test(r#""approx": "yes","#, OK), "wrong_type", "`verification.approx`", "a number"),
        (test(r#""mode": "stdio", "approx": true,"#, OK), "conflicting_fields", "`verification.approx`", "text"),
        (test(r#""strip_fences": "yes","#, OK), "wrong_type", "`verification.strip_fences`", "`true` or `false`"),
        (test(r#""packages": "numpy","#, OK), "wrong_type", "`verification.packages`", "an array"),
        (test(r#""packages": ["-x"],"#, OK), "invalid_value", "`verification.packages[0]`", "`-x`"),
        (test(r#""packages": ["a/../b"],"#, OK), "invalid_value", "`verification.packages[0]`", "pip install"),
        (test(r#""packages": ["numpy==1"],"#, OK), "invalid_value", "`verification.packages[0]`", "without a version"),
        (
            test(&format!(r#""packages": ["{}"],"#, "a".repeat(MAX_PACKAGE_CHARS + 1)), OK),
            "invalid_value",
            "`verification.packages[0]`",
            "name of a package",
        ),
        (test(r#""packages": ["a", "b", "a"],"#, OK), "duplicate_name", "`verification.packages[2]`", "leave one"),
        (
            test(&format!(r#""packages": [{}0],"#, "0,".repeat(MAX_PACKAGES)), OK),
            "too_many",
            "`verification.packages`",
            "import themselves",
        ),
        (
            suite(r#""language": "ruby", "packages": ["rails"], "tests": [{"input": "1", "expected": "1"}]"#),
            "unsupported",
            "`verification.packages`",
            "ruby",
        ),
        (
            call(r#""name": "a", "input": {"x": 1}, "expected_output": 1"#),
            "wrong_type",
            "`verification.tests[0].input`",
            "JSON array",
        ),
        (
            call(r#""name": "a", "input": "3", "expected_output": 1"#),
            "wrong_type",
            "`verification.tests[0].input`",
            "JSON array",
        ),
        (
            call(r#""name": "a", "input": "[1", "expected_output": 1"#),
            "invalid_json",
            "`verification.tests[0].input`",
            "JSON array",
        ),
        (
            call(r#""name": "a", "input": [1], "expected_output": "hello""#),
            "invalid_json",
            "`verification.tests[0].expected_output`",
            "takes a string as it is",
        ),
        (
            call(r#""name": "a", "expression": "[1]", "expected_output": 1"#),
            "conflicting_fields",
            "`verification.tests[0].expression`",
            "`input`",
        ),
        (bash(r#""mode": "call", "entrypoint": "f", "tests": []"#), "unsupported", "`verification.mode`", "stdio"),
        (bash(r#""entrypoint": "f", "tests": []"#), "unsupported", "`verification.entrypoint`", "stdio"),
        (bash(r#""tolerance": 1, "tests": []"#), "conflicting_fields", "`verification.tolerance`", "text"),
        (bash(r#""compare": "fuzzy", "tests": []"#), "invalid_value", "`verification.compare`", "`tokens`"),
        (
            bash(r#""tests": [{"name": "a", "input": "", "expected_output": 5}]"#),
            "wrong_type",
            "`verification.tests[0].expected_output`",
            "string",
        ),
        (yaml("a: [1"), "invalid_yaml", "line", "YAML"),
    ];
    for (read, code, place, help) in table {
        let error = read.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.place().to_string().starts_with(place), "{error} is not at {place}");
        let message = format!("{}; {}", error.message(), error.help().unwrap_or_default());
        assert!(message.contains(help), "{error} does not say {help}");
        assert_eq!(error.to_string(), format!("{}: {}", error.place(), error.message()));
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let large = format!("\"{}\"", "x".repeat(MAX_REQUEST_BYTES));
    for format in [Format::Json, Format::Yaml] {
        let error = Request::read(large.as_bytes(), format, None).unwrap_err();
        assert_eq!((error.code(), error.place()), ("too_large", &Place::Whole));
    }
    let submission = "x".repeat(MAX_REQUEST_BYTES + 1);
    let bare = EXAMPLE.replace(r#""output": {"content": "def sort_list(xs):\n    return sorted(xs)\n"},"#, "");
    let error = Request::read(bare.as_bytes(), Format::Json, Some(&submission)).unwrap_err();
    assert_eq!((error.code(), error.place()), ("too_large", &Place::Field("output.content".to_owned())));
    let task = EXAMPLE.replace("sort a list", &"\u{7f}é".repeat(1 << 19));
    let error = json(&task).unwrap_err();
    assert_eq!(error.code(), "too_large", "{error}");
    assert!(error.message().contains("receipt"));
}

#[test]
fn what_nests_too_deep_is_refused_in_both_notations() {
    for depth in [MAX_REQUEST_DEPTH + 1, 1_000_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(json(&nested).unwrap_err().code(), "invalid_json");
        assert_eq!(yaml(&nested).unwrap_err().code(), "invalid_yaml");
        let members = format!(r#""name": "a", "input": "{nested}", "expected_output": 1"#);
        assert_eq!(test(r#""entrypoint": "f","#, &members).unwrap_err().code(), "invalid_json");
    }
    let blocks: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(yaml(&blocks).unwrap_err().code(), "invalid_yaml");
}

#[test]
fn messages_are_short_whatever_they_quote() {
    let huge = "z".repeat(1 << 20);
    let table = [
        json(&format!(r#"{{"{huge}": 1, "{huge}": 2}}"#)),
        json(&format!(r#"{{"{huge}": 1}}"#)),
        json(&format!(r#"{{"verification": {{"kind": "{huge}"}}}}"#)),
        suite(&format!(r#""language": "{huge}""#)),
        test(&format!(r#""limits": {{"memory_mb": {}}},"#, "1".repeat(1 << 20)), ""),
        test(&format!(r#""tolerance": {},"#, "9".repeat(1 << 20)), ""),
        yaml(&format!("{huge}: 1\n{huge}: 2\n")),
    ];
    for read in table {
        let error = read.unwrap_err();
        assert!(error.to_string().len() < 2_000, "{}", error.code());
    }
}
