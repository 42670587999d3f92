//! The keeper: without a pid namespace, the process that makes sure nothing of a
//! cell outlives it.
//!
//! It stands between supervisor and submission, adopts every orphan, and ends
//! them all when the program ends or the supervisor says so. A Landlock domain of
//! its own makes `kill(-1)` reach just its descendants, and nested domains keep
//! them from signalling it. Runs between fork and exec: raw system calls only.

use std::ptr;

use crate::child::{Step, Stopped, check, clone, reset_signals};
use crate::landlock::RulesetAttr;
use crate::program::NO_CORE;

const SCOPE_SIGNAL: u64 = 2;

/// Forks the program; returns in the child alone. The keeper itself ends as the
/// program did, after everything else has.
///
/// # Safety
/// Only between fork and exec of a cell.
pub(crate) unsafe fn keep() -> Result<(), Stopped> {
    // SAFETY: raw calls over local memory, in a process of our own.
    unsafe {
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).into(), Step::Namespaces)?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0).into(), Step::Namespaces)?;
        enter_own_domain()?;
        let mut stop: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut stop);
        libc::sigaddset(&raw mut stop, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const stop, ptr::null_mut());
        let stopped = check(libc::signalfd(-1, &raw const stop, libc::SFD_CLOEXEC).into(), Step::Namespaces)?;
        let child = check(clone(0), Step::Fork)?;
        if child == 0 {
            return Ok(());
        }
        // The pipes of the cell end with the program, not with its keeper.
        let stopped = libc::dup2(stopped as i32, 0).into();
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        let ended = libc::syscall(libc::SYS_pidfd_open, child, 0);
        let wait = |fd: libc::c_long| libc::pollfd { fd: fd as i32, events: libc::POLLIN, revents: 0 };
        let mut fds = [wait(stopped), wait(ended)];
        while libc::poll(fds.as_mut_ptr(), 2, -1) < 0 {}
        leave_as(end_all(child as libc::pid_t))
    }
}

unsafe fn enter_own_domain() -> Result<(), Stopped> {
    let attr = RulesetAttr { files: 0, net: 0, scoped: SCOPE_SIGNAL };
    // SAFETY: `attr` outlives the call and has the size given.
    unsafe {
        let size = size_of::<RulesetAttr>();
        let ruleset =
            check(libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0), Step::Landlock)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::Landlock)?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0), Step::Landlock)?;
        libc::close(ruleset as i32);
    }
    Ok(())
}

/// Kills until no descendant is left; the wait status of the program.
unsafe fn end_all(program: libc::pid_t) -> i32 {
    let mut answer = libc::SIGKILL;
    loop {
        let mut status = 0;
        // SAFETY: signals only its own Landlock domain, and never itself.
        let reaped = unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::waitpid(-1, &raw mut status, 0)
        };
        if reaped == program {
            answer = status;
        }
        // SAFETY: errno of this thread is always readable.
        if reaped < 0 && unsafe { *libc::__errno_location() } == libc::ECHILD {
            return answer;
        }
    }
}

unsafe fn leave_as(status: i32) -> ! {
    // SAFETY: ends this process only.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let least = libc::rlimit64 { rlim_cur: NO_CORE, rlim_max: NO_CORE };
            libc::setrlimit64(libc::RLIMIT_CORE, &raw const least);
            reset_signals();
            libc::kill(libc::getpid(), libc::WTERMSIG(status));
            libc::_exit(128 + libc::WTERMSIG(status));
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
