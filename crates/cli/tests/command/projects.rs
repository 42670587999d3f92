//! `verify --dir`: settings, skipped tests, installed packages, and what failing tests say.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use proofmark_receipt::{Json, Receipt, Status, Verdict};
use proofmark_testing::has_program;

use crate::run::{Done, Place, pytest};

fn parsed(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

/// What the receipt says of each check that did not pass.
fn told(receipt: &Receipt) -> String {
    let mut text = String::new();
    for detail in receipt.results().details.iter().filter(|detail| detail.status != Status::Pass) {
        let location = detail.location.as_deref().unwrap_or("-");
        text.push_str(&format!("{} {} at {location}\n", detail.status.as_str(), detail.name));
        for (name, value) in [
            ("message", &detail.message),
            ("difference", &detail.difference),
            ("expected", &detail.expected),
            ("actual", &detail.actual),
            ("stdout", &detail.stdout),
            ("stderr", &detail.stderr),
        ] {
            let lines = value.iter().flat_map(|value| value.lines()).map(str::trim_end);
            // Frames inside of node differ by its version.
            let lines = lines.filter(|line| !line.contains("(node:") && !line.contains("node:internal"));
            for (index, line) in lines.enumerate() {
                let label = if index == 0 { name } else { "" };
                text.push_str(format!("  {label:<10} {line}").trim_end());
                text.push('\n');
            }
        }
    }
    text
}

fn setting<'a>(receipt: &'a Receipt, name: &str) -> Option<&'a Json> {
    receipt.metadata().get("settings")?.as_object()?.get(name)
}

const CALC: &str = "def total(xs):
    if not xs:
        raise ValueError('no numbers')
    return sum(xs)
";

#[test]
fn each_failure_of_pytest_says_where_and_why() {
    let Some(path) = pytest() else { return };
    let place = Place::new();
    place.file("p/calc.py", CALC);
    place.file(
        "p/tests/test_calc.py",
        "import sys
import unittest
import pytest
from calc import total

def test_right():
    assert total([1]) == 1

def test_value():
    print('on stdout')
    print('on stderr', file=sys.stderr)
    assert total([1]) == 2, 'one number'

def test_text():
    assert 'a\\nb\\nc\\n' == 'a\\nb\\nd\\n'

class TestGroup:
    @pytest.mark.parametrize('x,y', [(1, 2), (2, 2)])
    def test_pair(self, x, y):
        assert total([x]) == y

def test_raises():
    total([])

@pytest.fixture
def database():
    raise RuntimeError('no database')

def test_setup(database):
    pass

def test_attack():
    raise ValueError('\\x1b[2J]]> & <b> \\u202e::error::')

class Old(unittest.TestCase):
    def test_lists(self):
        self.assertEqual([1, 2], [1, 3])
",
    );
    let verify = |more: &[&str]| {
        let arguments = [&["verify", "--dir", "p", "--json"], more, &["--", "pytest", "-q"]].concat();
        place.run_with(&arguments, &[("PATH", &path)], b"")
    };
    let done = verify(&[]);
    assert_eq!(done.code, 1, "{done:?}");
    assert_snapshot!(told(&parsed(&done)));
    let hidden = parsed(&verify(&["--reveal", "failures"]));
    assert_eq!(hidden.results().failed, 6, "{}", hidden.to_text());
    // A file that does not load is one failure that names the cause.
    place.file("p/tests/test_calc.py", "import leftpad\n");
    let broken = parsed(&verify(&[]));
    let message = broken.results().details[0].message.clone().unwrap();
    assert!(message.contains("ModuleNotFoundError: No module named 'leftpad'"), "{message}");
    assert_eq!(broken.results().details[0].location.as_deref(), Some("tests/test_calc.py:1"));
}

#[test]
fn each_failure_of_unittest_says_where_and_why() {
    let place = Place::new();
    place.file("p/calc.py", CALC);
    place.file(
        "p/test_calc.py",
        "import unittest
from calc import total

class Calc(unittest.TestCase):
    def test_lists(self):
        self.assertEqual([1, 2], [1, 3], 'as listed')
    def test_raises(self):
        total([])
    def test_right(self):
        self.assertEqual(total([1]), 1)
    def test_each(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(total([n]), 1)
",
    );
    let receipt = parsed(&place.run(&["verify", "--dir", "p", "--json", "--", "python3", "-m", "unittest"]));
    assert_snapshot!(told(&receipt));
    // A run that finds no tests is never a pass.
    for (file, text) in [("test_calc.py", "def test_of_pytest():\n    pass\n"), ("test_calc.py", "")] {
        place.file(&format!("p/{file}"), text);
        let done = place.run(&["verify", "--dir", "p", "--json", "--", "python3", "-m", "unittest"]);
        assert_eq!((done.code, parsed(&done).verdict()), (1, Verdict::Fail), "{done:?}");
    }
}

#[test]
fn each_failure_of_node_says_where_and_why() {
    let place = Place::new();
    place.file(
        "p/slug.js",
        "exports.slug = (s) => s.toLowerCase();\nexports.boom = () => { throw new TypeError('bad thing'); };\n",
    );
    place.file(
        "p/slug.test.js",
        "const { describe, it, test, before } = require('node:test');
const assert = require('node:assert');
const { slug, boom } = require('./slug.js');
describe('slug', () => {
  it('lowers', () => assert.equal(slug('A'), 'a'));
  describe('inner', () => {
    it('joins', () => { console.log('printed'); assert.strictEqual(slug('A B'), 'a-b'); });
    it('throws', () => boom());
  });
});
describe('hooks', () => { before(() => { throw new Error('no database'); }); it('x', () => {}); });
test('sub', async (t) => { await t.test('two', () => assert.ok(false, 'two is wrong')); });
test('\\u001b[2J % \\u202e ::error:: # SKIP not', () => assert.ok(false, '\\u001b[31mred'));
",
    );
    let verify = || parsed(&place.run(&["verify", "--dir", "p", "--json", "--", "node", "--test"]));
    assert_snapshot!(told(&verify()));
    fs::remove_file(place.path("p/slug.test.js")).unwrap();
    place.file("p/a.test.mjs", "import x from 'leftpad';\n");
    place.file("p/b.test.js", "const test = require('node:test');\ntest('a', () => { let x = ; });\n");
    place.file("p/c.test.js", "process.exit(7)\n");
    let broken = verify();
    let said: Vec<_> = broken.results().details.iter().map(|detail| detail.message.clone().unwrap()).collect();
    for (index, words) in
        ["Cannot find package 'leftpad'", "SyntaxError: Unexpected token", "exit status 7"].iter().enumerate()
    {
        assert!(said[index].contains(words), "{said:?}");
    }
}

#[test]
fn the_settings_of_a_project_are_in_its_file() {
    let place = Place::new();
    let verify = || place.run(&["verify", "--dir", "p"]);
    let absent = verify();
    assert!(absent.code == 2 && absent.stderr.contains("the folder does not exist"), "{absent:?}");
    let file = place.run(&["verify", "--dir", &place.file("p.yaml", ""), "--", "pytest"]);
    assert!(file.code == 2 && file.stderr.contains("it is a file"), "{file:?}");
    place.file("p/keep.txt", "");
    let bare = verify();
    assert!(bare.code == 2 && bare.stderr.contains("there is no command"), "{bare:?}");
    place.file(
        "p/run.sh",
        "test \"$MODE\" = fast && test -f keep.txt && ! test -e docs && ! test -e a.png && sleep ${1:-0}",
    );
    place.file("p/docs/big.md", "");
    place.file("p/a.png", [0xff, 0xd8]);
    let settings = "command: bash run.sh\nskipped: ignore\nlimits: {timeout_ms: 30000, memory_mb: 300}\n\
        env: {MODE: fast}\nexclude: [docs/, '*.png']\n";
    place.file("p/proofmark.yaml", settings);
    let verify = |more: &[&str]| place.run(&[&["verify", "--dir", "p", "--json"], more].concat());
    let done = verify(&[]);
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (0, Verdict::Pass), "{done:?}");
    assert_eq!(done.stderr.lines().filter(|line| !line.starts_with("created the signing key")).count(), 0, "{done:?}");
    let verbose = place.run(&["verify", "--dir", "p", "-v"]);
    assert!(verbose.stderr.contains("read the settings in `p/proofmark.yaml`"), "{verbose:?}");
    assert_eq!(setting(&receipt, "command"), Some(&Json::from("bash run.sh")));
    assert_eq!(setting(&receipt, "skipped"), Some(&Json::from("ignore")));
    let limits = setting(&receipt, "limits").unwrap().to_text();
    assert!(limits.contains(r#""timeout_ms":30000,"memory_mb":300,"disk_mb":1024"#), "{limits}");
    // Options win over the file; limits and variables are merged with it.
    let options = ["--timeout", "2s", "--env", "OTHER=1", "--skipped", "fail", "--", "bash", "run.sh", "60"];
    let done = verify(&options);
    let slow = parsed(&done);
    assert_eq!((done.code, slow.verdict()), (1, Verdict::Fail), "{done:?}");
    assert!(slow.results().details[0].message.as_deref().unwrap().contains("2000 ms"), "{}", slow.to_text());
    assert!(setting(&slow, "limits").unwrap().to_text().contains(r#""memory_mb":300"#));
    assert_ne!(receipt.hashes().tests, slow.hashes().tests);
    // The same settings from elsewhere give the same digest of the tests.
    let elsewhere = place.file("judge.yaml", settings);
    fs::write(place.path("p/proofmark.yaml"), "command: bash -c true\n").unwrap();
    let judged = parsed(&verify(&["--config", &elsewhere]));
    assert_eq!((judged.verdict(), judged.hashes().tests), (Verdict::Pass, receipt.hashes().tests));
    let ignored = verify(&["--no-config", "--", "bash", "run.sh"]);
    assert_eq!((ignored.code, parsed(&ignored).verdict()), (1, Verdict::Fail), "{ignored:?}");
    let without = verify(&["--no-config"]);
    assert!(without.code == 2 && without.stdout.is_empty(), "{without:?}");
}

#[test]
fn settings_that_are_wrong_are_shown_with_their_line() {
    let place = Place::new();
    place.file("p/run.sh", "");
    let mut text = String::new();
    for settings in [
        "command: bash run.sh\nskiped: ignore\n",
        "command: bash run.sh\nlimits:\n  timeout_ms: soon\n",
        "command: bash run.sh && true\n",
        "command: npm test\n",
        "env: {A B: c}\n",
        "command: [bash, run.sh]\nskipped: never\n",
        "command: bash run.sh\nreveal: none\n",
        "command: bash run.sh\nreadable: [/etc]\n",
        "command: [\n",
        "- bash\n",
    ] {
        place.file("p/proofmark.yaml", settings);
        let done = place.run(&["verify", "--dir", "p", "--unsigned", "--no-store"]);
        assert!(done.code == 2 && done.stdout.is_empty(), "{settings}: {done:?}");
        text.push_str(&format!("{settings}{}\n", done.stderr));
    }
    assert_snapshot!(text);
}

#[test]
fn settings_that_are_a_link_are_not_read() {
    let place = Place::new();
    place.file("p/run.sh", "");
    let secret = place.file("secret", "-----BEGIN KEY-----\nsecret: a: b\n");
    symlink(&secret, place.path("p/proofmark.yaml")).unwrap();
    let verify = |more: &[&str]| place.run(&[&["verify", "--dir", "p"], more].concat());
    let done = verify(&["--", "bash", "run.sh"]);
    assert!(done.code == 2 && done.stderr.contains("it is a link") && !done.stderr.contains("secret"), "{done:?}");
    assert_eq!(verify(&["--no-config", "--", "bash", "run.sh"]).code, 0);
    place.file("judge.yaml", "command: bash run.sh\n");
    assert_eq!(verify(&["--config", &place.path("judge.yaml").display().to_string()]).code, 0);
}

#[test]
fn options_of_projects_that_are_wrong_are_refused() {
    let place = Place::new();
    place.file("p/test_a.py", "");
    let mut text = String::new();
    let table: [&[&str]; 10] = [
        &["--timeout", "90"],
        &["--timeout", "0s"],
        &["--timeout", "11m"],
        &["--memory", "0"],
        &["--memory", "16384"],
        &["--skipped", "never"],
        &["--env", "A"],
        &["--config", "x.yaml", "--no-config"],
        &["--", "npm", "test"],
        &["--", "python3", "-m", "unittest", "tests/test_a.py"],
    ];
    for options in table {
        let done = place.run(&[&["verify", "--dir", "p"], options].concat());
        assert!(done.code == 2 && done.stdout.is_empty(), "{options:?}: {done:?}");
        text.push_str(&format!("{}\n{}\n", options.join(" "), done.stderr));
    }
    for alone in [
        &["verify", "--timeout", "9s", "x.json"][..],
        &["verify", "x.json", "--", "pytest"],
        &["verify", "--no-config"],
    ] {
        let done = place.run(alone);
        assert!(done.code == 2 && done.stderr.contains("--dir"), "{done:?}");
    }
    assert_snapshot!(text);
}

#[test]
fn skipped_tests_are_named_and_never_make_a_pass_alone() {
    let place = Place::new();
    let write =
        |tests: &str| place.file("p/test_a.py", format!("import unittest\nclass A(unittest.TestCase):\n{tests}"));
    let verify = |policy: &str, json: bool| {
        let options = if json { &["--json"][..] } else { &[] };
        let command = ["--skipped", policy, "--", "python3", "-m", "unittest"];
        place.run(&[&["verify", "--dir", "p"], options, &command].concat())
    };
    let passing = "    def test_a(self): pass\n";
    let skipping = "    @unittest.skip('windows')\n    def test_b(self): pass\n";
    write(&format!("{passing}{skipping}"));
    for (policy, code, verdict) in
        [("partial", 1, Verdict::Partial), ("fail", 1, Verdict::Fail), ("ignore", 0, Verdict::Pass)]
    {
        let done = verify(policy, true);
        let receipt = parsed(&done);
        assert_eq!((done.code, receipt.verdict()), (code, verdict), "{done:?}");
        let skipped = receipt.metadata().get("skipped").map(Json::to_text);
        assert_eq!(skipped.as_deref(), (policy == "ignore").then_some(SKIPPED_ONE));
    }
    let shown = verify("ignore", false).stdout;
    assert!(shown.contains("1 of 1 check passed, 1 skipped (windows)") && shown.contains("test_a.A.test_b"), "{shown}");
    write(skipping);
    for policy in ["partial", "fail", "ignore"] {
        let done = verify(policy, true);
        assert_eq!((done.code, parsed(&done).verdict()), (1, Verdict::Fail), "{done:?}");
    }
}

/// What a receipt says of one skipped test.
const SKIPPED_ONE: &str =
    r#"{"count":1,"reasons":[{"reason":"windows","count":1}],"tests":[{"name":"test_a.A.test_b","reason":"windows"}]}"#;

#[test]
fn a_pass_that_seems_to_test_nothing_has_a_warning() {
    let place = Place::new();
    place.file("p/run.sh", "echo 'Ran 0 tests in 0.000s'");
    let done = place.run(&["verify", "--dir", "p", "--", "bash", "run.sh"]);
    assert!(done.code == 0 && done.stdout.contains("warning: what the command wrote"), "{done:?}");
    place.file("p/run.sh", "echo 'Ran 10 tests in 0.000s'");
    let done = place.run(&["verify", "--dir", "p", "--", "bash", "run.sh"]);
    assert!(done.code == 0 && !done.stdout.contains("warning"), "{done:?}");
}

#[test]
fn files_that_are_not_text_are_part_of_a_project() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..=255).collect();
    place.file("p/fixture.bin", &bytes);
    place
        .file("p/run.sh", "test \"$(od -An -tu1 fixture.bin | wc -w)\" = 256 && od -An -tu1 fixture.bin | grep -q 255");
    let receipt = parsed(&place.run(&["verify", "--dir", "p", "--json", "--", "bash", "run.sh"]));
    assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
    // `hashes.output` is of what `sha256sum` prints.
    let digest = |bytes: &[u8]| proofmark_receipt::Sha256Digest::of(bytes);
    let line =
        |name: &str| format!("{}  {name}\n", digest(&fs::read(place.path(&format!("p/{name}"))).unwrap()).bare_hex());
    assert_eq!(receipt.hashes().output, digest(format!("{}{}", line("fixture.bin"), line("run.sh")).as_bytes()));
}

#[test]
fn installed_packages_of_node_are_read_and_not_written() {
    let place = Place::new();
    place.file("p/node_modules/greet/index.js", "exports.hello = () => 'hello';");
    place.file("p/node_modules/@scope/part/index.js", "exports.part = 1;");
    place.file("p/node_modules/.package-lock.json", "{}");
    place.file("p/node_modules/.cache/stale", "");
    place.file("p/sub/node_modules/inner/index.js", "module.exports = 2;");
    place.file("p/packages/own/index.js", "module.exports = 'workspace';");
    symlink("../packages/own", place.path("p/node_modules/own")).unwrap();
    place.file(
        "p/a.test.js",
        "const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
test('reads', () => {
  assert.equal(require('greet').hello(), 'hello');
  assert.equal(require('@scope/part').part, 1);
  assert.equal(require('own'), 'workspace');
  assert.equal(require('./sub/node_modules/inner'), 2);
});
test('writes only beside packages', () => {
  for (const path of ['greet/index.js', 'greet/new', '@scope/new', '.package-lock.json']) {
    assert.throws(() => fs.writeFileSync(`node_modules/${path}`, 'x'), { code: 'EROFS' }, path);
  }
  assert.throws(() => fs.rmSync('node_modules/greet', { recursive: true }));
  assert.ok(!fs.existsSync('node_modules/.cache'));
  fs.mkdirSync('node_modules/.cache');
});
",
    );
    for level in ["A", "B"] {
        let done = place.run(&["verify", "--dir", "p", "--isolation", level, "--json", "--", "node", "--test"]);
        let receipt = parsed(&done);
        if receipt.verdict() == Verdict::Error {
            proofmark_testing::skip("isolation", &format!("this host has no isolation level {level}"));
            continue;
        }
        assert_eq!((done.code, receipt.verdict()), (0, Verdict::Pass), "{}", receipt.to_text());
        let packages = setting(&receipt, "packages").unwrap().to_text();
        assert_eq!(packages, r#"["node_modules","sub/node_modules"]"#);
    }
    assert_eq!(
        fs::read_to_string(place.path("p/node_modules/greet/index.js")).unwrap(),
        "exports.hello = () => 'hello';"
    );
    assert!(place.path("p/node_modules/.cache/stale").exists());
    // Packages are no part of the digest, and a project need not show them.
    place.file("p/proofmark.yaml", "command: node --test\npackages: false\n");
    let without = parsed(&place.run(&["verify", "--dir", "p", "--json"]));
    assert_eq!(without.verdict(), Verdict::Fail, "{}", without.to_text());
}

/// The attack: packages that are links, or hold links, to what the host has elsewhere.
#[test]
fn links_among_packages_lead_nowhere_on_the_host() {
    let place = Place::new();
    let secret = place.file("outside/secret.txt", "secret of the host");
    let outside = place.path("outside");
    place.file("p/node_modules/pkg/index.js", "");
    symlink(&secret, place.path("p/node_modules/pkg/link.txt")).unwrap();
    symlink(&outside, place.path("p/node_modules/pkg/folder")).unwrap();
    symlink(&outside, place.path("p/node_modules/out")).unwrap();
    symlink(&secret, place.path("p/node_modules/out.txt")).unwrap();
    symlink("../../outside", place.path("p/node_modules/relative")).unwrap();
    fs::create_dir_all(place.path("p/sub")).unwrap();
    symlink(&outside, place.path("p/sub/node_modules")).unwrap();
    symlink(&outside, place.path("p/linked")).unwrap();
    let paths = "node_modules/pkg/link.txt node_modules/pkg/folder/secret.txt node_modules/out/secret.txt \
        node_modules/out.txt node_modules/relative/secret.txt sub/node_modules/secret.txt linked/secret.txt";
    place.file("p/run.sh", format!("for f in {paths}; do cat $f 2>/dev/null && exit 1; done; exit 0"));
    let done = place.run(&["verify", "--dir", "p", "--json", "--", "bash", "run.sh"]);
    assert_eq!((done.code, parsed(&done).verdict()), (0, Verdict::Pass), "{done:?}");
    assert!(
        done.stderr.contains("left out `sub/node_modules`") && done.stderr.contains("left out `linked`"),
        "{done:?}"
    );
    // A project whose packages are one link has none.
    fs::remove_dir_all(place.path("p/node_modules")).unwrap();
    symlink(&outside, place.path("p/node_modules")).unwrap();
    let done = place.run(&["verify", "--dir", "p", "--json", "--", "bash", "run.sh"]);
    assert_eq!((done.code, parsed(&done).verdict()), (0, Verdict::Pass), "{done:?}");
}

#[test]
fn a_runner_that_is_not_installed_is_not_the_projects_fault() {
    let place = Place::new();
    place.file("p/a.test.js", "");
    for (words, package) in
        [(&["npx", "vitest", "run"][..], "vitest"), (&["jest"], "jest"), (&["node", "node_modules/.bin/ava"], "ava")]
    {
        let done = place.run(&[&["verify", "--dir", "p", "--json", "--"], words].concat());
        let receipt = parsed(&done);
        assert_eq!((done.code, receipt.verdict()), (2, Verdict::Error), "{done:?}");
        assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("verifier")));
        let message = receipt.results().details[0].message.clone().unwrap();
        assert!(message.contains(&format!("npm install --save-dev {package}")), "{message}");
    }
}

/// A stand-in for jest: what matters is that its reporter is found, runs and is read.
#[test]
fn jest_reports_by_a_reporter_of_our_own() {
    let place = Place::new();
    place.file("p/a.test.js", "");
    place.file(
        "p/node_modules/jest/bin/jest.js",
        "const path = process.argv.find((word) => word.startsWith('--reporters=/')).slice('--reporters='.length);
const Reporter = require(path);
const test = (title, status, more) => ({ ancestorTitles: ['group # 1'], title, status, failureMessages: [], duration: 3, ...more });
new Reporter().onRunComplete(new Set(), { testResults: [
  { testFilePath: '/tmp/project/a.test.js', testResults: [
    test('right', 'passed'),
    test('wrong', 'failed', { failureMessages: ['\\u001b[31mError: expect(received)\\u001b[0m\\n\\n- Expected\\n+ Received\\n\\n-1\\n+2\\n    at f (/tmp/project/a.test.js:3:4)'] }),
    test('later', 'pending'), test('planned', 'todo') ] },
  { testFilePath: '/tmp/project/b.test.js', testResults: [], testExecError: {}, failureMessage: '  ● Test suite failed to run\\n\\n    Cannot find module' },
] });
process.exit(1);
",
    );
    let done = place.run(&["verify", "--dir", "p", "--json", "--skipped", "partial", "--", "npx", "jest"]);
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.verdict()), (1, Verdict::Partial), "{done:?}");
    assert_snapshot!(told(&receipt));
}

#[test]
fn the_page_on_projects_is_true() {
    let page = fs::read_to_string(crate::run::project_file("docs/projects.md")).unwrap();
    let settings = page.split("```yaml file=proofmark.yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let place = Place::new();
    place.file("p/proofmark.yaml", settings);
    place.file("p/run.sh", "");
    let done = place.run(&["verify", "--dir", "p", "--json", "--", "bash", "run.sh"]);
    assert_eq!(setting(&parsed(&done), "skipped"), Some(&Json::from("ignore")), "{done:?}");
    let schema = fs::read_to_string(crate::run::project_file("schemas/project.schema.json")).unwrap();
    let schema = Json::parse(schema.as_bytes()).unwrap();
    let properties = schema.as_object().unwrap().get("properties").unwrap().as_object().unwrap();
    let help = place.run(&["verify", "--help"]).stdout;
    for (name, _) in properties.iter() {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    for option in page.split("`--").skip(1).map(|rest| rest.split(['`', ' ']).next().unwrap()) {
        assert!(help.contains(&format!("--{option}")) || option.is_empty(), "{option}");
    }
}

/// A program that ends early leaves no report, and one that does not load is a failure with its reason.
#[test]
fn what_ends_early_in_ruby_and_bats_did_not_pass() {
    let place = Place::new();
    let minitest = "require 'minitest/autorun'\nclass T < Minitest::Test\n  def test_a = assert(true)\nend\n";
    let table = [
        ("rspec", "ruby-rspec", "a_spec.rb", "describe('a') { it('x') { exit!(0) } }\n".to_owned(), "left no report"),
        ("rspec", "ruby-rspec", "a_spec.rb", "raise 'boom'\n".to_owned(), "boom"),
        ("ruby", "ruby-minitest", "a_test.rb", format!("{minitest}exit!(0)\n"), "left no report"),
        ("ruby", "ruby-minitest", "a_test.rb", format!("{minitest}at_exit {{ exit!(0) }}\n"), "left no report"),
        ("bats", "bats", "a.bats", "@test \"a\" {\n  true\n}\nkill -9 $PPID\n".to_owned(), ""),
    ];
    for (program, package, name, text, words) in table {
        if !has_program(program, package) {
            continue;
        }
        place.file(&format!("p/{name}"), &text);
        let done = place.run(&["verify", "--dir", "p", "--json", "--", program, name]);
        let receipt = parsed(&done);
        assert!(done.code == 1 && receipt.verdict() != Verdict::Pass, "{text}: {done:?}");
        assert!(receipt.to_text().contains(words), "{text}: {done:?}");
    }
}

/// The script of `package.json` is the command where it names a runner; what it lints with does not run.
#[test]
fn npm_test_runs_what_the_script_says() {
    let place = Place::new();
    place.file("p/test/a.js", "const test = require('node:test')\ntest('a', () => {})\n");
    place.file("p/package.json", r#"{"scripts": {"test": "eslint . && node --test test/*.js", "lint": "eslint ."}}"#);
    let done = place.run(&["verify", "--dir", "p", "--json", "--", "npm", "test"]);
    let receipt = parsed(&done);
    assert_eq!((done.code, receipt.results().passed), (0, 1), "{done:?}");
    assert_eq!(setting(&receipt, "command"), Some(&Json::from("node --test test/*.js")));
    let lint = place.run(&["verify", "--dir", "p", "--", "npm", "run", "lint"]);
    assert!(lint.code == 2 && lint.stderr.contains("write what the script runs: `eslint .`"), "{lint:?}");
}
