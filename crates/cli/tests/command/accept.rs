use std::thread;

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Done, Place, project_file};
use crate::transcript::Transcript;

fn example(name: &str) -> String {
    project_file(&format!("examples/accept/{name}"))
}

fn attempt(place: &Place, number: u32, run: &str, more: &[&str]) -> Done {
    let (workflow, response, trace) =
        (example("workflow.yaml"), example(&format!("attempt{number}.md")), example(&format!("trace{number}.json")));
    let arguments = [
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
    assert_eq!(damaged.stderr.matches("record [0]").count(), 1, "{damaged:?}");

    for (context, named) in [("[1]", "JSON object"), (r#"{"a": 1e6200}"#, "`1e6200`")] {
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
    let done = place.run(&["accept", &workflow, "--step", "implement", "--response", &response, "--json"]);
    assert_eq!((done.code, member(&done, "state")), (1, Json::from("retry")), "{done:?}");
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
        let done = place.run(&["accept", &workflow, "--step", "implement", "--response", &response]);
        assert_eq!(done.code, 2, "{name}: {done:?}");
        transcript.add(name, &done);
        for word in words {
            assert!(done.stderr.contains(word), "{name} lacks {word}: {}", done.stderr);
        }
    }
    let cut = place.file("cut.json", &std::fs::read(example("trace2.json")).unwrap()[..300]);
    let workflow = example("workflow.yaml");
    let done = place.run(&[
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
    let done = place.run(&["accept", &workflow, "--step", "implement", "--response", &huge]);
    assert_eq!(done.code, 2, "{done:?}");
    assert_eq!(place.run(&["runs", "show", "t"]).code, 2);
}
