//! Expressions as others see them, and the types they are compiled for.

use proofmark_predicate::tree::{Operator, View};
use proofmark_predicate::{Budget, Fault, FieldType, Predicate, Query, Schema, Truth, TypeName, Value};

fn schema() -> Schema {
    [("amount", FieldType::Int), ("name", FieldType::String), ("open", FieldType::Bool), ("any", FieldType::Any)]
        .into_iter()
        .collect()
}

#[test]
fn an_expression_compiles_only_as_what_it_can_come_to() {
    let table = [
        ("amount > 1", true, false),
        ("open", true, false),
        ("any", true, true),
        ("name", false, true),
        ("sha256(name) // a comment", false, true),
        ("amount", false, false),
        ("any.x ? name : 'none'", false, true),
        ("[name]", false, false),
        ("true) || (name == 'x'", false, false),
    ];
    for (source, condition, text) in table {
        let compiles = |wanted| Predicate::compile_as(source, &schema(), wanted).is_ok();
        assert_eq!((compiles(TypeName::Bool), compiles(TypeName::String)), (condition, text), "{source}");
    }
    let error = Predicate::compile_as("  amount + 1", &schema(), TypeName::Bool).unwrap_err();
    assert_eq!((error.code(), error.column), ("type", 3));
    assert_eq!(error.fault, Fault::Result { found: "a number".to_owned(), expected: "bool" });
}

#[test]
fn the_tree_shows_operators_calls_and_macros() {
    let predicate = Predicate::compile("!has(a.b) || c.exists(x, x.name.matches('^k') && x.size() < 3)").unwrap();
    let View::Or(items) = predicate.tree().view() else { panic!("{:?}", predicate.tree()) };
    let [left, right] = items.as_slice() else { panic!("{items:?}") };
    let View::Not(inner) = left.view() else { panic!("{left:?}") };
    assert!(matches!(inner.view(), View::Has { base: Some(_), field: "b" }));
    let View::Macro { range, variables: 1, body, .. } = right.view() else { panic!("{right:?}") };
    assert_eq!(range.view(), View::Fact("c"));
    let View::And(both) = body.view() else { panic!("{body:?}") };
    assert!(matches!(both.first().unwrap().view(), View::Matches { pattern: "^k", .. }));
    assert!(matches!(both.last().unwrap().view(), View::Binary { operator: Operator::Less, .. }));
}

#[test]
fn expressions_written_alike_are_equal() {
    let equal =
        |left: &str, right: &str| Predicate::compile(left).unwrap().tree() == Predicate::compile(right).unwrap().tree();
    assert!(equal("a.b == 1 && (c)", "a . b==1 // same\n&& c"));
    assert!(equal("x.all(i, i > 0)", "x.all(other, other > 0)"));
    assert!(!equal("a == 1", "a == 2"));
    assert!(!equal("a < b", "b < a"));
    assert!(!equal("path('$.a')", "path('$.b')"));
}

#[test]
fn two_facts_are_compared_as_a_predicate_would() {
    let facts: Value = [("left", Value::from(1)), ("right", Value::from(2))].into_iter().collect();
    for (operator, truth) in [(Operator::Less, Truth::True), (Operator::Equal, Truth::False)] {
        let comparison = Predicate::comparison("left", operator, "right");
        assert_eq!(comparison.truth(&facts), truth);
        assert_eq!(comparison.evaluate(&facts), Predicate::compile(comparison.source()).unwrap().evaluate(&facts));
    }
    let text: Value = [("left", Value::from(1)), ("right", Value::from("x"))].into_iter().collect();
    assert!(matches!(Predicate::comparison("left", Operator::Equal, "right").truth(&text), Truth::Unknown(_)));
}

#[test]
fn a_query_is_bounded_and_says_what_is_missing() {
    let facts: Value = [("it's", Value::from(vec![Value::from(1), Value::from(2)]))].into_iter().collect();
    let values = |text: &str| Query::compile(text).unwrap().values(&facts, &Budget::new(1_000));
    assert_eq!(values("$[\"it's\"][*]").unwrap().len(), 2);
    let missing = values("$.other").unwrap_err().missing;
    assert_eq!(missing.first().unwrap().to_string(), "`other` is absent");
    let error = Query::compile("$.[").unwrap_err();
    assert_eq!((error.code(), error.line), ("path", 1));
    assert_eq!(Query::compile(&format!("$.{}", "a".repeat(600))).unwrap_err().code(), "path");
    assert!(Query::compile("$..[?@.x > 1]").unwrap().values(&facts, &Budget::new(3)).is_err());
}
