//! Keeps the arguments of tools as they were written.
//!
//! The protocol's library reads numbers as doubles and the last of two members of one name. What is hashed and signed
//! must not pass through that: the arguments travel through it as one text, which is read strictly on the other side.

use proofmark_receipt::json::{JsonError, Limits, MAX_DEPTH};
use proofmark_receipt::{Json, Object};
use rmcp::model::JsonObject;

/// The longest message that is read, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 << 20;
/// How deep a message may nest: arguments are two levels down.
const MAX_MESSAGE_DEPTH: usize = MAX_DEPTH + 2;
/// The one argument the library gets to see.
const TEXT: &str = "proofmark/arguments";

/// The message with the arguments of a tool as text.
///
/// # Errors
/// When it is no JSON that has only one reading.
pub(super) fn kept(message: &[u8]) -> Result<Json, JsonError> {
    let mut message = Json::parse_with(message, Limits { max_bytes: MAX_MESSAGE, max_depth: MAX_MESSAGE_DEPTH })?;
    if let Json::Object(object) = &mut message
        && object.get("method").and_then(Json::as_str) == Some("tools/call")
        && let Some(Json::Object(parameters)) = object.get_mut("params")
        && let Some(arguments) = parameters.get_mut("arguments")
        && arguments.as_object().is_some()
    {
        let mut text = Object::new();
        text.insert(TEXT, arguments.to_text());
        *arguments = text.into();
    }
    Ok(message)
}

/// The arguments as they were written; none are an empty object.
///
/// # Errors
/// When they did not pass [`kept`].
pub(super) fn arguments(seen: Option<&JsonObject>) -> Result<Json, String> {
    let Some(seen) = seen.filter(|seen| !seen.is_empty()) else { return Ok(Object::new().into()) };
    let text =
        seen.get(TEXT).and_then(|text| text.as_str()).ok_or("read the arguments: they are not as they were sent")?;
    let limits = Limits { max_bytes: MAX_MESSAGE, max_depth: MAX_DEPTH };
    Json::parse_with(text.as_bytes(), limits).map_err(|error| format!("read the arguments: {error}"))
}

/// An error in answer to the message with this id, as JSON-RPC has it.
pub(super) fn refusal(code: i64, message: &str, id: Option<&Json>) -> String {
    let mut error = Object::new();
    error.insert("code", code);
    error.insert("message", message);
    let mut answer = Object::new();
    answer.insert("jsonrpc", "2.0");
    answer
        .insert("id", id.cloned().filter(|id| id.as_str().is_some() || id.as_number().is_some()).unwrap_or(Json::Null));
    answer.insert("error", error);
    Json::from(answer).to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_through_as_they_were_written() {
        let arguments_text = r#"{"a":[1.50,12345678901234567890123],"proofmark/arguments":1}"#;
        let message =
            format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"x","arguments":{arguments_text}}}}}"#);
        let passed: serde_json::Value = serde_json::from_str(&kept(message.as_bytes()).unwrap().to_text()).unwrap();
        let seen = passed.get("params").unwrap().get("arguments").unwrap().as_object().unwrap();
        assert_eq!(arguments(Some(seen)).unwrap().to_text(), arguments_text);
        assert_eq!(arguments(None).unwrap().to_text(), "{}");
    }

    #[test]
    fn two_members_of_one_name_are_refused() {
        assert!(kept(br#"{"method":"tools/call","params":{"arguments":{"a":1,"a":2}}}"#).is_err());
    }
}
