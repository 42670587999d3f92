//! Fields that suites, commands and constraints share.

use std::collections::HashSet;
use std::time::Duration;

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use crate::caps::MAX_NAME_CHARS;
use crate::suite::{AskedLimits, Reveal};

/// What a request may take from outside of its text.
pub struct Outside<'a> {
    /// Fills `output.content`; the request must not give one then.
    pub submission: Option<&'a str>,
    /// Reads a file the request names, or says why it cannot.
    pub file: &'a dyn Fn(&str) -> Result<String, String>,
}

/// The field `reveal`: everything is shown where it is missing.
pub(crate) fn reveal(field: Option<Field<'_>>) -> Result<Reveal, DocumentError> {
    let words = [("all", Reveal::All), ("failures", Reveal::Failures), ("none", Reveal::None)];
    Ok(field.map(|field| field.choice(&words)).transpose()?.unwrap_or(Reveal::All))
}

/// The name of a test, which differs from all before it.
pub(crate) fn test_name(field: &Field<'_>, names: &mut HashSet<String>) -> Result<String, DocumentError> {
    let name = filled(field)?;
    if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!("a name has at most {MAX_NAME_CHARS} characters, and no control characters");
        return Err(field.error(Cause::InvalidValue, message).with_help("shorten it"));
    }
    if !names.insert(name.clone()) {
        let message = format!("another test is named `{}`", shown(&name));
        return Err(field.error(Cause::DuplicateName, message).with_help("give each a name of its own"));
    }
    Ok(name)
}

/// A string that is not blank.
pub(crate) fn filled(field: &Field<'_>) -> Result<String, DocumentError> {
    let text = field.text()?;
    if text.trim().is_empty() {
        return Err(field
            .error(Cause::InvalidValue, "the text is empty")
            .with_help("write something, or leave the field out"));
    }
    Ok(text.to_owned())
}

/// The field `limits`.
pub(crate) fn limits(field: Option<Field<'_>>) -> Result<AskedLimits, DocumentError> {
    let Some(field) = field else {
        return Ok(AskedLimits::default());
    };
    let fields = field.fields()?;
    fields.only(&["memory_mb", "timeout_ms", "total_timeout_ms", "output_bytes", "processes", "disk_mb"])?;
    let asked = |name: &str| fields.get(name).map(|field| field.positive()).transpose();
    // A number that does not fit is above every cap, so it is lowered to the cap.
    let count = |name: &str| Ok(asked(name)?.map(|value| u32::try_from(value).unwrap_or(u32::MAX)));
    Ok(AskedLimits {
        memory_mb: count("memory_mb")?,
        timeout: asked("timeout_ms")?.map(Duration::from_millis),
        total_timeout: asked("total_timeout_ms")?.map(Duration::from_millis),
        output_bytes: asked("output_bytes")?.map(|value| usize::try_from(value).unwrap_or(usize::MAX)),
        processes: count("processes")?,
        disk_mb: count("disk_mb")?,
    })
}
