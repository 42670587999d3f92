//! Waits until files change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(300);
/// The most files that are watched, and how deep folders nest.
const MAX_WATCHED: usize = 50_000;
const MAX_DEPTH: usize = 32;
/// Folders that tools write to while they run.
const LEFT_OUT: [&str; 6] = [".git", ".hg", "__pycache__", ".pytest_cache", "node_modules", "target"];

/// The files, with when they were changed and how long they are.
pub(crate) type Seen = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// The state of these files, and of all files in these folders.
pub(crate) fn look(paths: &[PathBuf]) -> Seen {
    let mut seen = Seen::new();
    for path in paths {
        add(&mut seen, path, 0);
    }
    seen
}

/// Returns once the files differ from `seen`.
pub(crate) fn wait(paths: &[PathBuf], seen: &Seen) {
    while look(paths) == *seen {
        thread::sleep(INTERVAL);
    }
    // An editor may write a file in several steps.
    thread::sleep(INTERVAL);
}

fn add(seen: &mut Seen, path: &Path, depth: usize) {
    if seen.len() >= MAX_WATCHED || depth > MAX_DEPTH {
        return;
    }
    let left_out = depth > 0 && path.file_name().is_some_and(|name| LEFT_OUT.iter().any(|left_out| name == *left_out));
    // A file that is gone is a change, too.
    let Some(about) = fs::metadata(path).ok().filter(|_| !left_out) else { return };
    if about.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| add(seen, &entry.path(), depth + 1));
    } else {
        seen.insert(path.to_owned(), (about.modified().ok(), about.len()));
    }
}
