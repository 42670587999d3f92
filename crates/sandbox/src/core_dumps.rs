//! Core dumps, which would leave the cell.

use std::sync::LazyLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What says where the kernel writes core dumps (core(5)).
const PATTERN: &str = "/proc/sys/kernel/core_pattern";

/// The limit of a process that leaves no core dump.
///
/// It is 1 and not 0: where cores are piped to a program of the host, the kernel dumps in spite of 0 (core(5)). A process that
/// is held to 0, as `sudo` and some containers do it, may be unable to set 1. Then it is 0 where cores are written to files.
pub(crate) fn no_core() -> u64 {
    static LIMIT: LazyLock<u64> = LazyLock::new(|| limit(may_be_one(), are_piped));
    *LIMIT
}

fn limit(may_be_one: bool, are_piped: impl FnOnce() -> bool) -> u64 {
    // Where both are against it, 1 cannot be set, and no work is run.
    if may_be_one || are_piped() { 1 } else { 0 }
}

/// Whether this process can give another one the limit 1, after raising its own maximum where that is allowed.
fn may_be_one() -> bool {
    let maximum = getrlimit(Resource::Core).maximum;
    let raised = || setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(1) }).is_ok();
    maximum.is_none_or(|maximum| maximum >= 1) || raised()
}

/// Whether core dumps go to a program of the host, as far as is known.
fn are_piped() -> bool {
    std::fs::read(PATTERN).map_or(true, |pattern| pattern.starts_with(b"|"))
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn the_limit_is_zero_only_where_cores_are_written_to_files_and_one_cannot_be_set() {
        assert_eq!(limit(true, || true), 1);
        assert_eq!(limit(true, || false), 1);
        assert_eq!(limit(false, || true), 1);
        assert_eq!(limit(false, || false), 0);
    }
}
