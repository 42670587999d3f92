//! `verify --repo --patch`: patches over a commit, and the tests that they have to pass.

use std::fs;

use proofmark_receipt::{Json, Object, Receipt, Status, Verdict};

use crate::owner_tests::{RIGHT, TESTS, UNITTEST, WRONG, commit, git, plant};
use crate::run::{Done, Place};

/// A repository whose `main` is wrong, and whose `fix` has a right function and the tests.
fn repository() -> (Place, String, String) {
    let place = Place::new();
    place.file("p/calc.py", WRONG);
    place.file("p/tests/__init__.py", "");
    place.file("p/proofmark.yaml", format!("command: {UNITTEST}\n"));
    git(&place, &["init", "-q"]);
    let base = commit(&place);
    git(&place, &["checkout", "-q", "-b", "fix"]);
    place.file("p/calc.py", RIGHT);
    place.file("p/tests/test_calc.py", TESTS);
    let fix = commit(&place);
    git(&place, &["checkout", "-q", "main"]);
    (place, base, fix)
}

fn verify(place: &Place, options: &[&str]) -> Done {
    place.run(&[&["verify", "--repo", "p", "--base", "main", "--tests-from", "fix"], options].concat())
}

fn receipt(place: &Place, options: &[&str]) -> Receipt {
    let done = verify(place, &[options, &["--json"]].concat());
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn known(receipt: &Receipt, name: &str) -> Object {
    receipt.metadata().get(name).and_then(Json::as_object).expect("the receipt says it").clone()
}

#[test]
fn both_lists_are_derived_and_judge_patches() {
    let (place, base, fix) = repository();
    let derived = verify(&place, &["--derive-lists", "lists"]);
    assert_eq!(derived.code, 0, "{derived:?}");
    let list = |name: &str| fs::read_to_string(place.path(&format!("lists/{name}"))).unwrap();
    assert_eq!(list("must-pass.txt"), "tests.test_calc.Totals.test_two\n");
    assert_eq!(list("must-keep.txt"), "tests.test_calc.Totals.test_none\n");
    // A list that is there is not written over.
    assert_eq!(verify(&place, &["--derive-lists", "lists"]).code, 2);

    let lists = ["--must-pass", "lists/must-pass.txt", "--must-keep", "lists/must-keep.txt"];
    let patch = |name: &str, text: &str| place.file(name, text);
    let work = patch("work.patch", &(git(&place, &["diff", "main", "fix", "--", "calc.py"]) + "\n"));
    let right = receipt(&place, &[&["--patch", &work], &lists[..]].concat());
    assert_eq!((right.verdict(), right.results().total), (Verdict::Pass, 2), "{}", right.to_text());
    let patched = known(&right, "patch");
    assert_eq!(patched.get("base").and_then(|base| base.as_object()?.get("commit")), Some(&Json::from(base.as_str())));
    assert!(patched.get("digest").is_some() && known(&right, "tests_from").get("commit") == Some(&fix.as_str().into()));
    let commit = receipt(&place, &[&["--patch", "fix"], &lists[..]].concat());
    assert_eq!((commit.verdict(), commit.hashes().tests), (Verdict::Pass, right.hashes().tests));
    assert_ne!(commit.hashes().output, right.hashes().output, "the patch has no tests");

    // The base as it is, and work that brings what would make it pass.
    let wrong = receipt(&place, &lists);
    assert_eq!(wrong.verdict(), Verdict::Partial, "{}", wrong.to_text());
    git(&place, &["checkout", "-q", "-b", "evil"]);
    plant(&place);
    git(&place, &["add", "-A"]);
    let evil = patch("evil.patch", &(git(&place, &["diff", "--cached", "main"]) + "\n"));
    git(&place, &["reset", "-q", "--hard", "main"]);
    let evil = receipt(&place, &[&["--patch", &evil], &lists[..]].concat());
    assert_eq!((evil.verdict(), evil.results().passed), (Verdict::Partial, 1), "{}", evil.to_text());
    // A test that nobody has cannot pass.
    place.file("more.txt", "tests.test_calc.Totals.test_two\nno.such.test\n");
    let missing = receipt(&place, &["--patch", &work, "--must-pass", "more.txt"]);
    assert_eq!((missing.verdict(), missing.results().failed), (Verdict::Partial, 1), "{}", missing.to_text());
    let failed = missing.results().details.iter().find(|detail| detail.status == Status::Fail).unwrap();
    assert_eq!(failed.message.as_deref(), Some("the report has no test of this name"));
    for (content, says) in [("", "it has no tests"), ("\n\n", "it has no tests")] {
        place.file("bad.txt", content);
        let done = verify(&place, &["--must-pass", "bad.txt"]);
        assert!(done.code == 2 && done.stderr.contains(says), "{done:?}");
    }
    let unreported = verify(&place, &[&lists[..], &["--", "bash", "-c", "true"]].concat());
    assert!(unreported.code == 2 && unreported.stderr.contains("the command reports no tests"), "{unreported:?}");
}

fn added(path: &str, mode: &str, content: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{content}\n"
    )
}

#[test]
fn a_hostile_patch_changes_nothing_but_what_is_verified() {
    let (place, ..) = repository();
    let state = || (git(&place, &["status", "--porcelain"]), git(&place, &["count-objects", "-v"]));
    let before = state();
    for (name, patch) in [
        ("out of the tree", added("../evil", "100644", "x")),
        ("absolute", added("/tmp/evil", "100644", "x")),
        ("git's own folder", added(".git/hooks/post-index-change", "100755", "touch /tmp/evil")),
        ("another spelling of it", added(".GIT/config", "100644", "x")),
        ("below a link", added("link", "120000", "/tmp") + &added("link/evil", "100644", "x")),
        ("a file that is not as it says", "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-no\n+yes\n".to_owned()),
        ("no patch", "garbage\n".to_owned()),
        ("half a patch", "--- a/calc.py\n+++ b/calc.py\n@@ -1,9 +1,9 @@\n def".to_owned()),
    ] {
        let file = place.file("evil.patch", &patch);
        let done = verify(&place, &["--patch", &file]);
        assert!(done.code == 2 && done.stderr.contains("failed to"), "{name}: {done:?}");
    }
    // A link is not a file of the project, and a hook of the repository does not run.
    place.file("p/.git/hooks/post-index-change", "#!/bin/sh\ntouch \"$GIT_DIR/evil\"\n");
    let hook = place.path("p/.git/hooks/post-index-change");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = place.file("link.patch", added("link", "120000", "/etc/passwd") + "\\ No newline at end of file\n");
    let done = verify(&place, &["--patch", &file]);
    assert!(done.code == 1 && done.stderr.contains("left out `link`: it is a link"), "{done:?}");
    fs::remove_file(hook).unwrap();
    assert_eq!(state(), before);
    assert!(!place.path("p/.git/evil").exists() && !place.path("evil").exists());
}

#[test]
fn a_gate_asks_for_the_owners_tests() {
    let (place, _, fix) = repository();
    git(&place, &["checkout", "-q", "fix"]);
    let rule = |from: &str| {
        let demand = "any_suite: true, output: action.args.digest, comparison: in_process";
        let policy = format!(
            "version: 1\nclasses: [code_merge]\nboundaries:\n  - id: tested\n    match: {{action_class: code_merge}}\n    \
             require:\n      - receipt: {{{demand}, tests_from: {from}}}\n"
        );
        place.file("gate.yaml", policy);
        place.run(&["gate", "--repo", "p", "--tree", "HEAD", "--policy", "gate.yaml"])
    };
    let verify = |more: &[&str]| {
        let done = place.run(&[&["verify", "--dir", "p", "--tree", "HEAD"], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
    };
    verify(&[]);
    const CONTRADICTED: &str = "true, counter_run: {contradicted: '>= 0.9'}";
    for from in ["true", CONTRADICTED] {
        let refused = rule(from);
        assert!(refused.code == 1, "{refused:?}");
    }
    verify(&["--tests-from", "fix", "--no-counter-run"]);
    assert_eq!((rule("true").code, rule(CONTRADICTED).code), (0, 1));
    verify(&["--tests-from", "fix"]);
    assert_eq!((rule("true").code, rule(CONTRADICTED).code), (0, 0));
    assert_eq!(rule(&fix).code, 0);
    assert_eq!(rule(&fix.replace(|digit: char| digit.is_ascii_digit(), "a")).code, 1);
    let wrong = rule("false");
    assert!(wrong.code == 2 && wrong.stderr.contains("write `true`, or the whole id of the commit"), "{wrong:?}");
}

#[test]
fn predictions_of_tasks_are_judged_one_by_one() {
    let (place, base, _) = repository();
    let diff = |path: &str| git(&place, &["diff", "main", "fix", "--", path]) + "\n";
    let (work, tests) = (diff("calc.py"), diff("tests/test_calc.py"));
    let text = |text: &str| Json::from(text).to_text();
    let task = |id: &str, repo: &str| {
        format!(
            r#"{{"instance_id":"{id}","repo":"{repo}","base_commit":"{base}","test_patch":{},"version":"1","patch":"",
            "FAIL_TO_PASS":"[\"tests.test_calc.Totals.test_two\"]","PASS_TO_PASS":["tests.test_calc.Totals.test_none"]}}"#,
            text(&tests)
        )
        .replace("\n            ", "")
    };
    place.file(
        "tasks.jsonl",
        [task("a-1", "me/p"), task("a-2", "me/p"), task("out", "../q"), task("bad", "p")].join("\n"),
    );
    let prediction = |id: &str, patch: &str| format!(r#"{{"instance_id":"{id}","model_patch":{}}}"#, text(patch));
    let predictions = [
        prediction("a-1", &work),
        prediction("a-2", ""),
        prediction("out", &work),
        prediction("bad", "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-no\n+yes\n"),
        prediction("unknown", &work),
    ];
    place.file("predictions.jsonl", predictions.join("\n"));
    let verify = || {
        let options = ["verify", "--tasks", "tasks.jsonl", "--repos", ".", "--predictions", "predictions.jsonl"];
        let command = ["--", "python3", "-m", "unittest", "discover", "-s", "tests", "-t", "."];
        place.run(&[&options[..], &["--verbose"], &command[..]].concat())
    };
    let done = verify();
    assert_eq!(done.code, 2, "{done:?}");
    for says in ["pass ./p (a-1): 2 of 2 checks passed", "partial ./p (a-2): 1 of 2 checks passed"] {
        assert!(done.stdout.contains(says), "{says}: {done:?}");
    }
    for says in ["find the repository `../q` in `.`", "patch failed: calc.py:1", "there is no such task"] {
        assert!(done.stderr.contains(says), "{says}: {done:?}");
    }
    for (line, says) in [
        ("{}", "no test has to pass"),
        ("[]", "expected an object"),
        (r#"{"FAIL_TO_PASS": "[1]"}"#, "expected a list of texts"),
        (r#"{"FAIL_TO_PASS": "[", "a": 1}"#, "read `FAIL_TO_PASS`"),
        (r#"{"FAIL_TO_PASS": ["a"]}"#, "find the text `repo`"),
    ] {
        place.file("tasks.jsonl", format!("\n{line}\n"));
        let done = verify();
        assert!(done.code == 2 && done.stderr.contains(says) && done.stderr.contains("line 2"), "{line}: {done:?}");
    }
    place.file("tasks.jsonl", [task("a-1", "p"), task("a-1", "p")].join("\n"));
    let twice = verify();
    assert!(twice.code == 2 && twice.stderr.contains("the instance `a-1` is there twice"), "{twice:?}");
}
