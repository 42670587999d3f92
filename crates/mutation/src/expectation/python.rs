//! Tests of pytest and unittest.

mod assertion;

use std::ops::Range;

use proofmark_checks::{CanaryText, Expectation, HeldTest, TestFile, Title};

use self::assertion::Assertion;
use super::arguments::{outermost, trimmed};
use super::strongest;
use crate::token::Kind;
use crate::tokens::{LogicalLine, Tokens};

/// What the names of tests begin with.
const TEST: &str = "test";

pub(crate) fn read(tokens: &Tokens<'_>) -> Option<TestFile> {
    let mut reader = Reader { tokens, lines: tokens.logical_lines(), found: Vec::new() };
    let all = 0..reader.lines.len();
    reader.block(all, &Around::default());
    let has_cases = reader.found.iter().any(|found| found.is_case);
    // These choose tests by code.
    let chooses = ["load_tests", "__test__", "pytest_generate_tests"].iter().any(|word| tokens.source().contains(word));
    let canary = canary(&reader.found);
    let tests = reader.found.into_iter().map(|Found { test, is_case }| HeldTest {
        // unittest runs no functions outside of its classes.
        is_certain: test.is_certain && !chooses && is_case == has_cases,
        ..test
    });
    TestFile::new(tokens.source(), tests.collect(), canary)
}

/// A canary that stands beside the tests: a method of the last class of unittest; else a function, where there are functions,
/// or a method of the last class.
fn canary(found: &[Found]) -> CanaryText {
    let class = |is_wanted: &dyn Fn(&Found) -> bool| {
        let outer = found.iter().filter(|found| found.test.around.len() == 1 && is_wanted(found));
        outer.filter_map(|found| found.test.around.first()).next_back()
    };
    let has_functions = found.iter().any(|found| found.test.around.is_empty());
    let class = class(&|found| found.is_case).or_else(|| class(&|_| !has_functions));
    let pieces = match class {
        // The class may be gone by the end of the file.
        Some(class) => vec![
            format!("if '{class}' in globals():\n    def "),
            format!("(self):\n        assert 3 == 4\n    {class}."),
            " = ".to_owned(),
            "\n    del ".to_owned(),
            "\n".to_owned(),
        ],
        None => vec!["def ".to_owned(), "():\n    assert 3 == 4\n".to_owned()],
    };
    CanaryText { pieces, between: "_", fallback: "test_values" }
}

/// A test, and whether it is a method of a class of unittest.
struct Found {
    test: HeldTest,
    is_case: bool,
}

/// What stands around a block.
#[derive(Clone, Debug, Default)]
struct Around {
    classes: Vec<String>,
    /// Whether a class of unittest is the innermost.
    is_case: bool,
    /// Whether what stands there may not run.
    is_conditional: bool,
}

struct Reader<'a> {
    tokens: &'a Tokens<'a>,
    lines: Vec<LogicalLine>,
    found: Vec<Found>,
}

impl Reader<'_> {
    /// Finds the tests in these lines.
    fn block(&mut self, lines: Range<usize>, around: &Around) {
        let mut next = lines.start;
        let mut is_fixture = false;
        while next < lines.end {
            let at = next;
            next = self.end(at, lines.end);
            let body = at + 1..next;
            match self.words(at).as_slice() {
                ["@", ..] => {
                    is_fixture |= self.text(at).contains("fixture");
                    continue;
                }
                ["def", name, ..] | ["async", "def", name, ..] if name.starts_with(TEST) && !is_fixture => {
                    let name = (*name).to_owned();
                    self.test(&name, at, body, around);
                }
                ["class", name, ..] => {
                    let inner = self.class(name, at, around);
                    self.block(body, &inner);
                }
                ["def" | "async", ..] => {}
                _ => self.block(body, &Around { is_conditional: true, ..around.clone() }),
            }
            is_fixture = false;
        }
    }

    /// What stands around the body of a class.
    fn class(&self, name: &str, at: usize, around: &Around) -> Around {
        let is_case = self.text(at).contains("TestCase");
        let is_collected = is_case || (name.starts_with("Test") && !self.text(at).contains('('));
        let classes = around.classes.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>();
        let is_conditional = around.is_conditional || !is_collected || classes.len() > 1;
        Around { classes, is_case, is_conditional }
    }

    fn test(&mut self, name: &str, at: usize, body: Range<usize>, around: &Around) {
        let mut statements = Vec::new();
        match self.inline_body(at) {
            Some(inline) => self.simple(inline, &mut statements),
            None => drop(self.statements(body, &mut statements)),
        }
        let (certain, looped): (Vec<Statement>, Vec<Statement>) =
            statements.into_iter().partition(|one| one.is_certain);
        let found = |statements: Vec<Statement>| strongest(statements.into_iter().map(|one| one.expectation).collect());
        let test = HeldTest {
            title: Title::of_pieces(vec![name.to_owned()]),
            around: around.classes.clone(),
            is_certain: !around.is_conditional,
            expectation: found(certain).or_else(|| found(looped)),
        };
        self.found.push(Found { test, is_case: around.is_case });
    }

    /// Finds the assertions that every path through these lines reaches; says whether it goes on behind them.
    fn statements(&self, lines: Range<usize>, found: &mut Vec<Statement>) -> bool {
        let mut next = lines.start;
        while next < lines.end {
            let at = next;
            next = self.end(at, lines.end);
            let body = at + 1..next;
            match self.words(at).as_slice() {
                ["with", ..] | ["async", "with", ..] => match Assertion(self.tokens).of_with(self.whole(at, next)) {
                    Some(expectation) => found.push(Statement { expectation, is_certain: true }),
                    None if Assertion(self.tokens).is_raising(&self.range(at)) => {}
                    None if !self.statements(body, found) => return false,
                    None => {}
                },
                ["for", ..] | ["async", "for", ..] => {
                    let mut inner = Vec::new();
                    self.statements(body.clone(), &mut inner);
                    found.extend(inner.into_iter().map(|one| Statement { is_certain: false, ..one }));
                    if self.returns(body) {
                        return false;
                    }
                }
                ["def" | "class" | "async" | "@", ..] => {}
                ["return", ..] => return false,
                _ if body.is_empty() => self.simple(self.range(at), found),
                _ if self.returns(at..next) => return false,
                _ => {}
            }
        }
        true
    }

    /// Whether one of these lines leaves the function.
    fn returns(&self, lines: Range<usize>) -> bool {
        lines.into_iter().any(|line| self.range(line).any(|index| self.tokens.text(index) == "return"))
    }

    /// The assertions of one line without a block.
    fn simple(&self, line: Range<usize>, found: &mut Vec<Statement>) {
        let mut start = line.start;
        let ends: Vec<usize> =
            outermost(self.tokens, line.clone()).filter(|index| self.tokens.text(*index) == ";").collect();
        for end in ends.into_iter().chain([line.end]) {
            let statement = trimmed(self.tokens, start..end);
            found.extend(
                Assertion(self.tokens)
                    .of_statement(&statement)
                    .map(|expectation| Statement { expectation, is_certain: true }),
            );
            start = end + 1;
        }
    }

    /// What stands behind the colon of a function that is one line.
    fn inline_body(&self, at: usize) -> Option<Range<usize>> {
        let range = self.range(at);
        let colon = outermost(self.tokens, range.clone()).find(|index| self.tokens.text(*index) == ":")?;
        Some(trimmed(self.tokens, colon + 1..range.end)).filter(|body| !body.is_empty())
    }

    /// The line after those that belong to this one.
    fn end(&self, at: usize, limit: usize) -> usize {
        let indent = self.lines.get(at).map_or(0, |line| line.indent);
        let rest = self.lines.get(at + 1..limit).unwrap_or_default();
        at + 1 + rest.iter().take_while(|line| line.indent > indent).count()
    }

    fn range(&self, at: usize) -> Range<usize> {
        let range = self.lines.get(at).map(|line| line.tokens.clone()).unwrap_or_default();
        trimmed(self.tokens, range)
    }

    /// The tokens of these lines.
    fn whole(&self, at: usize, end: usize) -> (Range<usize>, Range<usize>) {
        let head = self.range(at);
        let last = end.checked_sub(1).map_or(head.end, |last| self.range(last).end);
        (head.clone(), head.start..last.max(head.end))
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.text_of(self.range(at))
    }

    /// The first words of a line.
    fn words(&self, at: usize) -> Vec<&str> {
        let range = self.range(at);
        let meant = range.filter(|index| {
            self.tokens.get(*index).is_some_and(|token| !token.kind.is_blank() && token.kind != Kind::Newline)
        });
        meant.take(3).map(|index| self.tokens.text(index)).collect()
    }
}

/// An assertion.
struct Statement {
    expectation: Expectation,
    /// Whether it is in no loop, which may have no rounds.
    is_certain: bool,
}
