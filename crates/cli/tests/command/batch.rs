use std::fs;

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
