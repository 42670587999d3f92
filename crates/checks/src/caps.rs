//! What a request may ask for, and what it gets when it does not ask.

use std::path::PathBuf;
use std::time::Duration;

use proofmark_receipt::document::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH};

use crate::job::{HostFolder, Locked, Origin};

/// The longest request, in bytes.
pub const MAX_REQUEST_BYTES: usize = MAX_DOCUMENT_BYTES;
/// How deep a request may nest.
pub const MAX_REQUEST_DEPTH: usize = MAX_DOCUMENT_DEPTH;
/// The most tests a suite may have.
pub const MAX_TESTS: usize = 10_000;
/// The longest name of a test, in characters.
pub const MAX_NAME_CHARS: usize = 256;
/// The most installed packages a suite may name.
pub const MAX_PACKAGES: usize = 50;
/// The longest name of a package, in characters.
pub const MAX_PACKAGE_CHARS: usize = 100;

/// Memory of one check where `limits.memory_mb` is not given.
pub const DEFAULT_MEMORY_MB: u32 = 256;
/// Time of one check where neither the test nor `limits.timeout_ms` gives it.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(5_000);
/// Time of all checks together where `limits.total_timeout_ms` is not given.
pub const DEFAULT_TOTAL_TIMEOUT: Duration = Duration::from_millis(60_000);
/// Output of one check where `limits.output_bytes` is not given.
pub const DEFAULT_OUTPUT_BYTES: usize = 1 << 20;
/// Writable `/tmp` of one check where `limits.disk_mb` is not given: none.
pub const DEFAULT_DISK_MB: u32 = 0;
/// Processes of one check where `limits.processes` is not given.
pub const DEFAULT_PROCESSES: u32 = 64;

/// The most memory a request gets, where the host sets no other cap.
pub const MAX_MEMORY_MB: u32 = 2_048;
/// The longest time one check gets.
pub const MAX_TIMEOUT: Duration = Duration::from_millis(60_000);
/// The longest time all checks together get.
pub const MAX_TOTAL_TIMEOUT: Duration = Duration::from_millis(600_000);
/// The most output one check gets.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The most processes one check gets.
pub const MAX_PROCESSES: u32 = 256;
/// The most scratch disk one check gets.
pub const MAX_DISK_MB: u32 = 1_024;

/// The most memory a project's command gets.
pub const MAX_COMMAND_MEMORY_MB: u32 = 8_192;
/// The most processes and threads a project's command gets.
pub const MAX_COMMAND_PROCESSES: u32 = 16_384;
/// The most disk a project's command gets.
pub const MAX_COMMAND_DISK_MB: u32 = 8_192;

/// The most a host grants. What a request asks for above it is lowered to it; the default is the constants of this
/// module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Memory of one check, in MiB.
    pub memory_mb: u32,
    /// Wall time of one check.
    pub timeout: Duration,
    /// Wall time of all checks together.
    pub total_timeout: Duration,
    /// Output of one check, in bytes.
    pub output_bytes: usize,
    /// Processes of one check.
    pub processes: u32,
    /// Scratch disk of one check, in MiB.
    pub disk_mb: u32,
    /// Memory of a project's command, in MiB.
    pub command_memory_mb: u32,
    /// Processes and threads of a project's command.
    pub command_processes: u32,
    /// Disk of a project's command, in MiB.
    pub command_disk_mb: u32,
    /// Tests in a suite; unlike the others, more of them are an error.
    pub tests: usize,
    /// What of the host a command may read if it asks to; none by default.
    pub readable: Vec<PathBuf>,
    /// Installed packages that a command finds in its project if it asks for packages; none by default.
    pub packages: Vec<HostFolder>,
    /// The packages that were installed for the project's lock file, if it is to have these.
    pub locked: Option<Locked>,
    /// The folder that is verified as a project; none for requests.
    pub origin: Option<Origin>,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps {
            memory_mb: MAX_MEMORY_MB,
            timeout: MAX_TIMEOUT,
            total_timeout: MAX_TOTAL_TIMEOUT,
            output_bytes: MAX_OUTPUT_BYTES,
            processes: MAX_PROCESSES,
            disk_mb: MAX_DISK_MB,
            command_memory_mb: MAX_COMMAND_MEMORY_MB,
            command_processes: MAX_COMMAND_PROCESSES,
            command_disk_mb: MAX_COMMAND_DISK_MB,
            tests: MAX_TESTS,
            readable: Vec::new(),
            packages: Vec::new(),
            locked: None,
            origin: None,
        }
    }
}
