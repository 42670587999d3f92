//! Asks logs and witnesses over HTTP. What they answer is verified by others.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri};
use proofmark_log::LogSource;
use proofmark_receipt::document::shown;
use proofmark_tlog::{CHECKPOINT_PATH, LogFiles, MAX_NOTE_BYTES, TileContent, TileId, TilePath, Tiles};
use tokio::runtime::{Builder, Runtime};

use crate::outgoing::{self, HttpsClient};

/// How long a question may take.
const MAX_ASKING: Duration = Duration::from_secs(10);
/// The longest answer of a witness, and the largest file of a log, in bytes.
const MAX_ANSWER: usize = MAX_NOTE_BYTES;

/// Asks logs and witnesses. Redirections are not followed.
pub struct LogClient {
    client: HttpsClient,
    runtime: Runtime,
}

/// Why a log gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RemoteLogError {
    #[error("use `{url}`: it is not a URL like https://example.org/log", url = shown(.0))]
    Url(String),
    #[error("get `{url}`: {reason}")]
    Lost { url: String, reason: String },
    #[error("get `{url}`: the answer is {status}")]
    Status { url: String, status: StatusCode },
}

impl LogClient {
    /// # Errors
    /// When the system has no certificates, or gives no thread.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { client: outgoing::client(MAX_ASKING)?, runtime })
    }

    /// The body at this URL; none where the answer is 404.
    ///
    /// # Errors
    /// [`RemoteLogError`]
    pub fn get(&self, url: &str) -> Result<Option<Vec<u8>>, RemoteLogError> {
        let lost = |reason: String| RemoteLogError::Lost { url: url.to_owned(), reason };
        let (status, bytes) = self.ask(Method::GET, url, Body::empty()).map_err(lost)?;
        match status {
            StatusCode::OK => Ok(Some(bytes)),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(RemoteLogError::Status { url: url.to_owned(), status }),
        }
    }

    /// Sends a text to this URL: the status and the body of the answer.
    ///
    /// # Errors
    /// Why it did not answer.
    pub fn post(&self, url: &str, text: String) -> Result<(u16, Vec<u8>), String> {
        let (status, bytes) = self.ask(Method::POST, url, Body::from(text))?;
        Ok((status.as_u16(), bytes))
    }

    /// Sends a request: the status, the headers and the body of the answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn send(&self, request: Request<Body>) -> Result<(StatusCode, HeaderMap, Vec<u8>), String> {
        outgoing::ask_with_headers(&self.client, request, MAX_ANSWER, MAX_ASKING).await
    }

    /// Waits for what asks by this client.
    pub(super) fn wait<F: Future>(&self, asking: F) -> F::Output {
        self.runtime.block_on(asking)
    }

    fn ask(&self, method: Method, url: &str, body: Body) -> Result<(StatusCode, Vec<u8>), String> {
        let address: Uri = url.parse().map_err(|_| RemoteLogError::Url(url.to_owned()).to_string())?;
        let mut request = Request::new(body);
        (*request.method_mut(), *request.uri_mut()) = (method, address);
        self.runtime.block_on(outgoing::ask(&self.client, request, MAX_ANSWER, MAX_ASKING))
    }
}

/// A log at a URL, in the layout of C2SP tlog-tiles.
pub struct RemoteLog<'c> {
    client: &'c LogClient,
    base: String,
}

impl<'c> RemoteLog<'c> {
    /// # Errors
    /// [`RemoteLogError::Url`]
    pub fn at(client: &'c LogClient, url: &str) -> Result<Self, RemoteLogError> {
        let base = outgoing::base_url(url).ok_or_else(|| RemoteLogError::Url(url.to_owned()))?;
        Ok(Self { client, base })
    }

    fn file(&self, path: &str) -> Result<Option<Vec<u8>>, RemoteLogError> {
        self.client.get(&format!("{}/{path}", self.base))
    }

    fn content(&self, content: TileContent, width: usize) -> Result<Option<Vec<u8>>, RemoteLogError> {
        let Ok(width) = u16::try_from(width) else { return Ok(None) };
        let path = TilePath { content, width };
        match self.file(&path.to_string())? {
            // A server may have only the full one by now.
            None if width < 256 => self.file(&TilePath { content, width: 256 }.to_string()),
            found => Ok(found),
        }
    }
}

impl Tiles for RemoteLog<'_> {
    type Error = RemoteLogError;

    fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, RemoteLogError> {
        self.content(TileContent::Tile(id), width)
    }
}

impl LogFiles for RemoteLog<'_> {
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, RemoteLogError> {
        self.content(TileContent::Entries(index), width)
    }
}

impl LogSource for RemoteLog<'_> {
    fn checkpoint(&self) -> Result<Vec<u8>, RemoteLogError> {
        let url = format!("{}/{CHECKPOINT_PATH}", self.base);
        let status = StatusCode::NOT_FOUND;
        self.file(CHECKPOINT_PATH)?.ok_or(RemoteLogError::Status { url, status })
    }
}
