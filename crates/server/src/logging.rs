//! The log: one line per event, on standard error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::time::Duration;

use proofmark_decider::TELEMETRY;
use tracing::level_filters::LevelFilter;
use tracing::{Level, info};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// How many lines wait for standard error. Past that they are lost: a log that nobody reads must not hold up requests.
const MAX_LINES: usize = 4_096;
/// How long lines are gathered before they are written together.
const GATHERED_FOR: Duration = Duration::from_millis(5);
/// How long the last lines may take to be written.
const MAX_FLUSH: Duration = Duration::from_secs(1);

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// What is logged, and where to.
pub struct LogSettings {
    pub format: LogFormat,
    /// Whether the log has what is asked every few seconds, too.
    pub detailed: bool,
    /// What else is given every line, and the spans and events of [`proofmark_decider`]. With it each request has the id of a trace and
    /// of its span there, which would only make the lines longer otherwise. A line with `method`, `route` and `status` ends a request.
    pub also: Option<LogLayer>,
}

/// Something that is given every line of the log.
pub type LogLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Whether requests have the ids of traces.
static HAS_TRACES: AtomicBool = AtomicBool::new(false);

/// The log of this process. When it is dropped, the lines that wait are written.
#[derive(Debug)]
#[must_use = "when this is dropped the last lines are written"]
pub struct Log {
    lines: SyncSender<Message>,
}

enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Begins to log, for the whole process. Where other code logs already, its log stays.
///
/// # Errors
/// When the system gives no thread.
pub fn start_log(settings: LogSettings) -> io::Result<Log> {
    let LogSettings { format, detailed, also } = settings;
    let (lines, waiting) = mpsc::sync_channel(MAX_LINES);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(&waiting))?;
    let writer = lines.clone();
    let level = if detailed { Level::DEBUG } else { Level::INFO };
    // Libraries log what clients send, and only what goes wrong in them matters here.
    let told = if also.is_some() { LevelFilter::INFO } else { LevelFilter::OFF };
    let ours = Targets::new().with_default(Level::WARN).with_target("proofmark", level).with_target(TELEMETRY, told);
    let lines_of = fmt::layer()
        .with_target(false)
        .with_ansi(false)
        // It would report a closed standard error on standard error, and panic.
        .log_internal_errors(false)
        .with_writer(move || Line(writer.clone()));
    let lines_of = match format {
        LogFormat::Text => lines_of.boxed(),
        LogFormat::Json => lines_of.json().flatten_event(true).boxed(),
    };
    // Spans and events are exported, and are not printed.
    let lines_of =
        lines_of.with_filter(Targets::new().with_default(Level::TRACE).with_target(TELEMETRY, LevelFilter::OFF));
    HAS_TRACES.store(also.is_some(), Ordering::Relaxed);
    let subscriber = tracing_subscriber::registry().with(also).with(ours).with(lines_of);
    drop(tracing::subscriber::set_global_default(subscriber));
    Ok(Log { lines })
}

/// Whether requests have the ids of traces.
pub(crate) fn has_traces() -> bool {
    HAS_TRACES.load(Ordering::Relaxed)
}

/// Logs a line about the server as a whole.
pub fn log_note(line: &str) {
    info!("{line}");
}

impl Drop for Log {
    fn drop(&mut self) {
        let (written, all_written) = mpsc::sync_channel(1);
        // A full queue means that nobody reads: waiting would not help.
        if self.lines.try_send(Message::Flush(written)).is_ok() {
            // A log that nobody reads is not waited for any longer.
            let _ = all_written.recv_timeout(MAX_FLUSH);
        }
    }
}

/// Takes one line: the subscriber writes each event at once.
struct Line(SyncSender<Message>);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.0.try_send(Message::Line(line.to_vec())) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Ok(line.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(waiting: &Receiver<Message>) {
    while let Ok(first) = waiting.recv() {
        if matches!(first, Message::Line(_)) {
            // While this thread sleeps, no request has to wake it for its line.
            std::thread::sleep(GATHERED_FOR);
        }
        let mut lines = Vec::new();
        let mut flushed = Vec::new();
        for message in std::iter::once(first).chain(waiting.try_iter().take(MAX_LINES)) {
            match message {
                Message::Line(line) => lines.extend_from_slice(&line),
                Message::Flush(written) => flushed.push(written),
            }
        }
        // Where nobody reads the log, or its disk is full, the lines are lost and the server goes on.
        drop(io::stderr().lock().write_all(&lines));
        for written in flushed {
            let _ = written.try_send(());
        }
    }
}
