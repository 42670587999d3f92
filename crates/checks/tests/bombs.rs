//! Constraints and texts made to take long: each has an answer, and it is never a pass.
//!
//! A test that takes exponential time does not end; that it ends is what is asserted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop anywhere")]

use proofmark_checks::limits::{MAX_CONSTRAINT_STEPS, MAX_CONSTRAINTS};
use proofmark_checks::{Format, MAX_REQUEST_BYTES, Request, RequestError};
use proofmark_receipt::{Detail, Draft, Object, ReceiptId, Status, Timestamp, Verdict, json};
use serde_json::{Value, json};

fn read(check: Value, output: &str) -> Result<Request, RequestError> {
    let mut check = check;
    check["name"] = "check".into();
    let verification = json!({"kind": "constraint_check", "checks": [check]});
    let text = json!({"verification": verification}).to_string();
    Request::read(text.as_bytes(), Format::Json, Some(output))
}

fn said(constraint: &str, output: &str) -> Detail {
    read(json!({"constraint": constraint}), output).unwrap().judge(None, None).results.details.remove(0)
}

fn schema(schema: Value, output: &str) -> Result<Detail, RequestError> {
    let check = json!({"constraint": "json_schema", "schema": schema});
    Ok(read(check, output)?.judge(None, None).results.details.remove(0))
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn a_pattern_takes_linear_time() {
    let text = format!("{}!", "a".repeat(1 << 20));
    for pattern in ["regex:^(a+)+$", "regex:^(a|aa)+$", "regex:^(a|a?)+$", "cel:text.matches('^(a+)+$')"] {
        assert_ne!(said(pattern, &text).status, Status::Pass, "{pattern}");
    }
    let detail = schema(json!({"pattern": "^(a+)+$"}), &json!(text).to_string()).unwrap();
    assert_eq!(detail.status, Status::Fail);
}

#[test]
fn the_patterns_of_a_schema_are_charged_by_the_texts_they_look_through() {
    // A large pattern, which a few texts of a document are searched for by several schemas.
    let pattern = json!({"pattern": r"(\w{1,40}\W){1,4}$"});
    let many = json!({"items": {"allOf": vec![pattern.clone(); 40]}, "patternProperties": {r"(\w{1,40}\W){1,4}$": {}}});
    let too_much = |schema_of: &Value, output: &Value| {
        let detail = schema(schema_of.clone(), &output.to_string()).unwrap();
        detail.status == Status::Error && detail.message.is_some_and(|message| message.contains("steps"))
    };
    let text = "a".repeat(20_000);
    assert!(!too_much(&pattern, &json!(text)));
    assert!(!too_much(&many, &json!([text])));
    assert!(too_much(&many, &json!(vec![text.clone(); 50])));
    let names = json!({"propertyNames": {"allOf": vec![pattern; 40]}});
    let members = |count: usize| {
        (0..count).map(|number| (format!("{text}{number}"), json!(1))).collect::<serde_json::Map<_, _>>()
    };
    assert!(!too_much(&names, &Value::from(members(1))));
    assert!(too_much(&names, &Value::from(members(50))));
}

#[test]
fn texts_that_nest_deeply_are_refused() {
    let deep = nested("[", "", "]", 100_000);
    assert_eq!(said("json_parse", &deep).status, Status::Fail);
    assert_eq!(said("yaml_parse", &deep).status, Status::Fail);
    for constraint in ["json_path:$..a exists", "cel:output == 1"] {
        assert_eq!(said(constraint, &deep).status, Status::Error, "{constraint}");
    }
    assert_eq!(schema(json!({"items": {"$ref": "#"}}), &deep).unwrap().status, Status::Error);
}

#[test]
fn a_bomb_of_aliases_is_no_yaml() {
    let line =
        |level: usize| format!("l{}: &l{} [{}]\n", level + 1, level + 1, vec![format!("*l{level}"); 10].join(", "));
    let text = format!("l0: &l0 [lol]\n{}", (0..9).map(line).collect::<String>());
    assert_eq!(said("yaml_parse", &text).status, Status::Fail);
}

#[test]
fn the_longest_output_is_answered_and_its_receipt_can_be_read() {
    let long = "x".repeat(MAX_REQUEST_BYTES);
    for constraint in ["length <= 1000", "lines > 1", "words > 1", "regex:y", "contains:y", "json_parse"] {
        assert_eq!(said(constraint, &long).status, Status::Fail, "{constraint}");
    }
    assert_eq!(said("cel:text.contains('y')", &long).status, Status::Error);
    let wide = format!("[{}1]", "1,".repeat(500_000));
    assert_eq!(said("json_path:$[*] == 2", &wide).status, Status::Fail);
    let text = json!({"verification": {"checks": [], "constraints": [], "schema": {"items": false}}}).to_string();
    let request = Request::read(text.as_bytes(), Format::Json, Some(&wide)).unwrap();
    let judgment = request.judge(None, None);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier: judgment.tier,
        verdict: judgment.verdict,
        task: None,
        results: judgment.results,
        hashes: request.hashes,
        metadata: Object::new(),
    };
    assert!(draft.unsigned().unwrap().to_text().len() <= json::MAX_BYTES);
    assert_eq!(
        read(json!({"constraint": "json_parse"}), &"x".repeat(MAX_REQUEST_BYTES + 1)).unwrap_err().code(),
        "too_large"
    );
}

#[test]
fn a_path_that_multiplies_its_nodes_is_not_walked() {
    let deep = nested(r#"{"a":["#, "1", "]}", 30);
    let wide = format!("[{}1]", "1,".repeat(100_000));
    let again = "['a','a']".repeat(40);
    let table = [
        ("$..*..*..*..*..*..*..*..*", deep.as_str()),
        ("$..[?count($..*) > 0]", wide.as_str()),
        ("$[?count($[?count($[*]) > 0]) > 0]", wide.as_str()),
        (again.as_str(), deep.as_str()),
        ("$..[*,*]..[*,*]..[*,*]..[*,*]..[*,*]", deep.as_str()),
    ];
    for (path, output) in table {
        let path = if path.starts_with('$') { path.to_owned() } else { format!("${path}") };
        for rest in ["exists", "== 1"] {
            let detail = said(&format!("json_path:{path} {rest}"), output);
            assert_ne!(detail.status, Status::Pass, "{path}: {detail:?}");
        }
    }
}

#[test]
fn a_path_over_much_is_walked() {
    let items: Vec<_> = (0..20_000).map(|id| json!({"id": id, "of": {"price": 3}})).collect();
    let output = json!({ "items": items }).to_string();
    for path in ["$..price", "$.items[?@.of.price < 10].id", "$..[?@.price > 2]", "$.items[0,1,2,3,4,5,6,7].id"] {
        assert_eq!(said(&format!("json_path:{path} exists"), &output).status, Status::Pass, "{path}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let loops = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}),
        json!({"$dynamicAnchor": "x", "$dynamicRef": "#x"}),
    ];
    for bomb in loops {
        if let Ok(detail) = schema(bomb.clone(), "[1]") {
            assert_ne!(detail.status, Status::Pass, "{bomb}");
        }
    }
}

#[test]
fn a_schema_that_doubles_itself_is_not_followed() {
    let mut defs = json!({});
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs[format!("d{level}")] = json!({"allOf": [next, next]});
    }
    defs["d40"] = json!({"type": "integer"});
    let wide = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let again = json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let either = json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["z"]});
    let deep = nested(r#"{"a":"#, "{}", "}", 50);
    for bomb in [wide, again, either] {
        if let Ok(detail) = schema(bomb, &deep) {
            assert_ne!(detail.status, Status::Pass);
        }
    }
}

/// Each level refers twice to the next one, in a way that only one draft or only the validator understands.
#[test]
fn a_schema_cannot_hide_what_it_doubles() {
    let levels = |refers: &dyn Fn(usize) -> String, names: &dyn Fn(usize) -> Value| {
        let mut definitions = json!({});
        for level in 0..40 {
            let next = json!({"$ref": refers(level + 1)});
            let mut schema = names(level);
            schema["allOf"] = json!([next, next]);
            definitions[format!("d{level}")] = schema;
        }
        let mut last = names(40);
        last["type"] = json!("integer");
        definitions["d40"] = last;
        definitions
    };
    let pointed = |base: &'static str| levels(&move |level| format!("{base}#/definitions/d{level}"), &|_| json!({}));
    let anchored = levels(&|level| format!("#d{level}"), &|level| json!({"$id": format!("#d{level}")}));
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    let both = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
    for (bomb, open, close) in [
        (json!({"$ref": "json-schema:///#/definitions/d0", "definitions": pointed("json-schema:///")}), "", ""),
        (json!({"$schema": draft_7, "$ref": "#d0", "definitions": anchored}), "", ""),
        (json!({"$schema": draft_7, "items": [both], "prefixItems": [{}]}), "[", "]"),
        (json!({"$dynamicAnchor": "meta", "allOf": [meta, meta]}), r#"{"allOf":["#, "]}"),
    ] {
        if let Ok(detail) = schema(bomb.clone(), &nested(open, "{}", close, 50)) {
            assert_ne!(detail.status, Status::Pass, "{bomb}");
        }
    }
}

#[test]
fn a_schema_of_a_tree_is_followed() {
    let tree = json!({
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}},
        "required": ["value"],
    });
    let deep = nested(r#"{"value":1,"next":"#, "null", "}", 50);
    assert_eq!(schema(tree, &deep).unwrap().status, Status::Pass);
}

#[test]
fn unique_items_and_long_numbers_take_no_time() {
    let wide = format!("[{}]", (0..200_000).map(|item| format!("[{item}]")).collect::<Vec<_>>().join(","));
    assert_eq!(schema(json!({"uniqueItems": true}), &wide).unwrap().status, Status::Pass);
    let long = "9".repeat(1 << 20);
    assert_ne!(said("json_path:$ == 9", &long).status, Status::Pass);
    assert_ne!(schema(json!({"type": "string"}), &long).unwrap().status, Status::Pass);
    assert_ne!(schema(json!({"maximum": 5}), &long).unwrap().status, Status::Pass);
    assert_ne!(schema(json!({"const": 5}), "1e400").unwrap().status, Status::Pass);
    assert_ne!(schema(json!({"maximum": 5}), "1e400").unwrap().status, Status::Pass);
    assert_ne!(schema(json!({"multipleOf": 7}), "1e300000000").unwrap().status, Status::Pass);
}

#[test]
fn all_constraints_of_a_request_share_a_budget() {
    let names = |count: usize, constraint: &str| -> Vec<_> {
        (0..count).map(|number| json!({"name": format!("c{number}"), "constraint": constraint})).collect()
    };
    let judged = |checks: Vec<serde_json::Value>, output: &str| {
        let text = json!({"verification": {"kind": "constraint_check", "checks": checks}}).to_string();
        Request::read(text.as_bytes(), Format::Json, Some(output)).unwrap().judge(None, None)
    };
    // A text is read as YAML once, however many constraints ask for it.
    let yaml = "- [a, b, {c: d}]\n".repeat(2_000);
    let judgment = judged(names(MAX_CONSTRAINTS, "yaml_parse"), &yaml);
    assert_eq!((judgment.results.passed, judgment.verdict), (MAX_CONSTRAINTS as u64, Verdict::Pass));

    let long = "x".repeat(4 << 20);
    let judgment = judged(names(MAX_CONSTRAINTS, "contains:y"), &long);
    assert_eq!((judgment.results.passed, judgment.verdict), (0, Verdict::Fail));
    assert_eq!(judgment.results.details[0].status, Status::Fail);
    let last = judgment.results.details.last().unwrap();
    assert_eq!(last.status, Status::Error);
    let said = last.message.clone().unwrap();
    assert!(said.contains(&MAX_CONSTRAINT_STEPS.to_string()), "{said}");
}

#[test]
fn constraints_nobody_waits_for_are_not_checked() {
    let text =
        json!({"verification": {"kind": "constraint_check", "checks": [{"name": "c", "constraint": "json_parse"}]}});
    let request = Request::read(text.to_string().as_bytes(), Format::Json, Some("{}")).unwrap();
    assert!(request.judge_until(None, None, &|| true).is_err());
    assert_eq!(request.judge_until(None, None, &|| false).unwrap(), request.judge(None, None));
}
