//! The init of a cell: a process of ours between supervisor and submission.
//!
//! It is the first process of the cell's pid namespace, so the kernel ends the
//! rest with it. Without namespaces it is a subreaper: it adopts every orphan, and a
//! Landlock domain of its own makes `kill(-1)` reach just its descendants, while
//! their nested domain keeps them from signalling it. It dies with its supervisor,
//! whatever a submission does to itself, and it is a program of its own
//! (`cell/init.rs`), so it holds nothing of the supervisor's memory.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::landlock::enter_own_domain;
use crate::stage::{Entering, Step, Stopped, check, clone, drop_capabilities, reset_signals};
use crate::sys;

/// What is written before a report that is there, even an empty one.
pub(crate) const REPORT_MARK: u8 = b'R';

static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init"));
static LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launcher"));

/// A program of ours in a file without a name, ready to be started in any file tree.
pub(crate) struct OwnProgram(OwnedFd);

impl OwnProgram {
    /// # Errors
    /// Where the host refuses to make files in memory that run.
    pub(crate) fn init() -> io::Result<OwnProgram> {
        OwnProgram::new(c"proofmark-init", INIT)
    }

    /// The program that starts the interpreter of each case in a warm cell (`cell/launcher.rs`).
    ///
    /// # Errors
    /// As [`OwnProgram::init`].
    pub(crate) fn launcher() -> io::Result<OwnProgram> {
        OwnProgram::new(c"proofmark-launcher", LAUNCHER)
    }

    /// Above the places that a child's descriptors get, because it is started after they got them.
    fn new(name: &CStr, bytes: &[u8]) -> io::Result<OwnProgram> {
        let file = sys::memory_file(name, bytes, sys::Purpose::Run)?;
        sys::duplicate_high(file.as_fd()).map(OwnProgram)
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Below this, descriptors get their places.
const FIRST_FREE: RawFd = 100;
/// Digits of the largest pid, and the zero that ends a C string.
const PID_BYTES: usize = 11;

/// Forks the process that becomes the submission, and becomes its init; returns in
/// the fork alone, once the init runs.
///
/// # Safety
/// Only between fork and exec of a cell.
pub(crate) unsafe fn split_off_init(e: &Entering<'_>) -> Result<(), Stopped> {
    let mut go = [-1; 2];
    // SAFETY: raw calls over local memory, in a process of our own.
    unsafe {
        if !e.level.has_namespaces() {
            check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).into(), Step::Init)?;
            enter_own_domain()?;
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, e.level.kill_signal(), 0, 0, 0).into(), Step::Init)?;
        reset_signals();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
        check(libc::pipe2(go.as_mut_ptr(), libc::O_CLOEXEC).into(), Step::Init)?;
        let [wait, release] = go;
        let child = check(clone(0), Step::Fork)?;
        if child == 0 {
            libc::close(release);
            let mut byte = 0_u8;
            if libc::read(wait, (&raw mut byte).cast(), 1) != 1 {
                libc::_exit(1);
            }
            return Ok(());
        }
        become_init(e, child as libc::pid_t, release)
    }
}

unsafe fn become_init(e: &Entering<'_>, child: libc::pid_t, release: RawFd) -> Result<(), Stopped> {
    let mut digits = [0_u8; PID_BYTES];
    let pid = decimal(child, &mut digits);
    let report = e.overseen.and_then(|overseen| overseen.report).filter(|_| e.init.report.is_some());
    let argv = [c"proofmark-init".as_ptr(), pid, report.map_or(ptr::null(), |path| path.as_ptr()), ptr::null()];
    let env = [ptr::null::<libc::c_char>()];
    // SAFETY: raw calls over prepared and local memory.
    unsafe {
        let release = check(libc::fcntl(release, libc::F_DUPFD_CLOEXEC, FIRST_FREE).into(), Step::Init)? as RawFd;
        let places = [e.init.life, e.init.report.unwrap_or(e.init.life), release];
        let mut place = 0;
        for fd in places {
            check(libc::dup2(fd, place).into(), Step::Init)?;
            place += 1;
        }
        libc::syscall(libc::SYS_close_range, place, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        drop_capabilities(false)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::Init)?;
        let program = e.init.program;
        let here = libc::AT_EMPTY_PATH;
        libc::syscall(libc::SYS_execveat, program, c"".as_ptr(), argv.as_ptr(), env.as_ptr(), here);
        Err(Stopped::at(Step::Init))
    }
}

/// The number as a C string at the end of `digits`.
fn decimal(mut number: libc::pid_t, digits: &mut [u8; PID_BYTES]) -> *const libc::c_char {
    let mut start = digits.as_ptr();
    for place in digits.iter_mut().rev().skip(1) {
        *place = b'0' + (number % 10) as u8;
        start = place;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    start.cast()
}
