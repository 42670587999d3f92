//! What the code between fork and exec shares: the steps it takes, what it is given, and how it reports.
//!
//! The supervisor may have other threads, and after a fork their locks stay as they were, so nothing here or in `child`,
//! `init` and `landlock` allocates, locks or panics: every string, rule and list was prepared before the fork.

use std::ffi::CStr;
use std::os::fd::RawFd;
use std::ptr;

use crate::level::Level;
use crate::tree::Tree;

const CAP_SYS_ADMIN: u32 = 21;
const LAST_CAP: libc::c_ulong = 63;

/// A step of entering a cell. The child reports the one that failed by its number; the supervisor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Fork = 1,
    Identity,
    Namespaces,
    Mount,
    Pivot,
    Machine,
    Init,
    Limits,
    Landlock,
    Capabilities,
    Seccomp,
    Exec,
}

impl Step {
    pub(crate) const ALL: [Step; 12] = [
        Step::Fork,
        Step::Identity,
        Step::Namespaces,
        Step::Mount,
        Step::Pivot,
        Step::Machine,
        Step::Init,
        Step::Limits,
        Step::Landlock,
        Step::Capabilities,
        Step::Seccomp,
        Step::Exec,
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Step::Fork => "fork",
            Step::Identity => "take an unprivileged uid",
            Step::Namespaces => "make namespaces",
            Step::Mount => "mount the file tree",
            Step::Pivot => "change the root",
            Step::Machine => "set up the loopback, `/dev/shm`, `/dev/pts` and `/proc` of the cell",
            Step::Init => "start the init of the cell",
            Step::Limits => "set resource limits",
            Step::Landlock => "apply Landlock",
            Step::Capabilities => "drop capabilities",
            Step::Seccomp => "install the system-call filter",
            Step::Exec => "start the program",
        }
    }
}

/// What runs in the cell.
pub(crate) enum Start<'a> {
    Exec {
        path: &'a CStr,
        argv: &'a [*const libc::c_char],
        env: &'a [*const libc::c_char],
    },
    /// A program in an open file.
    ExecOpen {
        fd: RawFd,
        argv: &'a [*const libc::c_char],
        env: &'a [*const libc::c_char],
    },
    /// A function of ours that makes raw system calls only; it returns the
    /// exit code.
    Call(fn() -> i32),
}

/// Where a project's command runs and what it leaves.
#[derive(Clone, Copy)]
pub(crate) struct Overseen<'a> {
    /// Where it runs.
    pub(crate) folder: &'a CStr,
    /// The report to hand over, below that folder.
    pub(crate) report: Option<&'a CStr>,
}

/// What the cell of a project's command has that others lack: a loopback, shared memory, terminals, and its own processes in `/proc`.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'a> {
    /// `size=…` of `/dev/shm`.
    pub(crate) shared_memory: &'a CStr,
}

/// Everything the child needs, by reference to memory prepared before the fork.
pub(crate) struct Entering<'a> {
    pub(crate) level: Level,
    pub(crate) tree: &'a Tree,
    /// `size=…` of the private `/tmp`, or `None` for no writable place at all.
    pub(crate) disk: Option<&'a CStr>,
    /// A file to make at the top of the tree, and the number of the descriptor that alone can write to it.
    pub(crate) rewritten: Option<(&'a CStr, RawFd)>,
    pub(crate) start: Start<'a>,
    pub(crate) overseen: Option<Overseen<'a>>,
    pub(crate) machine: Option<Machine<'a>>,
    pub(crate) init: InitFds,
    /// Become 0, 1, 2, … of the program.
    pub(crate) fds: &'a [RawFd],
    pub(crate) limits: &'a [(u32, u64)],
    pub(crate) filter: &'a [seccompiler::sock_filter],
    /// Keeps CAP_SYS_ADMIN of its own user namespace, for the pid namespaces of leaves.
    pub(crate) zygote: bool,
    /// The host uid and gid to become, where the supervisor is root.
    pub(crate) outer_id: Option<u32>,
    pub(crate) landlock: i32,
    /// Readable once the supervisor has written the uid map and set the limits.
    pub(crate) go: RawFd,
    /// The supervisor's end of `go`, of which the child has a copy.
    pub(crate) release: RawFd,
    /// Takes one [`Step`] and errno, or the pid of the second stage.
    pub(crate) status: RawFd,
}

/// A step that failed.
#[derive(Clone, Copy)]
pub(crate) struct Stopped {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

impl Stopped {
    /// The step whose last call failed.
    pub(crate) fn at(step: Step) -> Stopped {
        // SAFETY: errno of this thread is always readable.
        Stopped { step, errno: unsafe { *libc::__errno_location() } }
    }
}

pub(crate) fn check(result: libc::c_long, step: Step) -> Result<libc::c_long, Stopped> {
    if result < 0 { Err(Stopped::at(step)) } else { Ok(result) }
}

/// The descriptors that only the init has.
#[derive(Clone, Copy)]
pub(crate) struct InitFds {
    pub(crate) program: RawFd,
    /// Takes the wait status of the submission; an error on it means that the
    /// supervisor is gone.
    pub(crate) life: RawFd,
    /// Takes the report.
    pub(crate) report: Option<RawFd>,
}

/// Tells the supervisor which step failed; the exit code.
pub(crate) fn report(status: RawFd, stopped: Stopped) -> i32 {
    let [a, b, c, d] = stopped.errno.to_ne_bytes();
    let message = [stopped.step as u8, a, b, c, d];
    // SAFETY: `message` outlives the call.
    unsafe { libc::write(status, message.as_ptr().cast(), message.len()) };
    1
}

/// Clones this process with copied memory; 0 in the child, which signals its end.
pub(crate) unsafe fn clone(flags: libc::c_int) -> libc::c_long {
    // SAFETY: a structure of integers, for which all zeroes are a value.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags as u64;
    if flags & libc::CLONE_PARENT == 0 {
        args.exit_signal = libc::SIGCHLD as u64;
    }
    // SAFETY: `args` outlives the call and asks for a copy, not for shared memory.
    unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) }
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability for good; a zygote keeps CAP_SYS_ADMIN, across its exec too, for the namespaces of leaves.
pub(crate) unsafe fn drop_capabilities(zygote: bool) -> Result<(), Stopped> {
    let kept = if zygote { 1 << CAP_SYS_ADMIN } else { 0 };
    let header = CapHeader { version: 0x2008_0522, pid: 0 };
    let low = CapData { effective: kept, permitted: kept, inheritable: kept };
    let data = [low, CapData { effective: 0, permitted: 0, inheritable: 0 }];
    // SAFETY: `header` and `data` outlive the call and have the kernel's layout.
    unsafe {
        for cap in 0..=LAST_CAP {
            if !(zygote && cap == libc::c_ulong::from(CAP_SYS_ADMIN)) {
                libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0);
            }
        }
        check(libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()), Step::Capabilities)?;
        if zygote {
            let raise = libc::PR_CAP_AMBIENT_RAISE;
            check(libc::prctl(libc::PR_CAP_AMBIENT, raise, CAP_SYS_ADMIN, 0, 0).into(), Step::Capabilities)?;
        }
    }
    Ok(())
}

/// Default dispositions and an empty mask: an exec keeps ignored signals and the mask.
pub(crate) unsafe fn reset_signals() {
    // SAFETY: default dispositions and an empty mask, over local memory.
    unsafe {
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut empty: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut empty);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const empty, ptr::null_mut());
    }
}
