//! Reports in TAP, as Node and others write them.

use std::time::Duration;

use proofmark_checks::Judgment;
use proofmark_receipt::{Status, Verdict};
use proofmark_testing::cpu_time;

use super::{BASH, NODE, judge, judge_with, ran, said, tap, unanswered};

/// As node 20 writes it.
const NODE_TAP: &str = r"TAP version 13
# not ok 9 - printed by the test
# Subtest: outer
    # Subtest: inner \# one
    ok 1 - inner \# one
      ---
      duration_ms: 3.265471
      ...
    # Subtest: inner two
    not ok 2 - inner two
      ---
      duration_ms: 4.409715
      error: |-
        Expected values to be strictly equal:
        ...
        not ok 7
      code: 'ERR_ASSERTION'
      ...
    1..2
not ok 1 - outer \# 1
  ---
  duration_ms: 11.654078
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  code: 'ERR_TEST_FAILURE'
  stack: |-
    error: none
  ...
# Subtest: top ok
ok 2 - 3 top ok
  ---
  duration_ms: 20.193381
  ...
not ok 3 - many lines
  ---
  error: |-
    Expected values to be strictly equal:

    1 !== 2
  expected: 2
  ...
# Subtest: suite
    # Subtest: in suite
    ok 1 - in suite
      ---
      duration_ms: 999
      error: 'of another'
      ...
    1..1
ok 4 - suite
  ---
  duration_ms: 0.574822
  type: 'suite'
  ...
1..4
# tests 7
# pass 3
";

#[test]
fn the_report_of_node_is_one_check_for_each_test_and_none_for_a_suite() {
    let judgment = tap(1, NODE_TAP);
    let due = [
        ("outer # 1 > inner # one", Status::Pass, ""),
        ("outer # 1 > inner two", Status::Fail, "Expected values to be strictly equal:\n...\nnot ok 7"),
        ("outer # 1", Status::Fail, "1 subtest failed"),
        ("3 top ok", Status::Pass, ""),
        ("many lines", Status::Fail, "Expected values to be strictly equal:\n\n1 !== 2"),
        ("suite > in suite", Status::Pass, ""),
    ];
    assert_eq!(said(&judgment), due.map(|(name, status, message)| (name.to_owned(), status, message.to_owned())));
    let times: Vec<_> = judgment.results.details.iter().map(|detail| detail.elapsed_ms).collect();
    assert_eq!(times, [Some(3), Some(4), Some(11), Some(20), None, Some(999)]);
    assert_eq!(judgment.verdict, Verdict::Partial);
}

/// An exit status, what is written, and the tests in it.
type Row<'a> = (i32, &'a str, &'a [(&'a str, Status)]);

#[test]
fn tap_is_read_with_its_plan_at_either_end() {
    use Status::{Error, Fail, Pass};
    let table: [Row<'_>; 9] = [
        (0, "TAP version 14\n1..2\nok 1 - a\nok 2 - b\n", &[("a", Pass), ("b", Pass)]),
        (0, "TAP version 13\r\nok 1 a\r\nok\r\n1..2 # all\r\n", &[("a", Pass), ("test 2", Pass)]),
        (1, "1..2\nok - a\nnot ok - b\n", &[("a", Pass), ("b", Fail)]),
        (0, "1..3\nok 1 - a # SKIP no\nok 2 - b # skip\nok 3 - c #todo\n", &[("a", Error), ("b", Error), ("c", Error)]),
        (0, "1..2\nnot ok 1 - a # TODO soon\nok 2 - issue #42 # 3\n", &[("a", Error), ("issue #42 # 3", Pass)]),
        (0, "chatter\nTAP version 14\npragma +strict\nokay\nok 1 - a\n1..1\nmore\n", &[("a", Pass)]),
        (
            0,
            "TAP version 14\n1..1\n    1..1\n    not ok 1 - in\nok 1 - out\n",
            &[("out > in", Fail), ("out", Pass), ("command", Error)],
        ),
        (0, "TAP version 14\n1..1\n  ok 7 printed\nok 1 - out\n", &[("out", Pass)]),
        (0, "TAP version 14\n1..1\nok 1 - a\n  ---\n  text: |\n    not ok 2\n    ...\n  ...\n", &[("a", Pass)]),
    ];
    for (status, output, due) in table {
        let judgment = tap(status, output);
        let said: Vec<_> =
            judgment.results.details.iter().map(|detail| (detail.name.as_str(), detail.status)).collect();
        assert_eq!(said, due, "{output}");
    }
}

#[test]
fn tap_that_is_no_answer_is_an_error() {
    let table = [
        ("TAP version 13\nok 1 - a\n", "no plan"),
        ("TAP version 13\nok 1 - a\n1..2\n", "plans 2 tests and holds 1"),
        ("TAP version 13\n1..1\nok 1 - a\nok 2 - b\n", "plans 1 tests and holds 2"),
        ("1..1\nok 1 - a\n1..1\n", "two plans"),
        ("1..2\nok 1 - a\nok 1 - a\n", "has the number 1"),
        ("1..0\n", "no tests"),
        ("1..0 # skipped all\n", "no tests"),
        ("1..1\nBail out! no database\n", "no database"),
        ("TAP version 13\n1..x\nok 1 - a\n", "no plan"),
        ("TAP version 13\nok 1 - a\n  ---\n  duration_ms: 1\n1..1\n", "no end"),
        ("1..1\nok 1 - a\n  ---\n  duration_ms: 1\nnot ok 2 - b\n", "no end"),
        ("1..1\nok 1 - a\n  ---\n  duration_ms: 1\n", "no end"),
        ("1..1\n    Bail out! no disk\nok 1 - a\n", "no disk"),
        ("", "not TAP"),
        ("all is well\n", "not TAP"),
    ];
    for (output, words) in table {
        for status in [0, 1] {
            unanswered(&tap(status, output), words);
        }
    }
    for cut in 1..NODE_TAP.find("\n1..4").unwrap() {
        unanswered(&tap(0, NODE_TAP.get(..cut).unwrap()), "report");
    }
}

#[test]
fn control_characters_are_no_part_of_a_name() {
    let judgment = tap(0, "1..1\nok 1 - a\u{1b}[2Jb\u{9b}\n");
    assert_eq!(said(&judgment)[0].0, "a[2Jb");
}

/// Node writes a plan for each file that takes `node:test` and has no tests.
#[test]
fn a_plan_of_no_tests_is_not_nodes_last_word() {
    let node = |report: &str| judge(NODE, ran(0, report.as_bytes(), None)).verdict;
    assert_eq!(node("TAP version 13\nok 1 - one\n1..0\nok 2 - two\n1..2\n"), Verdict::Pass);
    assert_eq!(node("TAP version 13\nok 1 - one\n1..0\nok 2 - two\n1..3\n"), Verdict::Fail);
    assert_eq!(node("TAP version 13\nok 1 - one\n1..1\nok 2 - two\n1..2\n"), Verdict::Fail);
}

/// Node reports a file that left before its tests as a test that passed.
#[test]
fn a_file_of_node_that_ran_no_tests_did_not_pass() {
    let tap = |name: &str, inside: &str| {
        judge(
            NODE,
            ran(0, format!("TAP version 13\n# Subtest: {name}\n{inside}ok 1 - {name}\n1..1\n").as_bytes(), None),
        )
    };
    for name in ["/tmp/project/a.test.js", "a.test.js", "/tmp/project/gone.js"] {
        let judgment = tap(name, "");
        assert_eq!(judgment.verdict, Verdict::Fail, "{:?}", said(&judgment));
        assert!(said(&judgment)[0].2.contains("no tests"));
        assert_eq!(tap(name, "    ok 1 - inside\n    1..1\n").verdict, Verdict::Pass);
    }
    // Node runs each file in a folder of tests, also one that helps the others.
    let helper = tap("/tmp/project/helper.js", "");
    assert_eq!(said(&helper)[0].2, "skipped: a file without tests");
    assert_eq!(tap("a name", "").verdict, Verdict::Pass);
    assert_eq!(tap("a name", "    1..0\n").verdict, Verdict::Fail);
    let empty = "TAP version 13\nok 1 - empty\n  ---\n  type: 'suite'\n  ...\n1..1\n";
    assert_eq!(judge(NODE, ran(0, empty.as_bytes(), None)).verdict, Verdict::Fail);
    let suite = |name: &str, indent: &str| {
        format!("{indent}ok 1 - {name}\n{indent}  ---\n{indent}  type: 'suite'\n{indent}  ...\n")
    };
    for (inside, verdict) in [
        (suite("inner", "    "), Verdict::Fail),
        (format!("{}{}", suite("innermost", "        "), suite("inner", "    ")), Verdict::Fail),
        ("    ok 1 - inner # SKIP\n".to_owned(), Verdict::Fail),
        ("        ok 1 - innermost # SKIP\n    ok 1 - inner\n".to_owned(), Verdict::Fail),
        ("    not ok 1 - inner # TODO\n".to_owned(), Verdict::Fail),
        ("        1..0\n    ok 1 - inner\n    1..1\n".to_owned(), Verdict::Fail),
        ("    ok 1 - inner\n".to_owned(), Verdict::Pass),
        (format!("{}    ok 2 - inner\n", suite("empty", "    ")), Verdict::Pass),
        (format!("        ok 1 - innermost\n{}", suite("inner", "    ")), Verdict::Pass),
    ] {
        let report = format!("TAP version 13\n{inside}{}1..1\n", suite("outer", ""));
        assert_eq!(judge(NODE, ran(0, report.as_bytes(), None)).verdict, verdict, "{report}");
    }
    let command = ["node", "--test", "--test-reporter=junit"];
    let report = r#"<testsuites><testcase name="/tmp/project/a.test.js" classname="test"/></testsuites>"#;
    assert_eq!(judge(&command, ran(0, report.as_bytes(), None)).verdict, Verdict::Fail);
}

#[test]
fn a_line_of_many_hashes_is_read_in_time() {
    let before = cpu_time();
    for line in [format!("ok 1 {}", "#".repeat(1_000_000)), format!("ok 1 {}", " # \\#".repeat(300_000))] {
        assert_eq!(tap(0, &format!("{line}\n1..1\n")).verdict, Verdict::Pass);
    }
    let took = cpu_time() - before;
    assert!(took < Duration::from_secs(5), "{took:?}");
    let skipped = tap(0, &format!("ok 1 - a {}# SKIP b # c\n1..1\n", "\\#".repeat(10)));
    assert_eq!(said(&skipped)[0], (format!("a {}", "#".repeat(10)), Status::Error, "skipped: b # c".to_owned()));
    assert_eq!(said(&tap(0, "ok 1 - a \\## todo\n1..1\n"))[0].1, Status::Error);
}

#[test]
fn deep_and_long_blocks_are_read_in_time() {
    let before = cpu_time();
    let outer = |depths: &mut dyn Iterator<Item = usize>| {
        depths.map(|depth| format!("{}ok 1 - a\n", " ".repeat(4 * depth))).collect::<String>()
    };
    assert_eq!(tap(0, &format!("1..1\n{}", outer(&mut (0..1_000).rev()))).results.passed, 1_000);
    unanswered(&tap(0, &format!("1..1\n{}ok 1 - a\n", outer(&mut (1..200)))), "deep");
    let many: String = (0..60_000).map(|_| "    ok 1 - a\n").collect();
    unanswered(&tap(0, &format!("1..1\n{many}ok 1 - b\n")), "more than");
    let nested: String = (0..9_000).map(|_| format!("{}ok 1 - {}\n", " ".repeat(4 * 30), "n".repeat(300))).collect();
    let holders: String =
        (0..30).rev().map(|depth| format!("{}ok 1 - {}\n", " ".repeat(4 * depth), "h".repeat(300))).collect();
    assert_eq!(tap(0, &format!("1..1\n{nested}{holders}")).results.passed, 9_030);
    let block = format!("not ok 1 - a\n  ---\n  error: |-\n{}  ...\n1..1\n", "    x\n".repeat(1_000_000));
    assert_eq!(tap(1, &block).verdict, Verdict::Fail);
    let keys = format!("not ok 1 - a\n  ---\n{}  ...\n1..1\n", "  error: x\n".repeat(1_000_000));
    assert_eq!(tap(1, &keys).verdict, Verdict::Fail);
    let took = cpu_time() - before;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Node-tap writes the tests of a file that ran beside others behind the line of the file, in braces.
const NODE_TAP_BUFFERED: &str = "TAP version 14
1..2
not ok 1 - test/a.js # time=12.5ms {
    # Subtest: one
        not ok 1 - differs
        1..1
    not ok 1 - one # time=3ms
    ok 2 - later # SKIP no network
    1..2
}
ok 2 - test/b.js # time=2s
  ---
  duration_ms: 2
  ...
{
    ok 1 - set {
    1..1
}
# { total: 3, pass: 1, fail: 1, skip: 1 }
";

#[test]
fn tests_in_braces_belong_to_the_test_before() {
    let tap = |status, report: &str| judge_with(BASH, "stdout:tap", ran(status, report.as_bytes(), None));
    let names =
        |judgment: &Judgment| said(judgment).into_iter().map(|(name, status, _)| (name, status)).collect::<Vec<_>>();
    let due = [
        ("test/a.js > one > differs", Status::Fail),
        ("test/a.js > later", Status::Error),
        ("test/b.js > set", Status::Pass),
    ];
    assert_eq!(names(&tap(1, NODE_TAP_BUFFERED)), due.map(|(name, status)| (name.to_owned(), status)));
    // A brace that a test prints takes nothing from the test that follows.
    let printed = "1..2\nok 1 - a\n    not ok 1 - in\n}\nnot ok 2 - b\n";
    let due = [("a", Status::Pass), ("b > in", Status::Fail)];
    assert_eq!(names(&tap(1, printed)), due.map(|(name, status)| (name.to_owned(), status)));
    // A failure in braces that nothing closes is still one of the test after it, or of the run.
    let open = "1..2\nok 1 - a {\n    not ok 1 - in\nok 2 - b\n";
    assert_ne!(tap(0, open).verdict, Verdict::Pass);
}
