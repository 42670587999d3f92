//! What reports of real runners say about their tests: where, why, and how skipped ones count.

use proofmark_checks::{Format, Judgment, Request, SkippedTest};
use proofmark_receipt::{Status, Verdict, json};
use proptest::prelude::*;
use serde_json::json;

use super::{BASH, NODE, ONE, PYTEST, outcome, ran, request, said, sealed, suite, tap};

/// A report of a real runner, judged as that of a project of these files.
fn told(command: &[&str], status: i32, report: &str, files: &[&str]) -> Judgment {
    told_with(command, status, report, files, "partial")
}

fn told_with(command: &[&str], status: i32, report: &str, files: &[&str], skipped: &str) -> Judgment {
    let files: serde_json::Map<_, _> = files.iter().map(|file| ((*file).to_owned(), json!(""))).collect();
    let mut verification = json!({"kind": "test_suite", "mode": "command", "command": command, "skipped": skipped});
    if command != NODE {
        verification["report"] = "r".into();
    }
    let text = json!({"output": {"files": files}, "verification": verification}).to_string();
    let end = ran(status, report.as_bytes(), Some(report.as_bytes()));
    Request::read(text.as_bytes(), Format::Json, None).unwrap().judge(Some(&outcome(end)), None)
}

fn untested(name: &str, reason: Option<&str>) -> SkippedTest {
    SkippedTest { name: name.to_owned(), reason: reason.map(str::to_owned) }
}

fn detail<'a>(judgment: &'a Judgment, name: &str) -> &'a proofmark_receipt::Detail {
    let found = judgment.results.details.iter().find(|detail| detail.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", said(judgment)))
}

/// The location of a check, and whether it has a difference.
fn told_of(judgment: &Judgment, rows: &[(&str, Option<&str>, &str, bool)]) {
    for (name, location, message, differs) in rows {
        let detail = detail(judgment, name);
        assert_eq!(detail.location.as_deref(), *location, "{name}");
        let said = detail.message.as_deref().unwrap_or_default();
        assert!(said.contains(message) && !said.contains("\n    at "), "{name}: {said}");
        assert_eq!(detail.difference.is_some(), *differs, "{name}: {detail:?}");
    }
}

#[test]
fn pytest_says_where_and_why() {
    let judgment = told(PYTEST, 1, include_str!("pytest.xml"), &["calc.py", "tests/test_a.py"]);
    told_of(
        &judgment,
        &[
            (
                "tests.test_a::test_dict",
                Some("tests/test_a.py:6"),
                "adding twice sums\nassert {'a': 2} == {'a': 3}",
                false,
            ),
            ("tests.test_a.TestC::test_p[1-2]", Some("tests/test_a.py:9"), "assert 1 == 2\n +  where", false),
            ("tests.test_a::test_raise", Some("calc.py:2"), "ValueError: no numbers", false),
            ("tests.test_a::test_fix", Some("tests/test_a.py:12"), "setup: RuntimeError: no database", false),
            ("tests.test_a::test_long", Some("tests/test_a.py:18"), "AssertionError", true),
            ("tests.test_a.U::test_u", Some("tests/test_a.py:20"), "Lists differ", true),
            ("tests.test_a::test_chain", Some("tests/test_a.py:23"), "KeyError: 'x'", false),
        ],
    );
    let dict = detail(&judgment, "tests.test_a::test_dict");
    assert_eq!((dict.stdout.as_deref(), dict.stderr.as_deref()), (Some("hello out"), Some("hello err")));
    assert_eq!(detail(&judgment, "tests.test_a::test_raise").stdout, None, "the headings alone are no output");
    let elsewhere = told(PYTEST, 1, include_str!("pytest.xml"), &["other.py"]);
    assert!(
        elsewhere.results.details.iter().all(|detail| detail.location.is_none()),
        "a location is a file of the project"
    );
}

#[test]
fn node_says_where_and_why() {
    let files = ["dep.test.mjs", "n.test.js", "src/slug.js", "syn.test.js"];
    let judgment = told(NODE, 1, include_str!("node.tap"), &files);
    told_of(
        &judgment,
        &[
            ("dep.test.mjs", Some("dep.test.mjs:1"), "Cannot find package 'leftpad'", false),
            ("syn.test.js", Some("syn.test.js:2"), "SyntaxError: Unexpected token", false),
            ("slug > inner > spaces", Some("n.test.js:6"), "'a b' !== 'a-b'", false),
            ("slug > inner > objects", Some("n.test.js:7"), "deep-equal", true),
            ("slug > inner > throws", Some("src/slug.js:2"), "TypeError: bad thing", false),
            ("slug > inner > multi", Some("n.test.js:11"), "strictly equal", true),
            ("hooks > x", Some("n.test.js:15"), "cancelled", false),
            ("hooks", Some("n.test.js:15"), "no database", false),
            ("sub > two", Some("n.test.js:16"), "two is wrong", false),
            ("sub", Some("n.test.js:16"), "and outer", false),
        ],
    );
    let spaces = detail(&judgment, "slug > inner > spaces");
    assert_eq!((spaces.expected.as_deref(), spaces.actual.as_deref()), (Some("'a-b'"), Some("'a b'")));
    assert!(detail(&judgment, "dep.test.mjs").stderr.as_deref().unwrap().contains("packageResolve"));
    assert_eq!(detail(&judgment, "slug > lowers").status, Status::Pass);
    assert_eq!(detail(&judgment, "empty").message.as_deref(), Some("it ran no tests"));
    let names: Vec<_> = judgment.results.details.iter().map(|detail| detail.name.as_str()).collect();
    assert!(!names.contains(&"slug") && !names.contains(&"slug > inner"), "{names:?}");
}

#[test]
fn vitest_and_mocha_say_where_and_why() {
    let vitest = told(BASH, 1, include_str!("vitest.xml"), &["run.sh", "v/a.test.js", "v/dep.test.js"]);
    told_of(
        &vitest,
        &[
            ("v/a.test.js::slug > inner > fails", Some("v/a.test.js:3"), "to deeply equal", true),
            ("v/a.test.js::slug > inner > throws", Some("v/a.test.js:3"), "TypeError: bad", false),
            ("v/dep.test.js::v/dep.test.js", None, "Failed to load url leftpad", false),
        ],
    );
    assert_eq!(detail(&vitest, "v/a.test.js::slug > inner > fails").stdout.as_deref(), Some("out here"));
    // Mocha counts its failures as errors.
    let mocha = told(BASH, 3, include_str!("mocha.xml"), &["m/a.js", "run.sh"]);
    told_of(
        &mocha,
        &[
            ("slug inner::fails", Some("m/a.js:2"), "Expected values to be strictly equal:", true),
            ("slug inner::throws", Some("m/a.js:2"), "TypeError: bad", false),
        ],
    );
    assert_eq!((mocha.results.passed, mocha.results.failed, mocha.results.errors), (1, 3, 2));
}

#[test]
fn skipped_tests_count_as_the_policy_says() {
    let (one, skipped) = ("ok 1 - a\n", "ok 2 - b # SKIP no\n");
    let verdict = |report: String, status: i32, policy: &str| {
        let judgment = told_with(NODE, status, &report, &["a.js"], policy);
        let counts = (judgment.results.passed, judgment.results.failed, judgment.results.errors);
        (judgment.verdict, counts, judgment.skipped)
    };
    let both = || format!("1..2\n{one}{skipped}");
    assert_eq!(verdict(both(), 0, "partial"), (Verdict::Partial, (1, 0, 1), vec![]));
    assert_eq!(verdict(both(), 0, "fail"), (Verdict::Fail, (1, 1, 0), vec![]));
    assert_eq!(verdict(both(), 0, "ignore"), (Verdict::Pass, (1, 0, 0), vec![untested("b", Some("no"))]));
    // Without a test that was tested, nothing passes.
    for policy in ["partial", "fail", "ignore"] {
        for all in ["1..1\nok 1 - b # SKIP\n", "1..1\nnot ok 1 - b # TODO\n", "1..1\n    ok 1 - b # SKIP\nok 1 - a\n"] {
            assert_eq!(verdict(all.to_owned(), 0, policy).0, Verdict::Fail, "{policy} {all}");
        }
        // A file that left before its tests is not a skipped one, whatever else passes.
        let left = format!("1..2\n{one}ok 2 - /tmp/project/b.test.js\n");
        assert_eq!(verdict(left, 0, policy).0, Verdict::Partial, "{policy}");
        let failed = format!("1..3\n{one}{skipped}not ok 3 - c\n");
        assert_ne!(verdict(failed.clone(), 1, policy).0, Verdict::Pass, "{policy}");
        assert_ne!(verdict(failed, 0, policy).0, Verdict::Pass, "{policy}");
        assert_ne!(verdict(both(), 1, policy).0, Verdict::Pass, "{policy}");
    }
    // The mark of a suite is that of its tests.
    let marked = "1..2\nok 1 - a\n    not ok 1 - b\nnot ok 2 - suite # TODO\n".to_owned();
    assert_eq!(verdict(marked, 0, "ignore"), (Verdict::Pass, (1, 0, 0), vec![untested("suite > b", Some("to do"))]));
}

#[test]
fn tape_and_node_tap_say_where_and_what() {
    let tape = "TAP version 13\n# one\nnot ok 1 differs\n  ---\n    operator: equal\n    expected: 2\n    actual:   1\n    at: \
                Test.<anonymous> (/tmp/project/run.sh:2:38)\n    stack: |-\n      Error: differs\n  ...\n\n1..1\n# fail  1\n";
    let judgment = told(BASH, 1, tape, &["run.sh"]);
    let failed = detail(&judgment, "differs");
    let values = [&failed.expected, &failed.actual, &failed.location];
    assert_eq!(values.map(Option::as_deref), [Some("2"), Some("1"), Some("run.sh:2")]);
    let tap = "TAP version 14\nnot ok 1 - a # time=3.5ms\n  ---\n  stack: |\n    Test.f (run.sh:2:40)\n  diff: |\n    -2\n    +1\n  ...\n1..1\n";
    let judgment = told(BASH, 1, tap, &["run.sh"]);
    let failed = detail(&judgment, "a");
    assert_eq!((failed.difference.as_deref(), failed.location.as_deref()), (Some("-2\n+1"), Some("run.sh:2")));
}

#[test]
fn the_reason_of_a_skipped_test_is_one_short_line() {
    let reason = |report: &str| told_with(BASH, 0, report, &["run.sh"], "ignore").skipped.remove(0).reason;
    let junit = |skipped: &str| reason(&suite("", &format!("{ONE}<testcase name='b'>{skipped}</testcase>")));
    assert_eq!(junit("<skipped message='needs network'>x</skipped>"), Some("needs network".to_owned()));
    assert_eq!(junit("<skipped>\n needs this\nand that</skipped>"), Some("needs this".to_owned()));
    assert_eq!(junit("<skipped/>"), None);
    let long = format!("1..2\nok 1 - a\nok 2 - b # SKIP {}\u{7}\n", "é".repeat(300));
    assert_eq!(reason(&long), Some("é".repeat(200)));
}

#[test]
fn what_a_failing_test_says_never_makes_a_receipt_too_large() {
    for letter in ["x", "\u{10ffff}", "\u{1}", "\\"] {
        let lines = format!("    {}\n", letter.repeat(200)).repeat(3);
        let block: String =
            ["error", "expected", "actual", "stack"].iter().map(|key| format!("  {key}: |-\n{lines}")).collect();
        let tests: String =
            (1..=2_000).map(|index| format!("not ok {index} - t{index}\n  ---\n{block}  ...\n")).collect();
        let judgment = tap(1, &format!("TAP version 13\n{tests}1..2000\n"));
        assert_eq!(judgment.results.failed, 2_000);
        assert!(sealed(&judgment).len() <= json::MAX_BYTES);
    }
}

#[test]
fn hidden_tests_hide_what_explains_them() {
    let end = ran(1, include_bytes!("node.tap"), None);
    let hidden = request(NODE, "none").judge(Some(&outcome(end)), None);
    for detail in &hidden.results.details {
        let texts =
            [&detail.location, &detail.difference, &detail.expected, &detail.actual, &detail.stdout, &detail.stderr];
        assert!(texts.iter().all(|text| text.is_none()) && detail.name.starts_with("test "), "{detail:?}");
    }
}

proptest! {
    /// No policy makes a pass of a report with a failed test, or without a test that passed.
    #[test]
    fn no_policy_makes_a_pass_of_a_failure(
        tests in prop::collection::vec((any::<bool>(), 0..3_usize, prop::sample::select(&["", " # SKIP", " # TODO x"][..])), 1..12),
        policy in prop::sample::select(&["ignore", "partial", "fail"][..]),
        status in 0..2,
    ) {
        let mut report = String::from("TAP version 14\n");
        let mut outermost = 0;
        let (mut failed, mut passed) = (false, false);
        for (ok, depth, mark) in &tests {
            let state = if *ok { "ok" } else { "not ok" };
            report.push_str(&format!("{}{state} - t{mark}\n", "    ".repeat(*depth)));
            outermost += usize::from(*depth == 0);
            failed |= !ok && mark.is_empty() && *depth == 0;
            passed |= *ok;
        }
        report.push_str(&format!("1..{outermost}\n"));
        let judgment = told_with(NODE, status, &report, &["a.js"], policy);
        prop_assert!(judgment.verdict != Verdict::Pass || (!failed && passed && status == 0), "{}", report);
        prop_assert!(judgment.results.total > 0);
    }
}
