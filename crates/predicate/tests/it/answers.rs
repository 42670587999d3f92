//! What predicates answer, why, and what they refuse.

use proofmark_predicate::{Evaluation, Predicate, Truth, Value, Why};

use crate::json::facts;

const ORDER: &str = r#"{
    "order": {"total": 120.50, "currency": "USD", "items": [
        {"id": "a", "price": 100}, {"id": "b", "price": 20.50}, {"id": "c"}
    ], "note": null},
    "actor": {"role": "support", "scopes": ["read", "refund"]},
    "limit": 500
}"#;

fn evaluate(source: &str) -> Evaluation {
    Predicate::compile(source).unwrap().evaluate(&facts(ORDER))
}

fn truth(source: &str) -> Truth {
    evaluate(source).truth
}

fn missing(source: &str) -> Vec<String> {
    match truth(source) {
        Truth::Unknown(missing) => missing.iter().map(ToString::to_string).collect(),
        other => panic!("`{source}` is {other:?}"),
    }
}

fn decided_by(source: &str) -> Vec<String> {
    let predicate = Predicate::compile(source).unwrap();
    let evaluation = predicate.evaluate(&facts(ORDER));
    let clauses = evaluation.decided_by.iter();
    clauses.map(|span| predicate.clause(*span).to_owned()).collect()
}

#[test]
fn three_valued_logic_has_these_tables() {
    let values = [("true", 1), ("false", 0), ("absent", 2)];
    let number = |truth: &Truth| match truth {
        Truth::False => 0,
        Truth::True => 1,
        Truth::Unknown(_) => 2,
    };
    for (a, x) in values {
        for (b, y) in values {
            let and = if x == 0 || y == 0 { 0 } else { x.max(y) };
            let or = if x == 1 || y == 1 {
                1
            } else if x == 2 || y == 2 {
                2
            } else {
                0
            };
            assert_eq!(number(&truth(&format!("{a} && {b}"))), and, "{a} && {b}");
            assert_eq!(number(&truth(&format!("{a} || {b}"))), or, "{a} || {b}");
        }
    }
    assert_eq!(missing("!absent"), ["`absent` is absent"]);
    assert_eq!(missing("absent ? true : true"), ["`absent` is absent"]);
}

#[test]
fn unknown_names_the_fact_and_what_is_the_matter_with_it() {
    for (source, expected) in [
        ("order.discount > 5", "`order.discount` is absent"),
        ("order.total == '120'", "`order.total` is of type decimal, expected string"),
        ("'120' == order.total", "`order.total` is of type decimal, expected string"),
        ("order.currency > 5", "`order.currency` is of type string, expected int"),
        ("order.items[7].price > 1", "`order.items[7]` is absent"),
        ("order['odd name'] == 1", "`order[\"odd name\"]` is absent"),
        ("order.currency.code == 'USD'", "`order.currency` is of type string, expected map"),
        ("order.items.all(i, i.price > 0)", "`order.items[2].price` is absent"),
        ("order.items.exists(i, i.price > 200)", "`order.items[2].price` is absent"),
        ("limit / 0 > 1", "`limit / 0` cannot be computed: division by zero"),
        ("actor.role", "`actor.role` is of type string, expected bool"),
        ("path('$.order.items[*].price').size() == 3", "`order.items[2].price` is absent"),
        ("order.path('$.discount')[0] == 1", "`order.discount` is absent"),
        ("path('$.gone[?@.x > 1]').size() == 0", "`gone` is absent"),
        ("lower(limit) == 'a'", "`limit` is of type int, expected string"),
        ("limit in ['a']", "`limit` is of type int, expected string"),
        ("limit % 1.5 == 0.0", "`1.5` is of type decimal, expected int"),
        (
            "int(order.currency) > 1",
            "`int(order.currency)` cannot be computed: the text does not have the form the conversion needs",
        ),
    ] {
        assert_eq!(missing(source), [expected], "{source}");
    }
}

#[test]
fn every_missing_fact_is_named_once() {
    assert_eq!(
        missing("a > 1 && b > 1 && (c || a > 1) && order.total > 1"),
        ["`a` is absent", "`b` is absent", "`c` is absent"]
    );
    assert_eq!(missing("a + b > 1"), ["`a` is absent", "`b` is absent"]);
}

#[test]
fn elements_without_the_fact_do_not_hide_one_that_settles_it() {
    assert_eq!(truth("order.items.exists(i, i.price > 50)"), Truth::True);
    assert_eq!(truth("order.items.all(i, i.price > 50)"), Truth::False);
}

#[test]
fn false_and_unknown_name_the_clauses_that_decided() {
    assert_eq!(decided_by("order.total > 1 && limit > 900 && actor.role == 'x'"), ["limit > 900"]);
    assert_eq!(decided_by("limit > 900 || actor.role == 'x'"), ["limit > 900", "actor.role == 'x'"]);
    assert_eq!(decided_by("limit > 1 && gone && !other"), ["gone", "other"]);
    assert_eq!(decided_by("gone && limit > 900"), ["limit > 900"]);
    assert_eq!(decided_by("!(limit > 1 || gone)"), ["limit > 1"]);
    assert_eq!(decided_by("limit > 1 && (gone || limit > 900) && limit > 2"), ["gone"]);
    assert_eq!(decided_by("actor.scopes.all(s, s == 'read')"), ["actor.scopes.all(s, s == 'read')"]);
    assert!(decided_by("limit > 1 || gone").is_empty());
}

#[test]
fn numbers_are_exact() {
    for source in [
        "0.1 + 0.2 == 0.3",
        "order.total == 120.5",
        "order.total * 2 == 241",
        "1e22 + 1.0 > 1e22",
        "9007199254740993 != 9007199254740992.0",
        "-9223372036854775808 < 0",
    ] {
        assert_eq!(truth(source), Truth::True, "{source}");
    }
    for source in ["9223372036854775807 + 1 > 0", "-(-9223372036854775808) > 0"] {
        let Truth::Unknown(missing) = truth(source) else { panic!("{source}") };
        assert_eq!(missing[0].why.code(), "overflow", "{source}");
    }
}

#[test]
fn steps_are_reported_and_repeat() {
    let source = "order.items.exists(i, i.price > 50) && actor.scopes.size() == 2";
    let first = evaluate(source);
    assert_eq!(first, evaluate(source));
    assert!(first.steps > 0);
}

#[test]
fn a_binding_has_a_value() {
    let value = |source: &str| Predicate::compile(source).unwrap().value(&facts(ORDER));
    assert_eq!(
        value("sha256(order.currency)"),
        Ok(Value::from("sha256:a26cdf3a6e709124385d4d7eb9bff6b897a58ed5597fbab779b89849dbe81b21"))
    );
    assert_eq!(value("actor.scopes[1]"), Ok(Value::from("refund")));
    let unknown = value("order.gone").unwrap_err();
    assert_eq!(unknown.missing[0].why, Why::Absent);
}

#[test]
fn the_facts_a_predicate_reads_are_known() {
    let predicate = Predicate::compile("order.total < limit && has(actor) && path('$.extra.x')[0] == 1").unwrap();
    let names = predicate.names();
    let names: Vec<_> = names.iter().map(|name| &**name).collect();
    assert_eq!(names, ["actor", "extra", "limit", "order"]);
}

#[test]
fn null_is_a_value() {
    assert_eq!(truth("order.note == null"), Truth::True);
    assert_eq!(truth("order.total != null"), Truth::True);
    assert_eq!(truth("has(order.note) && !has(order.gone)"), Truth::True);
    assert_eq!(missing("has(order.total.x)"), ["`order.total` is of type decimal, expected map"]);
}
