//! `proofmark init`, and the commands that it prints.

use std::fs;

use proofmark_receipt::Json;
use proofmark_testing::{has_program, python_with, skip};

use crate::commands::tree;
use crate::session::Session;

const POLICY_FILES: [&str; 3] = [".github/workflows/proofmark.yml", "proofmark/cases.yaml", "proofmark/policy.yaml"];

/// A folder with these files.
fn with(files: &[(&str, &str)]) -> Session {
    let session = Session::new();
    files.iter().for_each(|(name, content)| session.write(name, content));
    session
}

/// Runs `proofmark init --json`, and returns the kind of project it found.
fn init(session: &Session) -> String {
    let done = session.run(&["proofmark init --json"]).remove(0);
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = Json::parse(done.output.trim().as_bytes()).unwrap();
    result.as_object().unwrap().get("project").and_then(Json::as_str).unwrap().to_owned()
}

fn read(session: &Session, path: &str) -> String {
    fs::read_to_string(session.work().join(path)).unwrap()
}

/// Runs the three commands that `proofmark init` prints below `Next:`.
fn next_commands_work(session: &Session, arguments: &str) {
    let done = session.run(&[&format!("proofmark init {arguments}")]).remove(0);
    let next: Vec<&str> =
        done.output.lines().skip_while(|line| *line != "Next:").skip(1).take(3).map(str::trim).collect();
    for (command, done) in next.iter().zip(session.run(&next)) {
        assert_eq!(done.code, Some(0), "{command}: {}", done.output);
    }
    let of_policy =
        |command: &str| session.run(&[&format!("find . -name policy.yaml -exec {command} '{{}}' ';'")]).remove(0);
    let linted = of_policy("proofmark lint").output;
    assert!(linted.contains("role-of-nobody") && linted.contains("1 finding in 1 file"), "{linted}");
    session.run(&["proofmark key new ann"]);
    of_policy("proofmark reviewer add ann --key ann --role operator --policy");
    let linted = of_policy("proofmark lint").output;
    assert!(linted.starts_with("ok 1 file checked, no findings"), "{linted}");
    let coverage = session.run(&["find . -name cases.yaml -exec proofmark policy coverage '{}' ';'"]).remove(0);
    assert!(!coverage.output.contains("never hit"), "{}", coverage.output);
}

#[test]
fn an_empty_folder_gets_an_example_that_passes() {
    let session = Session::new();
    next_commands_work(&session, "");
    let files: Vec<String> = tree(&session.work()).into_keys().collect();
    let mut expected = [&POLICY_FILES[..], &["proofmark/solution.py", "proofmark/suite.yaml"]].concat();
    expected.sort_unstable();
    assert_eq!(files, expected);
}

#[test]
fn a_project_with_tests_is_verified_as_it_is() {
    let passing =
        "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n";
    let node = "const test = require('node:test')\ntest('a', () => {})\n";
    for (name, text) in [("test_a.py", passing), ("checks/test_a.py", passing), ("a.test.js", node)] {
        next_commands_work(&with(&[(name, text)]), "");
    }
    next_commands_work(&with(&[("app/test_a.py", passing)]), "app");
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        return skip("python", "PROOFMARK_PYTHON names no Python with pytest");
    }
    if python_with("pytest", "pytest").is_some() {
        next_commands_work(&with(&[("tests/test_a.py", "def test_a():\n    assert True\n")]), "");
    }
}

#[test]
fn the_commands_work_for_a_folder_with_a_name_that_a_shell_would_split() {
    let session = Session::new();
    next_commands_work(&session, "'it'\\''s new'");
    assert!(session.work().join("it's new/proofmark/suite.yaml").exists());
}

#[test]
fn a_script_gets_a_suite_for_its_function() {
    for (name, text) in [
        ("tool.py", "import sys\n\ndef _hidden():\n    pass\n\ndef area(w, h):\n    return w * h\n"),
        ("tool.js", "function area (w, h) {\n  return w * h\n}\n"),
        ("tool.rb", "def area?(w)\n  true\nend\n\ndef area(w, h)\n  w * h\nend\n"),
    ] {
        let session = with(&[(name, text)]);
        if name.ends_with(".rb") && !has_program("ruby", "ruby") {
            assert_eq!(init(&session), "script");
        } else {
            next_commands_work(&session, "");
        }
        assert!(read(&session, "proofmark/suite.yaml").contains(&format!("--submission {name}")), "{name}");
        assert!(!session.work().join("proofmark.yaml").exists(), "{name}");
    }
}

#[test]
fn the_runner_of_the_tests_is_found() {
    let package = |test: &str, installed: &str| {
        format!(r#"{{"scripts": {{"test": "{test}"}}, "devDependencies": {{"{installed}": "1"}}}}"#)
    };
    let root = package("npm test --workspaces", "x").replacen('{', r#"{"workspaces": ["packages/*"], "#, 1);
    let jest = ("sum.test.js", "test('a', () => {})");
    let typescript = ("src/a.test.ts", "test('a', () => {})");
    for (files, runner, command) in [
        (vec![("tests/test_a.py", "def test_a():\n    assert True\n")], "pytest", "[python3, -m, pytest, -q]"),
        (vec![("test_a.py", "import unittest\n")], "unittest", "[python3, -m, unittest]"),
        (vec![("tests/test_a.py", "import unittest\n")], "unittest", "[python3, -m, unittest, discover, -s, tests]"),
        (
            vec![("test_a.py", "import unittest\n"), ("pyproject.toml", "[tool.pytest.ini_options]\n")],
            "pytest",
            "[python3, -m, pytest, -q]",
        ),
        (vec![("a.test.mjs", "import test from 'node:test'\n")], "node:test", "[node, --test]"),
        (vec![jest, ("package.json", &package("jest --ci", "x"))], "jest", "[jest, --ci]"),
        (vec![jest, ("package.json", &package("", "mocha"))], "mocha", "[mocha]"),
        (vec![jest, ("package.json", &package("", "vitest"))], "vitest", "[vitest, run]"),
        (vec![typescript, ("package.json", &package("vitest run", "vitest"))], "vitest", "[vitest, run]"),
        (vec![typescript, ("package.json", &package("", "tsx"))], "node:test", "[tsx, --test]"),
        (
            vec![("package.json", &package("eslint . && nyc mocha -r esm 'test/**/*.js'", "x"))],
            "mocha",
            r#"[mocha, -r, esm, "test/**/*.js"]"#,
        ),
        (vec![("package.json", &package("tape test/*.js | tap-spec", "tape"))], "tape", r#"[tape, "test/*.js"]"#),
        (vec![("package.json", &package("c8 ava", "ava"))], "ava", "[ava]"),
        (vec![("package.json", &package("uvu tests", "uvu"))], "uvu", "[uvu, tests]"),
        (
            vec![("package.json", &package("node test/all.js", "tape"))],
            "node",
            "[node, test/all.js]\nreport: \"stdout:tap\"",
        ),
        (vec![("package.json", &package("cross-env TZ=UTC mocha", "x"))], "mocha", "[mocha]\nenv:\n  TZ: UTC"),
        // The workspaces of a monorepo are tested together, by the runner of most of them.
        (
            vec![
                ("package.json", &root),
                ("packages/a/package.json", &package("node --test", "x")),
                ("packages/a/a.test.js", "require('node:test')\n"),
                ("packages/b/package.json", &package("c8 node --test", "x")),
            ],
            "node:test",
            "[node, --test]",
        ),
        (
            vec![
                ("package.json", &root),
                ("packages/a/package.json", &package("vitest", "x")),
                ("packages/a/src/a.test.ts", "import { test } from 'vitest'\n"),
                ("packages/b/package.json", &package("vitest run", "x")),
                ("packages/c/package.json", &package("mocha", "x")),
            ],
            "vitest",
            "[vitest, run, packages/a/, packages/b/]",
        ),
    ] {
        let session = with(&files);
        assert_eq!(init(&session), runner, "{files:?}");
        assert!(read(&session, "proofmark.yaml").contains(&format!("\ncommand: {command}\n")), "{files:?}");
        assert!(!session.work().join("proofmark/suite.yaml").exists(), "{files:?}");
    }
}

/// What is generated and ignored by git may be what the tests import.
#[test]
fn source_files_that_git_ignores_are_included() {
    let session = with(&[
        ("shop/__init__.py", "from shop._version import VERSION\n"),
        (
            "test_a.py",
            "import unittest\nfrom shop import VERSION\nclass A(unittest.TestCase):\n    def test_a(self): pass\n",
        ),
        (".gitignore", "_version.py\n*.log\n/out/\n"),
        ("a.log", ""),
        ("out/a.py", ""),
    ]);
    session.run(&["git init -q .", "git add -A"]);
    session.write("shop/_version.py", "VERSION = '1'\n");
    init(&session);
    assert!(read(&session, "proofmark.yaml").contains("\ninclude: [shop/_version.py]\n"));
    let done = session.run(&["proofmark verify --dir ."]).remove(0);
    assert_eq!(done.code, Some(0), "{}", done.output);
}

#[test]
fn the_recipe_installs_what_the_tests_import() {
    let project = "[project]\nname = \"a\"\n";
    let extra = format!("{project}[project.optional-dependencies]\ndocs = []\ntest = [\"pytest\"]\n");
    let group = "[dependency-groups]\nall = [\n  \"test==1\",\n]\ndev = [\"pytest\"]\n[tool.x]\ntest = 1\n";
    let python = ("test_a.py", "import unittest\n");
    let node = ("a.test.js", "require('node:test')\n");
    let pip = "python3 -m pip install";
    for (files, commands) in [
        (vec![python], vec![]),
        (vec![python, ("requirements.txt", "attrs\n")], vec![format!("{pip} -r requirements.txt")]),
        (vec![python, ("pyproject.toml", project)], vec![format!("{pip} --editable .")]),
        (
            vec![python, ("pyproject.toml", &extra)],
            vec![format!("{pip} --editable '.[test]'"), format!("{pip} pytest")],
        ),
        (vec![python, ("pyproject.toml", "[tool.ruff]\n")], vec![]),
        (
            vec![python, ("pyproject.toml", group)],
            vec![format!("{pip} --upgrade 'pip>=25.1'"), format!("{pip} --group dev"), format!("{pip} pytest")],
        ),
        (vec![node], vec![]),
        (vec![node, ("package.json", "{}")], vec!["npm install".to_owned()]),
        (vec![node, ("package.json", "{}"), ("package-lock.json", "{}")], vec!["npm ci".to_owned()]),
        (
            vec![node, ("package.json", "{}"), ("pnpm-lock.yaml", "")],
            vec!["corepack enable".to_owned(), "pnpm install --frozen-lockfile".to_owned()],
        ),
    ] {
        let session = with(&files);
        init(&session);
        let recipe = read(&session, ".github/workflows/proofmark.yml");
        let installs: Vec<&str> = recipe
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- run: "))
            .take_while(|run| !run.starts_with("echo "))
            .collect();
        assert_eq!(installs, commands, "{files:?}");
    }
}

#[test]
fn tests_that_no_runner_here_runs_are_named() {
    for (name, kind) in [("a_test.go", "Go"), ("Cargo.toml", "Rust")] {
        let session = with(&[(name, "")]);
        let done = session.run(&["proofmark init"]).remove(0);
        assert!(done.output.contains(&format!("{kind} ({name}), which no runner here runs")), "{}", done.output);
    }
}

#[test]
fn projects_of_ruby_and_bats_are_verified_as_they_are() {
    let rspec = "describe 'a' do\n  it('adds') { expect(1 + 1).to eq(2) }\n  it('waits')\nend\n";
    let minitest =
        "require 'minitest/autorun'\nclass ATest < Minitest::Test\n  def test_a = assert_equal(2, 1 + 1)\nend\n";
    let bats = "@test \"adds\" {\n  [ \"$((1 + 1))\" -eq 2 ]\n  sed --version\n}\n";
    for (program, package, name, text) in
        [("rspec", "ruby-rspec", "spec/a_spec.rb", rspec), ("bats", "bats", "test/a.bats", bats)]
    {
        if has_program(program, package) {
            next_commands_work(&with(&[(name, text)]), "");
        }
    }
    let minitest_is_there = std::process::Command::new("ruby").args(["-rminitest", "-e", ""]).status();
    if minitest_is_there.is_ok_and(|status| status.success()) {
        next_commands_work(&with(&[("test/a_test.rb", minitest)]), "");
    } else {
        skip("minitest", "ruby has no minitest");
    }
}

/// The recipe as GitHub reads it: an object of YAML, in which the tests of a pull request come from its base.
#[test]
fn the_recipe_holds_the_tests_of_the_base_branch() {
    let session = with(&[("test_a.py", "import unittest\n")]);
    init(&session);
    let recipe = read(&session, ".github/workflows/proofmark.yml");
    for part in [
        "--tests-from \"refs/remotes/origin/$BASE\"",
        "sha256sum --check",
        "cancel-in-progress: true",
        "uses: actions/cache@v5",
        "if: steps.proofmark.outputs.cache-hit != 'true'",
        "contents: read",
    ] {
        assert!(recipe.contains(part), "{part}: {recipe}");
    }
    assert!(!recipe.contains("@SETUP@") && !recipe.contains("@VERIFY@"), "{recipe}");
    // No expression of GitHub in a script: the name of a branch would become a part of it.
    let lines: Vec<&str> = recipe.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let recipe = lines.join("\n");
    let scripts = recipe.split("run: ").skip(1).map(|rest| rest.split("\n      - ").next().unwrap_or_default());
    assert!(scripts.filter(|script| script.contains("${{")).count() == 0, "{recipe}");
}

#[test]
fn nothing_is_overwritten_and_a_second_run_says_so() {
    let session = with(&[("proofmark/policy.yaml", "mine\n")]);
    assert_eq!(init(&session), "nothing");
    assert_eq!(read(&session, "proofmark/policy.yaml"), "mine\n");
    let before = tree(&session.work());
    let again = session.run(&["proofmark init"]).remove(0);
    assert_eq!((again.code, again.output.matches("  left alone ").count()), (Some(0), 5), "{again:?}");
    assert_eq!(tree(&session.work()), before);
}

#[test]
fn a_dry_run_writes_nothing() {
    let session = Session::new();
    let done = session.run(&["proofmark init --dry-run", "proofmark init new --dry-run", "ls -A"]);
    assert_eq!((done[0].code, done[0].output.matches("  would create ").count()), (Some(0), 5), "{done:?}");
    assert_eq!((done[1].code, done[1].output.matches("  would create ").count()), (Some(0), 5), "{done:?}");
    assert_eq!(done[2].output, "");
}

/// What a submission may leave behind in the folder: links that lead elsewhere.
#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let session = Session::new();
    let done = session.run(&[
        "mkdir ../outside; ln -s ../outside proofmark; ln -s ../outside/new .github; proofmark init",
        "rm .github; mkdir .github; ln -s ../../outside/written.yml .github/workflows; proofmark init",
        "rm .github/workflows; mkdir .github/workflows; ln -s ../../../outside/written.yml .github/workflows/proofmark.yml; proofmark init",
        "ls -A ../outside",
        "rm proofmark; mkdir real; ln -s real proofmark; proofmark init",
        "ls real",
    ]);
    let codes: Vec<Option<i32>> = done.iter().map(|done| done.code).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0), Some(0), Some(0)], "{done:#?}");
    assert_eq!(done[3].output, "", "{done:#?}");
    assert!(done[0].output.contains("`proofmark` is a link that leads out of the folder"), "{done:#?}");
    assert_eq!(done[5].output, "cases.yaml\npolicy.yaml\nsolution.py\nsuite.yaml\n");
}

/// Names that the submission chooses reach neither YAML nor a terminal.
#[test]
fn names_that_need_quoting_are_not_used() {
    let session = with(&[("a: b.py", "def f(x):\n    return x\n"), ("\u{1b}[2Jx.py", "def g(x):\n    return x\n")]);
    assert_eq!(init(&session), "nothing");
    let script = with(&[("x.py", "def f: injected(x)\ndef ok(x):\n    return x\n")]);
    assert_eq!(init(&script), "script");
    assert!(!read(&script, "proofmark/suite.yaml").contains("injected"));
}
