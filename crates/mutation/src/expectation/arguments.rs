//! What stands between brackets and commas.

use std::ops::Range;

use crate::token::Kind;
use crate::tokens::Tokens;

/// The range without blanks and line ends at both ends.
pub(super) fn trimmed(tokens: &Tokens<'_>, range: Range<usize>) -> Range<usize> {
    let is_blank =
        |index: &usize| tokens.get(*index).is_none_or(|token| token.kind.is_blank() || token.kind == Kind::Newline);
    let start = range.clone().find(|index| !is_blank(index)).unwrap_or(range.end);
    let end = range.clone().rev().find(|index| !is_blank(index)).map_or(start, |last| last + 1);
    start..end.max(start)
}

/// The tokens of a range that mean something and are in none of its brackets, each with its index; the brackets themselves
/// are among them.
pub(super) fn outermost<'a>(tokens: &'a Tokens<'_>, range: Range<usize>) -> impl Iterator<Item = usize> + 'a {
    let mut next = range.start;
    std::iter::from_fn(move || {
        loop {
            let index = Some(next).filter(|index| *index < range.end)?;
            let token = tokens.get(index)?;
            let closes = token.partner.filter(|partner| *partner > index && *partner < range.end);
            next = closes.unwrap_or(index + 1);
            if !token.kind.is_blank() && token.kind != Kind::Newline {
                return Some(index);
            }
        }
    })
}

/// The parts of a range between the commas that are in none of its brackets, without blanks. A last one that is empty is left
/// out.
pub(super) fn parts(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for comma in outermost(tokens, range.clone()).filter(|index| tokens.text(*index) == ",") {
        parts.push(trimmed(tokens, start..comma));
        start = comma + 1;
    }
    let last = trimmed(tokens, start..range.end);
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// The arguments of a call, whose opening bracket this is.
pub(super) fn of_call(tokens: &Tokens<'_>, open: usize) -> Option<Vec<Range<usize>>> {
    (tokens.text(open) == "(").then_some(())?;
    Some(parts(tokens, tokens.inside(open)?))
}

/// The only one of these operators that a range has outside of its brackets.
pub(super) fn only_operator(tokens: &Tokens<'_>, range: &Range<usize>, operators: &[&str]) -> Option<usize> {
    let mut found = outermost(tokens, range.clone()).filter(|index| operators.contains(&tokens.text(*index)));
    found.next().filter(|_| found.next().is_none())
}
