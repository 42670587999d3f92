//! Decisions on the command line: listed, shown, and named by their ids.

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Done, Place};
use crate::transcript::Transcript;

const POLICY: &str = "version: 1
boundaries:
  - id: refund
    match: {tool: refund}
    require:
      - fact: action.args.amount <= 100
        reason: {code: too_much, message: The amount is above 100.}
      - approval: {role: finance}
    deny:
      - when: agent.environment == 'prod'
        unless: {approval: {role: dba}}
        reason: {code: no_prod, message: Nothing is refunded in prod.}
        otherwise: goal_fail_terminal
  - id: mail
    match: {tool: mail}
    deny:
      - when: 'action.args.to == \"all\"'
        reason: {code: too_many, message: Too many people.}
";

fn refund(amount: u32, environment: &str) -> String {
    format!(
        r#"{{"action": {{"tool": "refund", "class": "system_change", "args": {{"amount": {amount}}}}},
        "agent": {{"id": "bot", "environment": "{environment}"}}}}"#
    )
}

/// A place with a reviewer's key.
fn place() -> Place {
    let place = Place::new();
    place.run(&["key", "new"]);
    place.run(&["key", "new", "ann"]);
    place.file("policy.yaml", POLICY);
    for (key, role) in [("ann", "finance"), ("default", "finance"), ("ann", "dba")] {
        let name = format!("{key}-{role}");
        place.run(&["reviewer", "add", &name, "--key", key, "--role", role, "--policy", "policy.yaml"]);
    }
    place
}

fn decide(place: &Place, request: &str, more: &[&str]) -> Done {
    let arguments = ["decide", "-", "--policy", "policy.yaml"];
    place.run_with(&[&arguments[..], more].concat(), &[], request.as_bytes())
}

fn id(place: &Place) -> String {
    let newest = place.run(&["decision", "list", "--limit", "1", "--json"]).stdout;
    let newest = Json::parse(newest.trim().as_bytes()).unwrap();
    newest.as_object().unwrap().get("decision_id").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn decisions_are_listed_and_shown() {
    let place = place();
    let mut transcript = Transcript::new(&place);
    transcript.run(&["decision", "list"]);
    transcript.add(
        "$ proofmark decide - (yaml)",
        &decide(&place, "action: {tool: mail, class: upload, args: {to: ann}}\ntaint: []\n", &[]),
    );
    transcript.add("$ proofmark decide - (refund)", &decide(&place, &refund(200, "test"), &["--verbose"]));
    let id = id(&place);
    transcript.run(&["decision", "list"]);
    let shown = place.run(&["decision", "show", &id[..6]]);
    transcript.add("$ proofmark decision show", &shown);
    let page = transcript.run(&["decision", "list", "--action", "refund", "--outcome", "replan_required"]);
    assert_eq!(page.stdout.lines().count(), 2, "{page:?}");
    for (more, lines) in [
        (&["--outcome", "allow"][..], 2),
        (&["--agent", "bot"], 2),
        (&["--since", "1h"], 3),
        (&["--until", "2020-01-01"], 0),
        (&["--waiting"], 2),
        (&["--limit", "1"], 2),
    ] {
        let done = place.run(&[&["decision", "list"], more].concat());
        assert_eq!(done.stdout.lines().count(), lines, "{more:?}: {done:?}");
    }
    transcript.run(&["decision", "list", "--since", "yesterday"]);
    transcript.run(&["decision", "list", "--outcome", "maybe"]);
    transcript.run(&["decision", "show", "ffff"]);
    assert_snapshot!(transcript.text);
}

#[test]
fn an_id_stands_wherever_a_file_does() {
    let place = place();
    let blocked = decide(&place, &refund(50, "test"), &["--json"]);
    assert_eq!(blocked.code, 1, "{blocked:?}");
    let id = id(&place);
    for command in [&["receipt", "verify"][..], &["receipt", "export"], &["decision", "show"]] {
        let done = place.run(&[command, &[&id[..4]]].concat());
        assert_eq!(done.code, 0, "{command:?}: {done:?}");
    }
    assert_eq!(place.run(&["receipt", "export", &id]).stdout, blocked.stdout);
    let request = place.file("request.json", refund(50, "test"));
    let again = ["decide", &request, "--policy", "policy.yaml"];
    for (option, code) in [("--replay", 0), ("--resume", 1)] {
        for argument in [id.as_str(), "-"] {
            let done = place.run_with(&[&again[..], &[option, argument]].concat(), &[], blocked.stdout.as_bytes());
            assert_eq!(done.code, code, "{option} {argument}: {done:?}");
        }
    }
    let approved = place.run_with(
        &["decision", "approve", "--yes", "-", "--key", "ann", "--note", "ok"],
        &[],
        blocked.stdout.as_bytes(),
    );
    assert_eq!(approved.code, 0, "{approved:?}");
    let twice = place.run(&["decision", "approve", "--yes", &id[..8], "--key", "ann", "--note", "ok"]);
    assert_eq!(twice.code, 2, "{twice:?}");
    assert_eq!(place.run(&again).code, 0);
    // An id with too few digits, and one that is a receipt's.
    assert_eq!(place.run(&["decision", "show", &id[..3]]).code, 2);
    let receipt = place.run(&["receipt", "list", "--json"]).stdout;
    let receipt = Json::parse(receipt.lines().next().unwrap().as_bytes()).unwrap();
    let receipt = receipt.as_object().unwrap().get("receipt_id").unwrap().as_str().unwrap().to_owned();
    assert_eq!(place.run(&["decision", "show", &receipt]).code, 2);
}

#[test]
fn a_replay_of_another_request_or_policy_says_so_first() {
    let place = place();
    decide(&place, &refund(50, "test"), &[]);
    let id = id(&place);
    let first = |done: &Done| done.stdout.lines().next().unwrap().to_owned();
    let other = decide(&place, &refund(51, "test"), &["--replay", &id]);
    assert_eq!((other.code, first(&other).as_str()), (1, "differs: this is another request (action_hash differs)"));
    place.file("policy.yaml", POLICY.replace("<= 100", "<= 10"));
    let other = decide(&place, &refund(50, "test"), &["--replay", &id]);
    assert_eq!((other.code, first(&other).as_str()), (1, "differs: this is another policy (policy_hash differs)"));
}

#[test]
fn an_approval_that_lifts_a_terminal_denial_is_named() {
    let place = place();
    let blocked = decide(&place, &refund(50, "prod"), &[]);
    assert!(blocked.stdout.starts_with("goal_fail_terminal"), "{blocked:?}");
    assert!(
        blocked.stdout.contains("One `dba` has approved")
            && blocked.stdout.contains("next: proofmark decision approve"),
        "{blocked:?}"
    );
    let id = id(&place);
    assert_eq!(place.run(&["decision", "list", "--waiting", "--json"]).stdout.lines().count(), 1);
    // Two roles are asked for, so one has to be chosen.
    let unclear = place.run(&["decision", "approve", "--yes", &id, "--key", "ann", "--note", "ok"]);
    assert!(unclear.code == 2 && unclear.stderr.contains("dba") && unclear.stderr.contains("finance"), "{unclear:?}");
    for (key, role) in [("ann", "dba"), ("default", "finance")] {
        let done = place.run(&["decision", "approve", "--yes", &id, "--key", key, "--note", "ok", "--role", role]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    let allowed = decide(&place, &refund(50, "prod"), &[]);
    assert!(allowed.code == 0 && allowed.stdout.contains("lifted by an approval"), "{allowed:?}");
}

#[test]
fn a_review_that_no_approval_ends_says_so() {
    let place = place();
    place
        .file("policy.yaml", POLICY.replace("Too many people.}", "Too many people.}\n        otherwise: human_review"));
    let mail = "action: {tool: mail, class: upload, args: {to: all}}\n";
    let blocked = decide(&place, mail, &["--json"]);
    assert!(blocked.code == 1 && blocked.stdout.contains("No rule asks for an approval here"), "{blocked:?}");
    let shown = place.run(&["decision", "show", &id(&place)]).stdout;
    assert!(!shown.contains("proofmark decision approve"), "{shown}");
    let refused = place.run(&["decision", "approve", "--yes", &id(&place), "--key", "ann", "--note", "ok"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn shadow_mode_says_what_would_have_been() {
    let place = place();
    place.file("policy.yaml", format!("{POLICY}mode: shadow\n"));
    let done = decide(&place, &refund(50, "prod"), &[]);
    assert_eq!(done.code, 0, "{done:?}");
    let first = done.stdout.lines().next().unwrap();
    assert!(first.starts_with("allow_with_warning: shadow: would have been goal_fail_terminal"), "{first}");
}

#[test]
fn approving_in_a_fresh_home_makes_no_key() {
    let place = place();
    let blocked = place.file("decision.json", decide(&place, &refund(50, "test"), &["--json"]).stdout);
    let fresh = Place::new();
    let done = fresh.run(&["decision", "approve", "--yes", &blocked, "--key", "ann", "--note", "ok"]);
    assert!(done.code == 2 && done.stderr.contains("proofmark key new ann"), "{done:?}");
    assert!(!fresh.path("home").exists());
}
