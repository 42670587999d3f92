//! How much memory a process and all its descendants hold.
//!
//! Resource limits are per process, so a submission could spread a memory bomb
//! over many; the supervisor adds them up.

use std::fs;

/// More descendants than any process limit allows; a bound for the walk.
const MAX_PROCESSES: usize = 4096;

/// Bytes of anonymous and shared memory of `root` and its descendants, as
/// `/proc` tells. Memory shared by copy-on-write counts in full: an upper bound.
pub(crate) fn held_bytes(root: libc::pid_t) -> u64 {
    descendants(root).into_iter().map(|pid| status_kb(pid, &["RssAnon:", "RssShmem:"]) * 1024).sum()
}

/// The same, with shared pages divided among those who share them: exact, but
/// ten times as dear, so asked for only when the bound is passed.
pub(crate) fn proportional_bytes(root: libc::pid_t) -> u64 {
    descendants(root).into_iter().map(proportional).sum()
}

fn proportional(pid: libc::pid_t) -> u64 {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(text) => field_kb(&text, &["Pss:"]) * 1024,
        Err(_) => status_kb(pid, &["RssAnon:", "RssShmem:"]) * 1024,
    }
}

fn descendants(root: libc::pid_t) -> Vec<libc::pid_t> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied()
        && all.len() < MAX_PROCESSES
    {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<libc::pid_t>().ok()));
        }
        next += 1;
    }
    all
}

fn status_kb(pid: libc::pid_t, names: &[&str]) -> u64 {
    fs::read_to_string(format!("/proc/{pid}/status")).map_or(0, |text| field_kb(&text, names))
}

fn field_kb(text: &str, names: &[&str]) -> u64 {
    let value = |line: &str| line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    text.lines().filter(|line| names.iter().any(|name| line.starts_with(name))).filter_map(value).sum()
}
