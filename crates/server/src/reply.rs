//! Answers of requests that succeed.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::Json;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The media type of JSON.
pub const JSON: &str = "application/json";

/// A status, headers and a text.
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    media_type: &'static str,
    headers: Vec<(HeaderName, String)>,
    text: String,
}

impl Reply {
    /// A text of this media type.
    #[must_use]
    pub fn text(media_type: &'static str, text: String) -> Self {
        Self { status: StatusCode::OK, media_type, headers: Vec::new(), text }
    }

    /// A value as JSON.
    ///
    /// # Errors
    /// [`Problem`] when it cannot be written.
    pub fn json(value: &impl Serialize) -> Result<Self, Problem> {
        let text = serde_json::to_string(value).map_err(|error| Problem::internal().cause(error))?;
        Ok(Self::text(JSON, text))
    }

    /// The same with this status.
    #[must_use]
    pub fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// One header more. A value that no header can have is left out.
    pub fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Reply {
    /// An answer that leads to another page, which is then got.
    #[must_use]
    pub fn see_other(place: &str) -> Self {
        Self::text("text/html; charset=utf-8", String::new()).status(StatusCode::SEE_OTHER).header(LOCATION, place)
    }
}

impl From<Json> for Reply {
    fn from(json: Json) -> Self {
        Self::text(JSON, json.to_text())
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        for (name, value) in self.headers {
            // It is appended and not put in place: an answer may have several links.
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(name, value);
            }
        }
        response
    }
}

/// A document inside an answer. It goes out byte for byte: what is signed is text, and numbers stay as they were written.
#[derive(Clone, Debug)]
pub(crate) struct Document(String);

impl Document {
    /// A document that the store has as text; none when it is damaged, or longer than any that is written now.
    pub(crate) fn stored(text: String) -> Option<Self> {
        Json::parse(text.as_bytes()).is_ok().then_some(Self(text))
    }
}

impl From<&Json> for Document {
    fn from(json: &Json) -> Self {
        Self(json.to_text())
    }
}

impl From<String> for Document {
    /// The text is JSON; an answer with another is an internal error.
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // This checks the syntax, and writes the text unchanged. A `Value` would pass numbers through doubles.
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}
