//! Puts the interpreter's code into huge pages.
//!
//! A fork does not copy the page tables of mapped files, so every leaf would fault the interpreter's code in again, and give
//! back each of its pages at its end. A huge page is one entry.

use core::ffi::{c_int, c_long, c_void};

/// What one entry of the second level of page tables maps, where pages have 4 KiB.
const HUGE: usize = 2 << 20;
const PAGE: usize = 4096;

const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const PROT_EXEC: c_int = 4;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;
const MREMAP_MAYMOVE_FIXED: c_int = 3;
const MADV_HUGEPAGE: c_int = 14;
/// Fails unless every page becomes huge; Linux 6.1.
const MADV_COLLAPSE: c_int = 25;
const PT_LOAD: u32 = 1;
const PF_W: u32 = 2;

unsafe extern "C" {
    fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    fn mmap(at: *mut c_void, length: usize, access: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
    fn mprotect(at: *mut c_void, length: usize, access: c_int) -> c_int;
    fn madvise(at: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn mremap(at: *mut c_void, length: usize, new: usize, flags: c_int, ...) -> *mut c_void;
}

/// The start of `struct dl_phdr_info`.
#[repr(C)]
struct Object {
    base: usize,
    name: *const u8,
    segments: *const Segment,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: usize,
    physical: usize,
    in_file: usize,
    size: usize,
    align: usize,
}

/// Moves what is around `code`, an address in the interpreter's code, into huge pages, where the kernel has any to give. The
/// bytes stay what they are.
///
/// # Safety
/// Only in a process with one thread.
pub(crate) unsafe fn text_of(code: usize) {
    // SAFETY: `visit` is given what it declares.
    unsafe { dl_iterate_phdr(visit, code as *mut c_void) };
}

unsafe extern "C" fn visit(object: *const Object, _size: usize, code: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object it has mapped.
    let segments = unsafe { core::slice::from_raw_parts((*object).segments, (*object).count.into()) };
    // SAFETY: as above.
    let base = unsafe { (*object).base };
    let (mut start, mut end) = (0, 0);
    for segment in segments.iter().filter(|segment| segment.kind == PT_LOAD && segment.flags & PF_W == 0) {
        let first = (base + segment.address) & !(PAGE - 1);
        if first != end {
            if (start..end).contains(&(code as usize)) {
                break;
            }
            start = first;
        }
        end = (base + segment.address + segment.size + PAGE - 1) & !(PAGE - 1);
    }
    if !(start..end).contains(&(code as usize)) {
        return 0;
    }
    let (from, to) = (start.next_multiple_of(HUGE), end & !(HUGE - 1));
    if from < to {
        // SAFETY: the loader mapped all of it, readable, and nothing writes to it.
        unsafe { replace(from, to - from) };
    }
    1
}

/// Swaps a range of read-only memory for a copy of itself in huge pages.
unsafe fn replace(from: usize, length: usize) {
    // SAFETY: the copy is our own mapping until it takes the place of what it copies; whatever fails leaves that in place.
    unsafe {
        let room = length + HUGE;
        let whole = mmap(core::ptr::null_mut(), room, PROT_READ | PROT_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
        if whole as isize == -1 {
            return;
        }
        let copy = (whole as usize).next_multiple_of(HUGE) as *mut c_void;
        madvise(copy, length, MADV_HUGEPAGE);
        memcpy(copy, from as *const c_void, length);
        let is_huge = madvise(copy, length, MADV_COLLAPSE) == 0;
        if is_huge && mprotect(copy, length, PROT_READ | PROT_EXEC) == 0 {
            mremap(copy, length, length, MREMAP_MAYMOVE_FIXED, from as *mut c_void);
        }
        // The moved part is mapped elsewhere by now.
        munmap(whole, room);
    }
}
