//! Sessions of the protocol, as far as clients follow and end them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::HeaderMap;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use proofmark_server::body;
use proofmark_server::problem::Problem;

use super::exchange::{Brings, Exchange, LAST_EVENT};
use super::stream::Judged;
use super::{Client, Proxy, answer, reply, session_id, upstream};

/// Answers a client that follows its session.
pub(super) async fn follow(proxy: Arc<Proxy>, client: Client, headers: &HeaderMap) -> Result<Response, Problem> {
    let stream = proxy.limits.streams.take(&client.caller.tenant, 1)?;
    let brings = if headers.contains_key(LAST_EVENT) { Brings::Lost } else { Brings::News };
    let exchange = named_or_own(proxy, client, headers).await?;
    let asked = exchange.proxy.upstream.ask(Method::GET, None, exchange.client.headers.clone(), Body::empty()).await;
    let response = asked.map_err(|error| reply::unreachable(&error))?;
    let is_stream = response.status().is_success() && reply::media_type(response.headers()) == "text/event-stream";
    let answer = if is_stream && upstream::is_plain(response.headers()) {
        Judged::answer(exchange, response, brings)?
    } else {
        answer::relay(exchange, response).await?.into_response()
    };
    Ok(body::holding(answer, stream))
}

/// Ends a session for a client.
pub(super) async fn end_session(proxy: Arc<Proxy>, client: Client, headers: &HeaderMap) -> Result<Response, Problem> {
    if session_id(headers)?.is_none() {
        return Err(Problem::bad("no_session", "the request names no session").help("send `Mcp-Session-Id`"));
    }
    let exchange = named_or_own(proxy, client, headers).await?;
    let headers = exchange.client.headers.clone();
    let asked = exchange.proxy.upstream.ask(Method::DELETE, None, headers, Body::empty()).await;
    let response = asked.map_err(|error| reply::unreachable(&error))?;
    if let (true, Some(id)) = (response.status().is_success(), &exchange.named) {
        exchange.proxy.sessions.end(id);
    }
    Ok(answer::relay(exchange, response).await?.into_response())
}

/// An exchange in the session that the request names, or in that of a client without.
async fn named_or_own(proxy: Arc<Proxy>, client: Client, headers: &HeaderMap) -> Result<Exchange, Problem> {
    let named = session_id(headers)?.map(str::to_owned);
    let session = match &named {
        Some(id) => proxy.sessions.with_id(id, &client.caller).ok_or_else(unknown_session)?,
        None => {
            let (proxy, client) = (Arc::clone(&proxy), client.clone());
            let session = tokio::task::spawn_blocking(move || proxy.sessions.of_caller_or_new(&client));
            session.await.map_err(|_| Problem::internal())??
        }
    };
    let number = session.exchange();
    let mut exchange = Exchange::new(proxy, client, session, number);
    exchange.named = named;
    Ok(exchange)
}

fn unknown_session() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "session not found").help("begin another with `initialize`")
}
