//! `verify --dir` and what git ignores: it is not part of the submission.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proofmark_receipt::{Receipt, Verdict};

use crate::owner_tests::{commit, git};
use crate::run::{Done, Place};

fn receipt(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

fn verify(place: &Place, options: &[&str]) -> Receipt {
    receipt(&place.run(&[&["verify", "--dir", "p", "--json"], options].concat()))
}

/// A repository whose test needs `shop/_version.py`, which is generated and ignored.
fn project() -> Place {
    let place = Place::new();
    place.file("p/.gitignore", "_version.py\n/build/\n*.log\n");
    place.file("p/test_shop.py", "import unittest\nfrom shop import VERSION\nclass T(unittest.TestCase):\n    def test(self): self.assertTrue(VERSION)\n");
    place.file(
        "p/shop/__init__.py",
        "try:\n    from shop._version import VERSION\nexcept ImportError:\n    VERSION = ''\n",
    );
    git(&place, &["init", "-q"]);
    commit(&place);
    place.file("p/shop/_version.py", "VERSION = '1'\n");
    place.file("p/build/lib/shop.py", "raise SystemExit\n");
    place.file("p/shop/a.log", "a\n");
    place
}

const TEST: [&str; 4] = ["--", "python3", "-m", "unittest"];

#[test]
fn what_git_ignores_is_not_part_of_the_submission_unless_it_is_included() {
    let place = project();
    let committed = verify(&place, &[&["--tree", "HEAD"][..], &TEST].concat());
    let done = place.run(&[&["verify", "--dir", "p", "--json"], &TEST[..]].concat());
    assert_eq!(receipt(&done).hashes().output, committed.hashes().output, "{done:?}");
    assert_eq!(receipt(&done).verdict(), Verdict::Fail);
    for path in ["build", "shop/_version.py", "shop/a.log"] {
        assert!(done.stderr.contains(&format!("left out `{path}`: git ignores it")), "{done:?}");
    }
    let included = verify(&place, &[&["--include", "_version.py"][..], &TEST].concat());
    assert_eq!(included.verdict(), Verdict::Pass, "{}", included.to_text());
    // The setting is part of what was asked for, and of nothing that lacks it.
    assert_ne!(included.hashes().tests, committed.hashes().tests);
    place.file("p/proofmark.yaml", "include: shop/_version.py\n");
    let settings = verify(&place, &TEST);
    assert_eq!(settings.verdict(), Verdict::Pass, "{}", settings.to_text());
    // A folder is included with what is in it, and what is excluded is left out all the same.
    let list = ["--", "bash", "-c", "test -e build/lib/shop.py && test ! -e shop/a.log"];
    let folder =
        verify(&place, &[&["--include", "build/", "--include", "*.log", "--exclude", "a.log"], &list[..]].concat());
    assert_eq!(folder.verdict(), Verdict::Pass, "{}", folder.to_text());
}

/// A file that a commit would have is verified, whatever `.gitignore` says of it.
#[test]
fn a_tracked_file_is_verified_although_it_is_ignored() {
    let place = project();
    git(&place, &["add", "-f", "shop/_version.py"]);
    let receipt = verify(&place, &TEST);
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
}

#[test]
fn a_submission_that_changes_what_is_ignored_hides_no_test_of_the_owner() {
    let place = project();
    place.file("p/shop/__init__.py", "VERSION = ''\n");
    place.file("p/.gitignore", "*\n");
    let held = verify(&place, &[&["--tests-from", "main"][..], &TEST].concat());
    assert_eq!(held.verdict(), Verdict::Fail, "{}", held.to_text());
    // The tests of a folder, which the submission's `.gitignore` reaches.
    place.file(
        "p/owner/test_shop.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail()\n",
    );
    let done = place.run(&[&["verify", "--dir", "p", "--json", "--tests-from", "./p/owner"], &TEST[..]].concat());
    assert_eq!(receipt(&done).verdict(), Verdict::Fail, "{done:?}");
    // A new module that it ignores is told of, and is not there when the tests run.
    place.file("p/shop/extra.py", "");
    let explained = place.run(&[&["verify", "--dir", "p", "--tests-from", "main", "--explain"], &TEST[..]].concat());
    assert!(
        explained.stdout.contains("shop/extra.py  from nowhere  (git ignores it; left out of the submission)"),
        "{explained:?}"
    );
    let absent = verify(&place, &["--", "bash", "-c", "test ! -e shop/extra.py"]);
    assert_eq!(absent.verdict(), Verdict::Pass, "{}", absent.to_text());
}

/// Without a repository nothing is ignored; nor in a folder that a repository ignores as a whole.
#[test]
fn only_the_rules_of_a_repository_count() {
    let place = Place::new();
    place.file("p/.gitignore", "a.txt\n");
    place.file("p/.ignore", "a.txt\n");
    place.file("p/a.txt", "");
    let is_there = ["--", "bash", "-c", "test -e a.txt"];
    assert_eq!(verify(&place, &is_there).verdict(), Verdict::Pass);
    place.file("p/.gitignore", "/deep/\n");
    place.file("p/deep/er/a.txt", "");
    git(&place, &["init", "-q"]);
    for below in ["p/deep/er", "p/deep"] {
        let done = place.run(
            &[&["verify", "--dir", below, "--json", "--"], &["bash", "-c", "test -e a.txt -o -e er/a.txt"][..]]
                .concat(),
        );
        assert_eq!(receipt(&done).verdict(), Verdict::Pass, "{done:?}");
    }
    // What git cannot say leaves nothing out.
    place.file("p/.gitignore", "a.txt\n");
    place.file("p/.git/config", "[core\n");
    let done = place.run(&[&["verify", "--dir", "p", "--json"], &is_there[..]].concat());
    assert_eq!(receipt(&done).verdict(), Verdict::Pass, "{done:?}");
    assert!(done.stderr.contains("files that git ignores are verified, too"), "{done:?}");
}

/// To ask git must not start what a repository names.
#[test]
fn no_program_of_the_repository_is_started() {
    let place = project();
    let started = place.path("started");
    let hook = place.file("hook.sh", format!("#!/bin/sh\ntouch '{}'\n", started.display()));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    git(&place, &["config", "core.untrackedCache", "true"]);
    git(&place, &["update-index", "--untracked-cache"]);
    git(&place, &["config", "core.fsmonitor", &hook]);
    git(&place, &["status"]);
    assert!(started.exists(), "the hook is one that git starts");
    fs::remove_file(&started).unwrap();
    verify(&place, &TEST);
    assert!(!started.exists());
}
