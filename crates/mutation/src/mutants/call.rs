//! Calls that are left out: `f(x)` becomes `(x)`, and `x.f()` becomes `x`.

use std::ops::Range;

use super::{Changes, Class, Mutant, is_value};
use crate::token::Kind;
use crate::tokens::Tokens;

pub(super) fn mutants(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (index, token) in tokens.all().iter().enumerate() {
        if token.kind == Kind::Name && is_value(tokens, changes, index) {
            found.extend(function(tokens, changes, index).or_else(|| method(tokens, changes, index)));
        }
    }
    found
}

/// A call of a function by its plain name, with one argument.
fn function(tokens: &Tokens<'_>, changes: &Changes, name: usize) -> Option<Mutant> {
    let open = argument_list(tokens, name)?;
    let before = tokens.before(name).map(|before| tokens.text(before)).unwrap_or_default();
    let is_called = before != "." && before != "?." && before != "&." && !changes.definers.contains(&before);
    let inside = tokens.inside(open)?;
    let first = tokens.at_or_after(inside.start).filter(|first| inside.contains(first))?;
    let is_single = !separates(tokens, inside) && !matches!(tokens.text(first), "*" | "**" | "..." | "&");
    let span = tokens.get(name)?.span();
    (is_called && is_single).then(|| Mutant { class: Class::Call, span, replacement: String::new() })
}

/// A call of a method, which is left out with its arguments.
fn method(tokens: &Tokens<'_>, changes: &Changes, name: usize) -> Option<Mutant> {
    let point = tokens.before(name).filter(|point| tokens.text(*point) == ".")?;
    let object = tokens.before(point).filter(|object| is_value(tokens, changes, *object))?;
    let last = match argument_list(tokens, name) {
        Some(open) => tokens.get(open)?.partner?,
        None if changes.calls_without_brackets => name,
        None => return None,
    };
    // As in `def self.name`.
    let is_defined = tokens.before(object).is_some_and(|word| changes.definers.contains(&tokens.text(word)));
    let next = tokens.after(last).map(|next| tokens.text(next)).unwrap_or_default();
    // A method with a block, and one whose value is assigned to, would not load.
    let is_whole = !matches!(next, "=" | "{" | "do") && !is_defined;
    let span = tokens.get(point)?.start..tokens.get(last)?.end;
    is_whole.then(|| Mutant { class: Class::Call, span, replacement: String::new() })
}

/// The bracket that begins the arguments, right behind the name.
fn argument_list(tokens: &Tokens<'_>, name: usize) -> Option<usize> {
    let open = name + 1;
    (tokens.text(open) == "(").then_some(open)
}

/// Whether a comma stands between these tokens outside of other brackets.
fn separates(tokens: &Tokens<'_>, range: Range<usize>) -> bool {
    super::structure::top_level(tokens, range).any(|index| matches!(tokens.text(index), "," | "for" | "="))
}
