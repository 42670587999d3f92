//! The socket: connections that are slow, idle or too many end; what was begun when the server is told to stop is finished.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::body;
use crate::connections::{Connection, Connections};
use crate::keys::ApiKeys;
use crate::log;
use crate::router::{AppState, router};
use crate::services::Services;

/// How long a client may take for the head of a request, and stay silent between two.
const MAX_HEADER_TIME: Duration = Duration::from_secs(10);
/// The longest head of a request, in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// How long requests may take that were begun when the server is told to stop. This and the next three are less than 10 s
/// together, after which supervisors of services kill.
const MAX_GOODBYE: Duration = Duration::from_secs(4);
/// How long verifications may go on then before they are killed.
const MAX_LAST_WORK: Duration = Duration::from_secs(1);
/// How long it may take until everything that was killed has ended.
const MAX_LETTING_GO: Duration = Duration::from_secs(2);
/// How long the last answers, of what was stopped, may take to be written, and then the last threads to end.
const MAX_LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How often samples of figures are added up.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How long a client may leave an answer unread.
const MAX_UNREAD_TIME: Duration = Duration::from_secs(30);
/// How often it is looked for executions that nobody reported.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// What is served.
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What answers.
    pub services: Services,
    /// Who may call; without keys, whoever reaches the loopback.
    pub keys: Option<ApiKeys>,
    /// How many requests a second one caller may make.
    pub rate: NonZeroU32,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Without keys anybody could decide.
    #[error(
        "listen on {0}: without API keys the server listens on the loopback only; give `--api-keys`, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The system refused.
    #[error("listen on {address} ({error})")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
}

/// Serves until SIGINT or SIGTERM, then finishes what was begun. `listening` is told the address when it is there.
///
/// # Errors
/// [`ServeError`] when it cannot begin.
pub fn serve(settings: Settings, listening: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let address = settings.listen;
    if settings.keys.is_none() && !address.ip().is_loopback() {
        return Err(ServeError::Open(address));
    }
    let failed = |error| ServeError::Listen { address, error };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let state = Arc::new(AppState::new(settings.services, settings.keys, settings.rate));
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?);
        let sweep = tokio::spawn(sweep(Arc::clone(&state)));
        let upkeep = tokio::spawn(upkeep(Arc::clone(&state)));
        let served = accept(listener, state).await.map_err(failed);
        upkeep.abort();
        sweep.abort();
        served
    });
    // A thread that does not let go must not keep the process: what it does is not kept.
    runtime.shutdown_timeout(MAX_LAST_ANSWERS);
    served
}

async fn accept(listener: TcpListener, state: Arc<AppState>) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let connections = Connections::new();
    let graceful = GracefulShutdown::new();
    let router = router(Arc::clone(&state));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Where none can give way this one is closed at once.
                if let Some(connection) = connections.open(peer.ip()) {
                    converse(stream, connection, &router, &graceful);
                }
            }
            // Out of descriptors, most likely: those in use have to end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    // Who comes now is refused at once.
    drop(listener);
    finish(&state, graceful).await;
    Ok(())
}

/// Answers what was begun, and stops what takes too long for that.
async fn finish(state: &AppState, graceful: GracefulShutdown) {
    state.stops.begin();
    let mut ended = std::pin::pin!(async { tokio::join!(state.mcp.end(), graceful.shutdown()) });
    let in_time = tokio::time::timeout(MAX_GOODBYE, &mut ended).await.is_ok();
    state.stops.stop_all();
    // Jobs that were kept run again when the server is started anew; who waits for another is told that it came to nothing.
    let services = Arc::clone(&state.services);
    let stopped = tokio::task::spawn_blocking(move || services.verifications.stop(MAX_LAST_WORK));
    drop(tokio::time::timeout(MAX_LAST_WORK + MAX_LETTING_GO, stopped).await);
    if !in_time {
        drop(tokio::time::timeout(MAX_LAST_ANSWERS, ended).await);
    }
}

fn converse(stream: TcpStream, connection: Arc<Connection>, router: &Router, graceful: &GracefulShutdown) {
    // Answers are small; waiting to fill a packet only delays them.
    drop(stream.set_nodelay(true));
    // Covers who reads nothing, too: a window that stays shut is a peer that does not answer (tcp(7)).
    drop(SockRef::from(&stream).set_tcp_user_timeout(Some(MAX_UNREAD_TIME)));
    let (router, of) = (TowerToHyperService::new(router.clone()), Arc::clone(&connection));
    let answers = service_fn(move |request| {
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
            // How a connection ends is its client's affair.
            _ = watched => {}
            () = connection.gives_way() => {}
        }
    });
}

/// Samples are kept until they are added up, which nobody else does unless somebody looks at them.
async fn upkeep(state: Arc<AppState>) {
    let mut every = tokio::time::interval(UPKEEP_EVERY);
    loop {
        every.tick().await;
        if let Some(metrics) = &state.metrics {
            metrics.run_upkeep();
        }
    }
}

async fn sweep(state: Arc<AppState>) {
    let mut every = tokio::time::interval(SWEEP_EVERY);
    loop {
        every.tick().await;
        let state = Arc::clone(&state);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || state.services.decider.find_unreported()).await {
            log::say(error);
        }
    }
}
