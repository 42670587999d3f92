//! Hostile text and hostile facts end in a named error within the step budget.

use proofmark_predicate::limits::{MAX_DEPTH, MAX_STEPS};
use proofmark_predicate::{Predicate, Truth, Value};

fn refused(source: &str) -> &'static str {
    Predicate::compile(source).unwrap_err().code()
}

/// The code of the first reason for an unknown answer, or `true` or `false`.
fn answer(source: &str, facts: &Value) -> &'static str {
    let evaluation = Predicate::compile(source).unwrap().evaluate(facts);
    assert!(evaluation.steps <= MAX_STEPS + 1);
    match evaluation.truth {
        Truth::True => "true",
        Truth::False => "false",
        Truth::Unknown(missing) => missing[0].why.code(),
    }
}

fn one(name: &str, value: Value) -> Value {
    [(name.to_owned(), value)].into_iter().collect()
}

fn numbers(count: i64) -> Value {
    (0..count).map(Value::from).collect()
}

#[test]
fn deep_text_is_refused() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{1:", "1", "}"),
        ("!", "true", ""),
        ("-", "x", ""),
        ("dyn(", "x", ")"),
        ("x[", "0", "]"),
        ("", "x", "[0]"),
        ("", "x", ".y"),
        ("", "x", ".path('$')"),
        ("true ? ", "1", " : 1"),
        ("", "true", " ? true : true"),
        ("x.all(y, ", "y", ")"),
        ("1 + (", "1", ")"),
        ("", "x", " + 1"),
        ("(true && ", "true", ")"),
        ("[1].map(x, ", "x", ")"),
        ("[1].exists(x, !", "true", ")"),
    ] {
        for depth in [MAX_DEPTH + 1, 1000] {
            let source = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(refused(&source), "too_deep", "{open}{middle}{close} × {depth}");
        }
        let nested = |depth: usize| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
        let deepest = (1..=MAX_DEPTH).rev().find_map(|depth| Predicate::compile(&nested(depth)).ok());
        let deepest = deepest.unwrap_or_else(|| panic!("{open}{middle}{close}"));
        drop(deepest.value(&one("x", Value::from(1))));
    }
}

#[test]
fn long_text_is_refused() {
    assert_eq!(refused(&" ".repeat(1 << 20)), "too_long");
    assert_eq!(refused(&format!("'{}'", "a".repeat(1 << 20))), "too_long");
}

#[test]
fn long_chains_are_one_level() {
    let chain = vec!["true"; 2000].join("&&");
    assert_eq!(answer(&chain, &Value::Null), "true");
    let chain = vec!["x"; 2000].join(" || ");
    assert_eq!(answer(&chain, &Value::Null), "absent");
}

#[test]
fn nested_macros_run_out_of_steps() {
    let facts = one("l", numbers(2000));
    for source in [
        "l.exists(a, l.exists(b, l.exists(c, a + b + c < 0)))",
        "l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d >= 0))))",
        "l.map(a, l.map(b, l.map(c, a))).size() == 0",
        "l.map(a, l).map(b, b + b).map(c, c + c).size() == 2000",
        "l.filter(a, l.exists_one(b, a == b)).size() == 2000",
        "l.all(a, a in l)",
        "l.all(a, l == l)",
        "l.all(a, l + l == l + l)",
    ] {
        assert_eq!(answer(source, &facts), "step_limit", "{source}");
    }
}

#[test]
fn an_exhausted_budget_is_unknown_whatever_follows() {
    let facts = one("l", numbers(2000));
    let costly = "l.all(a, l.all(b, l.all(c, true)))";
    for source in [format!("{costly} || true"), format!("{costly} && false"), format!("!({costly}) || true")] {
        assert_eq!(answer(&source, &facts), "step_limit", "{source}");
    }
    assert_eq!(answer(&format!("true || {costly}"), &facts), "true");
}

#[test]
fn strings_cannot_be_grown_without_bound() {
    let facts = one("s", Value::from("x".repeat(1 << 19)));
    assert_eq!(answer("(s + s + s).size() > 0", &facts), "size_limit");
    assert_eq!(
        answer("[1,2,3,4,5,6,7,8,9,10].map(i, s + s).map(t, t + '').map(t, t.size()).size() == 10", &facts),
        "step_limit"
    );
    let list = one("l", numbers(60_000));
    assert_eq!(answer("(l + l).size() > 0", &list), "size_limit");
    // The lower case of `İ` has three bytes, not two.
    let growing = one("s", Value::from("İ".repeat(1 << 19)));
    assert_eq!(answer("lower(s) == ''", &growing), "size_limit");
}

#[test]
fn long_strings_are_paid_for() {
    let facts = one("s", Value::from("a".repeat(1 << 20)));
    let list = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";
    for body in [
        "s.contains('aab')",
        "s.size() < 0",
        "sha256(s) == ''",
        "s + '' == ''",
        "s < 'b' && s > 'b'",
        "string(bytes(s)) == ''",
        "s.matches('a*b')",
    ] {
        let source = format!("{list}.exists(i, {body})");
        let found = answer(&source, &facts);
        assert!(matches!(found, "step_limit" | "size_limit" | "false"), "{source}: {found}");
    }
    assert_eq!(answer(&format!("{list}.exists(i, s.contains('aab'))"), &facts), "step_limit");
}

#[test]
fn patterns_are_linear_and_bounded() {
    let text = format!("{}!", "a".repeat(30_000));
    let facts = one("s", Value::from(text));
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*a)*$", "^(a?){30}a{30}$", "(x+x+)+y"] {
        let source = format!("s.matches('{pattern}')");
        assert_eq!(answer(&source, &facts), "false", "{pattern}");
    }
    for pattern in ["a{1000}{1000}", "((a{100}){100}){100}", "(\\\\w{500}){10}", "[", "(?<", "\\\\p{Greek}{99"] {
        assert_eq!(refused(&format!("s.matches('{pattern}')")), "pattern", "{pattern}");
    }
    let nested = format!("s.matches('{}a{}')", "(".repeat(400), ")".repeat(400));
    assert_eq!(refused(&nested), "pattern");
    // The brackets in strings close nothing.
    let hidden = format!(r#"path("${}.a{}")"#, "[?@[']]']==1&&@".repeat(25), "]".repeat(25));
    assert_eq!(refused(&hidden), "path");
    assert_eq!((refused(r"'\x+1' == 'a'"), refused(r"'\u+041' == 'A'")), ("literal", "literal"));
    assert_eq!(refused(&format!("s.matches('{}')", "a".repeat(1025))), "pattern");
    let costly = Predicate::compile("s.matches('[a-z]{1,40}[0-9a-z]{1,40}[^b]{1,40}!!')").unwrap();
    assert!(matches!(costly.evaluate(&facts).truth, Truth::False | Truth::Unknown(_)));
}

#[test]
fn many_patterns_are_refused() {
    assert_eq!(refused(&vec!["s.matches('a')"; 65].join(" && ")), "too_many");
    assert_eq!(refused(&vec!["path('$.a').size() == 1"; 65].join(" && ")), "too_many");
    assert!(Predicate::compile(&vec!["s.matches('a')"; 64].join(" && ")).is_ok());
}

#[test]
fn paths_are_bounded() {
    let mut nested = Value::from(1);
    for _ in 0..60 {
        nested = [("a", nested.clone()), ("b", Value::from(1))].into_iter().collect();
    }
    let wide: Value = (0..3000).map(|i| one("x", Value::from(i))).collect();
    let facts: Value = [("nested", nested), ("wide", wide)].into_iter().collect();
    for query in [
        "$..*..*..*..*",
        "$..[?@..x]..x",
        "$.wide[?count($..*) > 1]",
        "$.wide[?count($.wide[*]) > 1]",
        "$..[*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*]",
    ] {
        let source = format!("path(\"{query}\").size() == 0");
        assert_eq!(answer(&source, &facts), "step_limit", "{query}");
    }
    assert_eq!(answer("path('$..x').size() == 3000", &facts), "true");
    assert_eq!(answer("path('$.wide[?@.x >= 2990]').size() == 10", &facts), "true");
    assert_eq!(answer("path('$.wide[*].x').size() == 3000", &facts), "true");
    let brackets = format!("path('$[?{}@.a{}]')", "(".repeat(200), ")".repeat(200));
    assert_eq!(refused(&brackets), "path");
    for query in [
        format!("$[?{}@.a{}]", "(".repeat(7), ")".repeat(7)),
        format!("$[?{}@.a]", "!".repeat(400)),
        format!("$[?{}@.a]", "(".repeat(7)),
        format!("$[?@.a{}]", " && @.a".repeat(60)),
        format!("$[?{}1]", "length(".repeat(6)),
        format!("${}", "..a".repeat(160)),
        format!("${}", "[0]".repeat(160)),
        format!("${}", "[*,*]".repeat(100)),
        format!("$[{}", "0,".repeat(250)),
    ] {
        let source = format!("path('{query}').size() == 0");
        if let Ok(predicate) = Predicate::compile(&source) {
            let _ = predicate.evaluate(&facts);
        }
    }
    assert_eq!(refused("path('$.a[?match(@.b, \"(a+)+\")]')"), "path");
    assert_eq!(refused("path('a.b')"), "path");
}

#[test]
fn deep_facts_do_not_overflow_the_stack() {
    let deep = |levels: usize| {
        let mut value = Value::from(1);
        for _ in 0..levels {
            value = [value].into_iter().collect();
        }
        value
    };
    let facts: Value = [("a", deep(2000)), ("b", deep(2000))].into_iter().collect();
    assert_eq!(answer("a == b", &facts), "size_limit");
    assert_eq!(answer("a in [b]", &facts), "size_limit");
    assert_eq!(answer("path('$..x').size() == 0", &facts), "size_limit");
}

#[test]
fn reasons_stay_short() {
    let name = "n".repeat(5000);
    let source = format!("m['{name}'] == 1 || {}", vec!["m.a[0].b > 1"; 300].join(" || "));
    let evaluation = Predicate::compile(&source).unwrap().evaluate(&one("m", one("x", Value::Null)));
    let Truth::Unknown(missing) = evaluation.truth else { panic!() };
    assert!(missing.len() <= 32);
    assert!(missing.iter().all(|missing| missing.path.len() < 300));
    let items: Value = (0..1000).map(|i| one("x", Value::from(i))).collect();
    let evaluation = Predicate::compile("l.all(i, i.y > 1)").unwrap().evaluate(&one("l", items));
    let Truth::Unknown(missing) = evaluation.truth else { panic!() };
    assert_eq!(missing.len(), 32);
    assert_eq!(missing[31].path, "l[31].y");
}
