//! Hooks of git: a push that is refused changes nothing.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use super::place::{Made, Place, said};

/// A place with a bare repository that has the hook.
fn guarded(options: &[&str]) -> Option<Place> {
    let place = Place::new()?;
    place.git(".", &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    place.git("work", &["remote", "add", "origin", "../origin.git"]);
    let install = ["gate", "install", "--pre-receive", "--repo", "origin.git", "--policy", "gate.yaml"];
    place.ok(&[&install[..], &["--trust", "verification=verifier.pub"], options].concat());
    Some(place)
}

fn push(place: &Place, what: &[&str]) -> Output {
    place.try_git("work", &[&["push", "origin"][..], what].concat())
}

/// What a reference of the bare repository is.
fn there(place: &Place, name: &str) -> String {
    place.git("origin.git", &["for-each-ref", "--format=%(objectname)", name])
}

#[track_caller]
fn refused(place: &Place, what: &[&str]) {
    let before = place.git("origin.git", &["for-each-ref"]);
    let output = push(place, what);
    assert!(!output.status.success() && said(&output).contains("pre-receive hook declined"), "{}", said(&output));
    assert_eq!(place.git("origin.git", &["for-each-ref"]), before, "nothing has changed");
}

#[track_caller]
fn accepted(place: &Place, what: &[&str]) {
    let output = push(place, what);
    assert!(output.status.success(), "{}", said(&output));
}

/// Puts a receipt over a tree of `work` beside it.
fn note(place: &Place, tree: &str) {
    let receipt = place.receipt(&Made::over(&place.digest(tree)));
    place.ok(&["gate", "note", "--repo", "work", "--tree", tree, &receipt]);
}

const NOTES: &str = "refs/notes/proofmark";

#[test]
fn a_push_passes_once_a_receipt_over_its_tree_is_there() {
    let Some(place) = guarded(&[]) else { return };
    let first = place.commit("a.txt", "one\n");
    let output = push(&place, &["main"]);
    let reason = "remote:   not met tested.require[0]: missing_receipt";
    assert!(!output.status.success() && said(&output).contains(reason), "{}", said(&output));
    note(&place, "HEAD");
    // Together with its notes, or after them.
    accepted(&place, &["main", NOTES]);
    let second = place.commit("a.txt", "two\n");
    refused(&place, &["main"]);
    // A receipt over the tree before it is one over another.
    let receipt = place.text(&Made::over(&place.digest("HEAD~")));
    std::fs::write(place.at("note"), receipt).unwrap();
    place.git("work", &["notes", "--ref", "proofmark", "add", "-F", "../note", "HEAD^{tree}"]);
    refused(&place, &["main", NOTES]);
    place.git("work", &["notes", "--ref", "proofmark", "remove", "HEAD^{tree}"]);
    note(&place, "HEAD");
    accepted(&place, &[NOTES]);
    accepted(&place, &["main"]);
    assert_eq!(there(&place, "refs/heads/main"), second);
    // Back to what was tested is a tested tree as well.
    accepted(&place, &["--force", &format!("{first}:refs/heads/main")]);
}

#[test]
fn references_that_change_how_others_are_read_are_refused() {
    let Some(place) = guarded(&[]) else { return };
    let tested = place.commit("a.txt", "tested\n");
    note(&place, "HEAD");
    accepted(&place, &["main", NOTES]);
    place.commit("a.txt", "harmful\n");
    for reference in [
        format!("refs/replace/{tested}"),
        format!("refs/Replace/{tested}"),
        "refs/namespaces/a/refs/heads/main".to_owned(),
    ] {
        refused(&place, &[&format!("HEAD:{reference}")]);
    }
    let mut push = place.command("git");
    push.args(["-C", "work", "push", "origin", "HEAD:refs/heads/main"]).env("GIT_NAMESPACE", "a");
    let output = push.output().unwrap();
    assert!(!output.status.success() && said(&output).contains("namespace"), "{}", said(&output));
}

#[test]
fn notes_are_evidence_wherever_git_puts_them_and_prove_nothing_by_themselves() {
    let Some(place) = guarded(&[]) else { return };
    // So many that git sorts them into folders.
    for at in 0..300 {
        place.git("work", &["hash-object", "-w", "--stdin"]);
        let blob =
            place.command("sh").args(["-c", &format!("echo {at} | git -C work hash-object -w --stdin")]).output();
        let blob = String::from_utf8(blob.unwrap().stdout).unwrap();
        place.git("work", &["notes", "--ref", "proofmark", "add", "-m", "not a receipt", blob.trim()]);
    }
    place.commit("a.txt", "one\n");
    let forged = place.text(&Made { forged: true, ..Made::over(&place.digest("HEAD")) });
    std::fs::write(place.at("note"), format!("hello\n{forged}\n")).unwrap();
    place.git("work", &["notes", "--ref", "proofmark", "add", "-F", "../note", "HEAD"]);
    refused(&place, &["main", NOTES]);
    let stranger = place.text(&Made { signer: "stranger", ..Made::over(&place.digest("HEAD")) });
    std::fs::write(place.at("note"), stranger).unwrap();
    place.git("work", &["notes", "--ref", "proofmark", "append", "-F", "../note", "HEAD"]);
    refused(&place, &["main", NOTES]);
    // A note that is not a receipt is not an error, and another on the same commit counts.
    let good = place.text(&Made::over(&place.digest("HEAD")));
    std::fs::write(place.at("note"), good).unwrap();
    place.git("work", &["notes", "--ref", "proofmark", "append", "-F", "../note", "HEAD"]);
    let listed = place.git("work", &["ls-tree", "-r", "--name-only", NOTES]);
    assert!(listed.contains('/'), "notes are in folders");
    accepted(&place, &["main", NOTES]);
}

#[test]
fn a_push_may_carry_the_receipt_itself() {
    let Some(place) = guarded(&[]) else { return };
    place.git("origin.git", &["config", "receive.advertisePushOptions", "true"]);
    place.commit("a.txt", "one\n");
    refused(&place, &["-o", "proofmark-receipt={}", "-o", "other", "main"]);
    let receipt = place.text(&Made::over(&place.digest("HEAD")));
    accepted(&place, &["-o", &format!("proofmark-receipt={receipt}"), "main"]);
}

#[test]
fn every_protected_reference_of_a_push_must_pass() {
    let Some(place) = guarded(&[]) else { return };
    place.commit("a.txt", "one\n");
    note(&place, "HEAD");
    place.git("work", &["branch", "good"]);
    place.commit("a.txt", "two\n");
    refused(&place, &["main", "good", NOTES]);
    accepted(&place, &["good", NOTES]);
    // Other references pass, since only branches are protected.
    place.git("work", &["tag", "v1"]);
    accepted(&place, &["v1"]);
    refused(&place, &["v1:refs/heads/v1"]);
    // A branch cannot be removed: a policy that asks for a tree has none to look at.
    refused(&place, &[":good"]);
    // Nor moved under another name that it has.
    place.git("origin.git", &["symbolic-ref", "refs/other/alias", "refs/heads/good"]);
    refused(&place, &["--force", "main:refs/other/alias"]);
    place.git("origin.git", &["symbolic-ref", "refs/other/again", "refs/other/new"]);
    place.git("origin.git", &["symbolic-ref", "refs/other/new", "refs/heads/new"]);
    refused(&place, &["main:refs/other/again"]);
}

#[test]
fn a_policy_says_what_may_be_deleted_or_forced() {
    let Some(place) = guarded(&["--protect", "refs/heads/*", "--protect", "refs/tags/*"]) else { return };
    let policy = super::place::POLICY.replace("SUITE", &super::place::suite()).replace(
        "match: {action_class: code_merge}",
        "match: {action_class: code_merge, method: [create, update]}\n    deny:\n      - {when: action.args.forced, reason: {code: forced, message: A branch keeps its commits.}}",
    ) + "  - id: removed\n    match: {action_class: code_merge, method: delete, target: refs/heads/topic/*}\n";
    std::fs::write(place.at("gate.yaml"), policy).unwrap();
    let first = place.commit("a.txt", "one\n");
    note(&place, "HEAD");
    place.commit("a.txt", "two\n");
    note(&place, "HEAD");
    accepted(&place, &["main", "main:refs/heads/topic/a", NOTES]);
    refused(&place, &["--force", &format!("{first}:refs/heads/main")]);
    refused(&place, &[":main"]);
    accepted(&place, &[":topic/a"]);
    // A tag that is an object of its own stands for the tree of its commit.
    place.git("work", &["tag", "-a", "-m", "x", "v1"]);
    accepted(&place, &["v1"]);
    let blob = place.git("work", &["rev-parse", "HEAD:a.txt"]);
    refused(&place, &[&format!("{blob}:refs/tags/blob")]);
}

#[test]
fn the_tip_of_a_branch_is_looked_at_or_every_commit() {
    for (options, passes) in [(&[][..], true), (&["--commits", "all"][..], false)] {
        let Some(place) = guarded(options) else { return };
        place.commit("a.txt", "one\n");
        note(&place, "HEAD");
        accepted(&place, &["main", NOTES]);
        place.commit("a.txt", "never tested\n");
        place.commit("a.txt", "three\n");
        note(&place, "HEAD");
        accepted(&place, &[NOTES]);
        // On a reference that is not protected, the commits are there before.
        accepted(&place, &["main:refs/drafts/a"]);
        assert_eq!(push(&place, &["main"]).status.success(), passes, "{options:?}");
        if !passes {
            note(&place, "HEAD~");
            accepted(&place, &["main", NOTES]);
        }
    }
}

#[test]
fn a_commit_that_was_overwritten_hides_none_that_is_new() {
    let Some(place) = guarded(&["--commits", "all"]) else { return };
    place.commit("a.txt", "one\n");
    note(&place, "HEAD");
    accepted(&place, &["main", NOTES]);
    place.git("work", &["checkout", "-q", "-b", "other"]);
    let known = place.commit("b.txt", "other\n");
    note(&place, "HEAD");
    accepted(&place, &["other", NOTES]);
    place.git("work", &["checkout", "-q", "main"]);
    let untested = place.commit("a.txt", "never tested\n");
    let tip = place.commit("a.txt", "three\n");
    note(&place, "HEAD");
    accepted(&place, &[NOTES]);
    accepted(&place, &["main:refs/drafts/a"]);
    // Where the repository has the commit of `other`, it has one that continues the untested one.
    let fake = place.git("work", &["commit-tree", "-p", &untested, "-m", "fake", "HEAD^{tree}"]);
    let object = |repository: &str, id: &str| place.at(repository).join("objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(object("origin.git", &known)).unwrap();
    std::fs::copy(object("work/.git", &fake), object("origin.git", &known)).unwrap();
    let listed = place.git("origin.git", &["-c", "core.commitGraph=false", "rev-list", &tip, &format!("^{known}")]);
    assert!(!listed.contains(&untested), "for git, it is not new: {listed}");
    let output = push(&place, &["main"]);
    let reason = format!("read the object {known}: the repository has content of another object");
    assert!(!output.status.success() && said(&output).contains(&reason), "{}", said(&output));
}

#[test]
fn every_commit_is_one_that_no_known_reference_continues() {
    let Some(place) = guarded(&["--commits", "all"]) else { return };
    let certified = |text: &str| {
        let id = place.commit("a.txt", text);
        note(&place, "HEAD");
        id
    };
    certified("one\n");
    accepted(&place, &["main", NOTES]);
    certified("two\n");
    accepted(&place, &["main", NOTES]);
    // A branch of an earlier commit brings nothing new, and one that continues it brings its own.
    accepted(&place, &["main~:refs/heads/old"]);
    place.git("work", &["checkout", "-q", "-b", "side", "main~"]);
    place.commit("a.txt", "never tested\n");
    certified("three\n");
    accepted(&place, &[NOTES]);
    refused(&place, &["side"]);
}

#[test]
fn a_receipt_that_counts_once_allows_one_push_and_is_not_spent_by_one_that_is_refused() {
    let Some(place) = guarded(&[]) else { return };
    let policy = std::fs::read_to_string(place.at("gate.yaml")).unwrap();
    std::fs::write(place.at("gate.yaml"), policy.replace("max_age: 7d", "max_age: 7d, single_use: true")).unwrap();
    place.commit("a.txt", "one\n");
    note(&place, "HEAD");
    place.git("work", &["branch", "one"]);
    place.commit("a.txt", "two\n");
    refused(&place, &["one", "main", NOTES]);
    accepted(&place, &["one", NOTES]);
    refused(&place, &["one:refs/heads/again"]);
    note(&place, "HEAD");
    refused(&place, &["main:refs/heads/a", "main:refs/heads/b", NOTES]);
}

#[test]
fn a_push_is_refused_where_nothing_can_be_decided() {
    let Some(place) = guarded(&[]) else { return };
    place.commit("a.txt", "one\n");
    note(&place, "HEAD");
    accepted(&place, &[NOTES]);
    std::fs::rename(place.at("gate.yaml"), place.at("away.yaml")).unwrap();
    refused(&place, &["main"]);
    std::fs::rename(place.at("away.yaml"), place.at("gate.yaml")).unwrap();
    std::fs::rename(place.at("home"), place.at("away")).unwrap();
    std::fs::write(place.at("home"), "not a folder").unwrap();
    refused(&place, &["main"]);
    std::fs::remove_file(place.at("home")).unwrap();
    std::fs::rename(place.at("away"), place.at("home")).unwrap();
    accepted(&place, &["main"]);
}

#[test]
fn a_hook_is_written_where_none_is_and_removed_as_it_was_written() {
    let Some(place) = guarded(&[]) else { return };
    let hook = place.at("origin.git/hooks/pre-receive");
    assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o111, 0o111);
    let install = ["gate", "install", "--pre-receive", "--repo", "origin.git", "--policy", "gate.yaml"];
    let uninstall = ["gate", "uninstall", "--pre-receive", "--repo", "origin.git"];
    assert_eq!(place.proofmark(&install).status.code(), Some(2), "there is one");
    let text = std::fs::read_to_string(&hook).unwrap();
    std::fs::write(&hook, format!("{text}echo more\n")).unwrap();
    assert_eq!(place.proofmark(&uninstall).status.code(), Some(2), "it was changed");
    std::fs::write(&hook, text).unwrap();
    place.ok(&uninstall);
    assert!(!hook.exists());
    assert_eq!(place.proofmark(&uninstall).status.code(), Some(2), "there is none");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    assert_eq!(place.proofmark(&uninstall).status.code(), Some(2), "it is another's");
    std::fs::remove_file(&hook).unwrap();
    // A link that leads nowhere is a hook too.
    std::os::unix::fs::symlink(place.at("nowhere"), &hook).unwrap();
    assert_eq!(place.proofmark(&install).status.code(), Some(2));
    assert!(!place.at("nowhere").exists());
    std::fs::remove_file(&hook).unwrap();
    place.git("origin.git", &["config", "core.hooksPath", place.at("shared").to_str().unwrap()]);
    assert_eq!(place.proofmark(&install).status.code(), Some(2), "other repositories may use that folder");
    place.git("origin.git", &["config", "--unset", "core.hooksPath"]);
    // The name of a key stays one, also where a folder has that name.
    for folder in ["ci", "origin.git/ci"] {
        std::fs::create_dir(place.at(folder)).unwrap();
    }
    place.ok(&["key", "new", "ci"]);
    place.ok(&[&install[..], &["--key", "ci", "--trust", "ci"]].concat());
    let text = std::fs::read_to_string(&hook).unwrap();
    assert!(text.contains(" --trust ci --key ci"), "{text}");
    place.ok(&uninstall);
    // Standard input is the hook's own.
    let given = [&install[..5], &["--policy", "-"]].concat();
    let policy = std::fs::read_to_string(place.at("gate.yaml")).unwrap();
    assert_eq!(place.given(&given, &policy).status.code(), Some(2));
    assert!(!hook.exists());
    // A path that a shell would take apart.
    std::fs::create_dir(place.at("it's $(a) folder")).unwrap();
    std::fs::rename(place.at("gate.yaml"), place.at("it's $(a) folder/gate.yaml")).unwrap();
    let install = ["gate", "install", "--pre-receive", "--repo", "origin.git", "--trust", "verification=verifier.pub"];
    place.ok(&[&install[..], &["--policy", "it's $(a) folder/gate.yaml"]].concat());
    place.commit("a.txt", "one\n");
    refused(&place, &["main"]);
    note(&place, "HEAD");
    accepted(&place, &["main", NOTES]);
}

#[test]
fn a_push_can_be_held_where_it_begins() {
    let Some(place) = guarded(&[]) else { return };
    place.ok(&["gate", "uninstall", "--pre-receive", "--repo", "origin.git"]);
    let install = ["gate", "install", "--pre-push", "--repo", "work", "--policy", "gate.yaml"];
    place.ok(&[&install[..], &["--trust", "verification=verifier.pub"]].concat());
    place.commit("a.txt", "one\n");
    assert!(!push(&place, &["main"]).status.success());
    assert!(!push(&place, &["HEAD:refs/heads/other"]).status.success());
    note(&place, "HEAD");
    accepted(&place, &["main"]);
    assert!(!push(&place, &[":main"]).status.success());
    place.commit("a.txt", "two\n");
    assert!(!push(&place, &["main"]).status.success());
    assert!(push(&place, &["--no-verify", "main"]).status.success(), "the one who pushes can skip it");
}

#[test]
fn the_input_of_a_hook_is_read_strictly() {
    let Some(place) = Place::new() else { return };
    let id = place.commit("a.txt", "one\n");
    let hook = ["gate", "--pre-receive", "--repo", "work", "--policy", "gate.yaml"];
    let zero = "0".repeat(40);
    for (input, code) in [
        (String::new(), 0),
        (format!("{zero} {id} refs/tags/v1\n"), 0),
        (format!("{zero} {id} refs/heads/main\n"), 1),
        (format!("{id} {zero} refs/heads/main\n"), 1),
        (format!("{zero} {id} refs/tags/v1\r\n"), 2),
        (format!("{zero} {id}\n"), 2),
        (format!("{zero} {} refs/heads/main\n", "1".repeat(40)), 2),
        (format!("{zero} --all refs/heads/main\n"), 2),
        (format!("{zero} {id} refs/heads/v\n").repeat(1_001), 2),
        ("x".repeat(5 << 20), 2),
    ] {
        let output = place.given(&hook, &input);
        assert_eq!(output.status.code(), Some(code), "{input:?}: {}", said(&output));
    }
}
