//! Which held test a name of a report means.

use std::collections::BTreeMap;

use super::held::spaced;
use super::{CounterRun, HeldFile};
use crate::reporting::Runner;

/// What stands between the parts of a test's name in reports.
const BETWEEN: [&str; 2] = [" > ", "::"];

/// A held test: the index of its file, and its own in the file.
pub(crate) type TestAt = (usize, usize);

/// What a name of a report means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The canary of this file.
    Canary(usize),
    /// These tests, which the name does not tell apart; none where no held file has one of the name.
    Tests(Vec<TestAt>),
}

/// The tests and canaries of held files by their names.
pub(crate) struct Names<'a> {
    files: &'a [HeldFile],
    is_python: bool,
    canaries: BTreeMap<&'a str, usize>,
    literal: BTreeMap<String, Vec<TestAt>>,
    patterns: Vec<TestAt>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(run: &'a CounterRun) -> Names<'a> {
        let mut literal: BTreeMap<String, Vec<TestAt>> = BTreeMap::new();
        let mut patterns = Vec::new();
        for (file, held) in run.files.iter().enumerate() {
            for (index, test) in held.tests.tests().iter().enumerate() {
                match test.title.literal() {
                    Some(name) => literal.entry(name.to_owned()).or_default().push((file, index)),
                    None => patterns.push((file, index)),
                }
            }
        }
        let canaries = run.files.iter().enumerate().map(|(file, held)| (held.canary.as_str(), file)).collect();
        let is_python = run.sides.iter().any(|side| matches!(side.runner, Some(Runner::Pytest | Runner::Unittest)));
        Names { files: &run.files, is_python, canaries, literal, patterns }
    }

    /// What the name that a report has of a test means.
    pub(crate) fn find(&self, reported: &str) -> Found {
        let reported = &spaced(reported.trim());
        let ends = if self.is_python { vec![python_name(reported)] } else { ends(reported) };
        if let Some(file) = ends.iter().find_map(|end| self.canaries.get(end)) {
            return Found::Canary(*file);
        }
        let by_name = ends.iter().find_map(|end| self.literal.get(*end)).cloned();
        let found = by_name.unwrap_or_else(|| {
            let matches = |at: &&TestAt| {
                let title = self.files.get(at.0).and_then(|file| file.tests.tests().get(at.1)).map(|test| &test.title);
                title.is_some_and(|title| ends.iter().any(|end| title.matches(end)))
            };
            self.patterns.iter().filter(matches).copied().collect()
        });
        Found::Tests(self.nearest(found, reported))
    }

    /// Those of the tests whose files and surroundings fit the name best.
    fn nearest(&self, found: Vec<TestAt>, reported: &str) -> Vec<TestAt> {
        if found.len() < 2 {
            return found;
        }
        let fits: Vec<usize> = found.iter().map(|at| self.fit(*at, reported)).collect();
        let best = fits.iter().copied().max().unwrap_or(0);
        found.into_iter().zip(fits).filter(|(_, fit)| *fit == best).map(|(at, _)| at).collect()
    }

    /// How many parts of the test's place the name has. A file counts more than what is in it.
    fn fit(&self, at: TestAt, reported: &str) -> usize {
        let Some(file) = self.files.get(at.0) else { return 0 };
        let module = file.path.trim_end_matches(".py").replace('/', ".");
        let stem = module.rsplit('.').next().unwrap_or(&module);
        let names_stem = || self.is_python && reported.split(['.', ':', '/']).any(|part| part == stem);
        let of_file = if reported.contains(&file.path) || reported.contains(&module) {
            64
        } else if names_stem() {
            32
        } else {
            0
        };
        let around = file.tests.tests().get(at.1).map(|test| test.around.as_slice()).unwrap_or_default();
        let is_part = |part: &str| reported.split(['.', ':', '[']).any(|one| one == part);
        let has = |part: &&String| {
            let is_within = if self.is_python { is_part(part) } else { reported.contains(&spaced(part)) };
            is_within && !part.is_empty()
        };
        of_file + around.iter().filter(has).count().min(31)
    }
}

/// The name of a function: without the module and the class, the parameters of pytest, and what unittest says of a subtest.
fn python_name(reported: &str) -> &str {
    let whole = reported.split('[').next().unwrap_or(reported);
    let within = whole.rsplit("::").next().unwrap_or(whole);
    let function = within.split([' ', '(']).next().unwrap_or(within);
    function.rsplit('.').next().unwrap_or(function)
}

/// All that a name may end with, the longest first: a title may have the marks that stand between titles.
fn ends(reported: &str) -> Vec<&str> {
    let mut starts = vec![0];
    for mark in BETWEEN {
        starts.extend(reported.match_indices(mark).map(|(at, _)| at + mark.len()));
    }
    starts.sort_unstable();
    starts.into_iter().filter_map(|start| reported.get(start..)).collect()
}
