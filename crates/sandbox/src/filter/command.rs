//! What the command of a project may call besides: what a test suite expects of a machine.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::{BUFFER_SIZES, FORBIDDEN_OPTIONS, MAP_KINDS, SOCKET_KINDS, UNCOUNTED_FCNTL, all_but, condition, low_word};

/// What counts the memory that a command holds without a process's pages showing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The kernel counts all of it, in a control group.
    ByKernel,
    /// The supervisor lists sockets, pipes and files; what is shared by mapping is a file of a disk, which has a size.
    ByUs,
    /// As before, but nothing keeps `/dev/zero` from being shared memory, because there is no Landlock.
    WithoutSharing,
}

/// Leases and notifications, which hold up others who open the file.
const LEASES: &[u64] = &[1024, 1026];
/// The kind of file in a mode.
const FILE_KINDS: u64 = c::S_IFMT as u64;

/// Servers and clients behind the cell's own loopback; FIFOs; watches of files; attributes, which `shutil` reads of every file
/// that it copies; processors, which `multiprocessing` and pools of threads ask for.
#[rustfmt::skip]
const CALLS: &[i64] = &[
    #[cfg(target_arch = "x86_64")] c::SYS_inotify_init,
    c::SYS_accept, c::SYS_accept4, c::SYS_bind, c::SYS_connect, c::SYS_listen, c::SYS_flock,
    c::SYS_inotify_init1, c::SYS_inotify_add_watch, c::SYS_inotify_rm_watch,
    c::SYS_getxattr, c::SYS_lgetxattr, c::SYS_fgetxattr, c::SYS_listxattr, c::SYS_llistxattr, c::SYS_flistxattr,
    c::SYS_sched_setaffinity, c::SYS_sched_getattr, c::SYS_sched_rr_get_interval, c::SYS_rt_tgsigqueueinfo,
];

/// Widens the allow-list. Families and kinds of sockets are named, so that none reaches past the loopback or below IP: no raw and
/// no packet sockets, no other family of the kernel, and of netlink only routes, which the C library lists addresses with.
pub(super) fn widen(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, counted: Counted) -> Result<(), BackendError> {
    rules.extend(CALLS.iter().map(|call| (*call, Vec::new())));
    rules.insert(c::SYS_socket, sockets()?);
    let pairs = LOCAL_KINDS.iter().map(|kind| rule(&[(0, c::AF_UNIX as u64)], Some((1, SOCKET_KINDS, *kind))));
    rules.insert(c::SYS_socketpair, pairs.collect::<Result<_, _>>()?);
    let fifo = |mode| Ok::<_, BackendError>(vec![rule(&[], Some((mode, FILE_KINDS, c::S_IFIFO.into())))?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(c::SYS_mknod, fifo(1)?);
    rules.insert(c::SYS_mknodat, fifo(2)?);
    // The queue of a Unix socket can be seen from nowhere, so nothing but the kernel knows how much an enlarged one holds.
    let sizes: &[u64] = if counted == Counted::ByKernel { &[] } else { BUFFER_SIZES };
    let other_level = SeccompRule::new(vec![low_word(1, SeccompCmpOp::Ne, c::SOL_SOCKET as u64)?])?;
    rules.insert(c::SYS_setsockopt, [vec![other_level], all_but(2, &[sizes, FORBIDDEN_OPTIONS].concat())?].concat());
    match counted {
        Counted::ByKernel => {
            rules.extend([c::SYS_memfd_create, c::SYS_mmap].map(|call| (call, Vec::new())));
            rules.insert(c::SYS_fcntl, all_but(1, LEASES)?);
        }
        Counted::ByUs => {
            let anonymous = c::MAP_ANONYMOUS as u64;
            let of_a_file = condition(3, SeccompCmpOp::MaskedEq(MAP_KINDS | anonymous), c::MAP_SHARED as u64)?;
            let private = condition(3, SeccompCmpOp::MaskedEq(MAP_KINDS), c::MAP_PRIVATE as u64)?;
            rules.insert(c::SYS_mmap, vec![SeccompRule::new(vec![of_a_file])?, SeccompRule::new(vec![private])?]);
            rules.insert(c::SYS_fcntl, all_but(1, UNCOUNTED_FCNTL)?);
        }
        Counted::WithoutSharing => {
            rules.insert(c::SYS_fcntl, all_but(1, UNCOUNTED_FCNTL)?);
        }
    }
    Ok(())
}

/// Kinds of Unix sockets.
const LOCAL_KINDS: [u64; 3] = [c::SOCK_STREAM as u64, c::SOCK_DGRAM as u64, c::SOCK_SEQPACKET as u64];
/// Kinds of sockets of the Internet, each with its only protocol.
const INTERNET: [(u64, u64); 2] =
    [(c::SOCK_STREAM as u64, c::IPPROTO_TCP as u64), (c::SOCK_DGRAM as u64, c::IPPROTO_UDP as u64)];

fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let mut all = Vec::new();
    for kind in LOCAL_KINDS {
        all.push(rule(&[(0, c::AF_UNIX as u64)], Some((1, SOCKET_KINDS, kind)))?);
    }
    for family in [c::AF_INET as u64, c::AF_INET6 as u64] {
        for (kind, own) in INTERNET {
            for protocol in [0, own] {
                all.push(rule(&[(0, family), (2, protocol)], Some((1, SOCKET_KINDS, kind)))?);
            }
        }
    }
    all.push(rule(&[(0, c::AF_NETLINK as u64), (2, c::NETLINK_ROUTE as u64)], None)?);
    Ok(all)
}

/// These arguments have these values, and of one only the bits of a mask.
fn rule(equal: &[(u8, u64)], masked: Option<(u8, u64, u64)>) -> Result<SeccompRule, BackendError> {
    let mut conditions = Vec::new();
    for (argument, value) in equal {
        conditions.push(low_word(*argument, SeccompCmpOp::Eq, *value)?);
    }
    if let Some((argument, mask, value)) = masked {
        conditions.push(low_word(argument, SeccompCmpOp::MaskedEq(mask), value)?);
    }
    SeccompRule::new(conditions)
}
