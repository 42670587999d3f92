//! What is refused when a predicate is loaded, where, and with which advice.

use proofmark_predicate::{CompileError, FieldType, Predicate, Schema};

fn schema() -> Schema {
    let item = Schema::from_iter([("id", FieldType::String), ("price", FieldType::Number)]);
    let order = Schema::from_iter([
        ("total", FieldType::Number),
        ("currency", FieldType::OneOf(vec!["USD".into(), "EUR".into()])),
        ("items", FieldType::List(Box::new(FieldType::Object(item)))),
        ("tags", FieldType::Map(Box::new(FieldType::String))),
        ("paid", FieldType::Bool),
        ("extra", FieldType::Any),
    ]);
    Schema::from_iter([("order", FieldType::Object(order)), ("limit", FieldType::Int)])
}

/// The message and the help of an error.
fn words(error: &CompileError) -> String {
    match error.help() {
        Some(help) => format!("{}; {help}", error.fault),
        None => error.fault.to_string(),
    }
}

#[test]
fn a_declared_schema_refuses_slips() {
    for (source, code, message) in [
        ("ordr.total > 1", "unknown_name", "unknown fact `ordr`; did you mean `order`?"),
        ("order.totl > 1", "unknown_name", "unknown field `totl`; did you mean `total`?"),
        ("order['totl'] > 1", "unknown_name", "unknown field `totl`; did you mean `total`?"),
        ("has(order.pad)", "unknown_name", "unknown field `pad`; did you mean `paid`?"),
        ("order.items.all(i, i.prize > 1)", "unknown_name", "unknown field `prize`; did you mean `price`?"),
        ("order.items[0].zzzzzz > 1", "unknown_name", "unknown field `zzzzzz`"),
        ("path('$.ordr.total')[0] > 1", "unknown_name", "unknown fact `ordr`; did you mean `order`?"),
        ("path('$.order.totl')[0] > 1", "unknown_name", "unknown field `totl`; did you mean `total`?"),
        ("order.currency == 'USS'", "unknown_name", "unknown value `USS`; did you mean `USD`?"),
        ("order.currency in ['EUR', 'USE']", "unknown_name", "unknown value `USE`; did you mean `USD`?"),
        ("order.total == '5'", "type", "`==` cannot compare a number with a string"),
        ("order.paid < 1", "type", "`<` cannot compare a bool with a number"),
        ("order.total && true", "type", "`&&` takes a bool, this is a number"),
        ("!order.total", "type", "`!` takes a bool, this is a number"),
        ("order.total.x == 1", "type", "`.x` takes a map, this is a number"),
        ("order.items.size > 1", "type", "`.size` takes a map, this is a list"),
        ("order.total + 'x' == 'y'", "type", "`+` cannot combine a number with a string"),
        ("order.total.startsWith('1')", "type", "`startsWith` takes a string, this is a number"),
        ("order.items['a'].id == 'x'", "type", "the index of a list takes a number, this is a string"),
        ("order.tags.all(k, v, v > 1)", "type", "`>` cannot compare a string with a number"),
        ("order.items in [1]", "type", "`in` cannot compare a list with a number"),
        ("order.total.exists(x, x)", "type", "this macro takes a list or a map, this is a number"),
        (
            "order.items.filter(i, i.price > 1)[0].prise > 1",
            "unknown_name",
            "unknown field `prise`; did you mean `price`?",
        ),
    ] {
        let error = Predicate::compile_with(source, &schema()).unwrap_err();
        assert_eq!((error.code(), words(&error).as_str()), (code, message), "{source}");
    }
}

#[test]
fn a_declared_schema_accepts_what_can_be_answered() {
    for source in [
        "order.total <= limit && order.currency == 'USD'",
        "order.items.all(i, i.price > 0 && i.id.startsWith('x'))",
        "order.tags.region == 'eu' && order.extra.anything[3] == 1",
        "order.paid == null || !has(order.paid)",
        "order.items.map(i, i.price).exists(p, p > limit)",
        "path('$.order.items[*].price').all(p, p > 0)",
        "(order.paid ? order.total : limit) > 5",
    ] {
        Predicate::compile_with(source, &schema()).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
}

#[test]
fn faults_have_a_code_a_place_and_a_message() {
    for (source, code, line, column, message) in [
        ("", "syntax", 1, 1, "expected an operand, found the end of the predicate"),
        ("a &&", "syntax", 1, 5, "expected an operand, found the end of the predicate"),
        ("a = 1", "syntax", 1, 3, "expected `==`, found `=`"),
        ("a\n  && ) b", "syntax", 2, 6, "expected an operand, found `)`"),
        ("a ==== b", "syntax", 1, 5, "expected an operand, found `==`"),
        ("a # b", "syntax", 1, 3, "expected an expression, found `#`"),
        ("(a", "syntax", 1, 3, "expected `)`, found the end of the predicate"),
        ("[1 2]", "syntax", 1, 4, "expected `,` or `]`, found a number"),
        ("if > 1", "syntax", 1, 1, "expected an operand that is not a reserved word, found `if`"),
        ("'abc", "literal", 1, 1, "the string does not end"),
        ("'\\q'", "literal", 1, 2, "the string has an unknown escape; write `\\\\` for a backslash"),
        ("99999999999999999999", "literal", 1, 1, "the integer does not fit 64 bits"),
        ("12abc", "literal", 1, 1, "a letter follows the number"),
        ("starts('a')", "unknown_name", 1, 1, "unknown function `starts`"),
        ("siz([])", "unknown_name", 1, 1, "unknown function `siz`; did you mean `size`?"),
        ("a.startWith('b')", "unknown_name", 1, 3, "unknown method `startWith`; did you mean `startsWith`?"),
        ("a.exist(x, x)", "unknown_name", 1, 3, "unknown method `exist`; did you mean `exists`?"),
        ("size()", "arguments", 1, 1, "`size` takes one argument"),
        ("a.lower('b')", "arguments", 1, 1, "`lower` takes no argument"),
        ("lower(1)", "type", 1, 7, "`lower` takes a string, this is a number"),
        ("has(1)", "arguments", 1, 5, "`has` takes a field, as in `has(order.discount)`, or a fact"),
        ("a.matches(b)", "arguments", 1, 11, "the pattern of `matches` must be a string literal"),
        ("a.matches('(')", "pattern", 1, 11, "invalid pattern: unclosed group"),
        ("1 + 'a' == 2", "type", 1, 1, "`+` cannot combine a number with a string"),
        (
            "type == 'refund'",
            "type",
            1,
            1,
            "`==` cannot compare the name of a type with a string; write `` `type` `` for a fact of that name",
        ),
    ] {
        let error = Predicate::compile(source).unwrap_err();
        let found = (error.code(), error.line, error.column, words(&error));
        assert_eq!(found, (code, line, column, message.to_owned()), "{source}");
    }
}

#[test]
fn names_in_messages_are_cut_and_have_no_control_characters() {
    let error = Predicate::compile_with("`a\u{1b}b` == 1", &schema()).unwrap_err();
    assert_eq!(error.fault.to_string(), "unknown fact `a\\u{1b}b`");
    let error = Predicate::compile_with(&format!("{} == 1", "x".repeat(100)), &schema()).unwrap_err();
    assert_eq!(error.fault.to_string(), format!("unknown fact `{}…`", "x".repeat(64)));
    let facts = [("order", "x".into())].into_iter().collect();
    let unknown = Predicate::compile("order.`\u{1b}[2J` == 1 && `\u{7}`").unwrap().value(&facts).unwrap_err();
    assert!(!unknown.to_string().contains(char::is_control), "{unknown}");
}

#[test]
fn the_caret_stands_under_the_fault() {
    let error = Predicate::compile_with("limit > 1 &&\n\torder.totl > 1", &schema()).unwrap_err();
    assert_eq!(error.caret(), "\torder.totl > 1\n\t      ^^^^");
    assert_eq!(error.to_string(), "unknown field `totl` at line 2, column 8");
    assert_eq!(error.help().unwrap(), "did you mean `total`?");
    let error = Predicate::compile("limit > ").unwrap_err();
    assert_eq!(error.caret(), "limit > \n        ^");
}

#[test]
fn a_fact_may_have_the_name_of_a_type_between_backticks() {
    let facts = [("type", "refund".into())].into_iter().collect();
    let predicate = Predicate::compile("`type` == 'refund'").unwrap();
    assert!(predicate.evaluate(&facts).truth.is_true());
}
