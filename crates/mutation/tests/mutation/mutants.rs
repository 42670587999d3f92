//! Which mutants a program has, and which are drawn.

use std::collections::BTreeSet;

use proofmark_checks::Language;
use proofmark_mutation::{Class, Drawn, Source, Tokens, draw};
use proptest::prelude::*;

use crate::properties::program;

const ALL: usize = 1_000;

fn drawn(language: &str, text: &str, seed: &str, most: usize) -> Vec<Drawn> {
    let source = Source { name: "submission", language: language.parse().unwrap(), text };
    draw(&[source], seed.as_bytes(), most).unwrap()
}

/// The mutants of one class, as the lines that they change.
fn lines(language: &str, text: &str, class: Class) -> BTreeSet<String> {
    let all = drawn(language, text, "", ALL).into_iter();
    all.filter(|one| one.mutant.class == class).map(|one| one.mutant.lines(text).1).collect()
}

fn set<const N: usize>(lines: [&str; N]) -> BTreeSet<String> {
    lines.map(str::to_owned).into_iter().collect()
}

#[test]
fn python() {
    let program = "def f(a, b):\n    \"\"\"Adds < 1.\"\"\"\n    # a < b\n    if a < b and not b:\n        b += 1\n        g(*a)\n    \
                   for i in range(b):\n        a = sorted(a)[1:b]\n    return -a * len(b.strip())\n";
    let of = |class| lines("python", program, class);
    assert_eq!(of(Class::Comparison), set(["if a <= b and not b:", "if a >= b and not b:", "for i not in range(b):"]));
    assert_eq!(of(Class::Arithmetic), set(["b -= 1", "return -a / len(b.strip())"]));
    assert_eq!(of(Class::Connective), set(["if a < b or not b:", "if a < b and  b:"]));
    assert_eq!(of(Class::Condition), set(["if not (a < b and not b):"]));
    assert_eq!(of(Class::Constant), set(["b += 2", "b += 0", "a = sorted(a)[0:b]", "a = sorted(a)[2:b]"]));
    assert_eq!(of(Class::Return), set(["return None", "return not (-a * len(b.strip()))"]));
    assert_eq!(of(Class::Statement), set(["pass"]));
    assert_eq!(
        of(Class::Boundary),
        set(["for i in range((b) + 1):", "a = sorted(a)[(1) + 1:b]", "a = sorted(a)[1:(b) + 1]"])
    );
    assert_eq!(
        of(Class::Call),
        set(["for i in (b):", "a = (a)[1:b]", "return -a * (b.strip())", "return -a * len(b)"])
    );
}

#[test]
fn javascript() {
    let program = "export function f(a, b) {\n  if (a === b || !b) {\n    b -= 1.5;\n    g(a)\n  }\n  \
                   while (a < 0) a++;\n  return a.slice(1, b).map(x => x + 'é');\n}\n";
    let of = |class| lines("javascript", program, class);
    assert_eq!(of(Class::Comparison), set(["if (a !== b || !b) {", "while (a <= 0) a++;", "while (a >= 0) a++;"]));
    assert_eq!(of(Class::Arithmetic), set(["b += 1.5;", "return a.slice(1, b).map(x => x - 'é');"]));
    assert_eq!(of(Class::Connective), set(["if (a === b && !b) {", "if (a === b || b) {"]));
    assert_eq!(of(Class::Condition), set(["if (!(a === b || !b)) {", "while (!(a < 0)) a++;"]));
    assert!(of(Class::Constant).contains("return a.slice(1, b).map(x => x + '');"));
    assert!(of(Class::Return).contains("return null;"));
    assert_eq!(of(Class::Statement), set([";", ""]));
    assert!(of(Class::Boundary).contains("return a.slice(1, (b) + 1).map(x => x + 'é');"));
    assert!(of(Class::Call).contains("return a.slice(1, b);"));
}

#[test]
fn ruby() {
    let program = "def f(a, b)\n  return b unless a > 1 && b\n  b -= 2\n  (0...b).map { |i| i * 2 }.sort.first\nend\n";
    let of = |class| lines("ruby", program, class);
    assert_eq!(of(Class::Comparison), set(["return b unless a >= 1 && b", "return b unless a <= 1 && b"]));
    assert_eq!(of(Class::Condition), set(["return b if a > 1 && b"]));
    assert_eq!(of(Class::Boundary), set(["(0..b).map { |i| i * 2 }.sort.first"]));
    assert_eq!(of(Class::Statement), set(["nil"]));
    assert!(of(Class::Call).contains("(0...b).map { |i| i * 2 }.first"));
}

#[test]
fn bash() {
    let program = "if [ $1 -lt 3 ] && true; then\n  echo $(( $1 + 2 ))\nfi\n";
    assert_eq!(
        lines("bash", program, Class::Comparison),
        set(["if [ $1 -le 3 ] && true; then", "if [ $1 -ge 3 ] && true; then"])
    );
    assert_eq!(lines("bash", program, Class::Condition), set(["if ! [ $1 -lt 3 ] && true; then"]));
    assert_eq!(lines("bash", program, Class::Arithmetic), set(["echo $(( $1 - 2 ))"]));
}

#[test]
fn the_seed_and_the_files_decide_what_is_drawn() {
    let text = "def f(a):\n    return a + 1 < 2 or a * 3 > 4\n";
    let spans = |seed, most| -> Vec<_> {
        drawn("python", text, seed, most).into_iter().map(|one| (one.mutant.span, one.mutant.replacement)).collect()
    };
    assert_eq!(spans("a", ALL), spans("a", ALL));
    assert_ne!(spans("a", ALL), spans("b", ALL));
    assert_eq!(spans("a", 5), spans("a", ALL)[..5]);
    let sorted = |seed| {
        let mut spans: Vec<_> = spans(seed, ALL).into_iter().map(|(span, text)| (span.start, span.end, text)).collect();
        spans.sort();
        spans
    };
    assert_eq!(sorted("a"), sorted("b"));
}

#[test]
fn a_program_with_nothing_to_change_has_no_mutant() {
    for text in ["", "# a < b\n", "'''1 + 1'''\n", "import os\n"] {
        assert_eq!(drawn("python", text, "", ALL).len(), 0, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn each_mutant_is_another_program((language, text) in program()) {
        let source = Source { name: "a", language, text: &text };
        let Ok(mutants) = draw(&[source], b"seed", ALL) else { return Ok(()) };
        let words = |text: &str| -> Vec<String> {
            let tokens = Tokens::read(language, text).unwrap();
            let indexes = (0..tokens.all().len()).filter(|index| !tokens.all()[*index].kind.is_blank());
            indexes.map(|index| tokens.text(index).to_owned()).collect()
        };
        let mut seen = BTreeSet::from([words(&text)]);
        for one in mutants {
            prop_assert!(seen.insert(words(&one.mutant.apply(&text))), "{:?}", one.mutant);
        }
    }
}

#[test]
fn programs_that_are_made_to_be_slow_are_not() {
    let nested = format!("{}x{}", "if (a[".repeat(100), "])".repeat(100));
    let many = "a.b(c)[d:e] < 1\n".repeat(200);
    for text in [nested.as_str(), many.as_str()] {
        for language in Language::ALL {
            let source = Source { name: "a", language, text };
            assert!(draw(&[source], b"", 20).is_ok());
        }
    }
}
