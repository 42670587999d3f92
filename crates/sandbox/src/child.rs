//! What happens between fork and exec: the child isolates itself, and becomes the program.
//!
//! As everything after a fork (see `stage`), it neither allocates nor locks nor panics.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use proofmark_checks::Stored;

use crate::init::split_off_init;
use crate::landlock::restrict_files;
use crate::level::Level;
use crate::machine::{set_up, show_processes, show_processes_of};
use crate::stage::{Entering, Start, Step, Stopped, check, clone, drop_capabilities, report, reset_signals};
use crate::tree::Entry;

/// The uid and gid a submission sees as its own; not 0, so that an exec gives no
/// capability back.
pub(crate) const INNER_ID: u32 = 1000;

/// How much of a file is copied at a time: the most that Linux does.
const MAX_COPIED: libc::off_t = 0x7fff_f000;

/// The first stage: becomes unprivileged or prepares the tree, starts the second
/// stage as a child of the supervisor, reports its pid and is gone.
///
/// # Safety
/// Only in a freshly forked child.
pub(crate) unsafe fn first_stage(e: &Entering<'_>) -> ! {
    // SAFETY: upheld by the caller.
    let code = match unsafe { spawn_second(e) } {
        Ok(()) => 0,
        Err(stopped) => report(e.status, stopped),
    };
    // SAFETY: leaves without running anything of the parent's.
    unsafe { libc::_exit(code) }
}

unsafe fn spawn_second(e: &Entering<'_>) -> Result<(), Stopped> {
    let mut flags = libc::CLONE_PARENT;
    match e.level {
        Level::A => {
            // SAFETY: raw calls over prepared memory.
            unsafe {
                check(libc::unshare(libc::CLONE_NEWNS).into(), Step::Namespaces)?;
                check(libc::setgroups(0, ptr::null()).into(), Step::Identity)?;
                build_tree(e)?;
            }
        }
        // SAFETY: as above.
        Level::B | Level::C => unsafe { drop_root(e)? },
    }
    if e.level.has_namespaces() {
        flags |= libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWNET;
    }
    // SAFETY: a null stack makes clone behave as fork; the memory is copied.
    let pid = check(unsafe { clone(flags) }, Step::Fork)?;
    if pid == 0 {
        // SAFETY: this is the fresh child.
        let stopped = unsafe { second_stage(e) };
        let code = report(e.status, stopped);
        // SAFETY: leaves without running anything of the parent's.
        unsafe { libc::_exit(code) }
    }
    // SAFETY: the second stage waits for the supervisor, which learns of it below.
    unsafe { show_processes_of(e, pid as libc::pid_t) };
    let [a, b, c, d] = (pid as i32).to_ne_bytes();
    let message = [0, a, b, c, d];
    // SAFETY: `message` outlives the call.
    unsafe { libc::write(e.status, message.as_ptr().cast(), message.len()) };
    Ok(())
}

unsafe fn drop_root(e: &Entering<'_>) -> Result<(), Stopped> {
    let Some(id) = e.outer_id else { return Ok(()) };
    // SAFETY: raw calls without pointers.
    unsafe {
        check(libc::setgroups(0, ptr::null()).into(), Step::Identity)?;
        check(libc::setresgid(id, id, id).into(), Step::Identity)?;
        check(libc::setresuid(id, id, id).into(), Step::Identity).map(drop)
    }
}

unsafe fn second_stage(e: &Entering<'_>) -> Stopped {
    // SAFETY: upheld by the caller.
    match unsafe { enter(e) } {
        Ok(never) => match never {},
        Err(stopped) => stopped,
    }
}

enum Never {}

/// Takes the steps in the one order that works. The identity changes before limits are set, because processes are counted
/// by uid, and before the signal of the parent's death is asked for, because a change clears it. The init splits off before
/// descriptors get their places, because it keeps some of its own. Files are restricted before limits are set, because that
/// takes a descriptor, and those of a supervisor with many connections are open until the program starts. The filter is last, because it forbids other steps.
unsafe fn enter(e: &Entering<'_>) -> Result<Never, Stopped> {
    // SAFETY: every call takes memory prepared before the fork.
    unsafe {
        // Otherwise the read below would not end with a supervisor that is killed before it releases this process, which has a
        // copy of its memory: this process, and those that other threads fork meanwhile, have the end that is written to. The
        // signal is asked for again when the identity has changed, which clears it.
        libc::close(e.release);
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0).into(), Step::Init)?;
        let mut byte = 0u8;
        if libc::read(e.go, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(1);
        }
        if e.level.has_namespaces() {
            if e.level == Level::B {
                build_tree(e)?;
            }
            check(libc::setresgid(INNER_ID, INNER_ID, INNER_ID).into(), Step::Identity)?;
            check(libc::setresuid(INNER_ID, INNER_ID, INNER_ID).into(), Step::Identity)?;
            libc::sethostname(c"sandbox".as_ptr(), 7);
        }
        if let Some(machine) = e.machine {
            set_up(machine)?;
        }
        let folder = e.overseen.map_or(c"/", |overseen| overseen.folder);
        check(libc::chdir(folder.as_ptr()).into(), Step::Pivot)?;
        libc::setsid();
        split_off_init(e)?;
        libc::setsid();
        libc::umask(0o022);
        place_descriptors(e.fds);
        restrict_files(e)?;
        set_limits(e.limits)?;
        drop_capabilities(e.zygote)?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0).into(), Step::Limits)?;
        reset_signals();
        install_filter(e.filter)?;
        match e.start {
            Start::Exec { path, argv, env } => {
                libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr());
                Err(Stopped::at(Step::Exec))
            }
            Start::ExecOpen { fd, argv, env } => {
                let here = libc::AT_EMPTY_PATH;
                libc::syscall(libc::SYS_execveat, fd, c"".as_ptr(), argv.as_ptr(), env.as_ptr(), here);
                Err(Stopped::at(Step::Exec))
            }
            Start::Call(function) => libc::_exit(function()),
        }
    }
}

unsafe fn build_tree(e: &Entering<'_>) -> Result<(), Stopped> {
    let stage = c"/sys".as_ptr();
    let none = ptr::null();
    let quiet = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: C strings and data prepared before the fork.
    unsafe {
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(none, c"/".as_ptr(), none, private, ptr::null()).into(), Step::Mount)?;
        let root = c"size=16m,mode=755".as_ptr();
        check(libc::mount(c"tmpfs".as_ptr(), stage, c"tmpfs".as_ptr(), quiet, root.cast()).into(), Step::Mount)?;
        if let Some((name, place)) = e.rewritten {
            make_rewritten(stage, name, place)?;
        }
        for entry in &e.tree.entries {
            make(entry)?;
        }
        if let Some(size) = e.disk {
            let tmp = c"/sys/tmp".as_ptr();
            check(
                libc::mount(c"tmpfs".as_ptr(), tmp, c"tmpfs".as_ptr(), quiet, size.as_ptr().cast()).into(),
                Step::Mount,
            )?;
        }
        for entry in &e.tree.writable {
            make(entry)?;
            // The mode of a view of the host is the host's, and that of a link is what it leads to.
            if matches!(entry, Entry::Dir(_) | Entry::File { .. }) {
                let at = entry.place().as_ptr();
                check(libc::chmod(at, 0o777).into(), Step::Mount)?;
                // Where root prepares the disk, its files are those of the command all the same.
                if let (Level::A, Some(owner)) = (e.level, e.outer_id) {
                    check(libc::chown(at, owner, owner).into(), Step::Mount)?;
                }
            }
        }
        show_processes(e);
        check(libc::chdir(stage).into(), Step::Pivot)?;
        check(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()), Step::Pivot)?;
        check(libc::umount2(c".".as_ptr(), libc::MNT_DETACH).into(), Step::Pivot)?;
        check(libc::chdir(c"/".as_ptr()).into(), Step::Pivot)?;
        let fixed = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        set_attributes(c"/", fixed, 0)
    }
}

/// Makes the file through a second view of the tree, which stays writable when the first is made read-only and which only this
/// descriptor leads to.
unsafe fn make_rewritten(stage: *const libc::c_char, name: &CStr, place: RawFd) -> Result<(), Stopped> {
    // SAFETY: C strings prepared before the fork; descriptors are our own.
    unsafe {
        let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
        let view = check(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, stage, flags), Step::Mount)? as RawFd;
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
        let file = check(libc::openat(view, name.as_ptr(), flags, 0o644).into(), Step::Mount)? as RawFd;
        check(libc::dup3(file, place, libc::O_CLOEXEC).into(), Step::Mount)?;
        libc::close(file);
        libc::close(view);
    }
    Ok(())
}

unsafe fn make(entry: &Entry) -> Result<(), Stopped> {
    // SAFETY: C strings and data prepared before the fork.
    unsafe {
        match entry {
            Entry::Dir(at) => {
                if libc::mkdir(at.as_ptr(), 0o755) < 0 && *libc::__errno_location() != libc::EEXIST {
                    return Err(Stopped::at(Step::Mount));
                }
            }
            Entry::Link { to, at } => {
                check(libc::symlink(to.as_ptr(), at.as_ptr()).into(), Step::Mount)?;
            }
            Entry::File { at, content, is_program } => {
                let mode = if *is_program { 0o755 } else { 0o644 };
                let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
                let fd = check(libc::open(at.as_ptr(), flags, mode).into(), Step::Mount)? as RawFd;
                let mut rest = content.here().unwrap_or_default();
                while !rest.is_empty() {
                    let wrote = check(libc::write(fd, rest.as_ptr().cast(), rest.len()) as libc::c_long, Step::Mount)?;
                    rest = rest.get(wrote as usize..).unwrap_or_default();
                }
                if let Some(stored) = content.place() {
                    copy(stored, fd)?;
                }
                libc::close(fd);
            }
            Entry::Bind { source, target, device } => {
                let none = ptr::null();
                let bind = libc::MS_BIND | libc::MS_REC;
                check(libc::mount(source.as_ptr(), target.as_ptr(), none, bind, ptr::null()).into(), Step::Mount)?;
                let kind = if *device { libc::MOUNT_ATTR_NOEXEC } else { libc::MOUNT_ATTR_NODEV };
                let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | kind;
                set_attributes(target, attributes, libc::AT_RECURSIVE)?;
            }
            Entry::Layer { options, target } => {
                mount_new(c"overlay", target, libc::MS_RDONLY, options)?;
            }
            Entry::EmptyFolder { at } => {
                mount_new(c"tmpfs", at, libc::MS_RDONLY | libc::MS_NOEXEC, c"size=4k,mode=755")?;
            }
            Entry::NoFile { at } => {
                let (none, nothing) = (ptr::null(), c"/sys/dev/null".as_ptr());
                check(libc::mount(nothing, at.as_ptr(), none, libc::MS_BIND, ptr::null()).into(), Step::Mount)?;
                set_attributes(at, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC, 0)?;
            }
        }
    }
    Ok(())
}

/// Copies stored content, within the kernel.
unsafe fn copy(stored: &Stored, to: RawFd) -> Result<(), Stopped> {
    let mut from = stored.offset as libc::off_t;
    let end = (stored.offset + stored.bytes) as libc::off_t;
    while from < end {
        let count = (end - from).min(MAX_COPIED) as usize;
        // SAFETY: `from` outlives the call, which moves it on.
        let copied = unsafe { libc::sendfile(to, stored.file.as_raw_fd(), &raw mut from, count) };
        if check(copied as libc::c_long, Step::Mount)? == 0 {
            return Err(Stopped::at(Step::Mount));
        }
    }
    Ok(())
}

unsafe fn mount_new(kind: &CStr, at: &CStr, flags: u64, options: &CStr) -> Result<(), Stopped> {
    let flags = flags | libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: C strings that outlive the call.
    let done = unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) };
    check(done.into(), Step::Mount).map(drop)
}

unsafe fn set_attributes(at: &CStr, set: u64, flags: libc::c_int) -> Result<(), Stopped> {
    let attr = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: `attr` outlives the call and `size` is its size.
    let done =
        unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, at.as_ptr(), flags, &raw const attr, size) };
    check(done, Step::Mount).map(drop)
}

unsafe fn place_descriptors(fds: &[RawFd]) {
    let mut next = 0;
    for fd in fds {
        // SAFETY: the sources are above every target.
        unsafe { libc::dup2(*fd, next) };
        next += 1;
    }
    // SAFETY: marks the rest close-on-exec; takes no pointer.
    unsafe { libc::syscall(libc::SYS_close_range, next, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

unsafe fn set_limits(limits: &[(u32, u64)]) -> Result<(), Stopped> {
    for (resource, value) in limits {
        let limit = libc::rlimit64 { rlim_cur: *value, rlim_max: *value };
        // SAFETY: `limit` outlives the call; a null old limit is allowed.
        let done = unsafe {
            libc::syscall(libc::SYS_prlimit64, 0, *resource, &raw const limit, ptr::null::<libc::rlimit64>())
        };
        check(done, Step::Limits)?;
    }
    Ok(())
}

unsafe fn install_filter(filter: &[seccompiler::sock_filter]) -> Result<(), Stopped> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: `program` points to a filter that outlives the call, and has the
    // kernel's layout.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::Seccomp)?;
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        check(libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program), Step::Seccomp).map(drop)
    }
}
