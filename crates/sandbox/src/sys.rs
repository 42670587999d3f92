//! The system calls of the supervisor's side, as safe functions over owned descriptors.
//!
//! What runs between fork and exec is not here: it may not allocate, and calls `libc` itself (`stage.rs`).

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

/// Descriptors handed to a child are moved here first, so that placing them at
/// 0, 1, 2, … in the child can never overwrite one not yet placed.
const HIGH_FD: RawFd = 100;

/// The most descriptors one control message carries.
const MAX_PASSED_FDS: usize = 5;

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A close-on-exec pipe: the end to read, the end to write.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

/// Lets a program of another uid open an end that it has once more, as `/dev/stdout` and `/dev/stderr`.
pub(crate) fn allow_reopening(pipe: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fchmod(pipe, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH)?)
}

/// A close-on-exec pair of sockets that keep message boundaries.
pub(crate) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A close-on-exec duplicate with a number above every place that a child's descriptors get.
pub(crate) fn duplicate_high(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, HIGH_FD)?)
}

/// A pipe whose end to write is numbered as [`duplicate_high`] does.
pub(crate) fn high_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe()?;
    Ok((read, duplicate_high(write.as_fd())?))
}

/// What a file in memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Run,
    Read,
}

/// A close-on-exec file without a name, sealed so that nothing can change it.
pub(crate) fn memory_file(name: &CStr, bytes: &[u8], purpose: Purpose) -> io::Result<OwnedFd> {
    let kind = match purpose {
        Purpose::Run => MemfdFlags::EXEC,
        Purpose::Read => MemfdFlags::NOEXEC_SEAL,
    };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Linux before 6.3 does not know the kinds, and lets every such file run.
    let made = match rustix::fs::memfd_create(name, flags | kind) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags),
        made => made,
    };
    let mut file = File::from(made?);
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file.into())
}

pub(crate) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK)?)
}

/// A descriptor that stands for the process `pid`, which must be a child of
/// ours not yet reaped.
pub(crate) fn pidfd_open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(pid_from(pid)?, PidfdFlags::empty())?)
}

pub(crate) fn pidfd_kill(pidfd: &OwnedFd, signal: libc::c_int) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_send_signal(pidfd, signal)?)
}

/// The pid, in our own namespace, of the process behind `pidfd`; `None` once it
/// is reaped.
pub(crate) fn pid_of(pidfd: &OwnedFd) -> Option<libc::pid_t> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    (pid > 0).then_some(pid)
}

fn pid_from(pid: libc::pid_t) -> io::Result<Pid> {
    Ok(Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?)
}

/// Whether two processes have one memory between them, as after `vfork`; `false`
/// where the kernel does not say.
pub(crate) fn share_memory(one: libc::pid_t, other: libc::pid_t) -> bool {
    const KCMP_VM: libc::c_long = 1;
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0 }
}

/// Locks an open file for as long as it is open; fails where another process has locked it.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

/// Gives `work` the pid of a child that only waits, and ends it.
pub(crate) fn with_idle_child<T>(work: impl FnOnce(libc::pid_t) -> io::Result<T>) -> io::Result<T> {
    // SAFETY: the child only waits, by raw system calls, and dies with this thread.
    let pid = check(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: as above.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            loop {
                libc::pause();
            }
        }
    }
    let done = work(pid);
    // SAFETY: the child is ours and not yet reaped.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    reap(pid)?;
    done
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// Reads a status as `waitpid` gives it.
    pub(crate) fn from_wait_status(status: i32) -> Exit {
        if libc::WIFSIGNALED(status) {
            Exit::Signal(libc::WTERMSIG(status))
        } else {
            Exit::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// Waits for the child `pid` and reaps it.
pub(crate) fn reap(pid: libc::pid_t) -> io::Result<Exit> {
    let pid = pid_from(pid)?;
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(Exit::from_wait_status(status.as_raw())),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until one of `fds` is ready or the time is up; afterwards each one's `revents` says what it is ready for.
pub(crate) fn poll(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    let timeout =
        Timespec { tv_sec: timeout.as_secs().min(i32::MAX as u64) as i64, tv_nsec: timeout.subsec_nanos().into() };
    match rustix::event::poll(fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// One entry of [`poll`]: waits until `fd` can be read.
pub(crate) fn readable(fd: &OwnedFd) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::IN)
}

/// One entry of [`poll`]: waits until `fd` can be written.
pub(crate) fn writable(fd: &OwnedFd) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::OUT)
}

/// Sends one message with at most [`MAX_PASSED_FDS`] descriptors beside it.
pub(crate) fn send_with_fds(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PASSED_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one message and at most two descriptors; an empty message means the
/// other side is gone.
pub(crate) fn receive_with_fds(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<(usize, [Option<OwnedFd>; 2])> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let passed = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let mut fds = passed.flatten();
    Ok((received.bytes, [fds.next(), fds.next()]))
}

/// The effective uid of this process.
pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The effective gid of this process.
pub(crate) fn effective_gid() -> u32 {
    rustix::process::getegid().as_raw()
}

/// The Landlock version the kernel speaks; 0 where it has none.
pub(crate) fn landlock_abi() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: asking for the version takes a null attribute of size 0.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) };
    i32::try_from(abi).unwrap_or(0).max(0)
}
