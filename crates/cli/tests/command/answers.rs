//! What the commands print, whole: one snapshot of each, which is where wording is reviewed.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::run::{Place, RIGHT, WRONG, project_file, request};
use crate::transcript::Transcript;

fn accept(name: &str) -> String {
    project_file(&format!("examples/accept/{name}"))
}

fn decide(name: &str) -> String {
    project_file(&format!("examples/decide/{name}"))
}

#[test]
fn verify_prints_verdicts_checks_and_receipts() {
    let place = Place::new();
    let mut transcript = Transcript::new(&place);
    transcript.run(&["verify", &project_file("examples/sort.json")]);
    let wrong = place.file("wrong.json", request(WRONG));
    transcript.run(&["verify", &wrong]);
    transcript.run(&["verify", &wrong, "--json"]);
    transcript.run(&["verify", &place.file("crash.json", request("def f(x):\n    raise ValueError('no')\n"))]);
    transcript.run(&["verify", "--suite-digest", &wrong]);
    transcript.run(&["verify", "--suite-digest", &wrong, "--json"]);
    let batch = [RIGHT, WRONG].map(|source| request(source).replace('\n', "")).join("\n");
    transcript.run(&["verify", &place.file("batch.jsonl", batch)]);
    assert_snapshot!(transcript.text);
}

#[test]
fn receipt_verify_prints_validity_and_trust() {
    let place = Place::new();
    let text = place.receipt(&request(RIGHT), &["--chain", "work"]).to_text();
    let own = place.file("own.pem", place.run(&["key", "show", "--as", "pem"]).stdout);
    place.run(&["key", "new", "other"]);
    let other = place.file("other.jwk", place.run(&["key", "show", "other", "--as", "jwk"]).stdout);
    let valid = place.file("valid.json", &text);
    let mixed = place.file("mixed.jsonl", format!("{text}\n{}\n", text.replacen("pass", "fail", 1)));
    let cut = place.file("cut.json", &text[..34]);
    let unsigned = place.file("unsigned.json", place.receipt(&request(RIGHT), &["--unsigned"]).to_text());
    let mut transcript = Transcript::new(&place);
    transcript.run(&["receipt", "verify", &valid]);
    transcript.run(&["receipt", "verify", &valid, "--trust", &own]);
    transcript.run(&["receipt", "verify", &valid, "--trust", &other]);
    for form in [&[][..], &["--json"]] {
        transcript.run(&[&["receipt", "verify", &valid, &mixed, &cut, &unsigned], form].concat());
        transcript.run(&[&["receipt", "verify", &valid, "--as-chain"], form].concat());
        transcript.run(&[&["receipt", "verify", &valid, &valid, "--as-chain"], form].concat());
    }
    assert_snapshot!(transcript.text);
}

#[test]
fn receipts_are_listed_shown_and_exported() {
    let place = Place::new();
    place.receipt(&request(WRONG), &["--chain", "work"]);
    let id = place.receipt(&request(RIGHT), &["--chain", "work"]).receipt_id().to_string();
    let mut transcript = Transcript::new(&place);
    transcript.run(&["receipt", "list"]);
    transcript.run(&["receipt", "list", "--chain", "wrok"]);
    let page = transcript.run(&["receipt", "list", "--limit", "1"]);
    assert_eq!(page.stdout.lines().count(), 2);
    transcript.run(&["receipt", "show", &id]);
    transcript.run(&["receipt", "show", &id, "--json"]);
    transcript.run(&["receipt", "head", "--chain", "work"]);
    let head = place.run(&["receipt", "head", "--chain", "work"]).stdout;
    transcript.run(&["receipt", "show", &place.file("head.json", head)]);
    let failed = place.run(&["receipt", "list", "--verdict", "fail"]).stdout;
    transcript.run(&["receipt", "show", failed.lines().nth(1).unwrap().split(' ').next().unwrap()]);
    transcript.run(&["receipt", "show", "5"]);
    transcript.run(&["receipt", "show", "ffff0000"]);
    transcript.run(&["receipt", "show", "ffff0000", "--json"]);
    transcript.run(&["receipt", "export", "--chain", "nowhere"]);
    transcript.run(&["x402", "encode", "absent.json"]);
    assert_snapshot!(transcript.text);
}

#[test]
fn decide_prints_the_decision_and_what_would_change_it() {
    let place = Place::new();
    place.run(&["key", "new"]);
    let own = place.run(&["key", "show", "--as", "signer-id"]).stdout;
    let (action, policy) = (decide("request.json"), crate::decide::policy(&place, own.trim()));
    let mut transcript = Transcript::new(&place);
    transcript.run(&["decide", &action, "--policy", &policy]);
    let blocked = transcript.run(&["decide", &action, "--policy", &policy, "--json"]);
    let decision = place.file("decision.json", &blocked.stdout);
    transcript.run(&["receipt", "show", &decision]);
    transcript.run(&["decide", &action, "--policy", &policy, "--replay", &decision]);
    transcript.run(&["decide", &action, "--policy", &policy, "--resume", &decision]);
    let trust = ["decide", &action, "--policy", &policy, "--trust", own.trim()];
    place.run(&["verify", &project_file("examples/sort.json")]);
    let asked = place.file("asked.json", place.run(&[&trust[..], &["--json"]].concat()).stdout);
    transcript.run(&["decision", "approve", "--yes", &asked, "--key", "default", "--note", "checked"]);
    let approvals = place.run(&["receipt", "list", "--tier", "3"]).stdout;
    transcript.run(&["receipt", "show", approvals.lines().nth(1).unwrap().split(' ').next().unwrap()]);
    transcript.run(&trust);
    assert_snapshot!(transcript.text);
}

#[test]
fn policies_are_tested_explained_and_measured() {
    let place = Place::new();
    let (cases, policy) = (decide("cases.yaml"), decide("policy.yaml"));
    let mut transcript = Transcript::new(&place);
    transcript.run(&["policy", "explain", &policy]);
    transcript.run(&["policy", "test", &cases]);
    transcript.run(&["policy", "coverage", &cases]);
    transcript.run(&["lint", &policy]);
    let text = std::fs::read_to_string(&cases).unwrap();
    let text = text.replace("policy.yaml", &policy).replace("../sort.json", &project_file("examples/sort.json"));
    let failing = place.file("cases.yaml", text.replacen("reasons: [not_verified]", "reasons: [not_approved]", 1));
    transcript.run(&["policy", "test", &failing]);
    assert_snapshot!(transcript.text);
}

#[test]
fn accept_prints_the_state_and_each_rule() {
    let place = Place::new();
    let (workflow, run) = (accept("workflow.yaml"), ["--step", "implement", "--run", "r1"]);
    let mut transcript = Transcript::new(&place);
    for (number, form) in [("1", &[][..]), ("1", &["--json"]), ("2", &[])] {
        let (response, trace) = (accept(&format!("attempt{number}.md")), accept(&format!("trace{number}.json")));
        let files = ["workflow", "accept", &workflow, "--response", &response, "--trace", &trace];
        transcript.run(&[&files, &run[..], form].concat());
    }
    transcript.run(&["run", "list"]);
    transcript.run(&["run", "show", "r1"]);
    transcript.run(&["run", "show", "r1", "--json"]);
    let response = accept("attempt2.md");
    let late = ["workflow", "accept", &workflow, "--response", &response, "--step", "implement", "--run", "r1"];
    transcript.run(&late);
    transcript.run(&[&late[..], &["--json"]].concat());
    assert_snapshot!(transcript.text);
}

#[test]
fn workflows_are_tested_in_every_format() {
    let place = Place::new();
    let folder = accept("");
    let table = std::fs::read_to_string(accept("cases.yaml")).unwrap();
    let table = ["workflow.yaml", "attempt1", "attempt2", "trace1", "trace2"]
        .iter()
        .fold(table, |table, name| table.replace(&format!(": {name}"), &format!(": {folder}{name}")));
    let failing = place.file("failing.yaml", table.replacen("state: accepted", "state: retry", 1));
    let mut transcript = Transcript::new(&place);
    transcript.run(&["workflow", "test", &accept("cases.yaml")]);
    for format in ["human", "tap", "junit"] {
        transcript.run(&["workflow", "test", &failing, "--format", format]);
    }
    transcript.run(&["workflow", "test", &place.file("empty.yaml", "cases: []\n")]);
    assert_snapshot!(transcript.text);
}

#[test]
fn lint_prints_findings_in_every_format() {
    let place = Place::new();
    let bad = place.file("bad.yaml", crate::lint::ENDLESS);
    let mut transcript = Transcript::new(&place);
    transcript.run(&["lint", &accept("workflow.yaml")]);
    transcript.run(&["lint", &place.file("cycle.yaml", crate::lint::ENDLESS.replace("value.sze()", "value.size()"))]);
    for format in ["human", "json", "sarif", "github", "junit"] {
        transcript.run(&["lint", &bad, "--format", format]);
    }
    assert_snapshot!(transcript.text);
}

#[test]
fn keys_and_api_keys_are_printed() {
    let place = Place::new();
    let mut transcript = Transcript::new(&place);
    transcript.run(&["key", "new", "release"]);
    transcript.run(&["key", "new", "release"]);
    transcript.run(&["key", "show", "release", "--json"]);
    transcript.run(&["key", "list"]);
    transcript.run(&["key", "show", "absent"]);
    let secret = place.file("passphrase", "correct horse\n");
    transcript.run(&["key", "new", "safe", "--passphrase-file", &secret]);
    transcript.run(&["key", "show", "safe"]);
    let long = place.file("long", "x".repeat(5_000));
    transcript.run(&["key", "new", "long", "--passphrase-file", &long]);
    std::fs::set_permissions(place.path("home/keys/release.pem"), std::fs::Permissions::from_mode(0o644)).unwrap();
    transcript.run(&["key", "show", "release"]);
    transcript.run(&["mcp", "config", "claude-desktop", "--http", "http://127.0.0.1:8700/mcp"]);
    assert_snapshot!(transcript.text);
}

#[test]
fn an_evaluation_of_a_job_is_printed() {
    let place = Place::new();
    let job = project_file("examples/commerce/job.json");
    let refused = std::fs::read_to_string(&job).unwrap().replace("return sorted(xs)", "return xs");
    let mut transcript = Transcript::new(&place);
    transcript.run(&["acp", "evaluate", &job]);
    transcript.run(&["acp", "evaluate", &place.file("refused.json", refused), "--json"]);
    transcript.run(&["acp", "evaluate", &place.file("empty.json", "{}")]);
    assert_snapshot!(transcript.text);
}
