//! Why a trace cannot be read, where, and what to record instead.

use std::fmt;

use proofmark_receipt::document::shown;
use thiserror::Error;

use super::{FORMS, MAX_CALLS, MAX_RECORDS, MAX_TRACE_BYTES};

/// Why a trace cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {fault}")]
pub struct TraceError {
    pub place: TracePlace,
    pub fault: TraceFault,
}

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// The trace as a whole.
    Whole,
    /// A line and a column of the text, both from 1; the column in characters.
    Text { line: u64, column: u64 },
    /// A record of a list, from 0. The name is that of the field with the list; empty where the trace itself is the list.
    Record { list: &'static str, index: usize },
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceFault {
    #[error("{0} bytes exceed the limit of {MAX_TRACE_BYTES}")]
    TooLarge(usize),
    #[error("more than {MAX_RECORDS} records")]
    TooManyRecords,
    #[error("more than {MAX_CALLS} calls")]
    TooManyCalls,
    #[error("nothing was recorded")]
    Empty,
    #[error("the trace is cut off here")]
    CutOff,
    #[error("invalid JSON: {0}")]
    NotJson(String),
    #[error("a record of no known form")]
    UnknownForm,
    #[error("a record of the form `{found}` in a trace of the form `{form}`")]
    MixedForms { form: &'static str, found: &'static str },
    /// A record that its form does not allow.
    #[error("{0}")]
    Malformed(String),
    #[error("a result for call `{}`, which was never made", shown(.0))]
    ResultWithoutCall(String),
    #[error("call `{}` is made again before its result came, so the two cannot be told apart", shown(.0))]
    DuplicateCall(String),
}

impl TraceFault {
    /// What to record instead.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::TooLarge(_) | Self::TooManyRecords | Self::TooManyCalls => "record one run per file",
            Self::Empty => "record an empty list when no call was made",
            Self::CutOff | Self::Malformed(_) => "record the run again, as a whole",
            Self::UnknownForm => {
                let names: Vec<_> = FORMS.iter().map(|form| format!("`{}`", form.as_str())).collect();
                return Some(format!(
                    "record one of the forms {}; the last is `{{\"name\", \"args\", \"result\"}}` lines",
                    names.join(", ")
                ));
            }
            Self::MixedForms { .. } => "record one form per file",
            Self::ResultWithoutCall(_) => "check whether the beginning of the trace is missing",
            Self::DuplicateCall(_) => "give each call an id of its own",
            Self::NotJson(_) => return None,
        };
        Some(help.to_owned())
    }
}

impl TraceError {
    /// What to record instead.
    pub fn help(&self) -> Option<String> {
        self.fault.help()
    }

    /// A stable name for programs.
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
            TracePlace::Whole | TracePlace::Record { .. } => None,
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
            Self::Record { list, index } => write!(f, "record {list}[{index}]"),
        }
    }
}
