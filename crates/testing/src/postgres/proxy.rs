//! A network between a test and its server that the test delays and cuts.
//!
//! A cut holds what is sent back until it is healed, as networks do whose packets are sent again; also that a side has closed its
//! connection. The systems of both sides confirm what they are sent, though, so timeouts of TCP itself do not expire.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::address::{Address, OWNER};
use super::cluster::must;
use super::programs::ClusterError;

/// How much is read at a time, in bytes.
const PIECE: usize = 16 << 10;
/// How many pieces may be on their way in one direction of a connection.
const MAX_PIECES: usize = 256;

/// The longest text to cut at, in bytes.
const MAX_TEXT: usize = 1 << 10;

/// When a cut begins, measured by what the client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The server does not get it.
    Before,
    /// The server gets it; what it answers is held.
    After,
}

/// A port of the loopback that leads to a server. Dropping it ends its connections.
#[derive(Debug)]
pub struct Proxy {
    address: Address,
    database: String,
    network: Arc<Network>,
}

#[derive(Debug, Default)]
struct Network {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    delay: Duration,
    /// Whether what is sent to the server, and to the client, is held.
    held: [bool; 2],
    refuses: bool,
    /// What to cut at, once.
    trap: Option<(Vec<u8>, Moment)>,
    /// Both sides of every connection, to end them.
    sockets: Vec<TcpStream>,
    over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer = 0,
    ToClient = 1,
}

/// Bytes and the moment when they arrive; no bytes when the side that sends them has closed its half.
type Piece = (Instant, Vec<u8>);

impl Proxy {
    /// A proxy of the server whose URL this is.
    ///
    /// # Panics
    /// When it cannot listen, or the URL is none of [`super::Cluster`] and [`super::Database`].
    #[must_use]
    pub fn to(url: &str) -> Self {
        let (mut address, database) = must(Address::of_url(url).ok_or(ClusterError::Url));
        let (listener, server) = (must(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))), address.port);
        address.port = must(listener.local_addr()).port();
        let network = Arc::new(Network::default());
        let for_thread = Arc::clone(&network);
        thread::spawn(move || accept(&listener, server, &for_thread));
        Self { address, database: database.to_owned(), network }
    }

    /// The URL of the same database, through the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        self.address.url(OWNER, &self.database)
    }

    /// Has everything arrive so much later, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.network.change(|state| state.delay = delay);
    }

    /// Holds what is sent in both directions, until [`Proxy::heal`].
    pub fn cut(&self) {
        self.network.change(|state| state.held = [true; 2]);
    }

    /// Cuts when a client sends `text`, once.
    ///
    /// # Panics
    /// When `text` is empty or has more than 1024 bytes.
    pub fn cut_at(&self, text: &str, moment: Moment) {
        assert!((1..=MAX_TEXT).contains(&text.len()));
        self.network.change(|state| state.trap = Some((text.as_bytes().to_vec(), moment)));
    }

    /// Waits until [`Proxy::cut_at`] has cut; `false` if it has not after so long.
    #[must_use]
    pub fn wait_for_cut(&self, patience: Duration) -> bool {
        let waiting = |state: &mut State| state.held != [true; 2];
        let (state, _) = self
            .network
            .changed
            .wait_timeout_while(self.network.lock(), patience, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        state.held == [true; 2]
    }

    /// Ends all connections, and each new one at once, until [`Proxy::heal`].
    pub fn refuse(&self) {
        self.network.change(|state| {
            state.refuses = true;
            state.end_connections();
        });
    }

    /// Delivers what was held, and lets connections through.
    pub fn heal(&self) {
        self.network.change(|state| {
            state.held = [false; 2];
            state.refuses = false;
            state.trap = None;
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.network.change(|state| {
            state.over = true;
            state.end_connections();
        });
        // The thread that waits for connections sees that it is over.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.address.port)));
    }
}

impl Network {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits while `direction` is held.
    fn pass(&self, direction: Direction) {
        let held = |state: &mut State| state.holds(direction) && !state.over;
        drop(self.changed.wait_while(self.lock(), held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Cuts before bytes that end a text to cut at; the first `known` of them were delivered before. Answers whether to cut after
    /// them; what the server sends is held then.
    fn spring(&self, bytes: &[u8], known: usize) -> bool {
        let mut state = self.lock();
        let sprung = state.trap.take_if(|(text, _)| {
            let from = known.saturating_sub(text.len().saturating_sub(1));
            bytes.get(from..).unwrap_or_default().windows(text.len()).any(|part| part == text.as_slice())
        });
        let Some((_, moment)) = sprung else { return false };
        state.held = [moment == Moment::Before, true];
        drop(state);
        self.changed.notify_all();
        moment == Moment::After
    }
}

impl State {
    fn holds(&self, direction: Direction) -> bool {
        let [to_server, to_client] = self.held;
        if direction == Direction::ToServer { to_server } else { to_client }
    }

    fn end_connections(&mut self) {
        // What is held for them is not delivered any more.
        self.sockets.drain(..).for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}

fn accept(listener: &TcpListener, server: u16, network: &Arc<Network>) {
    for client in listener.incoming().map_while(Result::ok) {
        let (refuses, over) = {
            let state = network.lock();
            (state.refuses, state.over)
        };
        if over {
            return;
        }
        if !refuses {
            // Where the server is not there, the client's connection ends.
            drop(connect(client, server, network));
        }
    }
}

fn connect(client: TcpStream, server: u16, network: &Arc<Network>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    {
        let mut state = network.lock();
        state.sockets.extend([client.try_clone()?, server.try_clone()?]);
    }
    let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
    carry(from_client, server, Direction::ToServer, network);
    carry(from_server, client, Direction::ToClient, network);
    Ok(())
}

/// Carries what `from` sends to `to`, in two threads: one notes when it was sent, the other one delivers it in time.
fn carry(from: TcpStream, to: TcpStream, direction: Direction, network: &Arc<Network>) {
    let (sent, arriving) = sync_channel(MAX_PIECES);
    let sends = Arc::clone(network);
    thread::spawn(move || send(from, &sent, &sends));
    let delivers = Arc::clone(network);
    thread::spawn(move || deliver(to, &arriving, direction, &delivers));
}

fn send(mut from: TcpStream, sent: &SyncSender<Piece>, network: &Network) {
    let mut buffer = vec![0; PIECE];
    loop {
        // A connection that was reset ends like one that was closed.
        let length = from.read(&mut buffer).unwrap_or_default();
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        let due = Instant::now() + network.lock().delay;
        if sent.send((due, bytes)).is_err() || length == 0 {
            return;
        }
    }
}

fn deliver(mut to: TcpStream, arriving: &Receiver<Piece>, direction: Direction, network: &Network) {
    // What was delivered last, because a text may be in two pieces.
    let mut seen = Vec::new();
    for (due, bytes) in arriving {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        network.pass(direction);
        let known = seen.len();
        seen.extend_from_slice(&bytes);
        let cut_after = direction == Direction::ToServer && network.spring(&seen, known);
        network.pass(direction);
        if bytes.is_empty() || to.write_all(&bytes).is_err() {
            break;
        }
        if cut_after {
            network.change(|state| state.held = [true; 2]);
        }
        seen.drain(..seen.len().saturating_sub(MAX_TEXT));
    }
    drop(to.shutdown(Shutdown::Write));
}
