//! Which program has started this process: an agent's host starts a hook for each event, and a guard for each server.

use std::fs;

use crate::error::with_help;

/// Programs by which hosts start others. A new one of them is started each time.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "ksh", "zsh", "fish", "busybox"];
/// Stands for the session of this start of the host.
const PER_LAUNCH: &str = "per-launch";
/// The most shells between a host and this process.
const MAX_SHELLS: usize = 8;

/// What is known of a process.
struct Process {
    pid: u32,
    name: String,
    parent: u32,
    /// When it was started, in ticks since the system was.
    begun: u64,
}

/// A name of the process that has started this one, shells left out. No two processes have the same, not even after the system was
/// started again. `None` where the system does not say it.
pub(crate) fn of_parent() -> Option<String> {
    let mut process = read(read("self")?.parent)?;
    for _ in 0..MAX_SHELLS {
        if !SHELLS.contains(&process.name.as_str()) {
            break;
        }
        let Some(parent) = read(process.parent) else { break };
        process = parent;
    }
    name(&process)
}

/// The name of a session as it is given: [`PER_LAUNCH`] is that of all guards and hooks that one start of a host has started.
pub(crate) fn session(given: &str) -> anyhow::Result<String> {
    if given != PER_LAUNCH {
        return Ok(given.to_owned());
    }
    let launch = of_parent().map(|process| format!("launch-{process}"));
    launch.ok_or_else(|| with_help("find what has started this process", "name the session with `--session NAME`"))
}

/// The name of this process.
pub(crate) fn own() -> Option<String> {
    name(&read("self")?)
}

/// Whether the process of this name runs; `None` where that is not known.
pub(crate) fn runs(wanted: &str) -> Option<bool> {
    let (boot, rest) = wanted.split_once('.')?;
    let pid: u32 = rest.split_once('.')?.0.parse().ok()?;
    // Of another system nothing runs here, and of this one what `/proc` has.
    if boot != self::boot()? {
        return Some(false);
    }
    Some(read(pid).and_then(|process| name(&process)).as_deref() == Some(wanted))
}

fn name(process: &Process) -> Option<String> {
    Some(format!("{}.{}.{}", boot()?, process.pid, process.begun))
}

fn boot() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let boot: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    (!boot.is_empty()).then_some(boot)
}

/// The process with this number: `proc_pid_stat(5)`.
fn read(pid: impl std::fmt::Display) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A process chooses its name, which may have any character.
    let (head, rest) = stat.rsplit_once(')')?;
    let (pid, name) = head.split_once(" (")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Process {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        begun: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_has_one_name_as_long_as_it_runs() {
        let own = own().unwrap();
        assert_eq!(Some(&own), super::own().as_ref());
        assert_eq!(runs(&own), Some(true));
        assert_eq!((runs("x"), runs("0.1.1")), (None, Some(false)));
        let mut other = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let name = name(&read(other.id()).unwrap()).unwrap();
        assert!(name != own && runs(&name) == Some(true));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(runs(&name), Some(false));
    }
}
