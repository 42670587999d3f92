//! Watches one leaf: feeds it, reads it, and kills it at the first limit.
//!
//! The clock and the pipes are here, outside the sandbox; nothing a submission
//! does can stop them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proofmark_checks::{MAX_WRITTEN_BYTES, Tail};

use crate::groups::Group;
use crate::memory::{Family, Meter};
use crate::sys;

/// How often the memory of a leaf and its descendants is added up, and a cancelled job is noticed.
const MEMORY_TICK: Duration = Duration::from_millis(20);

/// How long the kernel may take to end a killed leaf before the cell is given up. A submission chooses how much the kernel has to
/// take apart, and on a busy host that takes its time.
const KILL_PATIENCE: Duration = Duration::from_secs(60);

/// The pieces in which pipes are read.
const CHUNK: usize = 1 << 16;

/// How many pieces are read before the clock is checked: a full pipe has no more
/// (pipe-max-size), and one that is refilled meanwhile must not hold the clock up.
const READS_A_WAKE: usize = 16;

/// A pipe a leaf writes to.
pub(crate) struct Output {
    fd: Option<OwnedFd>,
    cap: usize,
    past: Past,
    bytes: Vec<u8>,
    /// How many bytes were read and dropped.
    dropped: u64,
    /// Whether there was something to read when last asked.
    is_ready: bool,
}

/// What happens once a leaf has written more than an output's `cap`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Past {
    /// The leaf ends.
    Fatal,
    /// The end is kept.
    DropsOld,
}

impl Output {
    pub(crate) fn fatal_past(cap: usize, fd: OwnedFd) -> io::Result<Output> {
        sys::set_nonblocking(&fd)?;
        Ok(Output { fd: Some(fd), cap, past: Past::Fatal, bytes: Vec::new(), dropped: 0, is_ready: false })
    }

    /// Keeps the last `cap` bytes.
    pub(crate) fn last(cap: usize, fd: OwnedFd) -> io::Result<Output> {
        Ok(Output { past: Past::DropsOld, ..Output::fatal_past(cap, fd)? })
    }

    /// Takes a piece that was read; whether it ends the leaf.
    fn take(&mut self, piece: &[u8]) -> bool {
        let free = self.cap.saturating_sub(self.bytes.len());
        let over = piece.len().saturating_sub(free);
        self.dropped += over as u64;
        match self.past {
            Past::Fatal => self.bytes.extend(piece.iter().take(free)),
            Past::DropsOld => {
                self.bytes.drain(..over.min(self.bytes.len()));
                self.bytes.extend(piece.get(piece.len().saturating_sub(self.cap)..).unwrap_or_default());
            }
        }
        over > 0 && self.past == Past::Fatal
    }

    /// Reads what is available; whether the cap was passed.
    fn drain(&mut self) -> bool {
        let mut chunk = [0; CHUNK];
        for _ in 0..READS_A_WAKE {
            let Some(fd) = self.fd.take() else { return false };
            let mut file = File::from(fd);
            match file.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    self.fd = Some(file.into());
                    if self.take(chunk.get(..count).unwrap_or_default()) {
                        return true;
                    }
                    if count < CHUNK {
                        return false;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.fd = Some(file.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.fd = Some(file.into());
                    return false;
                }
                Err(_) => return false,
            }
        }
        false
    }
}

/// The pipe a leaf reads from, with what is still to be written.
pub(crate) struct Input {
    fd: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// Writes nothing yet: [`watch`] does, or [`Input::feed`].
    pub(crate) fn new(fd: OwnedFd, bytes: Vec<u8>) -> io::Result<Input> {
        sys::set_nonblocking(&fd)?;
        Ok(Input { fd: Some(fd), bytes, written: 0 })
    }

    /// Nothing to write.
    pub(crate) fn none() -> Input {
        Input { fd: None, bytes: Vec::new(), written: 0 }
    }

    /// Writes what fits; closes the pipe at the end, or when its other end is closed.
    pub(crate) fn feed(&mut self) {
        while let Some(fd) = self.fd.take() {
            let rest = self.bytes.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                return;
            }
            let mut file = File::from(fd);
            match file.write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.fd = Some(file.into());
                    return;
                }
                Err(_) => return,
            }
            self.fd = Some(file.into());
        }
    }
}

/// What a leaf may use, and for how long.
pub(crate) struct Bounds<'a> {
    pub(crate) deadline: Instant,
    pub(crate) memory_bytes: u64,
    /// The control group that counts its memory; without one, we do.
    pub(crate) group: Option<&'a Group>,
    /// What ends the leaf and all it started.
    pub(crate) kill_signal: i32,
    /// Whether the process watched is the init of a cell, which is ours, and the leaf
    /// its child.
    pub(crate) watches_init: bool,
    /// A process of the case that neither is the one watched nor was started by it.
    pub(crate) apart: Option<libc::pid_t>,
    /// Whether it is a project's command, which may have sockets that no process has open.
    pub(crate) is_command: bool,
    /// Each of them, once set, ends the leaf.
    pub(crate) stops: &'a [Arc<AtomicBool>],
}

/// Why a leaf ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Ended,
    Deadline,
    Memory,
    Output,
    Cancelled,
    /// It could not be killed in [`KILL_PATIENCE`].
    Stuck,
}

/// Runs the loop until the leaf, and with it everything it started, is gone;
/// only then are the pipes drained for good.
///
/// # Errors
/// When the supervisor itself cannot poll.
pub(crate) fn watch(
    pidfd: &OwnedFd,
    input: &mut Input,
    outputs: &mut [Output],
    bounds: &Bounds<'_>,
) -> io::Result<Why> {
    let mut why = None;
    let mut give_up = None;
    let mut meter = None;
    let mut next_tick = Instant::now() + MEMORY_TICK;
    loop {
        let now = Instant::now();
        let until = give_up.unwrap_or(bounds.deadline.min(next_tick));
        let gone = wait(pidfd, input, outputs, until.saturating_duration_since(now))?;
        input.feed();
        let flooded = outputs.iter_mut().fold(false, |any, output| ((output.is_ready || gone) && output.drain()) | any);
        let now = Instant::now();
        let over = (flooded.then_some(Why::Output)).or((now >= bounds.deadline && !gone).then_some(Why::Deadline));
        let cancelled = bounds.stops.iter().any(|stop| stop.load(Ordering::Relaxed)) && !gone;
        let over = over.or(cancelled.then_some(Why::Cancelled)).or_else(|| {
            (now >= next_tick && !gone).then_some(())?;
            if meter.is_none() && bounds.group.is_none() {
                meter = sys::pid_of(pidfd).map(|root| {
                    Meter::new(Family {
                        root,
                        root_is_init: bounds.watches_init,
                        apart: bounds.apart,
                        is_command: bounds.is_command,
                    })
                });
            }
            let exceeds = meter.as_mut().is_some_and(|meter| meter.exceeds(bounds.memory_bytes));
            // Thousands of processes take long to add up, and the supervisor has more to do.
            next_tick = Instant::now() + MEMORY_TICK.max(now.elapsed());
            exceeds.then_some(Why::Memory)
        });
        if gone {
            let ran_out = bounds.group.is_some_and(Group::ran_out).then_some(Why::Memory);
            return Ok(why.or(ran_out).or(over).unwrap_or(Why::Ended));
        }
        if let (None, Some(over)) = (why, over) {
            why = Some(over);
            give_up = Some(now + KILL_PATIENCE);
            let _already_gone = sys::pidfd_kill(pidfd, bounds.kill_signal);
        }
        if give_up.is_some_and(|end| now >= end) {
            return Ok(Why::Stuck);
        }
    }
}

/// Waits until something can be written or read, and marks the outputs that can be read; whether the leaf is gone.
fn wait(pidfd: &OwnedFd, input: &Input, outputs: &mut [Output], patience: Duration) -> io::Result<bool> {
    let mut fds = vec![sys::readable(pidfd)];
    fds.extend(outputs.iter().filter_map(|output| output.fd.as_ref()).map(sys::readable));
    fds.extend(input.fd.as_ref().map(sys::writable));
    sys::poll(&mut fds, patience)?;
    let mut found = fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
    let gone = found.next().unwrap_or(false);
    for output in outputs {
        output.is_ready = output.fd.is_some() && found.next().unwrap_or(false);
    }
    Ok(gone)
}

/// What was read of an output, once the leaf is gone.
pub(crate) fn finish(output: Output) -> Vec<u8> {
    output.bytes
}

/// The end of an output, once the leaf is gone.
pub(crate) fn finish_tail(output: Output) -> Tail {
    let mut bytes = output.bytes;
    let before = bytes.len().saturating_sub(MAX_WRITTEN_BYTES);
    bytes.drain(..before);
    Tail { bytes, left_out: output.dropped.saturating_add(before as u64) }
}
