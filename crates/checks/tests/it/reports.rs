//! Reports of test runners: what they say, and that those that are cut, empty or contradict themselves say nothing.

mod explained;
mod tap;

use std::time::Duration;

use proofmark_checks::limits::MAX_TESTS;
use proofmark_checks::{CaseOutcome, End, Fault, Format, Judgment, Limits, Outcome, Request, Written};
use proofmark_receipt::{Draft, Object, ReceiptId, Status, Timestamp, Verdict, json};
use proptest::prelude::*;
use serde_json::json;

const PYTEST: &[&str] = &["pytest", "-q"];
const NODE: &[&str] = &["node", "--test"];
const BASH: &[&str] = &["bash", "run.sh"];

fn request(command: &[&str], reveal: &str) -> Request {
    // Skipped tests are checks here, so that what a report says of them is seen.
    let mut verification = json!({"kind": "test_suite", "mode": "command", "command": command, "reveal": reveal,
        "skipped": "partial"});
    if reveal == "none" {
        verification["salt"] = "0123456789abcdef".into();
    }
    let files = json!({"a.py": "", "a.test.js": "import { test } from 'node:test'", "helper.js": "export default 1", "run.sh": ""});
    let text = json!({"output": {"files": files}, "verification": verification}).to_string();
    Request::read(text.as_bytes(), Format::Json, None).unwrap()
}

fn outcome(end: End) -> Outcome {
    let case = CaseOutcome {
        end,
        elapsed: Duration::from_millis(7),
        timeout: Duration::from_secs(60),
        written: Written::default(),
        inside: None,
    };
    Outcome { runtime: "python3.11".to_owned(), cases: vec![case], ..Outcome::default() }
}

fn ran(status: i32, output: &[u8], report: Option<&[u8]>) -> End {
    End::Ran { status, output: output.to_vec(), errors: Vec::new(), report: report.map(<[u8]>::to_vec) }
}

fn judge(command: &[&str], end: End) -> Judgment {
    request(command, "all").judge(Some(&outcome(end)), None)
}

/// Judges a command that says where its report is.
fn judge_with(command: &[&str], report: &str, end: End) -> Judgment {
    let text = json!({"output": {"files": {"run.sh": ""}}, "verification": {"kind": "test_suite", "mode": "command",
        "command": command, "report": report, "skipped": "partial"}});
    let request = Request::read(text.to_string().as_bytes(), Format::Json, None).unwrap();
    request.judge(Some(&outcome(end)), None)
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
fn the_counts_of_mocha_are_understood() {
    let mocha = |counts: &str, cases: &str| format!(r#"<testsuite name="Mocha Tests" {counts}>{cases}</testsuite>"#);
    let failed = r#"<testcase name="bad"><failure>x</failure></testcase>"#;
    for (status, report, verdict) in [
        // A test that is done twice, or a hook that fails, is one more than mocha counts.
        (1, mocha(r#"tests="1" failures="0" errors="1" skipped="-1""#, &format!("{ONE}{failed}")), Verdict::Partial),
        (1, mocha(r#"tests="1" failures="0" errors="1" skipped="0""#, &failed.repeat(2)), Verdict::Fail),
        (0, mocha(r#"tests="1" failures="0" errors="0" skipped="0""#, &ONE.repeat(2)), Verdict::Pass),
    ] {
        let judgment = junit(status, &report);
        assert!(judgment.verdict == verdict && judgment.results.details[0].name != "command", "{report}: {judgment:?}");
    }
    // What would hide a test or a failure is refused.
    unanswered(&junit(0, &mocha(r#"tests="2" failures="0" errors="0""#, ONE)), "contradicts itself");
    unanswered(&junit(0, &mocha(r#"tests="1" failures="0" errors="1""#, ONE)), "contradicts itself");
    unanswered(&junit(0, &mocha(r#"tests="1" failures="1" errors="0""#, ONE)), "contradicts itself");
    assert_ne!(junit(0, &mocha(r#"tests="1" failures="0" errors="0""#, failed)).verdict, Verdict::Pass);
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
    unanswered(&judge(PYTEST, ran(0, b"1 passed", None)), "it ended with status 0 all the same");
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
