//! What a request is refused for, and with which words.

use proofmark_checks::limits::{MAX_PACKAGE_CHARS, MAX_PACKAGES, MAX_REQUEST_DEPTH, MAX_TESTS};
use proofmark_checks::{Format, MAX_REQUEST_BYTES, Place, Request, RequestError};

use super::{EXAMPLE, json, suite, test, yaml};

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
        (json(&EXAMPLE.replace("tx-789", "\\u0000")), "invalid_value", "`task.task_id`", "leave the character out"),
        (
            json(&EXAMPLE.replace("code_generation", &"k".repeat(1_001))),
            "invalid_value",
            "`task.task_type`",
            "write a shorter one",
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
