//! What the cell of a project's command has of its own, beside a disk: a loopback, `/dev/shm`, `/dev/pts`, and the processes of its
//! pid namespace in `/proc`.
//!
//! As everything after a fork (see `stage`), it neither allocates nor locks nor panics.

use std::ffi::CStr;
use std::os::fd::RawFd;
use std::ptr;

use crate::level::Level;
use crate::stage::{Entering, Machine, Step, Stopped, check};

/// What is mounted for a command runs no set-uid program and has no devices.
const PLAIN: u64 = libc::MS_NOSUID | libc::MS_NODEV;
/// Terminals: as many as no test suite opens, and few of the 4,096 that a host has for all (`kernel.pty.max`).
const TERMINALS: &CStr = c"newinstance,ptmxmode=0666,mode=0620,max=256";

/// Sets the machine up, in the namespaces of the cell and with all rights over them.
pub(crate) unsafe fn set_up(machine: Machine<'_>) -> Result<(), Stopped> {
    // SAFETY: C strings that outlive the calls.
    unsafe {
        raise_loopback()?;
        let mount = |kind: &CStr, at: &CStr, flags: u64, options: &CStr| {
            let done = libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast());
            check(done.into(), Step::Machine)
        };
        mount(c"tmpfs", c"/dev/shm", PLAIN | libc::MS_NOEXEC, machine.shared_memory)?;
        mount(c"devpts", c"/dev/pts", libc::MS_NOSUID | libc::MS_NOEXEC, TERMINALS)?;
    }
    Ok(())
}

/// A new network namespace has a loopback that is down. Its addresses of both families come with it.
unsafe fn raise_loopback() -> Result<(), Stopped> {
    // SAFETY: `request` outlives the calls, and all zeroes are a value of it.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        check(socket.into(), Step::Machine)?;
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request).into(), Step::Machine)?;
        libc::close(socket);
    }
    Ok(())
}

/// Shows the cell its processes, where the host's kernel lets it: a `/proc` of the host that hides anything, as in most
/// containers, forbids a whole one to unprivileged users. The tree has a stub then.
///
/// Without Landlock, which keeps the command's processes from those outside of their domain, `/proc/1/fd` would lead to the pipes
/// of the init, so that a command could write its own exit status.
pub(crate) unsafe fn show_processes(e: &Entering<'_>) {
    if e.machine.is_none() || e.landlock == 0 || e.level != Level::B {
        return;
    }
    let flags = PLAIN | libc::MS_NOEXEC | libc::MS_RDONLY;
    // SAFETY: C strings; no options.
    unsafe {
        libc::mount(c"proc".as_ptr(), c"/sys/proc".as_ptr(), c"proc".as_ptr(), flags, ptr::null());
    }
}

/// As [`show_processes`] where root has prepared the tree: a child of root enters the pid namespace of `second`, makes the view as
/// root of the host, who may, and puts it into the cell.
pub(crate) unsafe fn show_processes_of(e: &Entering<'_>, second: libc::pid_t) {
    if e.machine.is_none() || e.landlock == 0 || e.level != Level::A {
        return;
    }
    // SAFETY: raw calls over local memory; the child only makes such calls.
    unsafe {
        let cell = libc::syscall(libc::SYS_pidfd_open, second, 0) as RawFd;
        if cell < 0 || libc::setns(cell, libc::CLONE_NEWPID) < 0 {
            return;
        }
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(mount_processes(cell).is_err()));
        }
        let mut status = 0;
        while libc::waitpid(child, &raw mut status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
        libc::close(cell);
    }
}

/// Makes a view of the processes of our pid namespace, and puts it into the mount namespace of `cell`.
unsafe fn mount_processes(cell: RawFd) -> Result<(), Stopped> {
    const FSOPEN_CLOEXEC: libc::c_long = 1;
    const FSCONFIG_CMD_CREATE: libc::c_long = 6;
    const FSMOUNT_CLOEXEC: libc::c_long = 1;
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_long = 4;
    let attributes =
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
    let none = ptr::null::<libc::c_char>();
    // SAFETY: C strings, null where it is allowed, and descriptors of our own.
    unsafe {
        let kind = check(libc::syscall(libc::SYS_fsopen, c"proc".as_ptr(), FSOPEN_CLOEXEC), Step::Machine)?;
        check(libc::syscall(libc::SYS_fsconfig, kind, FSCONFIG_CMD_CREATE, none, none, 0), Step::Machine)?;
        let view = check(libc::syscall(libc::SYS_fsmount, kind, FSMOUNT_CLOEXEC, attributes), Step::Machine)?;
        check(libc::setns(cell, libc::CLONE_NEWNS).into(), Step::Machine)?;
        let (to, at) = (libc::AT_FDCWD, c"/proc".as_ptr());
        let moved = libc::syscall(libc::SYS_move_mount, view, c"".as_ptr(), to, at, MOVE_MOUNT_F_EMPTY_PATH);
        check(moved, Step::Machine).map(drop)
    }
}
