//! Tests of node:test, jest, vitest and mocha.

mod assertion;
mod body;
mod title;

use std::ops::Range;

use proofmark_checks::{CanaryText, HeldTest, TestFile};

use self::title::Title;
use super::arguments::{of_call, outermost};
use super::strongest;
use crate::token::Kind;
use crate::tokens::Tokens;

/// Functions that make a test, and those that hold tests.
const TESTS: [&str; 3] = ["test", "it", "specify"];
const HOLDERS: [&str; 3] = ["describe", "suite", "context"];
/// What may stand behind their names.
const MARKS: [&str; 8] = ["only", "skip", "todo", "concurrent", "sequential", "each", "failing", "fails"];

pub(crate) fn read(tokens: &Tokens<'_>) -> Option<TestFile> {
    let mut reader = Reader { tokens, found: Vec::new(), callee: None, is_focused: false };
    reader.range(0..tokens.all().len(), &Around::default());
    let Reader { found, callee, is_focused, .. } = reader;
    let callee = callee?;
    let only = if is_focused { ".only" } else { "" };
    let pieces =
        vec![format!(";{callee}{only}('"), "', () => {\n  throw new Error('expected 3 to equal 4');\n});\n".to_owned()];
    // Where some tests are focused, the others do not run.
    let tests = found.into_iter().map(|test| HeldTest { is_certain: test.is_certain && !is_focused, ..test });
    TestFile::new(tokens.source(), tests.collect(), CanaryText { pieces, between: " ", fallback: "values" })
}

/// What stands around a test.
#[derive(Clone, Debug, Default)]
struct Around {
    titles: Vec<String>,
    /// Whether the test may not run.
    is_conditional: bool,
}

struct Reader<'a> {
    tokens: &'a Tokens<'a>,
    found: Vec<HeldTest>,
    /// The function that makes the first test.
    callee: Option<&'a str>,
    is_focused: bool,
}

/// A call of a function that makes a test or holds some.
struct Call {
    is_test: bool,
    is_table: bool,
    is_conditional: bool,
    open: usize,
}

impl<'a> Reader<'a> {
    fn range(&mut self, range: Range<usize>, around: &Around) {
        let mut next = range.start;
        while next < range.end {
            let at = next;
            next = at + 1;
            let Some(token) = self.tokens.get(at) else { return };
            if let (Kind::Name, Some(call)) = (token.kind, self.call(at)) {
                next = self.tokens.get(call.open).and_then(|open| open.partner).map_or(next, |close| close + 1);
                self.called(at, &call, around);
            } else if let (Kind::Open, Some(close)) = (token.kind, token.partner) {
                self.range(at + 1..close, &Around { is_conditional: true, ..around.clone() });
                next = close + 1;
            }
        }
    }

    /// The call that begins with this name.
    fn call(&mut self, at: usize) -> Option<Call> {
        let tokens = self.tokens;
        let name = tokens.text(at);
        let is_test = TESTS.contains(&name);
        let is_member = tokens.before(at).is_some_and(|before| tokens.text(before) == ".");
        if is_member || !(is_test || HOLDERS.contains(&name)) {
            return None;
        }
        let mut call = Call { is_test, is_table: false, is_conditional: false, open: 0 };
        let mut next = tokens.after(at)?;
        while tokens.text(next) == "." {
            let mark = tokens.after(next)?;
            let word = MARKS.iter().find(|word| **word == tokens.text(mark))?;
            call.is_conditional |= *word != "only";
            self.is_focused |= *word == "only";
            next = tokens.after(mark)?;
            if *word == "each" {
                // Behind the table in brackets, or in a template.
                call.is_table = true;
                next = tokens.after(tokens.get(next)?.partner.unwrap_or(next))?;
            }
        }
        call.open = next;
        (tokens.text(next) == "(").then_some(call)
    }

    fn called(&mut self, at: usize, call: &Call, around: &Around) {
        let Some(arguments) = of_call(self.tokens, call.open) else { return };
        let title = arguments.first().and_then(|range| Title(self.tokens).read(range, call.is_table));
        let Some(function) = arguments.iter().rev().find_map(|range| self.body(range)) else { return };
        let is_conditional = around.is_conditional || call.is_conditional;
        if !call.is_test {
            let inner = title.map(|title| title.to_string()).unwrap_or_default();
            let titles = around.titles.iter().cloned().chain([inner]).collect();
            self.range(function, &Around { titles, is_conditional });
            return;
        }
        self.callee.get_or_insert_with(|| self.tokens.text(at));
        let Some(title) = title else { return };
        let body::Reached { certain, looped } = body::Body(self.tokens).assertions(&function);
        self.found.push(HeldTest {
            title,
            around: around.titles.clone(),
            is_certain: !is_conditional && !call.is_table && !self.holds_tests(&function),
            expectation: strongest(certain).or_else(|| strongest(looped)),
        });
    }

    /// Whether a test makes others, as `t.test(…)` does: then those are reported, and it is not.
    fn holds_tests(&self, function: &Range<usize>) -> bool {
        let tokens = self.tokens;
        let is_call = |at: usize| tokens.after(at).is_some_and(|open| tokens.text(open) == "(");
        function.clone().any(|at| TESTS.contains(&tokens.text(at)) && is_call(at))
    }

    /// What a function does: what is between its braces, or behind its arrow.
    fn body(&self, function: &Range<usize>) -> Option<Range<usize>> {
        body::of_function(self.tokens, function)
    }
}

/// The tokens of a range that mean something, outside of its brackets.
fn words(tokens: &Tokens<'_>, range: &Range<usize>) -> Vec<usize> {
    outermost(tokens, range.clone()).collect()
}
