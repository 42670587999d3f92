//! What the client gets for what the server answers.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, Response as HttpResponse, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use proofmark_guard::{Kind, MAX_MESSAGE_BYTES, Message, Sender};
use proofmark_server::problem::Problem;
use proofmark_server::reply::JSON;

use super::exchange::{Brings, Exchange, Failed, Phase};
use super::reply::{bad_gateway, gather, media_type, response, why_unreachable};
use super::stream::Judged;
use super::{SESSION, is_session_id, upstream};

/// The longest body of an answer that is not a message, in bytes. A longer one is left out.
const MAX_ERROR: usize = 64 << 10;

/// What the client gets.
pub(super) enum Relayed {
    /// A stream of events that are judged as they come.
    Events(Response),
    /// The answer to its request, as a message.
    Message { status: StatusCode, headers: HeaderMap, text: String },
    /// What is not a message.
    Other(Response),
}

impl Relayed {
    /// It as a response of its own.
    pub(super) fn into_response(self) -> Response {
        match self {
            Self::Events(response) | Self::Other(response) => response,
            Self::Message { status, headers, text } => response(status, headers, text),
        }
    }

    fn message(status: StatusCode, mut headers: HeaderMap, text: String) -> Self {
        // Without a character set: the text is what was judged, and that was UTF-8.
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        Self::Message { status, headers, text }
    }
}

/// Sends the text that was judged to the server; what is passed on of its answer.
pub(super) async fn forward(exchange: Exchange, text: String) -> Result<Relayed, Problem> {
    let mut headers = exchange.client.headers.clone();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    exchange.is_in(Phase::Sent);
    let asked = exchange.proxy.upstream.ask(Method::POST, None, headers, Body::from(text)).await;
    match asked {
        Ok(response) => relay(exchange, response).await,
        Err(error) => gave_up(exchange, why_unreachable(&error)).await,
    }
}

/// What is passed on of what the server answers.
pub(super) async fn relay(mut exchange: Exchange, answer: HttpResponse<Incoming>) -> Result<Relayed, Problem> {
    let (head, body) = answer.into_parts();
    let refused = match head.status {
        status if status.is_redirection() => Some(
            "the server redirects to another address, which the guard does not follow: give that with `--upstream`",
        ),
        StatusCode::UNAUTHORIZED if exchange.proxy.upstream.has_credential() => {
            Some("the server does not accept the guard's credential")
        }
        _ if !upstream::is_plain(&head.headers) => Some("the server's answer is packed, which nobody asked for"),
        _ => None,
    };
    if let Some(why) = refused {
        return gave_up(exchange, why).await;
    }
    let mut headers = upstream::headers_back(&head.headers, exchange.client.terminates);
    if let Err(why) = identify(&mut exchange, head.status, &mut headers) {
        return gave_up(exchange, why).await;
    }
    let mut memory = exchange.proxy.limits.bytes.take(&exchange.client.caller.tenant, 0)?;
    match (head.status.is_success(), media_type(&head.headers).as_str(), exchange.request().is_some()) {
        (true, "text/event-stream", true) => {
            let response = HttpResponse::from_parts(head, body);
            Judged::answer_with(exchange, response, headers, Brings::Answer).map(Relayed::Events)
        }
        (true, JSON, true) => match gather(body, MAX_MESSAGE_BYTES, &mut memory).await {
            Ok(message) => {
                let stream = exchange.stream(Brings::Answer, false);
                match exchange.judge(message, stream).await.into_iter().next() {
                    Some(text) => Ok(Relayed::message(head.status, headers, text)),
                    None => gave_up(exchange, "the server's answer is not one to this request").await,
                }
            }
            Err(why) => gave_up(exchange, why).await,
        },
        (true, _, _) => {
            exchange.failed(Vec::new()).await;
            headers.remove(header::CONTENT_TYPE);
            Ok(Relayed::Other(response(head.status, headers, "")))
        }
        (false, _, _) => {
            let text = gather(body, MAX_ERROR, &mut memory).await.unwrap_or_default();
            Ok(refusal(&mut exchange, head.status, headers, text).await)
        }
    }
}

/// An answer that refuses the request: a message, or any text without signs of steering.
async fn refusal(exchange: &mut Exchange, status: StatusCode, mut headers: HeaderMap, text: Vec<u8>) -> Relayed {
    let kind = Message::read(text.as_slice(), Sender::Server).map(|message| message.in_exchange(exchange.number).kind);
    let (is_answer, is_fault) = match (kind, exchange.request()) {
        (Ok(Kind::Answer { id }), Some(of)) => (id == *of, false),
        (Ok(Kind::Fault), Some(_)) => (false, true),
        (_, _) => (false, false),
    };
    let text = if is_answer || is_fault {
        let stream = exchange.stream(Brings::Answer, false);
        let judged = exchange.judge(text, stream).await.into_iter().next().unwrap_or_default();
        if is_answer && !judged.is_empty() {
            return Relayed::Message { status, headers, text: judged };
        }
        judged.into_bytes()
    } else {
        match exchange.failed(text).await {
            Failed { text, suspicious: false } => text,
            Failed { .. } => Vec::new(),
        }
    };
    if text.is_empty() {
        headers.remove(header::CONTENT_TYPE);
    }
    Relayed::Other(response(status, headers, text))
}

/// Takes in which session of the protocol the server names, and lets the client know that one and no other.
fn identify(exchange: &mut Exchange, status: StatusCode, headers: &mut HeaderMap) -> Result<(), &'static str> {
    let given = headers.remove(SESSION);
    let sessions = &exchange.proxy.sessions;
    if let (StatusCode::NOT_FOUND, Some(id)) = (status, &exchange.named) {
        sessions.end(id);
    }
    let id = given.as_ref().and_then(|id| id.to_str().ok());
    match (exchange.begins, id) {
        (true, Some(id)) if status.is_success() => {
            if !is_session_id(id) || !sessions.identify(id, &exchange.session) {
                return Err("the server gave the session an id that cannot be used");
            }
        }
        // Without an id it is the session of this client, also where the server asks it to authenticate itself first.
        (true, _) => {
            drop(sessions.share(&exchange.client.who, exchange.session.clone()));
            return Ok(());
        }
        (false, id) if id.is_some() && id == exchange.named.as_deref() => {}
        (false, _) => return Ok(()),
    }
    headers.extend(given.map(|id| (header::HeaderName::from_static(SESSION), id)));
    Ok(())
}

/// The answer where the server gives none that can be passed on.
async fn gave_up(mut exchange: Exchange, why: &'static str) -> Result<Relayed, Problem> {
    exchange.failed(why.as_bytes().to_vec()).await;
    match exchange.request() {
        Some(request) => Ok(Relayed::message(StatusCode::BAD_GATEWAY, HeaderMap::new(), request.failed(why))),
        None => Err(bad_gateway(why)),
    }
}
