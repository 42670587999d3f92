//! An issuer, and what it publishes: its metadata (OpenID Connect Discovery) and its keys.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use proofmark_receipt::Json;
use proofmark_receipt::document::shown;

use super::key_set::KeySet;
use crate::origin;
use crate::outgoing::{self, HttpsClient};

/// The longest address of an issuer, in bytes: it is part of the name of each holder of a token.
const MAX_ISSUER: usize = 128;
/// How long an issuer may take to answer one question.
const MAX_ASKING: Duration = Duration::from_secs(5);
/// The longest document of an issuer, in bytes.
const MAX_DOCUMENT: usize = 512 << 10;
/// Where the metadata of an issuer is, below its address.
const METADATA: &str = "/.well-known/openid-configuration";

/// The address of an issuer, as its tokens name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerUrl(String);

/// A text is not the address of an issuer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssuerUrlError {
    #[error("invalid issuer: it is not a URL like https://login.example.org without a user, a query and a fragment")]
    Url,
    #[error("invalid issuer: its keys would come over http; write `https://`, or an address of this host")]
    Plain,
    #[error("invalid issuer: it is longer than {MAX_ISSUER} bytes")]
    TooLong,
}

/// Why an issuer cannot be used, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    #[error("read the system's certificates ({0})")]
    Certificates(io::Error),
    #[error("ask the issuer: the system gives no threads ({0})")]
    Threads(String),
    #[error("get `{}`: {reason}", shown(.url))]
    Lost { url: String, reason: String },
    #[error("get `{}`: the answer is {status}", shown(.url))]
    Status { url: String, status: StatusCode },
    #[error("read `{}`: it is not {expected}", shown(.url))]
    Document { url: String, expected: &'static str },
    #[error("use the issuer `{issuer}`: its metadata is of the issuer `{}`", shown(.found))]
    OtherIssuer { issuer: String, found: String },
    #[error("use the issuer `{issuer}`: its keys are at `{}`, which cannot be relied on", shown(.url))]
    Keys { issuer: String, url: String },
}

impl IssuerError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Certificates(_) => Some("install the package `ca-certificates`, or name a file in SSL_CERT_FILE"),
            Self::Threads(_) => None,
            Self::Lost { .. } | Self::Status { .. } => {
                Some("check the address of `--oidc`, and that this host reaches it; redirections are not followed")
            }
            Self::Document { .. } => Some("check that this is an issuer of OpenID Connect"),
            Self::OtherIssuer { .. } => Some("write the issuer exactly as its metadata and its tokens have it"),
            Self::Keys { .. } => Some("the issuer has to publish its keys over https, at an address without a user"),
        }
    }
}

impl IssuerUrl {
    /// As its tokens have it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IssuerUrl {
    type Err = IssuerUrlError;

    fn from_str(text: &str) -> Result<Self, IssuerUrlError> {
        if text.len() > MAX_ISSUER {
            return Err(IssuerUrlError::TooLong);
        }
        let is_plain = is_reliable(text).ok_or(IssuerUrlError::Url)?;
        // The holder of a token is named by the issuer, `#`, and the subject.
        if text.contains(['?', '#']) {
            return Err(IssuerUrlError::Url);
        }
        if is_plain { Ok(Self(text.to_owned())) } else { Err(IssuerUrlError::Plain) }
    }
}

/// Whether what is read at this URL cannot be changed on the way; `None` if it is not a URL.
fn is_reliable(text: &str) -> Option<bool> {
    let address: Uri = text.parse().ok()?;
    let authority = address.authority().filter(|authority| !authority.host().is_empty())?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['@', '#', '\\']);
    // In lower case: the names of holders begin like this, and those of API keys do not.
    match text.split_once("://")?.0 {
        "https" => is_plain.then_some(true),
        "http" => is_plain.then(|| origin::is_loopback(authority.as_str())),
        _ => None,
    }
}

/// Asks one issuer.
pub(super) struct Issuer {
    url: IssuerUrl,
    client: HttpsClient,
}

impl Issuer {
    pub(super) fn new(url: IssuerUrl) -> Result<Self, IssuerError> {
        Ok(Self { url, client: outgoing::client(MAX_ASKING).map_err(IssuerError::Certificates)? })
    }

    /// The keys that it publishes at this moment.
    pub(super) async fn keys(&self) -> Result<KeySet, IssuerError> {
        let issuer = self.url.as_str();
        let place = format!("{}{METADATA}", issuer.trim_end_matches('/'));
        let metadata = self.get(&place).await?;
        let member = |name: &str| metadata.as_object().and_then(|metadata| metadata.get(name)?.as_str());
        let unreadable = |url: &str, expected| IssuerError::Document { url: url.to_owned(), expected };
        let (Some(found), Some(keys)) = (member("issuer"), member("jwks_uri")) else {
            return Err(unreadable(&place, "the metadata of an issuer, with `issuer` and `jwks_uri`"));
        };
        if found != issuer {
            return Err(IssuerError::OtherIssuer { issuer: issuer.to_owned(), found: found.to_owned() });
        }
        // An address with TLS must not lead to one without.
        let is_as_reliable =
            is_reliable(keys) == Some(true) && (keys.starts_with("https:") || issuer.starts_with("http:"));
        if !is_as_reliable {
            return Err(IssuerError::Keys { issuer: issuer.to_owned(), url: keys.to_owned() });
        }
        KeySet::read(&self.get(keys).await?).ok_or_else(|| unreadable(keys, "a set of keys, or has too many"))
    }

    async fn get(&self, url: &str) -> Result<Json, IssuerError> {
        let lost = |reason: String| IssuerError::Lost { url: url.to_owned(), reason };
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = url.parse().map_err(|_| lost("it is not a URL".to_owned()))?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        match outgoing::ask(&self.client, request, MAX_DOCUMENT, MAX_ASKING).await.map_err(lost)? {
            (StatusCode::OK, body) => Json::parse(&body)
                .map_err(|_| IssuerError::Document { url: url.to_owned(), expected: "JSON, or has a name twice" }),
            (status, _) => Err(IssuerError::Status { url: url.to_owned(), status }),
        }
    }
}
