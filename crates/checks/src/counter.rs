//! Counter-runs: held tests, of which each runs once as it is written and once with a wrong expectation.
//!
//! The tests of a project share a process with the submission, which can make their runner say anything. But it does not know
//! which expectations are wrong. There are two runs. A secret drawn for each verification decides in which of them a test is as
//! it is written, so both runs have right and wrong expectations, and neither looks like the true one. A test counts as passed
//! only if it passes as it is written and fails, at its expectation, with a wrong one. In both runs each file also has a
//! canary, a test that cannot pass.

mod held;
mod names;
mod options;

use proofmark_receipt::Sha256Digest;

use crate::command::Command;
use crate::job::ProjectFile;
use crate::language::Language;
use crate::reporting::{Report, Runner};
use crate::request::{Checks, Request};

pub use held::{Alteration, CanaryText, Edit, Expectation, HeldTest, TestFile, Title};
pub(crate) use names::{Found, Names, TestAt};

/// The words of a canary's name behind that of its neighbour.
const CANARY_WORDS: [&str; 6] = ["again", "twice", "also", "more", "other", "too"];

/// Finds the tests in a text of this language; none where it has none, or cannot be read.
pub type ReadTests = dyn Fn(&str, Language) -> Option<TestFile>;

/// Why held tests do not run a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCounterRun {
    /// The request says `counter_run: false`.
    #[error("turned off")]
    TurnedOff,
    /// The tests are the submission's own.
    #[error("no tests are held")]
    NothingHeld,
    /// The command is not that of a runner whose tests can be altered.
    #[error("the runner is not known")]
    UnknownRunner,
    /// The results are not those of single tests.
    #[error("no report names the tests")]
    NoReport,
    /// Tests are chosen by their names, so a canary does not run.
    #[error("the command chooses tests by name")]
    ChosenByName,
    /// No test was found in the held files.
    #[error("no held file has tests that can be altered")]
    NothingToAlter,
    /// With the altered tests, the project does not fit.
    #[error("the command cannot run")]
    Unusable,
}

/// The two runs of a counter-run.
#[derive(Clone, Debug)]
pub struct CounterRun {
    /// Each the command of the request, with half of the held tests altered.
    pub(crate) sides: [Command; 2],
    pub(crate) files: Vec<HeldFile>,
    secret: [u8; 32],
}

/// A held file with tests.
#[derive(Clone, Debug)]
pub(crate) struct HeldFile {
    pub(crate) path: String,
    pub(crate) tests: TestFile,
    /// The name of its canary.
    pub(crate) canary: String,
    /// Whether the command runs it, as far as its words and its name tell.
    pub(crate) is_named: bool,
}

impl Request {
    /// Alters the held tests of a command, which `read` finds in a text of this language. `secret` is random, and nobody else
    /// has it: it decides in which run each test is as it is written. None for a request without a command.
    pub fn counter_run(&self, secret: [u8; 32], read: &ReadTests) -> Option<Result<CounterRun, NoCounterRun>> {
        let Checks::Command(command) = &self.checks else { return None };
        Some(CounterRun::of(command, secret, read))
    }
}

impl CounterRun {
    fn of(command: &Command, secret: [u8; 32], read: &ReadTests) -> Result<CounterRun, NoCounterRun> {
        if command.counter_run.asked == Some(false) {
            return Err(NoCounterRun::TurnedOff);
        }
        if command.unusable.is_some() {
            return Err(NoCounterRun::Unusable);
        }
        if command.held.is_empty() {
            return Err(NoCounterRun::NothingHeld);
        }
        let is_known = |runner: &Runner| Language::ALL.iter().any(|language| language.has_tests_of(*runner));
        let runner = command.runner.filter(is_known).ok_or(NoCounterRun::UnknownRunner)?;
        if command.report == Report::ExitStatus {
            return Err(NoCounterRun::NoReport);
        }
        if options::chooses_by_name(runner, command) {
            return Err(NoCounterRun::ChosenByName);
        }
        let mut draw = Draw { secret, drawn: 0 };
        let held = command.files.iter().filter(|file| command.held.contains(&file.path));
        let mut files: Vec<HeldFile> = held.filter_map(|file| HeldFile::read(file, command, read)).collect();
        for index in 0..files.len() {
            let name = canary(&files, index, &mut draw);
            files.get_mut(index).into_iter().for_each(|file| file.canary.clone_from(&name));
        }
        if files.is_empty() {
            return Err(NoCounterRun::NothingToAlter);
        }
        let side = |side| Command {
            files: altered(&command.files, &files, &|test| secret_side(&secret, test) == side),
            arguments: options::without_early_end(runner, &command.arguments),
            ..command.clone()
        };
        Ok(CounterRun { sides: [side(1), side(0)], files, secret })
    }

    /// The run, 0 or 1, in which a test is as it is written.
    pub(crate) fn side_of(&self, test: &HeldTest) -> usize {
        secret_side(&self.secret, test)
    }
}

/// Tests of one name are as written in the same run, so a report that lacks their files does not confuse them.
fn secret_side(secret: &[u8; 32], test: &HeldTest) -> usize {
    let drawn = Sha256Digest::of(&[secret.as_slice(), b"side", test.title.to_string().as_bytes()].concat());
    usize::from(drawn.as_bytes().first().is_some_and(|byte| byte & 1 == 1))
}

/// The files with the held tests that `is_wrong` names altered.
fn altered(all: &[ProjectFile], held: &[HeldFile], is_wrong: &dyn Fn(&HeldTest) -> bool) -> Vec<ProjectFile> {
    let content = |file: &ProjectFile| match held.iter().find(|held| held.path == file.path) {
        Some(held) => held.tests.write(is_wrong, &held.canary).into_bytes().into(),
        None => file.content.clone(),
    };
    all.iter().map(|file| ProjectFile { path: file.path.clone(), content: content(file) }).collect()
}

impl HeldFile {
    /// The file, if it has tests; its canary has no name yet.
    fn read(file: &ProjectFile, command: &Command, read: &ReadTests) -> Option<HeldFile> {
        let runner = command.runner?;
        let tests = read(str::from_utf8(file.content.here()?).ok()?, Language::of_test_file(&file.path, runner)?)?;
        let is_named = options::is_named(runner, command, &file.path);
        Some(HeldFile { path: file.path.clone(), tests, canary: String::new(), is_named })
    }
}

/// A name like that of a test of the file, which no test of any file has, and no other canary.
fn canary(files: &[HeldFile], index: usize, draw: &mut Draw) -> String {
    let Some(file) = files.get(index) else { return String::new() };
    let CanaryText { between, fallback, .. } = file.tests.canary();
    let is_plain = |name: &&str| name.chars().all(|char| char.is_ascii_alphanumeric() || "_ ,.:+-".contains(char));
    let titles = file.tests.tests().iter().filter_map(|test| test.title.literal());
    let names: Vec<&str> = titles.filter(is_plain).collect();
    let neighbour = names.get(draw.below(names.len())).unwrap_or(fallback);
    let first = draw.below(CANARY_WORDS.len());
    let words = CANARY_WORDS.iter().cycle().skip(first).take(CANARY_WORDS.len());
    let one = words.map(|word| format!("{neighbour}{between}{word}"));
    let numbered = (2..).map(|number| format!("{neighbour}{between}{number}"));
    let is_taken = |name: &String| {
        files.iter().any(|file| file.canary == *name || file.tests.tests().iter().any(|test| test.title.matches(name)))
    };
    one.chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Numbers drawn from the secret.
struct Draw {
    secret: [u8; 32],
    drawn: u64,
}

impl Draw {
    /// A number below `count`, which is small against 2⁶⁴.
    fn below(&mut self, count: usize) -> usize {
        self.drawn += 1;
        let drawn = Sha256Digest::of(&[self.secret.as_slice(), b"draw", &self.drawn.to_be_bytes()].concat());
        let number = drawn.as_bytes().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        usize::try_from(number % (count.max(1) as u64)).unwrap_or(0)
    }
}
