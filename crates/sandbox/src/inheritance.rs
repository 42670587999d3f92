//! What this process keeps to itself: from the programs that it starts, and from others of its account.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// How many descriptors every program has: standard input, output and error.
const STANDARD: libc::c_int = 3;

/// Takes the variables whose names begin with `prefix` out of the environment of this process, and returns them. What it starts
/// from here on has neither these variables nor any descriptor beside the standard ones that was open by now, so no program can
/// read a passphrase that was meant for this one. The text of the variables is overwritten, so that `/proc/PID/environ` does not
/// have it either.
///
/// # Errors
/// When other threads run, which could read the environment meanwhile, or the system refuses.
pub fn keep_from_children(prefix: &str) -> io::Result<BTreeMap<OsString, OsString>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("other threads run already"));
    }
    let ours = std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(prefix.as_bytes()));
    let taken: BTreeMap<OsString, OsString> = ours.collect();
    for name in taken.keys() {
        // SAFETY: this is the only thread, so nothing else reads or changes the environment.
        unsafe { erase(name) };
    }
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if number >= STANDARD {
            // SAFETY: it only changes a flag, also where the descriptor was that of the folder that is read here.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(taken)
}

/// Lets no program of the same account read the memory, the environment or the open files of this process, for as long as it runs.
/// What it starts is not affected. For a process that runs no job: a cell is set up through files that the account then cannot
/// write.
///
/// # Errors
/// When the system refuses.
pub fn hide_from_account() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Overwrites the value of a variable where the kernel put it, and removes the variable.
///
/// # Safety
/// Only while this process has one thread.
unsafe fn erase(name: &OsStr) {
    // The name was in the environment, so it has no zero.
    let Ok(terminated) = CString::new(name.as_bytes()) else { return };
    // SAFETY: no other thread runs, and the value ends with a zero, which stays.
    unsafe {
        let value = libc::getenv(terminated.as_ptr());
        if !value.is_null() {
            value.write_bytes(0, libc::strlen(value));
        }
        std::env::remove_var(name);
    }
}
