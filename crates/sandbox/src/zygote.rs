//! A warm interpreter that forks one leaf a case.
//!
//! The zygote runs only our code and never sees what a job holds: it passes
//! each leaf the two pipes of its case, so nothing of one case is in the memory
//! another inherits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use seccompiler::sock_filter;

use crate::cell::{Blueprint, Body, Cell, CellError, Ground};
use crate::filter::{self, Audience};
use crate::level::Level;
use crate::program::{self, Launch};
use crate::runtime::Runtime;
use crate::sys::{self, Exit};
use crate::tree::Tree;

/// What the interpreter does between cases, as a module of its own (`zygote/main.rs`).
static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/zygote"));

/// Where the interpreter finds that module.
const ADDED: &str = "/zygote.so";

/// How long an interpreter may take to warm up.
const WARM_UP: Duration = Duration::from_secs(20);

/// How long the zygote may take to answer a fork or report an end.
const PATIENCE: Duration = Duration::from_secs(10);

/// After this many cases a fresh zygote takes over.
const MAX_CASES: u32 = 2_000;

/// Why a zygote could not be started or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ZygoteError {
    #[error(transparent)]
    Cell(#[from] CellError),
    #[error("talk to the warm interpreter ({0})")]
    Io(#[from] io::Error),
    #[error("warm up the interpreter: {0}")]
    Start(String),
}

/// A warm interpreter in its cell.
pub(crate) struct Zygote {
    control: OwnedFd,
    cell: Cell,
    cases: u32,
}

/// One forked leaf.
pub(crate) struct Leaf {
    pub(crate) pidfd: OwnedFd,
}

impl Zygote {
    /// Starts the interpreter and waits until it is warm.
    pub(crate) fn start(runtime: &Runtime, level: Level, slot: u32, ground: &Ground) -> Result<Zygote, ZygoteError> {
        let mut tree: Tree = runtime.tree()?;
        tree.file(Path::new(ADDED), MODULE.to_vec())?;
        let (control, theirs) = sys::message_pair()?;
        let (errors, errors_in) = sys::pipe()?;
        let launch: Launch = program::harness_zygote(runtime)?;
        let limits = program::fixed_limits(0);
        let blueprint = Blueprint {
            level,
            slot,
            tree: &tree,
            disk_mb: 0,
            limits: &limits,
            audience: Audience::Zygote,
            ground,
            group: None,
        };
        let body = Body::Program { path: &launch.path, argv: &launch.argv, env: &launch.env };
        let fds = [program::null(false)?, program::null(true)?, errors_in, theirs];
        let cell = Cell::start(&blueprint, &body, &fds)?;
        drop(fds);
        let zygote = Zygote { control, cell, cases: 0 };
        sys::send_with_fds(&zygote.control, &filter_bytes(), &[])?;
        let mut ready = [0; 16];
        match zygote.receive(&mut ready, WARM_UP) {
            Ok((5, None)) => Ok(zygote),
            _ => Err(ZygoteError::Start(last_words(&zygote.cell, errors))),
        }
    }

    /// Forks a leaf that will read its job from the first pipe and write to the others: its answer, standard output and
    /// standard error.
    pub(crate) fn fork(&mut self, limits: &LeafLimits, pipes: &[OwnedFd; 4]) -> Result<Leaf, ZygoteError> {
        self.cases += 1;
        let limits = [limits.data_bytes, limits.processes, limits.cpu_seconds].map(u64::to_ne_bytes);
        sys::send_with_fds(&self.control, limits.as_flattened(), &pipes.each_ref().map(OwnedFd::as_fd))?;
        match self.receive(&mut [0; 1], PATIENCE)? {
            (1, Some(pidfd)) => Ok(Leaf { pidfd }),
            _ => Err(ZygoteError::Io(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// How the last leaf ended, once it has.
    pub(crate) fn reaped(&self) -> Result<Exit, ZygoteError> {
        let mut bytes = [0; 5];
        match (self.receive(&mut bytes, PATIENCE)?, bytes) {
            ((5, None), [b'S', status @ ..]) => Ok(Exit::from_wait_status(i32::from_ne_bytes(status))),
            _ => Err(ZygoteError::Io(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Whether it has served its time.
    pub(crate) fn is_worn(&self) -> bool {
        self.cases >= MAX_CASES
    }

    fn receive(&self, bytes: &mut [u8], patience: Duration) -> io::Result<(usize, Option<OwnedFd>)> {
        let end = Instant::now() + patience;
        loop {
            let mut fds = [sys::readable(&self.control), sys::readable(self.cell.pidfd())];
            sys::poll(&mut fds, end.saturating_duration_since(Instant::now()))?;
            let [control, cell] = fds;
            if control.revents().contains(PollFlags::IN) {
                return sys::receive_with_fd(&self.control, bytes);
            }
            if !(control.revents() | cell.revents()).is_empty() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

/// The limits a leaf sets for itself before it reads its job.
pub(crate) struct LeafLimits {
    pub(crate) data_bytes: u64,
    pub(crate) processes: u64,
    pub(crate) cpu_seconds: u64,
}

/// The leaf's filter as the kernel reads it.
fn filter_bytes() -> Vec<u8> {
    let bytes = |step: &sock_filter| {
        let [a, b] = step.code.to_ne_bytes();
        let [k0, k1, k2, k3] = step.k.to_ne_bytes();
        [a, b, step.jt, step.jf, k0, k1, k2, k3]
    };
    filter::LEAF.iter().flat_map(bytes).collect()
}

/// What a failing interpreter wrote to its standard error, for the message.
fn last_words(cell: &Cell, errors: OwnedFd) -> String {
    cell.kill();
    let mut text = Vec::new();
    let limited = io::Read::take(std::fs::File::from(errors), 4096);
    let _partial_is_fine = io::copy(&mut { limited }, &mut text);
    let text = String::from_utf8_lossy(&text);
    text.lines().last().unwrap_or("it ended without a word").to_owned()
}
