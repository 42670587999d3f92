//! Whole projects: a tree of files, and the command that runs its tests.

mod demanded;
mod expand;
mod held;
mod modules;
mod named;
mod program;
mod read;
mod script;
mod settings;
mod tree;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use held::{Held, MAX_HELD_GLOBS, glob_texts};
pub use modules::normalized;
pub(crate) use modules::own_modules;
pub(crate) use read::read;
pub use script::Script;
pub use settings::{PROJECT_SETTINGS, check_settings};
pub use tree::{TreeEntry, TreeEntryKind, TreeError, tree_entries};
pub use words::MAX_WORDS;

use crate::caps::MAX_TOTAL_TIMEOUT;
use crate::job::ProjectFile;
use crate::language::Language;
use crate::reporting::{Report, Runner};
use crate::suite::{AskedLimits, Reveal};

/// Memory of a command where `limits.memory_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_MEMORY_MB: u32 = 2_048;
/// Processes and threads of a command where `limits.processes` is not given.
pub const DEFAULT_COMMAND_PROCESSES: u32 = 4_096;
/// Time of a command where `limits.timeout_ms` is not given.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(60_000);

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
    /// The paths of the request's own files among them, which no submission replaces.
    pub held: BTreeSet<String>,
    /// Why nothing is run.
    pub unusable: Option<Unusable>,
    /// The words of the command as the request has them.
    pub words: Vec<String>,
    /// The arguments of the interpreter.
    pub arguments: Vec<String>,
    /// The test runner, where the command names one that is known.
    pub runner: Option<Runner>,
    /// The paths of the files among them that make the runner report.
    pub reporters: Vec<&'static str>,
    /// The script of an installed package that the command runs, below the project.
    pub script: Option<String>,
    /// The files and folders that its words name.
    pub named: Vec<String>,
    /// What the request says of a second run, with wrong expectations.
    pub counter_run: CounterSetting,
    /// What the results are read from.
    pub report: Report,
    /// The tests that have to pass; where there are any, no others count.
    pub demanded: Vec<String>,
    /// How skipped tests count.
    pub skipped: SkipPolicy,
    /// The installed packages that the command may read.
    pub packages: Packages,
    /// Paths of the host the command asks to read.
    pub readable: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    pub limits: AskedLimits,
    /// What of the tests the receipt shows.
    pub reveal: Reveal,
}

impl Command {
    /// The time that the command may take, before the host's caps.
    pub fn timeout(&self) -> Duration {
        // A command is the only case of its job, so the cap is that of all checks together.
        let asked = self.limits.timeout.or(self.limits.total_timeout);
        asked.unwrap_or(DEFAULT_COMMAND_TIMEOUT).min(MAX_TOTAL_TIMEOUT)
    }
}

/// The installed packages that a command may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Packages {
    #[default]
    None,
    /// Those that the host has for the project.
    Installed,
    /// Those that a lock file of the project names; `None` for the one that the project has.
    Lock(Option<String>),
}

/// What a request says of its counter-run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSetting {
    /// Whether there has to be one, or may be none; `None` where the request says neither.
    pub asked: Option<bool>,
    /// The names of tests that may pass with a wrong expectation.
    pub except: BTreeSet<String>,
}

/// Why a command is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Whether the request is at fault, and not the submission.
    pub by_request: bool,
    pub message: String,
    /// The file that the command names and nobody gave.
    pub missing: Option<MissingFile>,
}

/// A file that a command names and the project does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    pub path: String,
    /// The file of the project whose path is most similar.
    pub nearest: Option<String>,
}

/// How tests count that a report calls skipped, to do or expected to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkipPolicy {
    /// They do not count as checks. The receipt names them with their reasons.
    #[default]
    Ignore,
    /// Each is a check without an answer, so the verdict is not a pass.
    Partial,
    /// Each is a failed check, and the verdict is `fail`.
    Fail,
}

impl SkipPolicy {
    /// The policies with their words.
    pub const WORDS: [(&str, SkipPolicy); 3] =
        [("ignore", SkipPolicy::Ignore), ("partial", SkipPolicy::Partial), ("fail", SkipPolicy::Fail)];

    /// The word that requests and receipts use.
    pub fn as_str(self) -> &'static str {
        match self {
            SkipPolicy::Ignore => "ignore",
            SkipPolicy::Partial => "partial",
            SkipPolicy::Fail => "fail",
        }
    }
}
