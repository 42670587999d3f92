//! The init of a cell: the first process of its pid namespace, or, where there is
//! none, the subreaper that adopts what the submission leaves.
//!
//! A program of its own, without a standard library: what the supervisor held in
//! memory, a signing key or an expected output, is not in here. It reaps, and ends
//! everything when the program ends, when it is told to, or when the supervisor is
//! gone; then it hands over the report and says how the program ended.
//!
//! Arguments: the program's pid, and the report's path where one is wanted.
//! Descriptors: [`LIFE`], [`REPORT`] and [`GO`]. `build.rs` compiles it, and
//! `src/init.rs` starts it.

#![no_std]
#![no_main]

mod kernel;
mod program;

use kernel::{ANY, AT_FDCWD, ECHILD, EINTR, SIGCHLD, SIGKILL, WNOHANG, call, close, exit, nr, reap, write_all};

/// Takes the program's wait status. Its reader is the supervisor, so an error on
/// it means that the supervisor is gone.
const LIFE: i32 = 0;
/// Takes the report.
const REPORT: i32 = 1;
/// Takes one byte, which releases the program.
const GO: i32 = 2;

/// What is written before a report that is there, even an empty one.
const REPORT_MARK: u8 = b'R';

const SIGTERM: usize = 15;
const SIGNALFD_CLOEXEC: usize = 0o2_000_000;
const POLLIN: i16 = 1;
const S_IFMT: u16 = 0o170_000;
const S_IFREG: u16 = 0o100_000;

#[repr(C)]
struct Interest {
    fd: i32,
    events: i16,
    found: i16,
}

/// Where the kernel starts us: the count of arguments, then each as a C string.
unsafe extern "C" fn main(stack: *const usize) -> ! {
    // SAFETY: the kernel lays the arguments out so, and ends them with a null.
    let (pid, report) = unsafe { (stack.add(2).read() as *const u8, stack.add(3).read() as *const u8) };
    // SAFETY: `pid` is the first argument, a C string.
    let program = unsafe { program::number(pid) };
    let status = watch(program);
    if !report.is_null() {
        // SAFETY: `report` is the second argument, a C string.
        let _wants_no_answer = unsafe { hand_over(report) };
    }
    if let Some(status) = status {
        write_all(LIFE, &status.to_ne_bytes());
    }
    exit(0)
}

/// Releases the program, and returns once it and all else has ended: its wait
/// status, if it ended by itself.
fn watch(program: usize) -> Option<i32> {
    let signals = open_signals();
    if program == 0 {
        exit(0);
    }
    write_all(GO, b"G");
    close(GO);
    let mut ended = None;
    while ended.is_none() {
        // The kernel reports an error of LIFE without being asked.
        let mut interests =
            [Interest { fd: LIFE, events: 0, found: 0 }, Interest { fd: signals, events: POLLIN, found: 0 }];
        // SAFETY: `interests` outlives the call; no timeout and no mask are allowed.
        let ready = unsafe { call(nr::PPOLL, [interests.as_mut_ptr() as usize, 2, 0, 0, 8]) };
        let [life, signal] = interests;
        let is_broken = ready.is_err_and(|error| error != EINTR);
        if life.found != 0 || is_broken || (signal.found != 0 && take_signal(signals) != SIGCHLD) {
            break;
        }
        while reap_one(WNOHANG, program, &mut ended).is_ok_and(|pid| pid > 0) {}
    }
    end_all(program, &mut ended);
    ended
}

/// A descriptor from which SIGCHLD and SIGTERM are read.
fn open_signals() -> i32 {
    let wanted: u64 = 1 << (SIGCHLD - 1) | 1 << (SIGTERM - 1);
    // SAFETY: `wanted` outlives the call.
    let fd = unsafe { call(nr::SIGNALFD4, [usize::MAX, &raw const wanted as usize, 8, SIGNALFD_CLOEXEC, 0]) };
    match fd {
        Ok(fd) => fd as i32,
        Err(_) => exit(0),
    }
}

/// The signal that came; 0 where none can be read.
fn take_signal(signals: i32) -> usize {
    // The size of `struct signalfd_siginfo`, which begins with the signal.
    let mut info = [[0; 4]; 32];
    let _is_zero_then = kernel::read(signals, info.as_flattened_mut());
    let [signal, ..] = info;
    u32::from_ne_bytes(signal) as usize
}

/// Reaps a child that has ended, and notes the status of the program; what the kernel answers.
fn reap_one(flags: usize, program: usize, ended: &mut Option<i32>) -> kernel::Answer {
    let mut status = 0;
    let reaped = reap(ANY, flags, &mut status);
    if reaped == Ok(program) {
        *ended = Some(status);
    }
    reaped
}

/// Kills until no descendant is left. The signal reaches the pid namespace, or the
/// Landlock domain, without ourselves.
fn end_all(program: usize, ended: &mut Option<i32>) {
    loop {
        kernel::kill(ANY, SIGKILL);
        if reap_one(0, program, ended) == Err(ECHILD) {
            return;
        }
    }
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Read-only, not blocking, close-on-exec.
const OPEN_FLAGS: u64 = 0o2_004_000;
/// No other mounts, no magic links, no symbolic links, nothing above the working directory: only what the run can have
/// written.
const RESOLVE: u64 = 1 | 2 | 4 | 8;
const CHUNK: usize = 1 << 14;

/// Copies the report, if it is a plain file of the project; how much of it counts
/// is for the reader to say.
///
/// # Safety
/// `path` must be a C string.
unsafe fn hand_over(path: *const u8) -> Option<()> {
    let how = OpenHow { flags: OPEN_FLAGS, mode: 0, resolve: RESOLVE };
    let arguments = [AT_FDCWD, path as usize, &raw const how as usize, size_of::<OpenHow>(), 0];
    // SAFETY: `path` is a C string, and `how` outlives the call, with its size.
    let file = unsafe { call(nr::OPENAT2, arguments) }.ok()? as i32;
    let is_plain = kernel::status_of(file).is_ok_and(|status| status.mode & S_IFMT == S_IFREG);
    if !is_plain || !write_all(REPORT, &[REPORT_MARK]) {
        return None;
    }
    let mut chunk = [0; CHUNK];
    loop {
        let count = kernel::read(file, &mut chunk).ok().filter(|count| *count > 0)?;
        if !write_all(REPORT, chunk.get(..count)?) {
            return None;
        }
    }
}
