//! Whole projects: a tree of files, and the command that runs its tests.

pub(crate) mod files;
mod read;

use std::time::Duration;

pub use files::{MAX_FILES, MAX_FOLDERS, MAX_PATH_BYTES};
pub(crate) use read::read;

use crate::job::ProjectFile;
use crate::language::Language;
use crate::reporting::{Report, Runner};
use crate::suite::{AskedLimits, Reveal};

/// Writable space of a command where `limits.disk_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_DISK_MB: u32 = 64;
/// Memory of a command where `limits.memory_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_MEMORY_MB: u32 = 512;
/// Time of a command where `limits.timeout_ms` is not given.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(60_000);
/// The most words a command may have.
pub const MAX_WORDS: usize = 256;

/// A project and the command that tests it.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The language of the interpreter that runs.
    pub language: Language,
    /// The runtime demanded, for example `python3.12`.
    pub runtime: Option<String>,
    /// The project's files with those of the request's own, which replace them; sorted by path. The report is not among
    /// them: the run has to write it.
    pub files: Vec<ProjectFile>,
    /// Why the submitted files cannot be laid out beside those of the request; nothing is run then.
    pub unusable: Option<String>,
    /// The arguments of the interpreter.
    pub arguments: Vec<String>,
    /// The test runner, where the command names one that is known.
    pub runner: Option<Runner>,
    /// What the results are read from.
    pub report: Report,
    /// Whether the command may read the packages installed for the host's Python.
    pub packages: bool,
    /// Paths of the host the command asks to read.
    pub readable: Vec<String>,
    pub limits: AskedLimits,
    /// What of the tests the receipt shows.
    pub reveal: Reveal,
}
