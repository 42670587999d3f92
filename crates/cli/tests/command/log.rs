//! `proofmark log`, without a server: an auditor with files and keys.

use std::fs;

use proofmark_receipt::{Json, Object};

use crate::run::{Done, Place, RIGHT, WRONG, request};

const ORIGIN: &str = "log.example/proofmark";

fn object(done: &Done) -> Object {
    let line = done.stdout.lines().next().unwrap_or_default();
    match Json::parse(line.as_bytes()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}: {done:?}"),
    }
}

fn text(object: &Object, name: &str) -> String {
    object.get(name).and_then(Json::as_str).unwrap_or_else(|| panic!("no {name}: {object:?}")).to_owned()
}

/// Verifies the request; the id of the receipt.
pub(crate) fn verified(place: &Place, file: &str) -> String {
    let done = place.run(&["verify", file, "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    text(&object(&done), "receipt_id")
}

fn saved(place: &Place, name: &str, done: Done) -> String {
    assert_eq!(done.code, 0, "{done:?}");
    place.file(name, done.stdout)
}

#[test]
fn a_suite_that_was_logged_first_is_proven_to_stand_before_the_work() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let early = verified(&place, &file);
    let key = text(&object(&place.run(&["log", "init", ORIGIN, "--json"])), "key");
    let added = object(&place.run(&["log", "add", "--suite", &file, "--json"]));
    assert_eq!(added.get("index").unwrap().to_text(), "1");
    let late = verified(&place, &file);
    let suite = saved(&place, "suite.tlog-proof", place.run(&["log", "prove", "--suite", &file]));
    let proof = |id: &str| saved(&place, &format!("{id}.tlog-proof"), place.run(&["log", "prove", id]));
    let (early_proof, late_proof) = (proof(&early), proof(&late));
    let verify = |id: &str, proof: &str| {
        place.run(&["receipt", "verify", id, "--proof", proof, "--suite-proof", &suite, "--log-key", &key])
    };
    let good = verify(&late, &late_proof);
    assert!(good.code == 0 && good.stdout.contains("is entry 2 of 3"), "{good:?}");
    let after = verify(&early, &early_proof);
    assert!(after.code == 1 && after.stdout.contains("suite_not_before"), "{after:?}");
    let of_another = verify(&early, &late_proof);
    assert!(of_another.code == 1 && of_another.stdout.contains("inclusion_mismatch"), "{of_another:?}");

    // Only witnesses can say that two trees are one history.
    verified(&place, &file);
    let newer = saved(&place, "newer.tlog-proof", place.run(&["log", "prove", &late]));
    let two_trees = verify(&late, &newer);
    assert!(two_trees.code == 1 && two_trees.stdout.contains("suite_not_before"), "{two_trees:?}");
    // A log that no proof needs was not verified.
    let for_nothing = place.run(&["receipt", "verify", &late, "--log-key", &key]);
    assert!(for_nothing.code == 2 && for_nothing.stderr.contains("--proof"), "{for_nothing:?}");
    let policy = place.file("policy.txt", format!("log {key}\nquorum none\n"));
    let unwitnessed = place.run(&["log", "verify", &late_proof, "--log-policy", &policy, "--max-age", "1h"]);
    assert!(unwitnessed.code == 1 && unwitnessed.stdout.contains("too_old"), "{unwitnessed:?}");

    // An unknown log is not mentioned.
    let other = text(&object(&Place::new().run(&["log", "init", ORIGIN, "--json"])), "key");
    let unknown = place.run(&["log", "verify", &late_proof, "--log-key", &other]);
    assert!(unknown.code == 2 && unknown.stdout.contains("unsigned_by_log"), "{unknown:?}");
    let changed = fs::read_to_string(&late_proof).unwrap().replace("\nindex 2\n", "\nindex 1\n");
    let changed = place.run(&["log", "verify", &place.file("changed", changed), "--json"]);
    assert_eq!((changed.code, text(&object(&changed), "cause").as_str()), (1, "inclusion_mismatch"));
    let nothing = place.run(&["log", "verify", &place.file("nothing", "x")]);
    assert!(nothing.code == 2 && nothing.stderr.contains("the proof file"), "{nothing:?}");
}

#[test]
fn a_rule_takes_a_logged_receipt_with_its_proof_and_by_the_keys_of_the_policy_alone() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let receipt = saved(&place, "receipt.json", place.run(&["verify", &file, "--json"]));
    let content = Json::parse(fs::read(&receipt).unwrap().as_slice()).unwrap();
    let hashes = content.as_object().unwrap().get("hashes").and_then(Json::as_object).unwrap().clone();
    let request = format!(
        r#"{{"action": {{"tool": "t", "class": "upload", "args": {{"digest": "{}"}}}}}}"#,
        text(&hashes, "output")
    );
    let request = place.file("action.json", request);
    let key = text(&object(&place.run(&["log", "init", ORIGIN, "--json"])), "key");
    let proof = saved(&place, "receipt.tlog-proof", place.run(&["log", "prove", &receipt]));
    let policy = |name: &str, key: &str| {
        let rule = "{any_suite: true, comparison: in_process, output: action.args.digest, logged: true}";
        let pinned = format!("log_policy: |\n  log {key}\n  quorum none\n");
        place.file(
            name,
            format!("version: 1\n{pinned}boundaries: [{{id: b, match: {{}}, require: [{{receipt: {rule}}}]}}]\n"),
        )
    };
    let ours = policy("ours.yaml", &key);
    let decide = |policy: &str, more: &[&str]| {
        let done = place.run(&[&["decide", &request, "--policy", policy, "--json"], more].concat());
        (done.code, ["not_logged", "not_witnessed"].into_iter().find(|code| done.stdout.contains(code)))
    };
    assert_eq!(decide(&ours, &[]), (1, Some("not_logged")));
    assert_eq!(decide(&ours, &["--receipt", &proof]), (0, None));
    let folder = place.path("evidence");
    fs::create_dir(&folder).unwrap();
    fs::copy(&proof, folder.join("receipt.tlog-proof")).unwrap();
    assert_eq!(decide(&ours, &["--receipt", folder.to_str().unwrap()]), (0, None));

    // Another log of that name, and a proof that was changed.
    let other = text(&object(&Place::new().run(&["log", "init", ORIGIN, "--json"])), "key");
    assert_eq!(decide(&policy("other.yaml", &other), &["--receipt", &proof]), (1, Some("not_logged")));
    let later = saved(&place, "later.json", place.run(&["verify", &file, "--json"]));
    let later = saved(&place, "later.tlog-proof", place.run(&["log", "prove", &later]));
    // Decisions are entries, too, so its place is not known here.
    let whole = fs::read_to_string(&later).unwrap();
    let index = whole.lines().find(|line| line.starts_with("index ")).unwrap();
    let moved = whole.replace(index, "index 0");
    assert_ne!(moved, whole);
    let strict = fs::read_to_string(&ours).unwrap().replace("logged: true", "logged: true, single_use: true");
    let strict = place.file("strict.yaml", strict);
    assert_eq!(decide(&strict, &["--receipt", &place.file("moved.tlog-proof", moved)]), (1, Some("not_logged")));

    // A replay needs no proof.
    let decided = saved(
        &place,
        "decided.json",
        place.run(&["decide", &request, "--policy", &ours, "--receipt", &proof, "--json"]),
    );
    let replayed = place.run(&["decide", &request, "--policy", &ours, "--replay", &decided]);
    assert!(replayed.code == 0 && replayed.stdout.starts_with("same"), "{replayed:?}");
    let diff = place.run(&["decide", &request, "--policy", &policy("other.yaml", &other), "--replay", &decided]);
    assert!(diff.code == 1 && diff.stdout.contains("not_logged"), "{diff:?}");

    // A proof that belongs to no receipt here is an error.
    let text = fs::read_to_string(&proof).unwrap();
    let (extra, rest) = (text.lines().nth(1).unwrap(), text.splitn(3, '\n').nth(2).unwrap());
    for (name, changed, message) in [
        ("of-nothing", text.replace(extra, "extra e30="), "its receipt is not presented"),
        ("bare", format!("c2sp.org/tlog-proof@v1\n{rest}"), "does not contain its document"),
        ("cut", text[..text.len() / 2].to_owned(), "the proof file"),
    ] {
        let done = place.run(&["decide", &request, "--policy", &ours, "--receipt", &place.file(name, changed)]);
        assert!(done.code == 2 && done.stderr.contains(message) && done.stderr.contains("help: "), "{done:?}");
    }
}

#[test]
fn a_log_that_was_truncated_or_changed_is_named_by_fsck() {
    // The file is what is put back.
    let place = Place::in_file();
    let file = place.file("right.json", request(RIGHT));
    let database = place.home.path().join("proofmark.db");
    assert_eq!(place.run(&["log", "init", ORIGIN]).code, 0);
    let first = verified(&place, &file);
    assert_eq!(place.run(&["log", "show"]).code, 0);
    let copy = fs::read(&database).unwrap();
    verified(&place, &file);
    let mirror = place.path("mirror");
    let mirror = mirror.to_str().unwrap();
    assert_eq!(place.run(&["log", "mirror", mirror]).code, 0);
    assert_eq!(place.run(&["log", "fsck"]).code, 0);
    assert_eq!(place.run(&["log", "fsck", mirror]).code, 0);
    fs::write(&database, copy).unwrap();
    for log in ["-wal", "-shm"] {
        drop(fs::remove_file(place.home.path().join(format!("proofmark.db{log}"))));
    }
    let found = place.run(&["log", "fsck"]);
    assert!(found.code == 1 && found.stdout.contains("checkpoint_ahead"), "{found:?}");
    for command in [&["log", "prove", &first][..], &["log", "show"]] {
        let refused = place.run(command);
        assert!(refused.code == 2 && refused.stderr.contains("rolled back"), "{refused:?}");
    }
    // The mirror still has all of it.
    assert_eq!(place.run(&["log", "fsck", mirror]).code, 0);
    let unasked = place.run(&["log", "init", "log.example/second", "--restart"]);
    assert_eq!(unasked.code, 2, "{unasked:?}");
    let again = place.run(&["log", "init", "log.example/second", "--restart", "--yes", "--json"]);
    assert_eq!((again.code, text(&object(&again), "origin").as_str()), (0, "log.example/second"), "{again:?}");
    assert_eq!(place.run(&["log", "fsck"]).code, 0);
    assert!(place.home.path().join("log.1/checkpoint").is_file(), "the keys and the last checkpoint stay");
}

#[test]
fn what_leaves_in_another_format_is_verified_back() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let id = verified(&place, &file);
    assert_eq!(place.run(&["log", "init", ORIGIN]).code, 0);
    for (form, options) in [("in-toto", &["--suite-name", "right"][..]), ("svr", &[])] {
        let export = [&["receipt", "export", &id, "--as", form][..], options].concat();
        let name = saved(&place, form, place.run(&export));
        let good = place.run(&["receipt", "verify", &name, "--json"]);
        assert_eq!((good.code, text(&object(&good), "document").as_str()), (0, "attestation"), "{good:?}");
        let changed = fs::read_to_string(&name).unwrap().replacen("\"sig\":\"", "\"sig\":\"AA", 1);
        let changed = place.run(&["receipt", "verify", &place.file("changed", changed)]);
        assert_ne!(changed.code, 0, "{changed:?}");
        let bundle = place.run(&["receipt", "export", &id, "--as", form, "--bundle"]);
        assert!(bundle.stdout.contains("sigstore.bundle.v0.3"), "{bundle:?}");
    }
    for form in ["cose", "scitt"] {
        let statement = place.bytes(&["receipt", "export", &id, "--as", form]);
        let name = place.file(form, &statement);
        let good = place.run(&["receipt", "verify", &name, "--verdict", "pass", "--json"]);
        assert_eq!((good.code, text(&object(&good), "document").as_str()), (0, "signed_statement"), "{good:?}");
        // Within the statement, and within the receipt of the log behind its protected header.
        for at in [700, 300] {
            let mut changed = statement.clone();
            changed[at] ^= 1;
            let changed = place.run(&["receipt", "verify", &place.file("changed", changed)]);
            assert_ne!(changed.code, 0, "{changed:?}");
        }
    }
    for ignored in
        [&["--suite-name", "right"][..], &["--as", "svr", "--suite-name", "right"], &["--as", "cose", "--bundle"]]
    {
        let refused = place.run(&[&["receipt", "export", &id][..], ignored].concat());
        assert!(refused.code == 2 && refused.stderr.contains("leave `--"), "{refused:?}");
    }
    attested_by_the_wrong_key(&place, &id);
    // The statement that was registered is in the log as well.
    assert!(place.run(&["log", "fsck", "--json"]).stdout.contains("\"entries\":2"));
    let wrong = place.run(&["verify", &place.file("wrong.json", request(WRONG)), "--json"]);
    let wrong = place.run(&["receipt", "export", &text(&object(&wrong), "receipt_id"), "--as", "svr"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("export it as `cose`"), "{wrong:?}");
}

/// A key that is trusted for decisions alone attests no test.
fn attested_by_the_wrong_key(place: &Place, id: &str) {
    let key = place.run(&["key", "show", "--as", "pem"]).stdout;
    let key = place.file("key.pem", key);
    let attestation = saved(place, "attestation", place.run(&["receipt", "export", id, "--as", "in-toto"]));
    let read = |kind: &str| {
        let trust = format!("{kind}={key}");
        Place::new().run(&["receipt", "verify", &attestation, "--trust", &trust])
    };
    let good = read("verification");
    assert!(good.code == 0 && good.stdout.contains("result: PASSED"), "{good:?}");
    assert_eq!(read("decision").code, 1);
}
