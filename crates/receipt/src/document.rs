//! Strict reading of what people write, in JSON or in YAML: requests, contracts, policies.
//!
//! Both notations become one [`Json`] document; what two readers could understand differently is refused in either.
//! [`Field`] and [`Fields`] take a document apart: every field known, of the right type, and errors that say where.

mod error;
mod fields;
mod locate;
mod yaml;

pub use error::{Cause, DocumentError, Place};
pub use fields::{Field, Fields, one_of, shown};
pub use locate::locate;

use crate::json::{Json, Limits};

/// The longest document, in bytes (16 MiB).
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// How deep a document may nest.
pub const MAX_DOCUMENT_DEPTH: usize = 64;

/// The notation a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, of which a document uses what JSON can say.
    Yaml,
}

/// Reads a document.
///
/// # Errors
/// [`DocumentError`] names what is wrong and where.
pub fn parse(bytes: &[u8], format: Format) -> Result<Json, DocumentError> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let message = format!("{} bytes are more than the {MAX_DOCUMENT_BYTES} it may have; split it", bytes.len());
        return Err(DocumentError::new(Place::Whole, Cause::TooLarge, message));
    }
    match format {
        Format::Json => {
            let limits = Limits { max_bytes: MAX_DOCUMENT_BYTES, max_depth: MAX_DOCUMENT_DEPTH };
            Json::parse_with(bytes, limits).map_err(|error| {
                let place = Place::Text { line: error.line as u64, column: error.column as u64 };
                DocumentError::new(place, Cause::InvalidJson, error.kind.to_string())
            })
        }
        Format::Yaml => yaml::parse(bytes),
    }
}
