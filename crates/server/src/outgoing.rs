//! The client of requests that this program sends.

use std::time::Duration;
use std::{io, iter};

use axum::body::{self, Body};
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use proofmark_receipt::document::shown;

/// A client for HTTP and HTTPS by the system's certificates, which follows no redirection.
pub(crate) type HttpsClient = Client<HttpsConnector<HttpConnector>, Body>;

/// A client that connects within this time.
///
/// # Errors
/// When the system has no certificates.
pub(crate) fn client(max_connecting: Duration) -> io::Result<HttpsClient> {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(max_connecting));
    tcp.enforce_http(false);
    let tls = HttpsConnectorBuilder::new().with_native_roots()?;
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build(tls.https_or_http().enable_http1().wrap_connector(tcp));
    Ok(client)
}

/// The URL of a server, below which paths are asked for: of HTTP or HTTPS, without a query, a name or a password.
pub(crate) fn base_url(url: &str) -> Option<String> {
    let address: Uri = url.parse().ok()?;
    let is_http = matches!(address.scheme_str(), Some("http" | "https"));
    let is_plain = is_http && address.query().is_none() && !url.contains('@');
    is_plain.then(|| url.trim_end_matches('/').to_owned())
}

/// Sends a request, and returns the status and the body of the answer, which may have this many bytes and must arrive in this time.
///
/// # Errors
/// Why there is none, in words.
pub(crate) async fn ask(
    client: &HttpsClient,
    request: Request<Body>,
    max_bytes: usize,
    max_time: Duration,
) -> Result<(StatusCode, Vec<u8>), String> {
    let (status, _, bytes) = ask_with_headers(client, request, max_bytes, max_time).await?;
    Ok((status, bytes))
}

/// As [`ask`], with the headers of the answer.
///
/// # Errors
/// Why there is none, in words.
pub(crate) async fn ask_with_headers(
    client: &HttpsClient,
    request: Request<Body>,
    max_bytes: usize,
    max_time: Duration,
) -> Result<(StatusCode, HeaderMap, Vec<u8>), String> {
    let asked = async {
        let (head, body) = client.request(request).await.map_err(|error| shown(&causes(&error)))?.into_parts();
        let bytes = body::to_bytes(Body::new(body), max_bytes).await;
        Ok((head.status, head.headers, bytes.map_err(|error| shown(&causes(&error)))?.to_vec()))
    };
    tokio::time::timeout(max_time, asked).await.unwrap_or_else(|_| Err("it did not answer in time".to_owned()))
}

/// The error and its causes, in words.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let causes = iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
