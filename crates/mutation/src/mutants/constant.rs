//! Numbers, strings and truth values that become others.

use super::{Changes, Class, Mutant};
use crate::token::{Kind, Token};
use crate::tokens::Tokens;

pub(super) fn mutants(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (index, token) in tokens.all().iter().enumerate() {
        let text = tokens.text(index);
        let others = match token.kind {
            Kind::Number => numbers(text),
            Kind::String if !is_statement(tokens, index) => string(text).into_iter().collect(),
            Kind::Name => changes
                .constants
                .iter()
                .filter(|(word, _)| *word == text)
                .map(|(_, other)| (*other).to_owned())
                .collect(),
            _ => Vec::new(),
        };
        found.extend(others.into_iter().map(|other| mutant(token, other)));
    }
    found
}

fn mutant(token: &Token, replacement: String) -> Mutant {
    Mutant { class: Class::Constant, span: token.span(), replacement }
}

/// Neighbours of a plain number.
fn numbers(text: &str) -> Vec<String> {
    if let Ok(number) = text.parse::<u64>() {
        let neighbours = [number.checked_add(1), number.checked_sub(1)];
        return neighbours.into_iter().flatten().map(|number| number.to_string()).collect();
    }
    // `1.5` becomes `2.5`: the digits behind the point stay.
    let parts = text.split_once('.').filter(|(_, digits)| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let changed = parts.and_then(|(whole, digits)| {
        let next = whole.parse::<u64>().ok()?.checked_add(1)?;
        Some(format!("{next}.{digits}"))
    });
    changed.into_iter().collect()
}

/// The empty string for one that is not, with the same prefix and quotes. Other strings than quoted ones stay.
fn string(text: &str) -> Option<String> {
    let start = text.find(['"', '\''])?;
    let (prefix, quoted) = text.split_at(start);
    let quote = quoted.chars().next()?;
    let is_plain =
        prefix.chars().all(|char| char.is_ascii_alphabetic()) && quoted.len() >= 2 && quoted.ends_with(quote);
    let inside = quoted.trim_matches(quote);
    (is_plain && !inside.is_empty()).then(|| format!("{prefix}{quote}{quote}"))
}

/// Whether a string stands alone, as a description of what it is in.
fn is_statement(tokens: &Tokens<'_>, index: usize) -> bool {
    let ends = |other: Option<usize>| match other.and_then(|other| tokens.get(other)) {
        None => true,
        Some(token) => token.kind == Kind::Newline,
    };
    ends(tokens.before(index)) && ends(tokens.after(index))
}
