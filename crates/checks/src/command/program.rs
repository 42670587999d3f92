//! The interpreter that a command starts, and what to write in place of programs that cannot be run.

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};
use proofmark_receipt::json::Json;

use crate::files::Files;
use crate::language::Language;

/// Programs that run a script of `package.json`.
pub(super) const SCRIPT_RUNNERS: [&str; 4] = ["npm", "yarn", "pnpm", "bun"];
/// Programs that run the words after `run`.
const ENVIRONMENT_RUNNERS: [&str; 6] = ["uv", "poetry", "pipenv", "pdm", "hatch", "rye"];
/// Programs of languages that no interpreter here runs.
const COMPILED: [&str; 10] = ["cargo", "go", "rustc", "gcc", "cmake", "mvn", "gradle", "javac", "dotnet", "swift"];
/// Options of npx that change nothing here: without a network it installs nothing.
const NPX_OPTIONS: [&str; 5] = ["--no", "--no-install", "-y", "--yes", "--"];

/// The language a command runs, and the arguments of its interpreter. `files` are those submitted, which tell what a script of
/// `package.json` is.
pub(super) fn interpreter(
    field: &Field<'_>,
    words: &[String],
    files: Option<&Files>,
) -> Result<(Language, Vec<String>), DocumentError> {
    let words = without_npx(words);
    let (program, rest) = words.split_first().map_or(("", words), |(program, rest)| (program.as_str(), rest));
    let Some((language, arguments)) = Language::of_program(program) else {
        let message = format!("`{}` cannot be run", shown(program));
        return Err(field.error(Cause::Unsupported, message).with_help(instead(program, rest, files)));
    };
    Ok((language, arguments.iter().map(ToString::to_string).chain(rest.to_vec()).collect()))
}

/// `npx vitest run` is `vitest run`, without the network by which npx installs what is missing.
fn without_npx(words: &[String]) -> &[String] {
    match words.split_first() {
        Some((first, rest)) if first == "npx" => {
            let options = rest.iter().take_while(|word| NPX_OPTIONS.contains(&word.as_str())).count();
            rest.get(options..)
                .filter(|rest| rest.first().is_some_and(|word| Language::of_program(word).is_some()))
                .unwrap_or(words)
        }
        _ => words,
    }
}

/// What to write instead.
fn instead(program: &str, rest: &[String], files: Option<&Files>) -> String {
    let first = rest.first().map_or("", String::as_str);
    if SCRIPT_RUNNERS.contains(&program) {
        let script = if matches!(first, "run" | "run-script") { rest.get(1).map_or("", String::as_str) } else { first };
        return match files.and_then(|files| script_of(files, script)) {
            Some(line) => format!("write what the script runs: `{}`", shown(&line)),
            None => "write what the script runs, as in `node --test` or `npx vitest run`".to_owned(),
        };
    }
    if ENVIRONMENT_RUNNERS.contains(&program) {
        let after = rest.iter().skip_while(|word| *word != "run").skip(1).cloned().collect::<Vec<_>>().join(" ");
        let example = if after.is_empty() { "pytest -q".to_owned() } else { shown(&after) };
        return format!("write what it runs: `{example}`, with the packages of the Python that `python3` is");
    }
    match program {
        _ if program.contains('=') => "write variables in `env`, as in `env: {PYTHONPATH: src}`".to_owned(),
        "npx" => format!("write the script of the package, as in `node node_modules/.bin/{}`", shown(first)),
        "make" | "just" | "task" | "rake" | "ninja" => {
            "write the command that the rule runs, as in `pytest -q` or `ruby -Itest test/a_test.rb`".to_owned()
        }
        "tox" | "nox" | "coverage" => "write the tests' own runner, as in `pytest -q`".to_owned(),
        _ if COMPILED.contains(&program) => {
            format!("the sandbox has no compilers; the languages are {}", Language::choices())
        }
        _ if program.strip_prefix("python3.").is_some_and(|minor| minor.parse::<u8>().is_ok()) => {
            format!("write `python3`, and `runtime: {program}`")
        }
        _ => format!("begin with {}, as in `[\"bash\", \"run.sh\"]`", Language::programs()),
    }
}

/// The line of a script in the submitted `package.json`. It is only shown: the submission must not choose the command.
fn script_of(files: &Files, script: &str) -> Option<String> {
    let package = Json::parse(files.get("package.json")?.here()?).ok()?;
    package.as_object()?.get("scripts")?.as_object()?.get(script)?.as_str().map(str::to_owned)
}
