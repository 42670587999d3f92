//! Members of a host's event. Members that are not asked for are ignored: hosts add some with every version.

use proofmark_receipt::document::shown;
use proofmark_receipt::json::{Limits, MAX_NODES};
use proofmark_receipt::{Json, Object};

/// The longest event, in bytes.
pub const MAX_INPUT_BYTES: usize = 64 << 20;
/// How deep an event may nest.
pub const MAX_INPUT_DEPTH: usize = 96;

pub(crate) const LIMITS: Limits =
    Limits { max_bytes: MAX_INPUT_BYTES, max_depth: MAX_INPUT_DEPTH, max_nodes: MAX_NODES };

/// A text, where there is one. `null` is as absent.
pub(crate) fn text(object: &Object, name: &str) -> Result<Option<String>, String> {
    match object.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        // It is not as if it were absent: a host that sends something else has another form than the one that is known.
        Some(_) => Err(format!("`{name}` is not a text")),
    }
}

/// The text that is there under the first of these names.
pub(crate) fn first_text(object: &Object, names: &[&str]) -> Result<Option<String>, String> {
    for name in names {
        if let Some(text) = text(object, name)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// A text that has to be there and is not empty.
pub(crate) fn need_text(object: &Object, name: &str) -> Result<String, String> {
    match text(object, name)? {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) => Err(format!("`{name}` is empty")),
        None => Err(format!("`{name}` is missing")),
    }
}

/// A value of any kind; `null` where there is none.
pub(crate) fn value(object: &Object, name: &str) -> Json {
    object.get(name).cloned().unwrap_or(Json::Null)
}

/// The arguments of a call: an object, or the text of one. A call without arguments has an empty object.
pub(crate) fn arguments(object: &Object, name: &str) -> Result<Json, String> {
    match object.get(name) {
        None | Some(Json::Null) => Ok(Json::Object(Object::new())),
        Some(arguments @ Json::Object(_)) => Ok(arguments.clone()),
        Some(Json::String(text)) if text.is_empty() => Ok(Json::Object(Object::new())),
        Some(Json::String(text)) => match parse(text) {
            Some(arguments @ Json::Object(_)) => Ok(arguments),
            Some(_) | None => Err(format!("the text of `{name}` is not an object")),
        },
        Some(_) => Err(format!("`{name}` is not an object")),
    }
}

/// A value that a host writes as text, or the text where it is not JSON.
pub(crate) fn written(text: &str) -> Json {
    parse(text).unwrap_or_else(|| Json::from(text))
}

fn parse(text: &str) -> Option<Json> {
    Json::parse_with(text.as_bytes(), LIMITS).ok()
}

pub(crate) fn flag(object: &Object, name: &str) -> bool {
    object.get(name).and_then(Json::as_bool) == Some(true)
}

/// The error for an event whose name is not known: it may be one before a tool.
pub(crate) fn unknown_event(name: &str) -> String {
    format!("the event `{}` is not known", shown(name))
}
