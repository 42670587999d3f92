//! Tells which form a trace has.

use proofmark_receipt::{Json, Object};

use super::error::{TraceError, TraceFault};
use super::records::{self, Record};
use super::{Form, mcp};

/// The form of a trace.
///
/// # Errors
/// [`TraceError`] when it is damaged, of no known form, or of two at once.
pub fn detect(bytes: &[u8]) -> Result<Form, TraceError> {
    of_records(&records::split(bytes)?)
}

/// What a record says about the form of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It is of this form.
    Of(Form),
    /// It is a message without calls, which several forms write alike.
    Message,
}

pub(super) fn of_records(records: &[Record]) -> Result<Form, TraceError> {
    let mut form = None;
    let mut messages = false;
    for record in records {
        match (sign(record)?, form) {
            (Sign::Message, _) => messages = true,
            (Sign::Of(found), None) => form = Some(found),
            (Sign::Of(found), Some(form)) if found == form => {}
            (Sign::Of(found), Some(form)) => {
                return Err(record.error(TraceFault::MixedForms { form: form.as_str(), found: found.as_str() }));
            }
        }
    }
    let fits = |form: &Form| !messages || matches!(form, Form::OpenAiChat | Form::OpenAiResponses | Form::Anthropic);
    match form {
        Some(form) if fits(&form) => Ok(form),
        Some(form) => Err(TraceError::whole(TraceFault::MixedForms { form: form.as_str(), found: "messages" })),
        None if messages => Ok(Form::OpenAiChat),
        None => Ok(Form::Plain),
    }
}

fn sign(record: &Record) -> Result<Sign, TraceError> {
    let object = record.object()?;
    let text = |name: &str| object.get(name).and_then(Json::as_str);
    if mcp::rpc(object).contains("jsonrpc") {
        return Ok(Sign::Of(Form::Mcp));
    }
    if is_span(object) {
        return Ok(Sign::Of(Form::OpenTelemetry));
    }
    if is_transcript_entry(object) {
        return Ok(Sign::Of(Form::ClaudeCode));
    }
    if text("role").is_some() {
        return Ok(message(object));
    }
    if text("type").is_some_and(is_response_item) {
        return Ok(Sign::Of(Form::OpenAiResponses));
    }
    if text("name").or_else(|| text("tool")).is_some() {
        return Ok(Sign::Of(Form::Plain));
    }
    Err(record.error(TraceFault::UnknownForm))
}

fn is_span(object: &Object) -> bool {
    let identified = ["spanId", "span_id", "traceId", "trace_id", "context"].iter().any(|name| object.contains(name));
    object.contains("resourceSpans") || (identified && (object.contains("attributes") || object.contains("kind")))
}

fn is_transcript_entry(object: &Object) -> bool {
    let kind = object.get("type").and_then(Json::as_str);
    let identified = ["sessionId", "session_id", "uuid", "leafUuid"].iter().any(|name| object.contains(name));
    match kind {
        Some("user" | "assistant") => {
            identified || object.get("message").is_some_and(|message| message.as_object().is_some())
        }
        Some(
            "summary" | "system" | "result" | "progress" | "attachment" | "file-history-snapshot" | "queue-operation",
        ) => identified || object.contains("summary") || object.contains("snapshot") || object.contains("operation"),
        Some(_) => identified,
        None => false,
    }
}

fn is_response_item(kind: &str) -> bool {
    kind.ends_with("_call")
        || kind.ends_with("_call_output")
        || matches!(kind, "message" | "reasoning" | "item_reference")
}

fn message(object: &Object) -> Sign {
    let role = object.get("role").and_then(Json::as_str);
    if matches!(role, Some("tool" | "function")) || object.contains("tool_calls") || object.contains("function_call") {
        return Sign::Of(Form::OpenAiChat);
    }
    let kinds = object.get("content").and_then(Json::as_array).unwrap_or_default().iter();
    let kinds = kinds.filter_map(|block| block.as_object()?.get("type")?.as_str());
    for kind in kinds {
        if kind.ends_with("tool_use") || kind.ends_with("tool_result") {
            return Sign::Of(Form::Anthropic);
        }
        if matches!(kind, "input_text" | "output_text" | "input_image") {
            return Sign::Of(Form::OpenAiResponses);
        }
    }
    Sign::Message
}
