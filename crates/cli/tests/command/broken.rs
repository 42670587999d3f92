//! Every command that reads a document refuses a broken one in the same form: what failed, where, once, and what to do.

use proofmark_receipt::Json;

use crate::run::{Done, Place, RIGHT, project_file, request};

/// JSON that is broken in ways that every reader refuses, with a name, and whether there is a place to show.
fn broken_json() -> Vec<(&'static str, Vec<u8>, bool)> {
    let long = format!("{{\"{}\": 1, \"x\": tru}}", "k".repeat(5_000));
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    vec![
        ("empty", Vec::new(), false),
        ("cut", b"{\"steps\": [\n  {\"id\": ".to_vec(), true),
        ("list", b"[1, 2]\n".to_vec(), true),
        ("text", b"\"\x20words\"".to_vec(), true),
        ("twice", b"{\n  \"name\": 1,\n  \"name\": 2\n}".to_vec(), true),
        ("unknown", b"{\"nam\\u001b[31me\": \"x\"}".to_vec(), true),
        ("escape", b"{\"a\": \"\x1b[31m\"}".to_vec(), true),
        ("word", b"{\"a\": nope}".to_vec(), true),
        ("long line", long.into_bytes(), true),
        ("deep", deep.into_bytes(), true),
        ("bytes", b"{\"a\": \"\xff\xfe\"}".to_vec(), true),
        ("mark", b"\xef\xbb\xbf[1]".to_vec(), true),
    ]
}

fn broken_yaml() -> Vec<(&'static str, Vec<u8>, bool)> {
    vec![
        ("cut", b"name: [a,\n".to_vec(), true),
        ("twice", b"name: a\nname: b\n".to_vec(), true),
        ("tab", b"name: a\n\tclass: b\n".to_vec(), true),
        ("boolean", b"name: yes\n".to_vec(), true),
        ("list", b"- a\n- b\n".to_vec(), true),
        ("unknown", b"a:\n  nested: true\n".to_vec(), true),
        ("alias", b"name: *nowhere\n".to_vec(), true),
    ]
}

/// Asserts that a refusal has the form, and returns its text.
fn refused(name: &str, done: &Done, file: &str, place: bool) {
    let stderr = &done.stderr;
    assert_eq!(done.code, 2, "{name}: {done:?}");
    assert!(!stderr.contains("panicked"), "{name}: {done:?}");
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!stderr.contains(control) && !done.stdout.contains(control), "{name}: {done:?}");
    let errors: Vec<&str> = stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    let [error] = errors.as_slice() else { panic!("{name}: {} errors: {done:?}", errors.len()) };
    assert!(error.starts_with("failed to "), "{name}: {error}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("help: ")).count(), 1, "{name}: {done:?}");
    assert!(error.contains(file), "{name}: {error}");
    if place {
        let after = error.split(file).nth(1).unwrap();
        let numbers = after.strip_prefix(':').unwrap_or_else(|| panic!("{name} has no place: {error}"));
        let (line, rest) = numbers.split_once(':').unwrap();
        let column = rest.split(':').next().unwrap();
        assert!(line.parse::<u64>().is_ok() && column.parse::<u64>().is_ok(), "{name}: {error}");
        let caret = stderr.lines().any(|line| line.trim_matches([' ', '\t']) == "^");
        assert!(caret, "{name} shows no caret: {done:?}");
    }
    let mut clauses: Vec<&str> = error.split(": ").map(str::trim).filter(|clause| clause.len() > 3).collect();
    let all = clauses.len();
    clauses.sort_unstable();
    clauses.dedup();
    assert_eq!(clauses.len(), all, "{name} says something twice: {error}");
    assert!(stderr.lines().all(|line| line.chars().count() < 1_500), "{name}: {done:?}");
}

/// Runs a command once for each broken document; `FILE` in the arguments is its path.
fn each(place: &Place, arguments: &[&str], ending: &str, documents: Vec<(&'static str, Vec<u8>, bool)>) {
    for (name, bytes, with_place) in documents {
        let file = place.file(&format!("broken/bad.{ending}"), bytes);
        let arguments: Vec<&str> =
            arguments.iter().map(|word| if *word == "FILE" { file.as_str() } else { word }).collect();
        let done = place.run(&arguments);
        refused(&format!("{} {name} {ending}", arguments.join(" ")), &done, &file, with_place);
    }
}

fn accept(name: &str) -> String {
    project_file(&format!("examples/accept/{name}"))
}

fn decide(name: &str) -> String {
    project_file(&format!("examples/decide/{name}"))
}

#[test]
fn requests_and_suites_are_refused_in_one_form() {
    let place = Place::new();
    for arguments in [&["verify", "FILE"][..], &["verify", "--suite-digest", "FILE"]] {
        each(&place, arguments, "json", broken_json());
        each(&place, arguments, "yaml", broken_yaml());
    }
    each(&place, &["acp", "evaluate", "FILE"], "json", broken_json());
    let good = request(RIGHT).replace('\n', "");
    for (name, bytes, with_place) in broken_json() {
        if bytes.is_empty() || bytes.contains(&b'\n') {
            continue;
        }
        let lines = [b"\n", good.as_bytes(), b"\n", bytes.as_slice(), b"\n"].concat();
        let file = place.file("broken/bad.jsonl", lines);
        let done = place.run(&["verify", &file, "--no-store", "--unsigned"]);
        refused(name, &done, &file, with_place);
        assert!(done.stderr.contains(&format!("{file}:3:")), "{name}: {done:?}");
    }
    for (name, bytes, with_place) in broken_yaml() {
        refused(name, &place.run_with(&["verify", "-"], &[], &bytes), "standard input", with_place);
    }
}

#[test]
fn workflows_traces_and_contexts_are_refused_in_one_form() {
    let place = Place::new();
    let (workflow, response, trace) = (accept("workflow.yaml"), accept("attempt2.md"), accept("trace2.json"));
    let step = ["--step", "implement", "--response", &response];
    each(&place, &[&["workflow", "accept", "FILE"][..], &step].concat(), "yaml", broken_yaml());
    each(&place, &[&["workflow", "accept", "FILE"][..], &step].concat(), "json", broken_json());
    each(
        &place,
        &[&["workflow", "accept", &workflow, "--workflow-policy", "FILE"][..], &step].concat(),
        "yaml",
        broken_yaml(),
    );
    each(&place, &[&["workflow", "accept", &workflow, "--trace", "FILE"][..], &step].concat(), "json", broken_json());
    let objects = |(name, _, _): &(&str, Vec<u8>, bool)| *name != "unknown";
    let contexts = broken_json().into_iter().filter(objects).collect();
    each(
        &place,
        &[&["workflow", "accept", &workflow, "--trace", &trace, "--context", "FILE"][..], &step].concat(),
        "json",
        contexts,
    );
    let folder = place.path("broken");
    let presented =
        [&["workflow", "accept", &workflow, "--trace", &trace, "--receipt", folder.to_str().unwrap()][..], &step]
            .concat();
    each(&place, &presented, "json", broken_json());
    each(&place, &["workflow", "test", "FILE"], "yaml", broken_yaml());
    assert!(!place.path("home/proofmark.db").exists() || place.run(&["run", "list"]).stdout.is_empty());
}

#[test]
fn policies_and_decisions_are_refused_in_one_form() {
    let place = Place::new();
    place.run(&["key", "new"]);
    let (action, policy) = (decide("request.json"), decide("policy.yaml"));
    each(&place, &["decide", "FILE", "--policy", &policy], "json", broken_json());
    each(&place, &["decide", &action, "--policy", "FILE"], "yaml", broken_yaml());
    for option in ["--replay", "--resume"] {
        each(&place, &["decide", &action, "--policy", &policy, option, "FILE"], "json", broken_json());
    }
    for verb in ["approve", "deny"] {
        each(&place, &["decision", verb, "FILE", "--key", "default", "--note", "x"], "json", broken_json());
    }
    each(&place, &["receipt", "show", "FILE"], "json", broken_json());
    for command in ["explain", "test", "coverage"] {
        each(&place, &["policy", command, "FILE"], "yaml", broken_yaml());
    }
    let (name, bytes) = ("stdin", b"{\"a\": nope}");
    refused(name, &place.run_with(&["decide", "-", "--policy", &policy], &[], bytes), "standard input", true);
    for arguments in [&["serve", "--policy", "FILE"][..], &["mcp", "--policy", "FILE"]] {
        each(&place, arguments, "yaml", broken_yaml());
    }
}

#[test]
fn the_place_in_a_broken_receipt_is_shown_with_its_result() {
    let place = Place::new();
    for (name, bytes, with_place) in broken_json() {
        let file = place.file("broken/receipt.json", bytes);
        let done = place.run(&["receipt", "verify", &file]);
        assert_eq!(done.code, 2, "{name}: {done:?}");
        let caret = done.stdout.lines().any(|line| line.trim_matches([' ', '\t']) == "^");
        assert_eq!(caret, with_place, "{name}: {done:?}");
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!done.stdout.contains(control), "{name}: {done:?}");
    }
}

#[test]
fn a_program_reads_the_place_as_members() {
    let place = Place::new();
    let file = place.file("bad.json", "{\n  \"output\": {\"content\": \"x\"},\n  \"verificaton\": {}\n}");
    let done = place.run(&["verify", &file, "--json"]);
    let object = Json::parse(done.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let member = |name: &str| object.as_object().unwrap().get(name).cloned().unwrap_or(Json::Null);
    assert_eq!(member("code"), Json::from("unknown_field"));
    assert_eq!(member("file"), Json::from(file.as_str()));
    assert_eq!([member("line"), member("column")].map(|json| json.to_text()), ["3", "18"]);
    assert_eq!(member("help"), Json::from("did you mean `verification`?"));
    assert!(!member("error").as_str().unwrap().contains('\n'), "{done:?}");
}

#[test]
fn a_place_in_a_long_document_is_shown_with_its_line() {
    let place = Place::new();
    let tests: String =
        (0..2_000).map(|n| format!("    - {{name: t{n}, input: [{n}], expected_output: {n}}}\n")).collect();
    let text = format!(
        "output: {{content: x}}\nverification:\n  kind: test_suite\n  language: python\n  entrypoint: f\n  tests:\n{tests}\
         \x20   - {{name: last, input: [1], expectd: 1}}\n"
    );
    let done = place.run(&["verify", &place.file("long.yaml", text)]);
    assert!(done.stderr.contains("long.yaml:2007:"), "{done:?}");
    assert!(done.stderr.contains("    - {name: last, input: [1], expectd: 1}\n"), "{done:?}");
}
