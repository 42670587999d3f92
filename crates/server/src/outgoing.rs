//! The client of requests that this program sends.

use std::time::Duration;
use std::{io, iter};

use axum::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

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

/// The error and its causes, in words.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let causes = iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
