//! The bytes that count are those of the repository, and all of them.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use proofmark_receipt::{Json, Object};

use super::place::{Made, Place, said};

/// What `proofmark gate` says of the commit `HEAD`, for which it has a receipt over its files.
fn answer(place: &Place) -> Object {
    let output = place.proofmark(&[
        "gate",
        "--tree",
        "HEAD",
        "--repo",
        "work",
        "--policy",
        "gate.yaml",
        "--json",
        "--trust",
        "verification=verifier.pub",
        "--receipt",
        "receipt.json",
    ]);
    match Json::parse(&output.stdout) {
        Ok(Json::Object(answer)) => answer,
        _ => panic!("{}", said(&output)),
    }
}

fn allowed(place: &Place) -> bool {
    answer(place).get("allowed").and_then(Json::as_bool).unwrap()
}

/// Has a receipt over what the tree's own files are.
fn certify(place: &Place, tree: &str) {
    std::fs::write(place.at("receipt.json"), place.text(&Made::over(&place.digest(tree)))).unwrap();
}

#[test]
fn no_filter_and_no_attribute_changes_what_is_judged() {
    let Some(place) = Place::new() else { return };
    place.commit(".gitattributes", "*.txt text eol=crlf\n*.md filter=upper ident\nsecret export-ignore\n");
    place.git("work", &["config", "filter.upper.smudge", "tr a-z A-Z"]);
    place.git("work", &["config", "filter.upper.clean", "cat"]);
    place.commit("a.txt", "one\ntwo\n");
    place.commit("b.md", "small $Id$\n");
    place.commit("secret", "x");
    for name in ["a.txt", "b.md"] {
        std::fs::remove_file(place.at("work").join(name)).unwrap();
    }
    place.git("work", &["checkout", "--", "."]);
    assert_eq!(std::fs::read(place.at("work/a.txt")).unwrap(), b"one\r\ntwo\r\n", "the folder has other bytes");
    certify(&place, "HEAD");
    assert!(allowed(&place));
    // A receipt over the bytes of the folder is one over other bytes.
    let folder = Made::over("sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    std::fs::write(place.at("receipt.json"), place.text(&folder)).unwrap();
    assert!(!allowed(&place));
}

#[test]
fn an_object_that_is_replaced_is_still_the_one_of_its_id() {
    let Some(place) = Place::new() else { return };
    place.commit("a.txt", "tested\n");
    certify(&place, "HEAD");
    let tested = place.git("work", &["rev-parse", "HEAD:a.txt"]);
    place.commit("a.txt", "harmful\n");
    let harmful = place.git("work", &["rev-parse", "HEAD:a.txt"]);
    assert!(!allowed(&place));
    // For git, the commit has the tested file from here on.
    place.git("work", &["replace", &harmful, &tested]);
    assert_eq!(place.git("work", &["show", "HEAD:a.txt"]), "tested");
    assert!(!allowed(&place));
    let (tree, good) =
        (place.git("work", &["rev-parse", "HEAD^{tree}"]), place.git("work", &["rev-parse", "HEAD~^{tree}"]));
    place.git("work", &["replace", &tree, &good]);
    assert!(!allowed(&place));
}

/// Puts the object `other` where the repository has the object `id`.
fn overwrite(place: &Place, id: &str, other: &str) {
    let file = |id: &str| place.at("work/.git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(file(id)).unwrap();
    std::fs::copy(file(other), file(id)).unwrap();
}

#[test]
fn an_object_that_was_overwritten_is_not_the_one_of_its_id() {
    for what in ["HEAD:a.txt", "HEAD^{tree}", "HEAD"] {
        let Some(place) = Place::new() else { return };
        place.commit("a.txt", "tested\n");
        certify(&place, "HEAD");
        let tested = place.git("work", &["rev-parse", what]);
        place.commit("a.txt", "harmful\n");
        let harmful = place.git("work", &["rev-parse", what]);
        overwrite(&place, &harmful, &tested);
        if what != "HEAD" {
            // For git, the commit has the tested file from here on.
            assert_eq!(place.git("work", &["cat-file", "-p", "HEAD:a.txt"]), "tested", "{what}");
        }
        let gate = ["gate", "--tree", "HEAD", "--repo", "work", "--policy", "gate.yaml"];
        for command in [&gate[..], &["verify", "--dir", "work", "--tree", "HEAD", "--", "true"]] {
            let output = place.proofmark(command);
            assert_eq!(output.status.code(), Some(2), "{what}: {}", said(&output));
            let reason = format!("read the object {harmful}: the repository has content of another object");
            assert!(said(&output).contains(&reason), "{what}: {}", said(&output));
        }
    }
}

#[test]
fn git_is_started_without_what_is_secret() {
    let Some(place) = Place::new() else { return };
    place.commit("a.txt", "one\n");
    certify(&place, "HEAD");
    let git = place.command("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    std::fs::create_dir(place.at("bin")).unwrap();
    let script = format!("#!/bin/sh\nenv >> {}\nexec {} \"$@\"\n", place.at("seen").display(), git.trim());
    std::fs::write(place.at("bin/git"), script).unwrap();
    std::fs::set_permissions(place.at("bin/git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(env!("CARGO_BIN_EXE_proofmark"));
    command.env("PATH", format!("{}:{}", place.at("bin").display(), std::env::var("PATH").unwrap()));
    command.env("PROOFMARK_PASSPHRASE", "correct horse");
    command.args(["gate", "--tree", "HEAD", "--repo", "work", "--policy", "gate.yaml"]);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    let seen = std::fs::read_to_string(place.at("seen")).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("PROOFMARK_"), "{seen}");
}

#[test]
fn a_tree_with_what_no_receipt_covers_has_no_digest() {
    let Some(place) = Place::new() else { return };
    place.commit("a.txt", "one\n");
    certify(&place, "HEAD");
    assert!(allowed(&place));
    let base = place.git("work", &["rev-parse", "HEAD"]);
    let commit = |what: &str| {
        place.git("work", &["add", "-A", "-f"]);
        place.git("work", &["commit", "-q", "-m", what]);
        let answer = answer(&place);
        let is_refused = answer.get("allowed").and_then(Json::as_bool) == Some(false) && !answer.contains("digest");
        assert!(is_refused, "{what}: {answer:?}");
        place.git("work", &["reset", "-q", "--hard", &base]);
    };
    symlink("/etc/passwd", place.at("work/link")).unwrap();
    commit("a link");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(place.at("work").join(name), "x").unwrap();
    commit("a name that is not UTF-8");
    std::fs::write(place.at("work/a\nb"), "x").unwrap();
    commit("a name with a line break");
    for folder in ["node_modules", "target", "sub/.venv"] {
        std::fs::create_dir_all(place.at("work").join(folder)).unwrap();
        std::fs::write(place.at("work").join(folder).join("x.js"), "x").unwrap();
        commit(folder);
    }
    place.git("work", &["update-index", "--add", "--cacheinfo", &format!("160000,{base},module")]);
    place.git("work", &["commit", "-q", "-m", "a submodule"]);
    assert!(!answer(&place).contains("digest"));
    // A policy may accept a link: then it says so, and asks for the digest of the files.
    let policy = super::place::POLICY
        .replace("SUITE", &super::place::suite())
        .replace("action.args.digest", "action.args.files_digest")
        .replace(
            "    require:\n",
            "    require:\n      - fact: action.args.left_out.folders == 0 && action.args.left_out.names == 0\n",
        );
    std::fs::write(place.at("gate.yaml"), policy).unwrap();
    assert!(allowed(&place));
}

#[test]
fn modes_are_counted_and_not_covered() {
    let Some(place) = Place::new() else { return };
    place.commit("run.sh", "echo\n");
    certify(&place, "HEAD");
    std::fs::set_permissions(place.at("work/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    place.git("work", &["commit", "-q", "-a", "-m", "executable"]);
    assert!(allowed(&place));
    let policy = std::fs::read_to_string(place.at("gate.yaml")).unwrap();
    std::fs::write(place.at("gate.yaml"), policy + "      - fact: action.args.executable == 0\n").unwrap();
    assert!(!allowed(&place));
}

#[test]
fn a_tree_is_as_large_as_a_receipt_can_cover() {
    let Some(place) = Place::new() else { return };
    let import = |files: usize, folders: &str| {
        let mut text = String::from(
            "blob\nmark :1\ndata 1\nx\ncommit refs/heads/main\ncommitter a <a@example.org> 1 +0000\ndata 1\nx\ndeleteall\n",
        );
        for at in 0..files {
            // Git takes long to add files to a folder that has many.
            writeln!(text, "M 100644 :1 {folders}{}/f{at}", at / 1_000).unwrap();
        }
        let mut command = place.command("git");
        command.args(["-C", "work", "fast-import", "--quiet", "--force"]).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    };
    let gate = |expected: i32| {
        let output = place.proofmark(&[
            "gate",
            "--tree",
            "main",
            "--repo",
            "work",
            "--policy",
            "gate.yaml",
            "--trust",
            "verification=verifier.pub",
            "--receipt",
            "receipt.json",
        ]);
        assert_eq!(output.status.code(), Some(expected), "{}", said(&output));
    };
    import(50_000, "");
    let line = |path: &str| format!("{}  {path}\n", proofmark_receipt::Sha256Digest::of(b"x").bare_hex());
    let mut names: Vec<String> = (0..50_000).map(|at| format!("{}/f{at}", at / 1_000)).collect();
    names.sort();
    let listed: String = names.iter().map(|name| line(name)).collect();
    let digest = proofmark_receipt::Sha256Digest::of(listed.as_bytes()).to_string();
    std::fs::write(place.at("receipt.json"), place.text(&Made::over(&digest))).unwrap();
    gate(0);
    import(proofmark_checks::MAX_PROJECT_FILES + 1, "");
    gate(2);
    import(1, &"d/".repeat(64));
    gate(2);
    // An empty tree is a tree that nobody has tested.
    import(0, "");
    std::fs::write(place.at("receipt.json"), place.text(&Made::over(&place.digest("main")))).unwrap();
    gate(1);
    let large = std::fs::File::create(place.at("work/large")).unwrap();
    large.set_len(proofmark_checks::MAX_PROJECT_BYTES + 1).unwrap();
    place.git("work", &["-c", "core.compression=0", "add", "large"]);
    place.git("work", &["commit", "-q", "-m", "large"]);
    gate(2);
}

#[test]
fn repositories_with_sha_256_are_read() {
    let Some(place) = Place::new() else { return };
    std::fs::remove_dir_all(place.at("work")).unwrap();
    if !place.try_git(".", &["init", "-q", "-b", "main", "--object-format=sha256", "work"]).status.success() {
        return proofmark_testing::skip("git", "this git knows no SHA-256");
    }
    place.commit("a/b.txt", "one\n");
    place.git("work", &["init", "-q", "--bare", "--object-format=sha256", "../origin.git"]);
    place.ok(&[
        "gate",
        "install",
        "--pre-receive",
        "--repo",
        "origin.git",
        "--policy",
        "gate.yaml",
        "--trust",
        "verification=verifier.pub",
    ]);
    let push = ["push", "-q", "../origin.git", "main", "refs/notes/*:refs/notes/*"];
    assert!(!place.try_git("work", &push).status.success());
    let digest = {
        // `ls-tree` has longer ids here.
        let hash = proofmark_receipt::Sha256Digest::of(b"one\n").bare_hex();
        proofmark_receipt::Sha256Digest::of(format!("{hash}  a/b.txt\n").as_bytes()).to_string()
    };
    let receipt = place.receipt(&Made::over(&digest));
    place.ok(&["gate", "note", "--repo", "work", "--tree", "HEAD", &receipt]);
    let pushed = place.try_git("work", &push);
    assert!(pushed.status.success(), "{}", said(&pushed));
}
