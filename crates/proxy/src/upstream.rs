//! The server that is guarded: its one address, the credential for it, and which headers go there and back.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use std::{io, iter};

use axum::body::Body;
use axum::http::header;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use proofmark_receipt::document::shown;
use proofmark_server::origin;
use tracing::warn;

/// How long a connection may take.
const MAX_CONNECT: Duration = Duration::from_secs(10);
/// How long a connection is kept for the next request. Servers close theirs after 5 s, and a request must not meet that.
const MAX_IDLE: Duration = Duration::from_secs(4);

/// Headers that concern one connection, and what the other side of it understands (RFC 9110, section 7.6.1).
const OF_ONE_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers of a request that are written anew, or with which a server would read another request than was judged.
const REPLACED: [&str; 9] = [
    "accept-encoding",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];
/// Headers of an answer that are written anew, or that would lead clients past the guard.
const LEFT_OUT: [&str; 3] = ["alt-svc", "content-encoding", "content-length"];
/// Headers by which clients and the server know each other where the guard holds the credential: what the server hands out
/// would be a credential, too.
const OF_CREDENTIALS: [&str; 4] = ["authorization", "cookie", "set-cookie", "www-authenticate"];

/// A server over HTTP.
pub struct Upstream {
    address: Uri,
    /// What the guard authenticates itself with.
    credential: Option<RwLock<HeaderValue>>,
    transport: Transport,
}

enum Transport {
    Plain(Client<HttpConnector, Body>),
    Tls(Client<HttpsConnector<HttpConnector>, Body>),
}

/// Why a server cannot be guarded, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error("read the server's address `{}`: it is not a URL like https://example.org/mcp", shown(.0))]
    Url(String),
    #[error("reach `{}`: the credential would be readable on the way; write `https://`", shown(.0))]
    Plain(String),
    #[error("use the credential for the server: it is empty, or has characters that a header cannot have")]
    Credential,
    #[error("read the system's certificates ({0})")]
    Certificates(io::Error),
}

impl UpstreamError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Url(_) => Some("give the address that MCP clients are given, without a user and a password"),
            Self::Plain(_) => Some("use https; only to this host is a credential sent over http"),
            Self::Credential => Some("a credential is one line of visible ASCII characters"),
            Self::Certificates(_) => Some("install the package `ca-certificates`, or name a file in SSL_CERT_FILE"),
        }
    }
}

impl Upstream {
    /// The server at this URL. With a credential, it is sent as `Authorization: Bearer …` in place of what clients send.
    ///
    /// # Errors
    /// [`UpstreamError`] for an address or a credential that cannot be used.
    pub fn new(url: &str, credential: Option<&str>) -> Result<Self, UpstreamError> {
        let invalid = || UpstreamError::Url(url.to_owned());
        let address: Uri = url.parse().map_err(|_| invalid())?;
        let authority = address.authority().ok_or_else(invalid)?;
        let is_tls = match address.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        let has_port = authority.port_u16().is_some() || authority.as_str() == authority.host();
        if authority.as_str().contains('@') || authority.host().is_empty() || !has_port || url.contains('#') {
            return Err(invalid());
        }
        let credential = credential.map(bearer).transpose()?;
        if credential.is_some() && !is_tls && !origin::is_loopback(authority.as_str()) {
            return Err(UpstreamError::Plain(url.to_owned()));
        }
        let transport = if is_tls { Transport::Tls(tls()?) } else { Transport::Plain(client(tcp())) };
        Ok(Self { address, credential: credential.map(RwLock::new), transport })
    }

    /// Authenticates with another credential from here on. Without one at the beginning there is none.
    ///
    /// # Errors
    /// [`UpstreamError::Credential`]: the one before it stays in use.
    pub fn set_credential(&self, credential: &str) -> Result<(), UpstreamError> {
        let after = bearer(credential)?;
        if let Some(credential) = &self.credential {
            *credential.write().unwrap_or_else(PoisonError::into_inner) = after;
        }
        Ok(())
    }

    /// The path at which the server, and so the guard, is called.
    #[must_use]
    pub fn path(&self) -> &str {
        self.address.path()
    }

    /// What the server is called where nothing else is said: its host and its path.
    #[must_use]
    pub fn name(&self) -> String {
        let authority = self.address.authority().map_or("", |authority| authority.as_str());
        format!("{authority}{}", self.path().trim_end_matches('/'))
    }

    pub(super) fn has_credential(&self) -> bool {
        self.credential.is_some()
    }

    /// The headers of a client's request that go on. `terminates`: clients authenticate themselves to the guard.
    pub(super) fn headers_there(&self, headers: &HeaderMap, terminates: bool) -> HeaderMap {
        let mut there = passed(headers, &REPLACED, terminates);
        // What is packed cannot be judged while it passes.
        there.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        there
    }

    /// Asks the server; `path` is another one of the same host.
    ///
    /// # Errors
    /// When it cannot be reached, or does not answer in HTTP.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: Option<&str>,
        mut headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, Error> {
        self.authenticate(&mut headers);
        let mut request = Request::new(body);
        *request.uri_mut() = path.and_then(|path| self.at(path)).unwrap_or_else(|| self.address.clone());
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let answer = match &self.transport {
            Transport::Plain(client) => client.request(request).await,
            Transport::Tls(client) => client.request(request).await,
        };
        // For the operator: clients are not told what the server is called.
        answer.inspect_err(|error| warn!(server = self.name(), cause = causes(error), "the server cannot be asked"))
    }

    /// With the credential of now: a request may have waited since its client sent it.
    fn authenticate(&self, headers: &mut HeaderMap) {
        if let Some(credential) = &self.credential {
            let credential = credential.read().unwrap_or_else(PoisonError::into_inner).clone();
            headers.insert(header::AUTHORIZATION, credential);
        }
    }

    fn at(&self, path: &str) -> Option<Uri> {
        let mut parts = self.address.clone().into_parts();
        parts.path_and_query = Some(path.parse().ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// An error and what it comes from.
fn causes(error: &Error) -> String {
    let causes = iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let causes: Vec<_> = causes.map(|cause| shown(&cause.to_string())).collect();
    causes.join(": ")
}

/// The headers of an answer that go back.
pub(super) fn headers_back(headers: &HeaderMap, terminates: bool) -> HeaderMap {
    passed(headers, &LEFT_OUT, terminates)
}

/// Whether a body is sent as it is.
pub(super) fn is_plain(headers: &HeaderMap) -> bool {
    headers.get_all(header::CONTENT_ENCODING).iter().all(|encoding| encoding.as_bytes() == b"identity")
}

fn passed(headers: &HeaderMap, without: &[&str], terminates: bool) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> = named.flat_map(|names| names.split(',')).map(|name| name.trim().to_lowercase()).collect();
    let passed = headers.iter().filter(|(name, _)| {
        let name = name.as_str();
        // Those of the protocol were held against the body, so they stay.
        let of_connection = named.iter().any(|named| named == name) && !name.starts_with("mcp-");
        let of_credentials = terminates && OF_CREDENTIALS.contains(&name);
        !(of_connection || of_credentials || OF_ONE_CONNECTION.contains(&name) || without.contains(&name))
    });
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn bearer(credential: &str) -> Result<HeaderValue, UpstreamError> {
    let is_token = !credential.is_empty() && credential.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::try_from(format!("Bearer {credential}")).ok().filter(|_| is_token);
    let mut value = value.ok_or(UpstreamError::Credential)?;
    // It is left out where headers are written for debugging.
    value.set_sensitive(true);
    Ok(value)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(MAX_CONNECT));
    tcp.set_nodelay(true);
    tcp
}

fn tls() -> Result<Client<HttpsConnector<HttpConnector>, Body>, UpstreamError> {
    let mut tcp = tcp();
    tcp.enforce_http(false);
    let tls = HttpsConnectorBuilder::new().with_native_roots().map_err(UpstreamError::Certificates)?;
    Ok(client(tls.https_only().enable_http1().wrap_connector(tcp)))
}

fn client<C>(connector: C) -> Client<C, Body>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(MAX_IDLE).build(connector)
}

#[cfg(test)]
mod tests {
    use axum::http::header::HeaderName;

    use super::*;

    fn refused(url: &str, credential: Option<&str>) -> Option<UpstreamError> {
        Upstream::new(url, credential).err()
    }

    #[test]
    fn a_server_has_one_address_without_secrets() {
        for url in
            ["", "/mcp", "example.org/mcp", "ftp://h/mcp", "http://u:p@h/mcp", "http://h:x/", "http:///", "http://h/#a"]
        {
            assert!(matches!(refused(url, None), Some(UpstreamError::Url(_))), "{url}");
        }
        assert!(refused("http://example.org/mcp", None).is_none());
        let upstream = Upstream::new("http://127.0.0.1:8080/a/mcp/?key=1", Some("secret")).unwrap();
        assert_eq!((upstream.name(), upstream.path()), ("127.0.0.1:8080/a/mcp".to_owned(), "/a/mcp/"));
    }

    #[test]
    fn a_credential_is_sent_where_nobody_reads_along() {
        for url in ["http://example.org/mcp", "http://localhost.example.org/mcp", "http://0.0.0.0/mcp"] {
            assert!(matches!(refused(url, Some("secret")), Some(UpstreamError::Plain(_))), "{url}");
        }
        for url in ["http://localhost/mcp", "http://[::1]:3000/mcp", "http://127.0.0.1/mcp"] {
            assert!(refused(url, Some("secret")).is_none(), "{url}");
        }
        for credential in ["", "two words", "a\nb", "ä", "a\r\nX: y"] {
            assert!(matches!(refused("http://localhost/", Some(credential)), Some(UpstreamError::Credential)));
        }
    }

    #[test]
    fn headers_pass_but_those_of_the_connection_and_of_credentials() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-named, mcp-name"),
            ("x-named", "1"),
            ("x-other", "2"),
            ("x-other", "3"),
            ("mcp-name", "read"),
            ("host", "127.0.0.1"),
            ("authorization", "Bearer client"),
            ("cookie", "a=b"),
            ("accept-encoding", "gzip"),
            ("transfer-encoding", "chunked"),
            ("x-http-method-override", "DELETE"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let text = |headers: &HeaderMap| {
            let lines = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            let mut lines: Vec<_> = lines.collect();
            lines.sort();
            lines
        };
        let upstream = Upstream::new("http://localhost/mcp", None).unwrap();
        let others = ["mcp-name: read", "x-other: 2", "x-other: 3"];
        let transparent = [&["accept-encoding: identity", "authorization: Bearer client", "cookie: a=b"], &others[..]];
        assert_eq!(text(&upstream.headers_there(&headers, false)), transparent.concat());
        let upstream = Upstream::new("http://localhost/mcp", Some("secret")).unwrap();
        let terminating = [&["accept-encoding: identity", "authorization: Bearer secret"], &others[..]];
        let mut there = upstream.headers_there(&headers, true);
        upstream.authenticate(&mut there);
        assert_eq!(text(&there), terminating.concat());
        assert!(matches!(upstream.set_credential("two words"), Err(UpstreamError::Credential)));
        upstream.set_credential("other").unwrap();
        upstream.authenticate(&mut there);
        assert_eq!(there.get(header::AUTHORIZATION).unwrap(), "Bearer other");
    }
}
