//! A call that waits for an approval. Its answer is a stream, which tells of progress and ends with the response.

use std::io;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use proofmark_decider::Passage;
use proofmark_guard::{Message, MessageId};
use proofmark_server::body;
use proofmark_server::share::Share;
use tokio::sync::mpsc::UnboundedReceiver;

use super::answer::{self, Relayed};
use super::exchange::Exchange;
use super::reply;

/// Tells proxies that they are to pass events on at once.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Where a call that waits is. Its client hangs up by dropping it, and the exchange records that.
enum Waiting {
    Waits(Box<Exchange>, UnboundedReceiver<Passage>),
    /// The server's stream brings the response.
    Brings(BodyDataStream),
    Over,
}

/// The stream of a message that may wait: its client takes progress in a stream, and its tenant may have one more. Without it
/// the message does not wait.
pub(super) fn share(exchange: &Exchange, message: &Message, accept: &str) -> Option<Share> {
    let takes = accept.contains("text/event-stream") && message.meta("progressToken").is_some();
    let proxy = Some(&exchange.proxy).filter(|proxy| proxy.waits && takes)?;
    proxy.limits.streams.take(&exchange.client.caller.tenant, 1).ok()
}

/// The answer to a call that waits, whose client is told `progress` first. `held` are the stream and the memory of its message.
pub(super) fn response(
    exchange: Exchange,
    follows: UnboundedReceiver<Passage>,
    progress: String,
    held: Option<(Share, Share)>,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (BUFFERING, HeaderValue::from_static("no")),
    ];
    let first = stream::once(std::future::ready(Ok(event(&progress))));
    let rest = stream::unfold(Waiting::Waits(Box::new(exchange), follows), Waiting::next);
    let body = Body::from_stream(first.chain(rest));
    body::holding(reply::response(StatusCode::OK, HeaderMap::from_iter(headers), body), held)
}

impl Waiting {
    /// The next bytes for the client, and where the call is then. An error cuts the stream off.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        loop {
            self = match self {
                Self::Waits(exchange, mut follows) => match exchange.follows(&mut follows).await? {
                    Passage::Progress(text) => return Some((Ok(event(&text)), Self::Waits(exchange, follows))),
                    Passage::ToClient(text) => {
                        exchange.is_over();
                        return Some((Ok(event(&text)), Self::Over));
                    }
                    Passage::ToServer(text) => match Self::forwarded(*exchange, text).await {
                        Ok(brings) => brings,
                        Err(text) => return Some((Ok(event(&text)), Self::Over)),
                    },
                    // Not of a request.
                    Passage::Of(..) | Passage::Ask(..) | Passage::Moved(_) | Passage::Log(_) => {
                        Self::Waits(exchange, follows)
                    }
                },
                Self::Brings(mut parts) => {
                    let part = parts.next().await?;
                    return Some((part.map_err(io::Error::other), Self::Brings(parts)));
                }
                Self::Over => return None,
            }
        }
    }

    /// Sends a call that was approved to the server: the stream that brings the response, or else the response itself. The
    /// client has its status already, so what the server refuses is an error of the protocol.
    async fn forwarded(exchange: Exchange, text: String) -> Result<Self, String> {
        let Some(request) = exchange.request().cloned() else { return Ok(Self::Over) };
        match answer::forward(exchange, text).await {
            Ok(Relayed::Events(response)) => Ok(Self::Brings(response.into_body().into_data_stream())),
            Ok(Relayed::Message { text, .. }) => Err(text),
            Ok(Relayed::Other(response)) => Err(refused(&request, response.status())),
            Err(problem) => Err(request.failed(problem.message())),
        }
    }
}

fn refused(request: &MessageId, status: StatusCode) -> String {
    if status.is_success() {
        request.failed("the server has taken the call and given no answer")
    } else {
        request.failed(&format!("the server answered with the status {}", status.as_u16()))
    }
}

fn event(message: &str) -> Bytes {
    Bytes::from(reply::event(message))
}
