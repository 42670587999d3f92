use proofmark_receipt::{ChainHead, Receipt, SigningKey, Timestamp};

use crate::run::{Place, RIGHT, WRONG, request};

/// A place with a chain of three, its export and its head.
fn chained() -> (Place, Vec<String>, String) {
    let place = Place::new();
    for source in [RIGHT, WRONG, RIGHT] {
        place.receipt(&request(source), &["--chain", "work"]);
    }
    let exported = place.run(&["receipt", "export", "--chain", "work"]);
    let receipts: Vec<String> = exported.stdout.lines().map(str::to_owned).collect();
    assert_eq!(receipts.len(), 3, "{exported:?}");
    let head = place.run(&["receipt", "head", "--chain", "work"]);
    let head = place.file("head.json", head.stdout);
    (place, receipts, head)
}

#[test]
fn a_chain_is_continued_across_runs_and_verifies_with_its_head() {
    let (place, receipts, head) = chained();
    let file = place.file("chain.jsonl", receipts.join("\n"));
    let done = place.run(&["receipt", "verify", &file, "--as-chain", "--head", &head]);
    assert_eq!(done.code, 0, "{done:?}");
    let from_stdin = place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], receipts.join("\n").as_bytes());
    assert_eq!(from_stdin.code, 0, "{from_stdin:?}");
}

#[test]
fn every_way_to_tamper_with_a_chain_has_a_name() {
    let (place, receipts, head) = chained();
    let [first, second, third] = receipts.as_slice() else { panic!("{receipts:?}") };
    let cases: [(&str, Vec<&String>); 5] = [
        ("gap", vec![first, third]),
        ("reordered", vec![first, second, third, second]),
        ("wrong_first_position", vec![second, third]),
        ("fork", vec![first, second, second]),
        ("truncated", vec![first, second]),
    ];
    for (name, lines) in cases {
        let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
        let file = place.file("tampered.jsonl", lines.join("\n"));
        let done = place.run(&["receipt", "verify", &file, "--as-chain", "--head", &head]);
        assert_eq!(done.code, 1, "{name}: {done:?}");
        assert!(done.stdout.contains(name), "{name}: {done:?}");
    }
}

#[test]
fn a_chain_cut_off_does_not_pass_with_the_head_of_a_stranger() {
    let (place, receipts, _) = chained();
    let tip = Receipt::parse(receipts[1].as_bytes()).unwrap().tip().unwrap();
    let stranger = SigningKey::from_seed([9; 32]);
    let head = ChainHead::sign("work", &tip, &Timestamp::from_unix_millis(0), &stranger).unwrap();
    let head = place.file("forged.json", head.to_text());
    let cut = place.file("cut.jsonl", receipts[..2].join("\n"));
    let check = |more: &[&str]| {
        let done = place.run(&[&["receipt", "verify", &cut, "--as-chain", "--head", &head], more].concat());
        (done.code, done.stdout.contains("untrusted_head"), done)
    };
    let unasked = check(&["--json"]);
    assert_eq!((unasked.0, unasked.1), (1, true), "{:?}", unasked.2);
    let own = Receipt::parse(receipts[0].as_bytes()).unwrap().signature().unwrap().signer_id.clone();
    let stranger = stranger.signer().to_string();
    assert_eq!(check(&["--trust", &own]).0, 1);
    let trusted = check(&["--trust", &own, "--trust", &stranger]);
    assert_eq!((trusted.0, trusted.1), (0, false), "{:?}", trusted.2);
}

#[test]
fn a_batch_extends_a_chain_in_the_order_of_the_requests() {
    let place = Place::new();
    let lines = vec![request(RIGHT).replace('\n', ""); 20];
    let file = place.file("many.jsonl", lines.join("\n"));
    let done = place.run(&["verify", &file, "--chain", "batch", "--jobs", "4", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let checked = place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], done.stdout.as_bytes());
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn a_chain_that_is_not_there_is_an_error() {
    let place = Place::new();
    place.receipt(&request(RIGHT), &[]);
    let done = place.run(&["receipt", "export", "--chain", "nowhere"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("nowhere"), "{done:?}");
}

#[test]
fn decisions_are_one_chain_that_can_be_exported_and_verified() {
    let place = Place::new();
    let policy = crate::run::project_file("examples/decide/policy.yaml");
    let request = crate::run::project_file("examples/decide/request.json");
    for _ in 0..3 {
        assert_eq!(place.run(&["decide", &request, "--policy", &policy]).code, 1);
    }
    let exported = place.run(&["receipt", "export", "--decisions"]).stdout;
    assert_eq!(exported.lines().count(), 3);
    let head = place.file("head.json", place.run(&["receipt", "head", "--decisions"]).stdout);
    let check = |lines: &[&str]| {
        place.run_with(&["receipt", "verify", "-", "--as-chain", "--head", &head], &[], lines.join("\n").as_bytes())
    };
    let lines: Vec<&str> = exported.lines().collect();
    assert_eq!(check(&lines).code, 0, "{:?}", check(&lines));
    for (name, lines) in [("gap", vec![lines[0], lines[2]]), ("truncated", vec![lines[0], lines[1]])] {
        let done = check(&lines);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stdout.contains(name), "{done:?}");
    }
}
