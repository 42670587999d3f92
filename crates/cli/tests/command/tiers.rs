//! Reviews of several (tier 2) and judgments of a person (tier 3): made, and read by others.

use std::fs;

use crate::log::verified;
use crate::run::{Done, Place, RIGHT, WRONG, request};

#[test]
fn a_quorum_is_counted_again_by_its_readers_own_reviewers() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let (mut reviewers, mut all) = (String::new(), Vec::new());
    for name in ["ann", "bob", "cid"] {
        let other = Place::new();
        let file = if name == "cid" { other.file("wrong.json", request(WRONG)) } else { file.clone() };
        let receipt = other.run(&["verify", &file, "--json"]).stdout;
        place.file(&format!("{}/{name}.json", if name == "cid" { "others" } else { "reviews" }), &receipt);
        let key = other.run(&["key", "show", "--as", "signer-id"]).stdout;
        reviewers.push_str(&format!("reviewer {name} {key}"));
        all.push(receipt);
    }
    let reviewers = place.file("reviewers.txt", reviewers);
    let reviews = place.path("reviews");
    let done = place.run(&["quorum", "--receipts", reviews.to_str().unwrap(), "--threshold", "2", "--task", "double"]);
    assert_eq!((done.code, done.stdout.lines().count()), (0, 3), "{done:?}");
    let quorum = place.file("quorum.jsonl", &done.stdout);
    let read = |more: &[&str]| place.run(&[&["receipt", "verify", &quorum, "--json"], more].concat());
    let last = |done: &Done| done.stdout.lines().last().unwrap_or_default().to_owned();
    let met = read(&["--reviewers", &reviewers, "--at-least", "2"]);
    assert!(met.code == 0 && last(&met).contains(r#""quorum":"met""#), "{met:?}");
    for (more, code) in [
        (&["--reviewers", &reviewers, "--at-least", "3"][..], "quorum_not_met"),
        (&["--reviewers", &reviewers, "--at-least", "2", "--complete"], "quorum_incomplete"),
    ] {
        let not_met = read(more);
        assert!(not_met.code == 1 && last(&not_met).contains(code), "{not_met:?}");
    }
    // A member that is another's receipt, or that is left out.
    let changed = done.stdout.lines().next().unwrap().to_owned() + "\n" + all[0].trim() + "\n" + all[2].trim() + "\n";
    let changed = place.run(&["receipt", "verify", &place.file("changed.jsonl", changed), "--json"]);
    assert!(changed.code == 2 && last(&changed).contains("member_missing"), "{changed:?}");
    // Reviews of other work, too few, and a threshold that is not a majority.
    let others = place.path("others");
    let refused = place.run(&["quorum", "--receipts", others.to_str().unwrap(), "--threshold", "1"]);
    assert!(refused.code == 2 && refused.stderr.contains("expected 2 to"), "{refused:?}");
    fs::copy(others.join("cid.json"), reviews.join("cid.json")).unwrap();
    let refused = place.run(&["quorum", "--receipts", reviews.to_str().unwrap(), "--threshold", "2"]);
    assert!(refused.code == 2 && refused.stderr.contains("is of other work"), "{refused:?}");
}

#[test]
fn a_judgment_counts_in_a_role_that_its_key_holds() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let id = verified(&place, &file);
    assert_eq!(place.run(&["key", "new", "ann"]).code, 0);
    let by = |more: &[&str]| {
        let common = ["review", &id, "--key", "ann", "--role", "maintainer", "--note", "Reads well.", "--yes"];
        place.run(&[&common, more].concat())
    };
    let judgment = by(&[]);
    assert_eq!(judgment.code, 0, "{judgment:?}");
    let judgment = place.file("judgment.json", judgment.stdout);
    let read = |more: &[&str]| place.run(&[&["receipt", "verify", &judgment, "--json"], more].concat());
    assert_eq!(read(&[]).code, 0);
    assert_eq!(read(&["--role-key", "maintainer=ann"]).code, 0);
    for other in ["maintainer=default", "owner=ann"] {
        let not_held = read(&["--role-key", other]);
        assert!(not_held.code == 1 && not_held.stdout.contains("role_not_held"), "{not_held:?}");
    }
    assert_eq!(by(&["--verdict", "fail"]).code, 1);
    assert_eq!(by(&["--criterion", "readable=pass", "--criterion", "fast=fail"]).code, 1);
    assert_eq!(by(&["--criterion", "readable"]).code, 2);
    let work = place.file("work.py", RIGHT);
    let brief = place.file("brief.txt", "double it");
    let of_file = ["review", &work, "--brief", &brief, "--key", "ann", "--role", "owner", "--note", "Good.", "--yes"];
    assert_eq!(place.run(&of_file).code, 0);
    // Without a terminal, the user cannot be asked.
    let unasked = place.run(&["review", &id, "--key", "ann", "--role", "owner", "--note", "Good."]);
    assert!(unasked.code == 2 && unasked.stderr.contains("--yes"), "{unasked:?}");
    assert!(serves_no_action(&place, &judgment));
}

/// A judgment is of work: no rule takes it for an approval or a verification.
fn serves_no_action(place: &Place, judgment: &str) -> bool {
    let folder = place.path("presented");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(judgment, folder.join("judgment.json")).unwrap();
    ["verification", "approval"]
        .iter()
        .all(|kind| place.run(&["receipt", "verify", judgment, "--kind", kind]).code == 1)
}
