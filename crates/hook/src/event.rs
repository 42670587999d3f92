//! Reads the event of a host.

use proofmark_receipt::Json;
use proofmark_receipt::document::shown;
use thiserror::Error;

use crate::fields;
use crate::host;
use crate::message::Message;
use crate::name::Host;

/// The longest name of a host's session, in bytes.
pub const MAX_SESSION: usize = 100;

/// Why an event cannot be read. It is to be answered as a call that is not allowed, because it may be one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("read the event of `{host}`: {reason}")]
pub struct ReadError {
    pub host: Host,
    pub reason: String,
}

/// Reads an event.
///
/// # Errors
/// [`ReadError`] for what is not one JSON object, is too large or too deep, lacks what a decision needs, or is an event that is
/// not known.
pub fn read(host: Host, bytes: &[u8]) -> Result<Message, ReadError> {
    let error = |reason: String| ReadError { host, reason };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(error("it is empty".to_owned()));
    }
    let json = Json::parse_with(bytes, fields::LIMITS).map_err(|fault| error(fault.to_string()))?;
    let Json::Object(object) = &json else { return Err(error("it is not an object".to_owned())) };
    let told_by = host::told_by(host, object);
    let message = host::read(told_by.unwrap_or(host), object).map_err(error)?;
    let message = Message { told_by, ..message };
    match &message.session {
        Some(session) if session.len() > MAX_SESSION || session.chars().any(char::is_control) => {
            Err(error(format!("`{}` is not the name of a session", shown(session))))
        }
        Some(_) | None => Ok(message),
    }
}
