//! System calls for programs without a standard library.

use core::arch::asm;

/// One system call; a negative answer is an error number.
///
/// # Safety
/// The arguments must be what the call takes.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let answer: isize;
    // SAFETY: upheld by the caller; the call clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    let answer: isize;
    // SAFETY: upheld by the caller.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, options(nostack));
    }
    answer
}
