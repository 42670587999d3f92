//! The pipes of a guarded server that must keep nobody waiting: its standard input, and its standard error.

use std::io::{self, Read, Write};
use std::process::{ChildStderr, ChildStdin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_guard::MAX_MESSAGE_BYTES;

use crate::out;

/// How much may wait for a server that does not read, in bytes. The longest message may always follow another.
const MAX_UNREAD: usize = MAX_MESSAGE_BYTES;
/// How much a server may write to standard error at once, in bytes.
const MAX_AT_ONCE: usize = 1 << 20;
/// How much more it may write each second.
const MAX_PER_SECOND: usize = 64 << 10;
/// How much of it is read at a time.
const PART: usize = 8 << 10;
/// How long what a server has written before its end is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server's standard input. A thread of its own writes to it, so nobody waits until the server reads.
pub(super) struct ToServer {
    /// `None` after the client has closed its side.
    lines: Mutex<Option<mpsc::Sender<String>>>,
    /// How many bytes are not written yet.
    unread: Arc<AtomicUsize>,
}

impl ToServer {
    /// # Errors
    /// When no thread can be started.
    pub(super) fn new(stdin: Option<ChildStdin>) -> io::Result<Self> {
        let (lines, to_write) = mpsc::channel::<String>();
        let unread = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&unread);
        thread::Builder::new().name("to server".to_owned()).spawn(move || {
            let mut stdin = stdin;
            for line in to_write {
                // A server that has closed its side has gone: its reader notices.
                let _gone = stdin.as_mut().map(|stdin| stdin.write_all(line.as_bytes()));
                written.fetch_sub(line.len(), Ordering::Relaxed);
            }
        })?;
        Ok(Self { lines: Mutex::new(Some(lines)), unread })
    }

    /// Sends a message, which has no line end. After the end nothing is sent.
    pub(super) fn send(&self, mut line: String) {
        line.push('\n');
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = lines.as_ref() else { return };
        self.unread.fetch_add(line.len(), Ordering::Relaxed);
        // Its thread ends with the process only.
        let _gone = lines.send(line);
    }

    /// Whether so much waits that nothing more is taken from the client.
    pub(super) fn is_full(&self) -> bool {
        self.unread.load(Ordering::Relaxed) > MAX_UNREAD
    }

    /// Closes the server's standard input, once what waits is written.
    pub(super) fn close(&self) {
        drop(self.lines.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// The server's standard error, which is passed on. What is more than a person reads, or a log should hold, is left out.
pub(super) struct Stderr(mpsc::Receiver<()>);

impl Stderr {
    /// # Errors
    /// When no thread can be started.
    pub(super) fn pass_on(mut from: ChildStderr) -> io::Result<Self> {
        let (ended, is_over) = mpsc::channel();
        thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            let mut allowance = Allowance { left: MAX_AT_ONCE, since: Instant::now(), left_out: 0 };
            let mut part = [0; PART];
            while let Ok(length @ 1..) = from.read(&mut part) {
                let written = part.get(..length).unwrap_or_default();
                let passed = allowance.take(written.len(), Instant::now());
                // Where it cannot be written, nobody reads it.
                let _lost = io::stderr().lock().write_all(written.get(..passed).unwrap_or_default());
            }
            allowance.report();
            ended.send(())
        })?;
        Ok(Self(is_over))
    }

    /// Waits for what the server has written before its end. A program that it has left behind may hold the pipe open.
    pub(super) fn wait(self) {
        let _ended = self.0.recv_timeout(LAST_WORDS);
    }
}

/// How much may still be written.
struct Allowance {
    left: usize,
    /// Until when what was added counts.
    since: Instant,
    left_out: usize,
}

impl Allowance {
    /// How much of `wanted` bytes may be written now.
    fn take(&mut self, wanted: usize, now: Instant) -> usize {
        let seconds = usize::try_from(now.duration_since(self.since).as_secs()).unwrap_or(usize::MAX);
        if seconds > 0 {
            self.since = now;
            self.left = self.left.saturating_add(seconds.saturating_mul(MAX_PER_SECOND)).min(MAX_AT_ONCE);
            self.report();
        }
        let taken = wanted.min(self.left);
        self.left -= taken;
        self.left_out = self.left_out.saturating_add(wanted - taken);
        taken
    }

    /// Says how much was left out, if anything was.
    fn report(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            out::note(format_args!("proofmark guard: {left_out} bytes of the server's standard error are left out"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_is_limited_at_once_and_by_the_second() {
        let begin = Instant::now();
        let mut allowance = Allowance { left: MAX_AT_ONCE, since: begin, left_out: 0 };
        assert_eq!(allowance.take(MAX_AT_ONCE + 5, begin), MAX_AT_ONCE);
        assert_eq!((allowance.take(7, begin), allowance.left_out), (0, 12));
        let later = begin + Duration::from_secs(2);
        assert_eq!((allowance.take(usize::MAX / 2, later), allowance.left), (2 * MAX_PER_SECOND, 0));
        assert_eq!(allowance.take(usize::MAX / 2, later + Duration::from_secs(3_600)), MAX_AT_ONCE);
    }
}
