//! A stream of the server's events, each of which is judged and goes on at once.

use std::collections::VecDeque;
use std::io;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::Response as HttpResponse;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use proofmark_guard::{SseItem, SseReader};
use proofmark_server::problem::Problem;
use proofmark_server::share::Share;

use super::exchange::{Brings, Exchange};
use super::{reply, upstream};

/// A stream and what is not written of it.
pub(super) struct Judged {
    exchange: Exchange,
    brings: Brings,
    parts: BodyDataStream,
    reader: SseReader,
    ready: VecDeque<Bytes>,
    memory: Share,
    has_ended: bool,
}

impl Judged {
    /// The answer to the client that brings the server's stream.
    pub(super) fn answer(
        exchange: Exchange,
        response: HttpResponse<Incoming>,
        brings: Brings,
    ) -> Result<Response, Problem> {
        let headers = upstream::headers_back(response.headers(), exchange.client.terminates);
        Self::answer_with(exchange, response, headers, brings)
    }

    /// The same, with these headers.
    pub(super) fn answer_with(
        exchange: Exchange,
        response: HttpResponse<Incoming>,
        mut headers: HeaderMap,
        brings: Brings,
    ) -> Result<Response, Problem> {
        // Without a character set: streams of events are UTF-8.
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        let memory = exchange.proxy.limits.bytes.take(&exchange.client.caller.tenant, 0)?;
        let (head, body) = response.into_parts();
        let judged = Self {
            exchange,
            brings,
            parts: Body::new(body).into_data_stream(),
            reader: SseReader::default(),
            ready: VecDeque::new(),
            memory,
            has_ended: false,
        };
        let parts = stream::unfold(judged, async |mut judged| Some((judged.next().await?, judged)));
        Ok(reply::response(head.status, headers, Body::from_stream(parts)))
    }

    /// The next bytes for the client. An error cuts the answer off, so that the client sees that it is not complete.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(Ok(bytes));
            }
            if self.has_ended {
                return None;
            }
            let part = match self.parts.next().await {
                None => {
                    self.has_ended = true;
                    continue;
                }
                Some(part) => part.map_err(|_| "the server cut its stream off".to_owned()),
            };
            let taken = match part {
                Ok(part) => self.take(&part).await,
                Err(why) => Err(why),
            };
            if let Err(why) = taken {
                self.has_ended = true;
                self.exchange.log(&why);
                self.ready.clear();
                return Some(Err(io::Error::other(why)));
            }
        }
    }

    async fn take(&mut self, part: &[u8]) -> Result<(), String> {
        let items = self.reader.push(part).map_err(|error| format!("failed to {error}"))?;
        self.memory.hold(self.reader.held()).map_err(|_| "too many long answers are read at the moment".to_owned())?;
        for item in items {
            match &item {
                SseItem::Comment(_) => self.write(&item, None),
                SseItem::Event(event) if event.data.as_ref().is_none_or(Vec::is_empty) => {
                    let data = event.data.as_ref().map(|_| "");
                    self.write(&item, data);
                }
                SseItem::Event(event) if event.name.as_deref() == Some("endpoint") => {
                    return Err(
                        "the server speaks HTTP+SSE of revision 2024-11-05, which the guard does not".to_owned()
                    );
                }
                SseItem::Event(event) if !event.is_message() => {
                    self.exchange.log("the server sent an event that is not a message; it is not forwarded");
                }
                SseItem::Event(event) => {
                    let stream = self.exchange.stream(self.brings, event.id.is_some());
                    let texts = self.exchange.judge(event.data.clone().unwrap_or_default(), stream).await;
                    texts.iter().for_each(|text| self.write(&item, Some(text)));
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, item: &SseItem, data: Option<&str>) {
        self.ready.push_back(Bytes::from(item.written(data)));
    }
}
