//! The socket: connections that are slow, idle or too many end; requests that were begun when the server stops are finished.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use proofmark_receipt::Json;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::body;
use crate::connections::{Connection, Connections};
use crate::endpoint::Endpoint;
use crate::endpoints::endpoints;
use crate::introduce::{Accepted, MAX_HEADER_TIME, introduce};
use crate::keys::ApiKeys;
use crate::live_keys::LiveKeys;
use crate::metrics;
use crate::oidc::{IssuerError, Oidc, Tokens};
use crate::openapi::{DescriptionError, describe};
use crate::peer::Peer;
use crate::peer_address::PeerAddress;
use crate::proxies::{Network, Proxies};
use crate::rate::Rate;
use crate::reload::{self, Files, Watched};
use crate::router::router;
use crate::services::Services;
use crate::socket::{Socket, SocketSettings};
use crate::state::{AppState, Callers};
use crate::transparency;
use crate::webhook::{self, Webhook};

/// The longest head of a request, in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// How long requests may take that were begun when the server is told to stop. This and the next three are less than 10 s
/// together, after which supervisors of services kill.
pub const MAX_GOODBYE: Duration = Duration::from_secs(4);
/// How long verifications may go on then before they are killed.
const MAX_LAST_WORK: Duration = Duration::from_secs(1);
/// How long it may take until everything that was killed has ended.
const MAX_LETTING_GO: Duration = Duration::from_secs(2);
/// How long the last answers, of what was stopped, may take to be written, and then the last threads to end.
pub const MAX_LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long a client may leave an answer unread.
const MAX_UNREAD_TIME: Duration = Duration::from_secs(30);
/// How often the server looks for executions that nobody reported.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// What is served, and to whom.
pub struct Settings {
    /// Where programs and browsers call, if anywhere.
    pub listen: Option<SocketAddr>,
    /// Where agents of other accounts ask, if anywhere.
    pub socket: Option<SocketSettings>,
    pub services: Services,
    /// Without keys, programs of this host may call.
    pub keys: Option<ApiKeys>,
    /// Whose tokens count beside keys, if any do. Without keys, no other caller is admitted then.
    pub oidc: Option<Oidc>,
    /// How many requests a second one caller may send.
    pub rate: NonZeroU32,
    /// The proxies whose word on the address of a client counts.
    pub proxies: Vec<Network>,
    /// The proxies that say by the PROXY protocol whose each connection is.
    pub connection_proxies: Vec<Network>,
    /// What is read again while the server runs. A file of API keys counts only where there are `keys`, and one of rules on tokens where
    /// there are tokens.
    pub files: Files,
    /// Where it is told that something waits for a review, if anywhere.
    pub webhook: Option<Webhook>,
    /// The pages for people and what agents ask by, which `/openapi.json` does not describe.
    pub more: Vec<Endpoint>,
}

/// Why nothing is served, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("listen on {0}: without API keys the server listens on the loopback only")]
    Open(SocketAddr),
    #[error("listen on {0} beside a socket: without API keys, every account of this host could approve there")]
    Beside(SocketAddr),
    #[error("listen on {address} ({error})")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("listen on the socket `{path}` ({error})")]
    Socket { path: String, error: io::Error },
    #[error("serve: the system gives no threads ({0})")]
    Threads(io::Error),
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Issuer(#[from] IssuerError),
}

impl ServeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Open(_) => Some("give `--api-keys`, or listen on 127.0.0.1"),
            Self::Beside(_) => Some("give `--api-keys`, or leave out `--listen`"),
            Self::Socket { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
                Some("use a folder that only this account and root can write to")
            }
            Self::Issuer(error) => error.help(),
            Self::Listen { .. } | Self::Socket { .. } | Self::Threads(_) | Self::Description(_) => None,
        }
    }
}

/// Serves until SIGINT or SIGTERM, then finishes what was begun. SIGHUP reads the files of the settings again. `listening` is called with the
/// address, if there is one, once everything is bound.
///
/// # Errors
/// [`ServeError`] when it cannot begin.
pub fn serve(settings: Settings, listening: impl FnOnce(Option<SocketAddr>)) -> Result<(), ServeError> {
    serve_until(settings, listening, told_to_stop)
}

/// Becomes ready on SIGINT and on SIGTERM, which do not end the process from this call on: it comes before anyone is told the address.
pub fn told_to_stop() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async {
        let (Ok(mut terminated), Ok(mut interrupted)) = signals else {
            // Without handlers the signals end the process.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    }
}

/// As [`serve`], until what `stop` returns is ready instead of a signal.
///
/// # Errors
/// [`ServeError`] when it cannot begin.
pub fn serve_until<Stop: Future<Output = ()>>(
    settings: Settings,
    listening: impl FnOnce(Option<SocketAddr>),
    stop: impl FnOnce() -> Stop,
) -> Result<(), ServeError> {
    // If tokens are accepted, programs of this host need one, too.
    let keys = settings.keys.or_else(|| settings.oidc.as_ref().map(|_| ApiKeys::none()));
    check_place(settings.listen, settings.socket.is_some(), keys.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Threads)?;
    let endpoints = endpoints(settings.more);
    // Before the socket is bound, so that a faulty description is an error of the start.
    let description = Json::from(describe(&endpoints)?).to_text();
    let callers = Callers {
        keys: keys.map(LiveKeys::new),
        tokens: settings.oidc.map(Tokens::new).transpose()?,
        rate: Rate::new(settings.rate),
        strangers: Rate::new(settings.rate),
    };
    // Before the state is made: what it counts before there is a recorder is lost.
    let figures = metrics::start();
    metrics::watch_store(settings.services.decider.store());
    let state = AppState::new(settings.services, callers, description).map_err(ServeError::Threads)?;
    let state = Arc::new(state.with_metrics(figures));
    let files = watched(settings.files, &state);
    let (webhook, proxies) = (settings.webhook, Proxies::of(settings.proxies, settings.connection_proxies));
    let served = runtime.block_on(async {
        let listener = match settings.listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let socket = settings.socket.map(bind_socket).transpose()?;
        let stop = stop().shared();
        listening(listener.as_ref().map(|(_, address)| *address));
        let sweep = tokio::spawn(sweep(Arc::clone(&state)));
        let told = webhook.map(|webhook| tokio::spawn(webhook::tell(webhook, Arc::clone(&state.services))));
        let log = state.services.log.clone();
        let log = log.map(|log| tokio::spawn(transparency::publish(log, Arc::clone(&state.services))));
        let issuer = tokio::spawn(keep_issuer(Arc::clone(&state)));
        let reload = tokio::spawn(reload::watch_files(files, Arc::clone(&state.stale), true));
        let graceful = GracefulShutdown::new();
        let all = router(&endpoints, Arc::clone(&state));
        let by_socket = router(endpoints.iter().filter(|endpoint| endpoint.is_by_socket()), Arc::clone(&state));
        tokio::join!(
            async {
                if let Some((listener, _)) = listener {
                    accept_into(&listener, (&all, &proxies), stop.clone(), &graceful).await;
                }
            },
            async {
                if let Some(socket) = socket {
                    accept_into(&socket, (&by_socket, &proxies), stop.clone(), &graceful).await;
                }
            },
        );
        finish(&state, graceful).await;
        reload.abort();
        sweep.abort();
        told.into_iter().chain(log).chain([issuer]).for_each(|task| task.abort());
        Ok(())
    });
    // A thread that does not end must not hold up the process: what it does is not stored.
    runtime.shutdown_timeout(MAX_LAST_ANSWERS);
    served
}

/// Whether a server with these keys may listen on this address.
///
/// # Errors
/// [`ServeError::Open`] when every host could call it.
pub fn check_address(address: SocketAddr, keys: Option<&ApiKeys>) -> Result<(), ServeError> {
    // The checks of `origin` cannot replace this: a program on another host can send any `Host`.
    if keys.is_none() && !address.ip().is_loopback() { Err(ServeError::Open(address)) } else { Ok(()) }
}

/// Whether a server with these keys may listen on this address, and on a socket beside it.
///
/// # Errors
/// [`ServeError::Open`], and [`ServeError::Beside`] when the accounts that ask by the socket could do everything by the address.
pub fn check_place(address: Option<SocketAddr>, has_socket: bool, keys: Option<&ApiKeys>) -> Result<(), ServeError> {
    let Some(address) = address else { return Ok(()) };
    if has_socket && keys.is_none() {
        return Err(ServeError::Beside(address));
    }
    check_address(address, keys)
}

fn watched(mut files: Files, state: &Arc<AppState>) -> Vec<Watched> {
    let keys = files.api_keys.take().map(|source| {
        let state = Arc::clone(state);
        reload::watched_keys(source, move |keys| state.replace_keys(keys))
    });
    let claim_map = files.claim_map.take().map(|source| {
        let state = Arc::clone(state);
        reload::watched_claim_map(source, move |map| state.replace_claim_map(map))
    });
    reload::of_services(files, &state.services).into_iter().chain(keys).chain(claim_map).collect()
}

async fn keep_issuer(state: Arc<AppState>) {
    if let Some(tokens) = state.tokens() {
        tokens.refresh().await;
    }
}

/// Answers until `stop` is ready, and accepts no connections from then on. Those that are open go on.
pub async fn accept(listener: TcpListener, router: &Router, stop: impl Future<Output = ()>) -> GracefulShutdown {
    let graceful = GracefulShutdown::new();
    accept_into(&listener, (router, &Proxies::of(Vec::new(), Vec::new())), stop, &graceful).await;
    graceful
}

/// What connections come from.
trait Listener {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection.
    async fn next(&self) -> io::Result<Accepted<Self::Stream>>;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<Accepted<TcpStream>> {
        let (stream, peer) = self.accept().await?;
        // Answers are small; waiting to fill a packet only delays them.
        drop(stream.set_nodelay(true));
        // This covers clients that read nothing, too: a window that stays shut is a peer that does not answer (tcp(7)).
        drop(SockRef::from(&stream).set_tcp_user_timeout(Some(MAX_UNREAD_TIME)));
        let address = stream.local_addr().ok().map(|own| PeerAddress { peer, own });
        Ok(Accepted { stream, who: peer.ip().into(), peer: Peer::at(peer), address })
    }
}

impl Listener for Socket {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<Accepted<UnixStream>> {
        let (stream, who, peer) = self.accept().await?;
        Ok(Accepted { stream, who, peer, address: None })
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |error| ServeError::Listen { address, error };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    // The address of the socket, not of the settings: with port 0 the system chooses the port.
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

fn bind_socket(settings: SocketSettings) -> Result<Socket, ServeError> {
    let path = settings.path.display().to_string();
    Socket::bind(settings).map_err(|error| ServeError::Socket { path, error })
}

/// As [`accept`]; `graceful` gets the connections.
async fn accept_into(
    listener: &impl Listener,
    (router, proxies): (&Router, &Arc<Proxies>),
    stop: impl Future<Output = ()>,
    graceful: &GracefulShutdown,
) {
    let mut stop = std::pin::pin!(stop);
    let (connections, mut introduced) = (Connections::new(), JoinSet::new());
    loop {
        let (accepted, connection) = tokio::select! {
            accepted = listener.next() => {
                let Ok(accepted) = accepted else {
                    // Most likely there are no descriptors left: those in use have to end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let from = accepted.address.map(|address| address.peer.ip());
                let introduces = from.is_some_and(|from| proxies.introduces(from));
                let is_proxy = introduces || from.is_some_and(|from| proxies.has(from));
                // Where no other connection can give way, this one is closed at once.
                let Some(connection) = connections.open(accepted.who, is_proxy) else { continue };
                if introduces {
                    introduced.spawn(introduce(accepted, connection, Arc::clone(proxies)));
                    continue;
                }
                (accepted, connection)
            }
            Some(done) = introduced.join_next() => match done {
                Ok(Some(named)) => named,
                Ok(None) | Err(_) => continue,
            },
            () = &mut stop => return,
        };
        converse(accepted, connection, (router, proxies), graceful);
    }
}

/// Answers what was begun, and stops what takes too long for that.
async fn finish(state: &AppState, graceful: GracefulShutdown) {
    // Streams of events do not end by themselves; without this `graceful` would wait for them until the time is over.
    state.stops.begin();
    let mut ended = std::pin::pin!(graceful.shutdown());
    // It is borrowed: connections that are not done go on, and the last line waits for their answers.
    let in_time = tokio::time::timeout(MAX_GOODBYE, &mut ended).await.is_ok();
    state.stops.stop_all();
    // Stored jobs run again after a restart; a client that waits for another is told that it was cancelled.
    let services = Arc::clone(&state.services);
    let stopped = tokio::task::spawn_blocking(move || services.verifications.stop(MAX_LAST_WORK));
    // A thread that takes longer goes on; `shutdown_timeout` in `serve_until` does not wait for it either.
    drop(tokio::time::timeout(MAX_LAST_WORK + MAX_LETTING_GO, stopped).await);
    if !in_time {
        drop(tokio::time::timeout(MAX_LAST_ANSWERS, ended).await);
    }
}

fn converse(
    accepted: Accepted<impl AsyncRead + AsyncWrite + Unpin + Send + 'static>,
    connection: Arc<Connection>,
    (router, proxies): (&Router, &Arc<Proxies>),
    graceful: &GracefulShutdown,
) {
    let Accepted { stream, who, peer, address } = accepted;
    let (router, of) = (TowerToHyperService::new(router.clone()), Arc::clone(&connection));
    let proxies = Arc::clone(proxies);
    let answers = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let sender = match address {
            Some(address) => proxies.behind(address.peer.ip(), request.headers()),
            None => proxies.account(who),
        };
        address.map(|address| request.extensions_mut().insert(address));
        sender.map(|sender| request.extensions_mut().insert(sender));
        // Before the router runs: from here until the answer is written this connection does not give way to another.
        let begun = of.begin();
        let answer = router.call(request);
        async move { answer.await.map(|response| body::holding(response, begun)) }
    });
    let talk = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_HEADER_TIME)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), answers);
    let watched = graceful.watch(talk);
    tokio::spawn(async move {
        tokio::select! {
            // Why a connection ended concerns its client alone.
            _ = watched => {}
            () = connection.gives_way() => {}
        }
    });
}

async fn sweep(state: Arc<AppState>) {
    let mut every = tokio::time::interval(SWEEP_EVERY);
    loop {
        every.tick().await;
        state.sessions.end_silent();
        let state = Arc::clone(&state);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || state.services.decider.find_unreported()).await {
            // The next round tries again; `GET /v1/findings` looks for them, too, and answers with the error.
            tracing::error!(cause = %error, "looking for executions that were not reported failed");
        }
    }
}
