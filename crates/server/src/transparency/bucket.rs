//! A copy of the log in a bucket of a store that speaks S3. Requests are signed by the keys of the environment, as other programs for such
//! stores read them; what the store answers is compared with the log by others.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use base64ct::{Base64, Encoding};
use futures_util::{StreamExt, TryStreamExt, stream};
use proofmark_log::{CopiedFile, CopyPlace};
use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::shown;
use proofmark_tlog::CHECKPOINT_PATH;
use rusty_s3::actions::{GetObject, PutObject};
use rusty_s3::{Credentials, Map, S3Action, UrlStyle};

use super::answers::{BYTES, FOR_A_SECOND, FOR_EVER, NOTE};
use super::client::LogClient;
use crate::origin;

/// How addresses of buckets begin.
const SCHEME: &str = "s3://";
/// The region that stores other than that of Amazon mostly take.
const DEFAULT_REGION: &str = "us-east-1";
/// How long a signature counts, as the clocks of both sides may differ.
const SIGNED_FOR: Duration = Duration::from_secs(15 * 60);
/// How many files are sent at the same time.
const AT_ONCE: usize = 8;
/// The lengths of a bucket's name, of a region and of a prefix.
const BUCKET_CHARS: std::ops::RangeInclusive<usize> = 3..=63;
const MAX_REGION: usize = 63;
const MAX_PREFIX: usize = 512;
/// The longest tag of a version, and the longest code of an error, that are read.
const MAX_TAG: usize = 256;
const MAX_CODE: usize = 64;
/// The code where a store has no such bucket. Other answers with 404 are of a file.
const NO_BUCKET: &str = "NoSuchBucket";

/// A folder of a bucket.
pub struct Bucket {
    bucket: rusty_s3::Bucket,
    credentials: Credentials,
    /// Empty, or the names of folders with a slash after each.
    prefix: String,
    name: String,
    client: Arc<LogClient>,
}

/// Why a bucket cannot be used, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    #[error("read `{}`: it does not name a folder or a bucket", shown(.0))]
    Place(String),
    #[error("use the endpoint of the bucket: it is not a URL like https://s3.example.org")]
    Endpoint,
    #[error("send requests to the endpoint of the bucket: over http their signatures would be readable on the way")]
    Plain,
    #[error("use the region `{}` of the bucket", shown(.0))]
    Region(String),
    #[error("find the keys of the bucket: {0} is not set")]
    Keys(&'static str),
}

impl BucketError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::Place(_) => "write a folder, or s3://BUCKET or s3://BUCKET/FOLDER, of letters, digits and . - _",
            Self::Endpoint => "write AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, without a user, a password and a query",
            Self::Plain => "write `https://` in AWS_ENDPOINT_URL_S3; only to this host are requests sent over http",
            Self::Region(_) => "write it in AWS_REGION in lower-case letters, digits and `-`, as in eu-central-1",
            Self::Keys(_) => "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN for keys that end",
        })
    }
}

/// What may be at a name when it is written.
#[derive(Clone, Copy)]
enum Condition<'a> {
    Nothing,
    Version(&'a str),
    Anything,
}

/// How a store answered a request to write.
enum Written {
    Done,
    /// Something else is there.
    Refused,
    /// It does not know conditions.
    Unconditional,
}

/// A file of a bucket.
struct Found {
    bytes: Vec<u8>,
    tag: Option<String>,
}

impl Bucket {
    /// Whether a text is meant as the address of a bucket, or as some other address.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.contains("://")
    }

    /// The bucket at `s3://BUCKET/FOLDER`. `variable` reads the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
    /// `AWS_REGION` or `AWS_DEFAULT_REGION`, and `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`. Nothing is asked yet.
    ///
    /// # Errors
    /// [`BucketError`]
    pub fn new(
        place: &str,
        variable: impl Fn(&str) -> Option<String>,
        client: Arc<LogClient>,
    ) -> Result<Self, BucketError> {
        // As other programs do: one that is empty is not set.
        let variable = |name| variable(name).filter(|value| !value.trim().is_empty());
        let (name, prefix) = read_place(place).ok_or_else(|| BucketError::Place(place.to_owned()))?;
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| DEFAULT_REGION.to_owned());
        // It becomes part of a host name.
        if region.len() > MAX_REGION || !region.bytes().all(|byte| is_lower(byte) || byte == b'-') {
            return Err(BucketError::Region(region));
        }
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let style = match &endpoint {
            // Certificates of Amazon are for one label before its own host.
            None if !name.contains('.') => UrlStyle::VirtualHost,
            _ => UrlStyle::Path,
        };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        if endpoint.contains(['@', '?', '#', '\\']) {
            return Err(BucketError::Endpoint);
        }
        let endpoint = endpoint.parse().map_err(|_| BucketError::Endpoint)?;
        let bucket = rusty_s3::Bucket::new(endpoint, style, name.to_owned(), region);
        let bucket = bucket.map_err(|_| BucketError::Endpoint)?;
        // Of the address that is asked, however the one that was given is read.
        let asked: Uri = bucket.base_url().as_str().parse().map_err(|_| BucketError::Endpoint)?;
        let host = asked.authority().ok_or(BucketError::Endpoint)?;
        if asked.scheme_str() != Some("https") && !origin::is_loopback(host.as_str()) {
            return Err(BucketError::Plain);
        }
        let key = |name| variable(name).ok_or(BucketError::Keys(name));
        let (id, secret) = (key("AWS_ACCESS_KEY_ID")?, key("AWS_SECRET_ACCESS_KEY")?);
        let credentials = match variable("AWS_SESSION_TOKEN") {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        };
        let shown = format!("{SCHEME}{name}/{}", prefix.trim_end_matches('/'));
        let name = shown.trim_end_matches('/').to_owned();
        Ok(Self { bucket, credentials, prefix, name, client })
    }

    /// The file of this name; none where there is none.
    async fn get(&self, name: &str) -> Result<Option<Found>, String> {
        let object = format!("{}{name}", self.prefix);
        let address = GetObject::new(&self.bucket, Some(&self.credentials), &object).sign(SIGNED_FOR);
        let (status, headers, bytes) = self.ask(Method::GET, address.as_str(), HeaderMap::new(), Vec::new()).await?;
        match status {
            StatusCode::OK => {
                let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| tag.len() <= MAX_TAG);
                Ok(Some(Found { bytes, tag: tag.map(str::to_owned) }))
            }
            StatusCode::NOT_FOUND if code(&bytes) != Some(NO_BUCKET) => Ok(None),
            status => Err(refusal(status, &bytes)),
        }
    }

    async fn put(&self, name: &str, bytes: &[u8], condition: Condition<'_>) -> Result<Written, String> {
        let object = format!("{}{name}", self.prefix);
        let mut action = PutObject::new(&self.bucket, Some(&self.credentials), &object);
        let signed = action.headers_mut();
        // The address is signed, and the body is not: with its digest it is.
        let digest = Base64::encode_string(Sha256Digest::of(bytes).as_bytes());
        signed.insert("x-amz-checksum-sha256", digest);
        let (media_type, cache) = if name == CHECKPOINT_PATH { (NOTE, FOR_A_SECOND) } else { (BYTES, FOR_EVER) };
        signed.insert(CONTENT_TYPE.as_str(), media_type);
        signed.insert(CACHE_CONTROL.as_str(), cache);
        match condition {
            Condition::Nothing => signed.insert("if-none-match", "*"),
            Condition::Version(tag) => signed.insert("if-match", tag),
            Condition::Anything => {}
        }
        let headers = headers(signed).ok_or("its tag of a version cannot be sent")?;
        let address = action.sign(SIGNED_FOR);
        let (status, _, answer) = self.ask(Method::PUT, address.as_str(), headers, bytes.to_vec()).await?;
        match (status, condition) {
            (StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT, _) => Ok(Written::Done),
            (StatusCode::PRECONDITION_FAILED, Condition::Nothing | Condition::Version(_)) => Ok(Written::Refused),
            // It was deleted meanwhile.
            (StatusCode::NOT_FOUND, Condition::Version(_)) if code(&answer) != Some(NO_BUCKET) => Ok(Written::Refused),
            (StatusCode::NOT_IMPLEMENTED, Condition::Nothing | Condition::Version(_)) => Ok(Written::Unconditional),
            (status, _) => Err(refusal(status, &answer)),
        }
    }

    /// Asks at a signed address, which may be in no message: it is as good as a key.
    async fn ask(
        &self,
        method: Method,
        address: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), String> {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = address.parse().map_err(|_| "its address cannot be written")?;
        *request.headers_mut() = headers;
        self.client.send(request).await
    }

    /// Writes a file where there is none; one that is there has to be the same.
    async fn add(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let is_same = |found: Found| {
            if found.bytes == bytes { Ok(()) } else { Err("another file of this name is there".to_owned()) }
        };
        match self.put(name, bytes, Condition::Nothing).await? {
            Written::Done => Ok(()),
            Written::Refused => is_same(self.get(name).await?.ok_or("it is there, and then it is not")?),
            Written::Unconditional => match self.get(name).await? {
                Some(found) => is_same(found),
                None => self.put(name, bytes, Condition::Anything).await.map(drop),
            },
        }
    }

    async fn replace(&self, before: Option<&[u8]>, note: &[u8]) -> Result<bool, String> {
        let found = self.get(CHECKPOINT_PATH).await?;
        if found.as_ref().map(|found| found.bytes.as_slice()) != before {
            return Ok(false);
        }
        let condition = match &found {
            None => Condition::Nothing,
            Some(Found { tag: Some(tag), .. }) => Condition::Version(tag),
            Some(_) => Condition::Anything,
        };
        Ok(match self.put(CHECKPOINT_PATH, note, condition).await? {
            Written::Done => true,
            Written::Refused => false,
            // What is there was read just before, and one server at a time copies.
            Written::Unconditional => {
                self.put(CHECKPOINT_PATH, note, Condition::Anything).await?;
                true
            }
        })
    }
}

impl CopyPlace for Bucket {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn read_checkpoint(&self) -> Result<Option<Vec<u8>>, String> {
        let found = self.client.wait(self.get(CHECKPOINT_PATH))?;
        Ok(found.map(|found| found.bytes))
    }

    fn add(&self, files: &[CopiedFile]) -> Result<(), String> {
        let add = |CopiedFile { path, bytes }: &CopiedFile| {
            let name = path.to_string();
            let bytes = bytes.clone();
            async move {
                let added = self.add(&name, &bytes).await;
                added.map_err(|reason| format!("{name}: {reason}"))
            }
        };
        self.client.wait(stream::iter(files.iter().map(add)).buffer_unordered(AT_ONCE).try_collect::<()>())
    }

    fn replace_checkpoint(&self, before: Option<&[u8]>, note: &[u8]) -> Result<bool, String> {
        self.client.wait(self.replace(before, note))
    }
}

/// The name of the bucket, and the prefix of its files.
fn read_place(place: &str) -> Option<(&str, String)> {
    let (name, folder) = place.strip_prefix(SCHEME).map(|rest| rest.split_once('/').unwrap_or((rest, "")))?;
    let is_name = |byte| is_lower(byte) || matches!(byte, b'-' | b'.');
    let is_named = BUCKET_CHARS.contains(&name.len()) && name.bytes().all(is_name) && !name.contains("..");
    let is_named = is_named && !name.starts_with(['-', '.']) && !name.ends_with(['-', '.']);
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    // Others would lead out of the prefix, or be written in several ways.
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !matches!(part, "" | "." | "..") && part.bytes().all(is_plain)
    };
    let is_folder = folder.is_empty() || (folder.len() <= MAX_PREFIX && folder.split('/').all(is_part));
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    (is_named && is_folder).then_some((name, prefix))
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// The headers that were signed, as they are sent.
fn headers(signed: &Map<'_>) -> Option<HeaderMap> {
    let header =
        |(name, value): (&str, &str)| Some((HeaderName::try_from(name).ok()?, HeaderValue::from_str(value).ok()?));
    signed.iter().map(header).collect()
}

/// Why a store refused, as far as it may be repeated: its text could be long, and could hold the address that was signed.
fn refusal(status: StatusCode, answer: &[u8]) -> String {
    let code = code(answer).map(|code| format!(" ({code})")).unwrap_or_default();
    format!("the answer is {status}{code}")
}

/// The code in an error of S3: one word.
fn code(answer: &[u8]) -> Option<&str> {
    let (_, rest) = str::from_utf8(answer).ok()?.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = (1..=MAX_CODE).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    fn with(place: &str, variables: &[(&str, &str)]) -> Result<Bucket, BucketError> {
        let variables = [&KEYS[..], variables].concat();
        // The last one counts.
        let variable = |name: &str| variables.iter().rfind(|one| one.0 == name).map(|one| one.1.to_owned());
        Bucket::new(place, variable, Arc::new(LogClient::new().unwrap()))
    }

    fn base(place: &str, variables: &[(&str, &str)]) -> String {
        let bucket = with(place, variables).unwrap();
        bucket.bucket.object_url(&format!("{}checkpoint", bucket.prefix)).to_string()
    }

    #[test]
    fn a_bucket_is_where_other_programs_look_for_it() {
        let region = ("AWS_REGION", "eu-central-1");
        let endpoint = ("AWS_ENDPOINT_URL", "https://store.example:9000/s3/");
        for (place, variables, url) in [
            ("s3://logs", &[][..], "https://logs.s3.us-east-1.amazonaws.com/checkpoint"),
            ("s3://logs/", &[region], "https://logs.s3.eu-central-1.amazonaws.com/checkpoint"),
            ("s3://logs/a/b_c.d", &[region], "https://logs.s3.eu-central-1.amazonaws.com/a/b_c.d/checkpoint"),
            ("s3://my.logs/a/", &[region], "https://s3.eu-central-1.amazonaws.com/my.logs/a/checkpoint"),
            (
                "s3://logs",
                &[("AWS_DEFAULT_REGION", "x-1"), ("AWS_REGION", " ")],
                "https://logs.s3.x-1.amazonaws.com/checkpoint",
            ),
            ("s3://logs/a", &[region, endpoint], "https://store.example:9000/s3/logs/a/checkpoint"),
            (
                "s3://logs",
                &[endpoint, ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")],
                "http://127.0.0.1:9000/logs/checkpoint",
            ),
            ("s3://logs", &[("AWS_ENDPOINT_URL", "http://localhost:1")], "http://localhost:1/logs/checkpoint"),
            ("s3://logs", &[("AWS_ENDPOINT_URL", "http://[::1]:1")], "http://[::1]:1/logs/checkpoint"),
        ] {
            assert_eq!(base(place, variables), url, "{place} {variables:?}");
        }
        assert_eq!(with("s3://logs/a/", &[]).unwrap().name(), "s3://logs/a");
        assert_eq!(with("s3://logs", &[]).unwrap().name(), "s3://logs");
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        let long = format!("s3://logs/{}", "a".repeat(MAX_PREFIX + 1));
        for place in [
            "s3:",
            "s3://",
            "s3:///a",
            "S3://logs",
            "http://logs",
            "s3://lo",
            "s3://LOGS",
            "s3://logs@host",
            "s3://logs?a",
            "s3://-logs",
            "s3://logs.",
            "s3://a..b",
            "s3://logs//a",
            "s3://logs/../a",
            "s3://logs/a/..",
            "s3://logs/./a",
            "s3://logs/a//",
            "s3://logs/a b",
            "s3://logs/%2e%2e",
            "s3://logs/a?b",
            "s3://logs/a#b",
            "s3://logs/a\\b",
            &long,
        ] {
            assert!(matches!(with(place, &[]), Err(BucketError::Place(_))), "{place}");
        }
        for region in ["a/b", "evil.example/", "x@y", "EU", "a b", &"a".repeat(MAX_REGION + 1)] {
            assert!(matches!(with("s3://logs", &[("AWS_REGION", region)]), Err(BucketError::Region(_))), "{region}");
        }
        for endpoint in [
            "store.example",
            "ftp://store.example",
            "https://user:word@store.example",
            "https://store.example/?a",
            "https://",
            "unix:/a",
        ] {
            let refused = with("s3://logs", &[("AWS_ENDPOINT_URL", endpoint)]);
            assert!(matches!(refused, Err(BucketError::Endpoint)), "{endpoint}");
        }
        for endpoint in [
            "http://store.example",
            "http://169.254.169.254",
            "http://127.0.0.1.store.example",
            "http://localhost.store.example",
            "http:store.example",
            "http:\t//store.example",
        ] {
            let refused = with("s3://logs", &[("AWS_ENDPOINT_URL_S3", endpoint)]);
            assert!(matches!(refused, Err(BucketError::Plain | BucketError::Endpoint)), "{endpoint}");
        }
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            assert!(matches!(with("s3://logs", &[(name, "")]), Err(BucketError::Keys(missing)) if missing == name));
        }
    }

    #[test]
    fn of_an_error_one_word_is_repeated() {
        let answer = |text: &str| refusal(StatusCode::FORBIDDEN, text.as_bytes());
        assert_eq!(answer("<Error><Code>AccessDenied</Code></Error>"), "the answer is 403 Forbidden (AccessDenied)");
        let long = format!("<Code>{}</Code>", "a".repeat(MAX_CODE + 1));
        for text in ["", "<Code></Code>", "<Code>a b</Code>", "<Code>\u{1b}[2J</Code>", "<Code>a", &long] {
            assert_eq!(answer(text), "the answer is 403 Forbidden", "{text}");
        }
    }
}
