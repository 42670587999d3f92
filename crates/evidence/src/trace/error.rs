use std::fmt;

use proofmark_receipt::document::shown;
use thiserror::Error;

use super::{MAX_CALLS, MAX_RECORDS, MAX_TRACE_BYTES};

/// Why a trace cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {fault}")]
pub struct TraceError {
    /// Where.
    pub place: TracePlace,
    /// What is wrong.
    pub fault: TraceFault,
}

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// The trace as a whole.
    Whole,
    /// A line and column of the text, from 1.
    Text {
        /// The line.
        line: u64,
        /// The column, in characters.
        column: u64,
    },
    /// A record of a list, from 0.
    Record(usize),
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceFault {
    /// More bytes than are read.
    #[error("the trace has {0} bytes, more than the {MAX_TRACE_BYTES} that are read; record one run per file")]
    TooLarge(usize),
    /// More records than are read.
    #[error("the trace has more than {MAX_RECORDS} records; record one run per file")]
    TooManyRecords,
    /// More calls than are read.
    #[error("the trace has more than {MAX_CALLS} calls; record one run per file")]
    TooManyCalls,
    /// Nothing was recorded.
    #[error("the trace is empty; record an empty list where no call was made")]
    Empty,
    /// The end is missing.
    #[error("the trace is cut off here; record it anew")]
    CutOff,
    /// Not JSON.
    #[error("the trace cannot be read: {0}")]
    NotJson(String),
    /// Of no known form.
    #[error(
        "this is no record of a known form; record OpenAI, Anthropic or MCP messages, GenAI spans, or `{{\"name\", \"args\", \"result\"}}` lines"
    )]
    UnknownForm,
    /// Of two forms at once.
    #[error("this is a record of the form `{found}` in a trace of the form `{form}`; record one form per file")]
    MixedForms {
        /// The form of the trace.
        form: &'static str,
        /// The form of the record.
        found: &'static str,
    },
    /// A record of the form is not as it should be.
    #[error("{0}; record it anew")]
    Malformed(String),
    /// A result of a call nobody made.
    #[error("there is a result for call `{}`, which was never made; is the beginning missing?", shown(.0))]
    ResultWithoutCall(String),
    /// Two calls that cannot be told apart.
    #[error("call `{}` is made again before its result came; the two cannot be told apart", shown(.0))]
    DuplicateCall(String),
}

impl TraceError {
    /// The name of the error, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self.fault {
            TraceFault::TooLarge(_) => "trace_too_large",
            TraceFault::TooManyRecords | TraceFault::TooManyCalls => "trace_too_long",
            TraceFault::Empty => "trace_empty",
            TraceFault::CutOff => "trace_cut_off",
            TraceFault::NotJson(_) => "trace_not_json",
            TraceFault::UnknownForm => "trace_unknown_form",
            TraceFault::MixedForms { .. } => "trace_mixed_forms",
            TraceFault::Malformed(_) => "trace_malformed",
            TraceFault::ResultWithoutCall(_) => "trace_result_without_call",
            TraceFault::DuplicateCall(_) => "trace_duplicate_call",
        }
    }

    /// The line and column, where the place is one.
    pub fn line_and_column(&self) -> Option<(u64, u64)> {
        match self.place {
            TracePlace::Text { line, column } => Some((line, column)),
            TracePlace::Whole | TracePlace::Record(_) => None,
        }
    }

    pub(super) fn whole(fault: TraceFault) -> Self {
        Self { place: TracePlace::Whole, fault }
    }
}

impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the trace"),
            Self::Text { line, column } => write!(f, "line {line}, column {column}"),
            Self::Record(index) => write!(f, "record [{index}]"),
        }
    }
}
