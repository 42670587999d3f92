//! Control groups (version 2): where this process may make them, the kernel itself
//! counts everything a case makes it hold, and ends the case that holds too much.
//!
//! A host without them adds up what it sees (`memory.rs`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proofmark_checks::Limits;

use crate::sys;

/// What a group must be able to limit.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
const ENABLE: &str = "+memory +pids";

/// How the folders of a supervisor are named, before its pid.
const NAME: &str = "proofmark-";

/// A group is empty a moment after its last process was reaped.
const EMPTY_PATIENCE: Duration = Duration::from_millis(200);

/// Distinguishes the folders of one process.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Why there are no control groups here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroupsError {
    #[error("this host has no control groups of version 2")]
    NoHierarchy,
    #[error("`{}` lacks the controllers `memory` and `pids`", .0.display())]
    NoControllers(PathBuf),
    #[error("`{}` is not this process's to divide ({error})", folder.display())]
    NotOurs { folder: PathBuf, error: io::Error },
}

/// A folder of our own in the hierarchy; it goes with this value.
pub(crate) struct Groups {
    folder: PathBuf,
    /// Locked while we live, so that what a killed supervisor left can be told apart.
    _lock: File,
}

impl Groups {
    /// Makes a folder for groups as near to this process as it may, and tries one.
    ///
    /// # Errors
    /// What is missing; the host then adds memory up.
    pub(crate) fn find() -> Result<Groups, GroupsError> {
        let (top, own) = hierarchy().ok_or(GroupsError::NoHierarchy)?;
        let not_ours = |error| GroupsError::NotOurs { folder: own.clone(), error };
        if !lists(&own.join("cgroup.controllers")) {
            return Err(GroupsError::NoControllers(own));
        }
        let divided = own.ancestors().take_while(|folder| folder.starts_with(&top));
        for folder in divided.filter(|folder| lists(&folder.join("cgroup.subtree_control"))) {
            if let Ok(groups) = Groups::make(folder) {
                return Ok(groups);
            }
        }
        divide(&own).map_err(not_ours)?;
        Groups::make(&own).map_err(not_ours)
    }

    /// Where the groups are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tries more than once: another supervisor that starts may take a folder that is
    /// not yet locked for one that was left.
    fn make(parent: &Path) -> io::Result<Groups> {
        sweep(parent);
        let place = || Groups::place(parent);
        place().or_else(|_| place()).or_else(|_| place())
    }

    fn place(parent: &Path) -> io::Result<Groups> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{NAME}{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let lock = File::open(&folder)?;
        sys::lock(&lock)?;
        let groups = Groups { folder, _lock: lock };
        put(&groups.folder, "cgroup.subtree_control", ENABLE)?;
        let trial = groups.group("trial")?;
        put(&trial.folder, "memory.max", "max")?;
        sys::with_idle_child(|pid| trial.admit(pid))?;
        Ok(groups)
    }

    /// A group for one case at a time.
    pub(crate) fn group(&self, name: &str) -> io::Result<Group> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder)?;
        Ok(Group { folder, killed_before: 0 })
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// A control group; dropping it ends what is in it.
pub(crate) struct Group {
    folder: PathBuf,
    /// How many processes the kernel had ended for memory before this case.
    killed_before: u64,
}

impl Group {
    /// Sets the limits of the next case; `tasks` are its processes and threads with
    /// those of ours that are in the group.
    pub(crate) fn limit(&mut self, limits: &Limits, tasks: u64) -> io::Result<()> {
        let bytes = (u64::from(limits.memory_mb) + u64::from(limits.disk_mb)) << 20;
        put(&self.folder, "memory.max", &bytes.to_string())?;
        put(&self.folder, "memory.oom.group", "1")?;
        put(&self.folder, "pids.max", &tasks.to_string())?;
        if self.folder.join("memory.swap.max").exists() {
            put(&self.folder, "memory.swap.max", "0")?;
        }
        self.killed_before = self.killed()?;
        Ok(())
    }

    /// Moves a process, and with it all that it will start, into the group.
    pub(crate) fn admit(&self, pid: libc::pid_t) -> io::Result<()> {
        put(&self.folder, "cgroup.procs", &pid.to_string())
    }

    /// Whether the kernel ended this case because its memory was full.
    pub(crate) fn ran_out(&self) -> bool {
        self.killed().is_ok_and(|killed| killed > self.killed_before)
    }

    /// Ends everything in the group.
    pub(crate) fn end(&self) {
        // Linux before 5.14 has no such file; the init of the cell has ended all then.
        let _already_empty = put(&self.folder, "cgroup.kill", "1");
    }

    fn killed(&self) -> io::Result<u64> {
        let events = fs::read_to_string(self.folder.join("memory.events"))?;
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
        remove(&self.folder);
    }
}

/// The top of the hierarchy as it is mounted here, and the folder this process is in.
fn hierarchy() -> Option<(PathBuf, PathBuf)> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounted = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then_some(())?;
        let mut words = place.split(' ').skip(3);
        Some((words.next()?, words.next()?))
    });
    let (root, top) = mounted?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let folder = Path::new(top).join(below);
    (plain && folder.is_dir()).then(|| (PathBuf::from(top), folder))
}

/// Whether the file names every controller that is needed.
fn lists(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    CONTROLLERS.iter().all(|wanted| text.split_whitespace().any(|word| word == *wanted))
}

/// Lets this folder have limited groups below it. A folder with processes of its own
/// may not, so where we are alone in it we move one down.
fn divide(own: &Path) -> io::Result<()> {
    let enable = || put(own, "cgroup.subtree_control", ENABLE);
    let Err(error) = enable() else { return Ok(()) };
    if error.raw_os_error() != Some(libc::EBUSY) {
        return Err(error);
    }
    let me = std::process::id().to_string();
    let below = own.join(format!("{NAME}{me}-self"));
    fs::create_dir(&below)?;
    let moved = put(&below, "cgroup.procs", &me).and_then(|()| enable());
    moved.inspect_err(|_| {
        let _still_there = put(own, "cgroup.procs", &me);
        remove(&below);
    })
}

/// Removes what supervisors that were killed have left here.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(NAME);
        if ours && File::open(entry.path()).is_ok_and(|folder| sys::lock(&folder).is_ok()) {
            for group in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let _not_a_folder = fs::remove_dir(group.path());
            }
            let _not_empty = fs::remove_dir(entry.path());
        }
    }
}

fn remove(folder: &Path) {
    let end = std::time::Instant::now() + EMPTY_PATIENCE;
    while fs::remove_dir(folder).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
        && std::time::Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn put(folder: &Path, file: &str, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(folder.join(file))?.write_all(text.as_bytes())
}
