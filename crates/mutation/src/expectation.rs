//! Tests and their expectations, and how each expectation is made wrong.
//!
//! If `x == 9` held, then `x == 8` cannot. A test that passes all the same does not compare, or its runner does not say what
//! came of it. Only what certainly makes a test fail is altered: a literal at one side of an equality, and never an argument of
//! a call, since `f(3)` and `f(4)` may be equal. Where nothing is certain, a test is left as it is.

mod arguments;
pub(crate) mod javascript;
mod literal;
pub(crate) mod python;

use std::ops::Range;

use proofmark_checks::{Alteration, Edit, Expectation};

use crate::tokens::Tokens;

/// An alteration of the statement that has these tokens.
fn expectation(
    tokens: &Tokens<'_>,
    statement: &Range<usize>,
    alteration: Alteration,
    edits: Vec<Edit>,
) -> Option<Expectation> {
    let first = tokens.get(statement.start)?;
    let last = tokens.get(statement.end.checked_sub(1)?)?;
    let is_on_lines = edits.iter().all(|edit| {
        let replaced = tokens.source().get(edit.span.clone()).unwrap_or("\n");
        !replaced.contains('\n') && !edit.text.contains('\n')
    });
    let lines = first.line..=tokens.place(last.end).line;
    (is_on_lines && !edits.is_empty()).then_some(Expectation { alteration, lines, edits })
}

/// Text in place of these tokens.
fn replace(tokens: &Tokens<'_>, range: &Range<usize>, text: &str) -> Option<Edit> {
    let (first, last) = (tokens.get(range.start)?, tokens.get(range.end.checked_sub(1)?)?);
    Some(Edit { span: first.start..last.end, text: text.to_owned() })
}

/// Text before and behind these tokens.
fn around(tokens: &Tokens<'_>, range: &Range<usize>, before: &str, behind: &str) -> Option<Vec<Edit>> {
    let (first, last) = (tokens.get(range.start)?, tokens.get(range.end.checked_sub(1)?)?);
    Some(vec![
        Edit { span: first.start..first.start, text: before.to_owned() },
        Edit { span: last.end..last.end, text: behind.to_owned() },
    ])
}

/// The strongest of these, and of several the last.
fn strongest(expectations: Vec<Expectation>) -> Option<Expectation> {
    // `min_by_key` keeps the first of equals, so the last comes first.
    expectations.into_iter().rev().min_by_key(|expectation| expectation.alteration)
}
