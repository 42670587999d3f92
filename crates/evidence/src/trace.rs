//! Recorded tool calls, in the forms in which orchestrators record them.

mod agentdojo;
mod anthropic;
mod claude_code;
mod codex;
mod collect;
mod copilot;
mod detect;
mod error;
mod failures;
mod gemini;
mod gemini_cli;
mod langchain;
mod mcp;
mod openai_chat;
mod openai_responses;
mod otel;
mod outcome;
mod plain;
mod records;
mod requests;
mod session;

pub use detect::detect;
pub use error::{TraceError, TraceFault, TracePlace};
pub use requests::UserRequest;

use std::fmt;

use proofmark_receipt::json::MAX_NODES;
use proofmark_receipt::{Object, Sha256Digest};

use crate::call::Call;
use records::Record;

/// The longest trace, in bytes (32 MiB).
pub const MAX_TRACE_BYTES: usize = 32 << 20;
/// The most values of a record.
const MAX_TRACE_NODES: usize = 8 * MAX_NODES;
/// How deep a record may nest.
pub const MAX_TRACE_DEPTH: usize = 96;
/// The most records a trace may have.
pub const MAX_RECORDS: usize = 200_000;
/// The most calls a trace may have.
pub const MAX_CALLS: usize = 20_000;

/// A form in which orchestrators record tool calls: a row of [`FORMS`].
pub struct Form {
    name: &'static str,
    /// Where a document of this form holds its records. Each name belongs to one form.
    lists: &'static [&'static str],
    /// Whether its records may be messages without calls, which several forms write alike.
    has_messages: bool,
    recognizes: fn(&Object) -> bool,
    /// The calls that were recorded, in the order they were made.
    calls: fn(&[Record]) -> Result<Vec<Call>, TraceError>,
}

/// All forms. A record is of the first one that recognizes it, so a form whose records look like those of another comes
/// before it.
pub static FORMS: [&Form; 14] = [
    &session::FORM,
    &codex::FORM,
    &copilot::FORM,
    &gemini_cli::FORM,
    &mcp::FORM,
    &otel::FORM,
    &claude_code::FORM,
    &gemini::FORM,
    &langchain::FORM,
    &agentdojo::FORM,
    &openai_chat::FORM,
    &anthropic::FORM,
    &openai_responses::FORM,
    // The last one: spans and items of other forms have a `name` too, as its calls do.
    &plain::FORM,
];

/// The recorded calls of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub form: &'static Form,
    /// The calls, in the order they were made.
    pub calls: Vec<Call>,
    /// What the user asked for, in order; empty where the form does not say who wrote what.
    pub requests: Vec<UserRequest>,
    /// How many records there were.
    pub records: usize,
    /// SHA-256 of the bytes.
    pub digest: Sha256Digest,
}

impl Form {
    /// Its name, as in `trace_form` of a judgment.
    pub fn as_str(&self) -> &'static str {
        self.name
    }
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Trace {
    /// The form and the counts, for people.
    pub fn summary(&self) -> String {
        let (records, calls) = (counted(self.records, "record"), counted(self.calls.len(), "call"));
        format!("{}: {records}, {calls}", self.form.as_str())
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Reads a trace: one JSON document, or one record per line.
///
/// # Errors
/// [`TraceError`] when it is damaged, cut off, too large, or of no known form. Half a trace is refused: what is missing
/// could be the call that matters.
pub fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    let records = records::split(bytes)?;
    let form = detect::of_records(&records)?;
    read_records(bytes, records, form)
}

/// Reads a trace in a form the caller names.
///
/// # Errors
/// As [`read`].
pub fn read_as(bytes: &[u8], form: &'static Form) -> Result<Trace, TraceError> {
    let records = records::split(bytes)?;
    read_records(bytes, records, form)
}

fn read_records(bytes: &[u8], records: Vec<Record>, form: &'static Form) -> Result<Trace, TraceError> {
    let (calls, requests) = ((form.calls)(&records)?, requests::of(&records));
    // Over the bytes as given: a receipt names this digest as `trace_digest`, and anyone who has the file can check it.
    Ok(Trace { form, calls, requests, records: records.len(), digest: Sha256Digest::of(bytes) })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_and_a_list_belong_to_one_form() {
        let mut names = HashSet::new();
        assert!(FORMS.iter().all(|form| names.insert(form.name)));
        let mut lists = HashSet::new();
        assert!(FORMS.iter().flat_map(|form| form.lists).all(|list| lists.insert(list)));
    }
}
