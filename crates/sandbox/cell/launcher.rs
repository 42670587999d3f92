//! The launcher of a warm cell: starts the interpreter of each case, in a pid namespace of its own.
//!
//! Between cases nothing runs here but this program, which holds nothing of a submission. For each case it forks the
//! first process of a new pid namespace, which gives up what a submission may not do, starts the interpreter, reaps, and
//! ends with it; the kernel then ends whatever else is in that namespace. With the supervisor it speaks as a zygote does.
//!
//! Arguments: a descriptor to hand over at the start, 0 for none; then the interpreter's path, which is also the first of
//! its arguments, and the rest of them. Its environment is ours. `build.rs` compiles it, and `src/zygote.rs` starts it.

#![no_std]
#![no_main]

mod call;
mod program;

use core::mem::MaybeUninit;

use call::call;
use program::{EINTR, exit, nr, number, write_all};

/// The socket to the supervisor, which keeps message boundaries.
const CONTROL: usize = 3;
/// The most descriptors that come with a case.
const MAX_PASSED: usize = 5;
/// The longest filter, in bytes.
const MAX_FILTER: usize = 4_096;
/// The numbers in a request: bytes of data, processes, seconds of processor time, and 1 to wait for a release; 0 for the last if
/// it is missing.
const NUMBERS: usize = 4;

const SIGCHLD: usize = 17;
const CLONE_NEWPID: usize = 0x2000_0000;
const CLOSE_RANGE_CLOEXEC: usize = 4;
const O_NONBLOCK_CLOEXEC: usize = 0o2_004_000;
const MSG_CTRUNC: i32 = 8;
const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;
const RLIMIT_CPU: usize = 0;
const RLIMIT_DATA: usize = 2;
const RLIMIT_NPROC: usize = 6;
const SECCOMP_SET_MODE_FILTER: usize = 1;
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// What every case is started with.
struct Launch<'a> {
    path: usize,
    argv: usize,
    env: usize,
    filter: &'a [u8],
    /// The end of a pipe that takes the wait status of a case's interpreter, or what it was not started for: a negative
    /// error number.
    ended: usize,
}

/// `struct sock_fprog`.
#[repr(C)]
struct FilterProgram {
    steps: u16,
    filter: *const u8,
}

#[repr(C)]
struct Vector {
    at: *mut u8,
    length: usize,
}

/// `struct msghdr`.
#[repr(C)]
struct Message {
    name: usize,
    name_length: u32,
    vectors: *const Vector,
    count: usize,
    control: *mut Control,
    control_length: usize,
    flags: i32,
}

/// `struct cmsghdr` with its descriptors.
#[repr(C, align(8))]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    fds: [i32; MAX_PASSED],
}

/// The bytes of [`Control`] before its descriptors.
const CONTROL_HEAD: usize = size_of::<usize>() + 2 * size_of::<i32>();

/// A case as the supervisor asks for it.
struct Request {
    numbers: [u64; NUMBERS],
    /// Become 0, 1, 2, … of the interpreter.
    fds: [i32; MAX_PASSED],
    count: usize,
}

/// Where the kernel starts us: the count of arguments, each as a C string, and the environment.
unsafe extern "C" fn main(stack: *const usize) -> ! {
    // SAFETY: the kernel lays the arguments out so, and ends both lists with a null.
    let (handed_over, argv, env) = unsafe {
        let count = stack.read();
        (number(stack.add(2).read() as *const u8), stack.add(3), stack.add(count + 2))
    };
    // SAFETY: `argv` has the interpreter's path at the least, or the null that ends it.
    let path = unsafe { argv.read() };
    let mut filter = [0; MAX_FILTER];
    let Some(filter) = receive_filter(&mut filter) else { exit() };
    if path == 0 || !send(b"ready", handed_over) {
        exit();
    }
    if handed_over > 0 {
        close(handed_over as usize);
    }
    let mut pipe = [-1_i32; 2];
    // SAFETY: `pipe` outlives the call; the others take no pointer.
    let itself = unsafe {
        let own = call(nr::GETPID, [0; 5]);
        if call(nr::PIPE2, [pipe.as_mut_ptr() as usize, O_NONBLOCK_CLOEXEC, 0, 0, 0]) < 0 {
            exit();
        }
        call(nr::PIDFD_OPEN, [own as usize, 0, 0, 0, 0])
    };
    let [ends, ended] = pipe;
    let launch = Launch { path, argv: argv as usize, env: env as usize, filter, ended: ended as usize };
    while let Some(request) = receive()
        && itself >= 0
        && run(&launch, &request, itself as usize, ends as usize)
    {}
    exit()
}

/// Starts a case, and tells the supervisor of its first process and how its interpreter ended; whether there can be
/// another.
fn run(launch: &Launch<'_>, request: &Request, itself: usize, ends: usize) -> bool {
    // SAFETY: takes no pointer.
    if unsafe { call(nr::UNSHARE, [CLONE_NEWPID, 0, 0, 0, 0]) } < 0 {
        return false;
    }
    let pid = fork();
    if pid == 0 {
        lead(launch, request);
    }
    // SAFETY: takes no pointer.
    if pid < 0 || unsafe { call(nr::SETNS, [itself, CLONE_NEWPID, 0, 0, 0]) } < 0 {
        return false;
    }
    // SAFETY: takes no pointer.
    let first = unsafe { call(nr::PIDFD_OPEN, [pid as usize, 0, 0, 0, 0]) };
    let sent = first >= 0 && send(b"P", first);
    close(first as usize);
    for fd in request.fds.iter().take(request.count) {
        close(*fd as usize);
    }
    let Some(own) = wait(pid) else { return false };
    let mut status = [0_u8; 4];
    // SAFETY: `status` has the four bytes asked for.
    let reported = unsafe { call(nr::READ, [ends, status.as_mut_ptr() as usize, status.len(), 0, 0]) } == 4;
    // One that is killed cannot report.
    let is_killed = own & 0x7F != 0;
    sent && (reported || is_killed) && {
        let [a, b, c, d] = if reported { status } else { own.to_ne_bytes() };
        send(&[b'S', a, b, c, d], 0)
    }
}

/// The first process of a case's pid namespace: starts the interpreter, reaps all, and ends with it.
fn lead(launch: &Launch<'_>, request: &Request) -> ! {
    let [data, processes, cpu, waits] = request.numbers;
    let confined = limit(RLIMIT_DATA, data)
        .and_then(|()| limit(RLIMIT_NPROC, processes))
        .and_then(|()| limit(RLIMIT_CPU, cpu))
        .and_then(|()| if waits == 1 { released() } else { Ok(()) })
        .and_then(|()| confine(launch.filter));
    let interpreter = match confined {
        Ok(()) => fork(),
        Err(error) => error,
    };
    match interpreter {
        0 => start(launch, request),
        1.. => {}
        error => report(launch, error as i32),
    }
    // SAFETY: takes no pointer.
    unsafe {
        // What the interpreter closes is closed.
        call(nr::CLOSE_RANGE, [0, launch.ended - 1, 0, 0, 0]);
        call(nr::CLOSE_RANGE, [launch.ended + 1, u32::MAX as usize, 0, 0, 0]);
    }
    loop {
        let mut status = 0_i32;
        // SAFETY: `status` outlives the call; usage is not asked for.
        let reaped = unsafe { call(nr::WAIT4, [usize::MAX, &raw mut status as usize, 0, 0, 0]) };
        if reaped == interpreter {
            report(launch, status);
        }
        if reaped < 0 && reaped != EINTR {
            exit();
        }
    }
}

/// Becomes the interpreter.
fn start(launch: &Launch<'_>, request: &Request) -> ! {
    // SAFETY: the lists are those that the kernel gave to us, each ended by a null.
    let error = unsafe {
        call(nr::SETSID, [0; 5]);
        let mut place = 0;
        for fd in request.fds.iter().take(request.count) {
            call(nr::DUP3, [*fd as usize, place, 0, 0, 0]);
            place += 1;
        }
        call(nr::CLOSE_RANGE, [place, u32::MAX as usize, CLOSE_RANGE_CLOEXEC, 0, 0]);
        call(nr::EXECVE, [launch.path, launch.argv, launch.env, 0, 0])
    };
    report(launch, error as i32)
}

/// Says how the interpreter ended, or why it did not start, and ends.
fn report(launch: &Launch<'_>, status: i32) -> ! {
    write_all(launch.ended, &status.to_ne_bytes());
    exit()
}

fn limit(resource: usize, value: u64) -> Result<(), isize> {
    let limit = [value, value];
    // SAFETY: `limit` outlives the call and has the layout of `struct rlimit64`; a null old limit is allowed.
    done(unsafe { call(nr::PRLIMIT64, [0, resource, limit.as_ptr() as usize, 0, 0]) })
}

/// Waits until the supervisor has put this process where it is counted.
fn released() -> Result<(), isize> {
    let mut byte = 0_u8;
    loop {
        // SAFETY: `byte` has the one byte asked for.
        match unsafe { call(nr::READ, [CONTROL, &raw mut byte as usize, 1, 0, 0]) } {
            1 => return Ok(()),
            EINTR => {}
            _ => exit(),
        }
    }
}

/// Gives up every capability, and adds the filter.
fn confine(filter: &[u8]) -> Result<(), isize> {
    let (header, nothing) = ([CAPABILITY_VERSION, 0], [0_u32; 6]);
    let program = FilterProgram { steps: (filter.len() / 8) as u16, filter: filter.as_ptr() };
    // SAFETY: everything outlives the calls and has the kernel's layout.
    unsafe {
        done(call(nr::CAPSET, [header.as_ptr() as usize, nothing.as_ptr() as usize, 0, 0, 0]))?;
        done(call(nr::SECCOMP, [SECCOMP_SET_MODE_FILTER, 0, &raw const program as usize, 0, 0]))
    }
}

fn done(answer: isize) -> Result<(), isize> {
    if answer < 0 { Err(answer) } else { Ok(()) }
}

fn fork() -> isize {
    // SAFETY: without a stack of its own the child has a copy of ours.
    unsafe { call(nr::CLONE, [SIGCHLD, 0, 0, 0, 0]) }
}

/// The wait status of a child that has ended.
fn wait(pid: isize) -> Option<i32> {
    let mut status = 0_i32;
    loop {
        // SAFETY: `status` outlives the call; usage is not asked for.
        match unsafe { call(nr::WAIT4, [pid as usize, &raw mut status as usize, 0, 0, 0]) } {
            EINTR => {}
            reaped if reaped == pid => return Some(status),
            _ => return None,
        }
    }
}

fn close(fd: usize) {
    // SAFETY: takes no pointer.
    unsafe { call(nr::CLOSE, [fd, 0, 0, 0, 0]) };
}

/// The first message: the filter of every case.
fn receive_filter(bytes: &mut [u8; MAX_FILTER]) -> Option<&[u8]> {
    // SAFETY: the bytes outlive the call.
    let count = unsafe { call(nr::READ, [CONTROL, bytes.as_mut_ptr() as usize, MAX_FILTER, 0, 0]) };
    let count = usize::try_from(count).ok().filter(|count| (1..MAX_FILTER).contains(count))?;
    bytes.get(..count)
}

/// The next case; none when the supervisor has closed its end, or sent something else.
fn receive() -> Option<Request> {
    let mut numbers = [0_u64; NUMBERS];
    let mut control = MaybeUninit::<Control>::uninit();
    let vector = Vector { at: numbers.as_mut_ptr().cast(), length: size_of_val(&numbers) };
    let mut message = Message {
        name: 0,
        name_length: 0,
        vectors: &raw const vector,
        count: 1,
        control: control.as_mut_ptr(),
        control_length: size_of::<Control>(),
        flags: 0,
    };
    let count = loop {
        // SAFETY: the message and what it points to outlive the call.
        match unsafe { call(nr::RECVMSG, [CONTROL, &raw mut message as usize, MSG_CMSG_CLOEXEC, 0, 0]) } {
            EINTR => {}
            count => break count,
        }
    };
    if count < size_of::<[u64; NUMBERS - 1]>() as isize {
        return None;
    }
    if message.flags & MSG_CTRUNC != 0 || message.control_length < CONTROL_HEAD {
        return None;
    }
    // SAFETY: the kernel wrote the head, and as many descriptors as its length says; the rest stays unread.
    let (length, fds) = unsafe {
        let control = control.as_ptr();
        ((&raw const (*control).length).read(), &raw const (*control).fds)
    };
    let passed = length.checked_sub(CONTROL_HEAD)? / size_of::<i32>();
    let mut request = Request { numbers, fds: [-1; MAX_PASSED], count: passed };
    for (at, fd) in request.fds.iter_mut().take(passed).enumerate() {
        // SAFETY: as above.
        *fd = unsafe { fds.cast::<i32>().add(at).read() };
    }
    Some(request)
}

/// Sends a message, with one descriptor where it is positive.
fn send(text: &[u8], fd: isize) -> bool {
    let mut control = Control {
        length: CONTROL_HEAD + size_of::<i32>(),
        level: SOL_SOCKET,
        kind: SCM_RIGHTS,
        fds: [fd as i32; MAX_PASSED],
    };
    let vector = Vector { at: text.as_ptr().cast_mut(), length: text.len() };
    let message = Message {
        name: 0,
        name_length: 0,
        vectors: &raw const vector,
        count: 1,
        control: &raw mut control,
        // With its padding.
        control_length: if fd > 0 { CONTROL_HEAD + size_of::<usize>() } else { 0 },
        flags: 0,
    };
    // SAFETY: the message and what it points to outlive the call.
    unsafe { call(nr::SENDMSG, [CONTROL, &raw const message as usize, 0, 0, 0]) == text.len() as isize }
}
