//! What can be wrong with a predicate when it is loaded, and what can be missing when it is evaluated.

use std::fmt;

use crate::limits::{MAX_DEPTH, MAX_PATTERNS, MAX_REASON_BYTES, MAX_SOURCE_BYTES, MAX_STEPS};

/// A range of bytes in the source of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What is wrong with a predicate that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("expected {expected}, found {found}")]
    Syntax { expected: String, found: String },
    /// A literal that has no value, such as a number out of range.
    #[error("{0}")]
    Literal(String),
    #[error("the string has an unknown escape")]
    UnknownEscape,
    #[error("the predicate is longer than {MAX_SOURCE_BYTES} bytes")]
    TooLong,
    #[error("the expression is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the predicate has more than {MAX_PATTERNS} patterns and paths")]
    TooMany,
    /// A name the schema does not have, or a function that does not exist.
    #[error("unknown {what} `{}`", shown(.name))]
    UnknownName {
        /// `fact`, `field`, `value`, `function` or `method`.
        what: &'static str,
        name: String,
        /// The known name nearest to it.
        nearest: Option<String>,
    },
    /// The whole expression has another type than the one it is for.
    #[error("expected a {expected}, found {found}")]
    Result { found: String, expected: &'static str },
    /// An operation that cannot succeed whatever the facts are.
    #[error("{0}")]
    Type(String),
    /// A comparison with the name of a type, which is probably meant to be a fact.
    #[error("{0}")]
    TypeAsValue(String),
    /// A function called with the wrong number of arguments, or arguments of the wrong shape.
    #[error("{0}")]
    Arguments(String),
    /// A `matches` pattern that is not a regular expression, or too large a one.
    #[error("invalid pattern: {0}")]
    Pattern(String),
    /// A JSONPath query that is malformed or too large.
    #[error("invalid path: {0}")]
    Path(String),
    #[error("invalid path: `match` and `search` are not supported")]
    PathFunction,
}

impl Fault {
    /// A short stable name for the kind of fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "syntax",
            Self::Literal(_) | Self::UnknownEscape => "literal",
            Self::TooLong => "too_long",
            Self::TooDeep => "too_deep",
            Self::TooMany => "too_many",
            Self::UnknownName { .. } => "unknown_name",
            Self::Type(_) | Self::TypeAsValue(_) | Self::Result { .. } => "type",
            Self::Arguments(_) => "arguments",
            Self::Pattern(_) => "pattern",
            Self::Path(_) | Self::PathFunction => "path",
        }
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::UnknownName { nearest, .. } => return nearest.as_ref().map(|name| format!("did you mean `{name}`?")),
            Self::UnknownEscape => r"write `\\` for a backslash",
            Self::TooLong | Self::TooDeep | Self::TooMany => "split it into several conditions",
            Self::TypeAsValue(_) => "write `` `type` `` for a fact of that name",
            Self::PathFunction => "filter with `matches`",
            Self::Syntax { .. }
            | Self::Literal(_)
            | Self::Result { .. }
            | Self::Type(_)
            | Self::Arguments(_)
            | Self::Pattern(_)
            | Self::Path(_) => return None,
        };
        Some(help.to_owned())
    }

    pub(crate) fn at(self, span: Span) -> Located {
        Located { fault: self, span }
    }
}

/// A fault and where it is, before the line it stands on is known.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) fault: Fault,
    pub(crate) span: Span,
}

/// Why a predicate could not be loaded, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at line {line}, column {column}")]
pub struct CompileError {
    pub fault: Fault,
    pub span: Span,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    text: String,
}

impl CompileError {
    pub(crate) fn new(source: &str, located: Located) -> Self {
        let Located { fault, span } = located;
        let before = source.get(..span.start).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = source.get(line_start..).unwrap_or_default();
        Self {
            fault,
            span,
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            text: rest.lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// A short stable name for the kind of fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.fault.code()
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.fault.help()
    }

    /// The line the fault is on, and under it carets at the place.
    #[must_use]
    pub fn caret(&self) -> String {
        let rest = self.text.chars().count().saturating_sub(self.column - 1);
        // The span is in bytes and may end on a later line; carets stay under this one.
        let width = (self.span.end - self.span.start).clamp(1, rest.max(1));
        let indent: String =
            // A tab stays one, so the carets line up however wide the terminal shows it.
            self.text.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{indent}{}", self.text, "^".repeat(width))
    }
}

/// A fact that an answer would have needed, and why it cannot be used.
///
/// Receipts of decisions quote its text, and the texts of [`Why`] and [`Failure`]: a decision that is replayed compares
/// them, so they do not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Where the fact should be, such as `order.items[2].price`.
    pub path: String,
    pub why: Why,
}

/// Why a fact cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("is absent")]
    Absent,
    #[error("is of type {found}, expected {expected}")]
    WrongType { expected: &'static str, found: &'static str },
    #[error("cannot be computed: {0}")]
    Failed(Failure),
}

/// Why a value cannot be computed from the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Integer arithmetic left 64 bits, or a conversion does not fit.
    #[error("the number does not fit 64 bits")]
    Overflow,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the decimal is too precise or out of range")]
    Inexact,
    #[error("the text does not have the form the conversion needs")]
    Conversion,
    #[error("the time is out of range")]
    Time,
    #[error("a key is there twice")]
    DuplicateKey,
    #[error("the evaluation takes more than {MAX_STEPS} steps")]
    StepLimit,
    /// The evaluations of the request took more steps than its [`crate::Budget`] has, which is this many.
    #[error("the conditions of the request take more than {0} steps together; ask about fewer or smaller facts")]
    BudgetLimit(u64),
    #[error("the evaluation was stopped")]
    Stopped,
    /// A string, list or nesting grew past its limit.
    #[error("a value is longer or nested deeper than allowed")]
    SizeLimit,
}

impl Failure {
    /// Whether a limit ended the evaluation, whatever the facts are.
    #[must_use]
    pub fn is_limit(self) -> bool {
        match self {
            Self::StepLimit | Self::BudgetLimit(_) | Self::Stopped | Self::SizeLimit => true,
            Self::Overflow
            | Self::DivisionByZero
            | Self::Inexact
            | Self::Conversion
            | Self::Time
            | Self::DuplicateKey => false,
        }
    }

    /// A short stable name for the failure.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::DivisionByZero => "division_by_zero",
            Self::Inexact => "inexact",
            Self::Conversion => "conversion",
            Self::Time => "time",
            Self::DuplicateKey => "duplicate_key",
            Self::StepLimit => "step_limit",
            Self::BudgetLimit(_) => "budget_limit",
            Self::Stopped => "stopped",
            Self::SizeLimit => "size_limit",
        }
    }
}

impl Why {
    /// A short stable name for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::WrongType { .. } => "wrong_type",
            Self::Failed(failure) => failure.code(),
        }
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("compute a value: {}", join(missing))]
pub struct UnknownError {
    /// The facts it would have needed.
    pub missing: Vec<Missing>,
}

fn join(missing: &[Missing]) -> String {
    let parts: Vec<_> = missing.iter().map(ToString::to_string).collect();
    parts.join(", ")
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}

/// How many characters of a name a message shows.
const MAX_NAME_CHARS: usize = 64;

/// A name as a message shows it: without control characters, cut at [`MAX_NAME_CHARS`].
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => escaped(name.get(..end).unwrap_or_default()) + "…",
        None => escaped(name),
    }
}

/// A path as a reason names it: without control characters, cut at [`MAX_REASON_BYTES`], so that hostile facts cannot make
/// a reason long.
pub(crate) fn shorten(path: String) -> String {
    let mut path = if path.contains(char::is_control) { escaped(&path) } else { path };
    if path.len() > MAX_REASON_BYTES {
        // After the escaping, which makes a text longer.
        path.truncate(path.floor_char_boundary(MAX_REASON_BYTES));
        path.push('…');
    }
    path
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_control() { escaped.extend(letter.escape_default()) } else { escaped.push(letter) }
    }
    escaped
}
