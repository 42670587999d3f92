//! What recorded runs would have come to under a policy.

use std::process::Command;

use proofmark_receipt::Json;

use crate::run::{Done, Place, project_file};

const POLICY: &str = "version: 1
classes: [payment]
tools:
  - {tool: [read_mail, get_invoice], class: generic, reads: true}
  - {tool: pay, class: payment, recipient: to, amount: amount}
origins: [{tool: get_invoice, label: supplier}]
boundaries:
  - {id: look, match: {action_class: generic}}
  - {id: pay, match: {action_class: payment}, require: [{from: {to: [request, supplier]}}]}
";

/// A run of a user who asks for `request`, with these calls: tool, arguments and result.
fn run(request: &str, calls: &[[&str; 3]]) -> String {
    let mut messages = vec![format!(r#"{{"role": "user", "content": "{request}"}}"#)];
    for (id, [tool, arguments, result]) in calls.iter().enumerate() {
        let [arguments, result] = [arguments, result].map(|text| Json::from(*text).to_text());
        messages.push(format!(
            r#"{{"role": "assistant", "content": null, "tool_calls": [{{"id": "{id}", "function": {{"name": "{tool}", "arguments": {arguments}}}}}]}}"#
        ));
        messages.push(format!(r#"{{"role": "tool", "tool_call_id": "{id}", "content": {result}}}"#));
    }
    format!("[{}]", messages.join(", "))
}

fn replay(place: &Place, policy: &str, runs: &str) -> Done {
    place.run(&["policy", "replay", "--policy", policy, "--runs", runs, "--json"])
}

/// Of each run, the rulings of its calls.
fn rulings(done: &Done) -> Vec<Vec<String>> {
    let lines = done.stdout.lines().map(|line| Json::parse(line.as_bytes()).unwrap());
    let of_call = |call: &Json| call.as_object().unwrap().get("ruling").unwrap().as_str().unwrap().to_owned();
    let of_run = |run: Json| Some(run.as_object()?.get("calls")?.as_array()?.iter().map(of_call).collect());
    lines.filter_map(of_run).collect()
}

fn member<'a>(json: &'a Json, path: &[&str]) -> &'a Json {
    path.iter().fold(json, |json, name| match name.parse::<usize>() {
        Ok(index) => &json.as_array().unwrap()[index],
        Err(_) => json.as_object().unwrap().get(name).unwrap_or_else(|| panic!("no {name} in {}", json.to_text())),
    })
}

#[test]
fn a_run_is_decided_call_by_call_on_what_came_before() {
    let place = Place::new();
    let policy = place.file("policy.yaml", POLICY);
    let mail = ["read_mail", "{}", "Our account is new: DE99."];
    let invoice = ["get_invoice", r#"{"number": 7}"#, r#"{"account": "DE11"}"#];
    let pay = |to: &str| format!(r#"{{"to": "{to}"}}"#);
    let (right, wrong) = (pay("DE11"), pay("DE99"));
    let paid = |arguments| ["pay", arguments, "paid"];
    place.file("runs/a/1.json", run("Pay invoice 7.", &[mail, invoice, paid(&right), paid(&wrong), paid(&right)]));
    place.file("runs/a/2.json", run("Pay DE99.", &[mail, paid(&wrong)]));
    // What is read later vouches for nothing before it, and what the agent wrote does not become trusted by being read.
    place.file("runs/b.json", run("Pay invoice 7.", &[mail, paid(&right), invoice, paid(&right)]));
    place.file("runs/notes.txt", "no run");
    let done = replay(&place, &policy, place.path("runs").to_str().unwrap());
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("not read: 1 file with another name"), "{}", done.stderr);
    let expected: [&[&str]; 3] = [
        &["allowed", "allowed", "allowed", "held", "allowed"],
        &["allowed", "allowed"],
        &["allowed", "held", "allowed", "held"],
    ];
    assert_eq!(rulings(&done), expected);
    let lines: Vec<Json> = done.stdout.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    assert_eq!(member(&lines[0], &["stopped_at"]).to_text(), "4");
    let held = member(&lines[0], &["calls", "3"]);
    assert_eq!(member(held, &["reasons", "0", "code"]).as_str(), Some("untrusted_origin"));
    assert_eq!(member(held, &["found"]).to_text(), r#"[{"at":"to","calls":[{"call":1,"tool":"read_mail"}]}]"#);
    let right = member(&lines[0], &["calls", "2", "origins", "0", "places", "0"]);
    assert_eq!(member(right, &["source"]).as_str(), Some("get_invoice"));
    let total = member(&lines[3], &["total"]);
    assert_eq!(
        ["runs", "stopped", "calls", "held"].map(|name| member(total, &[name]).to_text()),
        ["3", "2", "11", "3"]
    );
}

#[test]
fn what_a_record_does_not_have_is_not_allowed() {
    let place = Place::new();
    let policy = place.file("policy.yaml", POLICY);
    // No arguments; no result of the mail, so that nobody knows what was read; no request.
    let calls = r#"{"name": "pay"}
{"name": "read_mail", "args": {}}
{"name": "pay", "args": {"to": "DE11"}}
{"name": "wire", "args": {}, "result": "ok"}"#;
    let runs = place.file("run.jsonl", calls);
    let done = replay(&place, &policy, &runs);
    assert_eq!(
        (done.code, rulings(&done)),
        (1, vec![["blocked", "allowed", "held", "blocked"].map(str::to_owned).to_vec()])
    );
    assert!(done.stdout.contains("arguments_unknown"), "{}", done.stdout);
    let text = place.run(&["policy", "replay", "--policy", &policy, "--runs", &runs]);
    assert!(text.stderr.contains("does not say what the user asked for"), "{}", text.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_what_is_read() {
    let place = Place::new();
    let policy = place.file("policy.yaml", POLICY);
    place.file("runs/a.json", r#"{"hello": 1}"#);
    place.file("runs/b.json", r#"[{"role": "user", "#);
    place.file("runs/c.json", run("Pay DE11.", &[["pay", r#"{"to": "DE11"}"#, "paid"]]));
    let runs = place.path("runs");
    let done = replay(&place, &policy, runs.to_str().unwrap());
    assert_eq!((done.code, rulings(&done)), (2, vec![vec!["allowed".to_owned()]]));
    let errors: Vec<Json> = done.stderr.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    for (error, name) in errors.iter().zip(["a.json", "b.json"]) {
        assert!(member(error, &["file"]).as_str().unwrap().ends_with(name), "{}", done.stderr);
        for form in ["`session`", "`agentdojo`", "`openai_chat`", "`anthropic`", "`langchain`"] {
            assert!(member(error, &["help"]).as_str().unwrap().contains(form), "{}", done.stderr);
        }
    }
    let total = done.stdout.lines().last().unwrap();
    assert_eq!(member(&Json::parse(total.as_bytes()).unwrap(), &["total", "unreadable"]).to_text(), "2");
    let empty = place.path("empty");
    std::fs::create_dir(&empty).unwrap();
    for missing in [empty.to_str().unwrap(), place.path("none").to_str().unwrap()] {
        let done = replay(&place, &policy, missing);
        assert_eq!(done.code, 2, "{done:?}");
    }
}

#[test]
fn limits_and_repeated_denials_count_the_calls_of_the_run() {
    let place = Place::new();
    let policy = place.file(
        "policy.yaml",
        "version: 1
classes: [payment]
tools: [{tool: pay, class: payment, recipient: to, amount: amount}]
boundaries:
  - id: pay
    match: {action_class: payment}
    require:
      - fact: action.amount < 50
      - limit: {id: paid, sum: action.args.amount, max: 100}
",
    );
    let amounts = [40, 40, 40, 10, 60, 60, 60, 60].map(|amount| format!(r#"{{"amount": {amount}}}"#));
    let calls: Vec<[&str; 3]> = amounts.iter().map(|arguments| ["pay", arguments.as_str(), "paid"]).collect();
    place.file("runs/1.json", run("Pay.", &calls));
    place.file("runs/2.json", run("Pay.", &calls[..2]));
    let done = replay(&place, &policy, place.path("runs").to_str().unwrap());
    let rulings = rulings(&done);
    assert_eq!(rulings[0][..4], ["allowed", "allowed", "held", "allowed"]);
    // The third denial of the same action on waits for a person.
    assert_eq!(rulings[0].last().map(String::as_str), Some("held"));
    // Another run begins anew.
    assert_eq!(rulings[1], ["allowed", "allowed"]);
}

#[test]
fn a_session_is_decided_as_its_guard_did() {
    let place = Place::new();
    let (agent, server) = (project_file("examples/guard/agent.py"), project_file("examples/guard/server.py"));
    let policy = project_file("examples/guard/origins.yaml");
    let request = place.file("request.txt", "Write \"Ship on Monday.\" into the note plan.");
    for keep in ["full", "excerpt", "digest"] {
        let guard = ["guard", "--policy", &policy, "--request", &request, "--keep", keep, "--session", keep, "--"];
        let played = Command::new("python3")
            .args([&agent, env!("CARGO_BIN_EXE_proofmark")])
            .args(guard)
            .args(["python3", &server])
            .envs(place.home.variables())
            .output()
            .unwrap();
        assert!(played.status.success(), "{played:?}");
        let export = place.run(&["session", "export", keep]).stdout;
        let decided = export.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).filter_map(|entry| {
            let entry = entry.as_object()?;
            let allowed = entry.get("allowed")?.as_bool()?;
            (entry.get("kind")?.as_str()? == "decided").then(|| if allowed { "allowed" } else { "held" }.to_owned())
        });
        let decided: Vec<String> = decided.collect();
        assert_eq!(decided.iter().filter(|ruling| *ruling == "held").count(), 1, "{decided:?}");
        let runs = place.file(&format!("{keep}.jsonl"), &export);
        assert_eq!(rulings(&replay(&place, &policy, &runs)), [decided], "{keep}");
        // An export that was changed proves nothing.
        let changed = place.file("changed.jsonl", export.replace("\"allowed\":true", "\"allowed\":false"));
        let done = replay(&place, &policy, &changed);
        assert_eq!((done.code, rulings(&done)), (2, vec![]));
        assert!(done.stderr.contains("changed.jsonl"), "{}", done.stderr);
    }
    // Labels that another policy gave are not taken over.
    let other = place.file("other.yaml", std::fs::read_to_string(&policy).unwrap().replace("- id: send", "- id: mail"));
    let runs = place.path("digest.jsonl");
    let rulings = rulings(&replay(&place, &other, runs.to_str().unwrap()));
    assert!(rulings[0].iter().filter(|ruling| *ruling == "held").count() >= 1, "{rulings:?}");
}
