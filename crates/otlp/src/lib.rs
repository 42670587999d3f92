//! Export of the log and of requests to an OpenTelemetry collector: OTLP over HTTP, in its JSON encoding (opentelemetry-proto,
//! "OTLP/HTTP").
//!
//! [`Export`] is a layer of the log, which whoever starts the log installs: nobody else knows of it. A line that is logged within the span
//! of a request and has its `route` and `status` is the end of that request, and makes its span. A line with `span.name` is a span of its
//! own, and one with `event.name` an event of that name.
//!
//! A process that answers one question and ends does not wait for a collector: it keeps its records ([`Export::keep`]), and another process sends
//! them ([`Spool`]).
//!
//! It never holds up a request: records wait in a bounded queue for a thread that sends them in batches, and those that find
//! no place are counted and lost. The log on standard error has them all the same.

mod layer;
mod post;
mod record;
mod spool;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tracing::{info, warn};

pub use self::post::{OtlpEndpoint, OtlpEndpointError};
use self::record::TARGET;
pub use self::spool::{Kept, Spool, SpoolError};

/// How many records wait for the exporting thread.
const MAX_QUEUED: usize = 4_096;
/// How many records one message to the collector has.
const MAX_BATCH: usize = 512;
/// How many records are kept while the collector does not answer; then the oldest are lost.
const MAX_KEPT: usize = 4_096;
/// How long records wait for others to be sent with.
const EVERY: Duration = Duration::from_secs(1);
/// How long the exporter waits at most before it tries again.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How long the last records may take when the process ends.
const MAX_FLUSH: Duration = Duration::from_secs(2);

/// Exports every line of the log, and every request that was answered.
#[derive(Clone, Debug)]
pub struct Export {
    records: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

/// Sends what waits when it is dropped, and waits for that a moment: the process ends.
#[derive(Debug)]
#[must_use = "when this is dropped the last records are sent"]
pub struct Flush(Export);

#[derive(Debug)]
enum Message {
    Record(Kind, Value),
    Flush(SyncSender<()>),
}

/// What a record is, and so which path of the collector takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Log,
    Span,
}

impl Export {
    /// Begins to export to this collector.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(endpoint: OtlpEndpoint) -> io::Result<(Self, Flush)> {
        let (records, waiting) = mpsc::sync_channel(MAX_QUEUED);
        let lost = Arc::new(AtomicU64::new(0));
        let export = Self { records, lost: Arc::clone(&lost) };
        let batches = Batches { endpoint, lost, logs: Vec::new(), spans: Vec::new(), pause: None, failing: false };
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || batches.run(&waiting))?;
        Ok((export.clone(), Flush(export)))
    }

    /// Keeps what is exported in memory, up to a number of records.
    #[must_use]
    pub fn keep() -> (Self, Kept) {
        let (records, waiting) = mpsc::sync_channel(MAX_BATCH);
        (Self { records, lost: Arc::default() }, Kept(waiting))
    }

    fn put(&self, kind: Kind, record: Value) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.records.try_send(Message::Record(kind, record))
        {
            // Relaxed: it is a count, and nothing else depends on it.
            self.lost.fetch_add(1, Ordering::Relaxed);
            metrics::counter!("proofmark_otlp_lost_total").increment(1);
        }
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let (sent, all_sent) = mpsc::sync_channel(1);
        if self.0.records.try_send(Message::Flush(sent)).is_ok() {
            // A collector that does not answer is not waited for any longer.
            let _ = all_sent.recv_timeout(MAX_FLUSH);
        }
    }
}

/// The records that are to be sent.
struct Batches {
    endpoint: OtlpEndpoint,
    lost: Arc<AtomicU64>,
    logs: Vec<Value>,
    spans: Vec<Value>,
    /// How long to wait until the next try, after one that failed.
    pause: Option<Duration>,
    failing: bool,
}

impl Batches {
    fn run(mut self, waiting: &Receiver<Message>) {
        let mut next = Instant::now() + EVERY;
        loop {
            match waiting.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Message::Record(kind, record)) => {
                    self.keep(kind, record);
                    if self.pause.is_some() || self.logs.len().max(self.spans.len()) < MAX_BATCH {
                        continue;
                    }
                }
                Ok(Message::Flush(sent)) => {
                    self.send();
                    let _ = sent.try_send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.send(),
            }
            self.send();
            next = Instant::now() + self.pause.unwrap_or(EVERY);
        }
    }

    fn keep(&mut self, kind: Kind, record: Value) {
        let records = match kind {
            Kind::Log => &mut self.logs,
            Kind::Span => &mut self.spans,
        };
        if records.len() >= MAX_KEPT {
            // In one go, because taking the first off a list moves all others.
            let lost = records.drain(..MAX_BATCH).count() as u64;
            self.lost.fetch_add(lost, Ordering::Relaxed);
            metrics::counter!("proofmark_otlp_lost_total").increment(lost);
        }
        records.push(record);
    }

    /// Sends what there is, until the collector fails.
    fn send(&mut self) {
        let sent = self.send_all(Kind::Span).and_then(|()| self.send_all(Kind::Log));
        match sent {
            Ok(()) => {
                self.pause = None;
                if std::mem::take(&mut self.failing) {
                    info!(target: TARGET, endpoint = self.endpoint.as_str(), "the collector answers again");
                }
            }
            Err(cause) => {
                self.pause = Some(self.pause.map_or(EVERY, |pause| (pause * 2).min(MAX_PAUSE)));
                if !std::mem::replace(&mut self.failing, true) {
                    let endpoint = self.endpoint.as_str();
                    warn!(target: TARGET, endpoint, cause, "cannot export to the collector; records are kept for a while");
                }
            }
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            warn!(target: TARGET, lost, "records were not exported");
        }
    }

    /// Sends the records of a kind in batches. Those that the collector rejects for good are lost.
    fn send_all(&mut self, kind: Kind) -> Result<(), String> {
        let records = match kind {
            Kind::Log => &mut self.logs,
            Kind::Span => &mut self.spans,
        };
        while !records.is_empty() {
            let batch = records.get(..records.len().min(MAX_BATCH)).unwrap_or_default();
            let (path, message) = record::message(kind, batch);
            let length = batch.len();
            match post::post(&self.endpoint, path, message.to_string().as_bytes()) {
                Ok(()) => drop(records.drain(..length)),
                Err(post::Failure { retry: true, cause }) => return Err(cause),
                Err(post::Failure { retry: false, cause }) => {
                    drop(records.drain(..length));
                    let lost = length as u64;
                    metrics::counter!("proofmark_otlp_lost_total").increment(lost);
                    warn!(target: TARGET, endpoint = self.endpoint.as_str(), cause, lost, "the collector rejected records");
                }
            }
        }
        Ok(())
    }
}
