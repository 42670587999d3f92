//! Tier 1: what is demanded of a text, without running anything.

use proofmark_checks::limits::{MAX_CONSTRAINT_BYTES, MAX_CONSTRAINTS, MAX_VIOLATIONS};
use proofmark_checks::{Fault, Format, Judgment, Outside, Plan, Request, RequestError};
use proofmark_receipt::{Detail, Status, Verdict};
use serde_json::{Value, json};

const PERSON: &str = r#"{"name": "Ada", "age": 36, "tags": ["math", "engines"], "big": 9007199254740993, "no": null}"#;

fn read(verification: &Value, output: &str) -> Result<Request, RequestError> {
    let text = json!({"output": {"content": output}, "verification": verification}).to_string();
    Request::read(text.as_bytes(), Format::Json, None)
}

fn judge(verification: &Value, output: &str) -> Judgment {
    let request = read(verification, output).unwrap();
    assert_eq!(request.plan(&Default::default()).unwrap(), Plan::default());
    request.judge(None, None)
}

fn one(check: Value) -> Value {
    let mut check = check;
    check["name"] = "check".into();
    json!({"kind": "constraint_check", "checks": [check]})
}

fn constraint(text: &str) -> Value {
    one(json!({"constraint": text}))
}

/// What the constraint says of the output.
fn said(text: &str, output: &str) -> Detail {
    judge(&constraint(text), output).results.details.remove(0)
}

fn refused(verification: &Value) -> RequestError {
    read(verification, "x").expect_err(&verification.to_string())
}

#[test]
fn every_form_passes_fails_and_says_what_is_missing() {
    use Status::{Error, Fail, Pass};
    let table = [
        ("json_parse", PERSON, Pass, ""),
        ("is_json", "1", Pass, ""),
        ("json_parse", "{", Fail, "not JSON"),
        ("json_parse", "", Fail, "not JSON"),
        ("json_parse", r#"{"a": 1, "a": 2}"#, Fail, "not JSON"),
        ("yaml_parse", "a: [1, 2]\n", Pass, ""),
        ("yaml_parse", "a: 1\na: 2\n", Fail, "uplicate"),
        ("yaml_parse", "a: [1", Fail, "not YAML"),
        ("json_path:$.name exists", PERSON, Pass, ""),
        ("json_path:$.no exists", PERSON, Pass, ""),
        ("json_path: $.tags[*]  exists ", PERSON, Pass, ""),
        ("json_path:$.nobody exists", PERSON, Fail, "leads to nothing"),
        ("json_path:$.name exists", "no", Error, "not JSON"),
        ("json_path:$.age >= 18", PERSON, Pass, ""),
        ("json_path:$.age>=18", PERSON, Pass, ""),
        ("json_path:$.age < 18", PERSON, Fail, ""),
        ("json_path:$.age == 36.0", PERSON, Pass, ""),
        ("json_path:$.big == 9007199254740993", PERSON, Pass, ""),
        ("json_path:$.big == 9007199254740992", PERSON, Fail, ""),
        ("json_path:$ == 0.1", "0.1000000000000000000001", Fail, ""),
        ("json_path:$ == 1.2345678901234568e29", "123456789012345678901234567890", Fail, ""),
        ("json_path:$ == 123456789012345678901234567890", "123456789012345678901234567890", Pass, ""),
        ("json_path:$ exists", "1e400", Error, "past every double"),
        (r#"json_path:$.name == "Ada""#, PERSON, Pass, ""),
        (r#"json_path:$.name != "Ada""#, PERSON, Fail, ""),
        (r#"json_path:$.tags == ["math", "engines"]"#, PERSON, Pass, ""),
        (r#"json_path:$.tags == ["engines", "math"]"#, PERSON, Fail, ""),
        ("json_path:$.no == null", PERSON, Pass, ""),
        (r#"json_path:$.tags[?@ >= "f"] == "math""#, PERSON, Pass, ""),
        (r#"json_path:$.tags[*] != "x""#, PERSON, Pass, ""),
        (r#"json_path:$.tags[*] == "math""#, PERSON, Fail, ""),
        ("json_path:$.age >= 18", "{}", Error, "leads to nothing"),
        ("json_path:$.age >= 18", "no", Error, "not JSON"),
        ("json_path:$.name >= 18", PERSON, Error, "cannot be compared"),
        ("length <= 4", "äöüß", Pass, ""),
        ("length <= 3", "äöüß", Fail, ""),
        ("length == 0", "", Pass, ""),
        ("length != 0", "", Fail, ""),
        ("lines >= 2", "one\ntwo\n", Pass, ""),
        ("lines > 2", "one\ntwo\n", Fail, ""),
        ("words < 3", " one\t two\n", Pass, ""),
        ("words<2", " one\t two\n", Fail, ""),
        ("regex:^[a-z]+$", "abc", Pass, ""),
        ("regex:(?i)ABC", "xabcx", Pass, ""),
        ("regex:^[a-z]+$", "ab1", Fail, "matches nowhere"),
        ("contains:b: c", "a b: c", Pass, ""),
        ("contains:B", "abc", Fail, "does not contain"),
        ("not_contains:TODO", "done", Pass, ""),
        ("not_contains:TODO", "a TODO", Fail, "contains the text"),
        ("cel:output.age >= 18 && output.tags.all(t, size(t) > 3)", PERSON, Pass, ""),
        ("expr: text.startsWith('{')", PERSON, Pass, ""),
        ("cel:output.age > 40", PERSON, Fail, "`output.age > 40`"),
        ("cel:output.size > 40", PERSON, Error, "output.size"),
        ("cel:output.name > 40", PERSON, Error, "output.name"),
        ("cel:size(text) > 0", "not JSON", Pass, ""),
        ("cel:output.age > 40", "not JSON", Error, "not JSON"),
        ("cel:size(text) > 0 || output.age > 40", "not JSON", Pass, ""),
    ];
    for (text, output, status, words) in table {
        let detail = said(text, output);
        assert_eq!(detail.status, status, "{text} of {output}: {detail:?}");
        assert_eq!(detail.constraint.as_deref(), Some(text));
        assert!(detail.message.unwrap_or_default().contains(words), "{text} of {output} lacks {words}");
    }
}

#[test]
fn what_is_there_instead_is_shown() {
    for (text, actual) in [("length <= 3", "4"), ("words > 9", "1"), ("json_path:$ < 1000", "1234")] {
        assert_eq!(said(text, "1234").actual.as_deref(), Some(actual), "{text}");
    }
}

const SPEC: &str = r#"{
  "kind": "schema_check",
  "checks": [
    {"name": "is_valid_json", "constraint": "json_parse"},
    {"name": "has_name_field", "constraint": "json_path:$.name exists"},
    {"name": "max_length", "constraint": "length <= 1000"}
  ]
}"#;

const SPEC_YAML: &str = r#"
output: {content: '{"name": "Ada"}'}
verification:
  kind: schema_check
  checks:
    - {name: is_valid_json, constraint: json_parse}
    - {name: has_name_field, constraint: "json_path:$.name exists"}
    - {name: max_length, constraint: length <= 1000}
"#;

#[test]
fn the_example_of_the_spec_works_word_for_word() {
    let text = format!(r#"{{"output": {{"content": "{{\"name\": \"Ada\"}}"}}, "tier": 1, "verification": {SPEC}}}"#);
    let json = Request::read(text.as_bytes(), Format::Json, None).unwrap();
    let yaml = Request::read(SPEC_YAML.as_bytes(), Format::Yaml, None).unwrap();
    assert_eq!((&json.checks, &json.hashes), (&yaml.checks, &yaml.hashes));
    let judgment = json.judge(None, None);
    assert_eq!((judgment.tier, judgment.verdict, judgment.fault), (1, Verdict::Pass, None));
    let pairs: Vec<_> = judgment
        .results
        .details
        .iter()
        .map(|detail| (detail.name.clone(), detail.constraint.clone().unwrap()))
        .collect();
    let due = [
        ("is_valid_json", "json_parse"),
        ("has_name_field", "json_path:$.name exists"),
        ("max_length", "length <= 1000"),
    ];
    assert_eq!(pairs, due.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

#[test]
fn the_form_of_the_reference_is_read() {
    let verification = json!({
        "schema": {"type": "object", "required": ["name"]},
        "constraints": [{"name": "adult", "expr": "output.age >= 18"}, {"name": "short", "expr": "length <= 1000"}],
    });
    let judgment = judge(&verification, PERSON);
    let names: Vec<_> = judgment.results.details.iter().map(|detail| detail.name.as_str()).collect();
    assert_eq!((judgment.verdict, names), (Verdict::Pass, vec!["schema", "adult", "short"]));
    assert_eq!(judge(&verification, r#"{"age": 18}"#).verdict, Verdict::Partial);
    assert_eq!(judge(&json!({"schema": true}), "{}").verdict, Verdict::Pass);
    let typo = refused(&json!({"constraints": [{"name": "adult", "expr": "ouput.age >= 18"}]}));
    assert_eq!(typo.place().to_string(), "`verification.constraints[0].expr`");
}

#[test]
fn every_violation_of_a_schema_is_listed_with_its_pointer() {
    let schema =
        json!({"properties": {"age": {"minimum": 40}, "tags": {"items": {"maxLength": 4}}}, "required": ["id"]});
    let verification = one(json!({"constraint": "json_schema", "schema": schema}));
    let detail = judge(&verification, PERSON).results.details.remove(0);
    let message = detail.message.unwrap();
    assert_eq!(detail.status, Status::Fail);
    for place in ["/age: ", "/tags/1: ", "the document: "] {
        assert!(message.contains(place), "{message} lacks {place}");
    }
    assert!(detail.constraint.unwrap().starts_with("json_schema sha256:"));
    let many = json!({"constraint": "json_schema", "schema": {"items": false}});
    let message = judge(&one(many), &json!(vec![0; 1_000]).to_string()).results.details.remove(0).message.unwrap();
    assert_eq!(message.lines().count(), MAX_VIOLATIONS + 1);
}

#[test]
fn older_drafts_are_told_by_their_schema() {
    let schema = |draft: &str| json!({"$schema": draft, "items": [{"type": "string"}]});
    let check = |draft: &str| judge(&one(json!({"constraint": "json_schema", "schema": schema(draft)})), "[1]").verdict;
    assert_eq!(check("http://json-schema.org/draft-07/schema#"), Verdict::Fail);
    assert_eq!(check("http://json-schema.org/draft-04/schema#"), Verdict::Fail);
}

#[test]
fn a_keyword_that_nobody_knows_is_refused() {
    let block = |schema: serde_json::Value| one(json!({"constraint": "json_schema", "schema": schema}));
    for (schema, at, help) in [
        (json!({"requird": ["name"]}), "`/requird`", "did you mean `required`?"),
        (json!({"properties": {"a": {"maxLenght": 3}}}), "`/properties/a/maxLenght`", "did you mean `maxLength`?"),
        (json!({"allOf": [true, {"$defs": {"b": {"unit": "m"}}}]}), "`/allOf/1/$defs/b/unit`", "list `unit`"),
    ] {
        let error = refused(&block(schema));
        assert!(error.message().contains(at), "{error}");
        assert!(error.help().unwrap().contains(help), "{error:?}");
    }
    // Names of members, values and extensions are not keywords.
    for schema in [
        json!({"properties": {"requird": true}, "enum": [{"requird": 1}, {}], "x-unit": "m"}),
        json!({"default": {"requird": 1}, "examples": [{"requird": 1}]}),
    ] {
        assert_eq!(judge(&block(schema), "{}").verdict, Verdict::Pass);
    }
    let mut named = block(json!({"unit": "m", "items": {"unit": "m"}}));
    named["vocabulary"] = json!(["unit"]);
    assert_eq!(judge(&named, "{}").verdict, Verdict::Pass);
}

#[test]
fn a_schema_can_stand_in_a_file() {
    let file = |path: &str| match path {
        "person.json" => Ok(r#"{"type": "object"}"#.to_owned()),
        "broken.json" => Ok("{".to_owned()),
        _ => Err(format!("there is no `{path}`")),
    };
    let read = |path: &str| {
        let verification = one(json!({"constraint": "json_schema", "schema": path}));
        let text = json!({"output": {"content": "{}"}, "verification": verification}).to_string();
        Request::read_with(text.as_bytes(), Format::Json, &Outside { submission: None, file: &file })
    };
    let beside = read("person.json").unwrap().judge(None, None).results.details.remove(0);
    let inline = judge(&one(json!({"constraint": "json_schema", "schema": {"type": "object"}})), "{}");
    assert_eq!(beside, inline.results.details[0]);
    for (path, words) in [("broken.json", "not JSON"), ("nowhere.json", "there is no `nowhere.json`")] {
        let error = read(path).unwrap_err();
        assert_eq!(error.place().to_string(), "`verification.checks[0].schema`");
        assert!(error.message().contains(words), "{error}");
    }
    let alone = refused(&one(json!({"constraint": "json_schema", "schema": "person.json"})));
    assert!(alone.message().contains("cannot be named here"), "{alone}");
}

/// Another schema in the file is another suite, and a schema in a file is the same as one in the request.
#[test]
fn the_digest_of_the_tests_covers_the_content_of_a_schema_in_a_file() {
    let tests = |member: serde_json::Value, content: &'static str| {
        let verification = json!({"kind": "schema_check", "schema": member.clone(), "checks": [{"name": "a", "constraint": "json_schema", "schema": member}]});
        let text = json!({"output": {"content": "{}"}, "verification": verification}).to_string();
        let file = |_: &str| Ok(content.to_owned());
        Request::read_with(text.as_bytes(), Format::Json, &Outside { submission: None, file: &file })
            .unwrap()
            .hashes
            .tests
    };
    let strict = tests(json!("s.json"), r#"{"type": "object"}"#);
    assert_ne!(strict, tests(json!("s.json"), r#"{}"#));
    assert_eq!(strict, tests(json!({"type": "object"}), ""));
    assert_eq!(strict, tests(json!("other.json"), r#" {"type":"object"} "#));
}

#[test]
fn a_constraint_that_cannot_be_used_is_the_requests_error() {
    let deep =
        |open: &str, close: &str| format!("json_path:$[?{}@.a{}] exists", open.repeat(5_000), close.repeat(5_000));
    let table = [
        ("cel:size(txt) > 0", "unknown fact `txt`"),
        ("cel:output.age >= ", "^"),
        ("cel:sise(text) > 0", "^"),
        ("regex:(", "cannot be used"),
        ("regex:(a)\\1", "cannot be used"),
        ("regex:((a{1000}){1000}){1000}", "cannot be used"),
        ("json_path:$.[ exists", "not a JSONPath"),
        ("json_path:name exists", "not a JSONPath"),
        ("json_path:$.name", "neither `exists` nor a comparison"),
        ("json_path:$.nameexists", "neither `exists` nor a comparison"),
        ("json_path:$.age >=", "not a JSONPath"),
        ("json_path:$.age >= old", "not a JSONPath"),
        ("json_path:$.age = 3", "JSONPath"),
        ("json_path:", "JSONPath"),
        ("length <=", "not a count"),
        ("length <= many", "not a count"),
        ("length <= -1", "not a count"),
        ("length", "unknown constraint"),
        ("contains:", "no text"),
        ("not_contains:", "no text"),
        ("is_nice", "unknown constraint `is_nice`; write `json_parse`"),
        ("", "unknown constraint"),
        (&deep("(", ")"), "more than 512 bytes"),
        (&deep("!(", ")"), "more than 512 bytes"),
        (&deep("@[?", "]"), "more than 512 bytes"),
    ];
    for (text, words) in table {
        let error = refused(&constraint(text));
        assert_eq!(error.place().to_string(), "`verification.checks[0].constraint`", "{text}");
        assert_eq!(error.code(), "invalid_value", "{text}");
        let text = format!("{}; {}", error.message(), error.help().unwrap_or_default());
        assert!(text.contains(words), "{text} lacks {words}");
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_the_requests_error() {
    let table = [
        (json!({"type": "strin"}), "strin"),
        (json!({"properties": {"a": {"minimum": "one"}}}), "/properties/a/minimum"),
        (json!({"$ref": "#/nowhere"}), "nowhere"),
        (json!({"$ref": "https://example.com/schema"}), "example.com"),
        (json!({"$ref": "file:///etc/passwd"}), "passwd"),
        (json!({"pattern": "("}), "pattern"),
        (json!({"pattern": "(?=a)"}), "pattern"),
        (json!({"pattern": "((a{1000}){1000}){1000}"}), "pattern"),
        (json!(3), "expected a schema"),
        (json!({"$schema": "https://example.com/own"}), "example.com"),
    ];
    for (schema, words) in table {
        let error = refused(&one(json!({"constraint": "json_schema", "schema": schema})));
        assert_eq!(error.place().to_string(), "`verification.checks[0].schema`", "{schema}");
        let text = format!("{}; {}", error.message(), error.help().unwrap_or_default());
        assert!(text.contains(words), "{text} lacks {words}");
    }
}

#[test]
fn a_block_that_does_not_fit_together_is_refused_at_its_place() {
    let named = |name: &str| json!({"name": name, "constraint": "json_parse"});
    let many: Vec<_> = (0..=MAX_CONSTRAINTS).map(|index| named(&index.to_string())).collect();
    let table = [
        (json!({"kind": "schema_check", "checks": []}), "verification.checks", "missing_field"),
        (json!({"kind": "schema_check"}), "verification.checks", "missing_field"),
        (
            json!({"kind": "schema_check", "checks": [named("a"), named("a")]}),
            "verification.checks[1].name",
            "duplicate_name",
        ),
        (
            json!({"schema": true, "constraints": [{"name": "schema", "expr": "true"}]}),
            "verification.constraints[0].name",
            "duplicate_name",
        ),
        (json!({"kind": "schema_check", "checks": many}), "verification.checks", "too_many"),
        (json!({"kind": "schema_check", "tests": []}), "verification.tests", "unknown_field"),
        (
            json!({"kind": "schema_check", "checks": [{"name": "a"}]}),
            "verification.checks[0].constraint",
            "missing_field",
        ),
        (
            json!({"kind": "schema_check", "checks": [{"constraint": "json_parse"}]}),
            "verification.checks[0].name",
            "missing_field",
        ),
        (one(json!({"constraint": "json_schema"})), "verification.checks[0].schema", "missing_field"),
        (one(json!({"constraint": "json_parse", "schema": {}})), "verification.checks[0].schema", "conflicting_fields"),
        (constraint(&"x".repeat(MAX_CONSTRAINT_BYTES + 1)), "verification.checks[0].constraint", "too_large"),
        (
            json!({"kind": "schema_check", "reveal": "some", "checks": [named("a")]}),
            "verification.reveal",
            "invalid_value",
        ),
    ];
    for (verification, place, code) in table {
        let error = refused(&verification);
        assert_eq!((error.place().to_string(), error.code()), (format!("`{place}`"), code), "{error}");
    }
    let tier = json!({"output": {"content": ""}, "tier": 0, "verification": one(json!({"constraint": "json_parse"}))});
    let error = Request::read(tier.to_string().as_bytes(), Format::Json, None).unwrap_err();
    assert!(
        error.place().to_string() == "`tier`" && error.help().is_some_and(|help| help.starts_with("write 1")),
        "{error}"
    );
}

#[test]
fn a_caret_stands_under_the_typo() {
    let error = refused(&constraint("cel:output.age >= && true"));
    let lines: Vec<_> = error.message().lines().collect();
    let (source, caret) = (lines[lines.len() - 2], lines[lines.len() - 1]);
    assert_eq!(caret.find('^'), source.find("&&"), "{error}");
}

#[test]
fn what_cannot_be_answered_is_the_submissions_fault() {
    let table = [
        ("{}", Verdict::Partial, Some(Fault::Submission)),
        ("no", Verdict::Partial, Some(Fault::Submission)),
        (r#"{"a": 1}"#, Verdict::Pass, None),
        (r#"{"a": 0}"#, Verdict::Partial, None),
    ];
    let verification = json!({"kind": "constraint_check", "checks": [
        {"name": "path", "constraint": "json_path:$.a > 0"},
        {"name": "short", "constraint": "length <= 100"},
    ]});
    for (output, verdict, fault) in table {
        let judgment = judge(&verification, output);
        assert_eq!((judgment.verdict, judgment.fault), (verdict, fault), "{output}");
    }
    assert_eq!(judge(&constraint("json_path:$.a > 0"), "{}").verdict, Verdict::Fail);
}

#[test]
fn hidden_checks_show_nothing_of_the_submission() {
    let with = |reveal: &str, output: &str| {
        let mut verification = constraint("json_path:$.secret == 1");
        verification["reveal"] = reveal.into();
        verification["salt"] = "0123456789abcdef".into();
        judge(&verification, output).results.details.remove(0)
    };
    let (wrong, none) = (r#"{"secret": 2}"#, "{}");
    assert_eq!(with("all", wrong).actual.as_deref(), Some("2"));
    assert_eq!(with("failures", wrong).actual.as_deref(), Some("2"));
    let hidden = with("none", wrong);
    assert_eq!((hidden.status, hidden.actual, hidden.message, hidden.constraint), (Status::Fail, None, None, None));
    let hidden = with("none", none);
    assert_eq!((hidden.status, hidden.actual, hidden.constraint), (Status::Error, None, None));
    assert_eq!(hidden.message.as_deref(), Some("no answer"));
}
