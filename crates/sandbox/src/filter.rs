//! The system-call filters: an allow-list for everything that runs in the
//! sandbox, and a short one a forked leaf adds.

mod command;

use std::collections::BTreeMap;

pub(crate) use command::Counted;
use libc as c;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Where the filter's program will run.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Behind namespaces, where files are the cell's own.
    pub(crate) namespaces: bool,
    /// With a private `/tmp`, whose files may be locked.
    pub(crate) disk: bool,
}

/// Who will run under the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// A program that runs a submission at once.
    Submission,
    /// Our own zygote: it also makes the pid namespace of each leaf.
    Zygote,
    /// The command of a project, with the machine that its tests expect.
    Command(Counted),
}

const NAMESPACE_FLAGS: u64 = (c::CLONE_NEWNS
    | c::CLONE_NEWCGROUP
    | c::CLONE_NEWUTS
    | c::CLONE_NEWIPC
    | c::CLONE_NEWUSER
    | c::CLONE_NEWPID
    | c::CLONE_NEWNET) as u64
    | 0x80; // CLONE_NEWTIME

/// The bits of mmap's flags that say private or shared.
const MAP_KINDS: u64 = 3;
/// The bits of a socket's type without its flags.
const SOCKET_KINDS: u64 = 0xF;
/// `SO_SNDBUF` and `SO_RCVBUF`.
const BUFFER_SIZES: &[u64] = &[7, 8];
/// Their forced forms, and filters of sockets.
const FORBIDDEN_OPTIONS: &[u64] = &[32, 33, 26, 50, 51, 52];
/// The size of a pipe, leases, notifications, and locks of open files, which a
/// descriptor in flight may hold.
const UNCOUNTED_FCNTL: &[u64] = &[c::F_SETPIPE_SZ as u64, 36, 37, 38, 1024, 1026];
/// `F_GETLK` to `F_SETLKW`.
const LOCKS: &[u64] = &[5, 6, 7];

/// The allow-list. What is not on it answers ENOSYS, as on a kernel without it:
/// mounts, namespaces, ptrace, io_uring, bpf, perf, userfaultfd, keyrings, System
/// V and POSIX queues and shared memory, files in memory only (no limit counts
/// them), modules, clocks, and whatever comes next.
/// Sockets are connected pairs only: what waits to be accepted or was sent to an
/// address is memory that no limit counts. For the same reason no memory is shared
/// by mapping, no socket or pipe buffer enlarged, and no Landlock rule made. Files
/// of the host cannot be locked, so that a lock of a submission is never seen outside its cell.
///
/// # Errors
/// Where the compiler of filters refuses, or the processor is not supported.
pub(crate) fn allow_list(audience: Audience, place: Place) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().copied().flatten().map(|call| (*call, Vec::new())).collect();
    let only = |condition: SeccompCondition| Ok::<_, BackendError>(vec![SeccompRule::new(vec![condition])?]);
    rules.insert(c::SYS_clone, only(condition(0, SeccompCmpOp::MaskedEq(NAMESPACE_FLAGS), 0)?)?);
    rules.insert(c::SYS_mmap, only(condition(3, SeccompCmpOp::MaskedEq(MAP_KINDS), c::MAP_PRIVATE as u64)?)?);
    rules.insert(c::SYS_socketpair, only(condition(1, SeccompCmpOp::MaskedEq(SOCKET_KINDS), c::SOCK_STREAM as u64)?)?);
    rules.insert(c::SYS_prlimit64, only(condition(0, SeccompCmpOp::Eq, 0)?)?);
    let itself = vec![low_word(0, SeccompCmpOp::Eq, 0)?, low_word(1, SeccompCmpOp::Eq, 0)?];
    rules.insert(c::SYS_setpriority, vec![SeccompRule::new(itself)?]);
    rules.insert(c::SYS_setsockopt, all_but(2, &[BUFFER_SIZES, FORBIDDEN_OPTIONS].concat())?);
    if place.disk {
        rules.extend([(c::SYS_fcntl, all_but(1, UNCOUNTED_FCNTL)?), (c::SYS_flock, Vec::new())]);
    } else {
        rules.insert(c::SYS_fcntl, all_but(1, &[UNCOUNTED_FCNTL, LOCKS].concat())?);
    }
    if !place.namespaces {
        rules.retain(|call, _| !OWNERSHIP.contains(call));
    }
    if audience == Audience::Zygote {
        // V8 asks the kernel to leave its heap out of forks, and does without where it cannot.
        rules.insert(c::SYS_madvise, all_but(2, &[c::MADV_DONTFORK as u64])?);
        rules.extend([c::SYS_unshare, c::SYS_setns, c::SYS_capset].map(|call| (call, Vec::new())));
    }
    if let Audience::Command(counted) = audience {
        command::widen(&mut rules, counted)?;
    }
    let errno = SeccompAction::Errno(c::ENOSYS as u32);
    let program: BpfProgram = SeccompFilter::new(rules, errno, SeccompAction::Allow, arch()?)?.try_into()?;
    Ok(match audience {
        Audience::Command(counted) if counted != Counted::ByKernel => [BUFFERS_STAY.as_slice(), &program].concat(),
        Audience::Command(_) | Audience::Submission | Audience::Zygote => program,
    })
}

const LOAD: u16 = (c::BPF_LD | c::BPF_W | c::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (c::BPF_JMP | c::BPF_JEQ | c::BPF_K) as u16;
const RETURN: u16 = (c::BPF_RET | c::BPF_K) as u16;

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Stands before the allow-list of a command whose buffers nothing counts: `SO_SNDBUF` and `SO_RCVBUF` are accepted and change
/// nothing. They are hints, which the kernel bounds as well, and programs such as trio give up where they are refused. It makes no
/// call, so it need not look at the architecture.
const BUFFERS_STAY: [sock_filter; 8] = [
    step(LOAD, 0, 0, 0),
    step(JUMP_IF_EQUAL, 0, 6, c::SYS_setsockopt as u32),
    // The low words of the second and the third argument.
    step(LOAD, 0, 0, 24),
    step(JUMP_IF_EQUAL, 0, 4, c::SOL_SOCKET as u32),
    step(LOAD, 0, 0, 32),
    step(JUMP_IF_EQUAL, 1, 0, c::SO_SNDBUF as u32),
    step(JUMP_IF_EQUAL, 0, 1, c::SO_RCVBUF as u32),
    step(RETURN, 0, 0, c::SECCOMP_RET_ERRNO),
];

/// What a leaf adds before it reads a submission: the calls only the zygote needs. It does not look at the architecture,
/// because the allow-list, which stays in force, has done so. Each case installs it, and pays for each step.
pub(crate) const LEAF: [sock_filter; 6] = [
    // The number of the call is the first field.
    step(LOAD, 0, 0, 0),
    step(JUMP_IF_EQUAL, 3, 0, c::SYS_unshare as u32),
    step(JUMP_IF_EQUAL, 2, 0, c::SYS_setns as u32),
    step(JUMP_IF_EQUAL, 1, 0, c::SYS_capset as u32),
    step(RETURN, 0, 0, c::SECCOMP_RET_ALLOW),
    step(RETURN, 0, 0, c::SECCOMP_RET_ERRNO | c::EPERM as u32),
];

fn arch() -> Result<TargetArch, BackendError> {
    std::env::consts::ARCH.try_into()
}

/// Every value of this argument but these.
fn all_but(argument: u8, refused: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    let conditions =
        refused.iter().map(|value| low_word(argument, SeccompCmpOp::Ne, *value)).collect::<Result<_, _>>()?;
    Ok(vec![SeccompRule::new(conditions)?])
}

/// The kernel reads an `int` argument's low word only.
fn low_word(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, op, value)
}

#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
const LEGACY: &[i64] = &[
    c::SYS_access, c::SYS_alarm, c::SYS_arch_prctl, c::SYS_chmod, c::SYS_creat, c::SYS_dup2, c::SYS_epoll_create,
    c::SYS_epoll_wait, c::SYS_eventfd, c::SYS_fork, c::SYS_getdents, c::SYS_getpgrp, c::SYS_getrlimit,
    c::SYS_link, c::SYS_lstat, c::SYS_mkdir, c::SYS_open, c::SYS_pause, c::SYS_pipe, c::SYS_poll, c::SYS_readlink,
    c::SYS_rename, c::SYS_rmdir, c::SYS_select, c::SYS_stat, c::SYS_symlink, c::SYS_time, c::SYS_unlink, c::SYS_utime,
    c::SYS_utimes, c::SYS_vfork, c::SYS_newfstatat, c::SYS_fadvise64, c::SYS_sendfile, c::SYS_lchown, c::SYS_chown,
];

#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[i64] = &[c::SYS_newfstatat, c::SYS_fadvise64, c::SYS_sendfile];

/// Changes of owner, mode and times, which Landlock does not cover.
#[rustfmt::skip]
const OWNERSHIP: &[i64] = &[
    #[cfg(target_arch = "x86_64")] c::SYS_chmod,
    #[cfg(target_arch = "x86_64")] c::SYS_chown,
    #[cfg(target_arch = "x86_64")] c::SYS_lchown,
    #[cfg(target_arch = "x86_64")] c::SYS_utime,
    #[cfg(target_arch = "x86_64")] c::SYS_utimes,
    c::SYS_fchmod, c::SYS_fchmodat, c::SYS_fchown, c::SYS_fchownat, c::SYS_utimensat,
];

const ALLOWED: &[&[i64]] = &[LEGACY, COMMON];

#[rustfmt::skip]
const COMMON: &[i64] = &[
    c::SYS_brk, c::SYS_capget, c::SYS_chdir, c::SYS_clock_getres, c::SYS_clock_gettime, c::SYS_clock_nanosleep,
    c::SYS_close, c::SYS_close_range, c::SYS_copy_file_range, c::SYS_dup, c::SYS_dup3, c::SYS_epoll_create1,
    c::SYS_epoll_ctl, c::SYS_epoll_pwait, c::SYS_epoll_pwait2, c::SYS_eventfd2, c::SYS_execve, c::SYS_execveat, c::SYS_exit,
    c::SYS_exit_group, c::SYS_faccessat, c::SYS_faccessat2, c::SYS_fallocate, c::SYS_fchdir, c::SYS_fchmod,
    c::SYS_fchmodat, c::SYS_fchown, c::SYS_fchownat, c::SYS_fdatasync, c::SYS_fstat,
    c::SYS_fstatfs, c::SYS_fsync, c::SYS_ftruncate, c::SYS_futex, c::SYS_get_robust_list, c::SYS_getcpu, c::SYS_getcwd,
    c::SYS_getdents64, c::SYS_getegid, c::SYS_geteuid, c::SYS_getgid, c::SYS_getgroups, c::SYS_getitimer, c::SYS_getpeername,
    c::SYS_getpgid, c::SYS_getpid, c::SYS_getppid, c::SYS_getpriority, c::SYS_getrandom, c::SYS_getresgid,
    c::SYS_getresuid, c::SYS_getrusage, c::SYS_getsid, c::SYS_getsockname, c::SYS_getsockopt, c::SYS_gettid,
    c::SYS_gettimeofday, c::SYS_getuid,
    c::SYS_ioctl, c::SYS_kill, c::SYS_linkat,
    c::SYS_lseek, c::SYS_madvise, c::SYS_membarrier, c::SYS_mincore, c::SYS_mkdirat, c::SYS_mlock,
    c::SYS_mprotect, c::SYS_mremap, c::SYS_msync, c::SYS_munlock, c::SYS_munmap, c::SYS_nanosleep,
    c::SYS_openat, c::SYS_openat2, c::SYS_pidfd_open, c::SYS_pidfd_send_signal, c::SYS_pipe2, c::SYS_pkey_alloc,
    c::SYS_pkey_free, c::SYS_pkey_mprotect, c::SYS_ppoll, c::SYS_prctl, c::SYS_pread64, c::SYS_preadv, c::SYS_preadv2,
    c::SYS_pselect6, c::SYS_pwrite64, c::SYS_pwritev, c::SYS_pwritev2, c::SYS_read, c::SYS_readahead,
    c::SYS_readlinkat, c::SYS_readv, c::SYS_recvfrom, c::SYS_recvmmsg, c::SYS_recvmsg, c::SYS_renameat, c::SYS_renameat2,
    c::SYS_restart_syscall, c::SYS_rseq, c::SYS_rt_sigaction, c::SYS_rt_sigpending, c::SYS_rt_sigprocmask,
    c::SYS_rt_sigqueueinfo, c::SYS_rt_sigreturn, c::SYS_rt_sigsuspend, c::SYS_rt_sigtimedwait,
    c::SYS_sched_get_priority_max, c::SYS_sched_get_priority_min, c::SYS_sched_getaffinity, c::SYS_sched_getparam,
    c::SYS_sched_getscheduler, c::SYS_sched_yield, c::SYS_seccomp, c::SYS_sendmmsg, c::SYS_sendmsg, c::SYS_sendto,
    c::SYS_set_robust_list, c::SYS_set_tid_address, c::SYS_setitimer, c::SYS_setpgid,
    c::SYS_setrlimit, c::SYS_setsid, c::SYS_shutdown, c::SYS_sigaltstack, c::SYS_signalfd4,
    c::SYS_splice, c::SYS_statfs, c::SYS_statx, c::SYS_symlinkat, c::SYS_sysinfo, c::SYS_tee,
    c::SYS_tgkill, c::SYS_timer_create, c::SYS_timer_delete, c::SYS_timer_getoverrun, c::SYS_timer_gettime,
    c::SYS_timer_settime, c::SYS_timerfd_create, c::SYS_timerfd_gettime, c::SYS_timerfd_settime, c::SYS_times,
    c::SYS_tkill, c::SYS_truncate, c::SYS_umask, c::SYS_uname, c::SYS_unlinkat, c::SYS_utimensat, c::SYS_wait4,
    c::SYS_waitid, c::SYS_write, c::SYS_writev, c::SYS_setuid, c::SYS_setgid, c::SYS_setresuid, c::SYS_setresgid,
    c::SYS_setreuid, c::SYS_setregid,
];
