//! What is said of predicates without facts, compared with what they answer.

use proofmark_predicate::meaning::{Claim, Known, constant, constant_parts, is_possible};
use proofmark_predicate::tree::Operator;
use proofmark_predicate::{Predicate, Value};

#[test]
fn what_is_the_same_for_all_facts_is_named() {
    let table = [
        ("a != 'x' || a != 'y'", Some(true)),
        ("a == 'x' && a == 'y'", Some(false)),
        ("a == 'x' || a == 'y'", None),
        ("a != 'x' && a != 'y'", None),
        ("!(a == 'x' && a == 'y')", Some(true)),
        ("n > 10 && n < 5", Some(false)),
        ("n > 5 || n <= 5", Some(true)),
        ("n >= 5 && n <= 5", None),
        ("n >= 5 && n <= 5 && n != 5.0", Some(false)),
        ("n > 5 && n < 6", None),
        ("size(a) > 5 && size(a) < 6", Some(false)),
        ("size(a) >= 0", Some(true)),
        ("size(a) < 0", Some(false)),
        ("n in [1, 2] && n > 2", Some(false)),
        ("n in [1, 2] && n == 2.0", None),
        ("a in ['x', 'y'] && a in ['z']", Some(false)),
        ("!(a in ['x']) && a == 'x'", Some(false)),
        ("a == 'x' && a > 3", Some(false)),
        ("a != 'x' && a != 5", None),
        ("a == a", Some(true)),
        ("a.b < a.b", Some(false)),
        ("a < b && b < a", Some(false)),
        ("a < b && b <= a", Some(false)),
        ("a != b || a == b", Some(true)),
        ("a.startsWith('x') && a.startsWith('y')", Some(false)),
        ("a.startsWith('xy') && !a.startsWith('x')", Some(false)),
        ("a.startsWith('')", Some(true)),
        ("a.contains('xy') && !a.contains('x')", Some(false)),
        ("a == 'x' && a.contains('y')", Some(false)),
        ("lower(a) == 'X'", Some(false)),
        ("lower(a).contains('Force')", Some(false)),
        ("lower(a) == 'x'", None),
        ("a.matches('.*')", Some(true)),
        ("a.matches('^.*$')", Some(true)),
        ("a.matches('x*')", Some(true)),
        ("a.matches('x+')", None),
        ("a == 'abc' && a.matches('^[0-9]+$')", Some(false)),
        ("!has(a.b) && a.b == 3", Some(false)),
        ("!has(a.b) || a.b == 3", None),
        ("!has(a.b) && size(a.b) > 3", Some(false)),
        ("l.exists(x, x.k == 1 && x.k == 2)", Some(false)),
        ("l.all(x, x.k == 1 || x.k != 1)", Some(true)),
        ("l.all(x, x.k == 1 && x.k == 2)", None),
        ("c ? a == 1 : a == 2", None),
        ("c ? a == 1 && a == 2 : false", Some(false)),
        ("c && !c", Some(false)),
        ("c == true && !c", Some(false)),
        ("1 < 2", Some(true)),
        ("'a' == 'b'", Some(false)),
        ("a == null && a != null", Some(false)),
        ("a == null && a == 3", Some(false)),
        ("n > -1 && n < -2", Some(false)),
        ("timestamp(t) > timestamp(u) && timestamp(u) > timestamp(t)", Some(false)),
        ("true", Some(true)),
    ];
    for (source, expected) in table {
        let predicate = Predicate::compile(source).unwrap();
        assert_eq!(constant(predicate.tree(), &[]), expected, "{source}");
    }
}

#[test]
fn the_part_that_is_the_same_for_all_facts_is_named() {
    let predicate = Predicate::compile("n < 5 && (a != 'x' || a != 'y') && (b || n > 3 && n < 2)").unwrap();
    let parts: Vec<_> = constant_parts(predicate.tree())
        .into_iter()
        .map(|(part, truth)| (predicate.clause(part.span()).to_owned(), truth))
        .collect();
    for source in ["l.all(x, false)", "l.exists(x, x in [])  || l.exists(x, true)"] {
        let predicate = Predicate::compile(source).unwrap();
        let found = constant_parts(predicate.tree());
        assert!(
            found.iter().all(|(part, _)| predicate.clause(part.span()).starts_with("l.exists(x, x in")),
            "{source}"
        );
    }
    assert_eq!(parts, [("(a != 'x' || a != 'y')".to_owned(), true), ("n > 3 && n < 2".to_owned(), false)]);
}

#[test]
fn claims_are_looked_at_together() {
    let limit = Predicate::compile("a.n <= 100").unwrap();
    let of = |operator| {
        let predicate = Predicate::compile("a.n").unwrap();
        let claims = [Claim::Truth(limit.tree(), true), Claim::Compares(predicate.tree(), operator, Value::from(200))];
        is_possible(&claims, &[])
    };
    assert!(of(Operator::Less) && !of(Operator::Greater));
    let tool = Predicate::compile("action.tool == 'refund'").unwrap();
    let known = |may_be: &dyn Fn(&str) -> bool| {
        is_possible(&[Claim::Truth(tool.tree(), true)], &[Known { place: &["action", "tool"], may_be }])
    };
    assert!(known(&|text| text.starts_with("ref")) && !known(&|text| text == "pay"));
}

/// Whatever is called impossible is never met by any of many facts.
#[test]
fn what_is_called_constant_is_constant() {
    let atoms = [
        "n > 1",
        "n <= 1",
        "n == 2",
        "n != 2",
        "a == 'x'",
        "a != 'x'",
        "a.startsWith('x')",
        "a in ['x', 'y']",
        "has(m.k)",
        "m.k == 2",
        "c",
    ];
    let values = [Value::Null, Value::from(1), Value::from(2), Value::from("x"), Value::from("xy"), Value::from(true)];
    let mut state = 7_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for _ in 0..400 {
        let mut text = atoms[next(atoms.len())].to_owned();
        for _ in 0..next(4) + 1 {
            let (join, not) = (["&&", "||"][next(2)], ["", "!"][next(2)]);
            text = format!("{not}({text}) {join} {}", atoms[next(atoms.len())]);
        }
        let predicate = Predicate::compile(&text).unwrap();
        let Some(truth) = constant(predicate.tree(), &[]) else { continue };
        for _ in 0..60 {
            let m: Value = [("k", values[next(values.len())].clone())].into_iter().take(next(2)).collect();
            let all = [
                ("n", values[next(values.len())].clone()),
                ("a", values[next(values.len())].clone()),
                ("c", values[next(values.len())].clone()),
                ("m", m),
            ];
            let facts: Value = all.into_iter().collect();
            assert!(
                !predicate.has_truth(!truth, &facts, &proofmark_predicate::Budget::new(100_000)),
                "{text} {facts:?}"
            );
        }
    }
}
