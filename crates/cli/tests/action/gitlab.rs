//! The template for GitLab. The tests run its script as a runner does.

use std::process::{Command, Output};

use crate::results::SUITE;
use crate::runner::Job;
use crate::{at, yaml};

/// Runs the script of the template with these variables of the job.
fn run(job: &Job, given: &[(&str, &str)]) -> Output {
    let template = yaml("packaging/gitlab/proofmark.gitlab-ci.yml");
    let job_template = at(&template, &[".proofmark"]);
    let lines: Vec<&str> =
        at(job_template, &["script"]).as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let defaults = at(job_template, &["variables"]).as_object().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &lines.join("\n")]).current_dir(job.path("")).env_clear().env("PATH", &job.path);
    shell.env("TMPDIR", job.path("../temp"));
    shell.envs(defaults.iter().map(|(name, value)| (name, value.as_str().unwrap())));
    shell.envs(given.iter().copied()).output().unwrap()
}

#[test]
fn the_template_ends_with_the_code_of_the_verification() {
    let job = Job::new();
    job.file("suite.json", SUITE);
    job.file("right.py", "def double(x):\n    return x * 2\n");
    job.file("wrong.py", "def double(x):\n    return 'no'\n");
    job.file("app/test_it.py", "import unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        pass\n");
    let hostile = "$(touch pwned)`touch pwned`; touch pwned";
    for (given, code) in [
        (vec![("PROOFMARK_REQUEST", "suite.json"), ("PROOFMARK_SUBMISSION", "right.py")], 0),
        (vec![("PROOFMARK_REQUEST", "suite.json"), ("PROOFMARK_SUBMISSION", "wrong.py")], 1),
        (vec![("PROOFMARK_REQUEST", "missing.json")], 2),
        (vec![("PROOFMARK_PROJECT", "app"), ("PROOFMARK_RUN", "python3 -m unittest 'discover' -p 'test_*.py'")], 0),
        (vec![("PROOFMARK_PROJECT", "app"), ("PROOFMARK_RUN", "python3 -m unittest nothing")], 1),
        (vec![("PROOFMARK_RUN", "python3 'unmatched")], 2),
        (vec![("PROOFMARK_RUN", hostile)], 2),
        (vec![("PROOFMARK_REQUEST", hostile)], 2),
        (vec![], 2),
    ] {
        let done = run(&job, &given);
        assert_eq!(done.status.code(), Some(code), "{given:?}: {done:?}");
        assert!(!job.path("pwned").exists(), "{given:?}");
        assert!(job.left().is_empty(), "the key is gone: {:?}", job.left());
    }
    let done = run(&job, &[("PROOFMARK_REQUEST", "suite.json"), ("PROOFMARK_SUBMISSION", "wrong.py")]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("a new key, which is not trusted"), "{done:?}");
    let report = std::fs::read_to_string(job.path("proofmark-report/junit.xml")).unwrap();
    let report = roxmltree::Document::parse(&report).unwrap();
    assert_eq!(report.descendants().filter(|node| node.has_tag_name("testcase")).count(), 2);
    assert!(job.path("proofmark-report/receipts.jsonl").exists() && job.path("proofmark-report/issuer.pem").exists());
}

#[test]
fn a_report_in_the_repository_is_neither_written_through_nor_kept() {
    let job = Job::new();
    let outside = job.file("../outside/mine.xml", "mine");
    std::os::unix::fs::symlink("../outside", job.path("proofmark-report")).unwrap();
    assert_eq!(run(&job, &[("PROOFMARK_REQUEST", "missing.json")]).status.code(), Some(2));
    assert!(!job.path("proofmark-report").is_symlink());
    std::fs::remove_dir_all(job.path("proofmark-report")).unwrap();
    job.file("proofmark-report/junit.xml", "forged");
    job.file("proofmark-report/receipts.jsonl", "forged");
    std::os::unix::fs::symlink("../../outside/mine.xml", job.path("proofmark-report/issuer.pem")).unwrap();
    assert_eq!(run(&job, &[("PROOFMARK_REQUEST", "missing.json")]).status.code(), Some(2));
    for name in ["junit.xml", "receipts.jsonl"] {
        let left = std::fs::read_to_string(job.path("proofmark-report").join(name)).unwrap_or_default();
        assert!(!left.contains("forged"), "{name}");
    }
    assert!(!job.path("proofmark-report/issuer.pem").is_symlink());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
    let names = std::fs::read_dir(outside.parent().unwrap()).unwrap().count();
    assert_eq!(names, 1, "nothing is written into the folder that the link names");
}
