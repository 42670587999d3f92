//! A step that was aborted is reopened by a reviewer, who signs why.

use proofmark_receipt::{Json, Receipt};

use crate::run::{Done, Place};

const WORKFLOW: &str = "name: change
class: readonly
steps:
  - id: plan
    verification: {evidence: [{path: risk, expect: present, rejectMessage: The risk is missing.}]}
    onFailure: {maxAttempts: 1}
";

/// A place where a step was aborted, and the workflow lists Ann.
fn place() -> Place {
    let place = Place::new();
    for name in ["default", "ann", "mallory"] {
        place.run(&["key", "new", name]);
    }
    let ann = place.run(&["key", "show", "ann", "--as", "signer-id"]).stdout.trim().to_owned();
    place.file("workflow.yaml", format!("{WORKFLOW}reviewers: [{{name: Ann, key: {ann}, roles: [owner]}}]\n"));
    assert_eq!(accept(&place, "{}").code, 1);
    place
}

fn accept(place: &Place, response: &str) -> Done {
    let response = place.file("response.json", response);
    place.run(&["workflow", "accept", "workflow.yaml", "--step", "plan", "--run", "r", "--response", &response])
}

fn reopen(place: &Place, key: &str, more: &[&str]) -> Done {
    let arguments = [
        "run",
        "reopen",
        "r",
        "--step",
        "plan",
        "--workflow",
        "workflow.yaml",
        "--key",
        key,
        "--note",
        "the tracker was down",
    ];
    place.run(&[&arguments[..], more].concat())
}

#[test]
fn a_reviewer_reopens_a_step_for_one_attempt() {
    let place = place();
    let late = accept(&place, r#"{"risk": "low"}"#);
    assert!(late.code == 2 && late.stderr.contains("proofmark run reopen"), "{late:?}");
    let reopened = reopen(&place, "ann", &["--yes"]);
    assert_eq!(reopened.code, 0, "{reopened:?}");
    assert!(reopened.stderr.contains("was aborted at attempt 1") && reopened.stderr.contains("The risk is missing."));
    let shown = place.run(&["run", "show", "r"]).stdout;
    assert!(shown.contains("reopened by Ann: the tracker was down"), "{shown}");
    let next = place.run(&["run", "next", "r", "--workflow", "workflow.yaml"]);
    assert!(next.code == 0 && next.stdout.contains("attempt 2 of 1"), "{next:?}");
    assert!(next.stdout.contains("Ann reopened this step: the tracker was down"), "{next:?}");
    assert_eq!(accept(&place, "{}").code, 1);
    assert_eq!(place.run(&["run", "next", "r", "--workflow", "workflow.yaml"]).code, 1, "aborted again");
    assert_eq!(reopen(&place, "ann", &["--yes"]).code, 0);
    assert_eq!(accept(&place, r#"{"risk": "low"}"#).code, 0);
    let accepted = reopen(&place, "ann", &["--yes"]);
    assert!(accepted.code == 2 && accepted.stderr.contains("was accepted"), "{accepted:?}");
    // One chain, in which Ann's receipts are signed by Ann.
    let chain = place.run(&["receipt", "export", "--chain", "run/r/plan"]).stdout;
    assert_eq!(place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], chain.as_bytes()).code, 0);
    let ann = place.run(&["key", "show", "ann", "--as", "signer-id"]).stdout.trim().to_owned();
    let of_ann = chain.lines().filter(|line| line.contains("step_reopening"));
    for receipt in of_ann.map(|line| Receipt::parse(line.as_bytes()).unwrap()) {
        assert_eq!(receipt.metadata().get("issuer_key").and_then(Json::as_str), Some(ann.as_str()));
        assert_eq!(receipt.metadata().get("note").and_then(Json::as_str), Some("the tracker was down"));
    }
    assert_eq!(place.run(&["store", "check"]).code, 0);
}

#[test]
fn nobody_else_reopens_a_step_and_nobody_does_blind() {
    let place = place();
    for key in ["mallory", "default"] {
        let refused = reopen(&place, key, &["--yes"]);
        assert!(refused.code == 2 && refused.stderr.contains("it takes the key of Ann"), "{refused:?}");
    }
    let blind = reopen(&place, "ann", &[]);
    assert!(
        blind.code == 2 && blind.stderr.contains("The risk is missing.") && blind.stderr.contains("--yes"),
        "{blind:?}"
    );
    assert_eq!(accept(&place, r#"{"risk": "low"}"#).code, 2);
    // The policy's list takes the place of the workflow's.
    let mallory = place.run(&["key", "show", "mallory", "--as", "signer-id"]).stdout.trim().to_owned();
    let policy = format!("name: everyone\nreviewers: [{{name: Mallory, key: {mallory}, roles: [owner]}}]\n");
    let policy = place.file("policy.yaml", policy);
    let refused = reopen(&place, "ann", &["--yes", "--workflow-policy", &policy]);
    assert!(refused.code == 2 && refused.stderr.contains("it takes the key of Mallory"), "{refused:?}");
    assert_eq!(reopen(&place, "mallory", &["--yes", "--workflow-policy", &policy]).code, 0);
}

/// Programs that can write to the store can claim that a step was aborted.
#[test]
fn a_state_that_no_receipt_states_is_not_reopened() {
    let place = place();
    place.home.sql(r#"UPDATE runs SET state = replace(state, '"abort"', '"continue"')"#);
    let refused = reopen(&place, "ann", &["--yes"]);
    assert!(refused.code == 2 && refused.stderr.contains("is not that of its last receipt"), "{refused:?}");
}

/// Who can write to the store can sign a state of a step with a key of their own, by any policy.
#[test]
fn a_state_counts_by_the_key_that_signed_it() {
    let place = place();
    let attempt = |more: &[&str]| {
        let response = place.file("response.json", r#"{"risk": "low"}"#);
        let step = ["workflow", "accept", "workflow.yaml", "--step", "plan", "--run", "r", "--response", &response];
        place.run(&[&step[..], more].concat())
    };
    let refused = |done: Done| {
        assert!(done.code == 2 && done.stderr.contains("may not accept or reopen it here"), "{done:?}");
        assert!(done.stderr.contains("proofmark trust add --for acceptance"), "{done:?}");
    };
    let mallory = place.run(&["key", "show", "mallory", "--as", "signer-id"]).stdout.trim().to_owned();
    let policy = format!("name: everyone\nreviewers: [{{name: Mallory, key: {mallory}, roles: [owner]}}]\n");
    let policy = place.file("policy.yaml", policy);
    assert_eq!(reopen(&place, "mallory", &["--yes", "--workflow-policy", &policy]).code, 0);
    refused(attempt(&[]));
    refused(place.run(&["run", "next", "r", "--workflow", "workflow.yaml"]));
    // Where the policy is in force that lists Mallory, the attempt is judged; its signer has to be trusted by whoever goes on.
    let by_mallory = attempt(&["--workflow-policy", &policy, "--key", "mallory", "--trust", "default"]);
    assert_eq!(by_mallory.code, 0, "{by_mallory:?}");
    refused(attempt(&["--trust", "default"]));
}

/// What is shown of a step is what a key has signed that is trusted for it, whatever else the store says.
#[test]
fn a_state_of_another_key_is_shown_as_untrusted() {
    let place = place();
    let seen = |place: &Place| {
        let (list, show, check) = (["run", "list"], ["run", "show", "r"], ["store", "check"]);
        let [list, show, check] = [&list[..], &show[..], &check[..]].map(|words| place.run(words));
        assert_eq!([list.code, show.code], [check.code; 2], "{list:?} {show:?} {check:?}");
        (list.stdout, show.stdout, check)
    };
    let key = |name: &str| place.home.path().join(format!("keys/{name}.pem"));
    assert_eq!(seen(&place).2.code, 0);
    // The keys are gone, and with them what is trusted: of a reviewer, and of who accepts.
    assert_eq!(reopen(&place, "ann", &["--yes"]).code, 0);
    let (list, show, check) = seen(&place);
    assert!(check.code == 0 && list.contains("retry") && !show.contains("untrusted"), "{list} {show}");
    std::fs::remove_file(key("ann")).unwrap();
    let (list, show, check) = seen(&place);
    assert!(check.code == 1 && check.stdout.contains("may not accept or reopen it here"), "{check:?}");
    assert!(list.contains("untrusted") && !list.contains("retry"), "{list}");
    assert!(show.contains("plan: untrusted") && !show.contains("the prompt of attempt"), "{show}");
    let json = place.run(&["run", "show", "r", "--json"]).stdout;
    let shown = Json::parse(json.trim().as_bytes()).unwrap();
    let shown = shown.as_object().unwrap();
    assert!(shown.get("state").is_none() && shown.get("untrusted").and_then(Json::as_bool) == Some(true), "{json}");
    assert_eq!(accept(&place, r#"{"risk": "low"}"#).code, 0);
    // The state is signed by who accepts, and of the receipts before it one is not.
    let (_, show, check) = seen(&place);
    assert!(check.code == 0 && show.contains("plan: accepted") && show.matches("untrusted").count() == 1, "{show}");
    std::fs::remove_file(key("default")).unwrap();
    let (list, _, check) = seen(&place);
    assert!(check.code == 1 && list.contains("untrusted") && !list.contains("accepted"), "{list}");
}
