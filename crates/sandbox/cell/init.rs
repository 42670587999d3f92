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

mod call;
mod program;

use call::call;
use program::{EINTR, exit, nr, number, write_all};

/// Takes the program's wait status. Its reader is the supervisor, so an error on
/// it means that the supervisor is gone.
const LIFE: usize = 0;
/// Takes the report.
const REPORT: usize = 1;
/// Takes one byte, which releases the program.
const GO: usize = 2;

/// What is written before a report that is there, even an empty one.
const REPORT_MARK: u8 = b'R';

const SIGKILL: usize = 9;
const SIGTERM: u32 = 15;
const SIGCHLD: u32 = 17;
const WNOHANG: usize = 1;
const ECHILD: isize = -10;
const AT_FDCWD: usize = -100_isize as usize;
const SIGNALFD_CLOEXEC: usize = 0o2_000_000;
const POLLIN: i16 = 1;
const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;

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
    let program = unsafe { number(pid) };
    let status = watch(program);
    if !report.is_null() {
        // SAFETY: `report` is the second argument, a C string.
        unsafe { hand_over(report) };
    }
    if let Some(status) = status {
        write_all(LIFE, &status.to_ne_bytes());
    }
    exit()
}

/// Releases the program, and returns once it and all else has ended: its wait
/// status, if it ended by itself.
fn watch(program: isize) -> Option<i32> {
    let wanted: u64 = 1 << (SIGCHLD - 1) | 1 << (SIGTERM - 1);
    // SAFETY: every pointer is to a local that outlives its call.
    let signals = unsafe {
        let signals = call(nr::SIGNALFD4, [usize::MAX, &raw const wanted as usize, 8, SIGNALFD_CLOEXEC, 0]);
        if program <= 0 || signals < 0 {
            exit();
        }
        write_all(GO, b"G");
        call(nr::CLOSE, [GO, 0, 0, 0, 0]);
        signals as i32
    };
    let mut ended = None;
    while ended.is_none() {
        // The kernel reports an error of LIFE without being asked.
        let mut interests =
            [Interest { fd: LIFE as i32, events: 0, found: 0 }, Interest { fd: signals, events: POLLIN, found: 0 }];
        // SAFETY: `interests` outlives the call; no timeout and no mask are allowed.
        let ready = unsafe { call(nr::PPOLL, [interests.as_mut_ptr() as usize, 2, 0, 0, 8]) };
        let [life, signal] = interests;
        if life.found != 0 || (ready < 0 && ready != EINTR) || (signal.found != 0 && taken(signals) != SIGCHLD) {
            break;
        }
        reap(WNOHANG, program, &mut ended);
    }
    end_all(program, &mut ended);
    ended
}

/// The signal that came.
fn taken(signals: i32) -> u32 {
    let mut info = [0_u32; 32];
    // SAFETY: `info` has the 128 bytes of one signal.
    unsafe { call(nr::READ, [signals as usize, info.as_mut_ptr() as usize, 128, 0, 0]) };
    let [signal, ..] = info;
    signal
}

/// Reaps every child that has ended; what the kernel returned last.
fn reap(flags: usize, program: isize, ended: &mut Option<i32>) -> isize {
    loop {
        let mut status = 0_i32;
        // SAFETY: `status` outlives the call; usage is not asked for.
        let reaped = unsafe { call(nr::WAIT4, [usize::MAX, &raw mut status as usize, flags, 0, 0]) };
        if reaped == program {
            *ended = Some(status);
        }
        if reaped <= 0 || flags == 0 {
            return reaped;
        }
    }
}

/// Kills until no descendant is left. The signal reaches the pid namespace, or the
/// Landlock domain, without ourselves.
fn end_all(program: isize, ended: &mut Option<i32>) {
    loop {
        // SAFETY: takes no pointer.
        unsafe { call(nr::KILL, [usize::MAX, SIGKILL, 0, 0, 0]) };
        if reap(0, program, ended) == ECHILD {
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
#[cfg(target_arch = "x86_64")]
const OPEN_FLAGS: u64 = 0o2_004_000;
#[cfg(target_arch = "aarch64")]
const OPEN_FLAGS: u64 = 0o2_004_000;
/// No other mounts, no magic links, no symbolic links, nothing above the working directory: only what the run can have
/// written.
const RESOLVE: u64 = 1 | 2 | 4 | 8;
const CHUNK: usize = 1 << 14;
const STATX_TYPE: usize = 1;
const AT_EMPTY_PATH: usize = 0x1000;

/// `struct statx`: 256 bytes, of which the mode is the 16 bits at byte 28.
#[repr(C, align(8))]
struct Found([u16; 128]);

/// Copies the report, if it is a plain file of the project; how much of it counts
/// is for the reader to say.
///
/// # Safety
/// `path` must be a C string.
unsafe fn hand_over(path: *const u8) {
    let how = OpenHow { flags: OPEN_FLAGS, mode: 0, resolve: RESOLVE };
    let mut found = Found([0; 128]);
    let mut chunk = core::mem::MaybeUninit::<[u8; CHUNK]>::uninit();
    // SAFETY: every pointer is to a local that outlives its call, with its size.
    unsafe {
        let size = size_of::<OpenHow>();
        let file = call(nr::OPENAT2, [AT_FDCWD, path as usize, &raw const how as usize, size, 0]);
        if file < 0 {
            return;
        }
        let stat = [file as usize, c"".as_ptr() as usize, AT_EMPTY_PATH, STATX_TYPE, &raw mut found as usize];
        if call(nr::STATX, stat) < 0 || u32::from(found.0[14]) & S_IFMT != S_IFREG || !write_all(REPORT, &[REPORT_MARK])
        {
            return;
        }
        loop {
            let count = call(nr::READ, [file as usize, chunk.as_mut_ptr() as usize, CHUNK, 0, 0]);
            if count <= 0 || !write_all(REPORT, core::slice::from_raw_parts(chunk.as_ptr().cast(), count as usize)) {
                return;
            }
        }
    }
}
