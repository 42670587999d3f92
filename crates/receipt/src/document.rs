//! The strict reader of what people write in JSON or YAML: requests, contracts, policies.
//!
//! Both notations become one [`Json`] document, and what two readers could understand differently is refused in either.
//! [`Field`] and [`Fields`] take a document apart: each field known and of the right type, with errors that say where.

mod error;
mod fields;
mod places;
mod scalar;
mod yaml;

pub use error::{Cause, DocumentError, Place};
pub use fields::{Field, Fields, nearest, one_of};
pub use places::Places;
pub use yaml::yaml_size;

pub use crate::position::line_and_column;
pub use crate::shown::{counted, is_unseen, shown};

use crate::json::{Json, JsonError, Limits, MAX_NODES};

/// The longest document, in bytes (16 MiB).
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// How deep a document may nest.
pub const MAX_DOCUMENT_DEPTH: usize = 64;
/// The most values of a document.
pub const MAX_DOCUMENT_NODES: usize = 4 * MAX_NODES;

const LIMITS: Limits =
    Limits { max_bytes: MAX_DOCUMENT_BYTES, max_depth: MAX_DOCUMENT_DEPTH, max_nodes: MAX_DOCUMENT_NODES };

/// The notation a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 8259.
    Json,
    /// YAML 1.2, as far as JSON can express it.
    Yaml,
}

/// Reads a document.
///
/// # Errors
/// [`DocumentError`] names what is wrong and where.
pub fn parse(bytes: &[u8], format: Format) -> Result<Json, DocumentError> {
    check_size(bytes)?;
    let bytes = without_mark(bytes);
    match format {
        Format::Json => Json::parse_with(bytes, LIMITS).map_err(|error| invalid_json(&error)),
        Format::Yaml => yaml::parse(bytes).map(|(json, _)| json),
    }
}

/// As [`parse`], with the place of every value.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_places(bytes: &[u8], format: Format) -> Result<(Json, Places), DocumentError> {
    check_size(bytes)?;
    let text = without_mark(bytes);
    let (json, starts) = match format {
        Format::Json => Json::parse_with_starts(text, LIMITS).map_err(|error| invalid_json(&error))?,
        Format::Yaml => yaml::parse(text)?,
    };
    let skipped = bytes.len() - text.len();
    Ok((json, Places::new(starts.into_iter().map(|start| start + skipped).collect())))
}

/// Without the byte order mark that editors put at the beginning of a file. Signed documents are not read here: their
/// bytes count.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

fn check_size(bytes: &[u8]) -> Result<(), DocumentError> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let message = format!("{} bytes exceed the limit of {MAX_DOCUMENT_BYTES}", bytes.len());
        return Err(DocumentError::new(Place::Whole, Cause::TooLarge, message).with_help("split the document"));
    }
    Ok(())
}

fn invalid_json(error: &JsonError) -> DocumentError {
    let place = Place::Text { line: error.line, column: error.column };
    let refused = DocumentError::new(place, Cause::InvalidJson, error.kind.to_string());
    match error.help() {
        Some(help) => refused.with_help(help),
        None => refused,
    }
}
