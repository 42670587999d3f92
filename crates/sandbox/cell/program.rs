//! What a static program needs because it has no C library: where it starts, and what the compiler may call.

use core::arch::global_asm;

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2", main = sym crate::main);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, xzr", "mov x0, sp", "bl {main}", "brk 1", main = sym crate::main);

/// The decimal number that a C string begins with; 0 where it begins with none.
pub(crate) unsafe fn number(mut text: *const u8) -> usize {
    let mut value = 0_usize;
    if text.is_null() {
        return value;
    }
    // SAFETY: reads up to the first byte that is not a digit, at the latest the last.
    unsafe {
        while text.read().is_ascii_digit() {
            value = value.wrapping_mul(10).wrapping_add((text.read() - b'0').into());
            text = text.add(1);
        }
    }
    value
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
