//! Reviews of several (tier 2) and judgments of a person (tier 3): made, and read by others.

use std::fs;

use proofmark_receipt::{Json, Sha256Digest};

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

/// A request to publish the work, and its file.
fn publish(place: &Place) -> String {
    let action = format!(
        r#"{{"action":{{"tool":"publish","class":"upload","args":{{"source":{}}}}}}}"#,
        Json::from(RIGHT).to_text()
    );
    place.file("publish.json", action)
}

fn policy(place: &Place, rule: &str, more: &str) -> String {
    let text = format!(
        "version: 1\n{more}boundaries:\n  - id: b\n    match: {{}}\n    require:\n      - receipt: {{any_suite: true, output: 'sha256(action.args.source)', max_age: 1h, {rule}}}\n"
    );
    place.file("policy.yaml", text)
}

/// Why a decision blocks; nothing where it allows.
fn cause(done: &Done) -> Option<String> {
    let decision = Json::parse(done.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let reasons = decision.as_object().unwrap().get("reasons").and_then(Json::as_array).unwrap();
    let cause = reasons.first()?.as_object()?.get("cause")?.as_str()?;
    assert_ne!(done.code, 0, "{done:?}");
    Some(cause.to_owned())
}

#[test]
fn a_rule_counts_the_reviews_of_its_own_reviewers() {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    let (mut both, mut receipts) = (String::new(), Vec::new());
    for name in ["ann", "bob"] {
        let other = Place::new();
        let receipt = other.run(&["verify", &file, "--json"]).stdout;
        receipts.push(place.file(&format!("reviews/{name}.json"), &receipt));
        let key = other.run(&["key", "show", "--as", "signer-id"]).stdout;
        both.push_str(&format!("reviewer {name} {key}"));
    }
    let reviews = place.path("reviews");
    let collected = place.run(&["quorum", "--receipts", reviews.to_str().unwrap(), "--threshold", "2"]);
    let quorum = place.file("quorum.jsonl", &collected.stdout);
    let alone = place.file("alone.json", collected.stdout.lines().next().unwrap());
    place.file("both.txt", &both);
    let stranger = Place::new();
    stranger.run(&["key", "new"]);
    let stranger = stranger.run(&["key", "show", "--as", "signer-id"]).stdout;
    let one = both.lines().next().unwrap();
    place.file("one.txt", format!("{one}\nreviewer eve {stranger}"));
    let action = publish(&place);
    let decide = |reviewers: &str, more: &str, presented: &[&str]| {
        let policy = policy(&place, &format!("quorum: {{of: {reviewers}, at_least: 2{more}}}"), "");
        // A store of its own: what `quorum` stored is looked up otherwise.
        let mut arguments = vec!["decide", &action, "--policy", &policy, "--json", "--store", "apart.db"];
        presented.iter().for_each(|file| arguments.extend(["--receipt", file]));
        cause(&place.run(&arguments))
    };
    assert_eq!(decide("both.txt", "", &[&quorum]), None);
    assert_eq!(decide("both.txt", ", complete: true", &[&quorum]), None);
    assert_eq!(decide("both.txt", "", &[&alone, &receipts[0], &receipts[1]]), None);
    assert_eq!(decide("both.txt", "", &[&alone]).as_deref(), Some("not_counted"));
    assert_eq!(decide("both.txt", "", &[&alone, &receipts[1]]).as_deref(), Some("not_counted"));
    assert_eq!(decide("one.txt", "", &[&quorum]).as_deref(), Some("quorum_not_met"));
    assert_eq!(decide("both.txt", "", &[]).as_deref(), Some("absent"));
    // The store has the quorum alone.
    let policy_file = policy(&place, "quorum: {of: both.txt, at_least: 2}", "");
    let stored = place.run(&["decide", &action, "--policy", &policy_file, "--json"]);
    assert_eq!(cause(&stored).as_deref(), Some("not_counted"));
    // The file is read with the policy, whose hash covers what it lists.
    let missing = policy(&place, "quorum: {of: nobody.txt, at_least: 2}", "");
    let missing = place.run(&["decide", &action, "--policy", &missing, "--json"]);
    assert!(missing.code == 2 && missing.stderr.contains("nobody.txt"), "{missing:?}");
    place.file("bad.txt", "ann\n");
    let bad = place.run(&["lint", &policy(&place, "quorum: {of: bad.txt, at_least: 1}", "")]);
    assert!(bad.code == 1 && bad.stdout.contains("expected `reviewer OPERATOR KEY`"), "{bad:?}");

    let output = Sha256Digest::of(RIGHT.as_bytes());
    let workflow = format!(
        "name: w\nclass: readonly\nsteps:\n  - id: s\n    terminal: true\n    verification:\n      receipts: [{{id: r, any_suite: true, output: '{output}', quorum: {{of: both.txt, atLeast: 2}}}}]\n"
    );
    let workflow = place.file("workflow.yaml", workflow);
    let response = place.file("response.md", "{}");
    let accept = |presented: &str| {
        let common = ["workflow", "accept", &workflow, "--step", "s", "--response", &response, "--store", "steps.db"];
        place.run(&[&common[..], &["--receipt", presented, "--json"]].concat())
    };
    let accepted = accept(&quorum);
    assert!(accepted.code == 0 && accepted.stdout.contains("in which 2 of 2 operators agree"), "{accepted:?}");
    let rejected = accept(&alone);
    assert!(rejected.code != 0 && rejected.stdout.contains("cannot be counted again"), "{rejected:?}");
}

#[test]
fn a_rule_takes_a_judgment_by_the_key_that_the_policy_lists() {
    let place = Place::new();
    assert_eq!(place.run(&["key", "new", "ann"]).code, 0);
    let key = place.run(&["key", "show", "ann", "--as", "signer-id"]).stdout.trim().to_owned();
    let work = place.file("work.py", RIGHT);
    let brief = place.file("brief.txt", "double it");
    let judged = |role: &str| {
        let common =
            ["review", &work, "--brief", &brief, "--key", "ann", "--note", "Good.", "--yes", "--verdict", "pass"];
        let done = place.run(&[&common[..], &["--role", role, "--store", "reviews.db"]].concat());
        assert_eq!(done.code, 0, "{done:?}");
        place.file(&format!("{role}.json"), done.stdout)
    };
    let (maintainer, clerk) = (judged("maintainer"), judged("clerk"));
    let listed = |key: &str| format!("reviewers:\n  - {{name: Ann, key: {key}, roles: [maintainer]}}\n");
    let action = publish(&place);
    let decide = |key: &str, presented: &str| {
        let policy = policy(&place, "judgment: {role: maintainer}", &listed(key));
        cause(&place.run(&["decide", &action, "--policy", &policy, "--json", "--receipt", presented]))
    };
    assert_eq!(place.run(&["key", "new"]).code, 0);
    let own = place.run(&["key", "show", "--as", "signer-id"]).stdout.trim().to_owned();
    assert_eq!(decide(&key, &maintainer), None);
    assert_eq!(decide(&key, &clerk).as_deref(), Some("other_role"));
    assert_eq!(decide(&own, &maintainer).as_deref(), Some("signer_not_trusted"));
}
