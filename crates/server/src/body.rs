//! Bodies. Those of requests are limited in length, in time, in what they unpack to, and to their caller's share of
//! memory; those of answers release what their request holds once they are written.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use proofmark_receipt::Json;
use proofmark_receipt::document::{self, Format};
use proofmark_receipt::json::{self, Limits};

use crate::problem::Problem;
use crate::reply::JSON;
use crate::share::Share;

/// The longest body, in bytes, packed and unpacked.
pub const MAX_BODY: usize = 4 << 20;
/// How long a client may take to send one.
const MAX_BODY_TIME: Duration = Duration::from_secs(20);
/// The most bytes that a thread of the runtime reads itself.
const SMALL: usize = 64 << 10;
/// How many bytes are unpacked at a time.
const UNPACKED_AT_ONCE: usize = 64 << 10;

/// The media types of YAML: that of RFC 9512, and the one from before it.
const YAML: [&str; 2] = ["application/yaml", "application/x-yaml"];

/// What a body is declared to be; another type is refused. A page of another origin may send a form, a text, or bytes without a
/// type unasked, and never one of these.
pub fn format(headers: &HeaderMap, body: &Body) -> Result<Format, Problem> {
    // A request without a body has nothing to declare: `DELETE`, `GET` and a `redeem` without terms.
    if body.is_end_stream() {
        return Ok(Format::Json);
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().map(|value| value.to_str().unwrap_or_default());
    let declared = match (types.next(), types.next()) {
        // Without the parameters: a page may send `text/plain; application/json` unasked.
        (Some(media_type), None) => media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
        (_, _) => String::new(),
    };
    if declared == JSON || (declared.starts_with("application/") && declared.ends_with("+json")) {
        return Ok(Format::Json);
    }
    if YAML.contains(&declared.as_str()) {
        return Ok(Format::Yaml);
    }
    Err(not_json("the body is declared to be neither JSON nor YAML"))
}

/// Refuses a body of another type than JSON.
pub fn not_json(message: &str) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message)
        .help(format!("send it with one `Content-Type: {JSON}`"))
}

/// The bytes of a body as JSON. Handlers read nothing else, so that YAML means what the same JSON does.
pub(crate) fn to_json(format: Format, bytes: Vec<u8>, memory: &mut Share) -> Result<Vec<u8>, Problem> {
    match format {
        Format::Json => Ok(bytes),
        Format::Yaml => {
            memory.grow(document::yaml_size(&bytes))?;
            let document = document::parse(&bytes, Format::Yaml);
            let json = document.map_err(|error| Problem::unreadable("read the body", &error))?.to_text().into_bytes();
            // An alias stands for more than its own bytes.
            memory.grow(json.len().saturating_add(json::read_size(&json)))?;
            Ok(json)
        }
    }
}

/// A body that has arrived, perhaps packed.
#[derive(Debug, Default)]
pub struct Sent {
    bytes: Vec<u8>,
    is_packed: bool,
    /// The most bytes that it may have, packed and unpacked.
    most: usize,
}

impl Sent {
    /// Whether it is read at once, so that a thread of the runtime may do it.
    #[must_use]
    pub fn is_small(&self) -> bool {
        !self.is_packed && self.bytes.len() <= SMALL
    }

    /// Its bytes, unpacked. `memory` grows by them, and by what they take once they are read as JSON. This takes a while, and no thread of
    /// the runtime: a few kilobytes unpack to megabytes, and those threads serve all callers.
    ///
    /// # Errors
    /// [`Problem`] for what cannot be unpacked, or is longer than it may be, and where the caller's share of memory is used up.
    pub fn unpack(self, memory: &mut Share) -> Result<Vec<u8>, Problem> {
        let Self { bytes, is_packed, most } = self;
        let (bytes, counted) = if is_packed { unpack(&bytes, most, memory)? } else { (bytes, 0) };
        // The size of a text is no less than that of its beginning.
        memory.grow(json::read_size(&bytes).saturating_sub(counted))?;
        Ok(bytes)
    }
}

/// A body, of at most so many bytes packed and unpacked. `memory` grows by what has arrived, not by what is announced.
pub async fn read(headers: &HeaderMap, body: Body, most: usize, memory: &mut Share) -> Result<Sent, Problem> {
    let too_slow =
        |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body took too long").help("send it in one go");
    // A body whose announced length is too large is refused before it is sent.
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    // A body in chunks announces nothing; `gather` counts what arrives.
    if announced.is_some_and(|length| length > most as u64) {
        return Err(too_large(most));
    }
    let bytes = tokio::time::timeout(MAX_BODY_TIME, gather(body, most, memory)).await.map_err(too_slow)??;
    let encodings: Vec<&[u8]> =
        headers.get_all(header::CONTENT_ENCODING).iter().map(|value| value.as_bytes()).collect();
    let is_packed = match encodings.as_slice() {
        [] | [b"identity"] => false,
        [b"gzip"] => true,
        _ => {
            let message = "the body's encoding is unknown";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown_encoding", message)
                .help("send it plain, or compressed with gzip"));
        }
    };
    Ok(Sent { bytes, is_packed, most })
}

/// The JSON of a body, which is at most so long.
pub fn json(bytes: &[u8], most: usize) -> Result<Json, Problem> {
    Json::parse_with(bytes, Limits { max_bytes: most, ..Limits::default() })
        .map_err(|error| Problem::bad(error.code(), format!("read the body: {error}")).maybe_help(error.help()))
}

/// The same answer, with which `held` is dropped: once it is written, or its client is gone.
pub fn holding<T: Send + Unpin + 'static>(response: Response, held: T) -> Response {
    response.map(|body| Body::new(Holding { body, has_begun: false, _held: held }))
}

/// The same answer, of which a stream ends when `end` is ready. An answer that is complete goes out as it is.
pub fn until(response: Response, end: impl Future<Output = ()> + Send + 'static) -> Response {
    match response.body().size_hint().exact() {
        Some(_) => response,
        None => response.map(|body| Body::new(Until { body, end: Box::pin(end) })),
    }
}

async fn gather(body: Body, most: usize, memory: &mut Share) -> Result<Vec<u8>, Problem> {
    let mut parts = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Problem::bad("broken_body", "the body ends early").help("send it again"))?;
        if bytes.len().saturating_add(part.len()) > most {
            return Err(too_large(most));
        }
        memory.grow(part.len())?;
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// What a packed body unpacks to, and how much of what it takes once it is read is counted: a bomb is refused before all of it is unpacked.
fn unpack(bytes: &[u8], most: usize, memory: &mut Share) -> Result<(Vec<u8>, usize), Problem> {
    let (mut unpacked, mut counted, mut count_at) = (Vec::new(), 0, 4 * UNPACKED_AT_ONCE);
    // gzip allows several members (RFC 1952, section 2.2); a decoder of one would silently ignore the rest.
    let mut packed = MultiGzDecoder::new(bytes);
    loop {
        // It is unpacked piece by piece, with both limits checked after each: gzip can unpack to a thousand times its length.
        let read = packed.by_ref().take(UNPACKED_AT_ONCE as u64).read_to_end(&mut unpacked).map_err(|error| {
            Problem::bad("invalid_gzip", format!("the body cannot be unpacked ({error})")).help("compress it again")
        })?;
        match read {
            0 => return Ok((unpacked, counted)),
            _ if unpacked.len() > most => return Err(too_large(most)),
            read => memory.grow(read)?,
        }
        // At twice the length each time, so that the whole is looked through twice at most.
        if unpacked.len() >= count_at {
            let size = json::read_size(&unpacked);
            memory.grow(size.saturating_sub(counted))?;
            (counted, count_at) = (size, unpacked.len().saturating_mul(2));
        }
    }
}

fn too_large(most: usize) -> Problem {
    let message = format!("the body is longer than {most} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).help("send less")
}

/// A body, and what is dropped with it.
struct Holding<T> {
    body: Body,
    /// Whether some of it was handed over.
    has_begun: bool,
    _held: T,
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.has_begun = true;
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        // With its last part a body that has ended is dropped, before that part is written. One that may go on is kept until
        // nearly all before it is.
        !self.has_begun && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that ends when something else happens.
struct Until {
    body: Body,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HttpBody for Until {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.end.as_mut().poll(cx) {
            // It is polled after this only if the caller breaks the contract of streams; `end` is one that can be polled again.
            Poll::Ready(()) => {
                self.body = Body::empty();
                self.end = Box::pin(std::future::ready(()));
                Poll::Ready(None)
            }
            Poll::Pending => Pin::new(&mut self.body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse;

    use proofmark_store::Tenant;

    use super::*;
    use crate::share;

    /// A body of which nothing comes.
    struct Silent;

    impl HttpBody for Silent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    fn of_type(media_type: &str) -> HeaderMap {
        [(header::CONTENT_TYPE, media_type.parse().unwrap())].into_iter().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for_and_holds_nothing() {
        let limits = share::Limits::new();
        let mut memory = limits.bytes.take(&Tenant::LOCAL, 0).unwrap();
        let mut headers = of_type(JSON);
        headers.insert(header::CONTENT_LENGTH, MAX_BODY.into());
        let begun = tokio::time::Instant::now();
        let mut reading = Box::pin(read(&headers, Body::new(Silent), MAX_BODY, &mut memory));
        let polled = std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx)));
        assert!(polled.await.is_pending());
        assert!(limits.bytes.is_idle());
        let problem = reading.await.unwrap_err();
        assert_eq!(problem.into_response().status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(begun.elapsed().as_secs(), MAX_BODY_TIME.as_secs());
    }

    #[tokio::test]
    async fn a_body_has_room_for_what_is_there_packed_and_unpacked() {
        let limits = share::Limits::new();
        let mut memory = limits.bytes.take(&Tenant::LOCAL, 0).unwrap();
        let sent = read(&of_type(JSON), Body::from("{}"), MAX_BODY, &mut memory).await.unwrap();
        assert_eq!(sent.unpack(&mut memory).unwrap(), b"{}");
        assert_eq!(memory.amount(), 2 + json::read_size(b"{}"));
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packer, &vec![b' '; MAX_BODY]).unwrap();
        let packed = packer.finish().unwrap();
        let mut headers = of_type(JSON);
        headers.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
        let mut memory = limits.bytes.take(&Tenant::LOCAL, 0).unwrap();
        let sent = read(&headers, Body::from(packed.clone()), MAX_BODY, &mut memory).await.unwrap();
        assert_eq!(memory.amount(), packed.len(), "it is unpacked by a thread of the runtime");
        assert_eq!(sent.unpack(&mut memory).unwrap().len(), MAX_BODY);
        assert_eq!(memory.amount(), packed.len() + MAX_BODY + json::read_size(&[b' '; MAX_BODY]));
    }

    #[tokio::test]
    async fn a_bomb_is_refused_before_all_of_it_is_unpacked() {
        const LONG: usize = 16 << 20;
        let limits = share::Limits::new();
        let mut memory = limits.bytes.take(&Tenant::LOCAL, 0).unwrap();
        // Once it is read it would take 800 MB, and a tenant has 128 MiB.
        let bomb = packed_text(&format!("[{}0]", "0,".repeat(LONG / 2 - 2)));
        let refused = unpack(&bomb, LONG, &mut memory).unwrap_err().into_response();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let mut memory = limits.bytes.take(&Tenant::LOCAL, 0).unwrap();
        let (bytes, counted) = unpack(&packed_text(&"\"a, b\", ".repeat(100_000)), LONG, &mut memory).unwrap();
        assert!(counted > 0 && counted <= json::read_size(&bytes), "{counted}");
    }

    fn packed_text(text: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packer, text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    #[tokio::test]
    async fn what_is_held_stays_until_the_last_part_is_written() {
        let held = share::Limits::new().bytes.take(&Tenant::LOCAL, 1).unwrap();
        let mut answer = holding(Response::new(Body::from("x")), held).into_body();
        assert!(std::future::poll_fn(|cx| Pin::new(&mut answer).poll_frame(cx)).await.is_some());
        assert!(!answer.is_end_stream(), "hyper drops it here, and has not written anything");
        assert!(std::future::poll_fn(|cx| Pin::new(&mut answer).poll_frame(cx)).await.is_none());
        assert!(holding(Response::new(Body::empty()), ()).into_body().is_end_stream());
    }

    #[test]
    fn what_a_page_may_send_unasked_is_no_json() {
        let is_json = |headers: &HeaderMap| format(headers, &Body::from("{}")).is_ok();
        for said in ["application/yaml", "application/x-yaml; charset=utf-8"] {
            assert!(matches!(format(&of_type(said), &Body::from("a: 1")), Ok(Format::Yaml)), "{said}");
        }
        for said in ["application/json", "Application/JSON; charset=utf-8", "application/vrf+json"] {
            assert!(is_json(&of_type(said)), "{said}");
        }
        for said in [
            "text/plain",
            "text/yaml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=a",
            "",
            "text/json",
        ] {
            assert!(!is_json(&of_type(said)), "{said}");
        }
        let mut twice = of_type(JSON);
        twice.append(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
        assert!(!is_json(&twice) && !is_json(&HeaderMap::new()));
        assert!(format(&HeaderMap::new(), &Body::empty()).is_ok());
    }
}
