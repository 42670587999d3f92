//! A receipt counts for what it proves and for nothing else, in decisions and in acceptances.

use insta::assert_snapshot;
use proofmark_receipt::{Json, Sha256Digest};

use crate::run::{Done, Place};

const WORK: &str = "def sort_list(xs):\n    return xs\n";

/// A request over these bytes with one test, which the agent can choose so that they pass.
fn request(description: &str, expected: &str) -> String {
    format!(
        r#"{{"task":{{"description":"{description}"}},"output":{{"content":{}}},"verification":{{"kind":"test_suite","language":"python","mode":"call","entrypoint":"sort_list","tests":[{{"name":"t","input":[[2,1]],"expected_output":{expected}}}]}}}}"#,
        Json::from(WORK).to_text()
    )
}

/// A place with a key, and its signer's id.
fn place() -> (Place, String) {
    let place = Place::new();
    place.run(&["key", "new"]);
    let signer = place.run(&["key", "show", "--as", "signer-id"]).stdout.trim().to_owned();
    (place, signer)
}

fn policy(rule: &str) -> String {
    format!(
        "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n      - receipt: {{{rule}, output: 'sha256(action.args.source)', max_age: 1h}}\n"
    )
}

fn workflow(rule: &str) -> String {
    format!(
        "name: w\nclass: readonly\nsteps:\n  - id: s\n    terminal: true\n    onFailure: {{action: abort, maxAttempts: 9}}\n    verification: {{retryPrompt: again, receipts: [{{id: r, {rule}, output: payload.sha}}]}}\n"
    )
}

fn decide(place: &Place, signer: &str, rule: &str) -> Done {
    let policy = place.file("policy.yaml", policy(rule));
    let action =
        format!(r#"{{"action":{{"tool":"t","class":"upload","args":{{"source":{}}}}}}}"#, Json::from(WORK).to_text());
    let action = place.file("action.json", action);
    place.run(&["decide", &action, "--policy", &policy, "--trust", signer, "--json"])
}

fn accept(place: &Place, signer: &str, rule: &str, more: &[&str]) -> Done {
    let workflow = place.file("workflow.yaml", workflow(rule));
    let response = place.file("response.md", format!(r#"{{"sha":"{}"}}"#, Sha256Digest::of(WORK.as_bytes())));
    let arguments =
        ["workflow", "accept", &workflow, "--step", "s", "--response", &response, "--trust", signer, "--json"];
    place.run(&[&arguments[..], more].concat())
}

/// The messages of the rules of acceptances, one per line.
fn messages(place: &Place, acceptances: &[Done]) -> String {
    let mut lines = String::new();
    for done in acceptances {
        let acceptance = Json::parse(done.stdout.as_bytes()).unwrap();
        for rule in acceptance.as_object().unwrap().get("rules").and_then(Json::as_array).unwrap() {
            let member = |name: &str| rule.as_object().unwrap().get(name).and_then(Json::as_str).unwrap();
            lines.push_str(&format!("{} {}: {}\n", member("outcome"), member("id"), member("message")));
        }
    }
    place.redacted(&lines)
}

#[test]
fn a_receipt_of_tests_the_agent_chose_counts_for_nothing() {
    let (place, signer) = place();
    place.file("ours.json", request("Sort", "[1, 2]"));
    let trivial = place.file("trivial.json", request("Sort", "[2, 1]"));
    assert_eq!(place.run(&["verify", &trivial]).code, 0, "the agent's suite passes");
    let decided = decide(&place, &signer, "suite: ours.json");
    assert!(decided.code == 1 && decided.stdout.contains("\"cause\":\"other_suite\""), "{decided:?}");
    let other_suite = accept(&place, &signer, "suite: ours.json", &[]);
    assert_eq!(other_suite.code, 1, "{other_suite:?}");
    // The right specification is not enough where the tests are pinned.
    let json = place.run(&["verify", "--suite-digest", &trivial, "--json"]);
    let digests = Json::parse(json.stdout.as_bytes()).unwrap();
    let digest = |name: &str| digests.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
    let printed = place.run(&["verify", "--suite-digest", &trivial]);
    assert_eq!((printed.code, printed.stdout.trim()), (0, digest("suite").as_str()), "{printed:?}");
    let specification = format!("specification: 'SPEC', tests: '{}'", Sha256Digest::of(b"ours"));
    let pinned = specification.replace("SPEC", &digest("specification"));
    let other_tests = accept(&place, &signer, &pinned, &[]);
    assert_eq!(other_tests.code, 1, "{other_tests:?}");
    assert_snapshot!(messages(&place, &[other_suite, other_tests]));
    // What it proves, it proves: found in the store, by file and by digest, by both.
    for rule in
        ["suite: trivial.json".to_owned(), format!("suite: '{}'", digest("suite")), "any_suite: true".to_owned()]
    {
        let decided = decide(&place, &signer, &rule);
        assert_eq!(decided.code, 0, "{rule}: {decided:?}");
        let accepted = accept(&place, &signer, &rule, &[]);
        assert_eq!(accepted.code, 0, "{rule}: {accepted:?}");
        for done in [decided, accepted] {
            assert_eq!(done.stdout.contains("\"any_suite\":true"), rule.contains("any_suite"), "{rule}: {done:?}");
        }
    }
}

#[test]
fn a_rule_says_what_it_accepts() {
    let (place, signer) = place();
    for done in [decide(&place, &signer, "verdict: pass"), accept(&place, &signer, "verdict: pass", &[])] {
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains("any_suite: true") && done.stderr.contains("--suite-digest"), "{done:?}");
    }
    let done = decide(&place, &signer, "suite: gone.json");
    assert!(done.code == 2 && done.stderr.contains("gone.json"), "{done:?}");
    for (name, text) in [("policy.yaml", policy("any_suite: true")), ("workflow.yaml", workflow("any_suite: true"))] {
        let linted = place.run(&["lint", &place.file(name, text), "--deny", "warnings"]);
        assert_eq!(linted.code, 1, "{linted:?}");
        assert!(linted.stdout.contains("any_suite") || linted.stdout.contains("any-suite"), "{linted:?}");
    }
}

#[test]
fn another_kind_of_receipt_is_no_verification() {
    let (place, signer) = place();
    // The agent judges itself by a workflow of its own; the receipt is signed by the trusted key, over the right bytes.
    let own = place.file(
        "own.yaml",
        "name: own\nclass: readonly\nsteps: [{id: s, terminal: true, verification: {evidence: [{path: ok, expect: true}]}}]",
    );
    let response = place.file("own.md", "{\"ok\": true}");
    let judged = place.run(&["workflow", "accept", &own, "--step", "s", "--response", &response, "--json"]);
    assert_eq!(judged.code, 0, "{judged:?}");
    let over = Sha256Digest::of(b"{\"ok\": true}");
    let with = |rule: &str| {
        let workflow = workflow(&format!("{rule}, signer: trusted")).replace("payload.sha", &format!("'{over}'"));
        let workflow = place.file("workflow.yaml", workflow);
        place.run(&[
            "workflow",
            "accept",
            &workflow,
            "--step",
            "s",
            "--response",
            &response,
            "--trust",
            &signer,
            "--json",
        ])
    };
    let refused = with("any_suite: true");
    assert_eq!(refused.code, 1, "{refused:?}");
    let other = with(&format!("kind: step_acceptance, specification: '{}'", Sha256Digest::of(b"our contract")));
    assert_eq!(other.code, 1, "{other:?}");
    assert_snapshot!(messages(&place, &[refused, other]));
    let receipt = Json::parse(judged.stdout.as_bytes()).unwrap();
    let receipt = receipt.as_object().unwrap().get("receipt").and_then(Json::as_object).unwrap().clone();
    let contract = receipt.get("metadata").and_then(|m| m.as_object()?.get("contract_digest")?.as_str()).unwrap();
    let met = with(&format!("kind: step_acceptance, specification: '{contract}'"));
    assert_eq!(met.code, 0, "{met:?}");
}

#[test]
fn the_task_type_of_a_request_makes_no_receipt_something_else() {
    let (place, signer) = place();
    let quorum = format!("quorum: {{of: \"reviewer a {signer}\\n\", at_least: 1}}");
    for (word, rule) in [
        ("step_acceptance", "kind: step_acceptance"),
        ("quorum", &*quorum),
        ("judgment", "judgment: {role: owner}"),
        ("approval", "kind: verification"),
    ] {
        let text =
            request("Sort", "[2, 1]").replace("\"description\"", &format!("\"task_type\":\"{word}\",\"description\""));
        assert_eq!(place.run(&["verify", &place.file("claims.json", text)]).code, 0);
        let done = decide(&place, &signer, &format!("any_suite: true, {rule}"));
        assert!(done.code == 1 && done.stdout.contains("other_kind"), "{word}: {done:?}");
    }
}

#[test]
fn a_denial_that_an_approval_lifts_finds_it_in_the_store() {
    let (place, signer) = place();
    let policy = place.file(
        "denial.yaml",
        format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    deny: [{{when: 'true', unless: {{approval: {{role: lead}}}}, reason: {{code: never, message: Never.}}}}]\nroles: {{lead: '{signer}'}}\n"),
    );
    let action = place.file("action.json", r#"{"action":{"tool":"t","class":"upload","args":{}}}"#);
    let ask = || place.run(&["decide", &action, "--policy", &policy, "--trust", &signer, "--json"]);
    let denied = ask();
    assert_eq!(denied.code, 1, "{denied:?}");
    let decision = place.file("denied.json", &denied.stdout);
    let approved =
        place.run(&["decision", "approve", "--yes", &decision, "--key", "default", "--role", "lead", "--note", "seen"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let lifted = ask();
    assert_eq!(lifted.code, 0, "{lifted:?}");
}
