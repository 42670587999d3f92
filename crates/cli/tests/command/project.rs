//! Tier 1, and whole projects with tests of their own, some of them hostile.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proofmark_receipt::{Detail, Json, Receipt, Sha256Digest, Status, Verdict};

use crate::run::{Done, Place, project_file, pytest};
use crate::transcript::Transcript;

/// A request that runs `command` in a project of these files, with further members of `verification`.
fn project(files: &[(&str, &str)], command: &[&str], more: &[(&str, Json)]) -> String {
    let texts = |words: &[&str]| Json::from(words.iter().map(|word| Json::from(*word)).collect::<Vec<_>>());
    let object = |members: Vec<(&str, Json)>| {
        let mut object = proofmark_receipt::Object::new();
        members.into_iter().for_each(|(name, value)| drop(object.insert(name, value)));
        Json::from(object)
    };
    let files = object(files.iter().map(|(path, text)| (*path, Json::from(*text))).collect());
    let mut verification =
        vec![("kind", Json::from("test_suite")), ("mode", Json::from("command")), ("command", texts(command))];
    verification.extend(more.iter().cloned());
    object(vec![("output", object(vec![("files", files)])), ("verification", object(verification))]).to_text()
}

/// A project of one script of bash that is to write `report.xml`.
fn script(text: &str) -> String {
    project(&[("run.sh", text)], &["bash", "run.sh"], &[("report", Json::from("report.xml"))])
}

const REPORT: &str = r#"<testsuite tests="1"><testcase name="good"/></testsuite>"#;

fn only(receipt: &Receipt) -> &Detail {
    assert_eq!(receipt.results().details.len(), 1, "{}", receipt.to_text());
    &receipt.results().details[0]
}

/// The message of the one check, without what the command wrote, which depends on the host.
fn message(receipt: &Receipt) -> &str {
    let message = only(receipt).message.as_deref().unwrap();
    message.split_once("; it wrote").map_or(message, |(message, _)| message)
}

fn names(receipt: &Receipt, status: Status) -> Vec<&str> {
    let details = receipt.results().details.iter().filter(|detail| detail.status == status);
    details.map(|detail| detail.name.as_str()).collect()
}

fn parsed(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

/// Copies an example to where it can be changed.
fn copied(place: &Place, example: &str) -> PathBuf {
    let to = place.path(example);
    copy(Path::new(&project_file(&format!("examples/{example}"))), &to);
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => assert!(fs::copy(&path, &to).is_ok()),
        }
    }
}

fn plant(file: &Path, right: &str, wrong: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(right));
    fs::write(file, text.replace(right, wrong)).unwrap();
}

#[test]
fn a_project_of_node_passes_until_a_bug_is_planted() {
    let place = Place::new();
    let folder = copied(&place, "project-node");
    let verify = || place.run(&["verify", "--dir", folder.to_str().unwrap(), "--json", "--", "node", "--test"]);
    let done = verify();
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (0, Verdict::Pass), "{done:?}");
    assert_eq!(receipt.metadata().get("comparison"), Some(&Json::from("in-process")));
    assert_eq!(receipt.results().total, 2);
    plant(&folder.join("slug.js"), ".replace(/^-|-$/g, '')", "");
    let done = verify();
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (1, Verdict::Partial), "{done:?}");
    assert_eq!(names(&receipt, Status::Fail), ["characters other than letters are trimmed at the ends"]);
}

#[test]
fn a_project_of_pytest_passes_until_a_bug_is_planted() {
    let Some(path) = pytest() else { return };
    let place = Place::new();
    let folder = copied(&place, "project-python");
    let arguments = ["verify", "--dir", folder.to_str().unwrap(), "--json", "--", "pytest", "-q"];
    let verify = || place.run_with(&arguments, &[("PATH", &path)], b"");
    let done = verify();
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict(), receipt.results().total), (0, Verdict::Pass, 3), "{done:?}");
    plant(&folder.join("calc.py"), "/ len(numbers)", "/ (len(numbers) + 1)");
    let done = verify();
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (1, Verdict::Partial), "{done:?}");
    assert_eq!(names(&receipt, Status::Fail), ["tests/test_calc.py::test_mean"]);
    plant(&folder.join("calc.py"), "def total", "def totals");
    let broken = parsed(&verify());
    assert_eq!(broken.verdict(), Verdict::Fail, "{}", broken.to_text());
}

#[test]
fn constraints_are_checked_without_a_sandbox() {
    let place = Place::new();
    let done = place.run(&["verify", &project_file("examples/profile.yaml"), "--json"]);
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict(), receipt.tier()), (0, Verdict::Pass, 1), "{done:?}");
    for absent in ["sandbox", "isolation", "language", "comparison"] {
        assert!(!receipt.metadata().contains(absent), "{absent}");
    }
    assert!(receipt.results().details.iter().all(|detail| detail.constraint.is_some()));
}

#[test]
fn a_constraint_that_does_not_compile_is_refused() {
    let place = Place::new();
    let text = r#"{"output":{"content":"{}"},"verification":{"kind":"schema_check","checks":
        [{"name":"a","constraint":"cel:output.age >= && true"}]}}"#;
    let done = place.run(&["verify", &place.file("r.json", text), "--json"]);
    assert!(done.code == 2 && done.stderr.is_empty(), "{done:?}");
    assert!(done.stdout.contains("verification.checks[0].constraint") && done.stdout.contains('^'), "{done:?}");
}

#[test]
fn a_schema_can_stand_in_a_file_beside_the_request() {
    let place = Place::new();
    place.file("schemas/name.json", r#"{"required": ["name"]}"#);
    let text = r#"{"output":{"content":"{}"},"verification":{"schema":"schemas/name.json"}}"#;
    let done = place.run(&["verify", &place.file("r.json", text), "--json"]);
    assert_eq!((done.code, parsed(&done).verdict()), (1, Verdict::Fail), "{done:?}");
    let done = place.run(&["verify", &place.file("r.json", text.replace("name.json", "none.json"))]);
    assert!(done.code == 2 && done.stderr.contains("none.json"), "{done:?}");
}

#[test]
fn a_report_is_read_once_the_command_has_ended() {
    let place = Place::new();
    let receipt = place.receipt(&script(&format!("echo '{REPORT}' > report.xml")), &[]);
    assert_eq!((receipt.verdict(), only(&receipt).name.as_str()), (Verdict::Pass, "good"), "{}", receipt.to_text());
}

/// Links, pipes and folders in place of the report are not followed out of the cell.
#[test]
fn a_report_must_be_a_plain_file() {
    let place = Place::new();
    let table = [
        "ln -s /dev/zero report.xml",
        "ln -s /etc/passwd report.xml",
        "ln -s /proc/self/environ report.xml",
        "mkdir in; echo REPORT > in/report.xml; ln -s in/report.xml report.xml",
        "mkfifo report.xml",
        "mkdir report.xml",
        "true",
    ];
    let mut messages = String::new();
    for line in table {
        let receipt = place.receipt(&script(&line.replace("REPORT", &format!("'{REPORT}'"))), &[]);
        let detail = only(&receipt);
        assert_eq!((receipt.verdict(), detail.status), (Verdict::Fail, Status::Error), "{line}: {}", receipt.to_text());
        messages.push_str(&format!("{line}: {}\n", message(&receipt)));
        assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("submission")));
    }
    assert_snapshot!(messages);
    let text = "mkdir in; echo REPORT > in/report.xml; ln -s in out".replace("REPORT", &format!("'{REPORT}'"));
    let below = project(&[("run.sh", &text)], &["bash", "run.sh"], &[("report", Json::from("out/report.xml"))]);
    assert_eq!(place.receipt(&below, &[]).verdict(), Verdict::Fail);
}

#[test]
fn a_report_longer_than_the_output_may_be_is_an_error() {
    let text = "echo '<testsuite>' > report.xml; for i in {1..200000}; do echo '<testcase name=\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"/>'; done >> report.xml; echo '</testsuite>' >> report.xml";
    let receipt = Place::new().receipt(&script(text), &[]);
    assert_eq!((receipt.verdict(), only(&receipt).status), (Verdict::Fail, Status::Error), "{}", receipt.to_text());
}

/// What a command leaves running is ended before the report is read, and cannot rewrite it.
#[test]
fn no_process_outlives_the_command() {
    let forge = format!("while true; do echo '{REPORT}' > report.xml; done");
    let bad = r#"<testsuite tests="1"><testcase name="bad"><failure message="no"/></testcase></testsuite>"#;
    let text = format!("(trap '' TERM HUP; sleep 0.3; {forge}) > /dev/null 2>&1 &\necho '{bad}' > report.xml; exit 1");
    let receipt = Place::new().receipt(&script(&text), &[]);
    assert_eq!((receipt.verdict(), only(&receipt).name.as_str()), (Verdict::Fail, "bad"), "{}", receipt.to_text());
}

#[test]
fn paths_that_lead_out_of_the_project_are_refused() {
    let place = Place::new();
    let table: [&[(&str, &str)]; 6] = [
        &[("../x", "")],
        &[("/tmp/x", "")],
        &[("a//b", "")],
        &[("a/../../b", "")],
        &[("a/./b", "")],
        &[("a", ""), ("a/b", "")],
    ];
    for files in table {
        let done = place.run(&["verify", &place.file("r.json", project(files, &["bash", "-c", "true"], &[]))]);
        assert!(done.code == 2 && done.stderr.contains("output.files"), "{files:?}: {done:?}");
    }
    for report in ["../r.xml", "/etc/passwd", ""] {
        let text = project(&[("a", "")], &["bash", "-c", "true"], &[("report", Json::from(report))]);
        let done = place.run(&["verify", &place.file("r.json", text)]);
        assert!(done.code == 2 && done.stderr.contains("verification.report"), "{report}: {done:?}");
    }
}

#[test]
fn a_command_writes_nowhere_but_below_tmp() {
    let place = Place::new();
    let text = "for f in /x /etc/x /usr/x /home/x /packages/x /dev/x; do (echo x > $f) 2>/dev/null && exit 1; done
        echo x > /tmp/x && echo x > x && cat in/y && test $(pwd) = /tmp/project";
    let request = project(&[("run.sh", text), ("in/y", "y")], &["bash", "run.sh"], &[]);
    let receipt = place.receipt(&request, &[]);
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
}

#[test]
fn a_path_of_the_host_is_read_only_where_it_is_allowed() {
    let place = Place::new();
    let outside = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(outside.path().join("data"), "42").unwrap();
    let path = outside.path().to_str().unwrap();
    let text = format!("test $(cat {path}/data) = 42 && ! (echo x > {path}/data) 2>/dev/null");
    let asking =
        project(&[("run.sh", &text)], &["bash", "run.sh"], &[("readable", Json::from(vec![Json::from(path)]))]);
    let file = place.file("r.json", &asking);
    let refused = place.run(&["verify", &file, "--json"]);
    assert!(refused.code == 2 && refused.stdout.contains("verification.readable[0]"), "{refused:?}");
    assert!(refused.stdout.contains("--readable"), "{refused:?}");
    let elsewhere = place.run(&["verify", &file, "--json", "--readable", "/usr/share"]);
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");
    let allowed = place.run(&["verify", &file, "--json", "--readable", path]);
    if path.starts_with("/tmp/") {
        // The command has a `/tmp` of its own.
        assert_eq!(parsed(&allowed).verdict(), Verdict::Error);
    } else {
        assert_eq!((allowed.code, parsed(&allowed).verdict()), (0, Verdict::Pass), "{allowed:?}");
    }
    let unasked = project(&[("run.sh", &text)], &["bash", "run.sh"], &[]);
    assert_eq!(place.receipt(&unasked, &["--readable", path]).verdict(), Verdict::Fail);
}

#[test]
fn tests_that_are_killed_do_not_pass() {
    let place = Place::new();
    let killed = place.receipt(&script(&format!("echo '{REPORT}' > report.xml; kill -9 $$")), &[]);
    assert_eq!(killed.verdict(), Verdict::Partial, "{}", killed.to_text());
    assert_eq!(names(&killed, Status::Error), ["command"]);
    let alone = place.receipt(&project(&[("run.sh", "kill -11 $$")], &["bash", "run.sh"], &[]), &[]);
    assert_eq!(alone.verdict(), Verdict::Fail, "{}", alone.to_text());
    let long = [("limits", Json::parse(br#"{"timeout_ms": 300}"#).unwrap())];
    let long = place.receipt(&project(&[("run.sh", "sleep 60")], &["bash", "run.sh"], &long), &[]);
    assert!(message(&long).starts_with("timeout: "), "{}", long.to_text());
}

#[test]
fn files_of_the_request_replace_those_of_the_submission() {
    let tests = Json::parse(br#"{"check.sh": "test \"$(bash answer.sh)\" = 42"}"#).unwrap();
    let files = [("answer.sh", "echo 41"), ("check.sh", "exit 0")];
    let place = Place::new();
    let receipt = place.receipt(&project(&files, &["bash", "check.sh"], &[("files", tests.clone())]), &[]);
    assert_eq!(receipt.verdict(), Verdict::Fail, "{}", receipt.to_text());
    // What `sha256sum answer.sh check.sh` prints of what was submitted.
    let line = |name: &str, text: &str| format!("{}  {name}\n", Sha256Digest::of(text.as_bytes()).bare_hex());
    let listed = line("answer.sh", "echo 41") + &line("check.sh", "exit 0");
    assert_eq!(receipt.hashes().output, Sha256Digest::of(listed.as_bytes()));
    let files = [("answer.sh", "echo 42"), ("check.sh", "exit 1")];
    let receipt = place.receipt(&project(&files, &["bash", "check.sh"], &[("files", tests)]), &[]);
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
}

#[test]
fn a_folder_that_cannot_be_verified_is_named() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    let table: [&[&str]; 4] = [
        &["--dir", "nowhere", "--", "bash", "-c", "true"],
        &["--dir", "empty", "--", "bash", "-c", "true"],
        &["--dir", "empty"],
        &["--dir", ".", "--", "make", "test"],
    ];
    place.file("a.txt", "a");
    let mut transcript = Transcript::new(&place);
    for arguments in table {
        assert_eq!(transcript.run(&[&["verify"], arguments].concat()).code, 2, "{arguments:?}");
    }
    assert_snapshot!(transcript.text);
}

/// The attack: a report that was submitted, and a runner whose options make it run nothing.
#[test]
fn a_report_that_was_submitted_is_not_read() {
    let place = Place::new();
    let stale = project(
        &[("run.sh", "exit 0"), ("report.xml", REPORT)],
        &["bash", "run.sh"],
        &[("report", Json::from("report.xml"))],
    );
    let receipt = place.receipt(&stale, &[]);
    assert_eq!((receipt.verdict(), only(&receipt).status), (Verdict::Fail, Status::Error), "{}", receipt.to_text());
    let left_no_report = place.receipt(&script("true"), &[]);
    assert_eq!(message(&receipt), message(&left_no_report));
    let Some(path) = pytest() else { return };
    let files = [
        (".proofmark-report.xml", REPORT),
        ("pytest.ini", "[pytest]\naddopts = --help\n"),
        ("test_a.py", "def test_a():\n    assert False\n"),
    ];
    let request = project(&files, &["pytest"], &[("packages", Json::Bool(true))]);
    let done = place.run_with(&["verify", &place.file("r.json", request), "--json"], &[("PATH", &path)], b"");
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (1, Verdict::Fail), "{done:?}");
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("submission")));
}

#[test]
fn tests_of_unittest_are_checks_of_their_own() {
    let place = Place::new();
    let tests = "import unittest, calc
class Calc(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(calc.total([1, 2]), 3)
    def test_many(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(calc.total([n]), n)
    @unittest.skip('not # now')
    def test_later(self):
        pass
    @unittest.expectedFailure
    def test_known(self):
        self.fail()
";
    let command: [&[&str]; 2] = [&["python3", "-m", "unittest"], &["python3", "-m", "unittest", "-v", "test_calc"]];
    let request = |calc: &str, tests: &str, command: &[&str]| {
        project(&[("calc.py", calc), ("test_calc.py", tests)], command, &[])
    };
    for command in command {
        let receipt = place.receipt(&request("total = sum", tests, command), &[]);
        assert_eq!(receipt.results().total, 2, "{}", receipt.to_text());
        assert_eq!(names(&receipt, Status::Pass), ["test_calc.Calc.test_many", "test_calc.Calc.test_sum"]);
        let skipped = receipt.metadata().get("skipped").unwrap().to_text();
        assert!(skipped.contains("test_calc.Calc.test_known") && skipped.contains("test_calc.Calc.test_later"));
    }
    let wrong = place.receipt(&request("def total(xs):\n    return 3", tests, command[0]), &[]);
    assert_eq!(names(&wrong, Status::Pass), ["test_calc.Calc.test_sum"], "{}", wrong.to_text());
    assert_eq!(names(&wrong, Status::Fail).len(), 3, "{}", wrong.to_text());
    let cheats = [
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "import unittest\nunittest.main = print\nraise SystemExit",
    ];
    for calc in cheats {
        let receipt = place.receipt(&request(calc, tests, command[0]), &[]);
        assert_eq!((receipt.verdict(), receipt.results().passed), (Verdict::Fail, 0), "{}", receipt.to_text());
    }
    // The runner is Python's own.
    let shadow = [("unittest.py", "raise SystemExit(0)"), ("test_a.py", "import os")];
    let shadowed = place.receipt(&project(&shadow, command[0], &[]), &[]);
    let none = place.receipt(&request("", "import calc", command[0]), &[]);
    assert_eq!(none.verdict(), Verdict::Fail, "{}", none.to_text());
    assert_eq!(message(&shadowed), message(&none));
    assert_snapshot!(message(&none));
}

#[test]
fn a_file_of_node_that_leaves_on_load_does_not_pass() {
    let place = Place::new();
    let tests = "const test = require('node:test'); require('./a.js'); test('one', () => {}); test('two', () => {});";
    let helper = "module.exports = () => require('node:test')('one', () => {});";
    let verdict = |a: &str, tests: &str| {
        let files = [("a.js", a), ("a.test.js", tests), ("helper.js", helper)];
        place.receipt(&project(&files, &["node", "--test"], &[]), &[])
    };
    assert_eq!(verdict("", tests).results().passed, 2);
    let mut messages = String::new();
    for (a, tests) in [
        ("process.exit(0)", tests),
        ("", "require('node:test');"),
        ("", "require('node:test').describe('a', () => {});"),
        ("process.exit(0)", "require('./a.js'); require('./helper.js')();"),
        ("", ""),
    ] {
        let receipt = verdict(a, tests);
        assert_eq!((receipt.verdict(), receipt.results().passed), (Verdict::Fail, 0), "{}", receipt.to_text());
        messages.push_str(&format!("{}\n", message(&receipt)));
    }
    assert_snapshot!(messages);
}

#[test]
fn the_fault_is_of_the_side_that_made_it() {
    let place = Place::new();
    let own = Json::parse(br#"{"run.sh": "true"}"#).unwrap();
    let tree = project(&[("run.sh/x", ""), ("a", "")], &["bash", "run.sh"], &[("files", own)]);
    let receipt = place.receipt(&tree, &[]);
    assert_eq!(receipt.verdict(), Verdict::Fail, "{}", receipt.to_text());
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("submission")));
    let deep: Vec<String> = (0..60).map(|index| format!("{index}/{}x", "a/".repeat(200))).collect();
    let files: Vec<(&str, &str)> = deep.iter().map(|path| (path.as_str(), "")).collect();
    let receipt = place.receipt(&project(&files, &["bash", "-c", "true"], &[]), &[]);
    assert_eq!(receipt.verdict(), Verdict::Fail, "{}", receipt.to_text());
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("submission")));

    // Without `packages` the command has only what is installed beside the interpreter.
    let printing = [("a.py", "print('No module named pytest')")];
    let lacking = place.file("lacking.json", project(&printing, &["pytest"], &[]));
    let done = place.run(&["verify", &lacking, "--json"]);
    let receipt = parsed(&done);
    if receipt.metadata().get("fault") == Some(&Json::from("submission")) {
        return proofmark_testing::skip("no-pytest", "pytest is installed beside this host's interpreter");
    }
    assert_eq!((done.code, receipt.verdict()), (2, Verdict::Error), "{done:?}");
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("verifier")));
    let message = message(&receipt);
    assert!(message.contains("`pytest`") && message.contains("packages: true"), "{message}");
}

#[test]
fn a_folder_is_read_within_bounds() {
    let place = Place::new();
    let verify = |folder: &str| place.run(&["verify", "--dir", folder, "--", "bash", "-c", "true"]);
    place.file("sparse/a.txt", "a");
    fs::File::create(place.path("sparse/b.bin")).unwrap().set_len(4 << 30).unwrap();
    let done = verify("sparse");
    assert!(done.code == 2 && done.stderr.contains("b.bin") && done.stderr.contains("2147483648"), "{done:?}");
    // What a process has read counts for the one that waited for it.
    let counted = "\"$@\" 2> /dev/null; cat /proc/$$/io";
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        counted,
        "sh",
        env!("CARGO_BIN_EXE_proofmark"),
        "verify",
        "--dir",
        "sparse",
        "--",
        "bash",
        "-c",
        "true",
    ]);
    let counts = shell.current_dir(place.path("")).env("PROOFMARK_HOME", place.path("home")).output().unwrap();
    let counts = String::from_utf8(counts.stdout).unwrap();
    let read: u64 = counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap();
    assert!(read < 1 << 30, "{read} bytes of a file of 4 GiB");
    fs::create_dir_all(place.path(&format!("deep/{}", "a/".repeat(80)))).unwrap();
    let done = verify("deep");
    assert!(done.code == 2 && done.stderr.contains("64"), "{done:?}");
    // Names of one file are files of the folder as well, and are made in a fraction of the time.
    let many = |index: usize| format!("many/{index}");
    for index in 0..=200_000 {
        let first = index - index % 50_000;
        if index == first {
            place.file(&many(index), "");
        } else {
            fs::hard_link(place.path(&many(first)), place.path(&many(index))).unwrap();
        }
    }
    let done = verify("many");
    assert!(done.code == 2 && done.stderr.contains("200000"), "{done:?}");
}

#[test]
fn hidden_tests_keep_their_names_and_times() {
    let place = Place::new();
    let text =
        "echo 'TAP version 14'; echo '1..1'; echo 'ok 1 - secret'; echo '  ---'; echo '  duration_ms: 7'; echo '  ...'";
    let more = [
        ("report", Json::from("stdout:tap")),
        ("reveal", Json::from("none")),
        ("salt", Json::from("0123456789abcdef")),
    ];
    let request = project(&[("run.sh", text)], &["bash", "run.sh"], &more);
    let receipt = place.receipt(&request, &[]);
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
    let text = receipt.to_text();
    assert!(!text.contains("secret") && !text.contains("_ms") && !text.contains("0123456789abcdef"), "{text}");
    let bare = project(&[("run.sh", "")], &["bash", "run.sh"], &more[1..2]);
    let done = place.run(&["verify", &place.file("r.json", bare)]);
    assert!(done.code == 2 && done.stderr.contains("verification.salt"), "{done:?}");
}
