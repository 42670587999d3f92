//! The steward: the first process of a cell that runs a project's tests.
//!
//! It starts the command, and once that has ended it ends everything else and
//! hands over the report. Only then nobody is left to change it, and only in here
//! its path leads nowhere but into the cell. Runs between fork and exec: raw system
//! calls only.

use std::ffi::CStr;
use std::ptr;

use crate::child::{Step, Stopped, check};

/// The descriptor that takes the report.
pub(crate) const REPORT_FD: i32 = 3;

/// What is written before a report that is there, even an empty one.
pub(crate) const REPORT_MARK: u8 = b'R';

const CHUNK: usize = 1 << 14;

/// Forks the command; returns in the child alone. The steward itself ends with the
/// command's exit status, or 128 and the signal that ended it.
///
/// # Safety
/// Only between fork and exec of a cell with a pid namespace of its own.
pub(crate) unsafe fn oversee(report: Option<&CStr>) -> Result<(), Stopped> {
    // SAFETY: raw calls over local memory, in a process of our own.
    unsafe {
        // The filter, already in force, lets no `clone3` pass.
        let child = check(libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0), Step::Fork)?;
        if child == 0 {
            check(libc::fcntl(REPORT_FD, libc::F_SETFD, libc::FD_CLOEXEC).into(), Step::Exec)?;
            return Ok(());
        }
        // The pipes of the command end with it, not with its steward.
        libc::syscall(libc::SYS_close_range, 0, REPORT_FD - 1, 0);
        libc::syscall(libc::SYS_close_range, REPORT_FD + 1, u32::MAX, 0);
        let status = until_ended(child as libc::pid_t);
        libc::kill(-1, libc::SIGKILL);
        while libc::waitpid(-1, ptr::null_mut(), 0) > 0 {}
        if let Some(path) = report {
            hand_over(path);
        }
        libc::_exit(if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) })
    }
}

unsafe fn until_ended(child: libc::pid_t) -> i32 {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let reaped = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if reaped == child || reaped < 0 {
            return status;
        }
    }
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

const RESOLVE_NO_MAGICLINKS: u64 = 2;
const RESOLVE_NO_SYMLINKS: u64 = 4;
const RESOLVE_BENEATH: u64 = 8;

/// Copies the report, if it is a plain file of the project; how much of it counts
/// is for the reader to say.
unsafe fn hand_over(path: &CStr) {
    let how = OpenHow {
        flags: (libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC) as u64,
        mode: 0,
        resolve: RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
    };
    let mut chunk = [0_u8; CHUNK];
    // SAFETY: `how` and `chunk` outlive the calls that are given their sizes.
    unsafe {
        let size = size_of::<OpenHow>();
        let fd = libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &raw const how, size) as i32;
        let mut found: libc::stat = std::mem::zeroed();
        if fd < 0 || libc::fstat(fd, &raw mut found) < 0 || found.st_mode & libc::S_IFMT != libc::S_IFREG {
            return;
        }
        let mark = REPORT_MARK;
        if libc::write(REPORT_FD, (&raw const mark).cast(), 1) != 1 {
            return;
        }
        loop {
            let count = libc::read(fd, chunk.as_mut_ptr().cast(), CHUNK);
            if count <= 0 || !write_all(chunk.as_ptr(), count as usize) {
                return;
            }
        }
    }
}

unsafe fn write_all(from: *const u8, length: usize) -> bool {
    let mut written = 0;
    while written < length {
        // SAFETY: the caller vouches for `length` bytes at `from`.
        let count = unsafe { libc::write(REPORT_FD, from.add(written).cast(), length - written) };
        if count <= 0 {
            return false;
        }
        written += count as usize;
    }
    true
}
