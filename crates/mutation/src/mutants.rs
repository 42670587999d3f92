//! Small changes of a program that a good suite notices.

use std::fmt;
use std::ops::Range;

use crate::lexer::Place;
use crate::limits::MAX_CANDIDATES;
use crate::token::Kind;
use crate::tokens::Tokens;

mod call;
mod constant;
mod structure;

pub(crate) use structure::{Braces, Lines, arguments, slices};

/// What a mutant changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// `<` becomes `<=`, `==` becomes `!=`.
    Comparison,
    /// `+` becomes `-`.
    Arithmetic,
    /// `and` becomes `or`, and `not` is left out.
    Connective,
    /// The condition of `if` or `while` is negated.
    Condition,
    /// A number, a string or a truth value becomes another.
    Constant,
    /// Something else is returned.
    Return,
    /// A statement is left out.
    Statement,
    /// The end of a slice or a range moves.
    Boundary,
    /// A call is left out, and its argument or its object stays.
    Call,
}

impl Class {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Comparison => "comparison",
            Class::Arithmetic => "arithmetic",
            Class::Connective => "connective",
            Class::Condition => "condition",
            Class::Constant => "constant",
            Class::Return => "return",
            Class::Statement => "statement",
            Class::Boundary => "boundary",
            Class::Call => "call",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One change of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub class: Class,
    /// The bytes of the program that are replaced.
    pub span: Range<usize>,
    pub replacement: String,
}

impl Mutant {
    /// The program with the change.
    pub fn apply(&self, program: &str) -> String {
        let mut changed = program.to_owned();
        changed.replace_range(self.span.clone(), &self.replacement);
        changed
    }

    /// Where the change begins.
    pub fn place(&self, program: &str) -> Place {
        Place::of(program, self.span.start)
    }

    /// The first line that the change touches, as it was and as it is, without the blanks around it.
    pub fn lines<'a>(&self, program: &'a str) -> (&'a str, String) {
        let start = program.get(..self.span.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let line = |text: &'a str| text.lines().next().unwrap_or_default().trim();
        let before = line(program.get(start..).unwrap_or_default());
        let changed = self.apply(program);
        let after = changed.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim().to_owned();
        (before, after)
    }
}

/// What becomes what in a mutant.
pub(crate) struct Changes {
    /// Operators between two operands, each with what stands in its place.
    pub(crate) comparisons: Table,
    pub(crate) arithmetic: Table,
    pub(crate) connectives: Table,
    /// What negates an expression in brackets, with a space where one is needed.
    pub(crate) not: &'static str,
    /// Words that are constants, each with another.
    pub(crate) constants: &'static [(&'static str, &'static str)],
    /// The value of nothing.
    pub(crate) null: &'static str,
    /// Words that are no values.
    pub(crate) keywords: &'static [&'static str],
    /// Operators that are the end of a value.
    pub(crate) operand_marks: &'static [&'static str],
    /// Words behind which a name is defined and not called.
    pub(crate) definers: &'static [&'static str],
    /// Whether `x.f` is a call.
    pub(crate) calls_without_brackets: bool,
    /// Changes of conditions, statements, and the ends of ranges.
    pub(crate) structure: fn(&Tokens<'_>, &Changes) -> Vec<Mutant>,
    /// Errors that say that a text is no program of the language.
    pub(crate) load_errors: &'static [&'static str],
}

/// Operators, each with what stands in its place.
pub(crate) type Table = &'static [(&'static str, &'static [&'static str])];

/// All mutants of a program, at most [`MAX_CANDIDATES`] of each kind.
pub(crate) fn mutants(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut add = |mutants: Vec<Mutant>| found.extend(mutants.into_iter().take(MAX_CANDIDATES));
    add(replaced(tokens, changes, Class::Comparison, changes.comparisons));
    add(replaced(tokens, changes, Class::Arithmetic, changes.arithmetic));
    add(replaced(tokens, changes, Class::Connective, changes.connectives));
    add(without_not(tokens, changes));
    add(constant::mutants(tokens, changes));
    add(call::mutants(tokens, changes));
    add((changes.structure)(tokens, changes));
    found
}

/// Operators that become others, where they stand between two operands.
fn replaced(tokens: &Tokens<'_>, changes: &Changes, class: Class, table: &[(&str, &[&str])]) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (index, token) in tokens.all().iter().enumerate() {
        let is_operator = matches!(token.kind, Kind::Operator | Kind::Name);
        let row = table.iter().find(|(from, _)| is_operator && *from == tokens.text(index));
        let Some((_, others)) = row.filter(|_| is_between(tokens, changes, index)) else { continue };
        found.extend(others.iter().map(|other| Mutant { class, span: token.span(), replacement: (*other).to_owned() }));
    }
    found
}

/// Whether a value stands before a token: then an operator there has two operands.
fn is_between(tokens: &Tokens<'_>, changes: &Changes, index: usize) -> bool {
    let before = tokens.before(index).filter(|before| is_value(tokens, changes, *before));
    before.is_some()
        && tokens.after(index).and_then(|after| tokens.get(after)).is_some_and(|after| after.kind != Kind::Newline)
}

/// Whether a value ends with this token.
fn is_value(tokens: &Tokens<'_>, changes: &Changes, index: usize) -> bool {
    let Some(token) = tokens.get(index) else { return false };
    match token.kind {
        Kind::Number | Kind::String | Kind::Symbol | Kind::Regex | Kind::Tail | Kind::Close => true,
        Kind::Name => !changes.keywords.contains(&tokens.text(index)),
        Kind::Operator => changes.operand_marks.contains(&tokens.text(index)),
        Kind::Open
        | Kind::Head
        | Kind::Middle
        | Kind::Markup
        | Kind::Heredoc
        | Kind::Space
        | Kind::Comment
        | Kind::Newline => false,
    }
}

/// `not x` becomes `x`.
fn without_not(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (index, token) in tokens.all().iter().enumerate() {
        if tokens.text(index) != changes.not.trim_end() || !matches!(token.kind, Kind::Operator | Kind::Name) {
            continue;
        }
        // `not in`, `is not` and `x!` are other operators.
        let other = tokens.after(index).is_some_and(|after| tokens.text(after) == "in")
            || tokens
                .before(index)
                .is_some_and(|before| tokens.text(before) == "is" || is_value(tokens, changes, before));
        if !other {
            found.push(Mutant { class: Class::Connective, span: token.span(), replacement: String::new() });
        }
    }
    found
}
