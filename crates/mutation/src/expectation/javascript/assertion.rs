//! The assertions of `expect`, as jest, vitest and chai have it, and of `assert`, as node and chai have it.

use std::ops::Range;

use proofmark_checks::{Alteration, Edit, Expectation};

use super::super::arguments::{of_call, only_operator, outermost, trimmed};
use super::super::literal::{Comparison, altered};
use super::super::{around, expectation, replace};
use crate::token::Kind;
use crate::tokens::Tokens;

/// Reads assertions among these tokens.
pub(super) struct Assertion<'a>(pub(super) &'a Tokens<'a>);

/// Matchers of one argument that the value has to equal, or that it has to contain.
const EQUALITIES: [&str; 9] = ["toBe", "toEqual", "toStrictEqual", "equal", "equals", "eq", "eql", "eqls", "deepEqual"];
const PARTS: [&str; 6] = ["toHaveLength", "toMatchObject", "lengthOf", "length", "members", "toHaveTextContent"];
/// Matchers that compare with a text on the disk.
const SNAPSHOTS: &str = "Snapshot";

/// Functions of `assert` that compare their first two arguments.
const ASSERT_EQUALITIES: [&str; 5] = ["equal", "strictEqual", "deepEqual", "deepStrictEqual", "lengthOf"];
/// Functions of `assert`, and those that say the opposite.
const OPPOSITES: [(&str, &str); 10] = [
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("match", "doesNotMatch"),
    ("isTrue", "isFalse"),
    ("isNull", "isNotNull"),
    ("include", "notInclude"),
];
/// A shorter text may be a part of another message.
const MIN_MESSAGE: usize = 6;

/// A part of a chain behind `expect(…)`, or of the name before a call.
struct Link {
    name: usize,
    /// The opening bracket of its arguments.
    open: Option<usize>,
}

impl Assertion<'_> {
    /// The expectation that begins with this name.
    pub(super) fn read(&self, at: usize) -> Option<Expectation> {
        let tokens = self.0;
        let (links, end) = self.chain(at)?;
        let (alteration, edits) = match (tokens.text(at), links.as_slice()) {
            ("expect", [Link { open: Some(open), .. }, rest @ ..]) => self.expect(*open, rest)?,
            ("assert", [.., Link { open: Some(open), name }]) => self.assert(*name, *open)?,
            // Without `assert`, a name may be anybody's; only what is expected is altered.
            (name, [Link { open: Some(open), .. }]) if ASSERT_EQUALITIES.contains(&name) && name != "equal" => {
                self.equality(&of_call(tokens, *open)?)?
            }
            _ => return None,
        };
        expectation(tokens, &(at..end), alteration, edits)
    }

    /// `a.b(…).c`, from its first name, and the token behind it.
    fn chain(&self, at: usize) -> Option<(Vec<Link>, usize)> {
        let tokens = self.0;
        let mut links = Vec::new();
        let mut name = at;
        loop {
            (tokens.get(name)?.kind == Kind::Name).then_some(())?;
            let open = self.next(name).filter(|open| tokens.text(*open) == "(");
            let last = open.and_then(|open| tokens.get(open)?.partner).unwrap_or(name);
            links.push(Link { name, open });
            match self.next(last).filter(|dot| tokens.text(*dot) == ".") {
                Some(dot) => name = self.next(dot)?,
                None => return Some((links, last + 1)),
            }
        }
    }

    /// The next token that means something, over line ends.
    fn next(&self, at: usize) -> Option<usize> {
        let mut next = self.0.after(at)?;
        while self.0.get(next)?.kind == Kind::Newline {
            next = self.0.after(next)?;
        }
        Some(next)
    }

    fn expect(&self, open: usize, links: &[Link]) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let last = links.last()?;
        if tokens.text(last.name).contains(SNAPSHOTS) {
            return None;
        }
        if let Some(not) = links.iter().find(|link| tokens.text(link.name) == "not") {
            let dot = self.next(not.name)?;
            return Some((Alteration::Inverted, vec![replace(tokens, &(not.name..dot + 1), "")?]));
        }
        if let Some(found) = last.open.and_then(|open| self.matcher(tokens.text(last.name), open)) {
            return Some(found);
        }
        // Behind `resolves` or `rejects`, and else behind what is expected of.
        let waits = links.iter().find(|link| matches!(tokens.text(link.name), "resolves" | "rejects" | "eventually"));
        let after = waits.map_or(tokens.get(open)?.partner?, |link| link.name);
        let end = tokens.get(after)?.end;
        Some((Alteration::Inverted, vec![Edit { span: end..end, text: ".not".to_owned() }]))
    }

    /// What makes a matcher with arguments fail, by what it expects.
    fn matcher(&self, name: &str, open: usize) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let arguments = of_call(tokens, open)?;
        let first = arguments.first()?;
        match name {
            _ if EQUALITIES.contains(&name) => {
                // A second argument is chai's message.
                let edit = altered(tokens, first, Comparison::Exact).map(|edit| (Alteration::Value, vec![edit]));
                edit.or_else(|| self.wrapped(first))
            }
            _ if PARTS.contains(&name) => Some((Alteration::Value, vec![altered(tokens, first, Comparison::Exact)?])),
            "toBeCloseTo" if arguments.len() == 1 => {
                Some((Alteration::Value, vec![altered(tokens, first, Comparison::Close)?]))
            }
            "toThrow" | "toThrowError" | "throw" | "throws" => self.thrown(first),
            _ => None,
        }
    }

    /// Another error, or another message.
    fn thrown(&self, expected: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let text = tokens.text_of(expected.clone());
        if text.ends_with("Error") && text.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '.' | '$'))
        {
            // Errors of a program are rarely of these two, and never of the other one.
            let other = if text == "URIError" { "EvalError" } else { "URIError" };
            return Some((Alteration::Kind, vec![replace(tokens, expected, other)?]));
        }
        let is_long = text.len() >= MIN_MESSAGE + 2 && tokens.get(expected.start)?.kind == Kind::String;
        let edit = altered(tokens, expected, Comparison::Exact).filter(|_| is_long)?;
        Some((Alteration::Value, vec![edit]))
    }

    fn assert(&self, name: usize, open: usize) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let arguments = of_call(tokens, open)?;
        let first = arguments.first()?;
        let word = tokens.text(name);
        if ASSERT_EQUALITIES.contains(&word) {
            return self.equality(&arguments);
        }
        if matches!(word, "assert" | "ok" | "isOk") {
            return self.condition(first);
        }
        if let ("throws" | "rejects", Some(expected)) = (word, arguments.get(1))
            && let Some(found) = self.thrown(expected).or_else(|| self.described(expected))
        {
            return Some(found);
        }
        let opposite = OPPOSITES.iter().find_map(|(one, other)| match word {
            word if word == *one => Some(*other),
            word if word == *other => Some(*one),
            _ => None,
        })?;
        Some((Alteration::Inverted, vec![replace(tokens, &(name..name + 1), opposite)?]))
    }

    /// Another property of the error that is expected, as in `{ message: 'no' }`.
    fn described(&self, expected: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let is_object = self.0.text(expected.start) == "{";
        let edit = altered(self.0, expected, Comparison::Exact).filter(|_| is_object)?;
        Some((Alteration::Value, vec![edit]))
    }

    /// Another value at one side of two arguments.
    fn equality(&self, arguments: &[Range<usize>]) -> Option<(Alteration, Vec<Edit>)> {
        let [left, right, ..] = arguments else { return None };
        let edit = [right, left].into_iter().find_map(|side| altered(self.0, side, Comparison::Exact));
        edit.map(|edit| (Alteration::Value, vec![edit])).or_else(|| self.wrapped(right))
    }

    /// An array that holds the expected value and one more, which the value does not equal, by `==` neither.
    fn wrapped(&self, side: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        if self.0.text(side.start) == "..." {
            return None;
        }
        Some((Alteration::Inverted, around(self.0, side, "[", ", 0]")?))
    }

    /// The negated condition, or another value where it compares with a literal.
    fn condition(&self, condition: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let is_joined = outermost(tokens, condition.clone())
            .any(|index| matches!(tokens.text(index), "&&" | "||" | "??" | "?" | "!" | "=>" | "..." | "," | "in"));
        let operator = only_operator(tokens, condition, &["==", "==="]).filter(|_| !is_joined);
        if let Some(operator) = operator {
            let sides = [operator + 1..condition.end, condition.start..operator].map(|side| trimmed(tokens, side));
            if let Some(edit) = sides.iter().find_map(|side| altered(tokens, side, Comparison::Exact)) {
                return Some((Alteration::Value, vec![edit]));
            }
        }
        Some((Alteration::Inverted, around(tokens, condition, "!(", ")")?))
    }
}
