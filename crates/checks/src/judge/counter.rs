//! The two runs of a counter-run: which tests passed as they are written, and would not have passed with a wrong expectation.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::Status;

use super::Fault;
use super::command::{self, Judged, Run};
use crate::command::Command;
use crate::counter::{Alteration, CounterRun, Found, HeldFile, HeldTest, Names, TestAt};
use crate::job::Outcome;
use crate::report::{Excerpts, Reported, Tested};

/// How many tests have which standing, and how many were altered how. A standing is that of a test which passed as it is
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterCounts {
    /// Failed with a wrong expectation.
    pub contradicted: u64,
    /// Passed, or did not run, with a wrong expectation.
    pub unproven: u64,
    /// Nothing in them was altered, so only the canaries contradict them.
    pub untouched: u64,
    /// How many canaries failed in both runs.
    pub canaries: u64,
    /// Of the altered tests those whose expected value, whose expected exception and whose comparison was altered.
    pub by: [u64; 3],
}

impl CounterCounts {
    /// How many tests passed as they are written and ran with a wrong expectation, too.
    pub fn altered(&self) -> u64 {
        self.contradicted + self.unproven
    }
}

/// What became of the two runs.
pub(super) struct Countered {
    pub(super) judged: Judged,
    /// `None` where a run has no report.
    pub(super) counts: Option<CounterCounts>,
}

pub(super) fn judge(command: &Command, counter: &CounterRun, outcomes: [Option<&Outcome>; 2]) -> Countered {
    let [first, second] = &counter.sides;
    let [one, other] = outcomes;
    // Without both reports nothing is contradicted. What a run that has none says is the whole judgment.
    let runs = match (command::run(first, one), command::run(second, other)) {
        (Ok(one), Ok(other)) => [one, other],
        (Err(judged), _) => return unreported(judged, one),
        (_, Err(judged)) => return unreported(judged, other),
    };
    let [mut one, mut other] = runs;
    let contradiction = one.contradiction.take().or(other.contradiction.take());
    let mut merge = Merge::of(counter);
    merge.take(0, one);
    merge.take(1, other);
    let Merged { tests, counts } = merge.finish(command);
    Countered { judged: command::settle(command, tests, contradiction), counts: Some(counts) }
}

/// The judgment of a run without a report.
fn unreported(mut judged: Judged, outcome: Option<&Outcome>) -> Countered {
    let ran = judged.checks.iter_mut().filter(|(fault, _)| *fault != Some(Fault::Verifier));
    for message in ran.filter_map(|(_, check)| check.message.as_mut()) {
        message.push_str(WITH_WRONG);
    }
    Countered { judged: command::timed(judged, outcome), counts: None }
}

/// What such a run has to do with the tests.
const WITH_WRONG: &str =
    "\nhelp: some tests had wrong expectations here; `counter_run: false` runs the held tests as they are";

/// The reports of both runs, by what their names mean.
struct Merge<'a> {
    counter: &'a CounterRun,
    names: Names<'a>,
    /// Groups of tests that a name means, in the order in which the reports have them.
    order: Vec<Key>,
    groups: BTreeMap<Key, [Vec<Reported>; 2]>,
    /// The canaries that each run reports, and whether all reports of one failed.
    canaries: [BTreeMap<usize, bool>; 2],
}

/// What the reports of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Held(Vec<TestAt>),
    /// No held test has this name.
    Other(String),
}

struct Merged {
    tests: Vec<Reported>,
    counts: CounterCounts,
}

impl<'a> Merge<'a> {
    fn of(counter: &'a CounterRun) -> Merge<'a> {
        let canaries = [BTreeMap::new(), BTreeMap::new()];
        Merge { counter, names: Names::of(counter), order: Vec::new(), groups: BTreeMap::new(), canaries }
    }

    fn take(&mut self, side: usize, run: Run) {
        for test in run.tests {
            let key = match self.names.find(&test.name) {
                Found::Canary(file) => {
                    if let Some(canaries) = self.canaries.get_mut(side) {
                        *canaries.entry(file).or_insert(true) &= has_failed(&test);
                    }
                    continue;
                }
                Found::Tests(tests) if tests.is_empty() => Key::Other(test.name.clone()),
                Found::Tests(tests) => Key::Held(tests),
            };
            let order = &mut self.order;
            let group = self.groups.entry(key).or_insert_with_key(|key| {
                order.push(key.clone());
                [Vec::new(), Vec::new()]
            });
            if let Some(reported) = group.get_mut(side) {
                reported.push(test);
            }
        }
    }

    fn finish(mut self, command: &Command) -> Merged {
        let mut merged = Merged { tests: Vec::new(), counts: CounterCounts::default() };
        let mut seen = BTreeSet::new();
        for key in std::mem::take(&mut self.order) {
            let Some(sides) = self.groups.remove(&key) else { continue };
            let held = match &key {
                Key::Held(tests) => tests.as_slice(),
                Key::Other(_) => &[],
            };
            seen.extend(held.iter().copied());
            let tests: Vec<&HeldTest> = held.iter().filter_map(|at| self.test(*at)).collect();
            let group = Group::of(self.counter, &tests, sides);
            merged.tests.extend(group.judge(command, &tests, self.file(held), &mut merged.counts));
        }
        self.missing(&seen, &mut merged);
        self.canaries(&seen, &mut merged);
        merged
    }

    fn test(&self, at: TestAt) -> Option<&'a HeldTest> {
        self.counter.files.get(at.0)?.tests.tests().get(at.1)
    }

    /// The path of the file that all these tests are in.
    fn file(&self, tests: &[TestAt]) -> Option<&'a str> {
        let (file, _) = *tests.first()?;
        let is_one = tests.iter().all(|at| at.0 == file);
        self.counter.files.get(file).filter(|_| is_one).map(|file| file.path.as_str())
    }

    /// Whether the reports have a test of this file, or the command says that it runs.
    fn has_run(&self, file: usize, held: &HeldFile, seen: &BTreeSet<TestAt>) -> bool {
        let has_canary = self.canaries.iter().any(|canaries| canaries.contains_key(&file));
        held.is_named || has_canary || seen.range((file, 0)..(file + 1, 0)).next().is_some()
    }

    /// Adds the tests that run with their file and that no report has. A runner that the submission has changed may leave them out.
    fn missing(&self, seen: &BTreeSet<TestAt>, merged: &mut Merged) {
        for (file, held) in self.counter.files.iter().enumerate() {
            if did_not_load(&merged.tests, held) || !self.has_run(file, held, seen) {
                continue;
            }
            for (index, test) in held.tests.tests().iter().enumerate() {
                if let (true, false, Some(name)) =
                    (test.is_certain, seen.contains(&(file, index)), test.title.literal())
                {
                    let name = format!("{}::{name}", held.path);
                    merged.tests.push(failed(Reported::new(name, Status::Fail), MISSING.to_owned()));
                }
            }
        }
    }

    /// Judges the canaries. Where one did not fail, the reports are not true, and no test counts as passed.
    fn canaries(&self, seen: &BTreeSet<TestAt>, merged: &mut Merged) {
        let mut spoiled = false;
        for (file, held) in self.counter.files.iter().enumerate() {
            let reports: Vec<bool> = self.canaries.iter().filter_map(|canaries| canaries.get(&file).copied()).collect();
            match reports.as_slice() {
                [true, true] => merged.counts.canaries += 1,
                reports if reports.contains(&false) => spoiled = true,
                // A file that does not load has an error of its own.
                _ if did_not_load(&merged.tests, held) => {}
                _ => spoiled |= self.has_run(file, held, seen),
            }
        }
        if !spoiled {
            return;
        }
        for test in &mut merged.tests {
            if test.status == Status::Pass {
                *test = failed(std::mem::replace(test, Reported::new("", Status::Fail)), SPOILED.to_owned());
            }
        }
        merged.counts.unproven += merged.counts.contradicted + merged.counts.untouched;
        merged.counts.contradicted = 0;
        merged.counts.untouched = 0;
        merged.tests.push(failed(Reported::new("canaries", Status::Fail), NO_CANARY.to_owned()));
    }
}

/// The message of a test that a wrong expectation did not make fail.
const UNPROVEN: &str = "also passed with a wrong expectation";
const VANISHED: &str = "it passed as it is written, and was not reported with a wrong expectation";
const SKIPPED: &str = "it passed as it is written, and was skipped with a wrong expectation";
const DIFFERS: &str = "it passed in one of two runs of the same test";
const MISSING: &str = "the held tests have it, and the report does not";
const SPOILED: &str = "the report is not true: a test that cannot pass is missing from it, or did not fail";
const NO_CANARY: &str = "a test that cannot pass is missing from the report, or did not fail";

/// The reports of the same tests from both runs.
struct Group {
    /// As they are written.
    written: Vec<Reported>,
    other: Vec<Reported>,
}

impl Group {
    fn of(counter: &CounterRun, tests: &[&HeldTest], sides: [Vec<Reported>; 2]) -> Group {
        let [first, second] = sides;
        match tests.first().map_or(0, |test| counter.side_of(test)) {
            0 => Group { written: first, other: second },
            _ => Group { written: second, other: first },
        }
    }

    /// The checks of the group: reports of the tests as they are written, of which those are failed that nothing contradicts.
    fn judge(
        self,
        command: &Command,
        tests: &[&HeldTest],
        file: Option<&str>,
        counts: &mut CounterCounts,
    ) -> Vec<Reported> {
        let Group { written, other } = self;
        let expectations: Vec<_> = tests.iter().filter_map(|test| test.expectation.as_ref()).collect();
        // Where a name may mean a test that was altered or one that was not, a pass may be that of the other.
        let is_altered = !tests.is_empty() && expectations.len() == tests.len();
        let is_same_number = written.len() == other.len();
        let mut other = other;
        if !is_same_number {
            // Of subtests, runners report those that failed. What did not fail speaks against the first of the others.
            other.sort_by_key(has_failed);
        }
        if written.is_empty() {
            return other.into_iter().map(|test| only_other(test, is_altered)).collect();
        }
        let mut others = other.into_iter();
        let mut judged = Vec::new();
        for test in written {
            let counterpart = others.next();
            let is_excepted = command.counter_run.except.contains(&test.name);
            if test.status != Status::Pass || test.tested != Tested::Yes {
                judged.push(test);
            } else if is_altered && !is_excepted {
                let place = expectations.iter().map(|expectation| expectation.lines.clone());
                let why = counterpart.map_or(Some(VANISHED.to_owned()), |other| objection(&other, file, place));
                if let Some(count) = expectations.first().and_then(|one| counts.by.get_mut(by(one.alteration))) {
                    *count += 1;
                }
                match why {
                    None => counts.contradicted += 1,
                    Some(_) => counts.unproven += 1,
                }
                judged.push(match why {
                    None => test,
                    Some(why) => failed(test, why),
                });
            } else {
                counts.untouched += 1;
                let agrees = is_excepted
                    || !expectations.is_empty()
                    || (is_same_number && counterpart.is_some_and(|other| passed(&other)));
                judged.push(if agrees { test } else { failed(test, DIFFERS.to_owned()) });
            }
        }
        judged
    }
}

/// The check of a test that only the run has in which it was altered, or that one run has and the other lacks.
fn only_other(test: Reported, is_altered: bool) -> Reported {
    if is_altered {
        failed(test, MISSING.to_owned())
    } else if passed(&test) {
        failed(test, DIFFERS.to_owned())
    } else {
        test
    }
}

fn by(alteration: Alteration) -> usize {
    match alteration {
        Alteration::Value => 0,
        Alteration::Kind => 1,
        Alteration::Inverted => 2,
    }
}

/// Why a report of a test with a wrong expectation does not contradict that it passed.
fn objection(
    other: &Reported,
    file: Option<&str>,
    mut lines: impl Iterator<Item = std::ops::RangeInclusive<usize>>,
) -> Option<String> {
    match (other.status, other.tested) {
        (Status::Pass, Tested::Yes) => return Some(UNPROVEN.to_owned()),
        (_, Tested::Skipped | Tested::Nothing) => return Some(SKIPPED.to_owned()),
        (Status::Fail | Status::Error, Tested::Yes) => {}
    }
    // A place in another file is below the expectation. Another place in the test is not the expectation.
    let (path, line) = other.excerpts.location.as_deref()?.rsplit_once(':')?;
    let line: usize = line.parse().ok()?;
    let is_elsewhere = Some(path) == file && !lines.any(|lines| lines.contains(&line));
    is_elsewhere.then(|| format!("with a wrong expectation, it failed elsewhere, in line {line}"))
}

fn passed(test: &Reported) -> bool {
    test.status == Status::Pass && test.tested == Tested::Yes
}

fn has_failed(test: &Reported) -> bool {
    test.status != Status::Pass && test.tested == Tested::Yes
}

fn failed(test: Reported, message: String) -> Reported {
    let excerpts = Excerpts { message: Some(message), ..Excerpts::default() };
    Reported { status: Status::Fail, tested: Tested::Yes, excerpts, ..test }
}

/// Whether the checks have an error of the file as a whole: its name or its module alone.
fn did_not_load(tests: &[Reported], held: &HeldFile) -> bool {
    let module = held.path.trim_end_matches(".py").replace('/', ".");
    let stem = module.rsplit('.').next().unwrap_or(&module);
    tests.iter().filter(|test| has_failed(test)).any(|test| {
        let name = test.name.trim_start_matches("::");
        name.ends_with(&held.path) || name == module || name.rsplit(['.', ':']).next() == Some(stem)
    })
}
