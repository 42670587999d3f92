//! Detects the form of a trace.

use proofmark_receipt::Json;

use super::error::{TraceError, TraceFault};
use super::records::{self, Record};
use super::{FORMS, Form, openai_chat, plain};

/// The form of a trace.
///
/// # Errors
/// [`TraceError`] when it is damaged, of no known form, or of two at once.
pub fn detect(bytes: &[u8]) -> Result<&'static Form, TraceError> {
    of_records(&records::split(bytes)?)
}

/// What a record says about the form of its trace.
enum Sign {
    /// It is of this form.
    Of(&'static Form),
    /// It is a message without calls, which several forms write alike.
    Message,
}

pub(super) fn of_records(records: &[Record]) -> Result<&'static Form, TraceError> {
    let mut form: Option<&'static Form> = None;
    let mut messages = false;
    for record in records {
        match (sign(record)?, form) {
            (Sign::Message, _) => messages = true,
            (Sign::Of(found), None) => form = Some(found),
            (Sign::Of(found), Some(form)) if found == form => {}
            // To read the records of one form only would miss the calls in the others.
            (Sign::Of(found), Some(form)) => {
                return Err(record.error(TraceFault::MixedForms { form: form.name, found: found.name }));
            }
        }
    }
    match form {
        Some(form) if messages && !form.has_messages => {
            Err(TraceError::whole(TraceFault::MixedForms { form: form.name, found: "messages" }))
        }
        Some(form) => Ok(form),
        // No calls were made, so the forms of messages read it alike.
        None if messages => Ok(&openai_chat::FORM),
        // A list without records holds no calls in any form.
        None => Ok(&plain::FORM),
    }
}

fn sign(record: &Record) -> Result<Sign, TraceError> {
    let object = record.object()?;
    match FORMS.iter().find(|form| (form.recognizes)(object)) {
        Some(form) => Ok(Sign::Of(form)),
        // A message with `parts` that no form recognizes may hold calls that would be missed.
        None if object.get("role").and_then(Json::as_str).is_some() && !object.contains("parts") => Ok(Sign::Message),
        None => Err(record.error(TraceFault::UnknownForm)),
    }
}
