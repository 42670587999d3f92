//! What a warm Python does between two cases, as a module of that Python.
//!
//! The pages of memory that a zygote or a leaf writes to after a fork are most of what a case costs, so this is not done by
//! the interpreter: a leaf comes back to it ready to read its job. `build.rs` compiles this, `src/zygote.rs` puts it into
//! the cell, and `src/toolchain/python.py` loads it.
//!
//! Descriptors: the zygote's [`CONTROL`], in whose place a leaf has its job.

#![no_std]

mod case;
mod huge;
mod kernel;

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr;

use case::{CONTROL, Case, Failure, Pipes, Zygote};
use kernel::exit;

/// Where a leaf reads its job.
const JOB: i32 = CONTROL;
/// Where a leaf writes its answer.
const RESULT: i32 = 4;
/// A zygote that has run so many cases will run more, for which huge pages are worth their making.
const CASES_BEFORE_HUGE_PAGES: u32 = 8;
/// Signal 2, as a bit of a mask.
const SIGINT: u64 = 1 << 1;

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
    // SAFETY: upheld by the caller.
    if let Err(failure) = unsafe { next_leaf() } {
        exit(failure as usize);
    }
}

/// Forks leaves until there is no case any more; returns without an error in each leaf.
unsafe fn next_leaf() -> Result<(), Failure> {
    // An interrupt from the supervisor's terminal is not for the zygote; a leaf takes it as any program does.
    kernel::block_signals(SIGINT);
    let zygote = Zygote::begin(&[])?;
    // SAFETY: the interpreter's functions are called in the order that it asks for, by its one thread.
    unsafe {
        PyOS_BeforeFork();
        // Once here, because what is done for the first time costs every leaf memory of its own.
        PyOS_AfterFork_Child();
        PyOS_BeforeFork();
        let mut cases = 0_u32;
        loop {
            let case = zygote.next_case()?;
            let pipes = case.pipes()?;
            let leaf = fork();
            if leaf == 0 {
                settle(&zygote, &case, pipes)?;
                PyOS_AfterFork_Child();
                return Ok(());
            }
            if leaf < 0 {
                return Err(Failure::Fork);
            }
            zygote.hand_over(&case, [leaf as usize])?;
            zygote.report(kernel::wait(leaf as usize).map_err(|_| Failure::Wait)?)?;
            cases = cases.saturating_add(1);
            if cases == CASES_BEFORE_HUGE_PAGES {
                huge::text_of(PyOS_BeforeFork as *const () as usize);
            }
        }
    }
}

/// In the leaf: gives up what it would share with the zygote and with every other leaf, and puts its descriptors in
/// their places.
fn settle(zygote: &Zygote, case: &Case, pipes: Pipes) -> Result<(), Failure> {
    let settled = kernel::limit(&case.limits).and_then(|()| {
        kernel::start_session()?;
        let places =
            [(pipes.job, JOB), (pipes.result, RESULT), (kernel::open_null()?, 0), (pipes.stdout, 1), (pipes.stderr, 2)];
        for (fd, place) in places {
            kernel::duplicate(fd, place)?;
        }
        kernel::close_range(RESULT as usize + 1, u32::MAX as usize, 0)?;
        kernel::block_signals(0);
        zygote.confine()
    });
    settled.map_err(|_| Failure::Rights)
}
