//! The standard streams, for a host that starts this program: one message a line.
//!
//! A line that is not a message is answered as JSON-RPC has it and changes nothing else: the next one is read as usual.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use proofmark_guard::{Kind, Message, MessageError, MessageId};
use proofmark_receipt::Object;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Stdout};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::calls::Calls;
use super::request::{Method, Refusal, Request, without_session};
use super::said::{Heard, Hears};
use super::server::Server;
use super::{MAX_MESSAGE, MESSAGE};
use crate::keys::Caller;
use crate::reload::{self, Files};
use crate::services::Services;
use crate::share::Limits;
use crate::stop::Stops;

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32_700;
/// How long the last answers may take once the client has closed the standard input.
const MAX_LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves the client at the standard streams until it closes them, and reads the policies among `files` again when they change. Nothing
/// else may write to standard output.
///
/// # Errors
/// When the system gives no threads.
pub fn serve_stdio(services: Services, files: Files) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let services = Arc::new(services);
    runtime.block_on(async {
        // A host that goes away may send SIGHUP, which ends this process as it does any other.
        tokio::spawn(reload::watch_files(reload::of_services(files, &services), Arc::default(), false));
        let server = Server::new(&services, &Limits::new(), &Stops::new());
        Client::new(server, tokio::io::stdout()).serve(BufReader::new(tokio::io::stdin())).await;
    });
    // The client is gone, so nothing that runs is waited for.
    services.verifications.stop(Duration::ZERO);
    // A thread may still wait for a line that never comes.
    runtime.shutdown_background();
    Ok(())
}

/// Answers and refusals share the stream: one lock for each whole line.
type Out = Arc<Mutex<Stdout>>;

/// The one client.
struct Client {
    server: Arc<Server>,
    calls: Arc<Calls>,
    /// Whether it has begun a session; before that each request stands for itself.
    has_greeted: bool,
    out: Out,
    /// What writes the answers to its requests.
    writers: JoinSet<()>,
}

impl Client {
    fn new(server: Arc<Server>, out: Stdout) -> Self {
        let out = Arc::new(Mutex::new(out));
        Self { server, calls: Arc::default(), has_greeted: false, out, writers: JoinSet::new() }
    }

    /// Reads lines until there are no more, or nobody reads the answers any more.
    async fn serve(mut self, mut lines: impl AsyncBufRead + Unpin) {
        let mut line = Vec::new();
        while let Ok(read) = next(&mut lines, &mut line).await {
            let refusal = match read {
                Read::End => break,
                Read::TooLong => {
                    let reason = format!("a line has at most {MAX_MESSAGE} bytes; send less");
                    Some(MessageError { code: PARSE_ERROR, id: None, reason }.answer())
                }
                Read::Line if line.trim_ascii().is_empty() => None,
                Read::Line => self.take(std::mem::take(&mut line)),
            };
            if let Some(refusal) = refusal
                && write(&self.out, refusal.as_bytes()).await.is_err()
            {
                break;
            }
        }
        let writers = async { while self.writers.join_next().await.is_some() {} };
        drop(tokio::time::timeout(MAX_LAST_ANSWERS, writers).await);
    }

    /// Takes a line in; the answer to one that is refused.
    fn take(&mut self, line: Vec<u8>) -> Option<String> {
        let message = match Message::read_own(line, MESSAGE) {
            Ok(message) => message,
            Err(error) => return Some(error.answer()),
        };
        match message.kind.clone() {
            Kind::Request { id, method } => {
                let is_alone = message.is_stateless();
                self.begin(&id, &method, message.body, is_alone).err().map(|refusal| refusal.answer(&id))
            }
            Kind::Notification { method } => {
                let cancelled = message.cancels().filter(|_| method == "notifications/cancelled");
                cancelled.iter().for_each(|id| self.calls.cancel(id));
                None
            }
            // This server asks its client nothing.
            Kind::Answer { .. } | Kind::Fault => None,
        }
    }

    fn begin(&mut self, id: &MessageId, method: &str, body: Object, is_alone: bool) -> Result<(), Refusal> {
        let needs_session = !is_alone && !matches!(method, "initialize" | "ping" | "server/discover");
        if needs_session && !self.has_greeted {
            return Err(without_session());
        }
        let request = Request::read(method, body, Caller::local(), None)?;
        let greets = request.method == Method::Initialize;
        let (_, hears) = self.calls.begin(&self.server, id.clone(), request)?;
        self.has_greeted |= greets;
        // What has ended would otherwise be kept until the session ends.
        while self.writers.try_join_next().is_some() {}
        self.writers.spawn(write_all(hears, Arc::clone(&self.out)));
        Ok(())
    }
}

/// Writes what is said about one request.
async fn write_all(mut hears: Hears, out: Out) {
    while let Some(Heard::Report(_, message) | Heard::Answer(message)) = hears.next().await {
        if write(&out, &message).await.is_err() {
            return;
        }
    }
}

enum Read {
    Line,
    TooLong,
    End,
}

/// The next line. One that is too long is skipped to its end.
async fn next(lines: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<Read> {
    line.clear();
    // One byte more than a message, for the line feed.
    lines.take(MAX_MESSAGE as u64 + 1).read_until(b'\n', line).await?;
    if line.is_empty() {
        return Ok(Read::End);
    }
    // It is short and without a line feed: the last line before the end of the input.
    if line.ends_with(b"\n") || line.len() <= MAX_MESSAGE {
        return Ok(Read::Line);
    }
    loop {
        let ahead = lines.fill_buf().await?;
        let newline = ahead.iter().position(|byte| *byte == b'\n');
        let (length, ended) = (newline.map_or(ahead.len(), |at| at + 1), newline.is_some() || ahead.is_empty());
        lines.consume(length);
        if ended {
            return Ok(Read::TooLong);
        }
    }
}

async fn write(out: &Out, message: &[u8]) -> io::Result<()> {
    let mut out = out.lock().await;
    out.write_all(message).await?;
    out.write_all(b"\n").await?;
    out.flush().await
}
