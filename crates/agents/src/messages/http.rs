//! What happens at a guarded server over HTTP. The body of the request is a line that says what happened, and behind it the bytes
//! that the client or the server has sent, as they are.

use proofmark_guard::{HeaderText, HungUp, MessageId, Stream};
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object, object};

use super::{Sent, items, whole_number};

/// The longest line that says what happened, in bytes.
pub(crate) const MAX_HEAD: usize = 512 << 10;
/// The most headers of the protocol that one request has.
const MAX_HEADERS: usize = 1_000;

/// What happened at a guarded server over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OverHttp {
    /// The client has posted the message behind it, with these headers.
    Posted { exchange: u64, may_wait: bool, headers: Vec<HeaderText> },
    /// The client has posted what is behind it, which cannot be read as a message.
    NotAMessage { headers: Vec<HeaderText> },
    /// The client has posted a request with the id of one that is still open.
    StillOpen { id: MessageId },
    /// The stream has brought the message behind it.
    Streamed { exchange: u64, stream: Stream },
    /// A side has hung up before the request was answered.
    HungUp { id: MessageId, when: HungUp },
    /// The server has answered with the text behind it, which cannot be read as a message.
    Failed { id: Option<MessageId> },
    /// Nothing: it is asked whether the request is open.
    IsOpen { id: MessageId },
}

impl OverHttp {
    /// The body of a request that says so; `None` if it says too much.
    pub(crate) fn with(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let head = self.to_json().to_text();
        (head.len() < MAX_HEAD).then(|| [head.as_bytes(), b"\n", bytes].concat())
    }

    /// Reads the body of a request: what happened, and the bytes behind it.
    ///
    /// # Errors
    /// As [`Sent::parse`].
    pub(crate) fn split(body: &[u8]) -> Result<(Self, &[u8]), DocumentError> {
        // The text of a document has no end of a line in it.
        let end = body.iter().take(MAX_HEAD).position(|byte| *byte == b'\n');
        let (head, bytes) = end.and_then(|end| body.split_at_checked(end)).unwrap_or((body, b"\n"));
        // What has no such line is too long to be one, or lacks it.
        let head = if head.len() < MAX_HEAD { head } else { b"" };
        Ok((Self::parse(head)?, bytes.get(1..).unwrap_or_default()))
    }
}

impl Sent for OverHttp {
    fn to_json(&self) -> Json {
        let (what, mut document) = match self {
            Self::Posted { exchange, may_wait, headers } => (
                "posted",
                object! { "exchange": *exchange, "may_wait": *may_wait, "headers": headers_to_json(headers) },
            ),
            Self::NotAMessage { headers } => ("not-a-message", object! { "headers": headers_to_json(headers) }),
            Self::StillOpen { id } => ("still-open", id_to_json(id)),
            Self::Streamed { exchange, stream } => {
                let (kind, request) = match stream {
                    Stream::Of { request, .. } => ("of", Some(id_to_json(request))),
                    Stream::Standing { .. } => ("standing", None),
                    Stream::Resumed { .. } => ("resumed", None),
                };
                let resumable = stream.resumable();
                ("streamed", object! { "by": *exchange, "stream": kind, "resumable": resumable, "of"?: request })
            }
            Self::HungUp { id, when } => {
                let mut of = id_to_json(id);
                of.insert("when", when.as_str());
                ("hung-up", of)
            }
            Self::Failed { id } => ("failed", id.as_ref().map(id_to_json).unwrap_or_default()),
            Self::IsOpen { id } => ("is-open", id_to_json(id)),
        };
        document.insert("what", what);
        document.into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        let what = fields.need("what", "say what happened")?;
        let only = |names: &[&str]| fields.only(&[&["what"], names].concat());
        match what.text()? {
            "posted" => {
                only(&["exchange", "may_wait", "headers"])?;
                Ok(Self::Posted {
                    exchange: whole_number(&fields.need("exchange", "number the exchange")?)?,
                    may_wait: fields.need("may_wait", "write true or false")?.boolean()?,
                    headers: headers(fields)?,
                })
            }
            "not-a-message" => {
                only(&["headers"])?;
                Ok(Self::NotAMessage { headers: headers(fields)? })
            }
            "still-open" => {
                only(&ID)?;
                Ok(Self::StillOpen { id: read_id(fields)? })
            }
            "streamed" => {
                only(&["by", "stream", "resumable", "of"])?;
                let stream = fields.need("stream", "say which stream")?;
                let resumable = fields.need("resumable", "write true or false")?.boolean()?;
                let request = fields.get("of").map(|of| read_id(&of.fields()?)).transpose()?;
                let stream = match (stream.text()?, request) {
                    ("of", Some(request)) => Stream::Of { request, resumable },
                    ("standing", None) => Stream::Standing { resumable },
                    ("resumed", None) => Stream::Resumed { resumable },
                    _ => return Err(stream.wrong_type("a stream")),
                };
                Ok(Self::Streamed { exchange: whole_number(&fields.need("by", "number the exchange")?)?, stream })
            }
            "hung-up" => {
                only(&["request", "exchange", "when"])?;
                let when = fields.need("when", "say when")?;
                let word = HungUp::from_word(when.text()?);
                Ok(Self::HungUp { id: read_id(fields)?, when: word.ok_or_else(|| when.wrong_type("a moment"))? })
            }
            "failed" => {
                only(&ID)?;
                let id = fields.get("request").is_some() || fields.get("exchange").is_some();
                Ok(Self::Failed { id: id.then(|| read_id(fields)).transpose()? })
            }
            "is-open" => {
                only(&ID)?;
                Ok(Self::IsOpen { id: read_id(fields)? })
            }
            _ => Err(what.wrong_type("something that happens over HTTP")),
        }
    }
}

/// The members that name a request.
const ID: [&str; 2] = ["request", "exchange"];

/// The members that name a request.
pub(super) fn id_to_json(id: &MessageId) -> Object {
    object! { "request": id.as_json(), "exchange": id.exchange() }
}

/// The request that these members name.
pub(super) fn read_id(fields: &Fields<'_>) -> Result<MessageId, DocumentError> {
    let id = fields.need("request", "name the request")?;
    let exchange = whole_number(&fields.need("exchange", "number the exchange")?)?;
    MessageId::read(id.text()?, exchange).ok_or_else(|| id.wrong_type("the id of a request"))
}

fn headers_to_json(headers: &[HeaderText]) -> Vec<Json> {
    headers.iter().map(|(name, value)| vec![Json::from(name.as_str()), Json::from(value.as_str())].into()).collect()
}

fn headers(fields: &Fields<'_>) -> Result<Vec<HeaderText>, DocumentError> {
    let listed = fields.need("headers", "list the headers")?;
    items(&listed, MAX_HEADERS)?.iter().map(header).collect()
}

fn header(field: &Field<'_>) -> Result<HeaderText, DocumentError> {
    match items(field, 2)?.as_slice() {
        [name, value] => Ok((name.text()?.to_owned(), value.text()?.to_owned())),
        _ => Err(field.error(Cause::InvalidValue, "a header is its name and what it says")),
    }
}
