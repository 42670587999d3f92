//! Has other servers verify the same work, each for itself.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use axum::http::{Method, Request, StatusCode};
use futures_util::future;
use proofmark_receipt::document::shown;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Hashes, Json, Receipt};
use tokio::runtime::{Builder, Runtime};

use crate::outgoing::{self, HttpsClient};

/// How long connecting may take.
const MAX_CONNECTING: Duration = Duration::from_secs(10);
/// How long a server is asked to hold a request until there is a receipt, and how long that may take in all.
const WAIT: (&str, Duration) = ("wait=60", Duration::from_secs(90));
/// How long to wait until a job is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// The most characters of an answer that messages quote.
const MAX_QUOTED: usize = 400;

/// A server that verifies work.
pub struct Peer {
    url: String,
    authorization: Option<HeaderValue>,
}

/// The address of a server, or its API key, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PeerAddressError {
    #[error("use `{}`: it is not a URL like https://proofmark.example.org", shown(.0))]
    Url(String),
    #[error("use the API key for `{}`: it has characters that a header cannot have", shown(.0))]
    Key(String),
}

/// Why a server gave no receipt of the work, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("ask `{url}`: {reason}")]
    Lost { url: String, reason: String },
    #[error("ask `{url}`: the answer is {status}: {}", shown(.said))]
    Refused { url: String, status: StatusCode, said: String },
    #[error("ask `{url}`: the answer is not a receipt: {reason}")]
    NoReceipt { url: String, reason: String },
    #[error("ask `{0}`: the job did not end in time")]
    Late(String),
    #[error("use the receipt of `{url}`: it is of other work, its `hashes.{field}` differs")]
    OtherWork { url: String, field: &'static str },
}

impl PeerAddressError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Url(_) => "name the servers by their URLs, with commas between them",
            Self::Key(_) => "write the key as the server's operator gave it",
        }
    }
}

impl PeerError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Refused { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, .. } => {
                "give an API key of the role `agent` for it"
            }
            Self::Refused { .. } | Self::NoReceipt { .. } => "ask its operator, or ask another server",
            Self::Lost { .. } => "see that it runs and can be reached from here",
            Self::Late(_) => "give it more time",
            Self::OtherWork { .. } => "ask another server: this one has not verified this request",
        }
    }
}

/// Asks servers.
pub struct Peers {
    client: HttpsClient,
    runtime: Runtime,
}

impl Peer {
    /// A server at a URL, which is sent this API key.
    ///
    /// # Errors
    /// [`PeerAddressError`]
    pub fn new(url: &str, api_key: Option<&str>) -> Result<Self, PeerAddressError> {
        let base = outgoing::base_url(url).ok_or_else(|| PeerAddressError::Url(url.to_owned()))?;
        let bearer = |key: &str| {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| PeerAddressError::Key(url.to_owned()))?;
            value.set_sensitive(true);
            Ok(value)
        };
        let authorization = api_key.map(bearer).transpose()?;
        Ok(Self { url: base, authorization })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn lost(&self, reason: String) -> PeerError {
        PeerError::Lost { url: self.url.clone(), reason }
    }

    fn request(&self, method: Method, path: &str, body: Body) -> Result<Request<Body>, PeerError> {
        let url = format!("{}{path}", self.url);
        let mut request = Request::builder().method(method).uri(url).header("prefer", WAIT.0);
        request = request.header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        request.body(body).map_err(|error| self.lost(error.to_string()))
    }

    fn receipt(&self, text: &[u8]) -> Result<Receipt, PeerError> {
        Receipt::parse(text)
            .map_err(|error| PeerError::NoReceipt { url: self.url.clone(), reason: shown(&error.to_string()) })
    }
}

impl Peers {
    /// # Errors
    /// When the system has no certificates, or gives no thread.
    pub fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { client: outgoing::client(MAX_CONNECTING)?, runtime })
    }

    /// Has all of them verify a request at the same time, and returns what each has found, in their order. Signatures are not verified;
    /// that a receipt is of the work with these hashes is.
    pub fn verify(
        &self,
        peers: &[Peer],
        request: &str,
        hashes: &Hashes,
        patience: Duration,
    ) -> Vec<Result<Receipt, PeerError>> {
        let ask = |peer| self.ask(peer, request, hashes, Instant::now() + patience);
        self.runtime.block_on(future::join_all(peers.iter().map(ask)))
    }

    async fn ask(&self, peer: &Peer, request: &str, hashes: &Hashes, until: Instant) -> Result<Receipt, PeerError> {
        let asking = peer.request(Method::POST, "/v1/verifications", Body::from(request.to_owned()))?;
        let mut answer = self.answer(peer, asking).await?;
        let receipt = loop {
            match answer {
                (StatusCode::OK, text) => break peer.receipt(&text)?,
                (_, job) => match Job::read(&job) {
                    Some(Job::Ended(Some(receipt))) => break peer.receipt(receipt.as_bytes())?,
                    Some(Job::Runs(_)) if Instant::now() >= until => return Err(PeerError::Late(peer.url.clone())),
                    Some(Job::Runs(id)) => {
                        tokio::time::sleep(ASK_AGAIN).await;
                        let asking = peer.request(Method::GET, &format!("/v1/jobs/{id}"), Body::empty())?;
                        let (status, job) = self.answer(peer, asking).await?;
                        // A job is answered with 200, too.
                        answer = (if status == StatusCode::OK { StatusCode::ACCEPTED } else { status }, job);
                    }
                    Some(Job::Ended(None)) | None => {
                        let reason = "it is a job that ended without one".to_owned();
                        return Err(PeerError::NoReceipt { url: peer.url.clone(), reason });
                    }
                },
            }
        };
        // A server could answer with a receipt of other work.
        let found = receipt.hashes();
        let differs = match () {
            () if found.specification != hashes.specification => Some("specification"),
            () if found.output != hashes.output => Some("output"),
            () if found.tests != hashes.tests => Some("tests"),
            () => None,
        };
        match differs {
            Some(field) => Err(PeerError::OtherWork { url: peer.url.clone(), field }),
            None => Ok(receipt),
        }
    }

    /// The answer to a request that was taken.
    async fn answer(&self, peer: &Peer, request: Request<Body>) -> Result<(StatusCode, Vec<u8>), PeerError> {
        let answered = outgoing::ask(&self.client, request, MAX_BYTES, WAIT.1).await;
        let (status, text) = answered.map_err(|reason| peer.lost(reason))?;
        if status.is_success() {
            return Ok((status, text));
        }
        let said: String = String::from_utf8_lossy(&text).chars().take(MAX_QUOTED).collect();
        Err(PeerError::Refused { url: peer.url.clone(), status, said })
    }
}

/// A job as a server describes it.
enum Job {
    /// With its id.
    Runs(String),
    /// With its receipt.
    Ended(Option<String>),
}

impl Job {
    fn read(text: &[u8]) -> Option<Self> {
        let job = Json::parse(text).ok()?;
        let job = job.as_object()?;
        Some(match job.get("state")?.as_str()? {
            "waiting" | "running" => {
                let id = job.get("job_id")?.as_str()?;
                // It becomes a part of a path.
                let is_id = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                is_id.then(|| Self::Runs(id.to_owned()))?
            }
            _ => Self::Ended(job.get("receipt").map(Json::to_text)),
        })
    }
}
