//! Makes slow things once for all tests of a run, although each test may be its own process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder `made` below `folder`, which `make` has filled in this run: the first test that needs it makes it, and the others wait.
///
/// # Panics
///
/// Where the folder cannot be written.
pub fn once_in_a_run(folder: &Path, make: impl FnOnce(&Path)) -> PathBuf {
    let (made, mark) = (folder.join("made"), folder.join("run"));
    let lock = fs::create_dir_all(folder).and_then(|()| File::create(folder.join("lock"))).and_then(|lock| {
        lock.lock()?;
        Ok(lock)
    });
    assert!(lock.is_ok(), "failed to lock `{}`: {lock:?}", folder.display());
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
    if fs::read_to_string(&mark).is_ok_and(|before| before == run) {
        return made;
    }
    // It may be the first run.
    drop(fs::remove_dir_all(&made));
    let created = fs::create_dir(&made);
    assert!(created.is_ok(), "failed to make `{}`: {created:?}", made.display());
    make(&made);
    let written = fs::write(&mark, run);
    assert!(written.is_ok(), "failed to write `{}`: {written:?}", mark.display());
    made
}
