//! What a script of `package.json` runs, where that is one known test runner.

use std::collections::BTreeMap;

use proofmark_receipt::json::{Json, Object};

use super::program::SCRIPT_RUNNERS;
use crate::language::Language;
use crate::reporting::positional;

/// How often a script may name another.
const MAX_DEPTH: usize = 4;
/// The longest line of a script that is read, in bytes.
const MAX_LINE_BYTES: usize = 4 << 10;
/// Programs before a runner that measure it, or set its variables.
const WRAPPERS: [&str; 6] = ["c8", "cross-env", "env", "npx", "nyc", "time"];
/// Test runners by the first word of their command. `node` and `tsx` are runners with `--test`.
const RUNNERS: [&str; 7] = ["ava", "jest", "mocha", "tap", "tape", "uvu", "vitest"];
/// A program that runs files with the test runner of Node.js.
const BORP: &str = "borp";
/// Its options that take a value and choose no files.
const BORP_VALUED: [&str; 14] = [
    "-P",
    "-X",
    "-c",
    "-r",
    "-t",
    "--branches",
    "--concurrency",
    "--coverage-exclude",
    "--functions",
    "--lines",
    "--post-compile",
    "--reporter",
    "--statements",
    "--timeout",
];
/// The files that it runs where it is given none.
const BORP_FILES: &str = "**/*.test.{js,mjs,cjs}";
/// Packages whose tests print TAP when `node` runs them as programs.
const PRINT_TAP: [&str; 2] = ["tape", "tap"];

/// The command of a script, and what of the script it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The words of the command, without a shell, wrappers and variables.
    pub command: Vec<String>,
    /// The variables that the script sets for it.
    pub env: BTreeMap<String, String>,
    /// The field `report` that it needs, where its program is not known to report.
    pub report: Option<&'static str>,
    /// The other parts of the script, as linters, which do not run.
    pub left_out: Vec<String>,
}

impl Script {
    /// The command that a package manager would run for these words, as in `npm test`, by the owner's `package.json`. `None`
    /// where the words name no script, or its line no test runner.
    pub fn of(words: &[String], package: &Json) -> Option<Script> {
        let (program, rest) = words.split_first()?;
        if !SCRIPT_RUNNERS.contains(&program.as_str()) {
            return None;
        }
        let run = usize::from(rest.first().is_some_and(|word| matches!(word.as_str(), "run" | "run-script")));
        let (name, rest) = rest.get(run..)?.split_first()?;
        let name = if matches!(name.as_str(), "t" | "tst") { "test" } else { name.as_str() };
        let mut script = find(package.as_object()?, name, MAX_DEPTH)?;
        script.command.extend(rest.iter().filter(|word| *word != "--").cloned());
        Some(script)
    }
}

fn find(package: &Object, name: &str, depth: usize) -> Option<Script> {
    let line = package.get("scripts")?.as_object()?.get(name)?.as_str().filter(|line| line.len() <= MAX_LINE_BYTES)?;
    let parts = parts(line);
    let scripts: Vec<Option<Script>> = parts.iter().map(|part| part_script(package, part, depth)).collect();
    // A runner before a file that node runs as a program.
    let runner = scripts.iter().position(|script| script.as_ref().is_some_and(|script| is_runner(&script.command)));
    let chosen = runner.or_else(|| scripts.iter().position(Option::is_some))?;
    let others = parts.iter().enumerate().filter(|(index, _)| *index != chosen).map(|(_, part)| part.join(" "));
    let mut script = scripts.into_iter().nth(chosen)??;
    script.left_out.extend(others);
    Some(script)
}

/// What one part of a line runs: a runner, a program of node, or another script.
fn part_script(package: &Object, part: &[String], depth: usize) -> Option<Script> {
    let mut script = Script::default();
    let mut words = part;
    loop {
        let (first, rest) = words.split_first()?;
        if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
            script.env.insert(name.to_owned(), value.to_owned());
            words = rest;
        } else if WRAPPERS.contains(&program(first)) {
            // The options of a wrapper end where a variable or a program begins.
            let starts = |word: &String| {
                word.split_once('=').is_some_and(|(name, _)| is_name(name))
                    || Language::of_program(program(word)).is_some()
                    || SCRIPT_RUNNERS.contains(&word.as_str())
                    || program(word) == BORP
            };
            words = rest.get(rest.iter().position(starts)?..)?;
        } else {
            break;
        }
    }
    let (first, rest) = words.split_first()?;
    if SCRIPT_RUNNERS.contains(&first.as_str()) {
        let run = usize::from(rest.first().is_some_and(|word| matches!(word.as_str(), "run" | "run-script")));
        let inner = find(package, rest.get(run)?, depth.checked_sub(1)?)?;
        script.env.extend(inner.env);
        return Some(Script { env: script.env, ..inner });
    }
    if program(first) == BORP {
        script.command = of_borp(rest)?;
        return Some(script);
    }
    script.command = [&[program(first).to_owned()], rest].concat();
    if !is_runner(&script.command) {
        script.report = Some("stdout:tap").filter(|_| has_package(package, &PRINT_TAP));
        // A program that builds or lints is none that tests.
        let is_test = rest.first().is_some_and(|file| program(first) == "node" && file.contains("test"));
        return is_test.then_some(script);
    }
    Some(script)
}

/// What `borp` runs with these arguments. `None` where it chooses files in other ways than by naming them.
fn of_borp(arguments: &[String]) -> Option<Vec<String>> {
    const CHOOSING: [&str; 6] = ["-i", "--ignore", "-p", "--pattern", "-o", "--only"];
    let name = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
    if arguments.iter().any(|word| CHOOSING.contains(&name(word).as_str())) {
        return None;
    }
    let mut command = vec!["node".to_owned()];
    command.extend(arguments.iter().filter(|word| *word == "--expose-gc").cloned());
    command.push("--test".to_owned());
    let files: Vec<String> = positional(arguments, &BORP_VALUED).cloned().collect();
    command.extend(if files.is_empty() { vec![BORP_FILES.to_owned()] } else { files });
    Some(command)
}

/// The name of a program that may be written with the folder of installed ones.
fn program(word: &str) -> &str {
    word.strip_prefix("./").unwrap_or(word).strip_prefix("node_modules/.bin/").unwrap_or(word)
}

fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_runner(command: &[String]) -> bool {
    let Some((program, rest)) = command.split_first() else { return false };
    match program.as_str() {
        "node" | "tsx" => rest.iter().any(|word| word == "--test"),
        other => RUNNERS.contains(&other),
    }
}

/// Whether the package depends on one of these.
fn has_package(package: &Object, names: &[&str]) -> bool {
    let lists = ["devDependencies", "dependencies"].into_iter().filter_map(|list| package.get(list)?.as_object());
    lists.into_iter().any(|list| names.iter().any(|name| list.get(name).is_some()))
}

/// The commands of a line, which `&&`, `||`, `;` or `&` separate, each without what follows a pipe. One that needs more of a shell, such as
/// a variable or a redirection, has no words.
fn parts(line: &str) -> Vec<Vec<String>> {
    let mut parts = Vec::new();
    let mut part = Part::default();
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match (part.quote, char) {
            (Some(quote), char) if char == quote => part.quote = None,
            (Some('"') | None, '$' | '`' | '\\') | (None, '<' | '>' | '(' | ')') => part.needs_shell = true,
            (Some(_), char) => part.push(char),
            (None, '\'' | '"') => {
                part.quote = Some(char);
                part.word.get_or_insert_default();
            }
            (None, '|') if chars.peek() != Some(&'|') => {
                part.end_word();
                part.piped = true;
            }
            (None, '&' | ';' | '|') => {
                chars.next_if_eq(&char);
                parts.push(std::mem::take(&mut part).finish());
            }
            (None, char) if char.is_whitespace() => part.end_word(),
            (None, char) => part.push(char),
        }
    }
    parts.push(part.finish());
    parts.retain(|part| !part.is_empty());
    parts
}

/// A command that is being read.
#[derive(Default)]
struct Part {
    words: Vec<String>,
    word: Option<String>,
    quote: Option<char>,
    /// Whether the rest reads what this one prints.
    piped: bool,
    needs_shell: bool,
}

impl Part {
    fn push(&mut self, char: char) {
        self.word.get_or_insert_default().push(char);
    }

    fn end_word(&mut self) {
        let word = self.word.take();
        self.words.extend(word.filter(|_| !self.piped));
    }

    fn finish(mut self) -> Vec<String> {
        self.end_word();
        if self.needs_shell || self.quote.is_some() { Vec::new() } else { self.words }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn package(scripts: &[(&str, &str)], dependency: &str) -> Json {
        let mut object = Object::new();
        scripts.iter().for_each(|(name, line)| drop(object.insert(*name, *line)));
        let mut dependencies = Object::new();
        dependencies.insert(dependency, "1");
        let mut package = Object::new();
        package.insert("scripts", object);
        package.insert("devDependencies", dependencies);
        package.into()
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_runner_of_a_script_is_found() {
        for (line, command) in [
            ("vitest run", "vitest run"),
            ("node --test", "node --test"),
            ("tsx --test test/*.ts", "tsx --test test/*.ts"),
            (
                "npm run lint && nyc --reporter lcov mocha -r ts-node/register 'test/**/*.js'",
                "mocha -r ts-node/register test/**/*.js",
            ),
            ("tape test/*.js | tap-spec && eslint .", "tape test/*.js"),
            ("c8 ava", "ava"),
            ("./node_modules/.bin/jest --ci", "jest --ci"),
            ("eslint . ; tap", "tap"),
            ("npm run unit", "uvu -r esm tests"),
            ("npm run lint && nyc --reporter lcov npm run unit", "uvu -r esm tests"),
            ("node test/index.js", "node test/index.js"),
            ("standard | snazzy && borp --check-coverage 'test/*.test.js' && tsd", "node --test test/*.test.js"),
            ("borp --timeout=1 -c 4 --expose-gc a.test.js", "node --expose-gc --test a.test.js"),
            ("c8 borp", "node --test **/*.test.{js,mjs,cjs}"),
            ("node build.js && node test.js && mocha", "mocha"),
        ] {
            let package = package(&[("test", line), ("unit", "uvu -r esm tests")], "x");
            let script = Script::of(&words("npm test"), &package).unwrap();
            assert_eq!(script.command, words(command), "{line}");
        }
        let package = package(&[("test", "cross-env NODE_ENV=test TZ=UTC mocha")], "x");
        let script = Script::of(&words("pnpm run test -- --bail"), &package).unwrap();
        assert_eq!(script.command, words("mocha --bail"));
        assert_eq!(
            script.env,
            BTreeMap::from([("NODE_ENV", "test"), ("TZ", "UTC")].map(|(a, b)| (a.to_owned(), b.to_owned())))
        );
    }

    #[test]
    fn what_is_left_out_and_what_prints_tap_is_said() {
        let linted = package(&[("test", "standard && tape test.js && tsc")], "tape");
        let script = Script::of(&words("yarn test"), &linted).unwrap();
        assert_eq!((script.left_out, script.report), (vec!["standard".to_owned(), "tsc".to_owned()], None));
        let plain = Script::of(&words("npm t"), &package(&[("test", "node test/all.js")], "tape")).unwrap();
        assert_eq!(plain.report, Some("stdout:tap"));
    }

    #[test]
    fn a_script_without_a_known_runner_is_none() {
        for line in [
            "eslint .",
            "make test",
            "mocha $FILES",
            "(mocha)",
            "mocha > out",
            "mocha 'x",
            "",
            "npm test",
            "echo no && exit 1",
            "node build.js",
            "borp -i test/fixtures",
        ] {
            assert_eq!(Script::of(&words("npm test"), &package(&[("test", line)], "x")), None, "{line}");
        }
        let mocha = package(&[("test", "mocha")], "x");
        for command in ["npm", "npm install", "mocha", "npm run other"] {
            assert_eq!(Script::of(&words(command), &mocha), None, "{command}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in "[ a-z'\"&|;$=*<-]{0,60}", name in "test|npm|x") {
            let package = package(&[("test", &line), ("npm", &line), ("x", "npm run test && npm run x")], "tap");
            let found = Script::of(&words(&format!("npm run {name}")), &package);
            prop_assert!(found.is_none_or(|script| !script.command.is_empty()));
        }
    }
}
