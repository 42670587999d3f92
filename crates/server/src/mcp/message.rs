//! Messages of the protocol, whose arguments go past the protocol's library.
//!
//! The library reads numbers as doubles and takes the last of two members of one name. What is hashed and signed must not
//! pass through that: a message is read strictly here, and the arguments of a tool travel beside it, as they were read.

use std::sync::Arc;

use proofmark_receipt::json::{JsonError, Limits, MAX_DEPTH};
use proofmark_receipt::{Json, Object, object};

/// The longest message that is read, in bytes.
pub(super) const MAX_MESSAGE: usize = 4 << 20;
/// How deep a message may nest: arguments are two levels down.
const MAX_MESSAGE_DEPTH: usize = MAX_DEPTH + 2;

pub(super) struct Message {
    /// What the library gets to see: the arguments of a tool are an empty object.
    pub(super) json: Json,
    pub(super) arguments: Option<Arguments>,
}

/// The arguments of a tool.
#[derive(Clone, Debug)]
pub(super) struct Arguments(pub(super) Arc<Json>);

impl Message {
    /// # Errors
    /// When it is not JSON, or JSON with more than one reading.
    pub(super) fn read(message: &[u8]) -> Result<Self, JsonError> {
        let mut json = Json::parse_with(message, Limits { max_bytes: MAX_MESSAGE, max_depth: MAX_MESSAGE_DEPTH })?;
        let arguments = take_arguments(&mut json).map(|arguments| Arguments(Arc::new(arguments)));
        Ok(Self { json, arguments })
    }
}

/// Arguments that are not an object stay: the library refuses them.
fn take_arguments(message: &mut Json) -> Option<Json> {
    let Json::Object(message) = message else { return None };
    if message.get("method").and_then(Json::as_str) != Some("tools/call") {
        return None;
    }
    let Some(Json::Object(parameters)) = message.get_mut("params") else { return None };
    let arguments = parameters.get_mut("arguments")?;
    arguments.as_object()?;
    Some(std::mem::replace(arguments, Object::new().into()))
}

/// An error in answer to the message with this id, as JSON-RPC has it.
pub(super) fn refusal(code: i64, message: &str, id: Option<&Json>) -> String {
    // JSON-RPC 2.0, section 5: where the id cannot be known, the answer has null.
    let id = id.filter(|id| id.as_str().is_some() || id.as_number().is_some());
    let answer = object! {
        "jsonrpc": "2.0",
        "id": id.cloned().unwrap_or(Json::Null),
        "error": object! { "code": code, "message": message },
    };
    Json::from(answer).to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_as_they_were_written_and_the_library_sees_none() {
        let arguments = r#"{"a":[1.50,12345678901234567890123]}"#;
        let text = |arguments: &str| {
            format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#)
        };
        let message = Message::read(text(arguments).as_bytes()).unwrap();
        assert_eq!(message.json.to_text(), text("{}"));
        assert_eq!(message.arguments.unwrap().0.to_text(), arguments);
        assert!(Message::read(text("[1]").as_bytes()).unwrap().arguments.is_none());
        assert!(Message::read(br#"{"method":"initialize","params":{"arguments":{}}}"#).unwrap().arguments.is_none());
    }

    #[test]
    fn two_members_of_one_name_are_refused() {
        assert!(Message::read(br#"{"method":"tools/call","params":{"arguments":{"a":1,"a":2}}}"#).is_err());
    }
}
