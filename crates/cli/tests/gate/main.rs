//! `proofmark gate` with a real git: what passes, and what a push cannot get past it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod hooks;
mod place;
mod trees;

use place::{Made, Place};
use proofmark_receipt::{Json, Verdict};

/// Why the evidence of a decision was refused.
fn refusals(place: &Place, made: &[Made<'_>]) -> Vec<String> {
    let files: Vec<String> = made.iter().map(|made| place.receipt(made)).collect();
    let mut arguments = vec!["gate", "--tree", "HEAD", "--repo", "work", "--policy", "gate.yaml", "--json"];
    arguments.extend(["--trust", "verification=verifier.pub"]);
    files.iter().for_each(|file| arguments.extend(["--receipt", file]));
    let output = place.proofmark(&arguments);
    let answer = Json::parse(&output.stdout).unwrap_or_else(|_| panic!("{}", place::said(&output)));
    let answer = answer.as_object().unwrap();
    let allowed = answer.get("allowed").and_then(Json::as_bool).unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!allowed)), "{}", place::said(&output));
    let evidence = answer.get("decision").unwrap().as_object().unwrap().get("evidence").and_then(Json::as_array);
    let refused = |item: &Json| item.as_object()?.get("refused")?.as_str().map(str::to_owned);
    if allowed { vec!["none".to_owned()] } else { evidence.unwrap().iter().filter_map(refused).collect() }
}

#[test]
fn only_a_trusted_receipt_over_exactly_this_tree_counts() {
    let Some(place) = Place::new() else { return };
    place.commit("a.txt", "one\n");
    let parent = place.digest("HEAD");
    place.commit("a.txt", "two\n");
    let tree = place.digest("HEAD");
    let good = || Made::over(&tree);
    for (made, code) in [
        (good(), "none"),
        (Made::over(&parent), "other_output"),
        (Made { signer: "stranger", ..good() }, "signer_not_trusted"),
        (Made { forged: true, ..good() }, "not_valid"),
        (Made { suite: b"a test of the agent's own", ..good() }, "other_suite"),
        (Made { verdict: Verdict::Fail, ..good() }, "other_verdict"),
        (Made { verified_at: "2020-01-01T00:00:00Z", ..good() }, "too_old"),
        (Made { verified_at: "2999-01-01T00:00:00Z", ..good() }, "dated_in_the_future"),
    ] {
        assert_eq!(refusals(&place, &[made]), [code]);
    }
    assert!(refusals(&place, &[]).is_empty());
    // A good one beside bad ones counts.
    assert_eq!(refusals(&place, &[Made::over(&parent), good()]), ["none"]);
    // A receipt of a signer who is not trusted any more does not count.
    let receipt = place.receipt(&good());
    let arguments = ["gate", "--tree", "HEAD", "--repo", "work", "--policy", "gate.yaml", "--receipt", &receipt];
    place.ok(&["trust", "add", "ci", "verifier.pub", "--for", "verification"]);
    assert_eq!(place.proofmark(&arguments).status.code(), Some(0));
    place.ok(&["trust", "remove", "ci"]);
    assert_eq!(place.proofmark(&arguments).status.code(), Some(1));
}

#[test]
fn a_receipt_of_a_real_run_counts_for_the_commit_it_was_made_of() {
    let Some(place) = Place::new() else { return };
    place
        .commit("test_a.py", "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n");
    std::fs::write(place.at("work/not-committed.txt"), "x").unwrap();
    let policy = place::POLICY.replace("suite: 'SUITE'", "any_suite: true");
    std::fs::write(place.at("any.yaml"), policy.replace("output:", "comparison: in_process, output:")).unwrap();
    let gate = || place.proofmark(&["gate", "--tree", "HEAD", "--repo", "work", "--policy", "any.yaml"]);
    let command = ["--", "python3", "-m", "unittest", "-v"];
    // The folder has a file that the commit has not.
    place.ok(&[&["verify", "--dir", "work"][..], &command].concat());
    assert_eq!(gate().status.code(), Some(1));
    place.ok(&[&["verify", "--dir", "work", "--tree", "HEAD"][..], &command].concat());
    assert_eq!(gate().status.code(), Some(0));
    place.ok(&["gate", "note", "--repo", "work", "--tree", "HEAD"]);
    assert!(place.git("work", &["notes", "--ref", "proofmark", "show", "HEAD^{tree}"]).contains("receipt_id"));
    // Added once only.
    assert!(place.ok(&["gate", "note", "--repo", "work", "--tree", "HEAD"]).starts_with("added 0 receipts"));
    // A folder of a commit, as the folder that is named.
    place.commit(
        "sub/test_b.py",
        "import unittest\n\n\nclass B(unittest.TestCase):\n    def test_b(self):\n        pass\n",
    );
    place.ok(&[&["verify", "--dir", "work/sub", "--tree", "HEAD"][..], &command].concat());
    assert_eq!(gate().status.code(), Some(1));
    let sub = ["gate", "--tree", "HEAD:sub", "--repo", "work", "--policy", "any.yaml"];
    assert_eq!(place.proofmark(&sub).status.code(), Some(0));
}

#[test]
fn what_cannot_be_decided_does_not_pass() {
    let Some(place) = Place::new() else { return };
    place.commit("a.txt", "one\n");
    let receipt = place.receipt(&Made::over(&place.digest("HEAD")));
    std::fs::write(place.at("broken.yaml"), "version: 1\nboundaries: []\nno: such\n").unwrap();
    std::fs::write(place.at("undeclared.yaml"), "version: 1\nboundaries: [{id: a, match: {}}]\n").unwrap();
    std::fs::create_dir(place.at("empty")).unwrap();
    let base = ["gate", "--receipt", &receipt, "--trust", "verification=verifier.pub"];
    for (arguments, code) in [
        (["--tree", "HEAD", "--repo", "work", "--policy", "gate.yaml"], 0),
        (["--tree", "HEAD~5", "--repo", "work", "--policy", "gate.yaml"], 2),
        (["--tree", "--all", "--repo", "work", "--policy", "gate.yaml"], 2),
        (["--tree", "HEAD:a.txt", "--repo", "work", "--policy", "gate.yaml"], 2),
        (["--tree", "HEAD", "--repo", "empty", "--policy", "gate.yaml"], 2),
        (["--tree", "HEAD", "--repo", "work", "--policy", "broken.yaml"], 2),
        (["--tree", "HEAD", "--repo", "work", "--policy", "undeclared.yaml"], 1),
        (["--tree", "HEAD", "--repo", "work", "--policy", "missing.yaml"], 2),
    ] {
        let output = place.proofmark(&[&base[..], &arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", place::said(&output));
    }
}
