//! What a form of a page sends.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use proofmark_server::body;
use proofmark_server::context::{pairs, refuse_repeated};
use proofmark_server::problem::Problem;
use proofmark_server::share::Share;

/// The longest form, in bytes: a note has at most 4 KiB, and may be percent-encoded.
const MAX_FORM: usize = 64 << 10;
const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a form, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form of at most 64 KiB.
    pub(crate) async fn read(headers: &HeaderMap, body: Body, memory: &mut Share) -> Result<Self, Problem> {
        let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if declared.split(';').next().is_none_or(|media_type| !media_type.trim().eq_ignore_ascii_case(FORM)) {
            let message = "the body is not declared to be a form";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_a_form", message)
                .help(format!("send it with one `Content-Type: {FORM}`, or use the API")));
        }
        // Forms of ours are small, so the limit is much below that of the API.
        let bytes = body::read(headers, body, MAX_FORM, memory).await?.unpack(memory)?;
        let text = String::from_utf8(bytes).map_err(|_| Problem::bad("not_utf8", "the form is not UTF-8"))?;
        let fields = pairs(&text)?;
        // Of two fields with one name, the page and this function might read different ones.
        refuse_repeated(&fields)?;
        Ok(Self(fields))
    }

    /// A field; none where it is missing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All fields, in the order of the form.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A text of several lines: browsers end them with two characters.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().replace("\r\n", "\n")
    }
}
