//! The addon by which a warm Node.js forks one leaf for each case.
//!
//! Node.js has no fork of its own. This library gives its harness two functions: `serve` answers the supervisor and returns
//! only in a leaf, and `leave` ends the process at once. It needs nothing but what Node.js has loaded: a libc, libuv,
//! OpenSSL and Node-API. `build.rs` compiles it, and `src/zygote.rs` puts it into the tree of the warm cell, where a submission may load it
//! again: it has no rights to use it for anything.
//!
//! Descriptors of the zygote: [`CONTROL`], and [`RESULT`], which keeps the place of a leaf's answer.

#![no_std]

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::mem::zeroed;
use core::ptr::null_mut;

/// The socket of the supervisor; in a leaf, the pipe of its job.
const CONTROL: c_int = 3;
/// In a leaf, the pipe of its answer.
const RESULT: c_int = 4;
/// The descriptors that may be open: the limit of files of a cell.
const MAX_FILES: usize = 128;
/// Bytes of the filter of a leaf.
const MAX_FILTER: usize = 4096;
/// The descriptors of a case: its job, its answer, standard output and standard error.
const PASSED: usize = 4;

const EINTR: c_int = 4;
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const SIGKILL: c_int = 9;
const SIGCHLD: c_int = 17;
const CLONE_VM: c_int = 0x100;
const CLONE_NEWPID: c_int = 0x2000_0000;
const RLIMIT_CPU: c_int = 0;
const RLIMIT_DATA: c_int = 2;
const RLIMIT_NPROC: c_int = 6;
const PR_SET_SECCOMP: c_int = 22;
const SECCOMP_MODE_FILTER: c_int = 2;
const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;
const MSG_NOSIGNAL: c_int = 0x4000;
const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
const AT_EMPTY_PATH: c_int = 0x1000;
const STATX_INO: c_uint = 0x100;
const CAPABILITY_VERSION: u32 = 0x2008_0522;

const PIDFD_OPEN: c_long = 434;
#[cfg(target_arch = "x86_64")]
const STATX: c_long = 332;
#[cfg(target_arch = "aarch64")]
const STATX: c_long = 291;

/// How the zygote and a leaf end where a step fails that must not.
#[derive(Clone, Copy)]
enum Failure {
    Message = 69,
    Namespace,
    Fork,
    Rights,
    Return,
    Loop,
    Random,
}

type Environment = *mut c_void;
type Value = *mut c_void;
type Callback = extern "C" fn(Environment, *mut c_void) -> Value;

unsafe extern "C" {
    fn napi_create_function(
        env: Environment,
        name: *const c_char,
        length: usize,
        callback: Callback,
        data: *mut c_void,
        result: *mut Value,
    ) -> c_int;
    fn napi_set_named_property(env: Environment, object: Value, name: *const c_char, value: Value) -> c_int;
    fn napi_create_uint32(env: Environment, value: u32, result: *mut Value) -> c_int;
    fn napi_add_env_cleanup_hook(env: Environment, hook: extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
    fn napi_get_uv_event_loop(env: Environment, result: *mut *mut c_void) -> c_int;
    fn uv_loop_fork(event_loop: *mut c_void) -> c_int;
    /// Of OpenSSL, which node brings: seeds its random numbers again.
    fn RAND_poll() -> c_int;

    fn _exit(status: c_int) -> !;
    fn capset(header: *const u32, data: *const u32) -> c_int;
    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn fork() -> c_int;
    fn getpid() -> c_int;
    fn getrandom(bytes: *mut c_void, length: usize, flags: c_uint) -> isize;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn pause() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn recvmsg(fd: c_int, message: *mut Message, flags: c_int) -> isize;
    fn sendmsg(fd: c_int, message: *const Message, flags: c_int) -> isize;
    fn setns(fd: c_int, kind: c_int) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn setsid() -> c_int;
    fn signal(number: c_int, handler: usize) -> usize;
    fn syscall(number: c_long, ...) -> c_long;
    fn unshare(flags: c_int) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

const SIG_IGN: usize = 1;

#[repr(C)]
struct Piece {
    at: *mut c_void,
    length: usize,
}

/// `struct msghdr`.
#[repr(C)]
struct Message {
    name: *mut c_void,
    name_length: u32,
    pieces: *mut Piece,
    piece_count: usize,
    control: *mut c_void,
    control_length: usize,
    flags: c_int,
}

/// `struct cmsghdr` with descriptors behind it.
#[repr(C)]
struct Rights {
    length: usize,
    level: c_int,
    kind: c_int,
    fds: [c_int; PASSED],
}

/// Bytes of [`Rights`] before its descriptors.
const RIGHTS_HEAD: usize = 16;

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    filter: *const c_void,
}

/// What the zygote knows of itself. No job is ever in it.
struct Zygote {
    filter: [u64; MAX_FILTER / 8],
    /// Bytes.
    filter_length: usize,
    /// A descriptor of itself, to return to its own pid namespace.
    itself: c_int,
    /// A descriptor of `/dev/null`.
    null: c_int,
    /// The inode behind each open descriptor, and 0 where none is open.
    inodes: [u64; MAX_FILES],
}

/// Called by Node.js when the addon is loaded.
///
/// # Safety
/// `env` and `exports` must be what Node.js passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn napi_register_module_v1(env: Environment, exports: Value) -> Value {
    let functions: [(&core::ffi::CStr, Callback); 2] = [(c"serve", serve), (c"leave", leave)];
    for (name, callback) in functions {
        let mut function = null_mut();
        // SAFETY: the strings and `function` outlive the calls.
        unsafe {
            napi_create_function(env, name.as_ptr(), name.count_bytes(), callback, null_mut(), &raw mut function);
            napi_set_named_property(env, exports, name.as_ptr(), function);
        }
    }
    exports
}

/// Ends the process without the end of Node.js, which would wait for threads that a leaf does not have.
extern "C" fn leave(_: Environment, _: *mut c_void) -> Value {
    // SAFETY: ends the process.
    unsafe { _exit(0) }
}

extern "C" fn leave_with_environment(_: *mut c_void) {
    // SAFETY: ends the process.
    unsafe { _exit(0) }
}

/// Forks a leaf for each message of the supervisor; returns in the leaf, with a random number.
extern "C" fn serve(env: Environment, _: *mut c_void) -> Value {
    // SAFETY: raw calls over local memory. The one thread of Node.js that runs this owns the descriptors.
    unsafe {
        let mut zygote = zeroed::<Zygote>();
        match receive(zygote.filter.as_mut_ptr().cast(), MAX_FILTER) {
            Some((length, None)) => zygote.filter_length = length,
            _ => fail(Failure::Message),
        }
        zygote.itself = syscall(PIDFD_OPEN, getpid(), 0) as c_int;
        zygote.null = open(c"/dev/null".as_ptr(), O_RDWR | O_CLOEXEC);
        let mut fd = 0;
        for number in &mut zygote.inodes {
            *number = inode(fd);
            fd += 1;
        }
        send(b"ready", None);
        let (limits, fds) = next_leaf(&zygote);
        isolate(&zygote, limits, fds);
        let mut event_loop = null_mut();
        if napi_get_uv_event_loop(env, &raw mut event_loop) != 0 || uv_loop_fork(event_loop) != 0 {
            fail(Failure::Loop);
        }
        // It knows a fork by another pid, but a leaf has that of the zygote, each in a namespace of its own.
        if RAND_poll() != 1 {
            fail(Failure::Random);
        }
        napi_add_env_cleanup_hook(env, leave_with_environment, null_mut());
        let mut seed = 0_u32;
        getrandom((&raw mut seed).cast(), size_of::<u32>(), 0);
        let mut number = null_mut();
        napi_create_uint32(env, seed, &raw mut number);
        number
    }
}

/// Bytes of data, processes, seconds of processor time.
type LeafLimits = [u64; 3];

/// Answers every message of the supervisor; returns in each leaf.
unsafe fn next_leaf(zygote: &Zygote) -> (LeafLimits, [c_int; PASSED]) {
    let mut limits = [0_u64; 3];
    loop {
        // SAFETY: as in `serve`.
        unsafe {
            let fds = match receive(limits.as_mut_ptr().cast(), size_of::<LeafLimits>()) {
                Some((length, Some(fds))) if length == size_of::<LeafLimits>() => fds,
                _ => fail(Failure::Message),
            };
            if unshare(CLONE_NEWPID) != 0 {
                fail(Failure::Namespace);
            }
            let init = start_init();
            let leaf = fork();
            if leaf == 0 {
                return (limits, fds);
            }
            if leaf < 0 || init < 0 {
                fail(Failure::Fork);
            }
            if setns(zygote.itself, CLONE_NEWPID) != 0 {
                fail(Failure::Return);
            }
            let pidfds = [init, leaf].map(|pid| syscall(PIDFD_OPEN, pid, 0) as c_int);
            send(b"P", Some(pidfds));
            for fd in pidfds.into_iter().chain(fds) {
                close(fd);
            }
            let status = wait_for(leaf);
            // The kernel ends the rest of the namespace with its first process.
            kill(init, SIGKILL);
            wait_for(init);
            let [a, b, c, d] = status.to_ne_bytes();
            send(&[b'S', a, b, c, d], None);
        }
    }
}

/// The stack of the first process of a leaf's namespace, one at a time.
#[repr(align(16))]
struct Stack {
    _bytes: [u8; 4096],
}

static mut INIT_STACK: Stack = Stack { _bytes: [0; 4096] };

/// Starts the first process of the new pid namespace, so that the leaf is not that process, which the kernel shields from
/// signals. It shares the memory of the zygote, since a copy would cost as much as the leaf, and does nothing with it. Its pid.
unsafe fn start_init() -> c_int {
    // SAFETY: only one such process lives at a time, and the zygote does not use the stack.
    unsafe {
        let top = (&raw mut INIT_STACK).add(1).cast::<c_void>();
        clone(idle, top, CLONE_VM | SIGCHLD, null_mut())
    }
}

/// Waits to be killed. What a submission leaves behind is reaped by the kernel.
extern "C" fn idle(_: *mut c_void) -> c_int {
    // SAFETY: the calls take no pointer. The table of signals is this process's own.
    unsafe {
        signal(SIGCHLD, SIG_IGN);
        loop {
            pause();
        }
    }
}

/// Makes this leaf a process that shares nothing with the zygote and with other leaves, and may do no more than a
/// submission. Its job is then [`CONTROL`].
unsafe fn isolate(zygote: &Zygote, [data, processes, cpu]: LeafLimits, [job, result, stdout, stderr]: [c_int; PASSED]) {
    // SAFETY: raw calls over local memory.
    unsafe {
        setsid();
        for (resource, value) in [(RLIMIT_DATA, data), (RLIMIT_NPROC, processes), (RLIMIT_CPU, cpu)] {
            if setrlimit(resource, &[value, value]) != 0 {
                fail(Failure::Rights);
            }
        }
        for (from, to) in [(zygote.null, 0), (stdout, 1), (stderr, 2), (job, CONTROL), (result, RESULT)] {
            dup2(from, to);
        }
        // Closed, their numbers would be given to other files, to which what is left of the threads of Node.js would write.
        let mut fd = 0;
        for before in zygote.inodes {
            if fd > RESULT && fd != zygote.null && before != 0 && inode(fd) == before {
                dup3(zygote.null, fd, O_CLOEXEC);
            }
            fd += 1;
        }
        for fd in [job, result, stdout, stderr] {
            close(fd);
        }
        let nothing = [0_u32; 6];
        let header = [CAPABILITY_VERSION, 0];
        if capset(header.as_ptr(), nothing.as_ptr()) != 0 {
            fail(Failure::Rights);
        }
        let program = Program { length: (zygote.filter_length / 8) as u16, filter: zygote.filter.as_ptr().cast() };
        if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program, 0, 0) != 0 {
            fail(Failure::Rights);
        }
    }
}

/// The inode behind an open descriptor; 0 where none is open. What libuv replaces in a fork by itself are pipes, and a new pipe
/// has a new inode.
unsafe fn inode(fd: c_int) -> u64 {
    let mut found = [0_u64; 32];
    // SAFETY: the buffer has the size of `struct statx` and outlives the call.
    unsafe { syscall(STATX, fd, c"".as_ptr(), AT_EMPTY_PATH, STATX_INO, found.as_mut_ptr()) };
    let [_, _, _, _, inode, ..] = found;
    inode
}

/// One message, with its length and the descriptors beside it; `None` when the supervisor is gone.
unsafe fn receive(at: *mut u8, size: usize) -> Option<(usize, Option<[c_int; PASSED]>)> {
    let mut piece = Piece { at: at.cast(), length: size };
    // SAFETY: structures of integers and pointers; everything pointed to outlives the call.
    unsafe {
        let mut rights = zeroed::<Rights>();
        let mut message = zeroed::<Message>();
        message.pieces = &raw mut piece;
        message.piece_count = 1;
        message.control = (&raw mut rights).cast();
        message.control_length = size_of::<Rights>();
        let length = loop {
            let length = recvmsg(CONTROL, &raw mut message, MSG_CMSG_CLOEXEC);
            if length >= 0 || *__errno_location() != EINTR {
                break length;
            }
        };
        let passed = message.control_length == size_of::<Rights>() && rights.length == size_of::<Rights>();
        (length > 0).then_some((length as usize, passed.then_some(rights.fds)))
    }
}

unsafe fn send(text: &[u8], fds: Option<[c_int; 2]>) {
    let mut piece = Piece { at: text.as_ptr().cast_mut().cast(), length: text.len() };
    // SAFETY: as in `receive`.
    unsafe {
        let mut rights = zeroed::<Rights>();
        let mut message = zeroed::<Message>();
        message.pieces = &raw mut piece;
        message.piece_count = 1;
        if let Some([first, second]) = fds {
            let length = RIGHTS_HEAD + size_of::<[c_int; 2]>();
            rights = Rights { length, level: SOL_SOCKET, kind: SCM_RIGHTS, fds: [first, second, 0, 0] };
            message.control = (&raw mut rights).cast();
            message.control_length = length;
        }
        if sendmsg(CONTROL, &raw const message, MSG_NOSIGNAL) < 0 {
            fail(Failure::Message);
        }
    }
}

unsafe fn wait_for(pid: c_int) -> c_int {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    unsafe { while waitpid(pid, &raw mut status, 0) < 0 && *__errno_location() == EINTR {} }
    status
}

unsafe fn fail(failure: Failure) -> ! {
    // SAFETY: ends the process.
    unsafe { _exit(failure as c_int) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process.
    unsafe { _exit(Failure::Message as c_int) }
}
