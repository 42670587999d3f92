//! What a check shows of an answer, and how it explains a failure.

use proofmark_checks::limits::{MAX_SHOWN_CHARS, MAX_TESTS};
use proofmark_checks::{End, Fault, Format, Request, Tail, Written, same_error};
use proofmark_receipt::{Draft, Object, ReceiptId, Sha256Digest, Status, Timestamp, Verdict};

use super::{CALL, EXPRESSION, STDIO, judge, message, one, outcome, raised, request, text, value};

#[test]
fn answers_and_expectations_are_shown_as_the_language_writes_them() {
    let shown = |head: &str, end: End, expected: Option<End>| {
        let expected = expected.map(|end| outcome([end]));
        let judgment = request(head, &one("a")).judge(Some(&outcome([end])), expected.as_ref());
        let detail = judgment.results.details[0].clone();
        (detail.expected.unwrap_or_default(), detail.actual.unwrap_or_default(), detail.message.unwrap_or_default())
    };
    let of = |expected: &str, actual: &str, message: &str| (expected.to_owned(), actual.to_owned(), message.to_owned());
    assert_eq!(shown(CALL, value(r#"{"t":[null,true,{"f":"0.5"}]}"#), None), of("1", "[null, true, 0.5]", ""));
    assert_eq!(
        shown(CALL, value(r#"[{"s":[2,1]}]"#), None),
        of("1", "[{1, 2}]", "the answer holds a set, which JSON has not; answer with arrays, objects and plain values")
    );
    assert_eq!(shown(EXPRESSION, value("null"), Some(value(r#"{"t":[1]}"#))), of("(1,)", "None", ""));
    assert_eq!(
        shown(r#""language": "js","#, value(r#"{"u":0}"#), Some(value(r#"{"n":"1"}"#))),
        of("1n", "undefined", "")
    );
    assert_eq!(shown(STDIO, text("2\n"), None), of("1", "2\n", ""));
    assert_eq!(shown(STDIO, End::Text(b"\xff".to_vec()), None), of("1", "\u{fffd}", "the output is not UTF-8"));
    assert_eq!(shown(CALL, End::Timeout, None).0, "1");
}

#[test]
fn hidden_tests_show_nothing_the_submission_or_the_suite_has_chosen() {
    let ends = || {
        [
            value("1"),
            value("77123"),
            raised("Secret77123", "77123"),
            value(r#"{"x":"Secret77123"}"#),
            value("77123 junk"),
            End::Exit(77123),
            End::Signal(77123),
            End::NoAnswer("77123".to_owned()),
            value(r#"{"d":[[77123,1]]}"#),
        ]
    };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let tests: Vec<_> = names.iter().map(|name| one(name)).collect();
    let judged = |reveal: &str| {
        let head = format!(r#"{CALL} "reveal": "{reveal}", "salt": "0123456789abcdef","#);
        request(&head, &tests.join(", ")).judge(Some(&outcome(ends())), None)
    };
    let hidden = judged("none");
    assert!(!format!("{:?}", hidden.results).contains("77123"));
    for detail in &hidden.results.details {
        assert_eq!((&detail.expected, &detail.actual), (&None, &None));
        // Which exception or limit it was, and how long it took, would be words of the submission's choice.
        let message = (detail.status == Status::Error).then_some("no answer");
        assert_eq!((detail.message.as_deref(), detail.elapsed_ms), (message, None));
    }
    let failures = judged("failures");
    assert_eq!(failures.results.details[0].actual, None);
    assert_eq!(failures.results.details[1].actual.as_deref(), Some("77123"));
    let all = judged("all");
    assert_eq!(all.results.details[0].actual.as_deref(), Some("1"));
    assert_eq!((hidden.verdict, hidden.fault), (all.verdict, all.fault));
    // The reason an expected expression is unusable may hold the expression.
    let head = format!(r#"{EXPRESSION} "reveal": "none", "salt": "0123456789abcdef","#);
    let unusable =
        request(&head, &one("a")).judge(Some(&outcome([value("1")])), Some(&outcome([raised("E", "77123")])));
    assert!(!format!("{:?}", unusable.results).contains("77123"));
    assert_eq!(unusable.verdict, Verdict::Error);
    let missing = request(&head, &one("a"))
        .judge(Some(&outcome([End::Unavailable("no python3.12 here".to_owned())])), Some(&outcome([value("1")])));
    assert_eq!(message(&missing), "no python3.12 here");
}

/// What a check that failed shows beside its answer.
#[test]
fn a_failed_check_shows_its_input_what_it_wrote_and_where_it_failed() {
    let tests = r#"{"name": "a", "input": [1.0, "x", {"k": null}], "expected_output": [1, 2]}"#;
    let at_line = |line| End::Raised { kind: "E".to_owned(), text: "no".to_owned(), line, types: vec![] };
    let judged = |head: &str, tests: &str, end: End| {
        let mut ran = outcome([end]);
        let tail = |text: &str, left_out| Tail { bytes: text.as_bytes().to_vec(), left_out };
        ran.cases[0].written =
            Written { stdout: tail("out\u{1b}", 0), stderr: tail("\u{e9}rr", 9), ..Written::default() };
        request(head, tests).judge(Some(&ran), None).results.details[0].clone()
    };
    let failed = judged(CALL, tests, value("[1,3]"));
    assert_eq!(failed.input.as_deref(), Some("f(1.0, 'x', {'k': None})"));
    assert_eq!(failed.difference.as_deref(), Some("at [1]\n- [1, 2]\n+ [1, 3]"));
    assert_eq!(failed.stdout.as_deref(), Some("out\u{1b}"));
    assert_eq!(failed.stderr.as_deref(), Some("… 9 bytes are left out\nérr"));
    assert_eq!(failed.location, None);
    let raised = judged(CALL, tests, at_line(Some(12)));
    assert_eq!((raised.location.as_deref(), raised.message.as_deref()), (Some("submission.py:12"), Some("E: no")));
    let javascript = judged(r#""language": "js", "entrypoint": "f","#, tests, at_line(Some(3)));
    assert_eq!(javascript.location.as_deref(), Some("submission.js:3"));
    assert_eq!(javascript.input.as_deref(), Some(r#"f(1, "x", {"k": null})"#));
    let passed = judged(CALL, tests, value("[1,2]"));
    assert_eq!((passed.status, passed.input, passed.stdout, passed.stderr), (Status::Pass, None, None, None));
    // The submission chooses all of these, so a suite that reveals nothing shows none.
    let hidden = format!(r#"{CALL} "reveal": "none", "salt": "0123456789abcdef","#);
    for end in [value("[1,3]"), at_line(Some(12))] {
        let shown = judged(&hidden, tests, end);
        let texts = [shown.input, shown.difference, shown.stdout, shown.stderr, shown.location, shown.actual];
        assert_eq!(texts, [None, None, None, None, None, None]);
    }
}

#[test]
fn an_error_is_told_once_and_a_limit_for_each_check() {
    let tests: Vec<_> = ["a", "b", "c", "d"].map(one).to_vec();
    let messages = |head: &str, ends: [End; 4]| {
        let judgment = request(head, &tests.join(", ")).judge(Some(&outcome(ends)), None);
        judgment.results.details.into_iter().map(|detail| detail.message.unwrap_or_default()).collect::<Vec<_>>()
    };
    let error = |line| End::Raised { kind: "E".to_owned(), text: "no".to_owned(), line, types: vec![] };
    let told = messages(CALL, [error(None), error(None), error(Some(1)), error(Some(1))]);
    assert_eq!(told, ["E: no", "same error as `a`", "E: no", "same error as `c`"]);
    assert_eq!(same_error(&told[1]), Some("a"));
    let limits = messages(CALL, [End::Timeout, End::Timeout, End::TotalTimeout, End::TotalTimeout]);
    assert_eq!((limits[0] == limits[1], limits[3].as_str()), (true, "same error as `c`"));
    let missing = || End::Unavailable("no python3.12 here".to_owned());
    assert_eq!(messages(CALL, [missing(), missing(), missing(), missing()])[3], "same error as `a`");
    let hidden = format!(r#"{CALL} "reveal": "none", "salt": "0123456789abcdef","#);
    assert_eq!(messages(&hidden, [error(None), error(None), error(None), error(None)]), ["no answer"; 4]);
}

/// The first failures are explained in full, however many there are; and none goes without its message.
#[test]
fn of_thousands_of_failures_the_first_are_explained() {
    let count = MAX_TESTS;
    let tests: Vec<_> = (0..count).map(|index| one(&format!("t{index}"))).collect();
    let noise = "a\u{1}b\n".repeat(256);
    let judged = |ends: Vec<End>| {
        let mut ran = outcome(ends);
        for case in &mut ran.cases {
            let tail = || Tail { bytes: noise.as_bytes().to_vec(), left_out: 1 };
            case.written = Written { stdout: tail(), stderr: tail(), ..Written::default() };
        }
        request(STDIO, &tests.join(", ")).judge(Some(&ran), None)
    };
    let ends = (0..count).map(|index| match index % 2 {
        0 => text(&format!("{noise}{index}")),
        _ => raised("E", &format!("{index} {noise}")),
    });
    let judgment = judged(ends.collect());
    let first = &judgment.results.details[0];
    assert!(first.difference.is_some() && first.actual.is_some() && first.stderr.is_some() && first.stdout.is_some());
    assert!(judgment.results.details[1].message.as_ref().unwrap().len() > 1_000);
    let request = request(STDIO, &tests.join(", "));
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier: judgment.tier,
        verdict: judgment.verdict,
        task: request.task,
        results: judgment.results,
        hashes: request.hashes,
        metadata: Object::new(),
    };
    draft.unsigned().unwrap();
}

#[test]
fn long_answers_are_cut_around_their_first_difference() {
    let long = |middle: &str| format!("{}{middle}{}", "a".repeat(4_000), "b".repeat(4_000));
    let tests = format!(r#"{{"name": "a", "input": "", "expected_output": "{}"}}"#, long("X"));
    let judgment = request(STDIO, &tests).judge(Some(&outcome([text(&long("Y"))])), None);
    let detail = &judgment.results.details[0];
    for (shown, middle) in [(&detail.expected, "aXb"), (&detail.actual, "aYb")] {
        let shown = shown.as_deref().unwrap();
        let digest = Sha256Digest::of(long(&middle[1..2]).as_bytes());
        assert!(
            shown.starts_with("…a")
                && shown.contains(middle)
                && shown.ends_with(&format!("b… (8001 characters, {digest})"))
        );
    }
}

#[test]
fn hidden_output_that_is_not_text_says_no_more_than_that_it_is_wrong() {
    let head = format!(r#"{STDIO} "reveal": "none", "salt": "0123456789abcdef","#);
    let judged = |end: End| request(&head, &one("a")).judge(Some(&outcome([end])), None).results.details;
    assert_eq!(judged(End::Text(vec![0xff])), judged(text("2")));
    assert_eq!(judged(End::Timeout), judged(raised("E", "x")));
}

#[test]
fn long_answers_are_cut_with_length_and_digest() {
    let long = "é".repeat(5_000);
    let detail = judge(STDIO, text(&long)).results.details[0].clone();
    let digest = Sha256Digest::of(long.as_bytes());
    let cut = format!("{}… (5000 characters, {digest})", "é".repeat(MAX_SHOWN_CHARS));
    assert_eq!(detail.actual.as_deref(), Some(cut.as_str()));
    let judgment = judge(CALL, raised("E", &long));
    assert!(message(&judgment).chars().count() < MAX_SHOWN_CHARS + 120);
}

#[test]
fn no_answers_can_be_so_long_that_there_is_no_receipt() {
    let noisy = "\u{1}".repeat(1_100);
    for (count, end) in [
        (300, text(&noisy)),
        (MAX_TESTS, text(&noisy)),
        (MAX_TESTS, raised("E", &noisy)),
        (MAX_TESTS, End::MemoryLimit),
    ] {
        let tests: Vec<_> = (0..count).map(|index| one(&format!("t{index}"))).collect();
        let request = request(STDIO, &tests.join(", "));
        let judgment = request.judge(Some(&outcome(vec![end; count])), None);
        assert_eq!((judgment.verdict, judgment.results.total), (Verdict::Fail, count as u64));
        let draft = Draft {
            receipt_id: ReceiptId::from_random_bytes([7; 16]),
            verified_at: Timestamp::from_unix_millis(0),
            tier: judgment.tier,
            verdict: judgment.verdict,
            task: request.task,
            results: judgment.results,
            hashes: request.hashes,
            metadata: Object::new(),
        };
        draft.unsigned().unwrap();
    }
}

fn thrown(types: &[&str], text: &str) -> End {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    End::Raised { kind: types[0].clone(), text: text.to_owned(), line: None, types }
}

/// The status, the fault, the answer and the message of the one check of a suite.
fn checked(head: &str, test: &str, end: End) -> (Status, Option<Fault>, String, String) {
    let judgment = request(head, test).judge(Some(&outcome([end])), None);
    let detail = judgment.results.details[0].clone();
    (detail.status, judgment.fault, detail.actual.unwrap_or_default(), detail.message.unwrap_or_default())
}

#[test]
fn an_exception_that_is_expected_must_come_from_the_call_itself() {
    const PLAIN: &str = r#"{"input": "[]", "raises": "ValueError"}"#;
    const WITH_TEXT: &str = r#"{"input": "[]", "raises": {"type": "ValueError", "contains": "negative"}}"#;
    let types = ["Refused", "ValueError", "Exception"];
    for head in [CALL, EXPRESSION] {
        let judge = |test, end| {
            let (status, fault, actual, _) = checked(head, test, end);
            (status, fault, actual)
        };
        let fail = |actual: &str| (Status::Fail, None, actual.to_owned());
        let pass = |actual: &str| (Status::Pass, None, actual.to_owned());
        assert_eq!(judge(PLAIN, thrown(&types, "")), pass("Refused"));
        assert_eq!(judge(PLAIN, thrown(&["Bank::ValueError"], "")), pass("Bank::ValueError"));
        assert_eq!(judge(PLAIN, thrown(&["MyValueError"], "x")), fail("MyValueError: x"));
        assert_eq!(judge(PLAIN, value("[1]")), fail("[1]"));
        assert_eq!(judge(PLAIN, value(r#"{"x":"Account"}"#)), fail("a value of the type `Account`"));
        assert_eq!(judge(WITH_TEXT, thrown(&types, "a negative amount")), pass("Refused: a negative amount"));
        assert_eq!(judge(WITH_TEXT, thrown(&types, "an amount")), fail("Refused: an amount"));
        // What was raised before the call, and what cannot be an answer.
        let unanswered = (Status::Error, Some(Fault::Submission), String::new());
        for end in [raised("ValueError", "negative"), value("nonsense"), End::Timeout, End::MemoryLimit, End::Signal(9)]
        {
            assert_eq!(judge(WITH_TEXT, end), unanswered);
        }
        let broken = (Status::Error, Some(Fault::Verifier), String::new());
        assert_eq!(judge(PLAIN, text("ValueError")), broken);
        assert_eq!(judge(PLAIN, End::Unavailable("no isolation".to_owned())), broken);
    }
    // Where a value is expected, an exception is not an answer, wherever it was raised.
    assert_eq!(checked(CALL, &one("a"), thrown(&types, "")).0, Status::Error);
}

#[test]
fn an_answer_that_only_the_quotes_keep_from_being_right_is_explained() {
    let message = |expected: &str, wire: &str| {
        checked(CALL, &format!(r#"{{"input": [], "expected": {expected}}}"#), value(wire)).3
    };
    assert!(message(r#""[1, 2]""#, "[1,2]").contains("without the quotes"));
    assert!(message(r#""1""#, "1").contains("without the quotes"));
    for (expected, wire) in [(r#""[1, 2]""#, "[1,3]"), (r#""[1""#, "[1]"), ("[1]", r#""[1]""#), (r#""a""#, "1")] {
        assert_eq!(message(expected, wire), "", "{expected}");
    }
    assert_eq!(checked(CALL, r#"{"input": [], "expected": "[1]"}"#, value(r#""[1]""#)).0, Status::Pass);
}

#[test]
fn a_class_in_place_of_a_function_is_named() {
    let test = r#"{"input": [], "expected": 1}"#;
    let head = r#""language": "python", "entrypoint": "Account","#;
    assert!(checked(head, test, value(r#"{"x":"Account"}"#)).3.contains("`Account.method`"));
    assert!(!checked(head, test, value(r#"{"x":"Decimal"}"#)).3.contains("method"));
}

#[test]
fn what_is_no_program_is_an_error_of_the_submission() {
    let judge = |head: &str, content: &str| {
        let text = format!(
            r#"{{"output": {{"content": {}}}, "verification": {{"kind": "test_suite", {CALL} {head}
            "tests": [{{"input": [], "expected": 1}}, {{"input": [], "expected": 1}}]}}}}"#,
            proofmark_receipt::Json::from(content).to_text()
        );
        let request = Request::read(text.as_bytes(), Format::Json, None).unwrap();
        let plan = request.plan(&proofmark_checks::Caps::default()).unwrap();
        let ends = [raised("SyntaxError", "invalid syntax"), value("1")];
        let judgment = request.judge(plan.submission.map(|_| outcome(ends)).as_ref(), None);
        let messages = judgment.results.details.iter().map(|detail| detail.message.clone().unwrap_or_default());
        (judgment.verdict, judgment.fault, messages.collect::<Vec<_>>())
    };
    let (verdict, fault, messages) = judge(r#""strip_fences": true,"#, "```\na\n```\n```\nb\n```\n");
    assert_eq!((verdict, fault), (Verdict::Fail, Some(Fault::Submission)));
    assert!(messages[0].contains("2 code blocks") && messages[1] == "same error as `test 1`", "{messages:?}");
    // One that is wrong without the option says so; one that gave an answer does not.
    let (verdict, _, messages) = judge("", "```python\nx\n```\n");
    assert_eq!(verdict, Verdict::Partial);
    assert!(messages[0].contains("strip_fences: true") && messages[1].is_empty(), "{messages:?}");
    let (_, _, messages) = judge("", "x");
    assert_eq!(messages[0], "SyntaxError: invalid syntax");
}

#[test]
fn the_input_of_a_failed_call_is_the_call_as_its_language_writes_it() {
    for (language, suite, test, written) in [
        (
            "python",
            r#""entrypoint": "f","#,
            r#""input": [1], "kwargs": {"a": [true], "b": "x"}"#,
            "f(1, a=[True], b='x')",
        ),
        ("ruby", r#""entrypoint": "f","#, r#""kwargs": {"a": null}"#, "f(a: nil)"),
        ("python", r#""entrypoint": "A.f", "construct": [2],"#, r#""input": [1]"#, "A(2).f(1)"),
        ("python", r#""entrypoint": "A.f", "construct": {"kwargs": {"b": 2}},"#, r#""input": []"#, "A(b=2).f()"),
        ("ruby", r#""entrypoint": "A.f", "construct": [2],"#, r#""input": [1]"#, "A.new(2).f(1)"),
        ("js", r#""entrypoint": "A.f", "construct": [2],"#, r#""input": [{"b": 1}]"#, r#"new A(2).f({"b": 1})"#),
        ("ts", r#""entrypoint": "A.f","#, r#""input": [1]"#, "A.f(1)"),
    ] {
        let head = format!(r#""language": "{language}", {suite}"#);
        let request = request(&head, &format!(r#"{{{test}, "raises": "Error"}}"#));
        let judgment = request.judge(Some(&outcome([value("9")])), None);
        assert_eq!(judgment.results.details[0].input.as_deref(), Some(written), "{language} {test}");
    }
}

#[test]
fn the_causes_of_an_exception_are_no_part_of_its_text() {
    const TEST: &str = r#"{"input": [], "raises": {"type": "E", "contains": "negative"}}"#;
    let end = |text: &str| thrown(&["E"], text);
    assert_eq!(checked(CALL, TEST, end("two lines,\nnegative\ncaused by KeyError: x")).0, Status::Pass);
    assert_eq!(checked(CALL, TEST, end("no\ncaused by KeyError: negative")).0, Status::Fail);
}
