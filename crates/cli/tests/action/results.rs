//! The results of a verdict: outputs, annotations, the summary, files and the exit code.

use proofmark_receipt::{Json, Receipt};

use crate::runner::{Ended, Job};
use crate::{BINARY, at, text};

/// A suite of two tests of `double`.
pub(crate) const SUITE: &str = r#"{"task": {"task_id": "double"}, "verification": {
  "kind": "test_suite", "language": "python", "entrypoint": "double",
  "tests": [{"name": "two", "input": [2], "expected": 4}, {"name": "nothing", "input": [0], "expected": 0}]}}"#;
const PASS: &str = "def double(x):\n    return x * 2\n";
const PARTIAL: &str = "def double(x):\n    return x * 3\n";
const FAIL: &str = "def double(x):\n    return 'no'\n";

/// Verifies one of the submissions.
pub(crate) fn verified(job: &Job, submission: &str, more: &[(&str, &str)]) -> Ended {
    job.file("suite.json", SUITE);
    job.file("work.py", submission);
    job.run(&[&[("request", "suite.json"), ("submission", "work.py")], more].concat())
}

pub(crate) fn passed(job: &Job, more: &[(&str, &str)]) -> Ended {
    verified(job, PASS, more)
}

/// The results of the SARIF file.
fn findings(ended: &Ended) -> Vec<Json> {
    let sarif = Json::parse(&std::fs::read(ended.output("sarif")).unwrap()).unwrap();
    let runs = at(&sarif, &["runs"]).as_array().unwrap();
    assert_eq!(runs.len(), 1, "code scanning takes one run for each tool");
    at(&runs[0], &["results"]).as_array().unwrap().to_vec()
}

#[test]
fn work_that_passes_ends_with_its_receipt() {
    let job = Job::new();
    let ended = passed(&job, &[("binary", BINARY)]);
    assert_eq!(ended.code, 0, "{}", ended.log);
    let counts = ["verdict", "result", "passed", "total"].map(|name| ended.output(name));
    assert_eq!(counts, ["pass", "pass", "2", "2"]);
    let receipt = std::fs::read(ended.output("receipt")).unwrap();
    let json = Json::parse(receipt.trim_ascii()).unwrap();
    assert_eq!(ended.output("receipt-id"), text(&json, &["receipt_id"]));
    assert_eq!(ended.output("content-hash"), text(&json, &["signature", "content_hash"]));
    assert_eq!(at(&json, &["metadata", "chain_position"]).to_text(), "0");
    assert!(Receipt::parse(receipt.trim_ascii()).is_ok());
    assert_eq!((findings(&ended).len(), ended.commands.len()), (0, 0), "{:?}", ended.commands);
    assert!(ended.log.contains("isolation\n"), "the doctor is printed: {}", ended.log);
    assert!(ended.summary.contains("proofmark verify: pass"), "{}", ended.summary);
    let kept: Vec<&str> = ended.kept.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(kept, ["proofmark", "receipts.jsonl", "issuer.pem", "junit.xml", "proofmark.sarif"]);
}

#[test]
fn work_that_fails_is_annotated_and_ends_with_1() {
    for (submission, verdict, passed, failures) in [(PARTIAL, "partial", "1", 1), (FAIL, "fail", "0", 2)] {
        let job = Job::new();
        let ended = verified(&job, submission, &[]);
        assert_eq!(ended.code, 1, "{}", ended.log);
        let outputs = ["verdict", "result", "passed", "total"].map(|name| ended.output(name));
        assert_eq!(outputs, [verdict, verdict, passed, "2"]);
        let errors = ended.sent("error");
        assert_eq!((errors.len(), ended.commands.len()), (failures + 1, failures + 1), "{:?}", ended.commands);
        assert_eq!(errors[failures], format!("the result is {verdict}"));
        assert!(ended.summary.contains("<code>") && ended.summary.contains("two"), "{}", ended.summary);
        let found = findings(&ended);
        assert_eq!(found.len(), failures);
        let place = &at(&found[0], &["locations"]).as_array().unwrap()[0];
        assert_eq!(text(place, &["physicalLocation", "artifactLocation", "uri"]), "work.py");
        assert_eq!(ended.kept.len(), 5, "receipts of failures are kept: {:?}", ended.kept);
    }
}

#[test]
fn what_could_not_be_judged_ends_with_2() {
    let job = Job::new();
    job.file("bad.json", "{");
    job.file("cobol.json", SUITE.replace("python", "cobol"));
    for request in ["bad.json", "cobol.json"] {
        let ended = job.run(&[("request", request)]);
        assert_eq!(ended.code, 2, "{}", ended.log);
        assert_eq!(["verdict", "result", "receipt"].map(|name| ended.output(name)), ["error", "error", ""]);
        assert!(ended.sent("error").iter().any(|message| message.contains(request)), "{:?}", ended.commands);
        assert!(ended.summary.contains("could not be judged"), "{}", ended.summary);
        assert!(!ended.log.contains("failed the") && !ended.sent("error").contains(&"the result is fail"));
    }
    // A receipt with the verdict `error`: what the owner expects cannot be computed.
    let request = SUITE
        .replace("\"entrypoint\": \"double\",", "")
        .replace("[2], \"expected\": 4", "\"1\", \"expected\": \"1/0\"");
    job.file("work.py", "");
    job.file("unusable.json", request.replace("[0], \"expected\": 0", "\"1\", \"expected\": \"1\""));
    let ended = job.run(&[("request", "unusable.json"), ("submission", "work.py")]);
    assert_eq!((ended.code, ended.output("verdict"), ended.output("total")), (2, "error", "2"), "{}", ended.log);
    let ended = passed(&job, &[("tests-from", "main"), ("submission", ""), ("request", ""), ("project", "nowhere")]);
    assert_eq!(ended.code, 2, "{}", ended.log);
    assert!(ended.sent("error")[0].contains("nowhere"), "an error that ends Proofmark is shown: {:?}", ended.commands);
    // One that cannot be read among others that pass.
    passed(&job, &[]);
    let ended = job.run(&[("request", "suite.json\nbad.json"), ("submission", "work.py")]);
    assert_eq!(ended.code, 2, "{}", ended.log);
}

#[test]
fn fail_on_says_which_results_are_red() {
    let codes = [("partial", [0, 1, 1, 2]), ("fail", [0, 0, 1, 2]), ("error", [0, 0, 0, 2]), ("never", [0, 0, 0, 0])];
    let job = Job::new();
    for (fail_on, expected) in codes {
        for (result, code) in ["pass", "partial", "fail", "error"].into_iter().zip(expected) {
            assert_eq!(job.end(fail_on, result).code, code, "{fail_on}, {result}");
        }
    }
    let ended = verified(&job, PARTIAL, &[("fail-on", "fail")]);
    assert_eq!((ended.code, ended.output("result")), (0, "partial"), "{}", ended.log);
    // The earlier steps have no result.
    for fail_on in ["partial", "fail", "error", "anything"] {
        assert_eq!(job.end(fail_on, "").code, 2, "{fail_on}");
    }
}

#[test]
fn a_project_is_verified_by_its_command_or_its_settings() {
    let job = Job::new();
    job.file("app/test_it.py", "import unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        pass\n");
    let command = "python3 -m unittest 'test_it.It'";
    let ended = job.run(&[("run", command), ("project", "app")]);
    assert_eq!((ended.code, ended.output("total")), (0, "1"), "{}", ended.log);
    job.file("app/proofmark.yaml", "command: python3 -m unittest -k nothing\n");
    let ended = job.run(&[("project", "app")]);
    assert_eq!((ended.code, ended.output("verdict")), (1, "fail"), "its settings run no test: {}", ended.log);
    // The owner's tests, which the work cannot change.
    job.file(
        "owner/test_it.py",
        "import unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n",
    );
    let ended = job.run(&[("run", command), ("project", "app"), ("tests-from", "./owner")]);
    assert_eq!((ended.code, ended.output("verdict")), (1, "fail"), "{}", ended.log);
}

#[test]
fn policies_and_workflows_are_checked_without_a_verification() {
    let job = Job::new();
    let read = |name: &str| std::fs::read(crate::project_file(name)).unwrap();
    for name in ["policy.yaml", "cases.yaml"] {
        job.file(&format!("policies/{name}"), read(&format!("examples/decide/{name}")));
    }
    job.file("sort.json", read("examples/sort.json"));
    job.file("flows/deep/workflow.yaml", read("examples/accept/workflow.yaml"));
    let tests = ("policy-tests", "policies/cases*.yaml");
    let ended = job.run(&[("lint", "flows/**/*.yaml"), tests]);
    assert_eq!((ended.code, ended.output("result"), ended.output("verdict")), (0, "pass", ""), "{}", ended.log);
    assert!(ended.kept.is_empty());
    job.file("bad.yaml", read("crates/cli/tests/bad_workflows/cycle.yaml"));
    let ended = job.run(&[("lint", "bad.yaml"), tests]);
    assert_eq!((ended.code, ended.output("result")), (1, "fail"), "{}", ended.log);
    assert!(!findings(&ended).is_empty());
    let policy = String::from_utf8(read("examples/decide/policy.yaml")).unwrap();
    job.file("policies/policy.yaml", policy.replace("deny:", "deny_: "));
    let ended = job.run(&[tests]);
    assert_eq!((ended.code, ended.output("result")), (2, "error"), "{}", ended.log);
}
