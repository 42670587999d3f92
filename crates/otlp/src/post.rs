//! One message to a collector: an HTTP request on a connection of its own, of which only the status is read.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use http::Uri;
use proofmark_receipt::document::shown;

/// How long a connection may take.
const MAX_CONNECT: Duration = Duration::from_secs(2);
/// How long a message may take to be sent and answered.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The longest status line, in bytes.
const MAX_STATUS: usize = 1_024;
/// The statuses after which the same message is sent again (OTLP/HTTP, "Failures").
const RETRIED: [u16; 4] = [429, 502, 503, 504];

/// Where a collector listens: `http://HOST:PORT`, with a path before `/v1/logs` where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint {
    text: String,
    host: String,
    port: u16,
    /// As in the header `Host`.
    authority: String,
    base: String,
}

/// Why a text names no collector, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum OtlpEndpointError {
    #[error("read the collector's address `{}`: it is not a URL like http://127.0.0.1:4318", shown(.0))]
    Url(String),
    #[error("export to `{}`: only http is supported; run a collector on this host that forwards over TLS", shown(.0))]
    Scheme(String),
}

/// Why a message was not taken.
pub(super) struct Failure {
    /// Whether it is to be sent again.
    pub(super) retry: bool,
    pub(super) cause: String,
}

impl OtlpEndpoint {
    /// The address, as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for OtlpEndpoint {
    type Err = OtlpEndpointError;

    fn from_str(text: &str) -> Result<Self, OtlpEndpointError> {
        let invalid = || OtlpEndpointError::Url(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some(_) => return Err(OtlpEndpointError::Scheme(text.to_owned())),
            None => return Err(invalid()),
        }
        let authority = uri.authority().ok_or_else(invalid)?;
        // A password would end up in the log.
        if authority.as_str().contains('@') || uri.query().is_some() || authority.host().is_empty() {
            return Err(invalid());
        }
        let port = match authority.port_u16() {
            Some(port) => port,
            None if authority.as_str() == authority.host() => 80,
            // A port that is not a number.
            None => return Err(invalid()),
        };
        Ok(Self {
            text: text.to_owned(),
            // The system resolves the address of IPv6 without its brackets.
            host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            base: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// Sends a message to this path of the collector.
pub(super) fn post(endpoint: &OtlpEndpoint, path: &str, message: &[u8]) -> Result<(), Failure> {
    let again = |cause: &dyn Display| Failure { retry: true, cause: cause.to_string() };
    let status = exchange(endpoint, path, message).map_err(|error| again(&error))?;
    match status {
        200..=299 => Ok(()),
        _ => Err(Failure { retry: RETRIED.contains(&status), cause: format!("it answered {status}") }),
    }
}

fn exchange(endpoint: &OtlpEndpoint, path: &str, message: &[u8]) -> io::Result<u16> {
    let until = Instant::now() + MAX_TIME;
    let mut stream = connect(endpoint)?;
    let OtlpEndpoint { authority, base, .. } = endpoint;
    let agent = concat!("proofmark/", env!("CARGO_PKG_VERSION"));
    let length = message.len();
    let head = format!(
        "POST {base}{path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {agent}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let whole = [head.as_bytes(), message].concat();
    let mut rest = whole.as_slice();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(rest)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => rest = rest.get(written..).unwrap_or_default(),
        }
    }
    let mut answer = Vec::new();
    let mut part = [0; 256];
    while !answer.contains(&b'\n') && answer.len() < MAX_STATUS {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut part)? {
            0 => break,
            read => answer.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    status(&answer).ok_or_else(|| io::Error::other("it did not answer in HTTP"))
}

/// The time that is left for the whole exchange, not for each part, so that a collector that takes a byte at a time does not block it.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn connect(endpoint: &OtlpEndpoint) -> io::Result<TcpStream> {
    let mut last = io::Error::other("its name has no address");
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, MAX_CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The status of an answer that begins like this (RFC 9112, section 4).
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_without_secrets() {
        let endpoint: OtlpEndpoint = "http://[::1]:4318/otlp/".parse().unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port, endpoint.base.as_str()), ("::1", 4318, "/otlp"));
        let plain: OtlpEndpoint = "http://collector".parse().unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.base.as_str()), ("collector", 80, ""));
        for text in
            ["", "127.0.0.1:4318", "/v1", "http://", "http://u:p@h:1", "http://h:1/?a=b", "http://h :1", "http://h:x"]
        {
            assert!(matches!(text.parse::<OtlpEndpoint>(), Err(OtlpEndpointError::Url(_))), "{text}");
        }
        assert!(matches!("https://h".parse::<OtlpEndpoint>(), Err(OtlpEndpointError::Scheme(_))));
    }

    #[test]
    fn a_status_is_read_from_the_first_line() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\nx: y"), Some(200));
        assert_eq!(status(b"HTTP/1.0 503\r\n"), Some(503));
        for answer in [&b""[..], b"SSH-2.0", b"HTTP/1.1", b"HTTP/1.1 two\r\n", b"\xff"] {
            assert_eq!(status(answer), None);
        }
    }
}
