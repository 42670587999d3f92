//! One attack on each mechanism of isolation, tried before a host may run anything: if
//! any succeeds, the level is unavailable.

use std::fmt;
use std::ptr;

use crate::cell::{Blueprint, Body, Cell, CellError, Ground};
use crate::core_dumps::no_core;
use crate::filter::Audience;
use crate::level::Level;
use crate::sys::Exit;
use crate::tree::Tree;

/// Why a level is unavailable.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the level needs and the host does not have.
    Missing(&'static str),
    Cell(CellError),
    /// What an attack reached.
    Breached(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing(what) => write!(f, "needs {what}"),
            Failure::Cell(error) => write!(f, "failed to {error}"),
            Failure::Breached(target) => write!(f, "fails its self-test: a cell reached `{target}`"),
        }
    }
}

/// What is attacked, and the attack, which returns whether it succeeded.
type Attack = (&'static str, fn() -> bool);

/// The attacks by exit code.
const ATTACKS: [Attack; 11] = [
    ("files of the host", || opens(c"/etc/passwd") || opens(c"/proc/self/environ")),
    ("writing", || writes(c"/tmp/x") || writes(c"/x") || writes(c"/dev/shm/x")),
    ("network sockets", || socket(libc::AF_INET) || socket(libc::AF_INET6)),
    ("unix sockets", || socket(libc::AF_UNIX)),
    ("virtual machine sockets", || socket(libc::AF_VSOCK)),
    ("new namespaces", || call(libc::SYS_unshare, libc::CLONE_NEWUSER.into())),
    ("mounts", || call(libc::SYS_umount2, c"/".as_ptr() as libc::c_long)),
    ("tracing", || call(libc::SYS_ptrace, 0)),
    ("io_uring", || call(libc::SYS_io_uring_setup, 1)),
    ("memory", maps_too_much),
    ("processes", forks_too_much),
];

const MEMORY_BYTES: u64 = 64 << 20;
/// With the init.
const PROCESSES: u64 = 5;

/// Starts a cell of this level and tries every attack in it.
pub(crate) fn run(level: Level, ground: &Ground) -> Result<(), Failure> {
    if level == Level::A && crate::sys::effective_uid() != 0 {
        return Err(Failure::Missing("root or CAP_SYS_ADMIN"));
    }
    if level == Level::C && ground.landlock < 6 {
        return Err(Failure::Missing("Landlock ABI 6 (Linux 6.12)"));
    }
    let tree = Tree::new().map_err(|error| Failure::Cell(error.into()))?;
    let limits = [
        (libc::RLIMIT_DATA, MEMORY_BYTES),
        (libc::RLIMIT_NPROC, PROCESSES),
        (libc::RLIMIT_FSIZE, 0),
        (libc::RLIMIT_CORE, no_core()),
    ];
    let blueprint = Blueprint {
        level,
        slot: 0,
        tree: &tree,
        disk_mb: 0,
        limits: &limits,
        audience: Audience::Submission,
        ground,
        group: None,
    };
    let cell = Cell::start(&blueprint, &Body::Call(attack), &[]).map_err(Failure::Cell)?;
    match cell.wait().map_err(|error| Failure::Cell(error.into()))? {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => Err(Failure::Breached(target(code))),
        Exit::Signal(_) => Err(Failure::Breached("self-test ended early")),
    }
}

fn target(code: i32) -> &'static str {
    let index = usize::try_from(code - 1).unwrap_or(usize::MAX);
    ATTACKS.get(index).map_or("unknown", |(target, _)| target)
}

/// Runs in the cell: the number of the first attack that worked, else 0.
fn attack() -> i32 {
    let mut number = 0;
    for (_, works) in &ATTACKS {
        number += 1;
        if works() {
            return number;
        }
    }
    0
}

fn opens(path: &std::ffi::CStr) -> bool {
    // SAFETY: `path` is a C string.
    unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) >= 0 }
}

fn writes(path: &std::ffi::CStr) -> bool {
    // SAFETY: `path` is a C string.
    unsafe { libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600) >= 0 }
}

fn socket(family: libc::c_int) -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::socket(family, libc::SOCK_STREAM, 0) >= 0 }
}

fn call(number: libc::c_long, argument: libc::c_long) -> bool {
    // SAFETY: null and zero for every pointer; the calls are refused before they
    // read any, or fail on it.
    unsafe { libc::syscall(number, argument, 0, 0, 0, 0) >= 0 }
}

fn maps_too_much() -> bool {
    let (size, flags) = (MEMORY_BYTES as usize + 1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let at = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    at != libc::MAP_FAILED
}

fn forks_too_much() -> bool {
    for _ in 0..=PROCESSES {
        // SAFETY: the child only waits to be killed with its cell.
        match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
            0 => loop {
                // SAFETY: the call takes nothing.
                unsafe { libc::pause() };
            },
            -1 => return false,
            _ => {}
        }
    }
    true
}
