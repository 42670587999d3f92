//! The addon by which a warm Node.js forks one leaf for each case.
//!
//! Node.js has no fork of its own. This library gives its harness two functions: `serve` answers the supervisor and returns
//! only in a leaf, and `leave` ends the process at once. It needs nothing but what Node.js has loaded: a libc, libuv,
//! OpenSSL and Node-API. `build.rs` compiles it, and `src/zygote.rs` puts it into the tree of the warm cell, where a submission may load it
//! again: it has no rights to use it for anything.
//!
//! Descriptors of the zygote: [`CONTROL`], and [`RESULT`], which keeps the place of a leaf's answer.

#![no_std]

mod case;
mod kernel;

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

use case::{CONTROL, Case, Failure, Pipes, Zygote};
use kernel::{SIGCHLD, SIGKILL, exit};

/// In a leaf, the pipe of its job.
const JOB: i32 = CONTROL;
/// In a leaf, the pipe of its answer.
const RESULT: i32 = 4;
/// The descriptors that may be open: the limit of files of a cell.
const MAX_FILES: usize = 128;

const CLONE_VM: c_int = 0x100;

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

    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn fork() -> c_int;
    fn pause() -> c_int;
    fn signal(number: c_int, handler: usize) -> usize;
}

const SIG_IGN: usize = 1;

/// What the zygote knows of its open files.
struct Files {
    /// A descriptor of `/dev/null`.
    null: i32,
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
    exit(0)
}

extern "C" fn leave_with_environment(_: *mut c_void) {
    exit(0)
}

/// Forks a leaf for each message of the supervisor; returns in the leaf, with a random number.
extern "C" fn serve(env: Environment, _: *mut c_void) -> Value {
    // SAFETY: called by the one thread of Node.js that runs this, which owns the descriptors.
    match unsafe { next_leaf().and_then(|()| wake(env)) } {
        Ok(number) => number,
        Err(failure) => exit(failure as usize),
    }
}

/// Forks leaves until there is no case any more; returns without an error in each leaf.
unsafe fn next_leaf() -> Result<(), Failure> {
    let zygote = Zygote::begin(&[])?;
    let files = Files::find()?;
    loop {
        let case = zygote.next_case()?;
        let pipes = case.pipes()?;
        // SAFETY: in a leaf, Node.js goes on with the thread that this is.
        let (init, leaf) = unsafe { (start_init(), fork()) };
        if leaf == 0 {
            return isolate(&zygote, &files, &case, pipes);
        }
        if leaf < 0 || init < 0 {
            return Err(Failure::Fork);
        }
        let (init, leaf) = (init as usize, leaf as usize);
        zygote.hand_over(&case, [init, leaf])?;
        let status = kernel::wait(leaf).map_err(|_| Failure::Wait)?;
        // The kernel ends the rest of the namespace with its first process.
        kernel::kill(init, SIGKILL);
        kernel::wait(init).map_err(|_| Failure::Wait)?;
        zygote.report(status)?;
    }
}

/// Makes what Node.js has loaded fit for a process of its own; a random number.
unsafe fn wake(env: Environment) -> Result<Value, Failure> {
    let mut event_loop = null_mut();
    let mut seed = [0; 4];
    let mut number = null_mut();
    // SAFETY: everything that is pointed to outlives its call; `env` is that of Node.js.
    unsafe {
        if napi_get_uv_event_loop(env, &raw mut event_loop) != 0 || uv_loop_fork(event_loop) != 0 {
            return Err(Failure::Loop);
        }
        // It knows a fork by another pid, but a leaf has that of the zygote, each in a namespace of its own.
        if RAND_poll() != 1 || kernel::fill_at_random(&mut seed) != Ok(seed.len()) {
            return Err(Failure::Random);
        }
        napi_add_env_cleanup_hook(env, leave_with_environment, null_mut());
        napi_create_uint32(env, u32::from_ne_bytes(seed), &raw mut number);
    }
    Ok(number)
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
        clone(idle, top, CLONE_VM | SIGCHLD as c_int, null_mut())
    }
}

/// Waits to be killed. What a submission leaves behind is reaped by the kernel.
extern "C" fn idle(_: *mut c_void) -> c_int {
    // SAFETY: the calls take no pointer. The table of signals is this process's own.
    unsafe {
        signal(SIGCHLD as c_int, SIG_IGN);
        loop {
            pause();
        }
    }
}

/// Makes this leaf a process that shares nothing with the zygote and with other leaves, and may do no more than a
/// submission.
fn isolate(zygote: &Zygote, files: &Files, case: &Case, pipes: Pipes) -> Result<(), Failure> {
    let isolated = kernel::start_session().and_then(|_| kernel::limit(&case.limits)).and_then(|()| {
        let Pipes { job, result, stdout, stderr } = pipes;
        for (fd, place) in [(files.null, 0), (stdout, 1), (stderr, 2), (job, JOB), (result, RESULT)] {
            kernel::duplicate(fd, place)?;
        }
        files.cover()?;
        for fd in [job, result, stdout, stderr] {
            kernel::close(fd);
        }
        zygote.confine()
    });
    isolated.map_err(|_| Failure::Rights)
}

impl Files {
    fn find() -> Result<Files, Failure> {
        let null = kernel::open_null().map_err(|_| Failure::Rights)?;
        let mut fd = -1;
        let inodes = [0; MAX_FILES].map(|_: u64| {
            fd += 1;
            inode(fd)
        });
        Ok(Files { null, inodes })
    }

    /// Puts `/dev/null` into the places of the zygote's files. Closed, their numbers would be given to other files, to which
    /// what is left of the threads of Node.js would write.
    fn cover(&self) -> kernel::Answer<()> {
        for (fd, before) in (0..).zip(self.inodes) {
            if fd > RESULT && fd != self.null && before != 0 && inode(fd) == before {
                kernel::duplicate_closing(self.null, fd)?;
            }
        }
        Ok(())
    }
}

/// The inode behind an open descriptor; 0 where none is open. What libuv replaces in a fork by itself are pipes, and a new pipe
/// has a new inode.
fn inode(fd: i32) -> u64 {
    kernel::status_of(fd).map_or(0, |status| status.inode)
}
