//! The side of the agent: asks the server that decides, and says so where it is not answered.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use proofmark_decider::{HookRuling, HostRecord, StopRuling};
use proofmark_receipt::Json;
use proofmark_receipt::document::shown;
use proofmark_server::origin;
use proofmark_server::reply::JSON;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

use crate::endpoints::HOOKS;
use crate::messages::{HookAnswer, HookEvent, MAX_BYTES, Sent};

mod guard;

pub use guard::{RemoteGuard, RemoteJudges};

/// How an address of a socket begins.
const SOCKET: &str = "unix:";
/// What is asked by a socket has no host.
const NO_HOST: &str = "localhost";
/// How long it is waited before something is asked again that the server has not taken.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// How long a connection is kept for the next question. The server closes those that are silent for longer, and nothing that is asked
/// must meet that: it would count as lost.
const MAX_IDLE: Duration = Duration::from_secs(4);

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// A socket of this host.
    Socket(PathBuf),
    Url(Uri),
}

/// Why an address cannot be used, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("read the server's address `{}`: it is neither unix:/PATH nor a URL like https://example.org", shown(.0))]
    Address(String),
    #[error("ask `{}`: the API key would be readable on the way; write `https://`", shown(.0))]
    Readable(String),
    #[error("use the API key: it is empty, or has characters that a header cannot have")]
    Key,
    #[error("ask the server: the system has no certificates, or gives no thread ({0})")]
    System(#[from] io::Error),
}

/// Why a server gave no answer, completing "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nothing was sent.
    #[error("reach the server that decides ({0})")]
    Unreachable(String),
    /// It takes no more at present.
    #[error("ask the server that decides: it has too much to do")]
    Busy,
    #[error("ask the server that decides: {0}")]
    Refused(String),
    /// It may have taken what was sent.
    #[error("hear from the server that decides ({0})")]
    Lost(String),
}

/// A server that decides.
pub struct Server {
    address: ServerAddress,
    credential: Option<HeaderValue>,
    transport: Transport,
    runtime: Runtime,
}

enum Transport {
    Socket(Client<ToSocket, Body>),
    Plain(Client<HttpConnector, Body>),
    Tls(Client<HttpsConnector<HttpConnector>, Body>),
}

/// Connects to a socket of this host, whatever the address says.
#[derive(Clone)]
struct ToSocket(PathBuf);

impl Service<Uri> for ToSocket {
    type Response = TokioIo<UnixStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move { UnixStream::connect(path).await.map(TokioIo::new) })
    }
}

impl FromStr for ServerAddress {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let invalid = || ServerError::Address(text.to_owned());
        if let Some(path) = text.strip_prefix(SOCKET) {
            return if path.starts_with('/') { Ok(Self::Socket(path.into())) } else { Err(invalid()) };
        }
        let url: Uri = text.parse().map_err(|_| invalid())?;
        let has_scheme = matches!(url.scheme_str(), Some("http" | "https"));
        let is_host = url.authority().is_some_and(|it| !it.host().is_empty() && !it.as_str().contains('@'));
        let is_whole = url.path_and_query().is_none_or(|place| place.as_str() == "/");
        if has_scheme && is_host && is_whole { Ok(Self::Url(url)) } else { Err(invalid()) }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{SOCKET}{}", path.display()),
            Self::Url(url) => write!(f, "{}", url.to_string().trim_end_matches('/')),
        }
    }
}

impl Server {
    /// The server at this address, asked with this API key by several threads. It is not asked anything yet.
    ///
    /// # Errors
    /// [`ServerError`] for a key that others could read, and where the system lacks something.
    pub fn new(address: ServerAddress, api_key: Option<&str>) -> Result<Self, ServerError> {
        // One thread for all connections: those who ask wait.
        Self::with(address, api_key, Builder::new_multi_thread().worker_threads(1))
    }

    /// As [`Server::new`], asked by one thread, which starts no other: a hook asks once, and its host waits for its start and its end.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn for_one_thread(address: ServerAddress, api_key: Option<&str>) -> Result<Self, ServerError> {
        Self::with(address, api_key, &mut Builder::new_current_thread())
    }

    fn with(address: ServerAddress, api_key: Option<&str>, runtime: &mut Builder) -> Result<Self, ServerError> {
        let is_readable = match &address {
            ServerAddress::Socket(_) => false,
            ServerAddress::Url(url) => {
                let authority = url.authority().map_or("", |authority| authority.as_str());
                url.scheme_str() != Some("https") && !origin::is_loopback(authority)
            }
        };
        if api_key.is_some() && is_readable {
            return Err(ServerError::Readable(address.to_string()));
        }
        let transport = match &address {
            ServerAddress::Socket(path) => Transport::Socket(client(ToSocket(path.clone()))),
            ServerAddress::Url(url) if url.scheme_str() == Some("https") => {
                let tls = HttpsConnectorBuilder::new().with_native_roots()?;
                Transport::Tls(client(tls.https_only().enable_http1().build()))
            }
            ServerAddress::Url(_) => Transport::Plain(client(HttpConnector::new())),
        };
        let runtime = runtime.enable_all().build()?;
        Ok(Self { address, credential: api_key.map(bearer).transpose()?, transport, runtime })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// What is ruled on an event of a host, within this time; nothing where it is only recorded. `record` is asked for if the server needs the host's own record. What the
    /// server has not taken is sent again for half of this time.
    ///
    /// # Errors
    /// [`AskError`]; the call may not be made then.
    pub fn hook(
        &self,
        mut event: HookEvent,
        record: &dyn Fn() -> HostRecord,
        within: Duration,
    ) -> Result<Option<HookRuling>, AskError> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.ask(HOOKS, event.to_json().to_text().into(), left) {
                Ok(answer) => match read::<HookAnswer>(&answer)? {
                    HookAnswer::Ruled(ruling) => return Ok(Some(ruling)),
                    HookAnswer::Recorded => return Ok(None),
                    HookAnswer::Stopped(_) => return Err(nonsense()),
                    HookAnswer::NeedsRecord if event.record.is_none() => event.record = Some(record()),
                    HookAnswer::NeedsRecord => return Err(nonsense()),
                },
                Err(AskError::Unreachable(_) | AskError::Busy) if left > within / 2 => thread::sleep(AGAIN_AFTER),
                Err(error) => return Err(error),
            }
        }
    }

    /// What is ruled on an agent that is about to stop, with the step that it is at.
    ///
    /// # Errors
    /// [`AskError`]; nothing is accepted then.
    pub fn stop(&self, event: &HookEvent, within: Duration) -> Result<StopRuling, AskError> {
        match read::<HookAnswer>(&self.ask(HOOKS, event.to_json().to_text().into(), within)?)? {
            HookAnswer::Stopped(ruling) => Ok(ruling),
            HookAnswer::Ruled(_) | HookAnswer::Recorded | HookAnswer::NeedsRecord => Err(nonsense()),
        }
    }

    /// The body of the answer.
    fn ask(&self, path: &str, body: Bytes, within: Duration) -> Result<Bytes, AskError> {
        let request = self.request(path, body)?;
        self.runtime.block_on(async {
            let answered = tokio::time::timeout(within, self.exchange(request)).await;
            let (status, body) = answered.map_err(|_| AskError::Lost("it took too long".to_owned()))??;
            match status {
                StatusCode::OK => Ok(body),
                StatusCode::TOO_MANY_REQUESTS => Err(AskError::Busy),
                _ => Err(AskError::Refused(detail(&body).unwrap_or_else(|| format!("it answered {status}")))),
            }
        })
    }

    fn request(&self, path: &str, body: Bytes) -> Result<Request<Body>, AskError> {
        let base = match &self.address {
            ServerAddress::Socket(_) => format!("http://{NO_HOST}"),
            ServerAddress::Url(url) => url.to_string().trim_end_matches('/').to_owned(),
        };
        let mut request =
            Request::builder().method(Method::POST).uri(format!("{base}{path}")).header(CONTENT_TYPE, JSON);
        if matches!(self.address, ServerAddress::Socket(_)) {
            request = request.header(HOST, NO_HOST);
        }
        if let Some(credential) = &self.credential {
            request = request.header(AUTHORIZATION, credential.clone());
        }
        request.body(Body::from(body)).map_err(|error| AskError::Unreachable(error.to_string()))
    }

    async fn exchange(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), AskError> {
        let response = match &self.transport {
            Transport::Socket(client) => client.request(request).await,
            Transport::Plain(client) => client.request(request).await,
            Transport::Tls(client) => client.request(request).await,
        };
        let response = response.map_err(|error| not_answered(&error))?;
        let status = response.status();
        let body = axum::body::to_bytes(Body::new(response.into_body()), MAX_BYTES).await;
        Ok((status, body.map_err(|error| AskError::Lost(error.to_string()))?))
    }
}

fn client<C: Connect + Clone>(connector: C) -> Client<C, Body> {
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(MAX_IDLE).build(connector)
}

fn bearer(api_key: &str) -> Result<HeaderValue, ServerError> {
    let is_token = !api_key.is_empty() && api_key.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::try_from(format!("Bearer {api_key}")).ok().filter(|_| is_token);
    let mut value = value.ok_or(ServerError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

fn not_answered(error: &Error) -> AskError {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    // The last cause is the system's; those before it say that it was an error of a client.
    let cause = causes.last().map_or_else(String::new, |cause| shown(&cause.to_string()));
    if error.is_connect() { AskError::Unreachable(cause) } else { AskError::Lost(cause) }
}

/// What a problem document says.
fn detail(body: &[u8]) -> Option<String> {
    let problem = Json::parse(body).ok()?;
    let text = |name: &str| Some(shown(problem.as_object()?.get(name)?.as_str()?));
    let help = text("help").map_or_else(String::new, |help| format!(" ({help})"));
    text("detail").map(|detail| format!("{detail}{help}"))
}

fn read<T: Sent>(answer: &[u8]) -> Result<T, AskError> {
    T::parse(answer).map_err(|_| nonsense())
}

fn nonsense() -> AskError {
    AskError::Lost("its answer cannot be read: use one version of Proofmark".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_socket_or_a_host() {
        for text in ["unix:/run/proofmark/socket", "http://127.0.0.1:8700", "https://example.org"] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "unix:",
            "unix:socket",
            "example.org",
            "ftp://h",
            "http://",
            "http://u:p@h",
            "https://h/path",
            "https://h/?a",
        ] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_is_sent_where_nobody_reads_along() {
        let server = |address: &str, key| Server::new(address.parse().unwrap(), Some(key)).err();
        assert!(matches!(server("http://example.org", "pmk_1"), Some(ServerError::Readable(_))));
        assert!(server("http://127.0.0.1:1", "pmk_1").is_none() && server("unix:/s", "pmk_1").is_none());
        for key in ["", "two words", "a\nb"] {
            assert!(matches!(server("unix:/s", key), Some(ServerError::Key)), "{key:?}");
        }
    }
}
