//! What is answered when all goes well.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::Json;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// A status, headers and a text.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    media_type: &'static str,
    headers: Vec<(HeaderName, String)>,
    text: String,
}

impl Reply {
    /// A text of this media type.
    pub(crate) fn text(media_type: &'static str, text: String) -> Self {
        Self { status: StatusCode::OK, media_type, headers: Vec::new(), text }
    }

    pub(crate) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// One header more. What cannot stand in a header is left out.
    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
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
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(name, value);
            }
        }
        response
    }
}
