//! The system calls of the supervisor's side, as safe functions over owned
//! descriptors.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Descriptors handed to a child are moved here first, so that placing them at
/// 0, 1, 2, … in the child can never overwrite one not yet placed.
const HIGH_FD: RawFd = 100;

/// The most descriptors one control message carries.
const MAX_PASSED_FDS: usize = 4;

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(fd)?;
    // SAFETY: the kernel has just returned this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A close-on-exec pipe: the end to read, the end to write.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for the two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [read, write] = fds;
    Ok((owned(read)?, owned(write)?))
}

/// A close-on-exec pair of sockets that keep message boundaries.
pub(crate) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    let [ours, theirs] = fds;
    Ok((owned(ours)?, owned(theirs)?))
}

/// A close-on-exec duplicate with a number out of the way of a child's 0, 1, 2, ….
pub(crate) fn duplicate_high(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: `fd` is open while borrowed.
    owned(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH_FD) })
}

/// A pipe whose end to write has a number out of the way, as that of
/// [`duplicate_high`].
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

/// A close-on-exec file that has no name and that nobody can change any more.
pub(crate) fn memory_file(name: &CStr, bytes: &[u8], purpose: Purpose) -> io::Result<OwnedFd> {
    let kind = match purpose {
        Purpose::Run => libc::MFD_EXEC,
        Purpose::Read => libc::MFD_NOEXEC_SEAL,
    };
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: `name` is a C string.
    let make = |flags| owned(unsafe { libc::memfd_create(name.as_ptr(), flags) });
    // Linux before 6.3 does not know the kinds, and lets every such file run.
    let made = make(flags | kind)
        .or_else(|error| if error.raw_os_error() == Some(libc::EINVAL) { make(flags) } else { Err(error) });
    let mut file = File::from(made?);
    file.write_all(bytes)?;
    let fd = OwnedFd::from(file);
    let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
    // SAFETY: `fd` is open; the call takes no pointer.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(fd)
}

pub(crate) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: `fd` is open; the call takes no pointer.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }).map(drop)
}

/// A descriptor that stands for the process `pid`, which must be a child of
/// ours not yet reaped.
pub(crate) fn pidfd_open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as libc::c_int)
}

pub(crate) fn pidfd_kill(pidfd: &OwnedFd, signal: libc::c_int) -> io::Result<()> {
    let fd = pidfd.as_raw_fd();
    // SAFETY: a null info pointer is allowed and means what `kill` sends.
    let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, std::ptr::null::<u8>(), 0) };
    check(sent as libc::c_int).map(drop)
}

/// The pid, in our own namespace, of the process behind `pidfd`; `None` once it
/// is reaped.
pub(crate) fn pid_of(pidfd: &OwnedFd) -> Option<libc::pid_t> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    (pid > 0).then_some(pid)
}

/// Whether two processes have one memory between them, as after `vfork`; `false`
/// where the kernel does not tell.
pub(crate) fn share_memory(one: libc::pid_t, other: libc::pid_t) -> bool {
    const KCMP_VM: libc::c_long = 1;
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0 }
}

/// Locks an open file for as long as it is open; fails where another has.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    // SAFETY: `file` is open; the call takes no pointer.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }).map(drop)
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
    let mut status = 0;
    loop {
        // SAFETY: `status` outlives the call.
        match check(unsafe { libc::waitpid(pid, &raw mut status, 0) }) {
            Ok(_) => return Ok(Exit::from_wait_status(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits until one of `fds` is ready or the time is up; afterwards each
/// `revents` tells. Answers how many are ready.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout: Duration) -> io::Result<usize> {
    let wait = libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    };
    let count = fds.len() as libc::nfds_t;
    // SAFETY: `fds` and `wait` outlive the call; a null signal mask is allowed.
    match check(unsafe { libc::ppoll(fds.as_mut_ptr(), count, &raw const wait, std::ptr::null()) }) {
        Ok(ready) => Ok(ready as usize),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(error) => Err(error),
    }
}

/// One entry for [`poll`]; `None` is passed over.
pub(crate) fn interest(fd: Option<&OwnedFd>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: fd.map_or(-1, AsRawFd::as_raw_fd), events, revents: 0 }
}

#[repr(align(8))]
struct ControlBuffer([u8; 64]);

/// Sends one message with descriptors beside it.
pub(crate) fn send_with_fds(socket: &OwnedFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    debug_assert!(fds.len() <= MAX_PASSED_FDS);
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = ControlBuffer([0; 64]);
    let size = size_of_val(fds) as u32;
    // SAFETY: every pointer in `header` outlives the call; the control buffer is
    // aligned and larger than CMSG_SPACE of MAX_PASSED_FDS descriptors.
    let sent = unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut iov;
        header.msg_iovlen = 1;
        if !fds.is_empty() {
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(size) as _;
            let cmsg = libc::CMSG_FIRSTHDR(&raw const header);
            (*cmsg).cmsg_level = libc::SOL_SOCKET;
            (*cmsg).cmsg_type = libc::SCM_RIGHTS;
            (*cmsg).cmsg_len = libc::CMSG_LEN(size) as _;
            std::ptr::copy_nonoverlapping(fds.as_ptr().cast::<u8>(), libc::CMSG_DATA(cmsg), size as usize);
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL)
    };
    check(sent as libc::c_int).map(drop)
}

/// Receives one message and at most one descriptor; an empty message means the
/// other side is gone.
pub(crate) fn receive_with_fd(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut iov = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = ControlBuffer([0; 64]);
    // SAFETY: every pointer in `header` outlives the call; a descriptor found in
    // the control buffer was installed by the kernel for us alone.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut iov;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC);
        let length = check(got as libc::c_int)? as usize;
        let cmsg = libc::CMSG_FIRSTHDR(&raw const header);
        let has_fd = !cmsg.is_null() && (*cmsg).cmsg_type == libc::SCM_RIGHTS;
        let fd = has_fd.then(|| {
            let mut fd: RawFd = -1;
            std::ptr::copy_nonoverlapping(libc::CMSG_DATA(cmsg), (&raw mut fd).cast::<u8>(), size_of::<RawFd>());
            OwnedFd::from_raw_fd(fd)
        });
        Ok((length, fd))
    }
}

/// The effective uid of this process.
pub(crate) fn effective_uid() -> u32 {
    // SAFETY: the call cannot fail and takes nothing.
    unsafe { libc::geteuid() }
}

/// The Landlock version the kernel speaks; 0 where it has none.
pub(crate) fn landlock_abi() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: asking for the version takes a null attribute of size 0.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) };
    i32::try_from(abi).unwrap_or(0).max(0)
}
