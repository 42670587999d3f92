//! Held tests run twice: honest submissions pass, and forgeries of the catalogue in `forgeries/` do not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proofmark_receipt::{Json, Object, Receipt, Status, Verdict, object};

use crate::run::{Place, pytest};

const FORGERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/forgeries");

/// The held tests of a suite, and the command that runs them.
fn held(suite: &str) -> (Object, Vec<&'static str>) {
    let read = |name| fs::read_to_string(Path::new(FORGERIES).join("held").join(name)).unwrap();
    match suite {
        "pytest" => (object! { "test_stock.py": read("pytest.py") }, vec!["pytest", "-q"]),
        "unittest" => (object! { "test_stock.py": read("unittest.py") }, vec!["python3", "-m", "unittest"]),
        "node" => (object! { "stock.test.js": read("node.js") }, vec!["node", "--test"]),
        other => panic!("no suite `{other}`"),
    }
}

fn request(name: &str, suite: &str, files: Object, settings: Object) -> String {
    let (tests, command) = held(suite);
    let command: Vec<Json> = command.into_iter().map(Json::from).collect();
    let mut verification = object! {
        "kind": "test_suite", "mode": "command", "command": command, "packages": suite == "pytest", "files": tests,
    };
    settings.iter().for_each(|(name, value)| drop(verification.insert(name, value.clone())));
    let request = object! { "task_id": name, "output": object! { "files": files }, "verification": verification };
    Json::from(request).to_text()
}

/// The suite and the files of each forgery.
fn forgeries() -> BTreeMap<String, (String, Object)> {
    let files = fs::read_dir(FORGERIES).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    texts
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let mut parts = text.split("--- ");
            let suite = parts.next().unwrap().trim().strip_prefix("suite: ").unwrap().to_owned();
            let mut files = Object::new();
            for part in parts {
                let (name, content) = part.split_once('\n').unwrap();
                files.insert(name, content);
            }
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), (suite, files))
        })
        .collect()
}

/// Verifies requests in one process, and returns the receipts by their task.
fn verified(requests: &[String], path: Option<&str>) -> BTreeMap<String, Receipt> {
    let place = Place::new();
    let file = place.file("all.jsonl", requests.join("\n"));
    let variables: Vec<(&str, &str)> = path.iter().map(|path| ("PATH", *path)).collect();
    let done = place.run_with(&["verify", "--unsigned", "--json", &file], &variables, b"");
    let receipts = done
        .stdout
        .lines()
        .map(|line| Receipt::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}")));
    receipts.map(|receipt| (receipt.task().unwrap().task_id.clone().unwrap(), receipt)).collect()
}

fn count(receipt: &Receipt, name: &str) -> Option<u64> {
    receipt.metadata().get("counter_run")?.as_object()?.get(name)?.as_number()?.as_u64()
}

/// Runs these forgeries. Some have honest parts, so some of their tests may pass, but not the one that they lack.
fn none_passes(chosen: impl Fn(&str, &str) -> bool, path: Option<&str>) {
    let all: Vec<(String, (String, Object))> =
        forgeries().into_iter().filter(|(name, (suite, _))| chosen(name, suite)).collect();
    let requests: Vec<String> =
        all.iter().map(|(name, (suite, files))| request(name, suite, files.clone(), Object::new())).collect();
    let receipts = verified(&requests, path);
    assert_eq!(receipts.len(), all.len());
    let passed: Vec<&String> =
        receipts.iter().filter(|(_, receipt)| receipt.verdict() == Verdict::Pass).map(|(name, _)| name).collect();
    assert!(passed.is_empty(), "{passed:?}");
}

#[test]
fn no_forgery_of_unittest_or_node_passes() {
    none_passes(|_, suite| suite != "pytest", None);
}

/// Forgeries of pytest that differ from each other; the others are in the test below.
const QUICK: [&str; 7] = [
    "makereport",
    "skip_failing",
    "deselect_but_one",
    "forged_with_all_names",
    "reads_the_line",
    "tells_by_failures",
    "tells_by_marker",
];

#[test]
fn no_forgery_of_pytest_passes() {
    if let Some(path) = pytest() {
        none_passes(|name, _| QUICK.contains(&name), Some(&path));
    }
}

#[test]
#[ignore = "takes minutes of processor time"]
fn no_forgery_of_the_catalogue_passes() {
    if let Some(path) = pytest() {
        none_passes(|_, _| true, Some(&path));
    }
}

const STOCK: &str = "class Stock:
    def __init__(self, text):
        self.text = text
    def name(self):
        return self.text
    def take(self, item):
        raise KeyError(item)
    def count(self):
        return len(self.text)

def total(numbers):
    return sum(numbers)
";

#[test]
fn an_honest_submission_passes_and_the_receipt_says_what_was_contradicted() {
    let honest = |name: &str, settings| request(name, "unittest", object! { "stock.py": STOCK }, settings);
    let wrong = STOCK.replace("sum(numbers)", "sum(numbers) or 1");
    let requests = [
        honest("honest", Object::new()),
        request("wrong", "unittest", object! { "stock.py": wrong }, Object::new()),
        honest("off", object! { "counter_run": false }),
        honest("chosen", object! { "counter_run": true, "command": "python3 -m unittest -k total" }),
    ];
    let receipts = verified(&requests, None);
    let receipt = &receipts["honest"];
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
    assert_eq!(receipt.results().total, 5, "a canary is no check");
    let counts = ["altered", "contradicted", "unproven", "untouched", "canaries"].map(|name| count(receipt, name));
    assert_eq!(counts, [5, 5, 0, 0, 1].map(Some));
    let receipt = &receipts["wrong"];
    assert_eq!((receipt.verdict(), receipt.results().passed), (Verdict::Partial, 4), "{}", receipt.to_text());
    assert_eq!(count(receipt, "contradicted"), Some(4));
    let failed = receipt.results().details.iter().find(|detail| detail.status == Status::Fail).unwrap();
    assert_eq!(
        (failed.name.as_str(), failed.location.as_deref()),
        ("test_stock.TestStock.test_empty", Some("test_stock.py:11"))
    );
    let why = |name: &str| receipts[name].metadata().get("counter_run").unwrap().clone();
    assert_eq!(receipts["off"].verdict(), Verdict::Pass);
    assert_eq!(why("off"), object! { "none": "turned off" }.into());
    assert_eq!(receipts["chosen"].verdict(), Verdict::Error, "it was demanded");
    assert_eq!(why("chosen"), object! { "none": "the command chooses tests by name" }.into());
}

/// The files of a folder of `honest/`, by the names that they get in the project.
fn honest(folder: &str, is_kept: impl Fn(&str) -> bool) -> Object {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/honest").join(folder);
    let mut files = Object::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if is_kept(name) {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// No test of an honest submission is called unproven: 28 files of usual forms.
#[test]
fn honest_suites_pass_and_wrong_expectations_fail_them() {
    let is_test = |name: &str| name.contains("test");
    let suites = [
        ("unittest", honest("python", |_| true), honest("unittest", is_test), "python3 -m unittest", 30),
        ("node", honest("node", |name| !is_test(name)), honest("node", is_test), "node --test", 36),
        ("pytest", honest("python", |_| true), honest("pytest", is_test), "pytest -q", 83),
    ];
    let path = pytest();
    let suites: Vec<_> = suites.into_iter().filter(|(name, ..)| *name != "pytest" || path.is_some()).collect();
    let requests = suites.iter().map(|(name, files, tests, command, _)| {
        let verification = object! {
            "kind": "test_suite", "mode": "command", "command": *command, "packages": true, "files": tests.clone(),
        };
        let output = object! { "files": files.clone() };
        Json::from(object! { "task_id": *name, "output": output, "verification": verification }).to_text()
    });
    let receipts = verified(&requests.collect::<Vec<_>>(), path.as_deref());
    for (name, _, tests, _, total) in &suites {
        let receipt = &receipts[*name];
        assert_eq!((receipt.verdict(), receipt.results().total), (Verdict::Pass, *total), "{}", receipt.to_text());
        assert_eq!(count(receipt, "unproven"), Some(0));
        assert_eq!(count(receipt, "canaries"), Some(tests.iter().count() as u64));
        assert!(count(receipt, "contradicted") >= Some(total * 8 / 10), "{}", receipt.to_text());
    }
}
