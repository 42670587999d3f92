//! Runs requests and seals their receipts in the order of the requests.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use proofmark_receipt::Receipt;
use proofmark_verifier::Host;
use proofmark_verifier::{Caps, Request};
use proofmark_verifier::{Judged, RunError, Sealer, verify_all};

/// At most this many receipts share one commit of the store.
const GROUP: usize = 500;

/// A receipt waits at most this long for others to share a commit with.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a batch runs on.
pub(crate) struct Batch<'a> {
    pub(crate) host: &'a Host,
    pub(crate) caps: Caps,
    pub(crate) jobs: usize,
}

/// Runs every request and calls `show` with its index and receipt, in the order of the requests; a receipt is on disk by
/// then.
///
/// # Errors
/// The first error of sealing or of `show`; the rest is not shown then.
pub(crate) fn run(
    batch: &Batch<'_>,
    requests: &[Request],
    sealer: &Sealer,
    mut show: impl FnMut(usize, anyhow::Result<Receipt>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let progress = progress(requests.len());
    let mut queue = Queue::default();
    let mut answered = Ok(());
    verify_all(batch.host, &batch.caps, batch.jobs, requests, |index, judged| {
        progress.inc(1);
        queue.waiting.insert(index, judged);
        if answered.is_ok() && queue.is_due() {
            answered = progress.suspend(|| queue.seal(sealer, &mut show));
        }
    });
    progress.finish_and_clear();
    answered?;
    queue.seal(sealer, &mut show)
}

/// What was judged and not yet sealed.
struct Queue {
    waiting: BTreeMap<usize, Result<Judged, RunError>>,
    next: usize,
    sealed_at: Instant,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { waiting: BTreeMap::new(), next: 0, sealed_at: Instant::now() }
    }
}

impl Queue {
    fn is_due(&self) -> bool {
        self.waiting.contains_key(&self.next) && (self.waiting.len() >= GROUP || self.sealed_at.elapsed() >= PATIENCE)
    }

    /// Seals and shows everything up to the first request that is still running.
    fn seal(
        &mut self,
        sealer: &Sealer,
        show: &mut impl FnMut(usize, anyhow::Result<Receipt>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let first = self.next;
        let (mut judged, mut failed) = (Vec::new(), BTreeMap::new());
        while let Some(answer) = self.waiting.remove(&self.next) {
            match answer {
                Ok(one) => judged.push(one),
                Err(error) => drop(failed.insert(self.next, error)),
            }
            self.next += 1;
        }
        let mut receipts = sealer.seal(judged)?.into_iter();
        for index in first..self.next {
            match failed.remove(&index) {
                Some(error) => show(index, Err(error.into()))?,
                None => receipts.next().map_or(Ok(()), |receipt| show(index, Ok(receipt)))?,
            }
        }
        self.sealed_at = Instant::now();
        Ok(())
    }
}

/// A bar on standard error for many requests; nothing when that is not a terminal.
fn progress(requests: usize) -> ProgressBar {
    if requests < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} verified, {eta} left");
    let bar = ProgressBar::new(requests as u64);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
