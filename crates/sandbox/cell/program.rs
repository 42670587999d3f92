//! What the static programs of a cell share: where they start, the numbers of system calls, and what the compiler asks for.

#![allow(dead_code, reason = "each program uses a part")]

use core::arch::global_asm;

use crate::call::call;

pub(crate) const EINTR: isize = -4;

#[cfg(target_arch = "x86_64")]
pub(crate) mod nr {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
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
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const SIGNALFD4: usize = 289;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PIPE2: usize = 293;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const SETNS: usize = 308;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const STATX: usize = 332;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod nr {
    pub(crate) const DUP3: usize = 24;
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
    pub(crate) const STATX: usize = 291;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
}

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2", main = sym crate::main);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, xzr", "mov x0, sp", "bl {main}", "brk 1", main = sym crate::main);

pub(crate) fn exit() -> ! {
    loop {
        // SAFETY: ends this process.
        unsafe { call(nr::EXIT_GROUP, [0; 5]) };
    }
}

/// The decimal number that starts a C string; 0 where none does.
pub(crate) unsafe fn number(mut text: *const u8) -> isize {
    let mut value = 0_isize;
    if text.is_null() {
        return value;
    }
    // SAFETY: reads up to the first byte that is not a digit, at the latest the last.
    unsafe {
        while text.read().is_ascii_digit() {
            value = value.wrapping_mul(10).wrapping_add((text.read() - b'0') as isize);
            text = text.add(1);
        }
    }
    value
}

pub(crate) fn write_all(fd: usize, bytes: &[u8]) -> bool {
    let (mut at, mut left) = (bytes.as_ptr(), bytes.len());
    while left > 0 {
        // SAFETY: `at` has `left` bytes.
        let count = unsafe { call(nr::WRITE, [fd, at as usize, left, 0, 0]) };
        if count == EINTR {
            continue;
        }
        if count <= 0 {
            return false;
        }
        // SAFETY: the kernel wrote `count` of the `left` bytes.
        at = unsafe { at.add(count as usize) };
        left -= count as usize;
    }
    true
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit()
}

/// What the compiler may call to clear memory.
///
/// # Safety
/// `to` must have `count` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    let mut at = 0;
    while at < count {
        // SAFETY: upheld by the caller; volatile, or this would become a call of itself.
        unsafe { to.add(at).write_volatile(value as u8) };
        at += 1;
    }
    to
}

/// What the compiler may call to copy memory.
///
/// # Safety
/// `to` and `from` must have `count` bytes and not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    let mut at = 0;
    while at < count {
        // SAFETY: upheld by the caller; volatile, or this would become a call of itself.
        unsafe { to.add(at).write_volatile(from.add(at).read()) };
        at += 1;
    }
    to
}
