//! What a project's command runs in, and where its results are read.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

use proofmark_checks::{
    Caps, CaseOutcome, Checks, Command, End, Fault, Format, MAX_FOLDERS, Outcome, Program, Project, Report, ReportForm,
    Request, RequestError, Runner, Written,
};
use proofmark_receipt::Verdict;
use serde_json::{Value, json};

fn request(files: Value, verification: Value) -> Result<Request, RequestError> {
    let mut all = json!({"kind": "test_suite", "mode": "command"});
    all.as_object_mut().unwrap().extend(verification.as_object().unwrap().clone());
    let text = json!({"output": {"files": files}, "verification": all}).to_string();
    Request::read(text.as_bytes(), Format::Json, None)
}

fn command(words: &[&str], more: Value) -> Result<Command, RequestError> {
    let mut verification = json!({"command": words});
    verification.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match request(json!({"a": ""}), verification)?.checks {
        Checks::Command(command) => Ok(command),
        other => panic!("{other:?}"),
    }
}

fn project(request: &Request) -> Project {
    match request.plan(&Caps::default()).unwrap().submission.unwrap().program {
        Program::Command(project) => project,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_and_the_request_say_where_the_results_are() {
    let file = |name: &str| Report::File(name.to_owned());
    let (tap, junit) = (Report::Stdout(ReportForm::Tap), Report::Stdout(ReportForm::JUnit));
    let (pytest, node) = (Some(Runner::Pytest), Some(Runner::NodeTest));
    let own = || file(".proofmark-report.xml");
    let table: [(&[&str], Value, _, Report); 21] = [
        (&["pytest"], json!({}), pytest, own()),
        (&["python3", "-m", "pytest", "-q"], json!({}), pytest, own()),
        (&["python3", "-X", "dev", "-Bm", "pytest"], json!({}), pytest, own()),
        (&["python3", "-W", "error", "-mpytest"], json!({}), pytest, own()),
        (&["pytest", "--junitxml=r.xml"], json!({}), pytest, file("r.xml")),
        (&["pytest", "--junit-xml", "r.xml"], json!({}), pytest, file("r.xml")),
        (&["pytest", "--junitxml=/tmp/r.xml"], json!({}), pytest, own()),
        (&["pytest"], json!({"report": "r.xml"}), pytest, file("r.xml")),
        (&["python3", "a.py", "-m", "pytest"], json!({}), None, Report::ExitStatus),
        (&["python3", "-c", "1", "-m", "pytest"], json!({}), None, Report::ExitStatus),
        (&["python3", "-m", "unittest"], json!({"report": "r.xml"}), None, file("r.xml")),
        (&["node", "--test"], json!({}), node, tap.clone()),
        (&["node", "--test", "--test-reporter", "junit"], json!({}), node, junit.clone()),
        (&["node", "--test", "--test-reporter=spec"], json!({"report": "r.tap"}), node, file("r.tap")),
        (&["node", "a.js"], json!({}), None, Report::ExitStatus),
        (&["node", "a.js", "--test"], json!({}), None, Report::ExitStatus),
        (&["node", "-e", "1", "--test"], json!({}), None, Report::ExitStatus),
        (&["node", "--no-warnings", "--import", "./a.js", "--test", "b.js"], json!({}), node, tap.clone()),
        (&["bash", "a.sh"], json!({}), None, Report::ExitStatus),
        (&["bash", "a.sh"], json!({"report": "stdout:tap"}), None, tap),
        (&["bash", "a.sh"], json!({"report": "stdout:junit"}), None, junit),
    ];
    for (words, more, runner, report) in table {
        let read = command(words, more.clone()).unwrap();
        assert_eq!((read.runner, read.report), (runner, report), "{words:?} {more}");
    }
    let unittest = command(&["python3", "-B", "-m", "unittest", "-v"], json!({})).unwrap();
    assert_eq!((unittest.runner, unittest.report), (Some(Runner::Unittest), file(".proofmark-report.tap")));
    let [first, code, script, last] = unittest.arguments.as_slice() else { panic!("{:?}", unittest.arguments) };
    assert_eq!((first.as_str(), code.as_str(), last.as_str()), ("-B", "-c", "-v"));
    assert!(script.contains("unittest.main"));
}

#[test]
fn a_reporter_that_cannot_be_read_is_refused() {
    let table: [&[&str]; 4] = [
        &["node", "--test", "--test-reporter=spec"],
        &["node", "--test", "--test-reporter", "dot"],
        &["node", "--test", "--test-reporter=tap", "--test-reporter-destination=r.tap"],
        &["node", "--test", "--test-reporter=tap", "--test-reporter=spec"],
    ];
    for words in table {
        let error = command(words, json!({})).unwrap_err();
        assert_eq!(error.code(), "invalid_value", "{words:?}");
        assert!(error.help().is_some_and(|help| help.contains("`report`")), "{error}");
    }
}

#[test]
fn a_report_that_was_submitted_is_not_there_before_the_run() {
    let stale = json!({".proofmark-report.xml": "<x/>", "a.py": ""});
    let project_of = |files: Value, more: Value| project(&request(files, more).unwrap());
    let paths = |project: &Project| project.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&project_of(stale, json!({"command": ["pytest"]}))), ["a.py"]);
    let table = [json!({"r.xml": "", "a": ""}), json!({"r.xml/x": "", "a": ""}), json!({"a": ""})];
    for files in table {
        let more = json!({"command": ["bash", "a"], "report": "r.xml", "files": {"r.xml": ""}});
        assert_eq!(paths(&project_of(files, more)), ["a"]);
    }
}

#[test]
fn files_that_cannot_be_laid_out_are_the_submissions_fault() {
    let many: serde_json::Map<String, Value> =
        (0..=MAX_FOLDERS / 2).map(|index| (format!("{index}/a/b"), json!(""))).collect();
    let large = json!({"a": "x".repeat(1 << 20), "b": ""});
    let own = json!({"command": ["bash", "run.sh"], "files": {"run.sh": "true", "in/y": ""}});
    let table = [
        (json!({"run.sh/x": ""}), own.clone(), "`run.sh/x`"),
        (json!({"in": ""}), own, "`in`"),
        (Value::Object(many), json!({"command": ["bash", "a"]}), "folders"),
        (large, json!({"command": ["bash", "a"], "limits": {"disk_mb": 1}, "files": {"c": "x"}}), "disk"),
    ];
    for (files, verification, words) in table {
        let request = request(files, verification).unwrap();
        assert_eq!(request.plan(&Caps::default()).unwrap().submission, None, "{words}");
        let judgment = request.judge(None, None);
        assert_eq!((judgment.verdict, judgment.fault), (Verdict::Fail, Some(Fault::Submission)), "{words}");
        let message = judgment.results.details.first().unwrap().message.clone().unwrap();
        assert!(message.contains(words), "{message}");
    }
    let error = request(json!({format!("{:256}", "x"): ""}), json!({"command": ["bash", "a"]})).unwrap_err();
    assert_eq!(error.code(), "invalid_value");
    let error = request(
        json!({"a": ""}),
        json!({"command": ["bash", "a"], "limits": {"disk_mb": 1}, "files": {"c": "x".repeat((1 << 20) + 1)}}),
    )
    .unwrap_err();
    assert_eq!(error.code(), "too_many");
}

#[test]
fn a_host_without_the_runner_is_not_the_submissions_fault() {
    let request = request(json!({"a": ""}), json!({"command": ["pytest"]})).unwrap();
    assert_eq!(project(&request).package, Some("pytest"));
    let end = End::Unavailable("failed to find the package `pytest`".to_owned());
    let cases = vec![CaseOutcome {
        end,
        elapsed: std::time::Duration::ZERO,
        timeout: std::time::Duration::ZERO,
        written: Written::default(),
    }];
    let judgment =
        request.judge(Some(&Outcome { runtime: "python3.11".to_owned(), cases, ..Outcome::default() }), None);
    assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)));
}
