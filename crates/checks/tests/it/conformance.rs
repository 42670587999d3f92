//! Runs other projects' test data, where it is present, against what a request reaches: JSON Schema, JSONPath, YAML.

use std::path::{Path, PathBuf};

use proofmark_checks::{Format, Request, RequestError};
use proofmark_receipt::Status;
use proofmark_testing::conformance;
use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The state of the one check of a request.
fn status(check: &Value, output: &str) -> Result<Status, RequestError> {
    let mut check = check.clone();
    check["name"] = "check".into();
    let request = json!({
        "output": {"content": output},
        "verification": {"kind": "schema_check", "checks": [check]},
    });
    let request = Request::read(request.to_string().as_bytes(), Format::Json, None)?;
    Ok(request.judge(None, None).results.details[0].status)
}

/// Schemas that are refused, by the words of their refusal.
const REFUSED_SCHEMAS: [(&str, &str); 4] = [
    ("unknown keyword", "a keyword that nobody knows would demand nothing"),
    ("localhost:1234", "it needs a document from elsewhere, and there is no network"),
    ("example.com", "it needs a document from elsewhere, and there is no network"),
    ("pattern", "its pattern needs more than linear time"),
];

#[test]
fn json_schema() {
    let Some(folder) = conformance("json-schema/draft2020-12") else { return };
    let (mut passed, mut failed, mut left_out, mut wrong) = (0, 0, 0, Vec::new());
    for path in files(&folder) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for group in read(&path).as_array().unwrap() {
            let check = json!({"constraint": "json_schema", "schema": group["schema"]});
            for test in group["tests"].as_array().unwrap() {
                let what = format!("{name}: {}: {}", group["description"], test["description"]);
                match (status(&check, &test["data"].to_string()), test["valid"].as_bool().unwrap()) {
                    (Ok(Status::Pass), true) => passed += 1,
                    (Ok(Status::Fail), false) => failed += 1,
                    (Err(error), _) => match REFUSED_SCHEMAS.iter().find(|(word, _)| error.message().contains(word)) {
                        Some((_, why)) => {
                            println!("left out: {what}: {why}");
                            left_out += 1;
                        }
                        None => wrong.push(format!("{what}: {error}")),
                    },
                    (Ok(status), valid) => wrong.push(format!("{what}: {status:?}, valid is {valid}")),
                }
            }
        }
    }
    println!("json-schema: {passed} passed, {failed} failed as they must, {left_out} left out");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed > 600 && failed > 500 && left_out < 60, "files are missing, or too much is left out");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

#[test]
fn json_path() {
    let Some(path) = conformance("jsonpath/cts.json") else { return };
    let (mut agree, mut refused, mut left_out, mut wrong) = (0, 0, Vec::new(), Vec::new());
    let suite = read(&path);
    for test in suite["tests"].as_array().unwrap() {
        let (name, selector) = (test["name"].as_str().unwrap(), test["selector"].as_str().unwrap());
        let check = json!({"constraint": format!("json_path:{selector} exists")});
        let invalid = test["invalid_selector"] == true;
        match status(&check, &test["document"].to_string()) {
            Err(_) if invalid => refused += 1,
            // A constraint may have spaces before its path, a selector may not.
            Ok(_) if invalid && selector.trim() != selector => refused += 1,
            Err(_) if selector.contains("match(") || selector.contains("search(") => left_out.push(name),
            Ok(Status::Pass) if !invalid && leads_somewhere(test) == [true] => agree += 1,
            Ok(Status::Fail) if !invalid && leads_somewhere(test) == [false] => agree += 1,
            other => wrong.push(format!("{name}: `{selector}`: {other:?}")),
        }
    }
    println!("jsonpath: {agree} agree, {refused} refused as they must, {} left out", left_out.len());
    left_out.iter().for_each(|name| println!("left out: {name}: patterns within paths are not supported"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(agree > 350 && refused > 200, "files are missing");
}

/// Whether the test finds nodes; where an order is left open there are several right answers.
fn leads_somewhere(test: &Value) -> Vec<bool> {
    let one = |nodes: &Value| !nodes.as_array().unwrap().is_empty();
    let mut answers: Vec<bool> = match test.get("results") {
        Some(several) => several.as_array().unwrap().iter().map(one).collect(),
        None => vec![one(&test["result"])],
    };
    answers.dedup();
    answers
}

/// Documents of the suite that must fail and do not, and why that is no second reading.
const READ_THOUGH_WRONG: [(&str, &str); 5] = [
    ("9C9N", "the lines of a list in brackets are not indented, and end where the brackets do"),
    ("MUS6:3", "a directive written otherwise than is due changes nothing"),
    ("MUS6:4", "a directive written otherwise than is due changes nothing"),
    ("MUS6:5", "a directive nobody knows changes nothing"),
    ("MUS6:6", "a directive nobody knows changes nothing"),
];

#[test]
fn yaml() {
    let Some(path) = conformance("yaml/suite.json") else { return };
    let (mut refused, mut same, mut more, mut wrong) = (0, 0, 0, Vec::new());
    for test in read(&path).as_array().unwrap() {
        let (id, text) = (test["id"].as_str().unwrap(), test["yaml"].as_str().unwrap());
        let status = status(&json!({"constraint": "yaml_parse"}), text).unwrap();
        match (status, test["fail"] == true) {
            (Status::Fail, true) => refused += 1,
            (Status::Pass, true) => match READ_THOUGH_WRONG.iter().find(|(known, _)| *known == id) {
                Some((_, why)) => println!("read though wrong: {id}: {why}"),
                None => wrong.push(format!("{id} is read: {text:?}")),
            },
            (Status::Pass, false) => {
                if same_as_json(test, text) {
                    same += 1
                } else {
                    wrong.push(format!("{id} is read otherwise: {text:?}"))
                }
            }
            // What has a second reading, or says what JSON cannot, is refused too.
            (Status::Fail, false) => more += 1,
            (Status::Error, _) => wrong.push(format!("{id} has no answer")),
        }
    }
    println!("yaml: {same} read as their JSON, {refused} refused as they must, {more} refused that say more than JSON");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 150 && refused > 90, "files are missing, or too much is refused");
}

/// Whether the document is what the suite says it is.
fn same_as_json(test: &Value, text: &str) -> bool {
    let read = proofmark_receipt::document::parse(text.as_bytes(), Format::Yaml).unwrap().to_text();
    let said = test["json"].as_str().unwrap_or_default();
    let Ok(due) = serde_json::from_str::<Value>(said) else { return said.trim().is_empty() };
    same(&serde_json::from_str(&read).unwrap(), &due)
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|it| same(value, it)))
        }
        (one, other) => one == other,
    }
}

#[test]
fn duplicate_keys_of_yaml_are_refused() {
    for text in
        ["a: 1\na: 2\n", "{a: 1, a: 2}", "- a: 1\n  a: 1\n", "a: 1\n\"a\": 1\n", "? a\n: 1\n? a\n: 2\n", "1: a\n1: b\n"]
    {
        assert_eq!(status(&json!({"constraint": "yaml_parse"}), text).unwrap(), Status::Fail, "{text}");
    }
}

/// Each assert of MBPP is `left == right`. As the two sides it is a test; as one expression it is left to the submission.
#[test]
fn asserts_of_mbpp_are_tests_as_their_two_sides() {
    let Some(path) = conformance("mbpp/mbpp.jsonl") else { return };
    let reads = |input: &str, expected: &str| {
        let request = json!({
            "output": {"content": "x"},
            "verification": {
                "kind": "test_suite",
                "language": "python",
                "tests": [{"name": "a", "input": input, "expected_output": expected}],
            },
        });
        Request::read(request.to_string().as_bytes(), Format::Json, None)
    };
    let mut seen = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let task: Value = serde_json::from_str(line).unwrap();
        for assert in task["test_list"].as_array().unwrap() {
            let whole = assert.as_str().unwrap().strip_prefix("assert ").unwrap();
            let (left, right) = whole.split_once("==").unwrap();
            // In `(f(1) == 2) == True` and the like there is a comparison on a side, too.
            let sides = reads(left, right);
            assert!(sides.is_ok() || left.starts_with('('), "{whole}: {sides:?}");
            assert_eq!(reads(whole, "True").map_err(|error| error.code()).unwrap_err(), "invalid_value", "{whole}");
            seen += 1;
        }
    }
    assert!(seen > 1_000, "only {seen} asserts");
}
