//! A warm process that forks one leaf a case: an interpreter, or the launcher, whose leaves start one.
//!
//! The zygote runs only our code and never sees what a job holds: it passes
//! each leaf the pipes of its case, so nothing of one case is in the memory
//! another inherits.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::cell::{Blueprint, Body, Cell, CellError, Ground};
use crate::filter::{self, Audience};
use crate::level::Level;
use crate::program::{self, Launch};
use crate::runtime::Runtime;
use crate::stage::Step;
use crate::sys::{self, Exit};
use crate::tree::Tree;

/// What the interpreter does between cases, as a module of its own (`cell/python.rs`).
static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/python"));

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

/// Where the launcher of whole programs has the file to hand over. The descriptors below are its standard ones and the control
/// socket.
const FILE_PLACE: &str = "4";

/// A warm process in its cell.
pub(crate) struct Zygote {
    control: OwnedFd,
    cell: Cell,
    cases: u32,
    /// The file of whole programs, where the cell has one.
    file: Option<ProgramFile>,
}

/// A file of the cell's tree that only we can write to.
struct ProgramFile {
    file: File,
    content: String,
}

/// One forked leaf.
pub(crate) struct Leaf {
    /// The first process of its pid namespace.
    pub(crate) pidfd: OwnedFd,
    /// The process of the submission, where that is neither the first nor started by it.
    pub(crate) apart: Option<OwnedFd>,
}

impl Zygote {
    /// Starts the interpreter and waits until it is warm.
    pub(crate) fn start(runtime: &Runtime, level: Level, slot: u32, ground: &Ground) -> Result<Zygote, ZygoteError> {
        let launch = program::harness_zygote(runtime)?;
        let body = Body::Program { path: &launch.path, argv: &launch.argv, env: &launch.env };
        let mut tree: Tree = runtime.tree()?;
        let trial = runtime.toolchain().trial.as_ref();
        match trial {
            None => tree.file(Path::new(ADDED), MODULE.to_vec())?,
            Some(trial) => {
                tree.file(Path::new(trial.addon_path), trial.addon.to_vec())?;
                for path in trial.shown {
                    if let Ok(content) = std::fs::read(path) {
                        tree.file(Path::new(path), content)?;
                    }
                }
            }
        }
        Zygote::start_body(&body, &tree, trial.is_some(), &Site { level, slot, ground })
    }

    /// Starts the launcher of a program, in a tree that may have the file of whole programs.
    pub(crate) fn start_launcher(launch: &Launch, tree: &Tree, site: &Site<'_>) -> Result<Zygote, ZygoteError> {
        let file = if tree.rewritten.is_some() { FILE_PLACE } else { "0" };
        let own = ["proofmark-launcher", file].map(CString::new).into_iter();
        let program = launch.argv.iter().cloned().map(Ok);
        let argv = own.chain(program).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        Zygote::start_body(&Body::Launcher { argv: &argv, env: &launch.env }, tree, tree.rewritten.is_some(), site)
    }

    /// With a `reserved` place the zygote has `/dev/null` as descriptor 4, so that no file of its own is there.
    fn start_body(body: &Body<'_>, tree: &Tree, reserved: bool, site: &Site<'_>) -> Result<Zygote, ZygoteError> {
        let &Site { level, slot, ground } = site;
        let (control, theirs) = sys::message_pair()?;
        let (errors, errors_in) = sys::pipe()?;
        let limits = program::fixed_limits(0);
        let blueprint = Blueprint {
            level,
            slot,
            tree,
            disk_mb: 0,
            limits: &limits,
            audience: Audience::Zygote,
            ground,
            group: None,
        };
        let mut fds = vec![program::null(false)?, program::null(true)?, errors_in, theirs];
        if reserved {
            fds.push(program::null(true)?);
        }
        let cell = Cell::start(&blueprint, body, &fds)?;
        drop(fds);
        let zygote = Zygote { control, cell, cases: 0, file: None };
        sys::send_with_fds(&zygote.control, &filter_bytes(), &[])?;
        let mut ready = [0; 16];
        match zygote.receive(&mut ready, WARM_UP) {
            Ok((5, [file, None])) if file.is_some() == tree.rewritten.is_some() => {
                let file = file.map(|file| ProgramFile { file: file.into(), content: String::new() });
                Ok(Zygote { file, ..zygote })
            }
            _ => Err(ZygoteError::Start(last_words(&zygote.cell, errors))),
        }
    }

    /// Puts the program of the next cases into the file of the cell's tree.
    pub(crate) fn put(&mut self, content: &str) -> io::Result<()> {
        let Some(program) = self.file.as_mut().filter(|program| program.content != content) else { return Ok(()) };
        program.file.set_len(0)?;
        program.file.write_all_at(content.as_bytes(), 0)?;
        content.clone_into(&mut program.content);
        Ok(())
    }

    /// Forks a leaf with these descriptors. For an interpreter they are the pipe that the leaf reads its job from and those that it
    /// writes to: its answer, standard output and standard error. A launcher gives them to the program as 0, 1, 2, ….
    pub(crate) fn fork(&mut self, limits: &LeafLimits, pipes: &[OwnedFd]) -> Result<Leaf, ZygoteError> {
        self.cases += 1;
        let fds: Vec<_> = pipes.iter().map(OwnedFd::as_fd).collect();
        let waits = limits.waits.then_some(1);
        let limits = [limits.data_bytes, limits.processes, limits.cpu_seconds].into_iter().chain(waits);
        let limits: Vec<u8> = limits.flat_map(u64::to_ne_bytes).collect();
        sys::send_with_fds(&self.control, &limits, &fds)?;
        match self.receive(&mut [0; 1], PATIENCE)? {
            (1, [Some(pidfd), apart]) => Ok(Leaf { pidfd, apart }),
            _ => Err(ZygoteError::Io(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Lets a launcher's leaf that waits start its program.
    pub(crate) fn release(&self) -> io::Result<()> {
        sys::send_with_fds(&self.control, b"G", &[])
    }

    /// How the last leaf ended, once it has.
    pub(crate) fn reaped(&self) -> Result<Exit, ZygoteError> {
        let mut bytes = [0; 5];
        let status = match (self.receive(&mut bytes, PATIENCE)?, bytes) {
            ((5, [None, None]), [b'S', status @ ..]) => i32::from_ne_bytes(status),
            _ => return Err(ZygoteError::Io(io::ErrorKind::InvalidData.into())),
        };
        if status < 0 {
            return Err(CellError::Step { step: Step::Exec, errno: status.wrapping_neg() }.into());
        }
        Ok(Exit::from_wait_status(status))
    }

    /// Whether it has served its time.
    pub(crate) fn is_worn(&self) -> bool {
        self.cases >= MAX_CASES
    }

    fn receive(&self, bytes: &mut [u8], patience: Duration) -> io::Result<(usize, [Option<OwnedFd>; 2])> {
        let end = Instant::now() + patience;
        loop {
            let mut fds = [sys::readable(&self.control), sys::readable(self.cell.pidfd())];
            sys::poll(&mut fds, end.saturating_duration_since(Instant::now()))?;
            let [control, cell] = fds;
            if control.revents().contains(PollFlags::IN) {
                return sys::receive_with_fds(&self.control, bytes);
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
    /// Whether it waits to be released. Only leaves of a launcher can.
    pub(crate) waits: bool,
}

/// Where the cells of a worker are started.
pub(crate) struct Site<'a> {
    pub(crate) level: Level,
    pub(crate) slot: u32,
    pub(crate) ground: &'a Ground,
}

/// The leaf's filter as the kernel reads it.
fn filter_bytes() -> Vec<u8> {
    filter::LEAF
        .iter()
        .flat_map(|step| {
            let [a, b] = step.code.to_ne_bytes();
            let [k0, k1, k2, k3] = step.k.to_ne_bytes();
            [a, b, step.jt, step.jf, k0, k1, k2, k3]
        })
        .collect()
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
