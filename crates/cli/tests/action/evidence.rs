//! The key that signs, the signers that are trusted, and the gate.

use std::process::Command;

use crate::results::passed;
use crate::runner::Job;

const GATE: &str = "version: 1
classes: [code_merge]
boundaries:
  - id: tested
    match: {action_class: code_merge}
    require:
      - receipt: {any_suite: true, output: action.args.digest, comparison: in_process, max_age: 7d}
";

/// Runs a program in a folder and returns what it prints.
fn ran(folder: &std::path::Path, program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// A private key, and its public half in a file of the checkout.
fn key(job: &Job, name: &str) -> String {
    let folder = job.path("");
    let private = ran(&folder, "openssl", &["genpkey", "-algorithm", "ed25519"]);
    job.file("private.pem", &private);
    ran(&folder, "openssl", &["pkey", "-in", "private.pem", "-pubout", "-out", name]);
    std::fs::remove_file(job.path("private.pem")).unwrap();
    private
}

#[test]
fn a_key_signs_and_is_gone_afterwards() {
    if !proofmark_testing::has_program("openssl", "openssl") {
        return;
    }
    let job = Job::new();
    let (ours, other) = (key(&job, "ci.pem"), key(&job, "other.pem"));
    let ended = passed(&job, &[("key", &ours), ("trust", "verification=ci.pem")]);
    assert_eq!((ended.code, ended.output("result")), (0, "pass"), "{}", ended.log);
    assert!(!ended.summary.contains("which is not trusted"), "{}", ended.summary);
    for path in job.left() {
        let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!content.contains("PRIVATE KEY"), "{}", path.display());
    }
    for secret in ours.lines().filter(|line| !line.starts_with('-')) {
        assert!(!ended.log.contains(secret) && !ended.summary.contains(secret), "{}", ended.log);
    }
    let ended = passed(&job, &[("key", &other), ("trust", "verification=ci.pem")]);
    assert_eq!((ended.code, ended.output("verdict"), ended.output("result")), (1, "pass", "fail"), "{}", ended.log);
    // As in a run for a fork, which gets no secrets.
    let ended = passed(&job, &[("trust", "verification=ci.pem\nverification=other.pem")]);
    assert_eq!((ended.code, ended.output("result")), (1, "fail"), "{}", ended.log);
    let ended = passed(&job, &[("key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")]);
    assert_eq!((ended.code, ended.output("verdict")), (2, ""), "{}", ended.log);
}

#[test]
fn without_a_key_the_summary_says_that_nobody_trusts_the_signer() {
    let job = Job::new();
    let ended = passed(&job, &[]);
    assert!(ended.summary.contains("a new key, which is not trusted"), "{}", ended.summary);
    let issuer = ended.kept.iter().find(|path| path.ends_with("issuer.pem")).unwrap();
    assert!(std::fs::read_to_string(issuer).unwrap().starts_with("-----BEGIN PUBLIC KEY-----"));
    let ended = job.run(&[("lint", "suite.json")]);
    assert!(!ended.summary.contains("which is not trusted"), "nothing was signed: {}", ended.summary);
}

#[test]
fn the_gate_decides_on_the_tree_that_was_verified() {
    if !proofmark_testing::has_program("git", "git") {
        return;
    }
    let job = Job::new();
    job.file("gate.yaml", GATE);
    job.file("app/test_it.py", "import unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        pass\n");
    let git = |arguments: &[&str]| {
        ran(&job.path(""), "git", &[&["-c", "user.name=a", "-c", "user.email=a@b.c"], arguments].concat());
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "a"]);
    // It is not in the tree, and would fail.
    job.file("app/test_new.py", "raise ValueError\n");
    let given = [("run", "python3 -m unittest"), ("project", "app"), ("gate", "gate.yaml")];
    let ended = job.run(&given);
    assert_eq!((ended.code, ended.output("result")), (0, "pass"), "{}", ended.log);
    assert!(ended.summary.contains("proofmark gate: pass"), "{}", ended.summary);
    let ended = job.run(&[("gate", "gate.yaml")]);
    assert_eq!((ended.code, ended.output("result"), ended.output("verdict")), (1, "fail", ""), "{}", ended.log);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "b"]);
    let ended = job.run(&given);
    assert_ne!(ended.code, 0, "{}", ended.log);
    assert!(ended.summary.contains("proofmark gate: fail"), "{}", ended.summary);
    job.file("gate.yaml", "version: 1\n");
    let ended = job.run(&[("gate", "gate.yaml")]);
    assert_eq!((ended.code, ended.output("result")), (2, "error"), "{}", ended.log);
}
