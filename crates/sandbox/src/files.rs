//! How many files this process may have open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit of open files to the most the host allows, because many hosts start programs with 1,024 and
/// allow far more. Cells have a limit of their own. Returns the new limit.
///
/// # Errors
/// When the system refuses; the limit is then as before.
pub fn allow_many_files() -> io::Result<u64> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    // No maximum is "unlimited".
    Ok(maximum.unwrap_or(u64::MAX))
}

/// The most files that a program of ours may have open, however few it has now.
pub(crate) fn most_files() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}
