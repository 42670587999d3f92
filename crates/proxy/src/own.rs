//! What the guard asks the server itself: lists, before it decides by them.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Response};
use futures_util::StreamExt;
use hyper::body::Incoming;
use proofmark_guard::{Kind, MAX_MESSAGE_BYTES, Message, MessageId, Sender, SseItem, SseReader};
use proofmark_server::reply::JSON;

use super::exchange::{Brings, Exchange, LAST_EVENT, Phase};
use super::{Client, reply, upstream};

/// How long the server has to answer. The connection gives up a little later.
const PATIENCE: Duration = Duration::from_secs(25);

impl Client {
    /// The headers of a message that the guard sends in place of this client.
    pub(super) fn own_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let names = headers.keys().filter(|name| {
            let name = name.as_str();
            name == LAST_EVENT || name == "mcp-method" || name == "mcp-name" || name.starts_with("mcp-param-")
        });
        let names: Vec<HeaderName> = names.cloned().collect();
        names.iter().for_each(|name| drop(headers.remove(name)));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers
    }
}

impl Exchange {
    /// Asks the server, without waiting for its answer. What follows for the requests that wait for it is told to them.
    pub(super) fn ask(&self, request: MessageId, text: String) {
        let mut own = Self::new(self.proxy.clone(), self.client.clone(), self.session.clone(), 0);
        own.answers(request.clone());
        own.is_in(Phase::Over);
        tokio::spawn(async move {
            if tokio::time::timeout(PATIENCE, own.asked(&text)).await != Ok(Some(())) {
                // The requests go on without it.
                let stream = own.stream(Brings::Answer, false);
                own.judge(request.failed("the server has not answered").into_bytes(), stream).await;
            }
        });
    }

    /// Asks, and takes in the answer; `None` if there is none.
    async fn asked(&mut self, text: &str) -> Option<()> {
        let mut headers = self.client.own_headers();
        if let (true, Ok(message)) =
            (self.client.headers.contains_key("mcp-method"), Message::read(text.as_bytes(), Sender::Client))
            && let Kind::Request { method, .. } = message.kind
        {
            headers.insert("mcp-method", HeaderValue::try_from(method).ok()?);
        }
        let asked = self.proxy.upstream.ask(Method::POST, None, headers, Body::from(text.to_owned())).await;
        let response = asked.ok().filter(|response| upstream::is_plain(response.headers()))?;
        let stream = self.stream(Brings::Answer, false);
        match reply::media_type(response.headers()).as_str() {
            JSON => {
                let mut memory = self.proxy.limits.bytes.take(&self.client.caller.tenant, 0).ok()?;
                let message = reply::gather(response.into_body(), MAX_MESSAGE_BYTES, &mut memory).await.ok()?;
                let is_answer = self.is_own_answer(&message);
                self.judge(message, stream).await;
                is_answer.then_some(())
            }
            "text/event-stream" => self.answer_in(response).await,
            _ => None,
        }
    }

    async fn answer_in(&mut self, response: Response<Incoming>) -> Option<()> {
        let mut memory = self.proxy.limits.bytes.take(&self.client.caller.tenant, 0).ok()?;
        let mut parts = Body::new(response.into_body()).into_data_stream();
        let mut reader = SseReader::default();
        while let Some(part) = parts.next().await {
            let items = reader.push(&part.ok()?).ok()?;
            memory.hold(reader.held()).ok()?;
            for item in items {
                let SseItem::Event(event) = item else { continue };
                let Some(message) = event.data.filter(|data| !data.is_empty()) else { continue };
                let is_answer = self.is_own_answer(&message);
                let stream = self.stream(Brings::Answer, false);
                self.judge(message, stream).await;
                if is_answer {
                    return Some(());
                }
            }
        }
        None
    }

    fn is_own_answer(&self, message: &[u8]) -> bool {
        let kind = Message::read(message, Sender::Server).map(|message| message.kind);
        matches!((kind, self.request()), (Ok(Kind::Answer { id }), Some(own)) if id == *own)
    }
}
