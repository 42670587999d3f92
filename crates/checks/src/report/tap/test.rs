//! One line that reports a test, with what stands inside of the test and in its block.

use proofmark_receipt::Status;

use super::super::excerpt::{self, Excerpts, Sources};
use super::super::{INSIDE, Reported, Tested};
use super::notes::Notes;
use crate::caps::MAX_NAME_CHARS;
use crate::job::PROJECT_FOLDER;

/// How long the joined name of a test may become, in bytes: enough for the longest name that a receipt shows.
const MAX_NAME_BYTES: usize = 4 * MAX_NAME_CHARS;

/// What node says of a test that failed only because one that it holds did.
const HELD_FAILED: &str = "subtestsFailed";
/// The error node gives for a file whose process failed, and which says nothing.
const FILE_FAILED: &str = "test failed";
/// What node says of an assertion. Of other errors the type is part of the message.
const ASSERTION: &str = "AssertionError";

/// The length of `SKIP` and of `TODO`.
const WORD: usize = 4;

pub(super) struct Test {
    name: String,
    ok: bool,
    /// `SKIP why` or `TODO why`.
    directive: Option<String>,
    /// The innermost tests inside of it.
    pub(super) holds: Vec<Reported>,
    /// Whether its plan says that it has no tests.
    pub(super) empty: bool,
    pub(super) notes: Notes,
    /// What was printed before it.
    pub(super) printed: String,
    /// Whether the tests that it holds follow in braces.
    pub(super) opens: bool,
    /// Whether node's test runner wrote it.
    pub(super) of_node: bool,
}

impl Test {
    pub(super) fn new(name: String, ok: bool, directive: Option<String>) -> Test {
        let (notes, printed) = (Notes::default(), String::new());
        let (opens, of_node) = (false, false);
        Test { name, ok, directive, holds: Vec::new(), empty: false, notes, printed, opens, of_node }
    }

    /// The innermost tests: those it holds, or itself.
    pub(super) fn finish(mut self, sources: Sources<'_>) -> Vec<Reported> {
        let mut held = std::mem::take(&mut self.holds);
        let failed = held.iter().any(|test| test.status != Status::Pass && test.tested == Tested::Yes);
        let alone = held.is_empty();
        let blamed = self.notes.failure.as_deref().is_some_and(|failure| failure != HELD_FAILED);
        if let Some(directive) = &self.directive {
            held.iter_mut().for_each(|test| test.skip(&reason(directive)));
        }
        if held.iter().any(|test| test.tested == Tested::Yes) {
            // An empty suite beside tests leaves nothing untested.
            held.retain(|test| test.tested != Tested::Nothing);
        }
        held.iter_mut().for_each(|test| self.name_inside(test));
        // A test that failed by itself, as by a hook, is a failure of its own.
        let counts = self.counts_by_itself(&held, sources);
        if alone || counts || (!self.ok && self.directive.is_none() && (blamed || !failed)) {
            held.push(self.reported(sources, alone));
        }
        held
    }

    /// Whether it is a test beside those that it holds: node counts it so, unless it is a suite or a file. One that holds only skipped
    /// tests may have tested nothing.
    fn counts_by_itself(&self, held: &[Reported], sources: Sources<'_>) -> bool {
        let is_file = self.name.starts_with(PROJECT_FOLDER) || sources.has(&self.name);
        self.of_node && !self.notes.is_suite() && !is_file && held.iter().any(|test| test.tested == Tested::Yes)
    }

    fn name_inside(&self, test: &mut Reported) {
        let name =
            self.name.strip_prefix(PROJECT_FOLDER).map_or(self.name.as_str(), |rest| rest.trim_start_matches('/'));
        if test.name.len() + name.len() < MAX_NAME_BYTES {
            test.name = format!("{name}{INSIDE}{}", test.name);
        }
    }

    fn reported(self, sources: Sources<'_>, alone: bool) -> Reported {
        let mut test = Reported::new(self.name, if self.ok { Status::Pass } else { Status::Fail });
        test.elapsed_ms = self.notes.elapsed_ms();
        match (&self.directive, self.ok) {
            (Some(directive), _) => test.skip(&reason(directive)),
            (None, true) if alone && (self.empty || self.notes.is_suite()) => test.no_tests(),
            (None, true) => {}
            (None, false) => test.excerpts = excerpts(self.notes, &self.printed, sources),
        }
        test
    }
}

/// Why a test was skipped, of `SKIP why` or `TODO why`.
fn reason(directive: &str) -> String {
    let (word, why) = directive.split_at_checked(WORD).unwrap_or((directive, ""));
    match (word.eq_ignore_ascii_case("todo"), why.trim()) {
        (true, "") => "to do".to_owned(),
        (true, why) => format!("to do: {why}"),
        (false, why) => why.to_owned(),
    }
}

fn excerpts(notes: Notes, printed: &str, sources: Sources<'_>) -> Excerpts {
    let located = notes.stack.as_deref().and_then(|stack| sources.location(stack));
    let excerpts = Excerpts {
        location: located.or_else(|| sources.location(notes.place.as_deref()?)),
        expected: notes.expected.as_deref().filter(|text| !text.is_empty()).map(str::to_owned),
        difference: notes.difference.clone(),
        actual: notes.actual.as_deref().filter(|text| !text.is_empty()).map(str::to_owned),
        ..Excerpts::default()
    };
    let message = match (notes.message.as_deref(), notes.kind.as_deref()) {
        (Some(FILE_FAILED), _) => return of_a_file(&notes, printed, excerpts, sources),
        (Some(message), Some(kind)) if kind != ASSERTION && !message.starts_with(kind) => format!("{kind}: {message}"),
        (Some(message), _) => message.to_owned(),
        (None, _) => return excerpts,
    };
    excerpts.with_message(&message)
}

/// Why a file failed as a whole: node only prints it.
fn of_a_file(notes: &Notes, printed: &str, excerpts: Excerpts, sources: Sources<'_>) -> Excerpts {
    let message = match (
        printed.lines().find(|line| {
            let (kind, _) = line.split_once(": ").unwrap_or_default();
            let kind = kind.split_once(" [").map_or(kind, |(kind, _)| kind);
            kind.ends_with("Error") && kind.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))
        }),
        notes.exit_code.as_deref(),
    ) {
        (Some(error), _) => error.to_owned(),
        (None, Some(status)) if status.parse::<u32>().is_ok() => {
            format!("the file ended with exit status {status} before its tests were done")
        }
        (None, _) => FILE_FAILED.to_owned(),
    };
    Excerpts {
        message: Some(message),
        location: sources.location(printed).or(excerpts.location),
        stderr: excerpt::output(printed),
        ..Excerpts::default()
    }
}
