//! What a program could leave behind: descriptors, processes, mounts, cgroups
//! and files.

#![allow(dead_code, unsafe_code, reason = "not every test uses all of this, and some of it calls the system itself")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The lowest of the host uids submissions run under where the tests are root.
const FIRST_OUTER_ID: u32 = 0x6000_0000;

/// Every file the programs write is named so.
const MARK: &str = "hostile-";

/// How long a loaded machine may take to end a few processes.
const PATIENCE: Duration = Duration::from_secs(120);

/// How the folder of one run of the tests is named.
const OWN: &str = "besieged-";

/// Makes orphans of the sandbox become our children, so that none can hide from
/// [`descendants`] below the first process of the host.
pub fn adopt_orphans() {
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }, 0);
}

/// A folder that only this run uses for temporary files, so that what is left in
/// it is ours.
pub fn own_temporary_folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("{OWN}{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // SAFETY: called before any other thread of the test reads the environment.
    unsafe { std::env::set_var("TMPDIR", &folder) };
    folder
}

/// The state of the host as far as a submission could change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostState {
    descriptors: BTreeMap<String, String>,
    processes: BTreeSet<String>,
    mounts: String,
    cgroups: Vec<PathBuf>,
    files: BTreeSet<PathBuf>,
}

impl HostState {
    /// Looks around.
    pub fn now(folder: &Path) -> HostState {
        HostState {
            descriptors: descriptors(),
            processes: descendants(),
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap(),
            cgroups: cgroups(),
            files: ["/tmp", "/dev/shm", "/var/tmp"]
                .map(Path::new)
                .into_iter()
                .chain([folder])
                .flat_map(marked)
                .collect(),
        }
    }

    /// What is there now that was not there before, for a person to read.
    pub fn left_since(&self, before: &HostState) -> Vec<String> {
        let mut left = Vec::new();
        if self.descriptors.len() > before.descriptors.len() {
            left.push(format!("descriptors {:?} after {:?}", self.descriptors, before.descriptors));
        }
        // A worn or wounded zygote may have been replaced by another.
        if self.processes.len() > before.processes.len() {
            left.push(format!("processes {:?}", self.processes.difference(&before.processes)));
        }
        let files: Vec<&PathBuf> = self.files.difference(&before.files).take(4).collect();
        left.extend((!files.is_empty()).then(|| format!("files {files:?}")));
        left.extend((self.mounts != before.mounts).then(|| "mounts".to_owned()));
        left.extend((self.cgroups != before.cgroups).then(|| format!("cgroups {:?}", self.cgroups)));
        left
    }

    /// As [`HostState::left_since`], once what was killed is gone: the system may take a moment to end it.
    pub fn left_at_last(folder: &Path, before: &HostState) -> Vec<String> {
        let end = Instant::now() + PATIENCE;
        loop {
            reap_orphans();
            let left = HostState::now(folder).left_since(before);
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How many processes of ours there are.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }
}

fn descriptors() -> BTreeMap<String, String> {
    // The directory being read is open itself.
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
            Some((entry.file_name().to_string_lossy().into_owned(), target))
        })
        .filter(|(_, to)| !to.ends_with("/fd"))
        .collect()
}

/// Every process whose chain of parents leads to this one, zombies as well, and
/// every one that runs as a submission of ours.
fn descendants() -> BTreeSet<String> {
    family().into_values().collect()
}

/// The same by process id.
pub fn descendant_pids() -> Vec<u32> {
    family().into_keys().collect()
}

/// How many descendants ignore a hangup.
pub fn ignoring_hangups() -> usize {
    let ignores = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
        u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
    };
    family().keys().filter(|pid| ignores(pid)).count()
}

/// Reaps what was left to us; whether any was.
pub fn reap_orphans() -> bool {
    let mut any = false;
    // SAFETY: a null status is allowed.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {
        any = true;
    }
    any
}

fn family() -> BTreeMap<u32, String> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let parent = fields.nth(1).and_then(|parent| parent.parse::<u32>().ok());
        parents.insert(pid, (parent.unwrap_or(0), format!("{name})")));
    }
    let ours = |mut pid: u32| {
        while let Some((parent, _)) = parents.get(&pid) {
            pid = *parent;
            if pid == std::process::id() {
                return true;
            }
        }
        false
    };
    parents.iter().filter(|(pid, _)| ours(**pid)).map(|(pid, (_, text))| (*pid, text.clone())).collect()
}

fn marked(folder: &Path) -> Vec<PathBuf> {
    let suspicious = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(MARK)
            || entry.metadata().is_ok_and(|found| found.uid() >= FIRST_OUTER_ID && found.uid() < u32::MAX - 1)
    };
    let inside = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| inside || suspicious(entry)).map(|entry| entry.path()).collect()
}

fn cgroups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < 4 {
                let name = entry.file_name().to_string_lossy().into_owned();
                // The one that ends so is where this process itself is.
                if name.contains("proofmark") && !name.ends_with("-self") {
                    found.push(entry.path());
                }
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    found
}
