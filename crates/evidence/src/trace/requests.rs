//! What the user asked for, as far as a trace says who wrote what.

use proofmark_receipt::{Json, Object};
use proofmark_session::{Entry, Event, SESSION_ENTRY};

use super::langchain;
use super::records::Record;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRequest {
    pub text: String,
    /// Its position in the trace: calls with a greater one began later.
    pub position: usize,
}

/// The user's messages. What stands beside the result of a tool is none: a host may have put it there.
pub(super) fn of(records: &[Record]) -> Vec<UserRequest> {
    let mut requests = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let text = record.json.as_object().and_then(text_of);
        requests.extend(text.filter(|text| !text.trim().is_empty()).map(|text| UserRequest { text, position }));
    }
    requests
}

fn text_of(record: &Object) -> Option<String> {
    let text = |name: &str| record.get(name).and_then(Json::as_str);
    if text("record_type") == Some(SESSION_ENTRY) {
        return match Entry::read(record)?.event {
            Event::Asked(asked) => Some(asked.text),
            _ => None,
        };
    }
    if text("role") == Some("user") {
        return content(record.get("content").or(record.get("parts"))?);
    }
    match langchain::message(record)? {
        ("human", members) => content(members.get("content")?),
        _ => None,
    }
}

/// The texts of a message.
fn content(content: &Json) -> Option<String> {
    let blocks = match content {
        Json::String(text) => return Some(text.clone()),
        Json::Array(blocks) => blocks,
        _ => return None,
    };
    let mut texts = Vec::new();
    for block in blocks {
        let block = block.as_object()?;
        let kind = block.get("type").and_then(Json::as_str);
        let text = block.get("text").or(block.get("content")).and_then(Json::as_str);
        match (kind, text) {
            (Some("text" | "input_text"), Some(text)) => texts.push(text),
            // A part of `gemini` has no type, and SDKs write what it does not have as null.
            (None, Some(text)) if block.iter().filter(|(_, value)| !value.is_null()).count() == 1 => texts.push(text),
            (Some("image" | "image_url" | "input_image"), _) => {}
            _ => return None,
        }
    }
    (!texts.is_empty()).then(|| texts.join("\n"))
}
