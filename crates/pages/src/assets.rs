//! The sheet, the scripts and the picture of the pages.

use std::io::Write;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use proofmark_receipt::Sha256Digest;
use proofmark_server::problem::Problem;

use super::html::secured;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A module of the verifier, which is the same in the page and in the package `@proofmark/verify`.
macro_rules! verifier {
    ($name:literal) => {
        ($name, SCRIPT, include_bytes!(concat!("../../../clients/js/src/", $name)))
    };
}

/// Name, type and content.
const FILES: [(&str, &str, &[u8]); 28] = [
    ("sheet.css", "text/css; charset=utf-8", include_bytes!("../assets/sheet.css")),
    ("theme.js", SCRIPT, include_bytes!("../assets/theme.js")),
    ("page.js", SCRIPT, include_bytes!("../assets/page.js")),
    ("checked.js", SCRIPT, include_bytes!("../assets/checked.js")),
    ("webauthn.js", SCRIPT, include_bytes!("../assets/webauthn.js")),
    ("whole.js", SCRIPT, include_bytes!("../assets/whole.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
    verifier!("canonical.js"),
    verifier!("chain.js"),
    verifier!("checkpoint.js"),
    verifier!("decision.js"),
    verifier!("ed25519.js"),
    verifier!("head.js"),
    verifier!("json.js"),
    verifier!("members.js"),
    verifier!("note.js"),
    verifier!("number.js"),
    verifier!("passkey.js"),
    verifier!("policy.js"),
    verifier!("proof.js"),
    verifier!("receipt.js"),
    verifier!("refused.js"),
    verifier!("session.js"),
    verifier!("shown.js"),
    verifier!("signature.js"),
    verifier!("signer.js"),
    verifier!("text.js"),
    verifier!("verify.js"),
];

/// A page that checks documents offline, in one file with its style and scripts. Its own policy names their digests.
const CHECK: &str = include_str!("../../../clients/js/check.html");

/// How many hex digits of the digest of all files their addresses have.
const VERSION_DIGITS: usize = 16;

/// The folder that the addresses of all files begin with. Its name changes with any of them, so that a browser may keep
/// each for ever; one name for all lets scripts import each other.
pub(crate) static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (name, _, content) in FILES {
        all.extend_from_slice(Sha256Digest::of(name.as_bytes()).as_bytes());
        all.extend_from_slice(Sha256Digest::of(content).as_bytes());
    }
    let digits = Sha256Digest::of(&all).bare_hex();
    format!("/ui/assets/{}", digits.get(..VERSION_DIGITS).unwrap_or(&digits))
});

/// The files, packed: once, because they are the same for every request.
static PACKED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| FILES.iter().map(|(_, _, content)| pack(content)).collect());

fn pack(content: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; a file that is empty would be one that a browser cannot unpack.
    let written = packer.write_all(content);
    written.and_then(|()| packer.finish()).unwrap_or_default()
}

/// The SHA-256 digest of the page that checks documents, as the server sends it.
#[must_use]
pub fn check_page_digest() -> Sha256Digest {
    Sha256Digest::of(CHECK.as_bytes())
}

/// `GET /ui/check`. Anyone may have it: it asks nothing of this server.
pub(crate) async fn check() -> Response {
    let mut response = secured(CHECK.into_response());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // Our own policy would forbid what its policy allows: it has its style and scripts inside.
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("frame-ancestors 'none'"));
    response
}

/// `GET /ui/assets/{version}/{name}`.
pub(crate) async fn serve(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let place = FILES.iter().position(|(known, _, _)| *known == name);
    let is_current = FOLDER.rsplit_once('/').is_some_and(|(_, current)| current == version);
    // A browser keeps for ever what it gets under an address, so another version's address gets nothing.
    let found = place.filter(|_| is_current).and_then(|place| Some((FILES.get(place)?, PACKED.get(place)?)));
    let Some(((_, media_type, content), packed)) = found else {
        return secured(Problem::unknown_path().into_response());
    };
    let accepts = headers.get(header::ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let gzip = !packed.is_empty() && accepts.split(',').any(|one| one.trim() == "gzip");
    let mut response = if gzip { packed.as_slice().into_response() } else { content.into_response() };
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    answer.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if gzip {
        answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    secured(response)
}
