//! The processor time of processes, from `/proc`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

/// What one tick of `/proc/<pid>/stat` is: USER_HZ is 100 on every architecture that Linux has today.
const TICK: Duration = Duration::from_millis(10);

/// The processor time, user and system, of this process and of the children that it waited for.
///
/// # Errors
/// Where `/proc` cannot be read.
pub fn of_this_process() -> anyhow::Result<Duration> {
    of(Path::new("/proc/self/stat"))
}

/// As [`of_this_process`], of a running process.
///
/// # Errors
/// Where the process has ended, or `/proc` cannot be read.
pub fn of_process(pid: u32) -> anyhow::Result<Duration> {
    of(Path::new(&format!("/proc/{pid}/stat")))
}

/// As [`of_this_process`], with what its descendants that run have used: a warm process that it keeps is not waited for.
///
/// # Errors
/// Where `/proc` cannot be read.
pub fn of_this_process_and_descendants() -> anyhow::Result<Duration> {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").context("failed to read `/proc`")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // One that has ended meanwhile is passed over.
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        if let (Some(parent), Some(used)) = (fields(&text).nth(1), used(&text)) {
            parents.insert(pid, (parent, used));
        }
    }
    let own = std::process::id();
    let is_ours = |pid: u32| {
        let above = |pid: &u32| parents.get(pid).map(|(parent, _)| *parent);
        std::iter::successors(Some(pid), above).any(|pid| pid == own)
    };
    Ok(parents.iter().filter(|(pid, _)| is_ours(**pid)).map(|(_, (_, used))| *used).sum())
}

fn of(path: &Path) -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    used(&text).with_context(|| format!("failed to read the processor time in `{}`", path.display()))
}

/// utime, stime, cutime and cstime: fields 14 to 17 (proc_pid_stat(5)).
fn used(stat: &str) -> Option<Duration> {
    let ticks: Vec<u32> = fields(stat).skip(11).take(4).collect();
    (ticks.len() == 4).then(|| TICK * ticks.iter().sum())
}

/// The numbers behind the name of the program, which is in brackets and may have spaces and brackets itself; 0 for the state, the
/// first of them and field 3.
fn fields(stat: &str) -> impl Iterator<Item = u32> {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().map(|field| field.parse().unwrap_or(0))
}
