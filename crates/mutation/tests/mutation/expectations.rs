//! What is altered in tests, and that the rest of their texts stays as it is.

use std::io::Write;
use std::process::{Command, Stdio};

use proofmark_checks::{Alteration, HeldTest, Language, TestFile};
use proofmark_mutation::{Kind, Tokens, read_tests};
use proptest::prelude::*;

const CANARY: &str = "test_canary_of_this";

fn read(language: Language, text: &str) -> TestFile {
    read_tests(text, language).unwrap().unwrap_or_else(|| panic!("no tests in {text}"))
}

/// The text with every test altered, without its canary.
fn altered(language: Language, text: &str) -> String {
    let file = read(language, text);
    let all = file.write(&|_: &HeldTest| true, CANARY);
    let none = file.write(&|_: &HeldTest| false, CANARY);
    let canary = none.strip_prefix(text).unwrap();
    all.strip_suffix(canary).unwrap().to_owned()
}

fn by(language: Language, text: &str) -> Option<Alteration> {
    read(language, text).tests()[0].expectation.as_ref().map(|expectation| expectation.alteration)
}

/// The body of a test, and the same altered; an equal one is left as it is.
fn each(language: Language, head: &str, tail: &str, table: &[(&str, &str)]) {
    for (body, expected) in table {
        let found = altered(language, &format!("{head}{body}{tail}"));
        assert_eq!(found, format!("{head}{expected}{tail}"), "of `{body}`");
    }
}

#[test]
fn assertions_of_pytest_are_altered_by_what_they_expect() {
    let table = [
        ("assert f(1) == 9", "assert f(1) == 8"),
        ("assert 9 == f(9)", "assert 8 == f(9)"),
        ("assert f() == -10", "assert f() == -11"),
        ("assert f() == 0x1f", "assert f() == 0x1e"),
        ("assert f() == 1_000.0", "assert f() == 2_000.0"),
        ("assert f() == 9007199254740993", "assert f() == 8007199254740993"),
        ("assert f() == 'abc', 'says'", "assert f() == 'abd', 'says'"),
        ("assert f() == \"a\\n\"", "assert f() == \"b\\n\""),
        ("assert f() == ''", "assert f() == 'x'"),
        ("assert f() == 'a' 'b'", "assert f() == 'a' 'c'"),
        ("assert f() == b'z'", "assert f() == b'y'"),
        ("assert f() == True", "assert f() == False"),
        ("assert f() is False", "assert f() is True"),
        ("assert f() == [1, (2, 3)]", "assert f() == [1, (2, 4)]"),
        ("assert f() == {'a': 1, 'b': None}", "assert f() == {'a': 2, 'b': None}"),
        ("assert f() == []", "assert f() == [0]"),
        ("assert f() == {}", "assert f() == {0: 0}"),
        ("assert (f() == 3)", "assert (f() == 4)"),
        ("assert f() == pytest.approx(0.5)", "assert f() == pytest.approx(2.0)"),
        ("assert f() == pytest.approx(0.5, abs=9)", "assert f() == (pytest.approx(0.5, abs=9),)"),
        // No literal: the comparison fails with anything that has lawful equality.
        ("assert f() == expected", "assert f() == (expected,)"),
        ("assert f() == g(3)", "assert f() == (g(3),)"),
        ("assert f() == None", "assert f() == (None,)"),
        ("assert f() is None", "assert not (f() is None)"),
        ("assert f() < 3", "assert not (f() < 3)"),
        ("assert not f()", "assert  f()"),
        ("assert f() == 1 and g() == 2", "assert not (f() == 1 and g() == 2)"),
        ("assert f() == ANY", "assert not (f() == ANY)"),
        ("with pytest.raises(ValueError):\n        f(3)", "with pytest.raises(ZeroDivisionError):\n        f(3)"),
        (
            "with pytest.raises((KeyError, IndexError), match='x') as e:\n        f(3)",
            "with pytest.raises(ZeroDivisionError, match='x') as e:\n        f(3)",
        ),
        ("with pytest.raises(ArithmeticError):\n        f(3)", "with pytest.raises(EOFError):\n        f(3)"),
        // The strongest, and of those the last that is always reached.
        ("assert f() == 1\n    assert f()", "assert f() == 2\n    assert f()"),
        ("assert f() == 1\n    assert g() == 1", "assert f() == 1\n    assert g() == 2"),
        (
            "assert f() == 1\n    if g():\n        assert h() == 1",
            "assert f() == 2\n    if g():\n        assert h() == 1",
        ),
        (
            "assert f() == 1\n    if g():\n        return\n    assert h() == 1",
            "assert f() == 2\n    if g():\n        return\n    assert h() == 1",
        ),
        ("for a in b:\n        assert f(a) == 1", "for a in b:\n        assert f(a) == 2"),
        ("with open(x) as y:\n        assert f(y) == 1", "with open(x) as y:\n        assert f(y) == 2"),
        // Nothing certain.
        ("if g():\n        assert f() == 1", "if g():\n        assert f() == 1"),
        (
            "try:\n        assert f() == 1\n    except ValueError:\n        pass",
            "try:\n        assert f() == 1\n    except ValueError:\n        pass",
        ),
        ("check(f(), 1)", "check(f(), 1)"),
    ];
    each(Language::Python, "import pytest\n\n\ndef test_one(a):\n    ", "\n", &table);
}

#[test]
fn assertions_of_unittest_are_altered_by_what_they_expect() {
    let table = [
        ("self.assertEqual(f(1), 9)", "self.assertEqual(f(1), 8)"),
        ("self.assertEqual(9, f(1), msg='no')", "self.assertEqual(8, f(1), msg='no')"),
        ("self.assertEqual(f(), {1, 2})", "self.assertEqual(f(), {1, 3})"),
        ("self.assertEqual(f(), expected)", "self.assertEqual(f(), (expected,))"),
        (
            "self.assertListEqual(f(), [\n            1,\n            2,\n        ])",
            "self.assertListEqual(f(), [\n            1,\n            3,\n        ])",
        ),
        ("self.assertAlmostEqual(f(), 1)", "self.assertAlmostEqual(f(), 3)"),
        ("self.assertAlmostEqual(f(), 1, places=2)", "self.assertNotAlmostEqual(f(), 1, places=2)"),
        ("self.assertTrue(f())", "self.assertFalse(f())"),
        ("self.assertTrue(f() == 4)", "self.assertTrue(f() == 5)"),
        ("self.assertIs(f(), True)", "self.assertIs(f(), False)"),
        ("self.assertIsNone(f())", "self.assertIsNotNone(f())"),
        ("self.assertIn(1, f())", "self.assertNotIn(1, f())"),
        ("self.assertGreater(f(), 1)", "self.assertLessEqual(f(), 1)"),
        (
            "with self.assertRaises(KeyError) as c:\n            f()",
            "with self.assertRaises(ZeroDivisionError) as c:\n            f()",
        ),
        (
            "with self.assertRaises(KeyError) as c:\n            f()\n        self.assertEqual(c.exception.args[0], 'no')",
            "with self.assertRaises(KeyError) as c:\n            f()\n        self.assertEqual(c.exception.args[0], 'np')",
        ),
        ("self.assertRaises(KeyError, f, 1)", "self.assertRaises(ZeroDivisionError, f, 1)"),
        (
            "with self.subTest(1):\n            self.assertEqual(f(), 1)",
            "with self.subTest(1):\n            self.assertEqual(f(), 2)",
        ),
        ("self.check(f(), 1)", "self.check(f(), 1)"),
    ];
    let head = "import unittest\n\n\nclass TestF(unittest.TestCase):\n    def test_one(self):\n        ";
    each(Language::Python, head, "\n", &table);
}

#[test]
fn assertions_of_javascript_are_altered_by_what_they_expect() {
    let table = [
        ("expect(f(1)).toBe(9);", "expect(f(1)).toBe(8);"),
        ("expect(f(1))\n    .toEqual({ a: 1, 'b': [2] })", "expect(f(1))\n    .toEqual({ a: 1, 'b': [3] })"),
        ("expect(f()).toStrictEqual(expected)", "expect(f()).toStrictEqual([expected, 0])"),
        ("expect(f()).toBe(`abc`)", "expect(f()).toBe(`abd`)"),
        ("expect(f()).toBe(10n)", "expect(f()).toBe(20n)"),
        ("expect(f()).toEqual({})", "expect(f()).toEqual({a: 0})"),
        ("expect(f()).toBe(undefined)", "expect(f()).toBe([undefined, 0])"),
        ("expect(f()).toHaveLength(3)", "expect(f()).toHaveLength(4)"),
        ("expect(f()).toBeCloseTo(0.5)", "expect(f()).toBeCloseTo(2.0)"),
        ("expect(f()).toBeCloseTo(0.5, 3)", "expect(f()).not.toBeCloseTo(0.5, 3)"),
        ("expect(f()).toBeTruthy()", "expect(f()).not.toBeTruthy()"),
        ("expect(f()).not.toBe(1)", "expect(f()).toBe(1)"),
        ("expect(() => f()).toThrow(TypeError)", "expect(() => f()).toThrow(URIError)"),
        ("expect(() => f()).toThrow(new Error('no'))", "expect(() => f()).not.toThrow(new Error('no'))"),
        ("expect(() => f()).toThrow('no such thing')", "expect(() => f()).toThrow('no such thinh')"),
        ("await expect(f()).resolves.toBe(1)", "await expect(f()).resolves.toBe(2)"),
        ("await expect(f()).rejects.toThrow()", "await expect(f()).rejects.not.toThrow()"),
        ("return expect(f()).resolves.toBeNull()", "return expect(f()).resolves.not.toBeNull()"),
        ("expect(f()).to.equal(3)", "expect(f()).to.equal(4)"),
        ("expect(f()).to.deep.equal([1, 2])", "expect(f()).to.deep.equal([1, 3])"),
        ("expect(f()).to.be.true", "expect(f()).not.to.be.true"),
        ("expect(f).to.throw(RangeError)", "expect(f).to.throw(URIError)"),
        ("assert.strictEqual(f(1), 9)", "assert.strictEqual(f(1), 8)"),
        ("assert.deepEqual(f(), expected)", "assert.deepEqual(f(), [expected, 0])"),
        ("assert.ok(f() === 3)", "assert.ok(f() === 4)"),
        ("assert(f())", "assert(!(f()))"),
        ("assert.throws(() => f(), TypeError)", "assert.throws(() => f(), URIError)"),
        ("assert.throws(() => f(), { message: 'no' })", "assert.throws(() => f(), { message: 'np' })"),
        ("assert.throws(() => f(), /no/)", "assert.doesNotThrow(() => f(), /no/)"),
        ("assert.notEqual(f(), 3)", "assert.equal(f(), 3)"),
        ("strictEqual(f(), 3)", "strictEqual(f(), 4)"),
        ("expect(a).toBe(1); if (b) { expect(c).toBe(1); }", "expect(a).toBe(2); if (b) { expect(c).toBe(1); }"),
        (
            "expect(a).toBe(1); if (b) return; expect(c).toBe(1);",
            "expect(a).toBe(2); if (b) return; expect(c).toBe(1);",
        ),
        ("for (const a of b) { expect(a).toBe(1); }", "for (const a of b) { expect(a).toBe(2); }"),
        ("b.forEach((a) => { expect(a).toBe(1); });", "b.forEach((a) => { expect(a).toBe(2); });"),
        (
            "return f().then((a) => {\n    expect(a).toBe(1);\n  });",
            "return f().then((a) => {\n    expect(a).toBe(2);\n  });",
        ),
        // Nothing certain.
        ("if (b)\n    expect(a).toBe(1)", "if (b)\n    expect(a).toBe(1)"),
        ("b && expect(a).toBe(1)", "b && expect(a).toBe(1)"),
        ("f(() => { expect(a).toBe(1); });", "f(() => { expect(a).toBe(1); });"),
        ("expect(f()).toMatchSnapshot()", "expect(f()).toMatchSnapshot()"),
    ];
    for head in ["test('one', async () => {\n  ", "describe('x', function () {\n it(`one`, function () {\n  "] {
        let tail = if head.starts_with("test") { "\n});\n" } else { "\n});\n});\n" };
        each(Language::JavaScript, head, tail, &table);
    }
    assert_eq!(
        altered(Language::TypeScript, "it('x', () => expect(f()).toBe(1));\n"),
        "it('x', () => expect(f()).toBe(2));\n"
    );
}

#[test]
fn tests_have_the_names_that_reports_have() {
    let text = "describe('a b', () => { it('one', () => {}); it.each([[1]])('two %i %s', () => {}); it(`three ${x} end`, () => {});\n\
                if (x) { it('four', () => {}); } });\ntest(name, () => {});\n";
    let file = read(Language::JavaScript, text);
    let found: Vec<(String, bool)> =
        file.tests().iter().map(|test| (test.title.to_string(), test.is_certain)).collect();
    let expected = [("one", true), ("two … …", false), ("three … end", true), ("four", false)];
    assert_eq!(found, expected.map(|(title, is_certain)| (title.to_owned(), is_certain)));
    assert!(file.tests().iter().all(|test| test.around == ["a b"]));
    assert!(file.tests()[1].title.matches("two 7 x") && !file.tests()[1].title.matches("two"));
    let text = "def test_a(): assert f() == 1\nclass TestB:\n    def test_b(self):\n        pass\n    def other(self): pass\n\
                @pytest.fixture\ndef test_data():\n    return 1\nif x:\n    def test_c(): pass\n";
    let file = read(Language::Python, text);
    let found: Vec<_> = file.tests().iter().map(|test| (test.title.to_string(), test.is_certain)).collect();
    assert_eq!(found, [("test_a", true), ("test_b", true), ("test_c", false)].map(|(name, is)| (name.to_owned(), is)));
    assert_eq!(by(Language::Python, text), Some(Alteration::Value));
    assert!(read_tests("x = 1\n", Language::Python).unwrap().is_none());
    assert!(read_tests("def (", Language::Python).is_err());
}

/// What may stand in a test of Python, one assertion a line.
const PYTHON: [&str; 9] = [
    "assert f() == 'a b'",
    "assert f(1, [2]) == [1, {'a': (2.5,)}, None]",
    "self.assertEqual(f(), -1e9)",
    "assert not g(f() == 1) or f",
    "assert f() == x, f'{f()!r} != {x}'",
    "with pytest.raises(ValueError): f()",
    "assert f'{1}' == g",
    "assert (yield) == 3; assert f() == 0b1",
    "for a in [1]: assert a == 1",
];
/// The same of JavaScript.
const JAVASCRIPT: [&str; 8] = [
    "expect(f(`a${1}`)).toEqual({ a: [1, 'b'], c: { d: null } })",
    "assert.equal(f(), /a/.test('b') ? 1 : 2)",
    "expect(() => { throw f(); }).toThrow(TypeError);",
    "assert(a && b, 'no')",
    "expect(a / 2 / 1).to.be.closeTo(1, 2)",
    "if (a) { expect(a).toBe(1) } else expect(a).toBe(2)",
    "await expect(f()).rejects.toEqual(`x`)",
    "assert.deepEqual(f(), [...a, 1])",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Lines stay where they are, and an altered text has the tokens of the other but for what is expected.
    #[test]
    fn an_altered_text_is_the_other_but_for_an_expectation(
        python in prop::collection::vec(0..PYTHON.len(), 1..6),
        javascript in prop::collection::vec(0..JAVASCRIPT.len(), 1..6),
    ) {
        let body: Vec<&str> = python.into_iter().map(|index| PYTHON[index]).collect();
        same_but_for_one(Language::Python, &format!("async def test_x(self):\n    {}\n", body.join("\n    ")));
        let body: Vec<&str> = javascript.into_iter().map(|index| JAVASCRIPT[index]).collect();
        same_but_for_one(Language::JavaScript, &format!("test('x', async () => {{\n  {}\n}});\n", body.join("\n  ")));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(def test_|assert |==|with raises|[\\[\\](){}]|it\\('a', |=>|expect\\(|\\.not|toBe|'|\"|`|\\$\\{|[0-9]|\n|    |,|:|;)*") {
        for language in Language::ALL {
            if let Ok(Some(file)) = read_tests(&text, language) {
                let written = file.write(&|_: &HeldTest| true, CANARY);
                let kept = written.lines().count();
                prop_assert!(kept >= text.lines().count());
            }
        }
    }
}

fn same_but_for_one(language: Language, text: &str) {
    let other = altered(language, text);
    assert_eq!(text.lines().count(), other.lines().count());
    let kinds = |text: &str| -> Vec<Kind> {
        Tokens::read(language, text)
            .unwrap()
            .all()
            .iter()
            .map(|token| token.kind)
            .filter(|kind| !kind.is_blank())
            .collect()
    };
    let (before, after) = (kinds(text), kinds(&other));
    assert!(after.len().abs_diff(before.len()) <= 6, "{other}");
    let common = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let ends = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let tokens = Tokens::read(language, text).unwrap();
    let line =
        |index: usize| tokens.all().iter().filter(|token| !token.kind.is_blank()).nth(index).map(|token| token.line);
    // All that differs is on the lines of one statement.
    if common < before.len() && ends < before.len() - common {
        let (first, last) = (line(common).unwrap(), line(before.len() - ends - 1).unwrap());
        assert!(last - first <= 1, "{text} became {other}");
    }
}

/// Python's own parser, in one process for all texts.
#[test]
fn altered_tests_are_programs_of_python() {
    let texts: Vec<String> = PYTHON
        .iter()
        .flat_map(|line| {
            let function = format!("async def test_x(self):\n    {line}");
            let method =
                format!("class TestA(unittest.TestCase):\n\tdef test_x(self):\n\t\t{}", line.replace("(yield)", "x"));
            [function, method]
        })
        .map(|text| read(Language::Python, &text).write(&|_: &HeldTest| true, "test_x_again"))
        .collect();
    let script = "import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)";
    let mut python = Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
    let list: Vec<String> = texts.iter().map(|text| format!("{text:?}").replace("\\'", "'")).collect();
    python.stdin.take().unwrap().write_all(format!("[{}]", list.join(",")).as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "{texts:#?}");
}

/// The parser of Node.js.
#[test]
fn altered_tests_are_programs_of_javascript() {
    let lines = JAVASCRIPT.iter().map(|line| format!("test('x', async () => {{\n  {line}\n}})"));
    let all: Vec<String> = lines
        .map(|text| read(Language::JavaScript, &text).write(&|_: &HeldTest| true, "x again"))
        .map(|text| format!("(async () => {{ {text} }});\n"))
        .collect();
    let mut node = Command::new("node").args(["--check", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(all.concat().as_bytes()).unwrap();
    assert!(node.wait().unwrap().success(), "{all:#?}");
}
