//! Texts that commands read, and errors that show the place in them.

use std::path::Path;

use proofmark_boundary::{ActionPolicyError, ParseDecisionError};
use proofmark_evidence::trace::{TraceError, TracePlace};
use proofmark_receipt::ReceiptError;
use proofmark_receipt::document::{DocumentError, Format, Place, line_and_column, parse_with_places};
use proofmark_receipt::json::JsonError;

use proofmark_decider::DecideError;
use proofmark_verifier::{AcceptError, PresentedError};

use crate::excerpt;
use crate::paint::printable;

/// What standard input is called in messages.
pub(crate) const STDIN: &str = "standard input";

/// A text that was read, and what messages call it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    /// The file.
    pub(crate) label: &'t str,
    /// The line of the file at which the text begins, from 1.
    pub(crate) line: u64,
    pub(crate) text: &'t [u8],
    pub(crate) format: Format,
}

/// What is wrong with a text, and what to do about it.
pub(crate) struct Fault {
    place: Place,
    code: &'static str,
    message: String,
    help: Option<String>,
}

/// An error in a text. Its message completes "failed to …" and names the place; [`SourceError::caret`] shows it.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {}: {message}", printable(&self.label()))]
pub(crate) struct SourceError {
    /// What failed: `read the request`.
    pub(crate) doing: String,
    pub(crate) file: String,
    /// Line and column, counted from 1; `None` for the text as a whole.
    pub(crate) place: Option<(u64, u64)>,
    /// A name for programs, which does not change.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The line of the place, and a caret below the column.
    pub(crate) caret: Option<String>,
}

impl Source<'_> {
    /// The error that `fault` is in this text; `doing` is what failed: `read the request`.
    pub(crate) fn error(&self, doing: &str, fault: impl Into<Fault>) -> anyhow::Error {
        self.refusal(doing, fault).into()
    }

    /// As [`Source::error`], as it is.
    pub(crate) fn refusal(&self, doing: &str, fault: impl Into<Fault>) -> SourceError {
        self.refusal_with(doing, fault, |path| self.locate(path))
    }

    /// As [`Source::refusal`], where the place of a field is known otherwise.
    pub(crate) fn refusal_with(
        &self,
        doing: &str,
        fault: impl Into<Fault>,
        locate: impl FnOnce(&str) -> Option<(u64, u64)>,
    ) -> SourceError {
        let Fault { place, code, message, help } = fault.into();
        let (place, message) = match place {
            // Where it begins, if it can be parsed at all.
            Place::Whole => (locate(""), message),
            // The label names line and column; a message repeats only the field, which the label lacks.
            Place::Text { line, column } => (Some(self.before_the_end(line, column)), message),
            // Some messages are about the field and name it themselves.
            Place::Field(path) if message.contains(&format!("`{path}`")) => (locate(&path), message),
            Place::Field(path) => (locate(&path), format!("`{path}`: {message}")),
        };
        let caret = place.and_then(|(line, column)| {
            let index = usize::try_from(line.checked_sub(1)?).ok()?;
            // The fault may be that the text is invalid UTF-8.
            Some(excerpt::caret(String::from_utf8_lossy(self.text).lines().nth(index)?, column))
        });
        let place = place.map(|(line, column)| (line.saturating_add(self.line).saturating_sub(1), column));
        let (doing, file, code) = (doing.to_owned(), self.label.to_owned(), code.to_owned());
        SourceError { doing, file, place, code, message, help, caret }
    }

    /// A place after the last line as the end of that line: a text that is cut off is shown where it was cut.
    fn before_the_end(&self, line: u64, column: u64) -> (u64, u64) {
        let text = self.text.trim_ascii_end();
        let (last, after) = line_and_column(self.text, text.len());
        if line > last && !text.is_empty() { (last, after) } else { (line, column) }
    }

    /// The line and column, from 1, of the field `path`, or of the nearest value around it. `None` where the text cannot be
    /// parsed.
    pub(crate) fn locate(&self, path: &str) -> Option<(u64, u64)> {
        // The text is parsed again, and only for errors: documents without one pay nothing for places.
        let (json, places) = parse_with_places(self.text, self.format).ok()?;
        places.find(&json, path).map(|start| line_and_column(self.text, start))
    }
}

impl SourceError {
    /// `file:line:column`, as far as they are known.
    fn label(&self) -> String {
        self.place.map_or_else(|| self.file.clone(), |(line, column)| format!("{}:{line}:{column}", self.file))
    }

    /// The line, and a caret below the column.
    pub(crate) fn caret(&self) -> Option<String> {
        self.caret.clone()
    }

    pub(crate) fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// The notation of a file, by its name. YAML includes what JSON can say, so a name with another ending or none is read as
/// YAML.
pub(crate) fn format_of(path: &Path) -> Format {
    if path.extension().is_some_and(|extension| extension == "json") { Format::Json } else { Format::Yaml }
}

/// The notation of a text without a name: what begins with a brace is JSON, since YAML in flow style is JSON here.
pub(crate) fn format_of_text(text: &[u8]) -> Format {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Format::Json,
        Some(_) | None => Format::Yaml,
    }
}

impl From<&DocumentError> for Fault {
    fn from(error: &DocumentError) -> Fault {
        let (code, message) = (error.code(), error.message().to_owned());
        Fault { place: error.place().clone(), code, message, help: error.help() }
    }
}

impl From<&JsonError> for Fault {
    fn from(error: &JsonError) -> Fault {
        let place = Place::Text { line: error.line, column: error.column };
        let help = error.help().or_else(|| Some("write valid JSON".to_owned()));
        Fault { place, code: error.code(), message: error.kind.to_string(), help }
    }
}

impl From<&ReceiptError> for Fault {
    fn from(error: &ReceiptError) -> Fault {
        let field = match error {
            ReceiptError::MissingField { field }
            | ReceiptError::WrongType { field, .. }
            | ReceiptError::UnsignedMember { field }
            | ReceiptError::Timestamp { field, .. }
            | ReceiptError::UnknownStatus { field, .. }
            | ReceiptError::UnknownDecided { field, .. }
            | ReceiptError::Hash { field, .. }
            | ReceiptError::CountOutOfRange { field, .. } => field,
            ReceiptError::UnsupportedVersion(_) => "vrf_version",
            ReceiptError::WrongFormat { .. } => "format",
            ReceiptError::ReceiptId(_) => "receipt_id",
            ReceiptError::TierOutOfRange(_) => "tier",
            ReceiptError::UnknownVerdict(_) | ReceiptError::VerdictMismatch { .. } => "verdict",
            ReceiptError::TotalMismatch { .. } => "results.total",
            ReceiptError::DetailsMismatch { .. } => "results.details",
            ReceiptError::Json(error) => return error.into(),
        };
        let place = Place::Field(field.to_owned());
        Fault { place, code: error.code(), message: error.to_string(), help: issued() }
    }
}

impl From<&ParseDecisionError> for Fault {
    fn from(error: &ParseDecisionError) -> Fault {
        let field = match error {
            ParseDecisionError::Json(error) => return error.into(),
            ParseDecisionError::Type => "receipt_type",
            ParseDecisionError::Missing(field) => field,
            ParseDecisionError::Contradiction(field) => field,
        };
        let help = error.help().map(str::to_owned).or_else(issued);
        Fault { place: Place::Field(field.to_owned()), code: error.code(), message: error.to_string(), help }
    }
}

impl From<&TraceError> for Fault {
    fn from(error: &TraceError) -> Fault {
        let place = match error.place {
            TracePlace::Whole => Place::Whole,
            TracePlace::Text { line, column } => Place::Text { line, column },
            TracePlace::Record { list, index } => Place::Field(format!("{list}[{index}]")),
        };
        let help = error.help().or_else(|| Some("write valid JSON".to_owned()));
        Fault { place, code: error.code(), message: error.fault.to_string(), help }
    }
}

impl From<&ActionPolicyError> for Fault {
    fn from(error: &ActionPolicyError) -> Fault {
        match error {
            ActionPolicyError::Document(error) => error.into(),
            ActionPolicyError::Predicate { at, error: compile } => {
                // The field is part of the place; the rest of the message shows the column in the condition.
                let message = format!("{compile}\n{}", compile.caret());
                let help = error.help().map(|help| help.to_string());
                Fault { place: Place::Field(at.clone()), code: error.code(), message, help }
            }
        }
    }
}

/// A receipt is signed, so no advice is to edit it.
fn issued() -> Option<String> {
    Some("give the receipt that was issued".to_owned())
}

/// The error that names the place in a presented receipt, where that is what a judgment or decision failed for.
pub(crate) fn in_presented(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    let presented = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(AcceptError::Presented(presented)), _) | (_, Some(DecideError::Presented(presented))) => presented,
        (_, _) => return error,
    };
    let PresentedError::NoReceipt { path, line, text, error: cause } = presented else { return error };
    let label = path.display().to_string();
    let source = Source { label: &label, line: *line, text, format: Format::Json };
    SourceError { help: presented.help(), ..source.refusal("read the receipt", &**cause) }.into()
}

impl Fault {
    /// A fault of the text as a whole.
    pub(crate) fn whole(code: &'static str, message: String, help: impl Into<String>) -> Fault {
        Fault { place: Place::Whole, code, message, help: Some(help.into()) }
    }

    /// A fault of the field at this path.
    pub(crate) fn at(path: &str, code: &'static str, message: String, help: Option<String>) -> Fault {
        Fault { place: Place::Field(path.to_owned()), code, message, help }
    }
}
