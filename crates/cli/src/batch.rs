//! Runs requests behind a progress bar.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use proofmark_receipt::Receipt;
use proofmark_verifier::{Batch, Request, VerifyError};

/// Runs every request and calls `show` with its index and receipt, in the order of the requests; a receipt is on disk by
/// then.
///
/// # Errors
/// The first error of the store or of `show`; the rest is not shown then.
pub(crate) fn run(
    batch: &Batch<'_>,
    requests: &[Request],
    mut show: impl FnMut(usize, Result<Receipt, VerifyError>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let progress = progress(requests.len());
    let result = batch.run(requests, |index, receipt| {
        progress.inc(1);
        // The bar and the receipts may share a terminal: the bar is cleared while a receipt is printed.
        progress.suspend(|| show(index, receipt))
    });
    // On an error, too: its message is printed next.
    progress.finish_and_clear();
    result
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
