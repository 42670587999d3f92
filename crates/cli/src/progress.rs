//! Progress on standard error, where that is a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// How often the display is redrawn while nothing happens.
const TICK: Duration = Duration::from_millis(250);
/// The remaining time is estimated after this time and this part of the work: the first requests start the interpreters.
const MIN_ELAPSED: Duration = Duration::from_secs(3);
const MIN_PART: f32 = 0.05;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Requests, as many as are known of.
    Requests(Option<u64>),
    /// The checks of one request.
    Checks(u64),
    /// One thing that has no parts, and what is done.
    Whole(&'static str),
}

/// A bar, or a clock where the amount of work is unknown. Nothing where standard error is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    work: Work,
    failed: Arc<AtomicUsize>,
    checks: AtomicUsize,
}

impl Progress {
    pub(crate) fn new(work: Work) -> Progress {
        let failed = Arc::new(AtomicUsize::new(0));
        let bar = if std::io::stderr().is_terminal() { bar(work, &failed) } else { ProgressBar::hidden() };
        Progress { bar, work, failed, checks: AtomicUsize::new(0) }
    }

    /// Counts a request.
    pub(crate) fn verified(&self) {
        if let Work::Requests(_) = self.work {
            self.bar.inc(1);
        }
    }

    /// States how many requests have failed.
    pub(crate) fn failed(&self, failed: usize) {
        self.failed.store(failed, Ordering::Relaxed);
    }

    /// Counts a check. May be called from any thread.
    pub(crate) fn checked(&self) {
        let checks = self.checks.fetch_add(1, Ordering::Relaxed) + 1;
        match self.work {
            Work::Checks(_) => self.bar.inc(1),
            Work::Requests(_) => self.bar.set_message(format!(", {checks} checks")),
            Work::Whole(_) => {}
        }
    }

    /// States what is done, of what has no parts.
    pub(crate) fn at(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Runs what writes to the terminal, with the display cleared meanwhile.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // On an error, too: its message is printed next.
        self.bar.finish_and_clear();
    }
}

fn bar(work: Work, failed: &Arc<AtomicUsize>) -> ProgressBar {
    let (bar, template) = match work {
        Work::Requests(Some(all)) => (ProgressBar::new(all), "{bar:30} {pos}/{len} verified{failed}{msg}{left}"),
        Work::Requests(None) => (ProgressBar::no_length(), "{spinner} {pos} verified{failed}{msg}, {elapsed}"),
        Work::Checks(all) => (ProgressBar::new(all), "{bar:30} {pos}/{len} checks{left}"),
        Work::Whole(what) => (ProgressBar::no_length().with_message(what), "{spinner} {msg}, {elapsed}"),
    };
    // A template that cannot be read leaves the display of the library.
    if let Ok(style) = ProgressStyle::with_template(template) {
        let failed = Arc::clone(failed);
        let style = style.with_key("left", left).with_key("failed", move |_: &ProgressState, text: &mut dyn Write| {
            // A display that cannot be written is left as it is.
            let _ = match failed.load(Ordering::Relaxed) {
                0 => Ok(()),
                failed => write!(text, ", {failed} failed"),
            };
        });
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// How long it takes at the pace so far.
fn left(state: &ProgressState, text: &mut dyn Write) {
    let (part, elapsed) = (state.fraction(), state.elapsed());
    if (MIN_PART..1.0).contains(&part) && elapsed >= MIN_ELAPSED {
        let seconds = (elapsed.as_secs_f32() * (1.0 - part) / part).ceil();
        let _ = write!(text, ", about {seconds} s left");
    }
}
