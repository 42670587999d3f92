//! How much memory a process and all its descendants hold.
//!
//! Resource limits are per process, so a submission could spread a memory bomb
//! over many; the supervisor adds them up.

use std::fs;
use std::path::PathBuf;

/// More descendants than any process limit allows; a bound for the walk.
const MAX_PROCESSES: usize = 4096;

/// What counts: private memory, shared memory, and what of either was swapped out.
const HELD: [&str; 3] = ["RssAnon:", "RssShmem:", "VmSwap:"];
/// The same in `smaps_rollup`, divided among those who share it.
const SHARE: [&str; 2] = ["Pss:", "SwapPss:"];

/// The processes of a case.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    /// The first process of the cell.
    pub(crate) root: libc::pid_t,
    /// Whether that is the cell's init, which is ours and does not count.
    pub(crate) kept: bool,
}

impl Family {
    /// Bytes of memory its processes hold, as `/proc` tells. Memory shared by
    /// copy-on-write counts in full: an upper bound.
    pub(crate) fn held_bytes(self) -> u64 {
        self.members().into_iter().map(|pid| status_kb(pid) * 1024).sum()
    }

    /// The same, with shared pages divided among those who share them: exact, but
    /// ten times as dear, so asked for only when the bound is passed.
    pub(crate) fn proportional_bytes(self) -> u64 {
        self.members().into_iter().map(proportional).sum()
    }

    fn members(self) -> Vec<libc::pid_t> {
        let mut all = vec![self.root];
        let mut next = 0;
        while let Some(pid) = all.get(next).copied()
            && all.len() < MAX_PROCESSES
        {
            for task in tasks(pid) {
                let children = fs::read_to_string(task.join("children")).unwrap_or_default();
                all.extend(children.split_whitespace().filter_map(|child| child.parse::<libc::pid_t>().ok()));
            }
            next += 1;
        }
        if self.kept {
            all.remove(0);
        }
        all
    }
}

fn proportional(pid: libc::pid_t) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    rollup.and_then(|text| field_kb(&text, &SHARE)).unwrap_or_else(|| status_kb(pid)) * 1024
}

/// A process whose first thread has ended shows its memory under the others only.
fn status_kb(pid: libc::pid_t) -> u64 {
    let read = |path: PathBuf| fs::read_to_string(path).ok().and_then(|text| field_kb(&text, &HELD));
    let whole = read(format!("/proc/{pid}/status").into());
    whole.or_else(|| tasks(pid).find_map(|task| read(task.join("status")))).unwrap_or(0)
}

fn tasks(pid: libc::pid_t) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().map(|task| task.path())
}

/// The sum of these fields; `None` where the text has none of them.
fn field_kb(text: &str, names: &[&str]) -> Option<u64> {
    let value = |line: &str| line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    let found = text.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    found.filter_map(value).reduce(|sum, more| sum + more)
}
