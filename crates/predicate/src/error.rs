//! What can be wrong with a predicate when it is loaded, and what can be missing when it is asked.

use std::fmt;

use crate::limits::{
    MAX_DEPTH, MAX_PATH_BYTES, MAX_PATH_NESTING, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_REASON_BYTES, MAX_SOURCE_BYTES,
    MAX_STEPS,
};

/// A range of bytes in the source of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What is wrong with a predicate that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The text is not an expression.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What may stand here.
        expected: String,
        /// What does stand here.
        found: String,
    },
    /// A literal that has no value, such as an unknown escape or a number out of range.
    #[error("{0}")]
    Literal(String),
    /// The source is longer than [`MAX_SOURCE_BYTES`].
    #[error("the predicate is longer than {MAX_SOURCE_BYTES} bytes; split it into several")]
    TooLong,
    /// The expression nests deeper than [`MAX_DEPTH`].
    #[error("the expression is nested deeper than {MAX_DEPTH} levels; split it into several")]
    TooDeep,
    /// The predicate has more than [`MAX_PATTERNS`] patterns and paths.
    #[error("the predicate has more than {MAX_PATTERNS} patterns and paths; split it into several")]
    TooMany,
    /// A name the schema does not have, or a function that does not exist.
    #[error("unknown {what} `{name}`{}", suggestion(.nearest))]
    UnknownName {
        /// `fact`, `field`, `function` or `method`.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The known name nearest to it.
        nearest: Option<String>,
    },
    /// The whole expression comes to another type than the one it is for.
    #[error("the expression comes to {found}, and a {wanted} is needed here")]
    Result {
        /// What it comes to.
        found: String,
        /// The name of the type that is needed.
        wanted: &'static str,
    },
    /// An operation that cannot succeed whatever the facts are.
    #[error("{0}")]
    Type(String),
    /// A function called with the wrong number of arguments, or arguments of the wrong shape.
    #[error("{0}")]
    Arguments(String),
    /// A `matches` pattern that is not a regular expression, or too large a one.
    #[error("the pattern cannot be used: {0}; it may have {MAX_PATTERN_BYTES} bytes")]
    Pattern(String),
    /// A JSONPath query that is malformed or too large.
    #[error("the path cannot be used: {0}; it may have {MAX_PATH_BYTES} bytes and {MAX_PATH_NESTING} open brackets")]
    Path(String),
}

impl Fault {
    /// A short stable name for the kind of fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "syntax",
            Self::Literal(_) => "literal",
            Self::TooLong => "too_long",
            Self::TooDeep => "too_deep",
            Self::TooMany => "too_many",
            Self::UnknownName { .. } => "unknown_name",
            Self::Type(_) | Self::Result { .. } => "type",
            Self::Arguments(_) => "arguments",
            Self::Pattern(_) => "pattern",
            Self::Path(_) => "path",
        }
    }

    pub(crate) fn at(self, span: Span) -> Located {
        Located { fault: self, span }
    }
}

fn suggestion(name: &Option<String>) -> String {
    match name {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
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
#[error("failed to read the predicate at line {line}, column {column}: {fault}")]
pub struct CompileError {
    /// What is wrong.
    pub fault: Fault,
    /// The bytes it is about.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
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

    /// The line the fault is on, and under it carets at the place.
    #[must_use]
    pub fn caret(&self) -> String {
        let rest = self.text.chars().count().saturating_sub(self.column - 1);
        let width = (self.span.end - self.span.start).clamp(1, rest.max(1));
        let indent: String =
            self.text.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{indent}{}", self.text, "^".repeat(width))
    }
}

/// A fact an answer would have needed, and what is the matter with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Where the fact should be, such as `order.items[2].price`.
    pub path: String,
    /// What is the matter with it.
    pub why: Why,
}

/// What is the matter with a fact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is not there.
    #[error("is absent")]
    Absent,
    /// It is of a type the operation does not take.
    #[error("is of type {found}, expected {expected}")]
    WrongType {
        /// What the operation takes.
        expected: &'static str,
        /// The type of the fact.
        found: &'static str,
    },
    /// It cannot be computed.
    #[error("cannot be computed: {0}")]
    Failed(Failure),
}

/// Why a value cannot be computed from facts that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Integer arithmetic left 64 bits, or a conversion does not fit.
    #[error("the number does not fit 64 bits")]
    Overflow,
    /// A division or remainder by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A decimal cannot be held exactly.
    #[error("the decimal is too precise or out of range")]
    Inexact,
    /// A text does not have the form a conversion needs.
    #[error("the text does not have the form the conversion needs")]
    Conversion,
    /// A time is out of range.
    #[error("the time is out of range")]
    Time,
    /// A map literal has the same key twice.
    #[error("a key is there twice")]
    DuplicateKey,
    /// The evaluation took more than [`MAX_STEPS`] steps.
    #[error("the evaluation takes more than {MAX_STEPS} steps")]
    StepLimit,
    /// The evaluations of the request took more steps than its [`crate::Budget`] has, which is this many.
    #[error("the conditions of the request take more than {0} steps together; ask about fewer or smaller facts")]
    BudgetLimit(u64),
    /// The [`crate::Budget`] was stopped.
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

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}

/// Cuts a text at [`MAX_REASON_BYTES`], so that hostile facts cannot swell a reason.
pub(crate) fn shorten(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        text.truncate(text.floor_char_boundary(MAX_REASON_BYTES));
        text.push('…');
    }
    text
}
