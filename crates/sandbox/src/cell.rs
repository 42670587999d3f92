//! A cell: one isolated process tree, started and ended by the supervisor.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::child::{INNER_ID, first_stage};
use crate::filter::{Audience, Place, allow_list};
use crate::groups::{Group, Groups, GroupsError};
use crate::init::OwnProgram;
use crate::level::Level;
use crate::stage::{Entering, InitFds, Machine, Overseen, Start, Step};
use crate::sys::{self, Exit};
use crate::tree::Tree;

/// Host uids of submissions where the supervisor is root; each worker of each
/// supervisor has its own, so that process counts do not add up. The last is the
/// fallback for a root whose own user namespace does not map such high ids.
const OUTER_ID_BASE: u32 = 0x6000_0000;
/// Process ids have at most this many bits (PID_MAX_LIMIT).
const PID_MASK: u32 = (1 << 22) - 1;
const SLOTS: u32 = 64;
const NOBODY: u32 = 65_534;
/// How many files and folders a disk holds: the kernel has about a kilobyte of each.
const INODES: u32 = 16_384;
/// How many more that of a command holds, for each MiB: one for each of its blocks.
const INODES_A_MB: u32 = 256;

/// Why a cell could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CellError {
    #[error("{} ({})", step.text(), io::Error::from_raw_os_error(*errno))]
    Step { step: Step, errno: i32 },
    #[error("prepare a sandbox ({0})")]
    Io(#[from] io::Error),
    #[error(
        "make the init or the launcher of a cell, a program in memory ({0}); `sysctl vm.memfd_noexec` must be below 2"
    )]
    Init(io::Error),
    #[error("compile the system-call filter ({0})")]
    Filter(#[from] seccompiler::BackendError),
}

/// What a cell is made of.
pub(crate) struct Blueprint<'a> {
    pub(crate) level: Level,
    /// Distinguishes the workers of this process.
    pub(crate) slot: u32,
    pub(crate) tree: &'a Tree,
    /// The size of a private, writable `/tmp`; 0 for none.
    pub(crate) disk_mb: u32,
    pub(crate) limits: &'a [(u32, u64)],
    pub(crate) audience: Audience,
    pub(crate) ground: &'a Ground,
    /// The control group of the case.
    pub(crate) group: Option<&'a Group>,
}

impl Blueprint<'_> {
    fn is_command(&self) -> bool {
        matches!(self.audience, Audience::Command(_))
    }
}

/// What all cells of a host share.
pub(crate) struct Ground {
    /// The Landlock version the kernel speaks; 0 where it has none.
    pub(crate) landlock: i32,
    /// The control groups of its cells, or why there are none.
    pub(crate) groups: Result<Groups, GroupsError>,
    init: OwnProgram,
    launcher: OwnProgram,
}

impl Ground {
    /// # Errors
    /// Where the host refuses to run files in memory.
    pub(crate) fn find() -> Result<Ground, CellError> {
        Ok(Ground {
            landlock: sys::landlock_abi(),
            groups: Groups::find(),
            init: OwnProgram::init().map_err(CellError::Init)?,
            launcher: OwnProgram::launcher().map_err(CellError::Init)?,
        })
    }
}

/// What runs in a cell.
pub(crate) enum Body<'a> {
    Program {
        path: &'a CStr,
        argv: &'a [CString],
        env: &'a [CString],
    },
    /// The launcher, which has the file of whole programs among its descriptors if the tree has one.
    Launcher {
        argv: &'a [CString],
        env: &'a [CString],
    },
    /// A command whose report the cell's init hands over.
    Project {
        path: &'a CStr,
        argv: &'a [CString],
        env: &'a [CString],
        overseen: Overseen<'a>,
        report: &'a OwnedFd,
    },
    Call(fn() -> i32),
}

/// A running cell. Dropping it kills everything in it.
pub(crate) struct Cell {
    /// The init of the cell.
    pid: libc::pid_t,
    pidfd: OwnedFd,
    /// Brings the wait status of the program. Closing it makes the init end the cell.
    life: File,
    kill_signal: i32,
    reaped: bool,
}

impl Cell {
    /// Starts `body`, isolated as `blueprint` says, with `fds` as its
    /// descriptors 0, 1, 2, ….
    pub(crate) fn start(blueprint: &Blueprint<'_>, body: &Body<'_>, fds: &[OwnedFd]) -> Result<Cell, CellError> {
        let filter = allow_list(
            blueprint.audience,
            Place { namespaces: blueprint.level.has_namespaces(), disk: blueprint.disk_mb > 0 },
        )?;
        let more = if blueprint.is_command() { INODES_A_MB } else { 0 };
        let inodes = INODES + blueprint.disk_mb * more;
        let disk = CString::new(format!("size={}m,mode=1777,nr_inodes={inodes}", blueprint.disk_mb));
        let disk = disk.map_err(io::Error::other)?;
        let high = fds.iter().map(|fd| sys::duplicate_high(fd.as_fd())).collect::<io::Result<Vec<_>>>()?;
        let raw: Vec<RawFd> = high.iter().map(AsRawFd::as_raw_fd).collect();
        let (argv, env) = match body {
            Body::Program { argv, env, .. } | Body::Launcher { argv, env } | Body::Project { argv, env, .. } => {
                (pointers(argv), pointers(env))
            }
            Body::Call(_) => (Vec::new(), Vec::new()),
        };
        let (start, overseen, report) = match body {
            Body::Program { path, .. } => (Start::Exec { path, argv: &argv, env: &env }, None, None),
            Body::Launcher { .. } => {
                (Start::ExecOpen { fd: blueprint.ground.launcher.fd(), argv: &argv, env: &env }, None, None)
            }
            Body::Project { path, overseen, report, .. } => {
                (Start::Exec { path, argv: &argv, env: &env }, Some(*overseen), Some(*report))
            }
            Body::Call(function) => (Start::Call(*function), None, None),
        };
        let (go_read, go_write) = sys::pipe()?;
        let (status_read, status) = sys::high_pipe()?;
        let (life_read, life) = sys::high_pipe()?;
        let report = report.map(|report| sys::duplicate_high(report.as_fd())).transpose()?;
        let outer_id = (sys::effective_uid() == 0).then(|| outer_id(blueprint.slot));
        let entering = Entering {
            level: blueprint.level,
            tree: blueprint.tree,
            disk: (blueprint.disk_mb > 0).then_some(disk.as_c_str()),
            rewritten: blueprint.tree.rewritten.as_deref().zip(raw.last().copied()),
            start,
            overseen,
            machine: blueprint.is_command().then_some(Machine { shared_memory: &disk }),
            init: InitFds {
                program: blueprint.ground.init.fd(),
                life: life.as_raw_fd(),
                report: report.as_ref().map(AsRawFd::as_raw_fd),
            },
            fds: &raw,
            limits: blueprint.limits,
            filter: &filter,
            zygote: blueprint.audience == Audience::Zygote,
            outer_id,
            landlock: blueprint.ground.landlock,
            go: go_read.as_raw_fd(),
            release: go_write.as_raw_fd(),
            status: status.as_raw_fd(),
        };
        let first = fork_first_stage(&entering)?;
        drop((go_read, status, life, report, high));
        let life = File::from(life_read);
        adopt(first, blueprint.level, &mut File::from(status_read), life, |pid| {
            if let Some(group) = blueprint.group {
                group.admit(pid)?;
            }
            if blueprint.level.has_namespaces() {
                map_ids(pid, outer_id)?;
            }
            File::from(go_write).write_all(&[1])
        })
    }

    pub(crate) fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Kills everything in the cell; one that has ended already is not an error.
    pub(crate) fn kill(&self) {
        let _already_gone = sys::pidfd_kill(&self.pidfd, self.kill_signal);
    }

    /// Waits for the end and reaps: how the program ended, or how the init did where
    /// that was killed before it could report.
    pub(crate) fn wait(mut self) -> io::Result<Exit> {
        self.reaped = true;
        let own = sys::reap(self.pid)?;
        let mut status = [0; 4];
        let is_reported = self.life.read_exact(&mut status).is_ok();
        Ok(if is_reported { Exit::from_wait_status(i32::from_ne_bytes(status)) } else { own })
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            let _gone = sys::reap(self.pid);
        }
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn fork_first_stage(entering: &Entering<'_>) -> io::Result<libc::pid_t> {
    // SAFETY: the child calls only `first_stage`, which never returns and keeps
    // to raw system calls.
    let pid = sys::check(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: this is the freshly forked child.
        unsafe { first_stage(entering) }
    }
    Ok(pid)
}

/// Takes over the second stage from the first, and waits until its program runs.
fn adopt(
    first: libc::pid_t,
    level: Level,
    status: &mut File,
    life: File,
    release: impl FnOnce(libc::pid_t) -> io::Result<()>,
) -> Result<Cell, CellError> {
    let message = read_message(status);
    let _first = sys::reap(first)?;
    let pid = match message? {
        Some(Message::Pid(pid)) => pid,
        Some(Message::Stopped(error)) => return Err(error),
        None => return Err(CellError::Io(io::ErrorKind::UnexpectedEof.into())),
    };
    let mut cell = Cell { pid, pidfd: sys::pidfd_open(pid)?, life, kill_signal: level.kill_signal(), reaped: false };
    release(pid)?;
    match read_message(status)? {
        None => Ok(cell),
        Some(Message::Stopped(error)) => {
            cell.reaped = true;
            sys::reap(pid)?;
            Err(error)
        }
        Some(Message::Pid(_)) => Err(CellError::Io(io::ErrorKind::InvalidData.into())),
    }
}

enum Message {
    Pid(libc::pid_t),
    Stopped(CellError),
}

/// One message of the child; `None` once it has closed its end, by exec or exit.
fn read_message(status: &mut File) -> io::Result<Option<Message>> {
    let mut bytes = [0; 5];
    match status.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [kind, a, b, c, d] = bytes;
    let number = i32::from_ne_bytes([a, b, c, d]);
    Ok(Some(match Step::ALL.into_iter().find(|step| *step as u8 == kind) {
        Some(step) => Message::Stopped(CellError::Step { step, errno: number }),
        None => Message::Pid(number),
    }))
}

/// Maps the one inner id to the unprivileged outer one.
fn map_ids(pid: libc::pid_t, outer_id: Option<u32>) -> io::Result<()> {
    let write = |file: &str, text: String| std::fs::write(format!("/proc/{pid}/{file}"), text);
    write("setgroups", "deny".to_owned())?;
    let Some(id) = outer_id else {
        write("uid_map", format!("{INNER_ID} {} 1", sys::effective_uid()))?;
        return write("gid_map", format!("{INNER_ID} {} 1", sys::effective_gid()));
    };
    for (file, own) in [("uid_map", id), ("gid_map", id)] {
        write(file, format!("{INNER_ID} {own} 1")).or_else(|_| write(file, format!("{INNER_ID} {NOBODY} 1")))?;
    }
    Ok(())
}

fn outer_id(slot: u32) -> u32 {
    OUTER_ID_BASE + (std::process::id() & PID_MASK) * SLOTS + slot % SLOTS
}
