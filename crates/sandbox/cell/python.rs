//! What a warm Python does between two cases, as a module of that Python.
//!
//! The pages of memory that a zygote or a leaf writes to after a fork are most of what a case costs, so this is not done by
//! the interpreter: a leaf comes back to it ready to read its job. `build.rs` compiles this, `src/zygote.rs` puts it into
//! the cell, and `src/toolchain/python.py` loads it.
//!
//! Descriptors: the zygote's [`CONTROL`], in whose place a leaf has its job.

#![no_std]

mod call;
mod huge;

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr;

use call::call;

/// The socket to the supervisor.
const CONTROL: usize = 3;
/// Where a leaf reads its job.
const JOB: usize = 3;
/// Where a leaf writes its answer.
const RESULT: usize = 4;
/// What a leaf is sent: its job, its answer, standard output and standard error.
const SENT: usize = 4;
/// Resource limits of a leaf, in the order of [`RESOURCES`].
const LIMITS: usize = 3;
/// RLIMIT_DATA, RLIMIT_NPROC, RLIMIT_CPU.
const RESOURCES: [usize; LIMITS] = [2, 6, 0];
/// The most steps of a leaf's filter.
const FILTER_STEPS: usize = 64;
/// A zygote that has run so many cases will run more, for which huge pages are worth their making.
const CASES_BEFORE_HUGE_PAGES: u32 = 8;

/// How the zygote ends where it cannot go on; the supervisor starts another.
const LOST_CONTROL: usize = 0;
const NO_NAMESPACE: usize = 70;
const NO_FORK: usize = 71;
const NOT_ALONE: usize = 72;
const NO_WAY_BACK: usize = 73;

const CLONE_NEWPID: usize = 0x2000_0000;
const SIG_SETMASK: usize = 2;
const SIGINT: u32 = 2;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;
const MSG_NOSIGNAL: usize = 0x4000;
const AT_FDCWD: usize = -100_isize as usize;
const O_RDWR: usize = 2;
const CAPABILITIES: u32 = 0x2008_0522;
const SECCOMP_SET_MODE_FILTER: usize = 1;
const EINTR: isize = -4;

#[cfg(target_arch = "x86_64")]
mod nr {
    pub(crate) const READ: usize = 0;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const RECVMSG: usize = 47;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const SETSID: usize = 112;
    pub(crate) const CAPSET: usize = 126;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const SETNS: usize = 308;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
}

#[cfg(target_arch = "aarch64")]
mod nr {
    pub(crate) const DUP3: usize = 24;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const READ: usize = 63;
    pub(crate) const CAPSET: usize = 91;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const UNSHARE: usize = 97;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const SETSID: usize = 157;
    pub(crate) const GETPID: usize = 172;
    pub(crate) const SENDMSG: usize = 211;
    pub(crate) const RECVMSG: usize = 212;
    pub(crate) const WAIT4: usize = 260;
    pub(crate) const PRLIMIT64: usize = 261;
    pub(crate) const SETNS: usize = 268;
    pub(crate) const SECCOMP: usize = 277;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
}

// Of the C library and of the interpreter that loads this.
unsafe extern "C" {
    fn fork() -> c_int;
    fn PyOS_BeforeFork();
    fn PyOS_AfterFork_Child();
    fn PyModule_Create2(definition: *mut Definition, version: c_int) -> *mut c_void;
    fn PyLong_FromLong(value: c_long) -> *mut c_void;
}

/// `PyModuleDef` of the stable ABI.
#[repr(C)]
pub struct Definition {
    references: isize,
    kind: *const c_void,
    start: *const c_void,
    index: isize,
    copy: *const c_void,
    name: *const c_char,
    text: *const c_char,
    size: isize,
    methods: *const Method,
    unused: [*const c_void; 4],
}

/// `PyMethodDef` of the stable ABI.
#[repr(C)]
struct Method {
    name: *const c_char,
    function: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void>,
    flags: c_int,
    text: *const c_char,
}

/// One function without arguments (`METH_NOARGS`), and the end of the list.
struct Methods([Method; 2]);

// SAFETY: never written.
unsafe impl Sync for Methods {}

static METHODS: Methods = Methods([
    Method { name: c"serve".as_ptr(), function: Some(serve_python), flags: 4, text: ptr::null() },
    Method { name: ptr::null(), function: None, flags: 0, text: ptr::null() },
]);

static mut DEFINITION: Definition = Definition {
    references: 1,
    kind: ptr::null(),
    start: ptr::null(),
    index: 0,
    copy: ptr::null(),
    name: c"_zygote".as_ptr(),
    text: ptr::null(),
    size: -1,
    methods: METHODS.0.as_ptr(),
    unused: [ptr::null(); 4],
};

/// What Python calls to load the module.
///
/// # Safety
/// Only by the interpreter, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__zygote() -> *mut c_void {
    /// `PYTHON_ABI_VERSION`.
    const STABLE: c_int = 3;
    // SAFETY: the definition lives as long as the process, and has the layout of the stable ABI.
    unsafe { PyModule_Create2(&raw mut DEFINITION, STABLE) }
}

unsafe extern "C" fn serve_python(_module: *mut c_void, _none: *mut c_void) -> *mut c_void {
    // SAFETY: called by the interpreter's one thread.
    unsafe {
        serve();
        PyLong_FromLong(0)
    }
}

/// Forks a leaf for each case that the supervisor sends. Returns in each leaf, and never in the zygote.
///
/// # Safety
/// Only in a process with one thread, which holds the interpreter's lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn serve() {
    let mut filter = [0_u64; FILTER_STEPS];
    // SAFETY: every pointer is to a local that outlives its call, with its size.
    unsafe {
        let own = call(nr::GETPID, [0; 5]) as usize;
        let own = call(nr::PIDFD_OPEN, [own, 0, 0, 0, 0]);
        let length = call(nr::READ, [CONTROL, filter.as_mut_ptr() as usize, size_of_val(&filter), 0, 0]);
        // What interrupts the supervisor's terminal is not for the zygote; a leaf takes it as any program.
        mask_signals(1 << (SIGINT - 1));
        if own < 0 || length <= 0 || !send(b"ready", None) {
            exit(LOST_CONTROL);
        }
        let filter = Filter { steps: (length as usize / size_of::<u64>()) as u16, first: filter.as_ptr() };
        PyOS_BeforeFork();
        // Once here, because what is done for the first time costs every leaf memory of its own.
        PyOS_AfterFork_Child();
        PyOS_BeforeFork();
        let mut cases = 0_u32;
        while let Some(case) = Case::receive() {
            if call(nr::UNSHARE, [CLONE_NEWPID, 0, 0, 0, 0]) != 0 {
                exit(NO_NAMESPACE);
            }
            let leaf = fork();
            if leaf == 0 {
                if !case.settle(&filter) {
                    exit(NOT_ALONE);
                }
                return PyOS_AfterFork_Child();
            }
            if leaf < 0 {
                exit(NO_FORK);
            }
            if call(nr::SETNS, [own as usize, CLONE_NEWPID, 0, 0, 0]) != 0 {
                exit(NO_WAY_BACK);
            }
            case.see_off(leaf);
            cases = cases.saturating_add(1);
            if cases == CASES_BEFORE_HUGE_PAGES {
                huge::text_of(PyOS_BeforeFork as *const () as usize);
            }
        }
    }
    exit(LOST_CONTROL)
}

/// `struct sock_fprog`.
#[repr(C)]
struct Filter {
    steps: u16,
    first: *const u64,
}

/// What one leaf gets.
struct Case {
    limits: [u64; LIMITS],
    fds: [i32; SENT],
}

impl Case {
    /// The next case; `None` once the supervisor is gone or sends something else.
    fn receive() -> Option<Case> {
        let mut limits = [0_u64; LIMITS];
        let mut rights = Rights::<SENT> { length: 0, level: 0, kind: 0, fds: [-1; SENT] };
        let part = Part { at: limits.as_mut_ptr() as usize, length: size_of_val(&limits) };
        let mut message = Message::of(&part, &raw mut rights, size_of_val(&rights));
        // SAFETY: the message leads to locals that outlive the call.
        let length = unsafe { call(nr::RECVMSG, [CONTROL, &raw mut message as usize, 0, 0, 0]) };
        let whole = length == size_of_val(&limits) as isize && rights.length == size_of_val(&rights);
        whole.then_some(Case { limits, fds: rights.fds })
    }

    /// In the leaf: gives up what it would share with the zygote and with every other leaf, and puts its descriptors in
    /// their places.
    ///
    /// # Safety
    /// Only in the fork.
    unsafe fn settle(&self, filter: &Filter) -> bool {
        /// Whose capabilities, in which version.
        #[repr(C)]
        struct Header(u32, i32);
        let (header, nothing) = (Header(CAPABILITIES, 0), [0_u32; 6]);
        let [job, result, stdout, stderr] = self.fds.map(|fd| fd as usize);
        let null = c"/dev/null".as_ptr() as usize;
        // SAFETY: every pointer is to memory that outlives its call.
        unsafe {
            for (resource, limit) in RESOURCES.into_iter().zip(self.limits) {
                let limit = [limit; 2];
                if call(nr::PRLIMIT64, [0, resource, &raw const limit as usize, 0, 0]) != 0 {
                    return false;
                }
            }
            let session = call(nr::SETSID, [0; 5]);
            let null = call(nr::OPENAT, [AT_FDCWD, null, O_RDWR, 0, 0]);
            if session < 0 || null < 0 {
                return false;
            }
            for (fd, place) in [(job, JOB), (result, RESULT), (null as usize, 0), (stdout, 1), (stderr, 2)] {
                if call(nr::DUP3, [fd, place, 0, 0, 0]) < 0 {
                    return false;
                }
            }
            if call(nr::CLOSE_RANGE, [RESULT + 1, u32::MAX as usize, 0, 0, 0]) != 0 {
                return false;
            }
            mask_signals(0);
            let header = &raw const header as usize;
            let filter = ptr::from_ref(filter) as usize;
            call(nr::CAPSET, [header, nothing.as_ptr() as usize, 0, 0, 0]) == 0
                && call(nr::SECCOMP, [SECCOMP_SET_MODE_FILTER, 0, filter, 0, 0]) == 0
        }
    }

    /// In the zygote: hands the leaf to the supervisor, waits for its end and says how it ended.
    fn see_off(&self, leaf: c_int) {
        let mut status = 0_i32;
        // SAFETY: `status` outlives the call; the descriptors are this case's.
        unsafe {
            let pidfd = call(nr::PIDFD_OPEN, [leaf as usize, 0, 0, 0, 0]);
            if pidfd < 0 || !send(b"P", Some(pidfd as i32)) {
                exit(LOST_CONTROL);
            }
            for fd in self.fds.into_iter().chain([pidfd as i32]) {
                call(nr::CLOSE, [fd as usize, 0, 0, 0, 0]);
            }
            while call(nr::WAIT4, [leaf as usize, &raw mut status as usize, 0, 0, 0]) == EINTR {}
        }
        let [a, b, c, d] = status.to_ne_bytes();
        if !send(&[b'S', a, b, c, d], None) {
            exit(LOST_CONTROL);
        }
    }
}

/// `struct cmsghdr` with descriptors.
#[repr(C, align(8))]
struct Rights<const COUNT: usize> {
    length: usize,
    level: i32,
    kind: i32,
    fds: [i32; COUNT],
}

/// `struct iovec`.
#[repr(C)]
struct Part {
    at: usize,
    length: usize,
}

/// `struct msghdr` as the kernel has it.
#[repr(C)]
struct Message {
    name: usize,
    name_length: usize,
    parts: *const Part,
    count: usize,
    control: usize,
    control_length: usize,
    flags: usize,
}

impl Message {
    fn of<const COUNT: usize>(part: &Part, rights: *mut Rights<COUNT>, control_length: usize) -> Message {
        Message { name: 0, name_length: 0, parts: part, count: 1, control: rights as usize, control_length, flags: 0 }
    }
}

/// Sends one message, with a descriptor where there is one; whether the supervisor is there.
fn send(bytes: &[u8], fd: Option<i32>) -> bool {
    let length = size_of::<usize>() + 3 * size_of::<i32>();
    let mut rights = Rights { length, level: SOL_SOCKET, kind: SCM_RIGHTS, fds: [fd.unwrap_or(-1)] };
    let part = Part { at: bytes.as_ptr() as usize, length: bytes.len() };
    let control_length = if fd.is_some() { size_of_val(&rights) } else { 0 };
    let message = Message::of(&part, &raw mut rights, control_length);
    // SAFETY: the message leads to locals that outlive the call.
    let sent = unsafe { call(nr::SENDMSG, [CONTROL, &raw const message as usize, MSG_NOSIGNAL, 0, 0]) };
    sent == bytes.len() as isize
}

fn mask_signals(blocked: u64) {
    // SAFETY: `blocked` outlives the call; the old mask is not asked for.
    unsafe { call(nr::RT_SIGPROCMASK, [SIG_SETMASK, &raw const blocked as usize, 0, size_of::<u64>(), 0]) };
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: ends this process.
        unsafe { call(nr::EXIT_GROUP, [code, 0, 0, 0, 0]) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(NO_FORK)
}
