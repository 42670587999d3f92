//! Whole projects: a tree of files, and the command that runs its tests.

mod files;
mod read;

use std::time::Duration;

pub use files::{MAX_FILES, MAX_PATH_BYTES, ProjectFile};
pub(crate) use read::read;

use crate::job::Language;
use crate::request::{AskedLimits, Reveal};

/// Writable space of a command where `limits.disk_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_DISK_MB: u32 = 64;
/// Memory of a command where `limits.memory_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_MEMORY_MB: u32 = 512;
/// Time of a command where `limits.timeout_ms` is not given.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(60_000);
/// The most words a command may have.
pub const MAX_WORDS: usize = 256;

/// The report a command is made to write where it writes none by itself.
const OWN_REPORT: &str = ".proofmark-report.xml";
/// Makes node's test runner report in TAP.
const TAP_REPORTER: &str = "--test-reporter=tap";

/// A project and the command that tests it.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The language of the interpreter that runs.
    pub language: Language,
    /// The runtime demanded, for example `python3.12`.
    pub runtime: Option<String>,
    /// The project's files with those of the request's own, which replace them; sorted by path.
    pub files: Vec<ProjectFile>,
    /// The arguments of the interpreter.
    pub arguments: Vec<String>,
    /// The file the results are read from; `None` for standard output.
    pub report: Option<String>,
    /// Whether the packages installed for the host's Python are to be had, read-only.
    pub packages: bool,
    /// Paths of the host the command asks to read.
    pub readable: Vec<String>,
    /// The limits asked for.
    pub limits: AskedLimits,
    /// What of the tests the receipt shows.
    pub reveal: Reveal,
}

impl Command {
    /// Whether the command is a test runner that was told to report on its standard output.
    pub(crate) fn prints_report(&self) -> bool {
        let told = |reporter: &str| self.arguments.iter().any(|word| word == reporter);
        let elsewhere = self.arguments.iter().any(|word| word.starts_with("--test-reporter-destination"));
        told("--test") && (told(TAP_REPORTER) || told("--test-reporter=junit")) && !elsewhere
    }
}
