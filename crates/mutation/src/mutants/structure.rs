//! Changes that need to know where a statement, a condition or an argument ends.

use std::iter;
use std::ops::Range;

use super::{Changes, Class, Mutant, is_value};
use crate::limits::MAX_REPEATED_BYTES;
use crate::token::Kind;
use crate::tokens::Tokens;

/// How a language whose statements are lines is read.
pub(crate) struct Lines {
    /// Words before a condition, which ends at the colon of its line.
    pub(crate) conditions: &'static [&'static str],
    /// First words of lines that are not left out.
    pub(crate) fixed: &'static [&'static str],
    /// Words that a statement which is left out may not have: it would take others with it.
    pub(crate) openers: &'static [&'static str],
    /// What stands in the place of a statement.
    pub(crate) nothing: &'static str,
}

/// How a language with braces is read.
pub(crate) struct Braces {
    /// Words before a condition in brackets.
    pub(crate) conditions: &'static [&'static str],
    /// First words of statements that are not left out.
    pub(crate) fixed: &'static [&'static str],
}

impl Lines {
    pub(crate) fn mutants(&self, tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
        let mut found = Vec::new();
        for line in tokens.logical_lines() {
            let first = tokens.text(line.tokens.start);
            if self.conditions.contains(&first) {
                let colon = top_level(tokens, line.tokens.clone()).find(|index| tokens.text(*index) == ":");
                found.extend(colon.and_then(|colon| negated(tokens, changes, line.tokens.start + 1..colon)));
            }
            found.extend(returned(tokens, changes, line.tokens.clone()));
            if self.may_go(tokens, line.tokens.clone()) {
                found.extend(span(tokens, line.tokens.clone()).map(|span| Mutant {
                    class: Class::Statement,
                    span,
                    replacement: self.nothing.to_owned(),
                }));
            }
        }
        found
    }

    fn may_go(&self, tokens: &Tokens<'_>, line: Range<usize>) -> bool {
        let first = line.start;
        let begins = tokens.get(first).is_some_and(|token| matches!(token.kind, Kind::Name))
            && !self.fixed.contains(&tokens.text(first));
        // A line that opens what another closes, or goes on with the line before, is no statement of its own.
        let whole = line.clone().all(|index| match tokens.get(index).map(|token| (token.kind, token.partner)) {
            Some((Kind::Open | Kind::Close | Kind::Head | Kind::Tail, partner)) => {
                partner.is_some_and(|partner| line.contains(&partner))
            }
            Some((Kind::Name, _)) => !self.openers.contains(&tokens.text(index)),
            _ => true,
        });
        let last = line.clone().rev().find(|index| tokens.get(*index).is_some_and(|token| !token.kind.is_blank()));
        let ends = last.is_some_and(|last| tokens.get(last).is_some_and(|token| token.kind != Kind::Operator));
        begins && whole && ends && tokens.text(line.start) != self.nothing && !continues(tokens, line.end)
    }
}

/// Whether the next line goes on with this one.
fn continues(tokens: &Tokens<'_>, newline: usize) -> bool {
    tokens.after(newline).is_some_and(|next| matches!(tokens.text(next), "." | "&." | "?."))
}

impl Braces {
    pub(crate) fn mutants(&self, tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
        let mut found = Vec::new();
        for (index, token) in tokens.all().iter().enumerate() {
            let text = tokens.text(index);
            if token.kind == Kind::Name && self.conditions.contains(&text) {
                let open = tokens.after(index).filter(|open| tokens.text(*open) == "(");
                found.extend(open.and_then(|open| negated(tokens, changes, tokens.inside(open)?)));
            }
            if begins_statement(tokens, index) && !token.kind.is_blank() {
                found.extend(self.statement(tokens, changes, index));
            }
        }
        found
    }

    /// The mutants of the statement that begins here, if it ends with a semicolon or its line.
    fn statement(&self, tokens: &Tokens<'_>, changes: &Changes, first: usize) -> Vec<Mutant> {
        let end = top_level(tokens, first..tokens.all().len()).find(|index| {
            let is_line_end = tokens.get(*index).is_some_and(|token| token.kind == Kind::Newline);
            tokens.text(*index) == ";"
                || tokens.text(*index) == "}"
                || (is_line_end && ends_there(tokens, changes, *index))
        });
        let Some(end) = end.filter(|end| *end > first) else { return Vec::new() };
        let mut found = returned(tokens, changes, first..end);
        let is_name = tokens.get(first).is_some_and(|token| token.kind == Kind::Name);
        let is_block = top_level(tokens, first..end).any(|index| tokens.text(index) == "=>");
        if is_name && !is_block && !self.fixed.contains(&tokens.text(first)) {
            let span = span(tokens, first..end);
            found.extend(span.map(|span| Mutant { class: Class::Statement, span, replacement: String::new() }));
        }
        found
    }
}

fn begins_statement(tokens: &Tokens<'_>, index: usize) -> bool {
    let before = tokens.before(index);
    before.is_none_or(|before| {
        let is_line_end = tokens.get(before).is_some_and(|token| token.kind == Kind::Newline);
        is_line_end || matches!(tokens.text(before), ";" | "{" | "}")
    })
}

/// Whether a statement ends at this line end: what stands before may be its end, and what follows does not go on with it.
fn ends_there(tokens: &Tokens<'_>, changes: &Changes, newline: usize) -> bool {
    let before = tokens.before(newline).is_some_and(|before| is_value(tokens, changes, before));
    let after =
        tokens.after(newline).and_then(|after| tokens.get(after)).is_none_or(|after| after.kind != Kind::Operator);
    before && after
}

/// The condition in these tokens, negated.
fn negated(tokens: &Tokens<'_>, changes: &Changes, range: Range<usize>) -> Option<Mutant> {
    let span = short(span(tokens, range)?)?;
    let replacement = format!("{}({})", changes.not, tokens.source().get(span.clone())?);
    Some(Mutant { class: Class::Condition, span, replacement })
}

/// What the statement returns becomes nothing, and its negation.
fn returned(tokens: &Tokens<'_>, changes: &Changes, statement: Range<usize>) -> Vec<Mutant> {
    let word = statement.start;
    let value =
        (tokens.text(word) == "return").then(|| span(tokens, word + 1..statement.end)).flatten().and_then(short);
    let Some(span) = value else { return Vec::new() };
    let text = tokens.source().get(span.clone()).unwrap_or_default();
    let others = [changes.null.to_owned(), format!("{}({text})", changes.not)];
    let others = others.into_iter().filter(|other| other != text);
    others.map(|replacement| Mutant { class: Class::Return, span: span.clone(), replacement }).collect()
}

/// The ends of slices, `[a:b]`, each moved by one.
pub(crate) fn slices(tokens: &Tokens<'_>) -> Vec<Mutant> {
    let opens = (0..tokens.all().len()).filter(|index| tokens.text(*index) == "[");
    let slices = opens.filter_map(|open| tokens.inside(open)).filter(|inside| {
        let mut texts = top_level(tokens, inside.clone()).map(|index| tokens.text(index));
        texts.any(|text| text == ":")
    });
    slices.flat_map(|inside| moved(tokens, inside, &[":", ","])).collect()
}

/// The arguments of these functions, each moved by one.
pub(crate) fn arguments(tokens: &Tokens<'_>, functions: &[&str]) -> Vec<Mutant> {
    let calls = (0..tokens.all().len()).filter(|index| functions.contains(&tokens.text(*index)));
    let lists = calls.filter_map(|name| tokens.inside(name + 1).filter(|_| tokens.text(name + 1) == "("));
    lists.flat_map(|inside| moved(tokens, inside, &[","])).collect()
}

/// Each part between the separators, plus one.
fn moved(tokens: &Tokens<'_>, range: Range<usize>, separators: &[&str]) -> Vec<Mutant> {
    let ends: Vec<usize> = top_level(tokens, range.clone())
        .filter(|index| separators.contains(&tokens.text(*index)))
        .chain(iter::once(range.end))
        .collect();
    let mut found = Vec::new();
    let mut start = range.start;
    for end in ends {
        found.extend(span(tokens, start..end).and_then(short).and_then(|span| {
            let replacement = format!("({}) + 1", tokens.source().get(span.clone())?);
            Some(Mutant { class: Class::Boundary, span, replacement })
        }));
        start = end + 1;
    }
    found
}

/// The tokens of a range outside of brackets and literals that begin in it, with their ends.
pub(super) fn top_level<'a>(tokens: &'a Tokens<'_>, range: Range<usize>) -> impl Iterator<Item = usize> + 'a {
    let mut next = range.start;
    iter::from_fn(move || {
        let index = next;
        let token = tokens.get(index).filter(|_| index < range.end)?;
        next = match (token.kind, token.partner) {
            (Kind::Open | Kind::Head, Some(partner)) => partner + 1,
            _ => index + 1,
        };
        Some(index)
    })
}

/// The span, unless so many bytes would be repeated that nested ones fill the memory.
fn short(span: Range<usize>) -> Option<Range<usize>> {
    (span.len() <= MAX_REPEATED_BYTES).then_some(span)
}

/// The bytes of these tokens, without the blanks around them; none where nothing is left.
fn span(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Range<usize>> {
    let means =
        |index: &usize| tokens.get(*index).is_some_and(|token| !token.kind.is_blank() && token.kind != Kind::Newline);
    let first = range.clone().find(means)?;
    let last = range.rev().find(means)?;
    Some(tokens.get(first)?.start..tokens.get(last)?.end)
}
