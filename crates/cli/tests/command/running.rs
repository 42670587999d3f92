//! The test that was running when a project's command was stopped: a hint, which no verdict depends on.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use proofmark_receipt::{Json, Receipt, Verdict};
use proofmark_testing::{has_program, node_modules_with};

use crate::run::{Place, pytest};

/// The receipt of a command that was stopped, and the message of its one check.
fn stopped(place: &Place, path: Option<&str>, options: &[&str], command: &[&str]) -> (Receipt, String) {
    let arguments = [&["verify", "--dir", "p", "--json"], options, &["--"], command].concat();
    let path: Vec<_> = path.iter().map(|path| ("PATH", *path)).collect();
    let done = place.run_with(&arguments, &path, b"");
    let receipt = Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(done.code, 1, "{done:?}");
    let message = receipt.results().details.first().and_then(|detail| detail.message.clone()).unwrap_or_default();
    (receipt, message)
}

/// Programs that never end. They write until they are stopped, so that no test waits for a time to pass.
const PYTEST: &str = "class TestGroup:
    def test_first(self): pass
    def test_endless(self):
        while True: print('x' * 1000)
";
const UNITTEST: &str = "import unittest
class Group(unittest.TestCase):
    def test_a(self): pass
    def test_endless(self):
        while True: print('x' * 1000)
";
const NODE: &str = "const { test, describe } = require('node:test')
test('first', () => {})
describe('group', () => {
  test('endless', async () => { while (true) { console.log('x'.repeat(1000)); await new Promise(setImmediate) } })
})
";
const MINITEST: &str = "require 'minitest/autorun'
class Group < Minitest::Test
  def self.test_order = :alpha
  def test_a = assert(true)
  def test_endless = loop { puts('x' * 1000) }
end
";
const RSPEC: &str = "describe 'Group' do
  it('works') { expect(1).to eq(1) }
  it('never ends') { loop { puts('x' * 1000) } }
end
";
const BATS: &str =
    "@test \"first\" {\n  true\n}\n@test \"endless\" {\n  while true; do printf '%01000d\\n' 0 >&3; done\n}\n";

#[test]
fn the_running_test_is_named_when_a_command_is_stopped() {
    let table: [(&str, &str, &[&str], &str, &str); 6] = [
        ("", "test_a.py", &["pytest", "-s"], PYTEST, "did not end is `test_a.py::TestGroup::test_endless`"),
        (
            "python3",
            "test_a.py",
            &["python3", "-m", "unittest"],
            UNITTEST,
            "did not end is `test_a.Group.test_endless`",
        ),
        ("node", "a.test.js", &["node", "--test"], NODE, "did not end is `a.test.js > endless`"),
        ("ruby", "a_test.rb", &["ruby", "-Itest", "a_test.rb"], MINITEST, "did not end is `Group#test_endless`"),
        ("rspec", "a_spec.rb", &["rspec", "a_spec.rb"], RSPEC, "did not end is `Group never ends`"),
        // It tells of none that starts.
        ("bats", "a.bats", &["bats", "a.bats"], BATS, "is not known of this command"),
    ];
    for (program, file, command, text, told) in table {
        let path = if program.is_empty() { pytest() } else { None };
        let is_there = if program.is_empty() { path.is_some() } else { has_program(program, program) };
        if !is_there {
            continue;
        }
        let place = Place::new();
        place.file(&format!("p/{file}"), text);
        let (receipt, message) = stopped(&place, path.as_deref(), &["--output-bytes", "20000"], command);
        assert!(message.starts_with("output limit") && message.contains(told), "{command:?}: {message}");
        assert_eq!(receipt.verdict(), Verdict::Fail, "{message}");
    }
}

/// Runners that are packages of Node.js.
#[test]
fn the_running_test_of_packages_is_named() {
    let endless = "while (true) { process.stdout.write('x'.repeat(1000)); await new Promise(setImmediate) }";
    let test =
        |name: &str| format!("{name}('first', () => {{}})\n{name}('endless', async () => {{ {endless} }}, 1e9)\n");
    let table = [
        ("mocha", "a.js", test("it").replace(", 1e9", ""), "did not end is `endless`"),
        ("jest", "a.test.js", test("test"), "did not end is `a.test.js > endless`"),
        ("vitest", "a.test.js", format!("import {{ test }} from 'vitest'\n{}", test("test")), "`a.test.js"),
    ];
    for (runner, file, text, told) in table {
        let Some(modules) = node_modules_with(&[runner]) else { continue };
        let place = Place::new();
        place.file(&format!("p/{file}"), &text);
        place.file("p/package.json", "{\"name\": \"p\"}");
        install(&modules, runner, &place);
        let words: &[&str] = if runner == "mocha" { &["mocha", "--no-timeouts", file] } else { &[runner] };
        let (_, message) = stopped(&place, None, &["--output-bytes", "100000"], words);
        assert!(message.contains(told), "{runner}: {message}");
    }
}

/// What a package and those below it need.
fn dependencies(folder: &Path, names: &mut Vec<String>) {
    let described = std::fs::read(folder.join("package.json")).ok().and_then(|text| Json::parse(&text).ok());
    for kind in ["dependencies", "optionalDependencies"] {
        let described = described.as_ref().and_then(Json::as_object).and_then(|all| all.get(kind));
        let described = described.and_then(Json::as_object).into_iter().flat_map(|names| names.iter());
        names.extend(described.map(|(name, _)| name.to_owned()));
    }
    for below in std::fs::read_dir(folder.join("node_modules")).into_iter().flatten().flatten() {
        dependencies(&below.path(), names);
    }
}

/// Copies a package and what it needs, since links are not followed.
fn install(modules: &Path, package: &str, place: &Place) {
    let mut needed = BTreeSet::new();
    let mut next = vec![package.to_owned()];
    while let Some(name) = next.pop() {
        let folder = modules.join(&name);
        if folder.is_dir() && needed.insert(name) {
            dependencies(&folder, &mut next);
        }
    }
    let target = place.path("p/node_modules");
    std::fs::create_dir(&target).unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-r", "--parents"]).args(&needed).arg(&target).current_dir(modules);
    assert!(copy.status().unwrap().success());
}

#[test]
fn what_the_submission_tells_decides_nothing() {
    let place = Place::new();
    place.file(
        "p/test_a.py",
        "import os, unittest
pipe = int(os.environ['PROOFMARK_RUNNING'].split(':')[0])
os.write(pipe, b'x' * 200000 + b'\\n+\\xff\\n+\\x1b[2Jred\\n-never\\n+cut')
class Group(unittest.TestCase):
    def test_right(self): pass
    def test_wrong(self): self.fail()
",
    );
    let words = ["python3", "-m", "unittest", "-q"];
    let ran = stopped(&place, None, &[], &words).0;
    assert_eq!((ran.results().passed, ran.results().failed), (1, 1), "{}", ran.to_text());
    // A command that was stopped does not pass, whatever it told.
    place.file(
        "p/test_a.py",
        "import os
pipe = int(os.environ['PROOFMARK_RUNNING'].split(':')[0])
os.write(pipe, b'x' * 200000 + b'\\n+\\xff\\n+\\x1b[2Jred\\n-never\\n+cut')
while True: print('x' * 1000)
",
    );
    let (receipt, message) = stopped(&place, None, &["--output-bytes", "20000"], &words);
    assert_eq!(receipt.verdict(), Verdict::Fail);
    assert!(message.contains("did not end is `[2Jred`"), "{message:?}");
    place.file("hidden.yaml", "reveal: none\nsalt: a-secret-of-the-owner\n");
    let (_, hidden) = stopped(&place, None, &["--output-bytes", "20000", "--config", "hidden.yaml"], &words);
    assert_eq!(hidden, "no answer");
}
