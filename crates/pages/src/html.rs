//! How pages are sent.

use askama::Template;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;

/// What a page may load and do: only what is of this server, and no script or style inside the page. `trusted-types 'none'`
/// also keeps our scripts from making markup of text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// The headers of every answer below `/ui`.
// Not `no-referrer`: with it a browser names no origin with a form either (Fetch, section 3.2), and `origin` refuses those.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The page of a template.
pub(crate) fn html(template: &impl Template) -> Result<Reply, Problem> {
    let text = template.render().map_err(|error| Problem::internal().cause(error))?;
    Ok(Reply::text("text/html; charset=utf-8", text))
}

/// The answer, with the headers of every answer below `/ui`. What says nothing about being kept is not kept.
pub(crate) fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
