//! Reports of test runners: what they say, and that those that are cut, empty or contradict themselves say nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere"
)]

use std::time::Duration;

use proofmark_checks::limits::MAX_TESTS;
use proofmark_checks::{CaseOutcome, End, Fault, Format, Judgment, Limits, Outcome, Request, Written};
use proofmark_receipt::{Draft, Object, ReceiptId, Status, Timestamp, Verdict, json};
use proofmark_testing::cpu_time;
use proptest::prelude::*;
use serde_json::json;

const PYTEST: &[&str] = &["pytest", "-q"];
const NODE: &[&str] = &["node", "--test"];
const BASH: &[&str] = &["bash", "run.sh"];

fn request(command: &[&str], reveal: &str) -> Request {
    let mut verification = json!({"kind": "test_suite", "mode": "command", "command": command, "reveal": reveal});
    if reveal == "none" {
        verification["salt"] = "0123456789abcdef".into();
    }
    let text = json!({"output": {"files": {"a.py": "", "run.sh": ""}}, "verification": verification}).to_string();
    Request::read(text.as_bytes(), Format::Json, None).unwrap()
}

fn outcome(end: End) -> Outcome {
    let case = CaseOutcome {
        end,
        elapsed: Duration::from_millis(7),
        timeout: Duration::from_secs(60),
        written: Written::default(),
    };
    Outcome { runtime: "python3.11".to_owned(), cases: vec![case], ..Outcome::default() }
}

fn ran(status: i32, output: &[u8], report: Option<&[u8]>) -> End {
    End::Ran { status, output: output.to_vec(), errors: Vec::new(), report: report.map(<[u8]>::to_vec) }
}

fn judge(command: &[&str], end: End) -> Judgment {
    request(command, "all").judge(Some(&outcome(end)), None)
}

fn junit(status: i32, report: &str) -> Judgment {
    judge(PYTEST, ran(status, b"", Some(report.as_bytes())))
}

fn tap(status: i32, output: &str) -> Judgment {
    judge(NODE, ran(status, output.as_bytes(), None))
}

/// Names and states, with the message where there is one.
fn said(judgment: &Judgment) -> Vec<(String, Status, String)> {
    let details = judgment.results.details.iter();
    details.map(|detail| (detail.name.clone(), detail.status, detail.message.clone().unwrap_or_default())).collect()
}

/// The one check of what is no report.
fn unanswered(judgment: &Judgment, words: &str) {
    let said = said(judgment);
    assert_eq!((said.len(), judgment.verdict, judgment.fault), (1, Verdict::Fail, Some(Fault::Submission)), "{said:?}");
    assert!(
        said[0].0 == "command" && said[0].1 == Status::Error && said[0].2.contains(words),
        "{said:?} lacks {words}"
    );
}

fn suite(counts: &str, cases: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="a" {counts}>{cases}</testsuite></testsuites>"#
    )
}

const ONE: &str = r#"<testcase classname="t" name="one" time="0.25" />"#;
const FAILED: &str = r#"<testcase name="bad"><failure message="assert 1 == 2">long</failure></testcase>"#;
const BROKEN: &str = r#"<testcase name="worse"><error>no <![CDATA[<setup>]]></error></testcase>"#;
const SKIPPED: &str = r#"<testcase name="later"><skipped type="pytest.skip" message="why">x</skipped></testcase>"#;

#[test]
fn a_report_of_pytest_is_one_check_for_each_test() {
    let report = format!(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1"
        failures="1" skipped="1" tests="4" time="0.075" hostname="vm">{ONE}{FAILED}{BROKEN}{SKIPPED}</testsuite></testsuites>"#
    );
    let judgment = junit(1, &report);
    let due = [
        ("t::one", Status::Pass, ""),
        ("bad", Status::Fail, "assert 1 == 2"),
        ("worse", Status::Error, "no <setup>"),
        ("later", Status::Error, "skipped: why"),
    ];
    assert_eq!(said(&judgment), due.map(|(name, status, message)| (name.to_owned(), status, message.to_owned())));
    assert_eq!(judgment.results.details[0].elapsed_ms, Some(250));
    assert_eq!((judgment.verdict, judgment.fault), (Verdict::Partial, Some(Fault::Submission)));
}

#[test]
fn the_verdict_is_that_of_the_tests() {
    let table = [
        (0, suite(r#"tests="1" failures="0""#, ONE), Verdict::Pass, None),
        (1, suite(r#"tests="1" failures="1""#, FAILED), Verdict::Fail, None),
        (1, suite(r#"tests="2" failures="1""#, &format!("{ONE}{FAILED}")), Verdict::Partial, None),
        (0, suite(r#"tests="2" skipped="1""#, &format!("{ONE}{SKIPPED}")), Verdict::Partial, Some(Fault::Submission)),
        (0, suite(r#"tests="1""#, SKIPPED), Verdict::Fail, Some(Fault::Submission)),
        (0, suite("", ONE), Verdict::Pass, None),
        (0, format!("<testsuite tests='1'>{ONE}</testsuite>"), Verdict::Pass, None),
        (0, format!("\u{feff}\n<testsuite tests='1'>{ONE}</testsuite>"), Verdict::Pass, None),
        (
            0,
            format!("<testsuite tests='2'>{ONE}<testsuite tests='1'>{ONE}</testsuite></testsuite>"),
            Verdict::Pass,
            None,
        ),
        (
            0,
            format!(
                "<!-- <a <b --><testsuite><properties><property name='x' value='>'/></properties>{ONE}</testsuite>"
            ),
            Verdict::Pass,
            None,
        ),
    ];
    for (status, report, verdict, fault) in table {
        let judgment = junit(status, &report);
        assert_eq!((judgment.verdict, judgment.fault), (verdict, fault), "{report}: {:?}", said(&judgment));
    }
}

/// pytest counts subtests, and errors of a teardown beside the test.
#[test]
fn the_counts_of_pytest_are_understood() {
    let pytest = |counts: &str, cases: &str| {
        format!(r#"<testsuites><testsuite name="pytest" {counts}>{cases}</testsuite></testsuites>"#)
    };
    let twice = r#"<testcase name="a"><failure>x</failure></testcase><testcase name="a"><error>y</error></testcase>"#;
    let subtests = r#"<testcase name="a"><failure>x</failure><failure>y</failure></testcase>"#;
    let table = [
        (0, pytest(r#"tests="5" failures="0" errors="0""#, ONE), Verdict::Pass),
        (1, pytest(r#"tests="1" failures="1" errors="1""#, twice), Verdict::Fail),
        (1, pytest(r#"tests="2" failures="0" errors="1""#, BROKEN), Verdict::Fail),
        (1, pytest(r#"tests="4" failures="2" errors="0""#, subtests), Verdict::Fail),
    ];
    for (status, report, verdict) in table {
        let judgment = junit(status, &report);
        assert!(judgment.verdict == verdict && judgment.results.details[0].name != "command", "{report}: {judgment:?}");
    }
    unanswered(&junit(0, &pytest(r#"tests="0""#, ONE)), "contradicts itself");
    unanswered(&junit(0, &pytest(r#"tests="3""#, "")), "contradicts itself");
    unanswered(&junit(0, &pytest(r#"tests="1""#, &format!("{ONE}{ONE}"))), "contradicts itself");
}

#[test]
fn an_xml_report_that_is_no_answer_is_an_error() {
    let whole = suite(r#"tests="2""#, &format!("{ONE}{ONE}"));
    let bomb = r#"<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite tests="1"><testcase name="&b;"/></testsuite>"#;
    let outside = r#"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>"#;
    let table = [
        ("", "cut"),
        ("<", "cut"),
        ("hello", "neither"),
        (&whole[..whole.len() - 20], "cut"),
        (&whole[..60], "cut"),
        (bomb, "not XML"),
        (outside, "not XML"),
        ("<testsuites/>", "no tests"),
        (&suite(r#"tests="0""#, ""), "no tests"),
        (&suite(r#"tests="3""#, &format!("{ONE}{ONE}")), "states `3` tests and holds 2"),
        (&suite(r#"tests="1""#, &format!("{ONE}{ONE}")), "contradicts itself"),
        (&suite(r#"tests="-1""#, ONE), "contradicts itself"),
        (&suite(r#"tests="many""#, ONE), "contradicts itself"),
        (&suite(r#"tests="1" failures="1""#, ONE), "failures"),
        (&suite(r#"tests="1" errors="1""#, ONE), "errors"),
        (&suite(r#"tests="1" failures="0""#, FAILED), "failures"),
        ("<testsuite tests='1' skipped='1'><testcase name='a'/></testsuite>", "skipped"),
        (&format!("<testsuites tests='2'><testsuite tests='1'>{ONE}</testsuite></testsuites>"), "contradicts itself"),
        ("<?xml version='1.0'?><html><testcase name='x'/></html>", "not JUnit XML"),
        (&format!("<testsuite>{ONE}</testsuite><testsuite>{ONE}</testsuite>"), "not XML"),
        ("<testsuite><testcase name='a' name='b'/></testsuite>", "not XML"),
    ];
    for (report, words) in table {
        for status in [0, 1] {
            unanswered(&junit(status, report), words);
        }
    }
    unanswered(&judge(PYTEST, ran(0, b"1 passed", None)), "left no report");
}

#[test]
fn reports_made_to_take_long_are_refused() {
    let deep = format!("{}{}", "<testsuite>".repeat(200_000), "</testsuite>".repeat(200_000));
    let attributes: String = (0..200_000).map(|index| format!(" a{index}=''")).collect();
    let spaces: String = (0..200_000).map(|index| format!(" xmlns:a{index}='b'")).collect();
    let table = [
        deep,
        format!("<testsuite{attributes}>{ONE}</testsuite>"),
        format!("<testsuite{spaces}>{ONE}</testsuite>"),
        format!("<testsuite>{}</testsuite>", "<testcase/>".repeat(MAX_TESTS + 1)),
        format!("<testsuite>{}</testsuite>", "<a/>".repeat(2_000_000)),
        format!("<testsuite{}", "<".repeat(1_000_000)),
        format!("<testsuite {}", "'".repeat(1_000_001)),
    ];
    for report in table {
        unanswered(&junit(0, &report), "report");
    }
}

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
fn the_report_of_node_is_one_check_for_each_innermost_test() {
    let judgment = tap(1, NODE_TAP);
    let due = [
        ("outer # 1 > inner # one", Status::Pass, ""),
        ("outer # 1 > inner two", Status::Fail, "Expected values to be strictly equal:\n...\nnot ok 7"),
        ("3 top ok", Status::Pass, ""),
        ("many lines", Status::Fail, "Expected values to be strictly equal:\n\n1 !== 2"),
        ("suite > in suite", Status::Pass, ""),
    ];
    assert_eq!(said(&judgment), due.map(|(name, status, message)| (name.to_owned(), status, message.to_owned())));
    let times: Vec<_> = judgment.results.details.iter().map(|detail| detail.elapsed_ms).collect();
    assert_eq!(times, [Some(3), Some(4), Some(20), None, Some(999)]);
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
            &[("out > in", Fail), ("command", Error)],
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
fn what_reports_nothing_is_judged_by_its_exit_status() {
    let passed = judge(BASH, ran(0, b"fine, 1..2 and more\n1..many\n", None));
    assert_eq!(
        (said(&passed), passed.verdict),
        (vec![("command".to_owned(), Status::Pass, String::new())], Verdict::Pass)
    );
    assert_eq!(passed.results.details[0].elapsed_ms, Some(7));
    let failed = judge(BASH, ran(3, b"went wrong\n", None));
    assert_eq!((failed.verdict, failed.fault), (Verdict::Fail, None));
    assert_eq!(failed.results.details[0].message.as_deref(), Some("exit status 3; it wrote: went wrong"));
    let quiet = End::Ran { status: 1, output: b"out".to_vec(), errors: b" err\xff".to_vec(), report: None };
    assert_eq!(judge(BASH, quiet).results.details[0].message.as_deref(), Some("exit status 1; it wrote:  err\u{fffd}"));
    // What a program prints is not what it is judged by, unless the request says so.
    for printed in ["1..3\n", "<p>\n", "TAP version 14\nok 1 - a\n1..1\n", &suite("", FAILED)] {
        assert_eq!(judge(BASH, ran(0, printed.as_bytes(), None)).verdict, Verdict::Pass, "{printed}");
        assert_eq!(judge(&["python3", "a.py"], ran(0, printed.as_bytes(), None)).verdict, Verdict::Pass, "{printed}");
        assert_eq!(judge(BASH, ran(1, printed.as_bytes(), None)).verdict, Verdict::Fail, "{printed}");
    }
}

#[test]
fn a_report_and_an_exit_status_that_contradict_each_other_are_an_error() {
    let well = junit(1, &suite("", ONE));
    assert_eq!((well.verdict, well.results.errors), (Verdict::Partial, 1));
    assert!(said(&well)[1].2.contains("exit status is 1"));
    let ill = junit(0, &suite("", FAILED));
    assert_eq!((ill.verdict, ill.results.errors), (Verdict::Fail, 1));
    assert!(said(&ill)[1].2.contains("exit status is 0"));
    assert_eq!(tap(137, "1..1\nok 1 - a\n").verdict, Verdict::Partial);
}

#[test]
fn a_command_that_gave_no_answer_is_the_fault_of_one_or_the_other() {
    let table = [
        (End::Timeout, Fault::Submission, "timeout"),
        (End::OutputLimit, Fault::Submission, "output limit"),
        (End::MemoryLimit, Fault::Submission, "memory limit"),
        (End::Signal(9), Fault::Submission, "SIGKILL"),
        (End::Unavailable("no python".to_owned()), Fault::Verifier, "no python"),
    ];
    for (end, fault, words) in table {
        let judgment = judge(PYTEST, end);
        let verdict = if fault == Fault::Verifier { Verdict::Error } else { Verdict::Fail };
        assert_eq!((judgment.verdict, judgment.fault), (verdict, Some(fault)));
        assert!(said(&judgment)[0].2.contains(words));
    }
    for nothing in [None, Some(Outcome::default())] {
        let judgment = request(PYTEST, "none").judge(nothing.as_ref(), None);
        assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)));
        assert!(said(&judgment)[0].2.contains("no answer"), "said even where all is hidden");
    }
}

#[test]
fn hidden_tests_show_their_states_alone() {
    let end = ran(1, b"", Some(suite("", &format!("{ONE}{FAILED}{BROKEN}")).as_bytes()));
    let hidden = request(PYTEST, "none").judge(Some(&outcome(end)), None);
    assert_eq!(hidden.verdict, Verdict::Partial);
    let shown: Vec<_> = hidden
        .results
        .details
        .iter()
        .map(|detail| (detail.name.as_str(), detail.message.as_deref(), detail.elapsed_ms))
        .collect();
    assert_eq!(shown, [("test 1", None, None), ("test 2", None, None), ("test 3", Some("no answer"), None)]);
}

fn sealed(judgment: &Judgment) -> String {
    let hashes = request(PYTEST, "all").hashes;
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier: judgment.tier,
        verdict: judgment.verdict,
        task: None,
        results: judgment.results.clone(),
        hashes,
        metadata: Object::new(),
    };
    draft.unsigned().unwrap().to_text()
}

#[test]
fn ten_thousand_tests_of_long_names_fit_into_a_receipt_with_whole_counts() {
    for letter in ["x", "\u{10ffff}", "\\", "\u{2028}"] {
        let name = |index: usize| format!("{index}{}", letter.repeat(300));
        let mut cases: String = (1..MAX_TESTS).map(|index| format!("<testcase name='{}'/>", name(index))).collect();
        cases.push_str(&format!("<testcase name='last'><failure message='{}'/></testcase>", letter.repeat(5_000)));
        let judgment = junit(1, &suite("", &cases));
        let text = sealed(&judgment);
        assert!(text.len() <= json::MAX_BYTES, "{}", text.len());
        let results = &judgment.results;
        assert_eq!((results.total, results.passed, results.failed), (MAX_TESTS as u64, MAX_TESTS as u64 - 1, 1));
        assert!(results.details.iter().any(|detail| detail.name == "last" && detail.status == Status::Fail));
    }
}

#[test]
fn control_characters_are_no_part_of_a_name() {
    let judgment = tap(0, "1..1\nok 1 - a\u{1b}[2Jb\u{9b}\n");
    assert_eq!(said(&judgment)[0].0, "a[2Jb");
}

/// An error that calls itself skipped is an error, and does not go with the exit status 0.
#[test]
fn skipped_is_a_kind_and_not_a_word() {
    let liar = r#"<testcase name="a"><error message="skipped: not really">x</error></testcase>"#;
    let judgment = junit(0, &suite("", &format!("{ONE}{liar}")));
    assert_eq!((judgment.verdict, judgment.results.errors), (Verdict::Partial, 2));
    assert!(said(&judgment)[2].2.contains("exit status is 0"), "{:?}", said(&judgment));
    let skipped = junit(0, &suite("", &format!("{ONE}{SKIPPED}")));
    assert_eq!(skipped.results.errors, 1);
}

/// Runners say in several ways that a test did not run.
#[test]
fn a_test_of_an_xml_report_that_did_not_run_did_not_pass() {
    for case in [
        r#"<testcase name="a" status="notrun"/>"#,
        r#"<testcase name="a" status="notrun" result="suppressed"/>"#,
        r#"<testcase name="a" result="Skipped"/>"#,
        r#"<testcase name="a" status="disabled"/>"#,
        r#"<testcase name="a"><disabled/></testcase>"#,
        r#"<testcase name="a"><ignored/></testcase>"#,
    ] {
        let judgment = junit(0, &suite("", &format!("{ONE}{case}")));
        assert_eq!((judgment.verdict, judgment.results.errors), (Verdict::Partial, 1), "{case}");
        assert!(said(&judgment)[1].2.starts_with("skipped"), "{:?}", said(&judgment));
    }
    for ran in [r#"<testcase name="a" status="run" result="completed"/>"#, r#"<testcase name="a" status="passed"/>"#] {
        assert_eq!(junit(0, &suite("", ran)).verdict, Verdict::Pass, "{ran}");
    }
}

#[test]
fn what_goes_wrong_outside_of_the_tests_of_a_suite_is_an_error() {
    for outside in [r#"<error message="no database"/>"#, "<failure>no database</failure>"] {
        let judgment = junit(1, &suite("", &format!("{ONE}{outside}")));
        assert_eq!((judgment.verdict, judgment.results.errors), (Verdict::Partial, 1), "{outside}");
        assert!(said(&judgment)[1].2.contains("no database"), "{:?}", said(&judgment));
    }
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
    for name in ["/tmp/project/a.test.js", "a.py"] {
        let judgment = tap(name, "");
        assert_eq!(judgment.verdict, Verdict::Fail, "{:?}", said(&judgment));
        assert!(said(&judgment)[0].2.contains("no tests"));
        assert_eq!(tap(name, "    ok 1 - inside\n    1..1\n").verdict, Verdict::Pass);
    }
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

proptest! {
    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..400), status in 0..3) {
        for command in [PYTEST, NODE, BASH] {
            let judgment = judge(command, ran(status, &bytes, Some(&bytes)));
            prop_assert!(judgment.results.total > 0);
            sealed(&judgment);
        }
    }

    #[test]
    fn any_text_like_a_report_has_an_answer(
        words in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        status in 0..2,
    ) {
        let text = words.concat();
        for judgment in [junit(status, &text), tap(status, &text)] {
            prop_assert!(judgment.results.total > 0);
            prop_assert!(judgment.verdict != Verdict::Pass || status == 0);
            sealed(&judgment);
        }
    }
}

const PIECES: &[&str] = &[
    "TAP version 14\n",
    "1..1",
    "1..2",
    "\n",
    "ok",
    "not ok",
    " 1",
    " - ",
    "a",
    "#",
    " # SKIP",
    "\\",
    "    ",
    "  ---\n",
    "  ...\n",
    "  error: |-\n",
    "  duration_ms: 1e999\n",
    "Bail out!",
    "é",
    "\u{feff}",
    "<?xml",
    " version='1.0'?>",
    "<testsuite",
    "<testsuites",
    "<testcase",
    " tests='1'",
    " failures='1'",
    " name='a'",
    ">",
    "/>",
    "</testcase>",
    "</testsuite>",
    "</testsuites>",
    "<failure/>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "&amp;",
    "&#0;",
    "'",
    "\"",
    "<",
];

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
    let judgment = told(PYTEST, 1, include_str!("reports/pytest.xml"), &["calc.py", "tests/test_a.py"]);
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
    let elsewhere = told(PYTEST, 1, include_str!("reports/pytest.xml"), &["other.py"]);
    assert!(
        elsewhere.results.details.iter().all(|detail| detail.location.is_none()),
        "a location is a file of the project"
    );
}

#[test]
fn node_says_where_and_why() {
    let files = ["dep.test.mjs", "n.test.js", "src/slug.js", "syn.test.js"];
    let judgment = told(NODE, 1, include_str!("reports/node.tap"), &files);
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
    let vitest = told(BASH, 1, include_str!("reports/vitest.xml"), &["run.sh", "v/a.test.js", "v/dep.test.js"]);
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
    let mocha = told(BASH, 3, include_str!("reports/mocha.xml"), &["m/a.js", "run.sh"]);
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
    assert_eq!(verdict(both(), 0, "ignore"), (Verdict::Pass, (1, 0, 0), vec!["b".to_owned()]));
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
    assert_eq!(verdict(marked, 0, "ignore"), (Verdict::Pass, (1, 0, 0), vec!["suite > b".to_owned()]));
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
fn deep_and_long_blocks_are_read_in_time() {
    let before = cpu_time();
    let outer = |depths: &mut dyn Iterator<Item = usize>| {
        depths.map(|depth| format!("{}ok 1 - a\n", " ".repeat(4 * depth))).collect::<String>()
    };
    assert_eq!(tap(0, &format!("1..1\n{}", outer(&mut (0..1_000).rev()))).results.passed, 1);
    unanswered(&tap(0, &format!("1..1\n{}ok 1 - a\n", outer(&mut (1..200)))), "deep");
    let many: String = (0..60_000).map(|_| "    ok 1 - a\n").collect();
    unanswered(&tap(0, &format!("1..1\n{many}ok 1 - b\n")), "more than");
    let nested: String = (0..9_000).map(|_| format!("{}ok 1 - {}\n", " ".repeat(4 * 30), "n".repeat(300))).collect();
    let holders: String =
        (0..30).rev().map(|depth| format!("{}ok 1 - {}\n", " ".repeat(4 * depth), "h".repeat(300))).collect();
    assert_eq!(tap(0, &format!("1..1\n{nested}{holders}")).results.passed, 9_000);
    let block = format!("not ok 1 - a\n  ---\n  error: |-\n{}  ...\n1..1\n", "    x\n".repeat(1_000_000));
    assert_eq!(tap(1, &block).verdict, Verdict::Fail);
    let keys = format!("not ok 1 - a\n  ---\n{}  ...\n1..1\n", "  error: x\n".repeat(1_000_000));
    assert_eq!(tap(1, &keys).verdict, Verdict::Fail);
    let took = cpu_time() - before;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn hidden_tests_hide_what_explains_them() {
    let end = ran(1, include_bytes!("reports/node.tap"), None);
    let hidden = request(NODE, "none").judge(Some(&outcome(end)), None);
    for detail in &hidden.results.details {
        let texts =
            [&detail.location, &detail.difference, &detail.expected, &detail.actual, &detail.stdout, &detail.stderr];
        assert!(texts.iter().all(|text| text.is_none()) && detail.name.starts_with("test "), "{detail:?}");
    }
}

/// A command of its own that says that it tested nothing passes, and says so.
#[test]
fn a_command_that_seems_to_test_nothing_is_a_pass_with_a_warning() {
    for printed in ["Ran 0 tests in 0.000s\n\nOK\n", "collected 0 items\n", "# tests 0\n", "0 passing (1ms)\n"] {
        let warned = judge(BASH, ran(0, printed.as_bytes(), None));
        assert!(warned.verdict == Verdict::Pass && said(&warned)[0].2.contains("no tests"), "{printed}: {warned:?}");
    }
    for printed in ["Ran 10 tests in 0.000s\n\nOK\n", "collected 20 items\n", "10 passing\n", "1.0 tests\n"] {
        assert_eq!(said(&judge(BASH, ran(0, printed.as_bytes(), None)))[0].2, "", "{printed}");
    }
}

#[test]
fn a_limit_is_named_with_its_number() {
    let words = |end: End| {
        let mut outcome = outcome(end);
        outcome.limits = Limits { memory_mb: 512, output_bytes: 1 << 20, ..Limits::default() };
        outcome.cases[0].timeout = Duration::from_secs(60);
        said(&request(PYTEST, "all").judge(Some(&outcome), None))[0].2.clone()
    };
    for (end, parts) in [
        (End::Timeout, ["60000 ms", "`limits.timeout_ms`", "`--timeout`"]),
        (End::TotalTimeout, ["60000 ms", "`limits.timeout_ms`", "`--timeout`"]),
        (End::MemoryLimit, ["512 MiB", "`limits.memory_mb`", "`--memory`"]),
        (End::OutputLimit, ["1048576 bytes", "`limits.output_bytes`", "`--output-bytes`"]),
    ] {
        let words = words(end);
        assert!(parts.iter().all(|part| words.contains(part)), "{words}");
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
