//! In place of the pages, where the binary is built without them.

use axum::http::StatusCode;
use proofmark_receipt::Sha256Digest;

use crate::endpoint::{Endpoint, open};
use crate::problem::Problem;
use crate::reply::Reply;

/// Nobody signs in.
#[derive(Default)]
pub(crate) struct SignIns;

/// Where a browser is led that asks for the server: nowhere.
pub(crate) fn start() -> Option<Reply> {
    None
}

/// The digest of a page that is not there.
#[must_use]
pub fn check_page_digest() -> Option<Sha256Digest> {
    None
}

/// Says at the addresses of the pages why there are none.
pub(crate) fn pages() -> Vec<Endpoint> {
    ["/ui", "/ui/", "/ui/{*page}"].into_iter().map(|path| open(path, left_out)).collect()
}

async fn left_out() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_pages", "this binary is built without the pages")
        .help("use the API, or a binary with the feature `ui`")
}
