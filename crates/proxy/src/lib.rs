//! A guarded MCP server over HTTP: a proxy that judges every message before it goes on.
//!
//! The server has one address, and the guard is called at the same path. What a client posts is read whole, judged and written
//! anew; what the server answers is judged message by message, also within streams, and goes on at once. Nothing else is
//! forwarded, and redirects are not followed.

mod answer;
mod exchange;
mod follow;
mod own;
mod post;
mod reply;
mod sessions;
mod stream;
mod upstream;
mod wait;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::{self, HeaderMap};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use proofmark_decider::Judges;
use proofmark_receipt::Sha256Digest;
use proofmark_server::body;
use proofmark_server::problem::Problem;
use proofmark_server::share::Limits;
use proofmark_server::state::authorize;
use proofmark_server::stop::Stops;
use proofmark_server::{ApiKeys, Caller, Role};
use proofmark_server::{KeyInUse, LiveKeys};
use proofmark_server::{MAX_GOODBYE, MAX_LAST_ANSWERS, ServeError, accept, check_address, told_to_stop};
use proofmark_server::{PeerAddress, Source, Stale, Watched, watch_files, watched_keys};
use tokio::net::TcpListener;

use sessions::Sessions;
pub use upstream::{Upstream, UpstreamError};

/// How often results are recorded that no decision has taken along, and what waits is looked at.
const ROUND: Duration = Duration::from_millis(200);
/// How long the ends of all sessions may take to record.
const MAX_CLOSING: Duration = Duration::from_secs(30);
/// The header that names a session of the protocol.
const SESSION: &str = "mcp-session-id";
/// The longest id of a session, in bytes.
const MAX_SESSION_ID: usize = 1_024;
/// Where documents are that say how a client may be authorized (RFC 8414, RFC 9728, OpenID Connect Discovery).
const METADATA: [&str; 3] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
];
/// The longest of these documents, in bytes.
const MAX_METADATA: usize = 1 << 20;

/// A server that is guarded, and where.
pub struct GuardedUpstream {
    pub listen: SocketAddr,
    pub upstream: Arc<Upstream>,
    /// Without keys, programs of this host may call.
    pub keys: Option<ApiKeys>,
    /// The file of the keys, which is read again when it changes.
    pub keys_file: Option<Source<ApiKeys>>,
    /// Who decides in each session.
    pub judges: Arc<dyn Judges>,
    /// The name of the first session.
    pub session: String,
    /// Whether everything that a caller does is one session, of this name. Otherwise each session of the protocol is one.
    pub is_one_session: bool,
    /// Whether calls may wait for an approval.
    pub waits: bool,
}

/// What all requests share.
struct Proxy {
    upstream: Arc<Upstream>,
    keys: Option<LiveKeys>,
    sessions: Sessions,
    limits: Arc<Limits>,
    stops: Arc<Stops>,
    /// Whether calls may wait for an approval.
    waits: bool,
}

/// Who sends a request, and what of its head goes on.
#[derive(Clone)]
struct Client {
    caller: Caller,
    key: Option<KeyInUse>,
    /// Where it is, as far as that is known.
    from: Option<PeerAddress>,
    /// Tells clients without a session of the protocol apart.
    who: Sha256Digest,
    /// Whether it authenticated itself to the guard, and not to the server.
    terminates: bool,
    /// The headers for the server.
    headers: HeaderMap,
}

/// Guards the server until SIGINT or SIGTERM, then finishes what was begun. `listening` is called with the address once it is
/// bound.
///
/// # Errors
/// [`ServeError`] when it cannot begin.
pub fn serve_guard(guarded: GuardedUpstream, listening: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let address = guarded.listen;
    check_address(address, guarded.keys.as_ref())?;
    let failed = |error| ServeError::Listen { address, error };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let limits = Limits::new();
    let keys_file = guarded.keys_file.filter(|_| guarded.keys.is_some());
    let proxy = Arc::new(Proxy {
        upstream: guarded.upstream,
        keys: guarded.keys.map(LiveKeys::new),
        sessions: Sessions::new(guarded.judges, guarded.session, guarded.is_one_session, Arc::clone(&limits)),
        limits,
        stops: Stops::new(),
        waits: guarded.waits,
    });
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let stop = told_to_stop();
        listening(listener.local_addr().map_err(failed)?);
        let rounds = tokio::spawn(rounds(Arc::clone(&proxy)));
        let files = keys_file.map(|source| watched(source, &proxy)).into_iter().collect();
        let reload = tokio::spawn(watch_files(files, Arc::new(Stale::default()), true));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&proxy));
        let open = accept(listener, &router, stop).await;
        // Streams do not end by themselves.
        proxy.stops.begin();
        drop(tokio::time::timeout(MAX_GOODBYE, open.shutdown()).await);
        reload.abort();
        rounds.abort();
        // What was cut off now is recorded as not answered.
        let closing = Arc::clone(&proxy);
        let closing = tokio::task::spawn_blocking(move || closing.sessions.close_all());
        drop(tokio::time::timeout(MAX_CLOSING, closing).await);
        Ok(())
    });
    runtime.shutdown_timeout(MAX_LAST_ANSWERS);
    served
}

fn watched(source: Source<ApiKeys>, proxy: &Arc<Proxy>) -> Watched {
    let proxy = Arc::clone(proxy);
    watched_keys(source, move |keys| {
        let Some(live) = &proxy.keys else { return Arc::new(keys) };
        let before = live.replace(keys.clone());
        proxy.sessions.keep(|caller| keys.has(caller));
        before
    })
}

/// Records what waits, and ends silent sessions, from time to time.
async fn rounds(proxy: Arc<Proxy>) {
    let mut every = tokio::time::interval(ROUND);
    loop {
        every.tick().await;
        let proxy = Arc::clone(&proxy);
        let round = tokio::task::spawn_blocking(move || {
            proxy.sessions.end_silent();
            proxy.sessions.round();
        });
        // The next round runs also after one that panicked.
        drop(round.await);
    }
}

async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match answer_to(proxy, parts, body).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answer_to(proxy: Arc<Proxy>, parts: Parts, body: Body) -> Result<Response, Problem> {
    let client = proxy.admit(&parts)?;
    let share = proxy.limits.requests.take(&client.caller.tenant, 1)?;
    let (key, mut stopping) = (client.key.clone(), proxy.stops.stopping());
    let is_metadata = METADATA.iter().any(|place| is_below(parts.uri.path(), place));
    let answering = async {
        if is_metadata && !client.terminates {
            return metadata(&proxy, client, &parts).await;
        }
        if parts.uri.path() != proxy.upstream.path() || parts.uri.query().is_some() {
            return Err(Problem::unknown_path().help("the guard is called at the path of the server, without a query"));
        }
        match parts.method {
            Method::POST => post::post(proxy, client, parts, body).await,
            Method::GET => follow::follow(proxy, client, &parts.headers).await,
            Method::DELETE => follow::end_session(proxy, client, &parts.headers).await,
            _ => Err(Problem::method_not_allowed().help("send POST, GET or DELETE")),
        }
    };
    let response = tokio::select! {
        biased;
        response = answering => response?,
        () = revoked(key.clone()) => return Err(Problem::revoked()),
    };
    let end = async move {
        tokio::select! {
            () = revoked(key) => {}
            // An error is the end of the process.
            _ = stopping.wait_for(|stops| *stops) => {}
        }
    };
    Ok(body::holding(body::until(response, end), share))
}

async fn revoked(key: Option<KeyInUse>) {
    match key {
        Some(key) => key.revoked().await,
        None => std::future::pending().await,
    }
}

impl Proxy {
    /// Who sends a request with this head.
    fn admit(&self, parts: &Parts) -> Result<Client, Problem> {
        let (caller, key) = authorize(self.keys.as_ref(), parts, Some(Role::Agent))?;
        let terminates = key.is_some() || self.upstream.has_credential();
        // Where the server authenticates clients, they are told apart by what they show it.
        let shown = parts.headers.get(header::AUTHORIZATION).filter(|_| !terminates);
        let caller_name = format!("{}\0{}\0", caller.tenant, caller.id);
        let who = [caller_name.as_bytes(), shown.map_or(&[][..], |shown| shown.as_bytes())].concat();
        let headers = self.upstream.headers_there(&parts.headers, terminates);
        let from = parts.extensions.get().copied();
        Ok(Client { caller, key, from, who: Sha256Digest::of(&who), terminates, headers })
    }
}

/// The id of the session of the protocol that a request names.
fn session_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut ids = headers.get_all(SESSION).iter().map(|id| id.to_str().ok());
    match (ids.next(), ids.next()) {
        (None, _) => Ok(None),
        (Some(Some(id)), None) if is_session_id(id) => Ok(Some(id)),
        (Some(_), _) => Err(Problem::bad("invalid_session", "invalid `Mcp-Session-Id`")
            .help("send one session id, exactly as the server gave it")),
    }
}

fn is_session_id(id: &str) -> bool {
    (1..=MAX_SESSION_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a path is this place or below it, spelt in the one way that every program reads alike.
fn is_below(path: &str, place: &str) -> bool {
    let Some(rest) = path.strip_prefix(place) else { return false };
    rest.is_empty() || rest.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain_name))
}

fn is_plain_name(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    is_plain && !matches!(name, "" | "." | "..")
}

/// A document that says how a client is authorized by the server. It is not a message, so it is passed on unchanged.
async fn metadata(proxy: &Proxy, client: Client, parts: &Parts) -> Result<Response, Problem> {
    if parts.method != Method::GET || parts.uri.query().is_some() {
        return Err(Problem::method_not_allowed().help("send GET, without a query"));
    }
    let response = proxy.upstream.ask(Method::GET, Some(parts.uri.path()), client.headers, Body::empty()).await;
    let response = response.map_err(|error| reply::unreachable(&error))?;
    let (head, body) = response.into_parts();
    let is_json = reply::media_type(&head.headers).ends_with("json") && upstream::is_plain(&head.headers);
    let mut memory = proxy.limits.bytes.take(&client.caller.tenant, 0)?;
    let document = match (head.status.is_success(), is_json) {
        (true, true) => reply::gather(body, MAX_METADATA, &mut memory).await.map_err(reply::bad_gateway)?,
        (false, _) if !head.status.is_redirection() => Vec::new(),
        (_, _) => return Err(reply::bad_gateway("the server has no JSON document there")),
    };
    Ok(reply::response(head.status, upstream::headers_back(&head.headers, client.terminates), document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_documents_about_authorization_are_passed_on_unread() {
        for path in ["", "/mcp", "/a/b.c"] {
            assert!(is_below(&format!("/.well-known/oauth-protected-resource{path}"), METADATA[0]), "{path}");
        }
        for path in ["2", "/", "//mcp", "/../../mcp", "/./mcp", "/%2e%2e/mcp", "/a\\b", "/a;b", "/a%2fb"] {
            assert!(!is_below(&format!("/.well-known/oauth-protected-resource{path}"), METADATA[0]), "{path}");
        }
    }

    #[test]
    fn a_session_is_named_once_and_plainly() {
        let named = |ids: &[&str]| {
            let mut headers = HeaderMap::new();
            for id in ids {
                headers.append(SESSION, id.parse().unwrap());
            }
            session_id(&headers).map(|id| id.map(str::to_owned)).map_err(|_| ())
        };
        assert_eq!(named(&[]), Ok(None));
        assert_eq!(named(&["a1-_~"]), Ok(Some("a1-_~".to_owned())));
        for ids in [&["a", "a"][..], &[""], &["a b"], &["ä"]] {
            assert!(named(ids).is_err(), "{ids:?}");
        }
    }
}
