//! The processor time of processes, from `/proc`.

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

fn of(path: &Path) -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    // The name of the program, in brackets, may have spaces and brackets itself.
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    // utime, stime, cutime and cstime are fields 14 to 17 (proc_pid_stat(5)); the state behind the name is field 3.
    let ticks: Vec<u32> =
        after_name.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    match ticks.len() {
        4 => Ok(TICK * ticks.iter().sum()),
        _ => anyhow::bail!("failed to read the processor time in `{}`", path.display()),
    }
}
