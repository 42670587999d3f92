//! `/docs`: the description of the endpoints as a page.

use std::sync::{Arc, LazyLock};

use axum::extract::RawPathParams;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use crate::problem::Problem;

/// The title of the page as its makers ship it, and as it is served.
const TITLE: (&str, &str) = ("<title>Swagger UI</title>", "<title>Proofmark API</title>");

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
            Ok((packed, [(CONTENT_TYPE, file.content_type)], bytes).into_response())
        }
        Ok(None) => Err(Problem::unknown_path()),
        Err(error) => Err(Problem::internal().cause(error)),
    }
}
