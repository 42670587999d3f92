//! Recorded tool calls, in the forms orchestrators record them in.

mod anthropic;
mod claude_code;
mod collect;
mod detect;
mod error;
mod mcp;
mod openai_chat;
mod openai_responses;
mod otel;
mod outcome;
mod plain;
mod records;

pub use detect::detect;
pub use error::{TraceError, TraceFault, TracePlace};

use proofmark_receipt::Sha256Digest;

use crate::call::Call;
use records::Record;

/// The longest trace, in bytes (32 MiB).
pub const MAX_TRACE_BYTES: usize = 32 << 20;
/// How deep a record may nest.
pub const MAX_TRACE_DEPTH: usize = 96;
/// The most records a trace may have.
pub const MAX_RECORDS: usize = 200_000;
/// The most calls a trace may have.
pub const MAX_CALLS: usize = 20_000;

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Messages of OpenAI's chat completions.
    OpenAiChat,
    /// Items of OpenAI's responses.
    OpenAiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// OpenTelemetry spans with GenAI attributes.
    OpenTelemetry,
    /// JSON-RPC messages of MCP.
    Mcp,
    /// Transcripts of Claude Code.
    ClaudeCode,
    /// One call per record.
    Plain,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The form it was read in.
    pub form: Form,
    /// The calls, in the order they were made.
    pub calls: Vec<Call>,
    /// How many records there were.
    pub records: usize,
    /// SHA-256 of the bytes.
    pub digest: Sha256Digest,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 7] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::OpenTelemetry,
        Self::Mcp,
        Self::ClaudeCode,
        Self::Plain,
    ];

    /// The word: `openai_chat`, `openai_responses`, `anthropic`, `otel`, `mcp`, `claude_code` or `plain`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::OpenTelemetry => "otel",
            Self::Mcp => "mcp",
            Self::ClaudeCode => "claude_code",
            Self::Plain => "plain",
        }
    }
}

impl Trace {
    /// What was read, in a few words.
    pub fn summary(&self) -> String {
        format!("{}: {} records, {} calls", self.form.as_str(), self.records, self.calls.len())
    }
}

/// Reads a trace: one JSON document, or one record per line.
///
/// # Errors
/// [`TraceError`] when it is damaged, cut off, too large, or of no known form. Half a trace is no trace: what is
/// missing could be the call that matters.
pub fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    let records = records::split(bytes)?;
    let form = detect::of_records(&records)?;
    read_records(bytes, records, form)
}

/// Reads a trace in a form the caller names.
///
/// # Errors
/// As [`read`].
pub fn read_as(bytes: &[u8], form: Form) -> Result<Trace, TraceError> {
    let records = records::split(bytes)?;
    read_records(bytes, records, form)
}

fn read_records(bytes: &[u8], records: Vec<Record>, form: Form) -> Result<Trace, TraceError> {
    let calls = match form {
        Form::OpenAiChat => openai_chat::calls(&records)?,
        Form::OpenAiResponses => openai_responses::calls(&records)?,
        Form::Anthropic => anthropic::calls(&records)?,
        Form::OpenTelemetry => otel::calls(&records)?,
        Form::Mcp => mcp::calls(&records)?,
        Form::ClaudeCode => claude_code::calls(&records)?,
        Form::Plain => plain::calls(&records)?,
    };
    Ok(Trace { form, calls, records: records.len(), digest: Sha256Digest::of(bytes) })
}
