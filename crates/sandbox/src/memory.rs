//! How much memory a process and all its descendants hold.
//!
//! Resource limits are per process, and know only some kinds of memory, so the
//! supervisor adds up what a submission could spread over many processes or make
//! the kernel hold for it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::sys;

/// More descendants than any process limit allows; a bound for the walk.
const MAX_PROCESSES: usize = 1 << 15;

/// Page tables: a submission that reads what it never wrote holds nothing else.
const TABLES: &str = "VmPTE:";
/// What counts: private memory, shared memory, what of either was swapped out, and
/// page tables.
const HELD: [&str; 4] = ["RssAnon:", "RssShmem:", "VmSwap:", TABLES];
/// The first three in `smaps_rollup`, divided among those who share them.
const SHARE: [&str; 2] = ["Pss:", "SwapPss:"];

/// How often the kernel's objects are counted: more expensive than adding
/// up, and slower to grow.
const COUNT_TICK: Duration = Duration::from_millis(100);
/// Counting may take one part in so many of the supervisor's time.
const COUNT_SHARE: u32 = 10;
/// Bytes the kernel keeps for one mapping: the area, its chain of anonymous memory
/// and its place in the tree.
const MAPPING_BYTES: u64 = 320;
/// Bytes the kernel keeps for one lock of a file.
const LOCK_BYTES: u64 = 256;
/// Bytes that may wait in one socket: `net.core.wmem_default`, which most hosts leave.
const SOCKET_BYTES: u64 = 212_992;
/// Bytes the kernel keeps for a socket of the Internet without what waits in it.
const IDLE_SOCKET_BYTES: u64 = 4_096;
/// Bytes that the kernel keeps for one that waits, beyond those that it shows: small pieces take more room than they are long.
const QUEUE_SHARE: u64 = 2;
/// Bytes the kernel keeps for one descriptor of a command. Most may be ends of pipes, which have two pages each once their user has
/// many (pipe(7)).
const DESCRIPTOR_BYTES: u64 = 5 << 10;
/// Sockets that do not count: what honest programs have is mostly empty.
const FREE_SOCKETS: usize = 64;

/// The processes of a case.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    /// The first process of the cell.
    pub(crate) root: libc::pid_t,
    /// Whether that is the cell's init, which is ours and does not count.
    pub(crate) root_is_init: bool,
    /// A process of the case that the first did not start.
    pub(crate) apart: Option<libc::pid_t>,
    /// Whether it is a project's command, which may have sockets that no process has open: those that wait to be accepted, were
    /// sent, or are closed with something left in them.
    pub(crate) is_command: bool,
}

/// Adds up what a case holds, each kind at its own pace.
pub(crate) struct Meter {
    family: Family,
    object_bytes: u64,
    next_count: Instant,
}

impl Meter {
    pub(crate) fn new(family: Family) -> Meter {
        Meter { family, object_bytes: 0, next_count: Instant::now() + COUNT_TICK }
    }

    /// Whether the case holds more than `limit` bytes.
    pub(crate) fn exceeds(&mut self, limit: u64) -> bool {
        let now = Instant::now();
        if now >= self.next_count {
            self.object_bytes = self.family.object_bytes(limit);
            self.next_count = Instant::now() + COUNT_TICK.max(now.elapsed() * COUNT_SHARE);
        }
        let allowed = limit.saturating_sub(self.object_bytes);
        self.family.held_bytes() > allowed && self.family.proportional_bytes() > allowed
    }
}

/// A process, and the one that started it where that belongs to the case.
struct Member {
    pid: libc::pid_t,
    parent: Option<libc::pid_t>,
}

impl Family {
    /// Bytes of memory its processes hold, as `/proc` reports. Memory shared by
    /// copy-on-write, or with a child that has not yet replaced itself, counts in
    /// full: an upper bound.
    fn held_bytes(self) -> u64 {
        self.members().iter().map(|member| status_bytes(member.pid, &HELD)).sum()
    }

    /// The same, with shared pages divided among those who share them: exact, but
    /// ten times as expensive, so computed only when the bound is passed.
    fn proportional_bytes(self) -> u64 {
        let members = self.members();
        let counted_with_parent =
            |member: &&Member| member.parent.is_some_and(|parent| sys::share_memory(parent, member.pid));
        members.iter().filter(|member| !counted_with_parent(member)).map(|member| proportional(member.pid)).sum()
    }

    /// About how many bytes the kernel holds in mappings, locks and sockets of the
    /// case; not counted past `limit`.
    fn object_bytes(self, limit: u64) -> u64 {
        let mut sockets = BTreeSet::new();
        let mut bytes = 0_u64;
        for Member { pid, .. } in self.members() {
            if bytes > limit {
                return bytes;
            }
            bytes += mappings(pid, limit.saturating_sub(bytes) / MAPPING_BYTES) * MAPPING_BYTES;
            let mut open = open_files(pid, limit.saturating_sub(bytes) / LOCK_BYTES);
            bytes += open.locks * LOCK_BYTES;
            if self.is_command {
                bytes += open.descriptors * DESCRIPTOR_BYTES;
            }
            sockets.append(&mut open.sockets);
        }
        if self.is_command {
            return bytes + sockets_of_namespace(self.root, limit.saturating_sub(bytes));
        }
        bytes + sockets.len().saturating_sub(FREE_SOCKETS) as u64 * SOCKET_BYTES
    }

    fn members(self) -> Vec<Member> {
        let mut all = vec![Member { pid: self.root, parent: None }];
        all.extend(self.apart.map(|pid| Member { pid, parent: None }));
        let mut next = 0;
        while let Some(parent) = all.get(next).map(|member| member.pid)
            && all.len() < MAX_PROCESSES
        {
            let known = (next > 0 || !self.root_is_init).then_some(parent);
            for task in tasks(parent) {
                let children = fs::read_to_string(task.join("children")).unwrap_or_default();
                let children = children.split_whitespace().filter_map(|child| child.parse::<libc::pid_t>().ok());
                all.extend(children.map(|pid| Member { pid, parent: known }));
            }
            next += 1;
        }
        if self.root_is_init {
            all.remove(0);
        }
        all
    }
}

fn proportional(pid: libc::pid_t) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    match rollup.and_then(|text| field_kb(&text, &SHARE)) {
        Some(shared_kb) => shared_kb * 1024 + status_bytes(pid, &[TABLES]),
        None => status_bytes(pid, &HELD),
    }
}

/// A process whose first thread has ended shows its memory under the others only.
fn status_bytes(pid: libc::pid_t, fields: &[&str]) -> u64 {
    let read = |path: PathBuf| fs::read_to_string(path).ok().and_then(|text| field_kb(&text, fields));
    let whole = read(format!("/proc/{pid}/status").into());
    whole.or_else(|| tasks(pid).find_map(|task| read(task.join("status")))).unwrap_or(0) * 1024
}

fn tasks(pid: libc::pid_t) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().map(|task| task.path())
}

/// The sum of these fields; `None` where the text has none of them.
fn field_kb(text: &str, names: &[&str]) -> Option<u64> {
    let found = text.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    found
        .filter_map(|line| line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()))
        .reduce(|sum, more| sum + more)
}

/// How many mappings a process has; not counted much past `most`.
fn mappings(pid: libc::pid_t, most: u64) -> u64 {
    lines(&format!("/proc/{pid}/maps"), most, |_| true)
}

fn lines(path: &str, most: u64, wanted: impl Fn(&str) -> bool) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    let lines = BufReader::with_capacity(1 << 16, file).lines().map_while(io::Result::ok);
    lines.filter(|line| wanted(line)).take(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1)).count() as u64
}

/// About how many bytes the sockets hold that are in the network namespace of a process; not counted much past `limit`.
fn sockets_of_namespace(pid: libc::pid_t, limit: u64) -> u64 {
    let local = lines(&format!("/proc/{pid}/net/unix"), limit / SOCKET_BYTES + FREE_SOCKETS as u64, |_| true);
    let mut bytes = local.saturating_sub(FREE_SOCKETS as u64) * SOCKET_BYTES;
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let Ok(file) = File::open(format!("/proc/{pid}/net/{table}")) else { continue };
        for line in BufReader::with_capacity(1 << 16, file).lines().map_while(io::Result::ok).skip(1) {
            if bytes > limit {
                return bytes;
            }
            bytes += IDLE_SOCKET_BYTES + queued(&line).unwrap_or(SOCKET_BYTES) * QUEUE_SHARE;
        }
    }
    bytes
}

/// The bytes that wait in a socket, to be sent and to be read: the fifth field of its line, as two hexadecimal numbers.
fn queued(line: &str) -> Option<u64> {
    let (sent, received) = line.split_whitespace().nth(4)?.split_once(':')?;
    Some(u64::from_str_radix(sent, 16).ok()?.saturating_add(u64::from_str_radix(received, 16).ok()?))
}

/// What a process has open that the kernel holds memory for.
#[derive(Default)]
struct OpenFiles {
    /// Its sockets, each by the name all who share it see.
    sockets: BTreeSet<PathBuf>,
    /// Its locks; a process loses those of a file with the first descriptor of it
    /// that it closes, so none is held elsewhere.
    locks: u64,
    descriptors: u64,
}

/// Looks at every descriptor; counts locks not much past `most`.
fn open_files(pid: libc::pid_t, most: u64) -> OpenFiles {
    let mut open = OpenFiles::default();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        open.descriptors += 1;
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        if target.is_absolute() {
            let info = format!("/proc/{pid}/fdinfo/{}", entry.file_name().to_string_lossy());
            open.locks += lines(&info, most.saturating_sub(open.locks), |line| line.starts_with("lock:"));
        } else if target.to_string_lossy().starts_with("socket:") {
            open.sockets.insert(target);
        }
    }
    open
}
