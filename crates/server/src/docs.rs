//! `/docs`: the description of the endpoints as a page, which is Swagger UI.

use std::io::Read;

use axum::extract::RawPathParams;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Redirect, Response};
use flate2::read::DeflateDecoder;

use crate::problem::Problem;

/// It shares its origin with the pages of `ui`, so no other site may frame it, and nothing runs in it but its own files. It sets styles
/// by script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const CSS: &str = "text/css";
const HTML: &str = "text/html";
const PNG: &str = "image/png";
const SCRIPT: &str = "text/javascript";

const INDEX: &str = include_str!("docs/index.html");
const INITIALIZER: &str = include_str!("docs/swagger-initializer.js");

/// A file of the page.
enum File {
    Own(&'static str),
    /// One of its makers, as it is in their archive (`build.rs`).
    Plain(&'static [u8]),
    Packed(&'static [u8]),
}

/// A file of the makers of Swagger UI.
macro_rules! theirs {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// The media type of a file, and the file.
fn named(name: &str) -> Option<(&'static str, File)> {
    Some(match name {
        "" | "index.html" => (HTML, File::Own(INDEX)),
        "swagger-initializer.js" => (SCRIPT, File::Own(INITIALIZER)),
        "index.css" => (CSS, File::Packed(theirs!("index.css"))),
        "swagger-ui.css" => (CSS, File::Packed(theirs!("swagger-ui.css"))),
        "swagger-ui-bundle.js" => (SCRIPT, File::Packed(theirs!("swagger-ui-bundle.js"))),
        "swagger-ui-standalone-preset.js" => (SCRIPT, File::Packed(theirs!("swagger-ui-standalone-preset.js"))),
        "favicon-16x16.png" => (PNG, File::Plain(theirs!("favicon-16x16.png"))),
        "favicon-32x32.png" => (PNG, File::Plain(theirs!("favicon-32x32.png"))),
        _ => return None,
    })
}

/// `GET /docs`. The page finds its files relative to a path that ends in a slash.
pub(crate) async fn redirect() -> Redirect {
    Redirect::to("/docs/")
}

/// `GET /docs/` and the files of the page.
pub(crate) async fn file(path: RawPathParams) -> Result<Response, Problem> {
    let name = path.iter().next().map_or("", |(_, name)| name);
    let (media_type, file) = named(name).ok_or_else(Problem::unknown_path)?;
    let bytes = match file {
        File::Own(text) => text.as_bytes().into(),
        File::Plain(bytes) => bytes.into(),
        // Few people open this page, and unpacked it would make the program larger.
        File::Packed(packed) => {
            let mut bytes = Vec::new();
            let read = DeflateDecoder::new(packed).read_to_end(&mut bytes);
            read.map_err(|error| Problem::internal().cause(error))?;
            bytes
        }
    };
    let safe = [(CONTENT_SECURITY_POLICY, POLICY), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((safe, [(CONTENT_TYPE, media_type)], bytes).into_response())
}
