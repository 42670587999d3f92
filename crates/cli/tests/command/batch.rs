use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use proofmark_receipt::{Json, Receipt, Verdict};

use crate::run::{Place, RIGHT, WRONG, request};

fn one_line(request: &str) -> String {
    request.replace('\n', "")
}

#[test]
fn receipts_come_in_the_order_of_the_requests() {
    let place = Place::new();
    let slow = "import time\ntime.sleep(0.4)\ndef f(x):\n    return x * 2\n";
    let lines: Vec<String> = [slow, WRONG, RIGHT, slow, RIGHT, WRONG].map(|source| one_line(&request(source))).into();
    let file = place.file("many.jsonl", lines.join("\n"));
    let done = place.run(&["verify", &file, "--json", "--jobs", "3"]);
    assert_eq!(done.code, 1, "{done:?}");
    let verdicts: Vec<Verdict> =
        done.stdout.lines().map(|line| Receipt::parse(line.as_bytes()).unwrap().verdict()).collect();
    use Verdict::{Fail, Pass};
    assert_eq!(verdicts, [Pass, Fail, Pass, Pass, Pass, Fail]);
}

#[test]
fn a_folder_stands_for_its_requests_and_bad_ones_do_not_stop_the_others() {
    let place = Place::new();
    place.file("all/a.json", request(RIGHT));
    place.file("all/b.json", "{\"output\": ");
    place.file("all/c.json", request(WRONG));
    let lines = [one_line(&request(RIGHT)), "nonsense".to_owned(), one_line(&request(RIGHT))];
    place.file("all/d.jsonl", lines.join("\n"));
    let done = place.run(&["verify", place.path("all").to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 2, "{done:?}");
    // A line for each request, in their order: the receipt, or the error and where it is.
    let lines: Vec<Json> = done.stdout.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    let member = |line: &Json, name: &str| {
        line.as_object()
            .unwrap()
            .get(name)
            .and_then(Json::as_str)
            .map(|text| text.rsplit('/').next().unwrap().to_owned())
    };
    let sources: Vec<Option<String>> = lines.iter().map(|line| member(line, "source")).collect();
    let sources: Vec<Option<&str>> = sources.iter().map(Option::as_deref).collect();
    assert_eq!(sources, [None, Some("b.json"), None, None, Some("d.jsonl:2"), None]);
    let verdicts: Vec<bool> = lines.iter().map(|line| member(line, "verdict").is_some()).collect();
    assert_eq!(verdicts, sources.iter().map(Option::is_none).collect::<Vec<_>>());
    let text = place.run(&["verify", place.path("all").to_str().unwrap()]);
    assert!(text.stderr.contains("b.json") && text.stderr.contains("d.jsonl:2"), "{text:?}");
}

#[test]
fn standard_input_is_a_request() {
    let place = Place::new();
    let done = place.run_with(&["verify", "-", "--json"], &[], request(RIGHT).as_bytes());
    assert_eq!(done.code, 0, "{done:?}");
    let yaml = "output: {content: 'echo hi'}\nverification:\n  kind: test_suite\n  language: bash\n  tests: [{name: hi, input: '', expected_output: hi}]\n";
    let done = place.run_with(&["verify", "-"], &[], yaml.as_bytes());
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn every_receipt_of_a_large_batch_is_stored() {
    let place = Place::new();
    let lines = vec![one_line(&request(RIGHT)); 300];
    let file = place.file("many.jsonl", lines.join("\n"));
    let out = place.path("out.jsonl");
    let done = place.run(&["verify", &file, "--json", "--out", out.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(fs::read_to_string(out).unwrap(), done.stdout);
    let listed = place.run(&["receipt", "list", "--limit", "1000", "--json"]);
    assert_eq!(listed.stdout.lines().count(), 300);
}

/// A batch with passes, failures and a line that is no request.
fn mixed(place: &Place) -> String {
    let named = |name: &str, source: &str| one_line(&request(source)).replace("\"double\"", &format!("\"{name}\""));
    let lines = [
        named("task-1", RIGHT),
        named("task-2", WRONG),
        named("other", RIGHT),
        "{}".to_owned(),
        named("task-3", RIGHT),
    ];
    place.file("mixed.jsonl", lines.join("\n"))
}

#[test]
fn the_summary_counts_and_says_why() {
    let place = Place::new();
    let done = place.run(&["verify", &mixed(&place)]);
    assert_eq!(done.code, 2, "{done:?}");
    let (_, summary) = done.stdout.split_once("\n\n").unwrap();
    let place_of = |line: &str| format!("{}:{line}", place.path("mixed.jsonl").display());
    let lines: Vec<&str> = summary.lines().skip(1).collect();
    assert!(summary.starts_with("5 requests in ") && summary.contains(" s: 3 pass, 1 fail, 1 refused\n"), "{summary}");
    assert_eq!(lines[0], "failures");
    assert_eq!(lines[1], format!("  fail    {} (task-2)  two: expected 4, found 6", place_of("2")));
    assert_eq!(lines[2], "refused");
    assert!(lines[3].starts_with(&format!("  {}  ", place_of("4"))), "{summary}");
    assert_eq!(done.stderr.matches("mixed.jsonl:4").count(), 1, "{done:?}");
    let quiet = place.run(&["verify", &mixed(&place), "--quiet"]);
    assert!(!quiet.stdout.contains("pass ") && quiet.stdout.contains("fail "), "{quiet:?}");
    let refused = place.run(&["verify", &mixed(&place), "--quiet", "--json"]);
    assert!(refused.code == 2 && refused.stdout.is_empty(), "{refused:?}");
}

#[test]
fn no_request_starts_after_the_first_that_does_not_pass() {
    let place = Place::new();
    let fast = ["--fail-fast", "--jobs", "1"];
    let done = place.run(&[&["verify", &mixed(&place)], &fast[..]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.contains("1 pass, 1 fail, 2 not run"), "{done:?}");
    let json = place.run(&[&["verify", &mixed(&place), "--json"], &fast[..]].concat());
    assert_eq!(json.stdout.lines().count(), 2, "{json:?}");
    // A line that is no request is the first, too.
    let unread = place.run(&[&["verify", &mixed(&place), "--filter", "o*r"], &fast[..]].concat());
    assert!(unread.code == 2 && unread.stdout.contains("1 pass, 1 refused"), "{unread:?}");
    let listed = place.run(&["receipt", "list", "--json"]);
    assert_eq!(listed.stdout.lines().count(), 5);
}

#[test]
fn a_filter_selects_by_file_and_task() {
    let place = Place::new();
    place.file("all/first.json", request(RIGHT));
    place.file("all/second.json", request(WRONG).replace("\"double\"", "\"triple\""));
    let folder = place.path("all");
    let folder = folder.to_str().unwrap();
    for (filter, code, counts) in [
        ("first", 0, "1 pass, 1 filtered out"),
        ("tri", 1, "0 pass, 1 fail, 1 filtered out"),
        ("*second.json", 1, "0 pass, 1 fail, 1 filtered out"),
        ("*.json", 1, "1 pass, 1 fail"),
    ] {
        let done = place.run(&["verify", folder, "--filter", filter]);
        assert!(done.code == code && done.stdout.contains(counts), "{filter}: {done:?}");
    }
    let none = place.run(&["verify", folder, "--filter", "third"]);
    assert!(none.code == 2 && none.stderr.contains("selects none of 2 requests"), "{none:?}");
}

/// Starts the command; the caller ends it.
fn start(place: &Place, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(arguments)
        .envs(place.home.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(done.unwrap().success());
}

#[test]
fn an_interrupt_says_how_far_it_got_and_leaves_whole_receipts() {
    let place = Place::new();
    let slow = "import time\ntime.sleep(0.5)\ndef f(x):\n    return x * 2\n";
    let file = place.file("slow.jsonl", vec![one_line(&request(slow)); 100].join("\n"));
    let out = place.path("out.jsonl");
    let arguments = ["verify", &file, "--json", "--chain", "work", "--jobs", "2", "--out", out.to_str().unwrap()];
    let mut child = start(&place, &arguments);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    interrupt(&child);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{done:?}");
    let (shown, said) = (rest.len() + 1, String::from_utf8(done.stderr).unwrap());
    assert!(shown < 100, "it went on to the end");
    assert!(said.contains(&format!("interrupted: {shown} of 100 requests verified")), "{said}");
    assert!(said.contains("proofmark receipt list --chain work"), "{said}");
    let copied = fs::read_to_string(out).unwrap();
    assert!(copied.starts_with(&first) && copied.lines().count() == shown, "{copied}");
    let listed = place.run(&["receipt", "list", "--chain", "work", "--json", "--limit", "1000"]);
    assert_eq!(listed.stdout.lines().count(), shown);
    let chain = place.run(&["receipt", "export", "--chain", "work"]).stdout;
    let checked = place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], chain.as_bytes());
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn watched_files_run_again_when_they_change() {
    let place = Place::new();
    let suite = place.file("suite.json", request("").replace(r#""output":{"content":""},"#, ""));
    let solution = place.file("solution.py", WRONG);
    let mut child = start(&place, &["verify", &suite, "--submission", &solution, "--watch", "--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut verdict = || Receipt::parse(lines.next().unwrap().unwrap().as_bytes()).unwrap().verdict();
    assert_eq!(verdict(), Verdict::Fail);
    place.file("solution.py", RIGHT);
    assert_eq!(verdict(), Verdict::Pass);
    interrupt(&child);
    child.wait().unwrap();
    let stdin = place.run(&["verify", "-", "--watch"]);
    assert!(stdin.code == 2 && stdin.stderr.contains("standard input"), "{stdin:?}");
}
