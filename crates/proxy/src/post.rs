//! A message that a client posts.

use std::sync::{Arc, PoisonError};

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::http::request::Parts;
use axum::response::Response;
use proofmark_decider::{Passage, PostedMessage, read_message};
use proofmark_guard::{HeaderText, Headers, HungUp, Kind, MAX_MESSAGE_BYTES, Message, MessageError};
use proofmark_receipt::document::Format;
use proofmark_server::body;
use proofmark_server::problem::Problem;
use proofmark_server::share::{Place, Share};
use tokio::sync::mpsc::UnboundedReceiver;

use super::exchange::{Exchange, Phase};
use super::sessions::InUse;
use super::{Client, Proxy, SESSION, answer, reply, session_id, wait};

/// A message, and the session that it belongs to.
struct Letter {
    message: Message,
    headers: Headers,
    exchange: Exchange,
}

/// What a client is answered whose message is not taken in.
struct NotTaken {
    status: StatusCode,
    text: String,
}

/// Answers a client that posts a message.
pub(super) async fn post(proxy: Arc<Proxy>, client: Client, parts: Parts, body: Body) -> Result<Response, Problem> {
    if !matches!(body::format(&parts.headers, &body)?, Format::Json) {
        return Err(body::not_json("messages of the protocol are JSON"));
    }
    let tenant = client.caller.tenant.clone();
    let mut memory = proxy.limits.bytes.take(&tenant, 0)?;
    let sent = body::read(&parts.headers, body, MAX_MESSAGE_BYTES, &mut memory).await?;
    let accept = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*").to_owned();
    // After the body, so that a client that sends slowly occupies no place of a thread.
    let place = proxy.limits.places.take(&tenant).await?;
    let reading = {
        let proxy = Arc::clone(&proxy);
        move || {
            let bytes = sent.unpack(&mut memory)?;
            Ok::<_, Problem>((read(proxy, client, &parts.headers, &bytes), place, memory))
        }
    };
    let (letter, place, memory) = tokio::task::spawn_blocking(reading).await.map_err(|_| Problem::internal())??;
    let Letter { mut message, headers, mut exchange } = match letter? {
        Ok(letter) => letter,
        Err(NotTaken { status, text }) => return Ok(reply::own(status, text, &accept)),
    };
    let mut follows = None;
    if let Kind::Request { id, .. } = &message.kind {
        follows = exchange.session.expect(id);
        if follows.is_none() {
            let (session, id) = (exchange.session.clone(), id.clone());
            let refusal = MessageError::still_open(id.clone());
            let told = tokio::task::spawn_blocking(move || session.guard.still_open(&id));
            told.await.map_err(|_| Problem::internal())?;
            return Ok(reply::own(StatusCode::OK, refusal.answer(), &accept));
        }
        exchange.answers(id.clone());
    }
    let held = wait::share(&exchange, &message, &accept).map(|stream| (stream, memory));
    if held.is_none() {
        message = message.without_waiting();
    }
    let posted = judge(&exchange, message, headers, place).await?;
    go_on(exchange, held, posted, follows, &accept).await
}

/// Has a message judged, unless its client hangs up meanwhile.
async fn judge(
    exchange: &Exchange,
    message: Message,
    headers: Headers,
    place: Place,
) -> Result<PostedMessage, Problem> {
    let (session, phase) = (exchange.session.clone(), exchange.phase());
    let judging = tokio::task::spawn_blocking(move || {
        let _place = place;
        let id = message.request().cloned();
        let posted = session.guard.posted(message, &headers);
        let goes_on = posted.passages.iter().any(|passage| matches!(passage, Passage::ToServer(_)));
        let mut phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
        match (*phase, id) {
            // Its client has hung up meanwhile, so it does not go on.
            (Phase::Over, Some(id)) if goes_on || posted.waits => {
                session.guard.hung_up(&id, HungUp::BeforeSending);
            }
            (Phase::New, _) if goes_on => *phase = Phase::Allowed,
            (Phase::New, _) if posted.waits => *phase = Phase::Waiting,
            (_, _) => *phase = Phase::Over,
        }
        posted
    });
    judging.await.map_err(|_| Problem::internal())
}

/// Does what follows from the judgment. `held` is what a call holds that may wait.
async fn go_on(
    mut exchange: Exchange,
    held: Option<(Share, Share)>,
    posted: PostedMessage,
    follows: Option<UnboundedReceiver<Passage>>,
    accept: &str,
) -> Result<Response, Problem> {
    // Only while it waits.
    let held = held.filter(|_| posted.waits);
    let status = StatusCode::from_u16(posted.status).unwrap_or(StatusCode::BAD_REQUEST);
    let (mut forwarded, mut answered) = (None, None);
    let mut take = |exchange: &mut Exchange, passage| match passage {
        Passage::ToServer(text) => forwarded = Some(text),
        Passage::ToClient(text) => answered = Some(text),
        Passage::Of(request, passage) => exchange.session.route(&request, *passage),
        Passage::Ask(request, text) => exchange.ask(request, text),
        Passage::Log(text) => exchange.log(&text),
        // Of a request, and only where requests have an order.
        Passage::Progress(_) | Passage::Moved(_) => {}
    };
    for passage in posted.passages {
        take(&mut exchange, passage);
    }
    if let (true, Some(mut follows)) = (posted.waits, follows) {
        match exchange.follows(&mut follows).await {
            Some(Passage::Progress(progress)) => return Ok(wait::response(exchange, follows, progress, held)),
            Some(passage) => {
                if matches!(passage, Passage::ToClient(_)) {
                    exchange.is_over();
                }
                take(&mut exchange, passage);
            }
            None => {}
        }
    }
    match (forwarded, answered) {
        (Some(text), _) => Ok(answer::forward(exchange, text).await?.into_response()),
        (None, Some(text)) => Ok(reply::own(status, text, accept)),
        // A request that was cancelled while it was decided has no answer.
        (None, None) if status.is_success() => Ok(reply::response(StatusCode::ACCEPTED, HeaderMap::new(), "")),
        (None, None) => Ok(reply::response(status, HeaderMap::new(), "")),
    }
}

/// Reads a message and finds its session. It may wait for the store.
fn read(
    proxy: Arc<Proxy>,
    mut client: Client,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Result<Letter, NotTaken>, Problem> {
    let named = session_id(headers)?.map(str::to_owned);
    let texts = Headers::looked_at(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    let (of_protocol, message) = match read_message(&texts, body) {
        Ok(read) => read,
        Err(refusal) => return Ok(Err(not_taken(&proxy, &client, named.as_deref(), &refusal, (&texts, body)))),
    };
    let is_stateless = of_protocol.is_stateless(&message);
    let begins = !is_stateless && named.is_none() && is_greeting(&message);
    let (session, named): (InUse, Option<String>) = match named {
        Some(id) if !is_stateless => match proxy.sessions.with_id(&id, &client.caller) {
            Some(session) => (session, Some(id)),
            None => {
                let refusal = MessageError::no_session(message.request().cloned());
                return Ok(Err(NotTaken { status: StatusCode::NOT_FOUND, text: refusal.answer() }));
            }
        },
        _ if begins => (proxy.sessions.begin_for(&client)?, None),
        _ => (proxy.sessions.of_caller_or_new(&client)?, None),
    };
    if named.is_none() {
        // Revisions without sessions ignore it, and no server may take the message for one of another's session.
        client.headers.remove(SESSION);
    }
    let number = session.exchange();
    let mut exchange = Exchange::new(proxy, client, session, number);
    (exchange.named, exchange.begins) = (named, begins);
    Ok(Ok(Letter { message: message.in_exchange(number), headers: of_protocol, exchange }))
}

/// Records a body that is not a message, if it has a session.
fn not_taken(
    proxy: &Proxy,
    client: &Client,
    named: Option<&str>,
    refusal: &MessageError,
    (headers, body): (&[HeaderText], &[u8]),
) -> NotTaken {
    let session = match named {
        Some(id) => proxy.sessions.with_id(id, &client.caller),
        None => proxy.sessions.of_caller(&client.who),
    };
    if let Some(session) = session {
        session.guard.not_a_message(refusal, headers, body);
    }
    NotTaken { status: StatusCode::BAD_REQUEST, text: refusal.answer() }
}

/// Whether a message begins a session of the protocol.
fn is_greeting(message: &Message) -> bool {
    matches!(&message.kind, Kind::Request { method, .. } if method == "initialize")
}
