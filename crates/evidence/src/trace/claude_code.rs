//! Claude Code transcripts: one entry per line, with an Anthropic message in those of the user and the assistant.

use std::collections::HashSet;

use proofmark_receipt::{Json, Object};

use super::collect::Calls;
use super::error::TraceError;
use super::records::Record;
use super::{Form, anthropic};
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "claude_code", lists: &[], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let identified = ["sessionId", "session_id", "uuid", "leafUuid"].iter().any(|name| record.contains(name));
    match record.get("type").and_then(Json::as_str) {
        Some("user" | "assistant") => {
            identified || record.get("message").is_some_and(|message| message.as_object().is_some())
        }
        Some(
            "summary" | "system" | "result" | "progress" | "attachment" | "file-history-snapshot" | "queue-operation",
        ) => identified || record.contains("summary") || record.contains("snapshot") || record.contains("operation"),
        Some(_) => identified,
        None => false,
    }
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    let mut seen = HashSet::new();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let kind = entry.get("type").and_then(Json::as_str);
        let kind = kind.ok_or_else(|| record.malformed("this entry has no `type`"))?;
        if !matches!(kind, "user" | "assistant") {
            continue;
        }
        // A resumed session repeats its entries.
        if entry.get("uuid").and_then(Json::as_str).is_some_and(|uuid| !seen.insert(uuid)) {
            continue;
        }
        let message = entry.get("message").and_then(Json::as_object);
        let message = message.ok_or_else(|| record.malformed("this entry has no `message`"))?;
        let at = entry.get("timestamp").and_then(Json::as_str);
        anthropic::message(&mut calls, record, position, message, at)?;
    }
    Ok(calls.finish())
}
