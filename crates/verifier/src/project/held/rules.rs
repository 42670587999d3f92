//! Which files are tests, what configures their runner, and what they need: one table.
//!
//! A glob that ends with a slash names a folder; others name files, by their names wherever they are, or by their whole paths
//! (`proofmark_checks::glob_texts`). Letter case does not matter.

/// Files that are never the submission's where a runner of this kind runs.
struct Rule {
    /// What the rule is of, as people read it.
    of: &'static str,
    /// The words that a command of such a runner begins with; a version may follow. Empty for every runner.
    words: &'static [&'static str],
    globs: &'static [&'static str],
}

/// The table.
const RULES: [Rule; 7] = [
    Rule {
        of: "any runner",
        words: &[],
        globs: &["proofmark.yaml", ".env", ".env.*", "Makefile", "GNUmakefile", "justfile"],
    },
    Rule {
        of: "pytest and unittest",
        words: &["python", "pytest", "py.test", "tox", "uv"],
        globs: &[
            "tests/",
            "test/?*",
            "testing/?*",
            "test_*.py",
            "*_test.py",
            "tests.py",
            "test.py",
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pytest.toml",
            ".pytest.toml",
            "tox.ini",
            "tox.toml",
            "noxfile.py",
            "setup.cfg",
            "pyproject.toml",
            "unittest.cfg",
            ".coveragerc",
            // What Python imports by itself, in any form that it can import.
            "sitecustomize*",
            "usercustomize*",
            "*.pth",
            // Plugins are found by the entry points of distributions, also in the folder of the project.
            "*.egg-info/",
            "*.dist-info/",
            "*.egg-link",
            // A module of the project that is named like one of the runner's is imported in its place.
            "pytest.*",
            "pytest/?*",
            "_pytest/?*",
            "pluggy/?*",
            "unittest.*",
            "unittest/?*",
            "src/pytest/?*",
            "src/_pytest/?*",
            "src/pluggy/?*",
            "src/unittest/?*",
            "requirements*.txt",
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
            "pylock*.toml",
            "Pipfile.lock",
        ],
    },
    Rule {
        of: "runners of Node.js",
        words: &[
            "node", "npx", "npm", "yarn", "pnpm", "jest", "vitest", "mocha", "ava", "tap", "tape", "uvu", "tsx", "bun",
            "deno",
        ],
        globs: &[
            "test/",
            "tests/",
            "__tests__/",
            "__mocks__/",
            "__snapshots__/",
            "__fixtures__/",
            "*.test.*",
            "*.spec.*",
            "*-test.?js",
            "*-test.js",
            "*_test.?js",
            "*_test.js",
            "test-*.?js",
            "test-*.js",
            "test.?js",
            "test.js",
            "jest.*",
            "jest-*",
            "vitest.*",
            "vite.config.*",
            "setupTests.*",
            ".mocharc*",
            "ava.config.*",
            ".taprc",
            ".nycrc*",
            ".c8rc*",
            "babel.config.*",
            ".babelrc*",
            ".swcrc",
            "tsconfig*.json",
            "jsconfig.json",
            "deno.json*",
            "bunfig.toml",
            ".npmrc",
            ".yarnrc*",
            ".pnp.*",
            ".pnpmfile.cjs",
            "node.config.json",
            "package.json",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml",
            "bun.lock*",
        ],
    },
    Rule {
        of: "minitest and rspec",
        words: &["ruby", "rspec", "rake", "bundle", "minitest"],
        globs: &[
            "spec/",
            "test/",
            "*_spec.rb",
            "*_test.rb",
            "test_*.rb",
            ".rspec*",
            ".simplecov",
            "Rakefile",
            "*.rake",
            ".bundle/",
            "Gemfile",
            "Gemfile.lock",
            "gems.rb",
            "gems.locked",
        ],
    },
    Rule { of: "bats", words: &["bats"], globs: &["*.bats", "*.bash", "test/", "tests/"] },
    Rule {
        of: "go test",
        words: &["go", "gotestsum"],
        globs: &["*_test.go", "testdata/", "vendor/", "go.mod", "go.sum", "go.work*"],
    },
    Rule {
        of: "cargo test",
        words: &["cargo"],
        globs: &["tests/", "benches/", "vendor/", ".cargo/", ".config/", "rust-toolchain*", "Cargo.toml", "Cargo.lock"],
    },
];

/// Programs that run a script, which is then what judges.
const INTERPRETERS: [&str; 6] = ["python", "node", "ruby", "bash", "sh", "deno"];

/// A glob, and what it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldGlob {
    pub(super) glob: String,
    pub(super) of: String,
}

/// What is held where this command runs, and where the settings say these `tests`. A command that is not known may run any runner, so
/// all rules count.
pub(super) fn globs(command: &[&str], tests: &[String]) -> Vec<HeldGlob> {
    let program = command.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    let is_known = RULES.iter().any(|rule| rule.runs(program));
    let mut globs: Vec<HeldGlob> = Vec::new();
    let mut add = |glob: &str, of: String| {
        if !globs.iter().any(|held| held.glob == glob) {
            globs.push(HeldGlob { glob: glob.to_owned(), of });
        }
    };
    tests.iter().for_each(|glob| add(glob, "`tests` in the settings".to_owned()));
    if let Some(script) = script(program, command) {
        add(script, "the command names it".to_owned());
    }
    for rule in RULES.iter().filter(|rule| rule.words.is_empty() || !is_known || rule.runs(program)) {
        rule.globs.iter().for_each(|glob| add(glob, rule.of.to_owned()));
    }
    globs
}

/// The script that an interpreter is to run.
fn script<'a>(program: &str, command: &[&'a str]) -> Option<&'a str> {
    let is_interpreter = INTERPRETERS.iter().any(|interpreter| is_version_of(program, interpreter));
    let first = command.get(1).filter(|word| is_interpreter && !word.starts_with('-'))?;
    Some(first.strip_prefix("./").unwrap_or(first))
}

impl Rule {
    fn runs(&self, program: &str) -> bool {
        self.words.iter().any(|word| is_version_of(program, word))
    }
}

/// Whether `program` is `word`, or that with a version: `python3.12`.
fn is_version_of(program: &str, word: &str) -> bool {
    let rest = program.strip_prefix(word);
    rest.is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_decides_which_rules_count() {
        let held = |command: &[&str]| globs(command, &[]).into_iter().map(|held| held.glob).collect::<Vec<_>>();
        let (python, node, all) =
            (held(&["python3.12", "-m", "pytest"]), held(&["npx", "jest"]), held(&["bash", "./run"]));
        let has = |globs: &[String], glob: &str| globs.iter().any(|other| other == glob);
        assert!(has(&python, "conftest.py") && !has(&python, "package.json") && !has(&python, "test/"));
        assert!(has(&node, "package.json") && !has(&node, "conftest.py"));
        assert!(has(&all, "package.json") && has(&all, "conftest.py") && has(&all, "run"));
        assert!(all.len() <= proofmark_checks::MAX_HELD_GLOBS / 2, "{}", all.len());
    }
}
