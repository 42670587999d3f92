//! From outcomes to checks, faults and verdicts.

mod shown;

use std::time::Duration;

use proofmark_checks::{CaseOutcome, End, Fault, Format, Judgment, Limits, Outcome, Request, Written};
use proofmark_receipt::{Status, Verdict};

const CALL: &str = r#""language": "python", "entrypoint": "f","#;
const EXPRESSION: &str = r#""language": "python","#;
const STDIO: &str = r#""language": "bash","#;

fn request(head: &str, tests: &str) -> Request {
    // As an expression, `1` alone needs no interpreter, and so no outcome.
    let tests = match head {
        head if head.contains("entrypoint") || head.contains("bash") => tests.to_owned(),
        _ => tests.replace(r#""expected_output": "1""#, r#""expected_output": "+1""#),
    };
    let text = format!(
        r#"{{"output": {{"content": "x"}}, "verification": {{"kind": "test_suite", {head} "tests": [{tests}]}}}}"#
    );
    Request::read(text.as_bytes(), Format::Json, None).unwrap()
}

/// A test in any of the modes, which all expect `1`.
fn one(name: &str) -> String {
    format!(r#"{{"name": "{name}", "input": "[]", "expected_output": "1"}}"#)
}

const LIMITS: Limits =
    Limits { memory_mb: 256, total_timeout: Duration::from_secs(60), output_bytes: 1_000, processes: 64, disk_mb: 0 };

fn outcome(ends: impl IntoIterator<Item = End>) -> Outcome {
    Outcome {
        runtime: "some1.0".to_owned(),
        limits: LIMITS,
        cases: ends
            .into_iter()
            .map(|end| CaseOutcome {
                end,
                elapsed: Duration::from_micros(2_700),
                timeout: Duration::from_secs(5),
                written: Written::default(),
                inside: None,
            })
            .collect(),
        ..Outcome::default()
    }
}

fn value(wire: &str) -> End {
    End::Value(wire.as_bytes().to_vec())
}

fn text(text: &str) -> End {
    End::Text(text.as_bytes().to_vec())
}

fn raised(kind: &str, text: &str) -> End {
    End::Raised { kind: kind.to_owned(), text: text.to_owned(), line: None, types: vec![] }
}

/// Judges one test of a mode by one end; an expression's expected value is 1.
fn judge(head: &str, end: End) -> Judgment {
    let expected = (head == EXPRESSION).then(|| outcome([value("1")]));
    request(head, &one("a")).judge(Some(&outcome([end])), expected.as_ref())
}

fn message(judgment: &Judgment) -> &str {
    judgment.results.details[0].message.as_deref().unwrap_or_default()
}

#[test]
fn every_end_in_every_mode_has_one_status_fault_and_verdict() {
    use Fault::{Submission, Verifier};
    const PASS: (Status, Option<Fault>, Verdict) = (Status::Pass, None, Verdict::Pass);
    const FAIL: (Status, Option<Fault>, Verdict) = (Status::Fail, None, Verdict::Fail);
    const THEIRS: (Status, Option<Fault>, Verdict) = (Status::Error, Some(Submission), Verdict::Fail);
    const OURS: (Status, Option<Fault>, Verdict) = (Status::Error, Some(Verifier), Verdict::Error);
    let table = [
        (value("1"), [PASS, PASS, OURS], ""),
        (value("2"), [FAIL, FAIL, OURS], ""),
        (value(r#"{"f":"1.0"}"#), [PASS, PASS, OURS], ""),
        (value("true"), [FAIL, PASS, OURS], ""),
        (value(r#"{"s":[1]}"#), [FAIL, FAIL, OURS], ""),
        (value(r#"{"x":"Decimal"}"#), [THEIRS, THEIRS, OURS], ""),
        (value("junk"), [THEIRS, THEIRS, OURS], ""),
        (value(""), [THEIRS, THEIRS, OURS], ""),
        (text("1\n"), [OURS, OURS, PASS], ""),
        (text("2"), [OURS, OURS, FAIL], ""),
        (End::Text(vec![0xff]), [OURS, OURS, FAIL], ""),
        (raised("ValueError", "no"), [THEIRS; 3], "ValueError: no"),
        (raised("KeyError", ""), [THEIRS; 3], "KeyError"),
        (End::Timeout, [THEIRS; 3], "5000 ms"),
        (End::TotalTimeout, [THEIRS; 3], "60000 ms"),
        (End::MemoryLimit, [THEIRS; 3], "256 MiB"),
        (End::OutputLimit, [THEIRS; 3], "1000 bytes"),
        (End::Signal(6), [THEIRS; 3], "it ended its own process by signal 6 (SIGABRT)"),
        (End::Signal(11), [THEIRS; 3], "killed by signal 11 (SIGSEGV)"),
        (End::Signal(64), [THEIRS; 3], "killed by signal 64"),
        (End::Exit(3), [THEIRS; 3], "exit status 3"),
        (End::NoAnswer("it left early".to_owned()), [THEIRS; 3], "it left early"),
        (End::Unavailable("no python3.12 here".to_owned()), [OURS; 3], "no python3.12 here"),
    ];
    for (end, states, says) in table {
        for (mode, (status, fault, verdict)) in [CALL, EXPRESSION, STDIO].into_iter().zip(states) {
            let judgment = judge(mode, end.clone());
            let results = &judgment.results;
            assert_eq!(
                (results.details[0].status, judgment.fault, judgment.verdict),
                (status, fault, verdict),
                "{mode} {end:?}"
            );
            assert_eq!((results.total, results.passed + results.failed + results.errors), (1, 1));
            assert!(message(&judgment).contains(says), "{mode} {end:?}: {}", message(&judgment));
            assert_eq!(status == Status::Error, results.errors == 1);
            assert!(status != Status::Error || !message(&judgment).is_empty(), "{mode} {end:?}");
            assert_eq!(results.details[0].elapsed_ms, Some(2));
        }
    }
}

#[test]
fn an_expected_value_that_cannot_be_used_is_the_verifiers_error_whatever_the_submission_does() {
    let ends = [
        (raised("NameError", "name 'g' is not defined"), "it raised NameError: name 'g' is not defined"),
        (value(r#"{"x":"Decimal"}"#), "`Decimal`"),
        (value("{"), "cannot be read"),
        (End::Timeout, "time"),
        (End::TotalTimeout, "time"),
        (End::MemoryLimit, "memory"),
        (End::OutputLimit, "output_bytes"),
        (End::Signal(9), "signal 9"),
        (End::Exit(1), "status 1"),
        (End::NoAnswer("gone".to_owned()), "gone"),
        (End::Unavailable("no namespaces".to_owned()), "no namespaces"),
        (text("1"), "sandbox"),
    ];
    for (expected, says) in ends {
        for submission in [value("1"), raised("ValueError", ""), End::Timeout] {
            let judgment =
                request(EXPRESSION, &one("a")).judge(Some(&outcome([submission])), Some(&outcome([expected.clone()])));
            assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)), "{expected:?}");
            assert!(message(&judgment).contains(says), "{}", message(&judgment));
        }
    }
}

#[test]
fn the_verdict_counts_what_passed() {
    let table = [
        ("pp", Verdict::Pass, None),
        ("pf", Verdict::Partial, None),
        ("ff", Verdict::Fail, None),
        ("pe", Verdict::Partial, Some(Fault::Submission)),
        ("fe", Verdict::Fail, Some(Fault::Submission)),
        ("ee", Verdict::Fail, Some(Fault::Submission)),
        ("pu", Verdict::Error, Some(Fault::Verifier)),
        ("eu", Verdict::Error, Some(Fault::Verifier)),
        ("ue", Verdict::Error, Some(Fault::Verifier)),
        ("fu", Verdict::Error, Some(Fault::Verifier)),
    ];
    for (ends, verdict, fault) in table {
        let judgment = request(CALL, &format!("{}, {}", one("a"), one("b"))).judge(
            Some(&outcome(ends.chars().map(|letter| match letter {
                'p' => value("1"),
                'f' => value("2"),
                'e' => End::Timeout,
                _ => End::Unavailable("no runtime".to_owned()),
            }))),
            None,
        );
        assert_eq!((judgment.verdict, judgment.fault), (verdict, fault), "{ends}");
        let names: Vec<_> = judgment.results.details.iter().map(|detail| detail.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}

#[test]
fn outcomes_that_do_not_fit_the_jobs_are_a_broken_sandbox_and_never_a_pass() {
    let two = format!("{}, {}", one("a"), one("b"));
    let good = || outcome([value("1"), value("1")]);
    let nameless = || Outcome { runtime: String::new(), ..good() };
    let table = [
        (CALL, outcome([]), None),
        (CALL, outcome([value("1")]), None),
        (CALL, outcome([value("1"), value("1"), value("1")]), None),
        (CALL, good(), Some(good())),
        (CALL, nameless(), None),
        (EXPRESSION, good(), None),
        (EXPRESSION, good(), Some(outcome([value("1")]))),
        (EXPRESSION, nameless(), Some(good())),
    ];
    for (head, submission, expected) in table {
        let judgment = request(head, &two).judge(Some(&submission), expected.as_ref());
        assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)));
        assert_eq!((judgment.results.total, judgment.results.errors), (2, 2));
        assert!(message(&judgment).contains("run the request again"));
    }
    let missing = End::Unavailable("no node here".to_owned());
    let submission = Outcome { runtime: String::new(), ..outcome([missing.clone(), missing]) };
    let judgment = request(CALL, &two).judge(Some(&submission), None);
    assert_eq!(message(&judgment), "no node here");
}

#[test]
fn what_json_has_not_fails_in_the_mode_call() {
    for wire in
        [r#"{"b":"00"}"#, r#"{"d":[[1,2]]}"#, r#"{"c":["1","2"]}"#, r#"{"n":"1"}"#, r#"{"m":[]}"#, r#"[{"s":[]}]"#]
    {
        let judgment = judge(CALL, value(wire));
        assert_eq!((judgment.results.details[0].status, judgment.fault), (Status::Fail, None), "{wire}");
        assert!(message(&judgment).contains("JSON has not"), "{wire}");
    }
}

#[test]
fn javascript_has_no_number_with_a_point_and_nothing_behind_it() {
    let head = r#""language": "javascript", "entrypoint": "f","#;
    let test = r#"{"name": "a", "input": [2.0], "expected_output": 59.0}"#;
    let detail = request(head, test).judge(Some(&outcome([value(r#"{"f":"59.5"}"#)])), None).results.details[0].clone();
    assert_eq!([detail.input, detail.expected, detail.actual].map(Option::unwrap), ["f(2)", "59", "59.5"]);
}

/// An integer is counted, not measured.
#[test]
fn a_tolerance_never_holds_for_an_integer() {
    let judged = |head: &str, expected: &str, wire: &str| {
        let test = format!(r#"{{"name": "a", "input": "[]", "expected_output": "{expected}", "tolerance": 1}}"#);
        request(head, &test).judge(Some(&outcome([value(wire)])), None).verdict
    };
    let javascript = r#""language": "javascript", "entrypoint": "f","#;
    let table = [
        ("41", "42", Verdict::Fail),
        ("41", r#"{"f":"41.5"}"#, Verdict::Fail),
        ("41", "41", Verdict::Pass),
        ("41", r#"{"f":"41.0"}"#, Verdict::Pass),
        ("[[41]]", "[[42]]", Verdict::Fail),
        ("41.5", "42", Verdict::Pass),
        ("41.0", r#"{"f":"41.5"}"#, Verdict::Pass),
        ("[41.0]", r#"[{"f":"42.5"}]"#, Verdict::Fail),
    ];
    for (expected, wire, verdict) in table {
        for head in [CALL, EXPRESSION, javascript] {
            assert_eq!(judged(head, expected, wire), verdict, "{head} {expected} {wire}");
        }
    }
}

#[test]
fn hostile_answers_are_judged_without_a_hang_or_an_overflow() {
    let nested = |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let set_of = |item: &dyn Fn(usize) -> String, count: usize| {
        format!(r#"{{"s":[{}]}}"#, (0..count).map(item).collect::<Vec<_>>().join(","))
    };
    let table = [
        nested("[", "]", 512),
        nested("[", "]", 1_000_000),
        nested(r#"{"t":["#, "]}", 256),
        nested(r#"{"d":[[1,"#, "]]}", 170),
        nested(r#"{"d":[["#, ",1]]}", 170),
        nested(r#"{"m":[[{"f":"nan"},1],[{"f":"nan"},"#, "]]}", 170),
        nested(r#"{"s":["#, "]}", 16),
        "9".repeat(2 << 20),
        format!(r#""{}""#, "x".repeat(2 << 20)),
        set_of(&|_| r#"{"f":"nan"}"#.to_owned(), 20_000),
        set_of(&|_| r#"{"f":"1e308"}"#.to_owned(), 20_000),
        set_of(&|index| index.to_string(), 40_000),
        set_of(&|index| format!(r#"{{"t":["{}",{index}]}}"#, "x".repeat(100)), 10_000),
        nested(r#"{"s":[0,"#, "]}", 16).replace('1', &format!(r#""{}""#, "y".repeat(1 << 19))),
        nested(r#"{"d":[[0,{"s":[1,"#, "]}]]}", 16),
    ];
    for wire in table {
        for (head, expected) in [
            (CALL, None),
            (EXPRESSION, Some(outcome([value(&wire)]))),
            (r#""language": "js","#, Some(outcome([value(&wire)]))),
        ] {
            let judgment = request(head, &one("a")).judge(Some(&outcome([value(&wire)])), expected.as_ref());
            let start = wire.get(..40).unwrap_or(&wire);
            if expected.is_none() {
                assert_ne!(judgment.verdict, Verdict::Pass, "{start}");
            } else if judgment.fault.is_none() {
                assert_eq!(judgment.verdict, Verdict::Pass, "{start}");
            }
        }
    }
}
