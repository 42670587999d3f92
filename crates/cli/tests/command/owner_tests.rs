//! `verify --dir --tests-from`: tests that are not the submission's.

use std::fs;
use std::process::Command;

use proofmark_receipt::{Json, Object, Receipt, Verdict};

use crate::run::{Done, Place};

pub(crate) const RIGHT: &str = "def total(xs):\n    return sum(xs)\n";
pub(crate) const WRONG: &str = "def total(xs):\n    return 0\n";
pub(crate) const TESTS: &str = "import unittest
from calc import total

class Totals(unittest.TestCase):
    def test_none(self):
        self.assertEqual(total([]), 0)

    def test_two(self):
        self.assertEqual(total([1, 2]), 3)
";
/// Tests that test nothing.
const LOOSE: &str = "import unittest\n\nclass Totals(unittest.TestCase):\n    def test_none(self):\n        pass\n";
pub(crate) const UNITTEST: &str = "python3 -m unittest discover -s tests -t .";

pub(crate) fn git(place: &Place, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main", "-C"])
        .arg(place.path("p"))
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn commit(place: &Place) -> String {
    git(place, &["add", "-A"]);
    git(place, &["commit", "-q", "-m", "a"]);
    git(place, &["rev-parse", "HEAD"])
}

/// A project whose base has two tests, as a commit of `main`.
fn project() -> (Place, String) {
    let place = Place::new();
    place.file("p/calc.py", RIGHT);
    place.file("p/tests/__init__.py", "");
    place.file("p/tests/test_calc.py", TESTS);
    place.file("p/proofmark.yaml", format!("command: {UNITTEST}\n"));
    git(&place, &["init", "-q"]);
    let base = commit(&place);
    git(&place, &["checkout", "-q", "-b", "work"]);
    (place, base)
}

fn verify(place: &Place, options: &[&str]) -> Done {
    place.run(&[&["verify", "--dir", "p"], options].concat())
}

fn receipt(place: &Place, options: &[&str]) -> Receipt {
    let done = verify(place, &[options, &["--json"]].concat());
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn tests_from(receipt: &Receipt) -> Object {
    receipt.metadata().get("tests_from").and_then(Json::as_object).expect("the receipt says it").clone()
}

fn changed(receipt: &Receipt) -> Vec<String> {
    let changes = tests_from(receipt);
    let text = |change: &Json, name: &str| change.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
    let changes = changes.get("changed").and_then(Json::as_array).unwrap();
    changes.iter().map(|change| format!("{} {}", text(change, "path"), text(change, "change"))).collect()
}

/// What a hostile submission brings: nothing of it may run.
pub(crate) fn plant(place: &Place) {
    let evil = "import os\nos._exit(0)\n";
    place.file("p/tests/test_calc.py", LOOSE);
    place.file("p/tests/test_more.py", evil);
    for planted in ["sitecustomize.py", "unittest/__init__.py", "usercustomize/__init__.py", "tests/conftest.py"] {
        place.file(&format!("p/{planted}"), evil);
    }
    place.file("p/evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n");
    place.file("p/proofmark.yaml", "command: bash -c true\n");
}

#[test]
fn the_owners_tests_judge_what_the_submission_brings() {
    let (place, base) = project();
    plant(&place);
    place.file("p/calc.py", WRONG);
    let own = receipt(&place, &[]);
    assert_eq!(own.verdict(), Verdict::Pass, "the submission judges itself: {}", own.to_text());
    assert!(tests_from(&own).contains("submission"));

    let judged = receipt(&place, &["--tests-from", "main"]);
    assert_eq!((judged.verdict(), judged.results().passed, judged.results().total), (Verdict::Partial, 1, 2));
    let tests = tests_from(&judged);
    assert_eq!(tests.get("commit").and_then(Json::as_str), Some(base.as_str()));
    assert_eq!(tests.get("ref").and_then(Json::as_str), Some("main"));
    assert_eq!(tests.get("fewer"), Some(&Json::from(1_u64)));
    let expected = [
        "evil.egg-info/entry_points.txt added",
        "proofmark.yaml changed",
        "sitecustomize.py added",
        "tests/conftest.py added",
        "tests/test_calc.py changed",
        "tests/test_more.py added",
        "unittest/__init__.py added",
        "usercustomize/__init__.py added",
    ];
    assert_eq!(changed(&judged), expected);
    // What was submitted is what was hashed.
    assert_eq!(judged.hashes().output, own.hashes().output);

    place.file("p/calc.py", RIGHT);
    let right = receipt(&place, &["--tests-from", "main"]);
    assert_eq!((right.verdict(), right.results().passed), (Verdict::Pass, 2), "{}", right.to_text());
    assert_eq!(right.hashes().tests, judged.hashes().tests, "the digest of the tests is the owner's");
    // A folder of the same files holds the same tests.
    git(&place, &["worktree", "add", "-q", "../owner", "main"]);
    let folder = receipt(&place, &["--tests-from", "./owner"]);
    assert_eq!((folder.verdict(), folder.hashes().tests), (Verdict::Pass, right.hashes().tests));
}

/// As the owner's tests, with so many bytes more.
fn padded(bytes: usize) -> String {
    format!("{TESTS}\n{}", "# padding\n".repeat(bytes / 10))
}

#[test]
fn large_files_of_tests_are_read_and_contradicted() {
    let (place, _) = project();
    place.file("p/tests/test_calc.py", padded(300 << 10));
    git(&place, &["commit", "-qam", "large"]);
    let same = receipt(&place, &["--tests-from", "work"]);
    let counter = same.metadata().get("counter_run").and_then(Json::as_object).unwrap().clone();
    assert_eq!(counter.get("altered"), Some(&Json::from(2_u64)), "{}", same.to_text());
    assert_eq!((same.verdict(), tests_from(&same).get("fewer")), (Verdict::Pass, Some(&Json::from(0_u64))));
    place.file("p/tests/test_calc.py", padded(400 << 10).replace("def test_", "def no_test_"));
    assert_eq!(tests_from(&receipt(&place, &["--tests-from", "work"])).get("fewer"), Some(&Json::from(2_u64)));
    // What is too large to be read counts against a submission that changed it.
    place.file("p/tests/test_calc.py", padded(5 << 20));
    git(&place, &["commit", "-qam", "too large"]);
    let strict = ["--tests-from", "work", "--strict-tests"];
    assert_eq!(verify(&place, &strict).code, 0);
    place.file("p/tests/test_calc.py", "");
    let refused = verify(&place, &strict);
    assert!(refused.code == 1 && refused.stdout.contains("has 1 test fewer"), "{refused:?}");
}

#[test]
fn every_format_says_what_the_submission_changed() {
    let (place, _) = project();
    fs::remove_file(place.path("p/tests/test_calc.py")).unwrap();
    place.file("p/conftest.py", "");
    for format in ["human", "junit", "tap", "github", "sarif", "markdown"] {
        let done = verify(&place, &["--tests-from", "main", "--format", format]);
        assert_eq!(done.code, 0, "{done:?}");
        let told = "conftest.py added; tests/test_calc.py removed; 2 tests fewer than the owner's";
        let mut said = done.stdout.replace("&apos;", "'");
        for (escape, letter) in [("&#39;", "'"), ("&#95;", "_"), ("&#45;", "-")] {
            said = said.replace(escape, letter);
        }
        assert!(said.contains(told), "{format}: {}", done.stdout);
        assert!(done.stderr.contains(told), "{format}: {}", done.stderr);
    }
    let strict = verify(&place, &["--tests-from", "main", "--strict-tests"]);
    assert_eq!(strict.code, 1, "{strict:?}");
    assert!(strict.stdout.contains("the submission has 2 tests fewer than the owner's"), "{strict:?}");
    git(&place, &["checkout", "-q", "--", "tests"]);
    assert_eq!(verify(&place, &["--tests-from", "main", "--strict-tests"]).code, 0);
}

#[test]
fn without_it_the_tests_are_said_to_be_the_submissions() {
    let (place, _) = project();
    let done = verify(&place, &[]);
    assert!(done.stderr.contains("tests: the submission's own; --tests-from REF holds the owner's"), "{done:?}");
    fs::remove_dir_all(place.path("p/.git")).unwrap();
    let done = verify(&place, &[]);
    assert!(done.code == 0 && !done.stderr.contains("--tests-from"), "{done:?}");
}

#[test]
fn files_are_explained_before_anything_runs() {
    let (place, _) = project();
    place.file("p/conftest.py", "");
    place.file("p/checks/data.txt", "");
    place.file("p/tests/own.txt", "");
    let done = verify(&place, &["--tests-from", "main", "--explain"]);
    let expected = [
        "calc.py  from the submission  (no rule; as submitted)",
        "checks/data.txt  from the submission  (no rule; as submitted)",
        "conftest.py  from nowhere  (pytest and unittest: conftest.py; added by the submission)",
        "proofmark.yaml  from main  (any runner: proofmark.yaml; unchanged)",
        "tests/__init__.py  from main  (pytest and unittest: tests/; unchanged)",
        "tests/own.txt  from nowhere  (pytest and unittest: tests/; added by the submission)",
        "tests/test_calc.py  from main  (pytest and unittest: tests/; unchanged)",
    ];
    assert_eq!(done.stdout.lines().collect::<Vec<_>>(), expected, "{done:?}");
    // Settings add to the rules, and take from them; the submission's own count for nothing.
    place.file("p/proofmark.yaml", "tests: ['!tests/', '!conftest.py']\n");
    assert_eq!(verify(&place, &["--tests-from", "main", "--explain"]).stdout.lines().count(), expected.len());
    place.file("settings.yaml", format!("command: {UNITTEST}\ntests: ['checks/', '!tests/own.txt']\n"));
    let done = verify(&place, &["--tests-from", "main", "--config", "settings.yaml", "--explain"]);
    assert!(done.stdout.contains("checks/data.txt  from nowhere  (`tests` in the settings: checks/"), "{done:?}");
    assert!(done.stdout.contains("tests/own.txt  from the submission"), "{done:?}");
}

#[test]
fn a_name_stands_for_one_commit_or_is_refused() {
    let (place, base) = project();
    plant(&place);
    place.file("p/calc.py", WRONG);
    let evil = commit(&place);
    let refused = |name: &str, says: &str| {
        let done = verify(&place, &[&format!("--tests-from={name}")]);
        assert!(done.code == 2 && done.stderr.contains(says), "{name}: {done:?}");
    };
    // A branch of the submission is another commit, and the receipt says which.
    assert_eq!(tests_from(&receipt(&place, &["--tests-from", "work"])).get("commit"), Some(&Json::from(evil.as_str())));
    // Git would take the tag, which anyone may push, for the branch of the same name.
    git(&place, &["tag", "main", &evil]);
    refused("main", "it stands for refs/tags/main and for refs/heads/main");
    refused("main~0", "it stands for refs/tags/main and for refs/heads/main");
    assert_eq!(receipt(&place, &["--tests-from", "refs/heads/main"]).verdict(), Verdict::Partial);
    assert_eq!(receipt(&place, &["--tests-from", &base]).verdict(), Verdict::Partial);
    git(&place, &["tag", &base[..10], &evil]);
    refused(&base[..10], "and for");
    // A folder does not stand in for a branch, and needs its path.
    place.file("owner/tests/test_calc.py", TESTS);
    refused("owner", "it is not a commit of the repository, but a folder");
    for name in ["-h", "--output=x", "", "no-such", "main\nx"] {
        refused(name, "failed to find");
    }
    place.file("empty/calc.py", RIGHT);
    let done = verify(&place, &["--tests-from", "./empty", "--", "python3", "-m", "unittest"]);
    assert!(done.code == 2 && done.stderr.contains("none of its files is a test"), "{done:?}");
}

#[test]
fn a_repository_that_was_tampered_with_is_not_believed() {
    let (place, _) = project();
    plant(&place);
    place.file("p/calc.py", WRONG);
    let evil = commit(&place);
    // An object in place of another, a graft and a filter change nothing.
    git(&place, &["replace", "-f", "main", &evil]);
    place.file("p/.git/info/attributes", "* text eol=crlf filter=evil\n");
    git(&place, &["config", "filter.evil.smudge", "echo evil"]);
    assert_eq!(receipt(&place, &["--tests-from", "refs/heads/main"]).verdict(), Verdict::Partial);
    git(&place, &["replace", "-d", "main"]);
    // Another content under the id of a test.
    let path = |id: &str| place.path(&format!("p/.git/objects/{}/{}", &id[..2], &id[2..]));
    let (theirs, ours) = (
        git(&place, &["rev-parse", "main:tests/test_calc.py"]),
        git(&place, &["rev-parse", "work:tests/test_calc.py"]),
    );
    fs::remove_file(path(&theirs)).unwrap();
    fs::copy(path(&ours), path(&theirs)).unwrap();
    let done = verify(&place, &["--tests-from", "refs/heads/main"]);
    assert!(done.code == 2 && done.stdout.is_empty(), "{done:?}");
    // A folder of the submission that looks like a repository is none.
    let (place, _) = project();
    let bare = place.path("p/sub");
    let cloned = Command::new("git").args(["clone", "-q", "--bare"]).arg(place.path("p")).arg(&bare).status().unwrap();
    assert!(cloned.success());
    let done = place.run(&["verify", "--dir", "p/sub", "--tests-from", "work", "--", "python3", "-m", "unittest"]);
    assert!(done.code == 2 && !done.stderr.contains("holds no files"), "{done:?}");
}

#[test]
fn a_file_where_the_owner_has_a_folder_is_the_submissions_fault() {
    let (place, _) = project();
    fs::remove_dir_all(place.path("p/tests")).unwrap();
    place.file("p/tests", "");
    let judged = receipt(&place, &["--tests-from", "main"]);
    assert_ne!(judged.verdict(), Verdict::Pass, "{}", judged.to_text());
    assert!(judged.to_text().contains("one would be a file and a folder"), "{}", judged.to_text());
    // The owner's own link is not laid out, and said.
    let (place, _) = project();
    git(&place, &["checkout", "-q", "main"]);
    std::os::unix::fs::symlink("/etc/passwd", place.path("p/tests/data")).unwrap();
    commit(&place);
    let done = verify(&place, &["--tests-from", "main", "--quiet"]);
    assert!(done.code == 0 && done.stderr.contains("left out `tests/data`: it is a link"), "{done:?}");
}
