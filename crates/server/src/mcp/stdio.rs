//! The standard streams, for a host that starts this program: one message a line.
//!
//! A line that is not a message is answered as JSON-RPC has it and changes nothing else: the next one is read as usual.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc};

use super::Handler;
use super::message::{self, MAX_MESSAGE, Message};
use super::open_calls::{INVALID_REQUEST, OpenCalls};
use crate::reload::{self, Files};
use crate::services::Services;
use crate::share::Limits;
use crate::stop::Stops;

/// How many messages are read ahead of those that are worked on.
const AHEAD: usize = 16;

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i64 = -32_700;

/// Why the standard streams are not served.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The system gave no threads.
    #[error("serve the standard streams ({0})")]
    Io(#[from] io::Error),
    /// The client's first message was not a greeting.
    #[error("greet the client ({0})")]
    Greeting(String),
}

impl StdioError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Greeting(_) => Some("start this program from an MCP host"),
            Self::Io(_) => None,
        }
    }
}

/// Serves the client at the standard streams until it closes them, and reads the policies among `files` again when they change. Nothing else may write to standard output.
///
/// # Errors
/// [`StdioError`] when it cannot begin.
pub fn serve_stdio(services: Services, files: Files) -> Result<(), StdioError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let services = Arc::new(services);
    let served = runtime.block_on(async {
        // A host that goes away may send SIGHUP, which ends this process as it does any other.
        tokio::spawn(reload::watch_files(reload::policies(files, &services), Arc::default(), false));
        let handler = Handler::new(&services, &Limits::new(), &Stops::new());
        let lines = Lines::new(BufReader::new(tokio::io::stdin()), tokio::io::stdout());
        match rmcp::serve_server(handler, lines).await {
            Ok(service) => {
                drop(service.waiting().await);
                Ok(())
            }
            // A host that closes the streams before it asks anything is not a failure.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(StdioError::Greeting(error.to_string())),
        }
    });
    // The client is gone, so nothing that runs is waited for.
    services.verifications.stop(Duration::ZERO);
    // A thread may still wait for a line that never comes.
    runtime.shutdown_background();
    served
}

type Out = Arc<Mutex<tokio::io::Stdout>>;

/// Messages, one a line.
struct Lines {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Out,
    greeted: bool,
}

impl Lines {
    fn new(lines: impl AsyncBufRead + Send + Unpin + 'static, out: tokio::io::Stdout) -> Lines {
        let out = Arc::new(Mutex::new(out));
        let (send, messages) = mpsc::channel(AHEAD);
        tokio::spawn(read(lines, Arc::clone(&out), send));
        Lines { messages, out, greeted: false }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = Arc::clone(&self.out);
        async move { write(&out, serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.messages.recv().await?;
            self.greeted |= matches!(message, ClientJsonRpcMessage::Request(_));
            // Before the first request there is nothing that could be notified of, or answered.
            if self.greeted {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        self.out.lock().await.flush().await
    }
}

/// Reads lines until there are no more, or no messages are received any more.
async fn read(mut lines: impl AsyncBufRead + Unpin, out: Out, send: mpsc::Sender<ClientJsonRpcMessage>) {
    let (mut line, calls) = (Vec::new(), Arc::default());
    while let Ok(read) = next(&mut lines, &mut line).await {
        let message = match read {
            Read::End => return,
            Read::TooLong => {
                Err(message::refusal(PARSE_ERROR, &format!("a line has at most {MAX_MESSAGE} bytes; send less"), None))
            }
            Read::Line if line.trim_ascii().is_empty() => continue,
            Read::Line => parse(line.trim_ascii(), &calls),
        };
        let passed = match message {
            Ok(message) => send.send(message).await.is_ok(),
            Err(refusal) => write(&out, refusal.into_bytes()).await.is_ok(),
        };
        if !passed {
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
    // Short and without a line feed: the last line before the end of the input.
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

/// The message a line is, or what to answer to it. A call is open for as long as its message lives.
fn parse(line: &[u8], calls: &Arc<OpenCalls>) -> Result<ClientJsonRpcMessage, String> {
    let Message { json, arguments } = Message::read(line)
        .map_err(|error| message::refusal(PARSE_ERROR, &format!("the line is not a message: {error}"), None))?;
    let mut parsed = serde_json::from_str(&json.to_text()).map_err(|_| {
        let id = json.as_object().and_then(|object| object.get("id"));
        let why = "the message is not one of this protocol; look at its version and its fields";
        message::refusal(INVALID_REQUEST, why, id)
    })?;
    // There is one client, so one session; its name does not matter.
    if let (ClientJsonRpcMessage::Request(call), Some(open)) = (&mut parsed, calls.begin("", &json)?) {
        let extensions = call.request.extensions_mut();
        extensions.insert(Arc::new(open));
        if let Some(arguments) = arguments {
            extensions.insert(arguments);
        }
    }
    Ok(parsed)
}

async fn write(out: &Out, mut message: Vec<u8>) -> io::Result<()> {
    message.push(b'\n');
    // Answers of the library and refusals of the reader share the stream: one lock for each whole line.
    let mut out = out.lock().await;
    out.write_all(&message).await?;
    out.flush().await
}
