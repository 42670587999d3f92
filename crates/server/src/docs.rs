//! `/docs`: the description of the endpoints as a page.

use std::sync::{Arc, LazyLock};

use axum::extract::RawPathParams;
use axum::http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use crate::problem::Problem;

/// The title of the page as its makers ship it, and as it is served.
const TITLE: (&str, &str) = ("<title>Swagger UI</title>", "<title>Proofmark API</title>");

/// It shares its origin with the pages of `ui`, so no other site may frame it, and nothing runs in it but its own files. It sets styles
/// by script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Unless it is told otherwise the page sends the description to a validator elsewhere.
static CONFIG: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("/openapi.json").validator_url("none")));

/// The file, of which the page has a title of its own.
fn titled(file: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&file) {
        Ok(text) if text.contains(TITLE.0) => text.replacen(TITLE.0, TITLE.1, 1).into_bytes(),
        Ok(_) | Err(_) => file,
    }
}

/// `GET /docs`. The page finds its files relative to a path that ends in a slash.
pub(crate) async fn redirect() -> Redirect {
    Redirect::to("/docs/")
}

/// `GET /docs/` and the files of the page.
pub(crate) async fn file(path: RawPathParams) -> Result<Response, Problem> {
    let name = path.iter().next().map_or("", |(_, name)| name);
    match utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG)) {
        Ok(Some(file)) => {
            let packed = file.gzpipped.then_some([(CONTENT_ENCODING, "gzip")]);
            let bytes = titled(file.bytes.into_owned());
            let safe = [(CONTENT_SECURITY_POLICY, POLICY), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
            Ok((packed, safe, [(CONTENT_TYPE, file.content_type)], bytes).into_response())
        }
        Ok(None) => Err(Problem::unknown_path()),
        Err(error) => Err(Problem::internal().cause(error)),
    }
}
