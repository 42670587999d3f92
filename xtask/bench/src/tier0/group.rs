//! The processor time of everything that was started, also of what ended without being waited for: the processes of a pid
//! namespace that its first process takes along are not in the times of any parent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

/// A control group with this process and all that it starts, which it leaves when dropped.
pub(super) struct Group {
    folder: PathBuf,
    parent: PathBuf,
}

impl Group {
    /// A new group, of version 1 or 2, below that of this process.
    pub(super) fn enter() -> anyhow::Result<Group> {
        let own = fs::read_to_string("/proc/self/cgroup").context("failed to read `/proc/self/cgroup`")?;
        let folders = own.lines().filter_map(|line| {
            let (_, place) = line.split_once(':')?;
            let (controllers, path) = place.split_once(':')?;
            let top = match controllers {
                "" => "/sys/fs/cgroup",
                _ => controllers.split(',').find(|name| *name == "cpuacct").map(|_| "/sys/fs/cgroup/cpuacct")?,
            };
            Some(Path::new(top).join(path.trim_start_matches('/')))
        });
        for parent in folders {
            let folder = parent.join(format!("proofmark-bench-{}", std::process::id()));
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group { folder, parent };
            if join(&group.folder).is_ok() && group.used().is_ok() {
                return Ok(group);
            }
        }
        bail!("this process may not make a control group that counts processor time")
    }

    /// What it has used since it was made.
    pub(super) fn used(&self) -> anyhow::Result<Duration> {
        if let Ok(nanoseconds) = fs::read_to_string(self.folder.join("cpuacct.usage")) {
            return Ok(Duration::from_nanos(nanoseconds.trim().parse()?));
        }
        let text = fs::read_to_string(self.folder.join("cpu.stat"))?;
        let used = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        Ok(Duration::from_micros(used.context("`cpu.stat` has no `usage_usec`")?.parse()?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _still_there = join(&self.parent);
        let _not_empty = fs::remove_dir(&self.folder);
    }
}

fn join(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string())
}
