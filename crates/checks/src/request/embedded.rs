//! JSON that stands in a request as itself or as a string that holds it.

use std::borrow::Cow;

use proofmark_receipt::document::MAX_DOCUMENT_NODES;
use proofmark_receipt::json::{Json, Limits};

use super::{Code, Field, RequestError};
use crate::caps::{MAX_REQUEST_BYTES, MAX_REQUEST_DEPTH};

/// The JSON that a field holds; `help` says what to write where its text is not JSON.
pub(super) fn json<'a>(field: &Field<'a>, help: &str) -> Result<Cow<'a, Json>, RequestError> {
    let Some(text) = field.json.as_str() else {
        return Ok(Cow::Borrowed(field.json));
    };
    let limits = Limits { max_bytes: MAX_REQUEST_BYTES, max_depth: MAX_REQUEST_DEPTH, max_nodes: MAX_DOCUMENT_NODES };
    match Json::parse_with(text.as_bytes(), limits) {
        Ok(json) => Ok(Cow::Owned(json)),
        Err(error) => Err(field.error(Code::InvalidJson, format!("the text is not JSON ({error})")).with_help(help)),
    }
}
