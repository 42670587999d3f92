//! Landlock: what of the file tree a cell may touch, and that nothing of it
//! reaches out by signal, abstract socket or TCP. Runs between fork and exec: raw
//! system calls only.

use std::ffi::CStr;
use std::os::fd::RawFd;

use crate::stage::{Entering, Step, Stopped, check};

#[repr(C)]
struct RulesetAttr {
    files: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

const SCOPE_SIGNAL: u64 = 2;
const FS_EXECUTE: u64 = 1;
const FS_WRITE_FILE: u64 = 1 << 1;
const FS_READ: u64 = 1 << 2 | 1 << 3;

/// Landlock: reading and running what the tree shows, writing only below a
/// private `/tmp` and to `/dev/null`, and for a project's command to the other places that are its own; no TCP but of that, and no signals or abstract sockets
/// to anything outside.
pub(crate) unsafe fn restrict_files(e: &Entering<'_>) -> Result<(), Stopped> {
    if e.landlock == 0 {
        return if e.level.has_namespaces() {
            Ok(())
        } else {
            Err(Stopped { step: Step::Landlock, errno: libc::ENOSYS })
        };
    }
    let files: u64 = match e.landlock {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    };
    // The command of a project has TCP behind a loopback of its own.
    let net = if e.landlock >= 4 && e.machine.is_none() { 3 } else { 0 };
    let attr = RulesetAttr { files, net, scoped: if e.landlock >= 6 { 3 } else { 0 } };
    let size: usize = match e.landlock {
        1..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    // SAFETY: `attr` outlives the call, and `size` is what that version knows of it.
    let ruleset = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0) };
    let ruleset = check(ruleset, Step::Landlock)? as RawFd;
    // SAFETY: C strings prepared before the fork; descriptors are our own.
    unsafe {
        if e.level.has_namespaces() {
            allow(ruleset, c"/", FS_READ | FS_EXECUTE)?;
        } else {
            for path in &e.tree.readable {
                allow(ruleset, path, FS_READ | FS_EXECUTE)?;
            }
        }
        if e.disk.is_some() {
            allow(ruleset, c"/tmp", files)?;
        }
        allow(ruleset, c"/dev/null", FS_WRITE_FILE | 1 << 2)?;
        if e.machine.is_some() {
            allow(ruleset, c"/dev/full", FS_WRITE_FILE | 1 << 2)?;
            allow(ruleset, c"/dev/shm", files)?;
            allow(ruleset, c"/dev/pts", files)?;
        }
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::Landlock)?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0), Step::Landlock)?;
        libc::close(ruleset);
    }
    Ok(())
}

/// A domain for signals alone: they reach descendants and no other process.
pub(crate) unsafe fn enter_own_domain() -> Result<(), Stopped> {
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

unsafe fn allow(ruleset: RawFd, path: &CStr, allowed: u64) -> Result<(), Stopped> {
    // SAFETY: `path` and `rule` outlive the calls.
    unsafe {
        let parent = check(libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC).into(), Step::Landlock)? as RawFd;
        let mut found: libc::stat = std::mem::zeroed();
        check(libc::fstat(parent, &raw mut found).into(), Step::Landlock)?;
        let is_dir = found.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let file_only = FS_EXECUTE | FS_WRITE_FILE | 1 << 2 | 1 << 14;
        let rule = PathBeneath { allowed: if is_dir { allowed } else { allowed & file_only }, parent };
        check(libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1, &raw const rule, 0), Step::Landlock)?;
        libc::close(parent);
    }
    Ok(())
}
