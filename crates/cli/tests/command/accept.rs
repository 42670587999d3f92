use std::thread;

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Done, Place, RIGHT, project_file, request};
use crate::transcript::Transcript;

fn example(name: &str) -> String {
    project_file(&format!("examples/accept/{name}"))
}

fn attempt(place: &Place, number: u32, run: &str, more: &[&str]) -> Done {
    let (workflow, response, trace) =
        (example("workflow.yaml"), example(&format!("attempt{number}.md")), example(&format!("trace{number}.json")));
    let arguments = [
        "workflow",
        "accept",
        &workflow,
        "--step",
        "implement",
        "--run",
        run,
        "--response",
        &response,
        "--trace",
        &trace,
        "--json",
    ];
    place.run(&[&arguments[..], more].concat())
}

#[test]
fn an_error_names_its_cause_once() {
    let place = Place::new();
    let trace = place.file("trace.json", r#"[{"what": 1}]"#);
    let damaged = place.run(&[
        "workflow",
        "accept",
        &example("workflow.yaml"),
        "--step",
        "implement",
        "--response",
        &example("attempt1.md"),
        "--trace",
        &trace,
    ]);
    assert_eq!(damaged.code, 2, "{damaged:?}");
    assert_eq!(damaged.stderr.matches("`[0]`").count(), 1, "{damaged:?}");
    assert!(damaged.stderr.contains("trace.json:1:2: "), "{damaged:?}");

    for (context, named) in [("[1]", "object"), (r#"{"a": 1e6200}"#, "`1e6200`")] {
        let context = place.file("context.json", context);
        let refused = attempt(&place, 1, "r", &["--context", &context]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("context.json") && refused.stderr.contains(named), "{refused:?}");
    }
    let context = place.file("context.json", r#"{"a": 1}"#);
    assert_eq!(attempt(&place, 1, "r", &["--context", &context]).code, 1);
}

fn member(done: &Done, name: &str) -> Json {
    let object = Json::parse(done.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    object.as_object().unwrap().get(name).cloned().unwrap_or(Json::Null)
}

#[test]
fn a_step_is_rejected_retried_and_accepted_with_chained_receipts() {
    let place = Place::new();
    let first = attempt(&place, 1, "demo", &[]);
    assert_eq!((first.code, member(&first, "state")), (1, Json::from("retry")), "{first:?}");
    let prompt = member(&first, "prompt");
    let prompt = prompt.as_str().unwrap();
    assert!(prompt.starts_with("Return missing screenshots and validation details."), "{prompt}");
    assert!(prompt.contains("open_simple_browser") && prompt.contains("visualVerification.performed"), "{prompt}");

    let second = attempt(&place, 2, "demo", &[]);
    assert_eq!((second.code, member(&second, "state")), (0, Json::from("accepted")), "{second:?}");
    let third = attempt(&place, 2, "demo", &[]);
    assert_eq!(third.code, 2, "{third:?}");

    let chain = place.run(&["receipt", "export", "--chain", "run/demo/implement"]);
    assert_eq!(chain.stdout.lines().count(), 2, "{chain:?}");
    let checked = place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], chain.stdout.as_bytes());
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn what_the_agent_says_of_itself_accepts_nothing() {
    let place = Place::new();
    let workflow = example("workflow.yaml");
    let response = example("attempt2.md");
    let arguments =
        ["workflow", "accept", &workflow, "--step", "implement", "--response", &response, "--trace", "none", "--json"];
    let done = place.run(&arguments);
    assert_eq!((done.code, member(&done, "state")), (1, Json::from("retry")), "{done:?}");
}

#[test]
fn what_the_caller_forgot_costs_no_attempt() {
    let place = Place::new();
    let workflow = std::fs::read_to_string(example("workflow.yaml")).unwrap();
    let with_context = workflow.replacen("class:", "context: {ticket: string}\nclass:", 1).replacen(
        "          expect: present",
        "          expect: {predicate: value != context.ticket}",
        1,
    );
    let workflow = place.file("workflow.yaml", with_context);
    let (response, trace) = (example("attempt2.md"), example("trace2.json"));
    let files = ["workflow", "accept", &workflow, "--step", "implement", "--run", "r", "--response", &response];
    let run = |more: &[&str]| place.run(&[&files[..], more].concat());
    for (more, word) in [
        (&["--trace", &trace][..], "--context"),
        (&["--context", &place.file("c.json", r#"{"ticket": 1}"#), "--trace", &trace], "`ticket`"),
        (&["--context", &place.file("d.json", r#"{"ticket": "T-1"}"#)], "--trace"),
    ] {
        let done = run(more);
        assert!(done.code == 2 && done.stderr.contains(word), "{done:?}");
        assert!(done.stderr.contains("\nhelp: "), "{done:?}");
    }
    // The last attempts of all, and none was used up.
    assert_eq!(place.run(&["run", "show", "r"]).code, 2);
    let absent = run(&["--trace", &trace, "--context", "absent.yaml"]);
    assert!(absent.code == 2 && absent.stderr.contains("help: write an object, as in `--context '{"), "{absent:?}");
    let context = place.file("context.yaml", "ticket: T-1\n");
    for given in [r#"{"ticket": "T-1"}"#, &format!("@{context}")] {
        let done = run(&["--trace", &trace, "--context", given, "--dry-run"]);
        assert_eq!(done.code, 0, "{given}: {done:?}");
    }
    assert_eq!(run(&["--trace", &trace, "--context", &context]).code, 0);
}

#[test]
fn one_input_at_most_is_standard_input() {
    let place = Place::new();
    let workflow = example("workflow.yaml");
    let files = ["workflow", "accept", &workflow, "--step", "implement", "--run", "r"];
    let (response, trace) = (example("attempt2.md"), example("trace2.json"));
    let two = place.run_with(&[&files[..], &["--response", "-", "--trace", "-"]].concat(), &[], b"{}");
    assert!(two.code == 2 && two.stderr.contains("standard input"), "{two:?}");
    let input = std::fs::read(&trace).unwrap();
    let done = place.run_with(&[&files[..], &["--response", &response, "--trace", "-"]].concat(), &[], &input);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn a_dry_run_judges_alike_and_stores_nothing() {
    let place = Place::new();
    let dry = attempt(&place, 1, "r", &["--dry-run"]);
    assert!(!place.path("home").exists(), "neither a key nor a store is created");
    assert_eq!(member(&dry, "dry_run"), Json::from(true));
    assert_eq!(member(&dry, "receipt"), Json::Null);
    let real = attempt(&place, 1, "r", &[]);
    for name in ["state", "attempt", "rules", "prompt", "next_attempt"] {
        assert_eq!(member(&dry, name), member(&real, name), "{name}");
    }
    assert_eq!((dry.code, real.code), (1, 1));
    let before = place.run(&["run", "show", "r", "--json"]).stdout;
    // On the state of the run, as often as one likes.
    for _ in 0..4 {
        let dry = attempt(&place, 2, "r", &["--dry-run"]);
        assert_eq!((dry.code, member(&dry, "attempt").to_text()), (0, "2".to_owned()), "{dry:?}");
    }
    assert_eq!(place.run(&["run", "show", "r", "--json"]).stdout, before);
    assert_eq!(
        place.run(&["receipt", "list", "--json"]).stdout.lines().count(),
        1,
        "only the real attempt has a receipt"
    );
    assert_eq!(attempt(&place, 2, "r", &[]).code, 0);
    assert_eq!(attempt(&place, 2, "r", &["--dry-run"]).code, 2, "the run has ended");
}

/// Two steps of which the second needs a receipt of the store.
const TWO_STEPS: &str = "name: two
class: readonly
tools: {mutating: [edit_*], readonly: [get_*]}
steps:
  - id: work
    verification: {onMissingEvidence: reject-and-retry, evidence: [{path: done, expect: true}]}
  - id: check
    verification:
      onMissingEvidence: reject-and-abort
      receipts: [{anySuite: true, output: payload.digest}]
";

#[test]
fn a_receipt_of_the_own_store_and_key_counts_without_further_options() {
    let place = Place::new();
    let workflow = place.file("two.yaml", TWO_STEPS);
    let digest = place.receipt(&request(RIGHT), &[]).hashes().output.to_string();
    let response = place.file("response.json", format!(r#"{{"digest": "{digest}"}}"#));
    let files = ["workflow", "accept", &workflow, "--step", "check", "--response", &response];
    assert_eq!(place.run(&files).code, 0);
    // Who names signers trusts only those.
    place.run(&["key", "new", "other"]);
    let other = place.file("other.pem", place.run(&["key", "show", "other", "--as", "pem"]).stdout);
    assert_eq!(place.run(&[&files[..], &["--trust", &other]].concat()).code, 1);
}

#[test]
fn a_step_out_of_order_is_marked_and_refused_on_demand() {
    let place = Place::new();
    let workflow = place.file("two.yaml", TWO_STEPS);
    let digest = place.receipt(&request(RIGHT), &[]).hashes().output.to_string();
    let response = place.file("response.json", format!(r#"{{"digest": "{digest}", "done": true}}"#));
    let run = |step: &str, run: &str, more: &[&str]| {
        place.run(
            &[&["workflow", "accept", &workflow, "--step", step, "--run", run, "--response", &response][..], more]
                .concat(),
        )
    };
    let refused = run("check", "r", &["--in-order"]);
    assert!(refused.code == 2 && refused.stderr.contains("no step that leads to it"), "{refused:?}");
    let early = run("check", "early", &["--json"]);
    assert_eq!((early.code, member(&early, "out_of_order")), (0, Json::from(true)), "{early:?}");
    assert!(
        early.stdout.contains(r#""out_of_order":true,"next":null,"contract_digest""#),
        "the receipt says so: {early:?}"
    );
    assert!(run("check", "other", &[]).stdout.contains("warning: no step that leads to check"));
    let first = run("work", "r", &["--json", "--in-order"]);
    assert_eq!((first.code, member(&first, "next")), (0, Json::from("check")), "{first:?}");
    let second = run("check", "r", &["--json", "--in-order"]);
    assert_eq!((second.code, member(&second, "out_of_order")), (0, Json::Null), "{second:?}");
    assert!(second.stdout.contains(r#""next":null"#), "{second:?}");
}

#[test]
fn a_workflow_with_errors_is_not_followed() {
    let place = Place::new();
    let workflow = place.file("two.yaml", TWO_STEPS.replace("  - id: check\n", "    next: chekc\n  - id: check\n"));
    let response = place.file("response.json", r#"{"done": true}"#);
    let done = place.run(&["workflow", "accept", &workflow, "--step", "work", "--response", &response]);
    assert_eq!(done.code, 2, "{done:?}");
    for word in ["two.yaml:7:", "`chekc`", "did you mean `check`?", "^"] {
        assert!(done.stderr.contains(word), "lacks {word}: {done:?}");
    }
    assert!(!place.path("home").exists());
}

#[test]
fn an_attempt_that_comes_too_early_is_told_when_it_may_come() {
    let place = Place::new();
    let slow = TWO_STEPS.replace("steps:", "onFailure: {maxAttempts: 3, initialDelayMs: 60000}\nsteps:");
    let workflow = place.file("two.yaml", slow);
    let response = place.file("response.json", r#"{"done": false}"#);
    let run = || place.run(&["workflow", "accept", &workflow, "--step", "work", "--run", "r", "--response", &response]);
    let first = run();
    assert!(first.stdout.contains("attempt 2 may come after 60 s (at 20"), "{first:?}");
    let second = run();
    assert!(second.code == 2 && second.stderr.contains("help: send it at 20"), "{second:?}");
}

#[test]
fn attempts_run_out() {
    let place = Place::new();
    let states = [(); 3].map(|()| member(&attempt(&place, 1, "r", &[]), "state"));
    assert_eq!(states, [Json::from("retry"), Json::from("retry"), Json::from("aborted")]);
    assert_eq!(attempt(&place, 2, "r", &[]).code, 2);
}

#[test]
fn an_attempt_out_of_turn_is_refused_by_name() {
    let place = Place::new();
    assert_eq!(attempt(&place, 1, "r", &["--attempt", "2"]).code, 2);
    assert_eq!(attempt(&place, 1, "r", &["--attempt", "1"]).code, 1);
    let repeated = attempt(&place, 2, "r", &["--attempt", "1"]);
    assert_eq!(repeated.code, 2);
    assert_eq!(attempt(&place, 2, "r", &["--attempt", "2"]).code, 0);
}

#[test]
fn of_attempts_that_race_one_accepts() {
    let place = Place::new();
    // The key and the store are there before they race for them.
    attempt(&place, 2, "warm-up", &[]);
    let codes: Vec<i32> = thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| attempt(&place, 2, "race", &[]).code)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    let chain = place.run(&["receipt", "export", "--chain", "run/race/implement"]);
    assert_eq!(chain.stdout.lines().count(), 1);
}

#[test]
fn bad_documents_are_shown_with_their_line() {
    let place = Place::new();
    let mut transcript = Transcript::new(&place);
    let good = std::fs::read_to_string(example("workflow.yaml")).unwrap();
    let response = example("attempt2.md");
    for (name, text, words) in [
        ("unknown", good.replace("retryPrompt", "retryPromt"), &["bad.yaml:12:", "retryPrompt", "^"][..]),
        ("twice", good.replace("      evidence:", "      retryPrompt: x\n      evidence:"), &["bad.yaml:13:", "^"]),
        ("boolean", good.replace("expect: true", "expect: yes"), &["yes"]),
        ("cut", good[..good.len() / 2].to_owned() + "{", &["bad.yaml:"]),
    ] {
        let workflow = place.file("bad.yaml", text);
        let done = place.run(&["workflow", "accept", &workflow, "--step", "implement", "--response", &response]);
        assert_eq!(done.code, 2, "{name}: {done:?}");
        transcript.add(name, &done);
        for word in words {
            assert!(done.stderr.contains(word), "{name} lacks {word}: {}", done.stderr);
        }
    }
    let cut = place.file("cut.json", &std::fs::read(example("trace2.json")).unwrap()[..300]);
    let workflow = example("workflow.yaml");
    let done = place.run(&[
        "workflow",
        "accept",
        &workflow,
        "--step",
        "implement",
        "--response",
        &response,
        "--trace",
        &cut,
        "--run",
        "t",
    ]);
    assert_eq!(done.code, 2, "{done:?}");
    transcript.add("a trace that is cut off", &done);
    assert_snapshot!(transcript.text);
    let huge = place.file("huge.md", vec![b'x'; 50 << 20]);
    let done = place.run(&["workflow", "accept", &workflow, "--step", "implement", "--response", &huge]);
    assert_eq!(done.code, 2, "{done:?}");
    assert_eq!(place.run(&["run", "show", "t"]).code, 2);
}

#[test]
fn runs_are_listed_together_and_shown_oldest_first() {
    let place = Place::new();
    let workflow = place.file("two.yaml", TWO_STEPS);
    let response = place.file("response.json", r#"{"done": true}"#);
    for (step, run) in [("work", "a"), ("work", "b"), ("check", "a")] {
        place.run(&["workflow", "accept", &workflow, "--step", step, "--run", run, "--response", &response]);
    }
    let listed = place.run(&["run", "list"]);
    let rows: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["CHANGED", "RUN", "WORKFLOW", "STEP", "STATE", "ATTEMPT"], "{listed:?}");
    // The steps of a run are below each other, and its name is on the first of them.
    let rows: Vec<&[&str]> = rows[1..].iter().map(|row| &row[1..]).collect();
    assert_eq!(
        rows,
        [
            &["a", "two", "check", "aborted", "1"][..],
            &["work", "accepted", "1"],
            &["b", "two", "work", "accepted", "1"]
        ]
    );
    let shown = place.run(&["run", "show", "a"]).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines[3]),
        ("run a of workflow two", "work: accepted", "check: aborted"),
        "{shown}"
    );
    let id = lines[2].rsplit(' ').next().unwrap();
    assert_eq!(place.run(&["receipt", "show", id]).code, 0);
}
