//! The official conformance suite, against a server that passes it, and against the same server behind a guard over HTTP.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use proofmark_receipt::Json;

use proofmark_testing::OPEN_POLICY;

use crate::place::{BINARY, NODE, Place, said, script};

const SUITE: &str = "@modelcontextprotocol/conformance";
/// The release of the suite that knows the revision 2026-07-28, under the name that `cargo xtask test` installs it by.
const ALPHA: &str = "conformance-alpha";
const SDK: &str = "@modelcontextprotocol/sdk";

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What the suite says of each of its scenarios.
fn results(place: &Place, modules: &Path, url: &str) -> Vec<String> {
    let mut suite = place.command(modules.join(NODE).join("bin/node"));
    suite.arg(modules.join(SUITE).join("dist/index.js")).args(["server", "--suite", "all", "--url", url]);
    let output = suite.output().unwrap();
    let text = said(&output);
    let (_, summary) = text.split_once("=== SUMMARY ===").unwrap_or_else(|| panic!("{text}"));
    summary.lines().map(str::trim).filter(|line| line.contains("passed, ")).map(str::to_owned).collect()
}

/// What the checks of the alpha say that a revision requires: `SUCCESS scenario check` and so on.
fn checks(place: &Place, (modules, url): (&Path, &str), (revision, folder): (&str, &str)) -> BTreeSet<String> {
    let mut suite = place.command(modules.join(NODE).join("bin/node"));
    suite.arg(modules.join(ALPHA).join("dist/index.js")).args(["server", "--url", url, "--requirements", revision]);
    let output = suite.args(["--output-dir", folder]).output().unwrap();
    let mut checks = BTreeSet::new();
    for scenario in std::fs::read_dir(place.at(folder)).unwrap_or_else(|_| panic!("{}", said(&output))) {
        let scenario = scenario.unwrap().path();
        let name = scenario.file_name().unwrap().to_str().unwrap();
        // The name ends with the time.
        let name = name.get(..name.len() - "-2026-01-01T00-00-00-000Z".len()).unwrap().to_owned();
        let Ok(Json::Array(all)) = Json::parse(&std::fs::read(scenario.join("checks.json")).unwrap()) else {
            panic!("{scenario:?}")
        };
        for check in &all {
            let text = |member: &str| check.as_object().unwrap().get(member).and_then(Json::as_str).unwrap();
            // What only informs tells ids of events.
            if text("status") == "INFO" {
                continue;
            }
            checks.insert(format!("{} {name} {} {}", text("status"), text("id"), text("description")));
        }
    }
    checks
}

/// The first line of a program that holds `mark`, and the program.
fn started(command: &mut Command, is_on_errors: bool, mark: &str) -> (Running, String) {
    command.stdin(Stdio::null());
    if is_on_errors {
        command.stderr(Stdio::piped())
    } else {
        command.stdout(Stdio::piped())
    };
    let mut child = command.spawn().unwrap();
    let mut lines: Box<dyn BufRead + Send> = match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), _) => Box::new(BufReader::new(stdout)),
        (None, Some(stderr)) => Box::new(BufReader::new(stderr)),
        (None, None) => panic!("the program has no output"),
    };
    let running = Running(child);
    let line = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the program ended");
        if line.contains(mark) {
            break line;
        }
    };
    // What it says later must not fill the pipe.
    std::thread::spawn(move || lines.lines().for_each(drop));
    (running, line)
}

/// A server that passes the suite, and a guard in front of it: their addresses, while the processes live.
fn both(place: &Place, modules: &Path) -> ([Running; 2], [String; 2]) {
    let mut server = place.command("node");
    let (server, port) = started(server.arg(script("conformance.mjs")).arg(modules), false, "");
    let direct = format!("http://127.0.0.1:{}/mcp", port.trim());
    let mut guard = place.command(BINARY);
    guard.args(["guard", "--policy", "policy.yaml", "--listen", "127.0.0.1:0", "--upstream", &direct]);
    let (guard, line) = started(&mut guard, true, "guarding ");
    let guarded = line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap().to_owned();
    ([server, guard], [direct, guarded])
}

#[test]
fn the_conformance_suite_finds_the_same_server_behind_a_guard() {
    let Some(modules) = proofmark_testing::node_modules_with(&[SUITE, SDK, NODE]) else { return };
    let place = Place::with(OPEN_POLICY);
    let (_running, [direct, guarded]) = both(&place, &modules);
    let expected = results(&place, &modules, &direct);
    assert!(expected.len() > 30 && expected.iter().all(|line| line.contains(" 0 failed")), "{expected:#?}");
    assert_eq!(results(&place, &modules, &guarded), expected);
}

#[test]
fn what_a_revision_requires_holds_behind_a_guard_as_it_does_without() {
    let Some(modules) = proofmark_testing::node_modules_with(&[ALPHA, SDK, NODE]) else { return };
    let place = Place::with(OPEN_POLICY);
    let (_running, [direct, guarded]) = both(&place, &modules);
    for (revision, least) in [("2025-11-25", 70), ("2026-07-28", 120)] {
        let without = checks(&place, (&modules, &direct), (revision, &format!("direct-{revision}")));
        let with = checks(&place, (&modules, &guarded), (revision, &format!("guarded-{revision}")));
        // The server has no tasks, and a guard answers for tasks that no call of its session began.
        let (tasks, others): (BTreeSet<_>, BTreeSet<_>) = without.into_iter().partition(|check| is_of_task(check));
        let (tasks_with, with): (BTreeSet<_>, BTreeSet<_>) = with.into_iter().partition(|check| is_of_task(check));
        let failed: Vec<_> = others.iter().filter(|check| check.starts_with("FAILURE")).collect();
        assert!(failed.is_empty() && others.len() > least, "{revision}: {} checks, {failed:#?}", others.len());
        let differing: Vec<_> = with.symmetric_difference(&others).collect();
        assert!(differing.is_empty(), "{revision}: {differing:#?}");
        let lost = tasks.difference(&tasks_with).filter(|check| check.starts_with("SUCCESS"));
        // It refuses to ask for the result of such a task in any revision, with another code.
        let lost: Vec<_> = lost.filter(|check| !check.contains("sep-2663-tasks-result-removed")).collect();
        assert!(lost.is_empty(), "{revision}: {lost:#?}");
    }
}

fn is_of_task(check: &str) -> bool {
    check.split(' ').nth(1).is_some_and(|scenario| scenario.starts_with("server-tasks-"))
}
