//! What the words of a command say of the tests that it runs.

use crate::command::Command;
use crate::reporting::Runner;

/// Options by which a runner runs some of its tests only.
fn choosing(runner: Runner) -> &'static [&'static str] {
    match runner {
        Runner::Pytest => {
            &["-k", "-m", "--deselect", "--lf", "--last-failed", "--sw", "--stepwise", "--ff", "--nf", "--co"]
        }
        Runner::Unittest => &["-k"],
        Runner::NodeTest => &["--test-name-pattern", "--test-skip-pattern", "--test-only", "--test-shard"],
        Runner::Jest => &["-t", "--testNamePattern", "--shard", "-o", "--onlyChanged", "--onlyFailures"],
        Runner::Vitest => &["-t", "--testNamePattern", "--shard", "--changed"],
        Runner::Mocha => &["-g", "--grep", "-f", "--fgrep", "-i", "--invert"],
        Runner::Tap | Runner::Tape | Runner::Ava | Runner::Rspec | Runner::Minitest | Runner::Bats => &[],
    }
}

/// Whether the command runs only tests of some names, so that a canary may be left out.
pub(super) fn chooses_by_name(runner: Runner, command: &Command) -> bool {
    let words = own_words(runner, command);
    let chooses = |word: &String| {
        choosing(runner).iter().any(|option| match word.strip_prefix(option) {
            Some(rest) => rest.is_empty() || rest.starts_with('=') || !option.starts_with("--"),
            None => false,
        })
    };
    let names_tests = |word: &&String| match runner {
        Runner::Pytest => word.contains("::"),
        // `tests.test_a` is a file, and `tests.test_a.TestA` a part of it.
        Runner::Unittest => {
            let path = format!("{}.py", word.replace('.', "/"));
            !word.starts_with('-')
                && word.contains('.')
                && !word.contains('/')
                && !word.ends_with(".py")
                && !command.files.iter().any(|file| file.path == path)
        }
        _ => false,
    };
    let discovers = words.first().is_some_and(|word| word == "discover");
    words.iter().any(chooses) || (!discovers && words.iter().any(|word| names_tests(&word)))
}

/// The words behind the runner's name.
fn own_words(runner: Runner, command: &Command) -> &[String] {
    let name = match runner {
        Runner::Pytest => "pytest",
        Runner::Unittest => "unittest",
        Runner::NodeTest => "node",
        Runner::Jest => "jest",
        Runner::Vitest => "vitest",
        Runner::Mocha => "mocha",
        Runner::Tap => "tap",
        Runner::Tape => "tape",
        Runner::Ava => "ava",
        Runner::Rspec => "rspec",
        Runner::Minitest => "ruby",
        Runner::Bats => "bats",
    };
    let is_name = |word: &String| word.rsplit('/').next().is_some_and(|last| last.starts_with(name));
    match command.words.iter().position(is_name) {
        Some(at) => command.words.get(at + 1..).unwrap_or_default(),
        // A script of a package, whose words are the arguments.
        None => &command.arguments,
    }
}

/// Options that end a run at the first failure, which every run of a counter-run has.
const EARLY_END: [&str; 6] = ["-x", "--exitfirst", "--maxfail", "--failfast", "--bail", "--fail-fast"];

/// The arguments of a run that goes on after a failure, whatever a configuration says.
pub(super) fn without_early_end(runner: Runner, arguments: &[String]) -> Vec<String> {
    let ends = |word: &String| {
        EARLY_END
            .iter()
            .any(|option| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    };
    let mut kept: Vec<String> = arguments.iter().filter(|word| !ends(word)).cloned().collect();
    if runner == Runner::Unittest {
        let is_flags = |word: &str| {
            word.len() > 1
                && word.starts_with('-')
                && word.trim_start_matches(['-', 'b', 'c', 'f', 'q', 'v']).is_empty()
        };
        kept.iter_mut().filter(|word| is_flags(word) && *word != "-c").for_each(|word| *word = word.replace('f', ""));
        kept.retain(|word| word != "-");
    }
    let goes_on = match runner {
        Runner::Pytest => "--maxfail=0",
        Runner::Jest | Runner::Vitest => "--bail=0",
        Runner::Mocha => "--no-bail",
        _ => return kept,
    };
    // Before `--`, and behind the script or the module.
    let at = kept.iter().position(|word| word == "--").unwrap_or(kept.len());
    kept.insert(at, goes_on.to_owned());
    kept
}

/// Words of configurations that say which files have tests.
const FILE_CHOICES: [&str; 16] = [
    "testpaths",
    "python_files",
    "norecursedirs",
    "collect_ignore",
    "--ignore",
    "testMatch",
    "testRegex",
    "testPathIgnorePatterns",
    "roots",
    "projects",
    "include",
    "exclude",
    "workspace",
    "spec",
    "ignore",
    "python_classes",
];

/// Whether the command runs this file: it names the file; or a folder around it or nothing, and the runner finds files of such
/// names where no held configuration says otherwise.
pub(super) fn is_named(runner: Runner, command: &Command, path: &str) -> bool {
    let named = || command.named.iter().map(|word| word.trim_start_matches("./").trim_end_matches('/'));
    if named().any(|named| named == path) {
        return true;
    }
    let is_around =
        |named: &str| matches!(named, "" | ".") || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'));
    let plain = |word: &String| (word.starts_with('-') || word == "run") && !chooses(word);
    let is_in_reach =
        if command.named.is_empty() { own_words(runner, command).iter().all(plain) } else { named().any(is_around) };
    is_in_reach && finds(runner, path) && !chooses_files(command)
}

/// Whether a word of a command or a text of a configuration may say which files have tests.
fn chooses(text: &str) -> bool {
    FILE_CHOICES.iter().any(|choice| text.contains(choice))
}

/// Whether the runner finds files of this name by itself.
fn finds(runner: Runner, path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ends = |extensions: &[&str]| {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        extensions.contains(&extension) && [".test.", ".spec."].iter().any(|part| name.contains(part))
    };
    match runner {
        Runner::Pytest => name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py")),
        // Without `discover`, it looks into packages only.
        Runner::Unittest => folders.is_empty() && name.starts_with("test"),
        Runner::NodeTest => name.contains(".test.") && ends(&["js", "cjs", "mjs"]),
        Runner::Jest => ends(&["js", "jsx"]),
        Runner::Vitest => ends(&["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"]),
        Runner::Mocha => folders == "test" && name.ends_with(".js"),
        Runner::Tap | Runner::Tape | Runner::Ava | Runner::Rspec | Runner::Minitest | Runner::Bats => false,
    }
}

/// Whether a held configuration says which files have tests.
fn chooses_files(command: &Command) -> bool {
    let is_configuration = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.contains("config")
            || name.starts_with(".mocharc")
            || matches!(name, "pytest.ini" | ".pytest.ini" | "pyproject.toml" | "setup.cfg" | "tox.ini" | "conftest.py")
            || name == "package.json"
    };
    let held = command.files.iter().filter(|file| command.held.contains(&file.path) && is_configuration(&file.path));
    // What is too large to be read may say so.
    held.into_iter().any(|file| file.content.here().is_none_or(|text| chooses(&String::from_utf8_lossy(text))))
}
