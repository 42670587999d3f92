//! The assertions of pytest and unittest.

use std::ops::Range;

use proofmark_checks::{Alteration, Edit, Expectation};

use super::super::arguments::{of_call, only_operator, outermost, parts, trimmed};
use super::super::literal::{Comparison, altered};
use super::super::{around, expectation, replace};
use crate::token::Kind;
use crate::tokens::Tokens;

/// Reads assertions among these tokens.
pub(super) struct Assertion<'a>(pub(super) &'a Tokens<'a>);

/// Methods of unittest, and those that say the opposite.
const OPPOSITES: [(&str, &str); 12] = [
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIn", "assertNotIn"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
    ("assertEqual", "assertNotEqual"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
    ("assertStartsWith", "assertNotStartsWith"),
    ("assertEndsWith", "assertNotEndsWith"),
];
/// Methods of unittest that compare their first two arguments.
const EQUALITIES: [&str; 8] = [
    "assertEqual",
    "assertEquals",
    "assertSequenceEqual",
    "assertListEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertDictEqual",
    "assertMultiLineEqual",
];
/// Operators that compare, and words that join conditions.
const COMPARISONS: [&str; 8] = ["==", "!=", "<", ">", "<=", ">=", "in", "is"];
const JOINTS: [&str; 7] = ["and", "or", "not", "if", "else", "lambda", ":="];

impl Assertion<'_> {
    /// The expectation of a statement without a block.
    pub(super) fn of_statement(&self, statement: &Range<usize>) -> Option<Expectation> {
        let tokens = self.0;
        if tokens.text(statement.start) == "assert" {
            let parts = parts(tokens, statement.start + 1..statement.end);
            let (alteration, edits) = self.condition(parts.first()?).or_else(|| self.negated(parts.first()?))?;
            return expectation(tokens, statement, alteration, edits);
        }
        let (name, open) = self.call(statement)?;
        let arguments = of_call(tokens, open)?;
        let (alteration, edits) = match tokens.text(name) {
            "raises" | "assertRaises" | "assertRaisesRegex" => self.kind(arguments.first()?)?,
            method => self.method(method, name, &arguments)?,
        };
        expectation(tokens, statement, alteration, edits)
    }

    /// The expectation of a `with` that demands an exception, with the tokens of its first line and of all of it.
    pub(super) fn of_with(&self, (head, whole): (Range<usize>, Range<usize>)) -> Option<Expectation> {
        let name = self.raises(&head)?;
        let arguments = of_call(self.0, self.0.after(name)?)?;
        let (alteration, edits) = self.kind(arguments.first()?)?;
        expectation(self.0, &whole, alteration, edits)
    }

    /// Whether a `with` expects its block to raise.
    pub(super) fn is_raising(&self, head: &Range<usize>) -> bool {
        self.raises(head).is_some()
    }

    fn raises(&self, head: &Range<usize>) -> Option<usize> {
        let is_raises = |index: &usize| {
            matches!(self.0.text(*index), "raises" | "assertRaises" | "assertRaisesRegex")
                && self.0.after(*index).is_some_and(|next| self.0.text(next) == "(")
        };
        outermost(self.0, head.clone()).find(is_raises)
    }

    /// The name and the opening bracket of a call that is the whole statement, as `self.assertEqual(…)`.
    fn call(&self, statement: &Range<usize>) -> Option<(usize, usize)> {
        let outer: Vec<usize> = outermost(self.0, statement.clone()).collect();
        let [head @ .., open, close] = outer.as_slice() else { return None };
        let name = *head.last()?;
        let is_path = head.iter().enumerate().all(|(at, index)| {
            let is_name = self.0.get(*index).is_some_and(|token| token.kind == Kind::Name);
            if at % 2 == 0 { is_name } else { self.0.text(*index) == "." }
        });
        let is_call = self.0.text(*open) == "(" && self.0.get(*open)?.partner == Some(*close);
        (is_path && is_call && head.len() > 1).then_some((name, *open))
    }

    /// What makes a method of unittest fail that passes.
    fn method(&self, method: &str, name: usize, arguments: &[Range<usize>]) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        // An argument by name may be any of them.
        let is_positional = |range: &&Range<usize>| only_operator(tokens, range, &["="]).is_none();
        let first: Vec<&Range<usize>> = arguments.iter().take_while(is_positional).collect();
        if EQUALITIES.contains(&method) || method == "assertCountEqual" {
            let [one, other, ..] = first.as_slice() else { return None };
            return self.equality(one, other).or_else(|| self.wrapped(other));
        }
        if let ("assertAlmostEqual", [one, other], true) = (method, first.as_slice(), arguments.len() == 2) {
            let edit = altered(tokens, other, Comparison::Close).or_else(|| altered(tokens, one, Comparison::Close));
            if let Some(edit) = edit {
                return Some((Alteration::Value, vec![edit]));
            }
        }
        if let ("assertTrue", [condition]) = (method, first.as_slice())
            && let Some(found) = self.condition(condition).filter(|(alteration, _)| *alteration == Alteration::Value)
        {
            return Some(found);
        }
        if let ("assertIs", [_, other]) = (method, first.as_slice())
            && let Some(edit) = self.truth(other)
        {
            return Some((Alteration::Value, vec![edit]));
        }
        let opposite = OPPOSITES.iter().find_map(|(one, other)| match method {
            method if method == *one => Some(*other),
            method if method == *other => Some(*one),
            _ => None,
        })?;
        Some((Alteration::Inverted, vec![replace(tokens, &(name..name + 1), opposite)?]))
    }

    /// What makes a condition false that is true, where it is one comparison by equality.
    fn condition(&self, condition: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let condition = trimmed(tokens, condition.clone());
        if tokens.text(condition.start) == "(" && tokens.get(condition.start)?.partner == condition.end.checked_sub(1) {
            let inside = tokens.inside(condition.start)?;
            let is_tuple = outermost(tokens, inside.clone()).any(|index| tokens.text(index) == ",");
            return if is_tuple { None } else { self.condition(&inside) };
        }
        if outermost(tokens, condition.clone()).any(|index| JOINTS.contains(&tokens.text(index))) {
            return None;
        }
        let operator = only_operator(tokens, &condition, &COMPARISONS)?;
        let left = trimmed(tokens, condition.start..operator);
        let right = trimmed(tokens, operator + 1..condition.end);
        match tokens.text(operator) {
            "==" => self.equality(&left, &right).or_else(|| self.wrapped(&right)),
            "is" => Some((Alteration::Value, vec![self.truth(&right)?])),
            _ => None,
        }
    }

    /// Another value at one side of an equality.
    fn equality(&self, left: &Range<usize>, right: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        let sides = [right, left].into_iter();
        let edit = sides.clone().find_map(|side| altered(tokens, side, Comparison::Exact));
        let edit = edit.or_else(|| sides.clone().find_map(|side| self.approximate(side)));
        Some((Alteration::Value, vec![edit?]))
    }

    /// Another value in `pytest.approx(9.0)`, where no tolerance is given.
    fn approximate(&self, side: &Range<usize>) -> Option<Edit> {
        let (name, open) = self.call(side).or_else(|| self.plain_call(side))?;
        let arguments = of_call(self.0, open)?;
        match (self.0.text(name), arguments.as_slice()) {
            ("approx", [one]) => altered(self.0, one, Comparison::Close),
            _ => None,
        }
    }

    /// The call of a name alone.
    fn plain_call(&self, range: &Range<usize>) -> Option<(usize, usize)> {
        let outer: Vec<usize> = outermost(self.0, range.clone()).collect();
        let [name, open, close] = outer.as_slice() else { return None };
        (self.0.get(*open)?.partner == Some(*close)).then_some((*name, *open))
    }

    /// A tuple that holds the expected value, which the value does not equal. An expected value that equals everything, as
    /// `mock.ANY`, does not tell a right answer, and would pass.
    fn wrapped(&self, side: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let is_any = side.clone().any(|index| self.0.text(index) == "ANY");
        let edits = around(self.0, side, "(", ",)")?;
        (!is_any).then_some((Alteration::Inverted, edits))
    }

    /// The negated condition.
    fn negated(&self, condition: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let tokens = self.0;
        if tokens.text(condition.start) == "not" {
            let rest = trimmed(tokens, condition.start + 1..condition.end);
            let joined = outermost(tokens, rest.clone()).any(|index| JOINTS.contains(&tokens.text(index)));
            if !joined {
                return Some((
                    Alteration::Inverted,
                    vec![replace(tokens, &(condition.start..condition.start + 1), "")?],
                ));
            }
        }
        Some((Alteration::Inverted, around(tokens, condition, "not (", ")")?))
    }

    /// The other truth value, where the tokens are one.
    fn truth(&self, range: &Range<usize>) -> Option<Edit> {
        let is_truth = matches!(self.0.text_of(range.clone()), "True" | "False");
        is_truth.then(|| altered(self.0, range, Comparison::Exact)).flatten()
    }

    /// Another exception in place of those that are expected.
    fn kind(&self, expected: &Range<usize>) -> Option<(Alteration, Vec<Edit>)> {
        let text = self.0.text_of(expected.clone());
        let is_names = text.chars().all(|char| char.is_alphanumeric() || "_.,() ".contains(char));
        // Neither of the two is the parent of an exception of a program, nor a child of a usual one.
        let other = if ["Zero", "Arithmetic", "Exception"].iter().any(|part| text.contains(part)) {
            "EOFError"
        } else {
            "ZeroDivisionError"
        };
        let edit = replace(self.0, expected, other).filter(|_| is_names && !text.contains("EOFError"))?;
        Some((Alteration::Kind, vec![edit]))
    }
}
