//! Every format of a result, read by parsers of other programs.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::run::{Place, project_file};

/// Names and messages that would end a string, begin a command or close an element.
const HOSTILE: &str = r##"{"task":{"task_id":"a | b # SKIP <b>"},"output":{"content":"def f(x):\n    print('::error::pwned\\n##[error]x')\n    if x == 2: raise ValueError('::stop-commands::\\n]]></failure></pre><img src=x> [a](http://x) \\x1b[31m %0A')\n    return x\n"},
  "verification":{"kind":"test_suite","language":"python","entrypoint":"f","tests":[
    {"name":"good","input":[1],"expected_output":1},
    {"name":"ok # SKIP","input":[2],"expected_output":1},
    {"name":"c|d <script>","input":[3],"expected_output":4}]}}"##;

/// Reads the standard input and prints the names of the cases, those that failed after a `!`.
const READERS: [(&str, &str); 4] = [
    (
        "junit",
        "
import sys, xml.etree.ElementTree as tree
for case in tree.parse(sys.stdin.buffer).iter('testcase'):
    bad = case.find('failure') is not None or case.find('error') is not None
    print('!' * bad + case.get('name'))",
    ),
    (
        "sarif",
        "
import sys, json
log = json.load(sys.stdin)
assert log['version'] == '2.1.0'
for result in log['runs'][0]['results']:
    assert result['level'] == 'error' and result['message']['text']
    assert result['locations'][0]['physicalLocation']['artifactLocation']['uri'].endswith('r.json')
    print('!' + result['locations'][0]['logicalLocations'][0]['name'])",
    ),
    (
        "tap",
        "
import sys, re
lines = sys.stdin.read().split('\\n')
assert lines[0] == 'TAP version 14' and lines[-2] == '1..3', lines
for line in lines:
    point = re.match(r'(not )?ok \\d+ - .*?: (.*)', line)
    if point:
        name, directive = re.match(r'((?:\\\\.|[^#\\\\])*)(#.*)?$', point[2]).groups()
        assert not directive, line
        print('!' * bool(point[1]) + re.sub(r'\\\\(.)', r'\\1', name))",
    ),
    (
        "markdown",
        "
import sys, html.parser
class Reader(html.parser.HTMLParser):
    inside = None
    def handle_starttag(self, tag, attributes):
        assert tag in ('details', 'summary', 'pre', 'code') and not attributes, (tag, attributes)
        self.inside = tag if tag != 'code' or self.inside != 'summary' else 'name'
    def handle_data(self, data):
        if self.inside == 'name': print('!' + data.split('): ', 1)[1])
    def handle_endtag(self, tag):
        self.inside = None
Reader().feed(sys.stdin.read())",
    ),
];

#[test]
fn other_programs_read_the_same_cases_from_every_format() {
    let place = Place::new();
    let file = place.file("r.json", HOSTILE.replace('\n', " "));
    for (format, reader) in READERS {
        let done = place.run(&["verify", &file, "--format", format]);
        assert_eq!(done.code, 1, "{format}: {done:?}");
        let names = python(reader, &done.stdout);
        let failed: Vec<&str> = names.lines().filter(|name| name.starts_with('!')).collect();
        assert_eq!(failed, ["!ok # SKIP", "!c|d <script>"], "{format}: {}", done.stdout);
        assert!(names.lines().filter(|name| !name.starts_with('!')).all(|name| name == "good"), "{format}: {names}");
    }
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let place = Place::new();
    let file = place.file("r.json", HOSTILE.replace('\n', " "));
    let summary = place.path("summary.md");
    let done = place.run_with(
        &["verify", &file, "--format", "github"],
        &[("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())],
        b"",
    );
    assert_eq!(done.code, 1, "{done:?}");
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{done:?}");
    assert!(lines.iter().all(|line| line.starts_with(&format!("::error file={file},line=1,col=1,title="))), "{done:?}");
    assert!(std::fs::read_to_string(summary).unwrap().contains("proofmark verify: partial"));
}

#[test]
fn a_verification_is_also_written_to_files() {
    let place = Place::new();
    let file = place.file("r.json", HOSTILE.replace('\n', " "));
    let also = |format: &str| format!("--also={format}={}", place.path(format).display());
    let done = place.run(&["verify", &file, "--json", &also("junit"), &also("sarif"), &also("markdown")]);
    assert_eq!((done.code, done.stdout.lines().count()), (1, 1), "{done:?}");
    for (format, reader) in READERS.iter().filter(|(format, _)| *format != "tap") {
        let names = python(reader, &std::fs::read_to_string(place.path(format)).unwrap());
        assert!(names.contains("!ok # SKIP\n!c|d <script>"), "{format}: {names}");
    }
    // What has no receipt is in the files, too, and an older report is gone.
    let bad = place.file("r.json", "{");
    let done = place.run(&["verify", &bad, "--also", &also("junit").replace("--also=", "")]);
    assert_eq!(done.code, 2, "{done:?}");
    let report = std::fs::read_to_string(place.path("junit")).unwrap();
    assert!(report.contains("<error") && !report.contains("SKIP"), "{report}");
    for (also, message) in [
        ("tap=x", "`tap` is not one of"),
        ("sarif", "a format and a file are needed"),
        ("sarif=", "a format and a file are needed"),
        ("sarif=/nowhere/x", "failed to write `/nowhere/x`"),
    ] {
        let done = place.run(&["verify", &bad, "--also", also]);
        assert_eq!(done.code, 2, "{also}: {done:?}");
        assert!(done.stderr.contains(message), "{also}: {done:?}");
    }
}

#[test]
fn every_format_names_what_the_submission_decided() {
    let place = Place::new();
    for (expected, code) in [("5", 0), ("6", 1)] {
        let request = format!(
            r#"{{"output":{{"content":"LIMIT = 5"}},"verification":{{"kind":"test_suite","language":"python",
            "tests":[{{"name":"a","input":"LIMIT","expected_output":"{expected}"}}]}}}}"#
        );
        let file = place.file("decided.json", request);
        for format in ["human", "json", "junit", "tap", "github", "sarif", "markdown"] {
            let done = place.run(&["verify", &file, "--format", format]);
            assert_eq!(done.code, code, "{format}: {done:?}");
            let words = match (format, code) {
                ("json", _) => r#""decided":"submission""#,
                ("junit", _) => r#"name="decided" value="submission""#,
                ("sarif", _) => "decidedBySubmission",
                ("tap", _) | ("github", 1) => "1 check decided by the submission",
                _ => "1 decided by the submission",
            };
            assert!(done.stdout.contains(words), "{format}: {}", done.stdout);
        }
    }
}

#[test]
fn every_command_that_judges_has_every_format() {
    let place = Place::new();
    let decide = |name: &str| project_file(&format!("examples/decide/{name}"));
    let accept = |name: &str| project_file(&format!("examples/accept/{name}"));
    let receipt = place.file("receipt.json", place.receipt(HOSTILE.replace('\n', " ").as_str(), &[]).to_text());
    let (action, policy) = (decide("request.json"), decide("policy.yaml"));
    let (workflow, response) = (accept("workflow.yaml"), accept("attempt1.md"));
    let (cases, tables) = (accept("cases.yaml"), decide("cases.yaml"));
    let bad = project_file("crates/cli/tests/bad_workflows/cycle.yaml");
    let commands: [(&[&str], i32); 7] = [
        (&["workflow", "accept", &workflow, "--step", "implement", "--trace", "none", "--response", &response], 1),
        (
            &[
                "workflow",
                "accept",
                &workflow,
                "--step",
                "implement",
                "--trace",
                "none",
                "--response",
                &response,
                "--dry-run",
            ],
            1,
        ),
        (&["decide", &action, "--policy", &policy], 1),
        (&["workflow", "test", &cases], 0),
        (&["policy", "test", &tables], 0),
        (&["lint", &bad], 1),
        (&["receipt", "verify", &receipt], 0),
    ];
    for (command, code) in commands {
        for format in ["human", "json", "junit", "tap", "github", "sarif", "markdown"] {
            let done = place.run(&[command, &["--format", format]].concat());
            assert_eq!(done.code, code, "{command:?} {format}: {done:?}");
            assert!(done.stderr.is_empty() || done.stderr.starts_with("created the signing key"), "{done:?}");
            assert!(!done.stdout.is_empty(), "{command:?} {format}: {done:?}");
            // GitHub is told of what did not pass; otherwise the log says what did.
            let log_only = format == "github" && code == 0;
            assert!(!log_only || !done.stdout.contains("::"), "{command:?}: {done:?}");
            let reader = match format {
                "junit" => {
                    "import sys, xml.etree.ElementTree as tree\nassert list(tree.parse(sys.stdin.buffer).iter('testcase'))"
                }
                "sarif" => "import sys, json\njson.load(sys.stdin)['runs'][0]['results']",
                "json" => "import sys, json\n[json.loads(line) for line in sys.stdin]",
                _ => continue,
            };
            python(reader, &done.stdout);
        }
        let short = place.run(&[command, &["--json"]].concat());
        assert_eq!(short.code, code, "{command:?}: {short:?}");
    }
}

fn python(script: &str, input: &str) -> String {
    let mut child = Command::new("python3")
        .args(["-I", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{input}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
