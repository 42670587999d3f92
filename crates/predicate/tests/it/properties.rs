//! What holds for every predicate and every set of facts.

use proofmark_predicate::limits::MAX_STEPS;
use proofmark_predicate::{Budget, Key, Map, Predicate, Truth, Value};
use proptest::prelude::*;

/// Facts the predicates below speak of; `o.n` and `o.m` are fields of one of them.
const NAMES: [&str; 5] = ["a", "b", "s", "l", "o"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..4).prop_map(Value::from),
        "[xy]{0,2}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        (-30i32..40).prop_map(|tenths| Value::number(&format!("{tenths}e-1")).unwrap()),
    ]
}

fn facts() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(scalar(), 0..4).prop_map(Value::from);
    let object = (scalar(), scalar()).prop_map(|(n, m)| [("n", n), ("m", m)].into_iter().collect::<Value>());
    (scalar(), scalar(), scalar(), list, object)
        .prop_map(|(a, b, s, l, o)| NAMES.into_iter().zip([a, b, s, l, o]).collect())
}

fn number() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        (-3i64..4).prop_map(|number| format!("({number})")),
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("o.n".to_owned()),
        Just("l[0]".to_owned()),
        Just("l[a]".to_owned()),
        Just("l.size()".to_owned()),
        Just("s.size()".to_owned()),
        Just("path('$.l[*]')[0]".to_owned()),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        (inner.clone(), "[-+*/%]", inner).prop_map(|(a, operator, b)| format!("({a} {operator} {b})"))
    })
    .boxed()
}

/// Predicates without `has` that name every fact they read.
fn predicate() -> BoxedStrategy<String> {
    let comparison = "(==|!=|<|<=|>|>=)";
    let leaf = prop_oneof![
        4 => (number(), comparison, number()).prop_map(|(a, operator, b)| format!("{a} {operator} {b}")),
        1 => number().prop_map(|number| format!("{number} in l")),
        1 => number().prop_map(|number| format!("l.exists(x, x > {number})")),
        1 => number().prop_map(|number| format!("l.all(x, x != {number})")),
        1 => number().prop_map(|number| format!("l.exists_one(x, x == {number})")),
        1 => number().prop_map(|number| format!("l.filter(x, x == {number}).size() == 0")),
        1 => number().prop_map(|number| format!("path('$.l[*]').all(x, x < {number})")),
        1 => Just("s.startsWith('x')".to_owned()),
        1 => Just("o.m == s".to_owned()),
        1 => Just("s.matches('^x*$')".to_owned()),
        1 => Just("bool(s)".to_owned()),
        1 => Just("a".to_owned()),
        1 => prop_oneof![Just("true".to_owned()), Just("false".to_owned())],
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        ]
    })
    .boxed()
}

fn without(map: &Value, name: &str) -> Value {
    let Value::Map(map) = map else { panic!() };
    let kept = map.entries().iter().filter(|(key, _)| !matches!(key, Key::String(key) if **key == *name));
    Value::Map(Map::from_entries(kept.cloned().collect()))
}

/// The facts with one of them, or one field of `o`, dropped.
fn dropped(facts: &Value) -> Vec<Value> {
    let object = facts.get("o").unwrap();
    let fields = ["n", "m"].into_iter().map(|field| {
        let Value::Map(rest) = without(facts, "o") else { panic!() };
        let entry = (Key::String("o".into()), without(object, field));
        Value::Map(Map::from_entries(rest.entries().iter().cloned().chain([entry]).collect()))
    });
    NAMES.into_iter().map(|name| without(facts, name)).chain(fields).collect()
}

/// Loads a predicate; a comparison of two literals of different types may be refused.
fn load(source: &str) -> Option<Predicate> {
    Predicate::compile(source).map_err(|error| assert_eq!(error.code(), "type", "{source}")).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn dropping_a_fact_never_makes_it_true(source in predicate(), facts in facts()) {
        let Some(predicate) = load(&source) else { return Ok(()) };
        let before = predicate.evaluate(&facts).truth;
        for fewer in dropped(&facts) {
            let after = predicate.evaluate(&fewer).truth;
            if before != Truth::True {
                prop_assert_ne!(&after, &Truth::True, "{} over {:?}", source, fewer);
            }
            // More than was asked for: it can only become unknown.
            prop_assert!(after == before || matches!(after, Truth::Unknown(_)), "{} over {:?}", source, fewer);
        }
    }

    #[test]
    fn the_same_facts_give_the_same_answer_and_steps(source in predicate(), facts in facts()) {
        let Some(predicate) = load(&source) else { return Ok(()) };
        prop_assert_eq!(predicate.evaluate(&facts), predicate.evaluate(&facts));
    }

    #[test]
    fn an_answer_without_reasons_is_the_same_and_takes_the_same_steps(source in predicate(), facts in facts()) {
        let Some(predicate) = load(&source) else { return Ok(()) };
        for facts in dropped(&facts).into_iter().chain([facts]) {
            let evaluation = predicate.evaluate(&facts);
            let (counted, steps) = predicate.counted_truth(&facts, &Budget::new(MAX_STEPS));
            prop_assert_eq!((&counted, steps), (&evaluation.truth, evaluation.steps));
            for (truth, expected) in [(true, Truth::True), (false, Truth::False)] {
                let budget = Budget::new(MAX_STEPS);
                prop_assert_eq!(predicate.has_truth(truth, &facts, &budget), evaluation.truth == expected);
                prop_assert_eq!(budget.taken(), evaluation.steps, "{} over {:?}", source, facts);
            }
        }
    }

    #[test]
    fn a_map_with_a_changed_entry_is_the_map_of_its_entries(names in prop::collection::vec("[a-e]{1,2}", 0..20), name in "[a-e]{1,2}") {
        let entries = |names: &[String]| names.iter().map(|name| (name.as_str(), Value::from(1))).collect::<Value>();
        let Value::Map(map) = entries(&names) else { panic!() };
        let others: Vec<_> = names.into_iter().filter(|other| *other != name).collect();
        prop_assert_eq!(Value::Map(map.without(&name)), entries(&others));
        let with = map.with(&name, Value::from(2));
        prop_assert_eq!(with.get_str(&name), Some(&Value::from(2)));
        prop_assert_eq!(Value::Map(with.without(&name)), entries(&others));
    }

    #[test]
    fn what_is_not_true_says_why(source in predicate(), facts in facts()) {
        let Some(predicate) = load(&source) else { return Ok(()) };
        let evaluation = predicate.evaluate(&facts);
        prop_assert_eq!(evaluation.decided_by.is_empty(), evaluation.truth == Truth::True);
        for span in evaluation.decided_by {
            prop_assert!(Predicate::compile(predicate.clause(span)).is_ok(), "{}", source);
        }
        if let Truth::Unknown(missing) = evaluation.truth {
            prop_assert!(!missing.is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(source in ".{0,60}", words in prop::collection::vec(
        prop_oneof![
            Just("a"), Just("."), Just("("), Just(")"), Just("["), Just("]"), Just("{"), Just("}"),
            Just("&&"), Just("||"), Just("!"), Just("-"), Just("?"), Just(":"), Just(","), Just("'x'"),
            Just("1"), Just("1.5"), Just("in"), Just("has"), Just("path"), Just("all"), Just("=="),
            Just("'$.a[?@.b>1]'"), Just("matches"), Just("r'"), Just("b\"\\x"), Just("0x"), Just("\u{e9}"),
        ], 0..24)) {
        for text in [source, words.concat(), words.join(" ")] {
            match Predicate::compile(&text) {
                Ok(predicate) => drop(predicate.evaluate(&Value::Null)),
                Err(error) => {
                    prop_assert!(error.line >= 1 && error.column >= 1);
                    prop_assert!(error.caret().contains('^'));
                }
            }
        }
    }

    #[test]
    fn numbers_keep_their_value(whole in any::<i64>(), fraction in "[0-9]{0,12}") {
        let text = format!("{whole}.{fraction}1");
        let Value::Decimal(number) = Value::number(&text).unwrap() else { panic!("{text}") };
        prop_assert_eq!(number.to_string(), text.clone());
        let sum = Predicate::compile("x + 1.0 - 1.0 == x && x * 1.0 == x && x / 1.0 == x").unwrap();
        let facts = [("x", Value::Decimal(number))].into_iter().collect();
        prop_assert_eq!(sum.evaluate(&facts).truth, Truth::True);
    }
}
