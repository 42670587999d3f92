//! What the programs of a cell ask of the kernel, without a standard library.

#![allow(dead_code, reason = "each program uses a part")]

use core::arch::asm;
use core::ptr;

/// What a call answers, or its error number, which is negative.
pub(crate) type Answer<T = usize> = Result<T, Errno>;
pub(crate) type Errno = isize;

pub(crate) const EINTR: Errno = -4;
pub(crate) const ECHILD: Errno = -10;
pub(crate) const SIGKILL: usize = 9;
pub(crate) const SIGCHLD: usize = 17;
pub(crate) const WNOHANG: usize = 1;
/// Any child, or every process that may be signalled.
pub(crate) const ANY: usize = usize::MAX;
pub(crate) const AT_FDCWD: usize = -100_isize as usize;
pub(crate) const CLOSE_RANGE_CLOEXEC: usize = 4;

const AT_EMPTY_PATH: usize = 0x1000;
const CAPABILITY_VERSION: u32 = 0x2008_0522;
const CLONE_NEWPID: usize = 0x2000_0000;
const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
const MSG_CTRUNC: i32 = 8;
const MSG_NOSIGNAL: usize = 0x4000;
const MSG_TRUNC: i32 = 0x20;
const O_CLOEXEC: usize = 0o2_000_000;
const O_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
const O_RDWR_CLOEXEC: usize = 0o2_000_002;
const SCM_RIGHTS: i32 = 1;
const SECCOMP_SET_MODE_FILTER: usize = 1;
const SOL_SOCKET: i32 = 1;
const STATX_TYPE_AND_INODE: usize = 0x101;

#[cfg(target_arch = "x86_64")]
pub(crate) mod nr {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const RECVMSG: usize = 47;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const EXECVE: usize = 59;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const KILL: usize = 62;
    pub(crate) const SETSID: usize = 112;
    pub(crate) const CAPSET: usize = 126;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const SIGNALFD4: usize = 289;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PIPE2: usize = 293;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const SETNS: usize = 308;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const GETRANDOM: usize = 318;
    pub(crate) const STATX: usize = 332;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod nr {
    pub(crate) const DUP3: usize = 24;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const PIPE2: usize = 59;
    pub(crate) const READ: usize = 63;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const SIGNALFD4: usize = 74;
    pub(crate) const CAPSET: usize = 91;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const UNSHARE: usize = 97;
    pub(crate) const KILL: usize = 129;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const SETSID: usize = 157;
    pub(crate) const GETPID: usize = 172;
    pub(crate) const SENDMSG: usize = 211;
    pub(crate) const RECVMSG: usize = 212;
    pub(crate) const CLONE: usize = 220;
    pub(crate) const EXECVE: usize = 221;
    pub(crate) const WAIT4: usize = 260;
    pub(crate) const PRLIMIT64: usize = 261;
    pub(crate) const SETNS: usize = 268;
    pub(crate) const SECCOMP: usize = 277;
    pub(crate) const GETRANDOM: usize = 278;
    pub(crate) const STATX: usize = 291;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
}

/// One system call.
///
/// # Safety
/// The arguments must be what the call takes.
pub(crate) unsafe fn call(number: usize, arguments: [usize; 5]) -> Answer {
    // SAFETY: upheld by the caller.
    let answer = unsafe { raw_call(number, arguments) };
    if answer < 0 { Err(answer) } else { Ok(answer as usize) }
}

#[cfg(target_arch = "x86_64")]
unsafe fn raw_call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let answer: isize;
    // SAFETY: upheld by the caller; the call clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

#[cfg(target_arch = "aarch64")]
unsafe fn raw_call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let answer: isize;
    // SAFETY: upheld by the caller.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, options(nostack));
    }
    answer
}

/// A call that takes no pointer.
fn plain_call(number: usize, arguments: [usize; 3]) -> Answer {
    let [a, b, c] = arguments;
    // SAFETY: each caller in this file names a call that takes no pointer.
    unsafe { call(number, [a, b, c, 0, 0]) }
}

/// The answer of a call that is made again whenever a signal interrupts it.
fn uninterrupted(mut make: impl FnMut() -> Answer) -> Answer {
    loop {
        match make() {
            Err(EINTR) => {}
            answer => return answer,
        }
    }
}

pub(crate) fn exit(code: usize) -> ! {
    loop {
        let _never_returns = plain_call(nr::EXIT_GROUP, [code, 0, 0]);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(1)
}

pub(crate) fn read(fd: i32, bytes: &mut [u8]) -> Answer {
    // SAFETY: the bytes outlive the call, and there are as many as it is told.
    uninterrupted(|| unsafe { call(nr::READ, [fd as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0]) })
}

/// Writes all of it; whether that was possible.
pub(crate) fn write_all(fd: i32, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the bytes outlive the call, and there are as many as it is told.
        let count =
            uninterrupted(|| unsafe { call(nr::WRITE, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0]) });
        match count.ok().and_then(|count| bytes.get(count..)) {
            Some(rest) if rest.len() < bytes.len() => bytes = rest,
            _ => return false,
        }
    }
    true
}

pub(crate) fn close(fd: i32) {
    let _nothing_follows_from_it = plain_call(nr::CLOSE, [fd as usize, 0, 0]);
}

/// Closes the descriptors from `first` to `last`, or does with them what `flags` says.
pub(crate) fn close_range(first: usize, last: usize, flags: usize) -> Answer {
    plain_call(nr::CLOSE_RANGE, [first, last, flags])
}

/// Makes `place` another descriptor of what `fd` is open for, which stays open in a program that is executed.
pub(crate) fn duplicate(fd: i32, place: i32) -> Answer {
    plain_call(nr::DUP3, [fd as usize, place as usize, 0])
}

/// As [`duplicate`], but closed where a program is executed.
pub(crate) fn duplicate_closing(fd: i32, place: i32) -> Answer {
    plain_call(nr::DUP3, [fd as usize, place as usize, O_CLOEXEC])
}

/// Fills a few bytes at random; how many.
pub(crate) fn fill_at_random(bytes: &mut [u8]) -> Answer {
    // SAFETY: the bytes outlive the call, and there are as many as it is told.
    unsafe { call(nr::GETRANDOM, [bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// `/dev/null`, for reading and writing.
pub(crate) fn open_null() -> Answer<i32> {
    // SAFETY: the path is a C string.
    let fd = unsafe { call(nr::OPENAT, [AT_FDCWD, c"/dev/null".as_ptr() as usize, O_RDWR_CLOEXEC, 0, 0]) };
    fd.map(|fd| fd as i32)
}

/// A pipe whose ends do not block: the one to read from, and the one to write to.
pub(crate) fn pipe() -> Answer<[i32; 2]> {
    let mut ends = [-1; 2];
    // SAFETY: `ends` outlives the call.
    unsafe { call(nr::PIPE2, [ends.as_mut_ptr() as usize, O_NONBLOCK_CLOEXEC, 0, 0, 0]) }.map(|_| ends)
}

/// The start of `struct statx`, and the rest of its 256 bytes.
#[repr(C)]
pub(crate) struct FileStatus {
    first: [u32; 7],
    pub(crate) mode: u16,
    unused: u16,
    pub(crate) inode: u64,
    rest: [u64; 27],
}

/// What is behind an open descriptor.
pub(crate) fn status_of(fd: i32) -> Answer<FileStatus> {
    let mut status = FileStatus { first: [0; 7], mode: 0, unused: 0, inode: 0, rest: [0; 27] };
    let here = c"".as_ptr() as usize;
    let arguments = [fd as usize, here, AT_EMPTY_PATH, STATX_TYPE_AND_INODE, &raw mut status as usize];
    // SAFETY: the path is a C string, and `status` has the size of the kernel's structure and outlives the call.
    unsafe { call(nr::STATX, arguments) }.map(|_| status)
}

/// A copy of this process, which must have one thread and no C library.
pub(crate) fn fork() -> Answer {
    // Without a stack of its own, the child has a copy of ours.
    plain_call(nr::CLONE, [SIGCHLD, 0, 0])
}

/// The wait status of the child `pid`, once it has ended.
pub(crate) fn wait(pid: usize) -> Answer<i32> {
    let mut status = 0;
    uninterrupted(|| reap(pid, 0, &mut status)).map(|_| status)
}

/// The child that ended: `pid`, or any where that is [`ANY`]. With [`WNOHANG`] it does not wait, and answers 0 if none has ended.
pub(crate) fn reap(pid: usize, flags: usize, status: &mut i32) -> Answer {
    // SAFETY: `status` outlives the call; usage is not asked for.
    unsafe { call(nr::WAIT4, [pid, ptr::from_mut(status) as usize, flags, 0, 0]) }
}

pub(crate) fn kill(pid: usize, signal: usize) {
    let _gone_already = plain_call(nr::KILL, [pid, signal, 0]);
}

pub(crate) fn start_session() -> Answer {
    plain_call(nr::SETSID, [0; 3])
}

/// A descriptor of a process of this pid namespace.
pub(crate) fn open_process(pid: usize) -> Answer<i32> {
    plain_call(nr::PIDFD_OPEN, [pid, 0, 0]).map(|fd| fd as i32)
}

/// A descriptor of this process.
pub(crate) fn open_self() -> Answer<i32> {
    plain_call(nr::GETPID, [0; 3]).and_then(open_process)
}

/// The children that this process makes from here on are in a new pid namespace.
pub(crate) fn leave_pid_namespace() -> Answer {
    plain_call(nr::UNSHARE, [CLONE_NEWPID, 0, 0])
}

/// The children that this process makes from here on are in the pid namespace of another process.
pub(crate) fn enter_pid_namespace(process: i32) -> Answer {
    plain_call(nr::SETNS, [process as usize, CLONE_NEWPID, 0])
}

/// Sets the signals that do not reach this process, as bits.
pub(crate) fn block_signals(blocked: u64) {
    const SIG_SETMASK: usize = 2;
    // SAFETY: `blocked` outlives the call; the old mask is not asked for.
    let _cannot_fail =
        unsafe { call(nr::RT_SIGPROCMASK, [SIG_SETMASK, &raw const blocked as usize, 0, size_of::<u64>(), 0]) };
}

/// Sets limits for this process: bytes of data, processes, and seconds of processor time.
pub(crate) fn limit(limits: &[u64; 3]) -> Answer<()> {
    /// `RLIMIT_DATA`, `RLIMIT_NPROC`, `RLIMIT_CPU`.
    const RESOURCES: [usize; 3] = [2, 6, 0];
    for (resource, limit) in RESOURCES.into_iter().zip(limits) {
        let limit = [*limit; 2];
        // SAFETY: `limit` outlives the call and has the layout of `struct rlimit64`; the old limit is not asked for.
        unsafe { call(nr::PRLIMIT64, [0, resource, &raw const limit as usize, 0, 0]) }?;
    }
    Ok(())
}

/// Gives up every capability, and adds a filter of system calls.
pub(crate) fn give_up_rights(filter: &[[u8; 8]]) -> Answer<()> {
    /// `struct sock_fprog`.
    #[repr(C)]
    struct Program {
        length: u16,
        steps: *const [u8; 8],
    }
    let (header, nothing) = ([CAPABILITY_VERSION, 0], [0_u32; 6]);
    let program = Program { length: filter.len() as u16, steps: filter.as_ptr() };
    // SAFETY: everything outlives the calls and has the kernel's layout.
    unsafe {
        call(nr::CAPSET, [header.as_ptr() as usize, nothing.as_ptr() as usize, 0, 0, 0])?;
        call(nr::SECCOMP, [SECCOMP_SET_MODE_FILTER, 0, &raw const program as usize, 0, 0])?;
    }
    Ok(())
}

/// The most descriptors that come with a message.
pub(crate) const MAX_PASSED: usize = 5;

/// `struct cmsghdr` with descriptors.
#[repr(C, align(8))]
struct Rights {
    length: usize,
    level: i32,
    kind: i32,
    fds: [i32; MAX_PASSED],
}

/// The bytes of [`Rights`] before its descriptors.
const RIGHTS_HEAD: usize = size_of::<usize>() + 2 * size_of::<i32>();

/// `struct iovec`.
#[repr(C)]
struct Part {
    at: usize,
    length: usize,
}

/// `struct msghdr`.
#[repr(C)]
struct Message {
    name: usize,
    name_length: u32,
    parts: *const Part,
    count: usize,
    control: *mut Rights,
    control_length: usize,
    flags: i32,
}

impl Message {
    fn new(part: &Part, rights: &mut Rights, control_length: usize) -> Message {
        Message { name: 0, name_length: 0, parts: part, count: 1, control: rights, control_length, flags: 0 }
    }
}

/// The descriptors that came with a message.
pub(crate) struct Passed {
    fds: [i32; MAX_PASSED],
    count: usize,
}

impl Passed {
    pub(crate) fn fds(&self) -> &[i32] {
        self.fds.get(..self.count).unwrap_or_default()
    }
}

/// Receives one message: its length and what came with it; `None` where that is not all of it, or where nobody can send any more.
pub(crate) fn receive(socket: i32, bytes: &mut [u8]) -> Option<(usize, Passed)> {
    let mut rights = Rights { length: RIGHTS_HEAD, level: 0, kind: 0, fds: [-1; MAX_PASSED] };
    let part = Part { at: bytes.as_mut_ptr() as usize, length: bytes.len() };
    let mut message = Message::new(&part, &mut rights, RIGHTS_HEAD + size_of::<[i32; MAX_PASSED]>());
    let arguments = [socket as usize, &raw mut message as usize, MSG_CMSG_CLOEXEC, 0, 0];
    // SAFETY: the message leads to what outlives the call, with its sizes.
    let length = uninterrupted(|| unsafe { call(nr::RECVMSG, arguments) }).ok().filter(|length| *length > 0)?;
    if message.flags & (MSG_TRUNC | MSG_CTRUNC) != 0 {
        return None;
    }
    let count = rights.length.checked_sub(RIGHTS_HEAD)? / size_of::<i32>();
    Some((length, Passed { fds: rights.fds, count }))
}

/// Sends one message with at most [`MAX_PASSED`] descriptors; whether somebody can receive it.
pub(crate) fn send(socket: i32, bytes: &[u8], fds: &[i32]) -> bool {
    let length = RIGHTS_HEAD + size_of_val(fds);
    let mut rights = Rights { length, level: SOL_SOCKET, kind: SCM_RIGHTS, fds: [-1; MAX_PASSED] };
    for (place, fd) in rights.fds.iter_mut().zip(fds) {
        *place = *fd;
    }
    let part = Part { at: bytes.as_ptr() as usize, length: bytes.len() };
    let message = Message::new(&part, &mut rights, if fds.is_empty() { 0 } else { length });
    // SAFETY: the message leads to what outlives the call, with its sizes.
    let sent = unsafe { call(nr::SENDMSG, [socket as usize, &raw const message as usize, MSG_NOSIGNAL, 0, 0]) };
    sent == Ok(bytes.len())
}
