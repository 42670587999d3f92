//! What the sandbox is asked to run, and what it answers.
//!
//! A [`Job`] holds no expected output, and an [`Outcome`] no judgment: the sandbox runs programs, [`crate::Request`]
//! compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use crate::content::Content;
use crate::language::Language;

/// One program and the cases it is run on, all under the same limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The language of the program and of the expressions in the cases.
    pub language: Language,
    /// The runtime demanded, for example `python3.12`; `None` takes the one the host has.
    pub runtime: Option<String>,
    /// The installed packages that a program other than a project's command may import.
    pub packages: Vec<String>,
    /// What is run on each case.
    pub program: Program,
    /// The cases, in the order of the suite.
    pub cases: Vec<Case>,
    /// What every case may use.
    pub limits: Limits,
}

/// What a job runs on each of its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A function of the source is called; [`Case::input`] is the JSON text of its argument array, or of an object with
    /// `args`, `kwargs` and, where a method's object is constructed first, `construct` (`args` and `kwargs`). The answer is
    /// an [`End::Value`].
    Call {
        /// The submission.
        source: String,
        /// The name of the function or the class, or of a method as in `Account.deposit`.
        entrypoint: String,
    },
    /// [`Case::input`] is an expression, in which the functions of the source can be called; the answer is an [`End::Value`].
    /// It is evaluated in a process that never loads the source, or else [`CaseOutcome::inside`] says why not.
    Expression {
        /// The submission.
        source: String,
    },
    /// [`Case::input`] is an expression; all cases are evaluated in one process that never loads a submission. The
    /// answer is an [`End::Value`].
    Pristine,
    /// A project's own tests are run, once; the answer is an [`End::Ran`].
    Command(Box<Project>),
    /// [`Case::input`] is standard input; the answer is the standard output, as [`End::Text`].
    Stdio {
        /// The submission.
        source: String,
    },
}

/// The folder in which a project's command runs.
pub const PROJECT_FOLDER: &str = "/tmp/project";

/// A project and the command that tests it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Its files, which the command gets a writable copy of.
    pub files: Vec<ProjectFile>,
    /// The arguments of the language's interpreter, run in the project's folder.
    pub arguments: Vec<String>,
    /// The file that is read once the command and everything it started has ended, if the run wrote it.
    pub report: Option<String>,
    /// Whether the command gets a pipe, to tell which tests start and end: [`Written::running`].
    pub tells_tests: bool,
    /// What the command cannot run without. That a host lacks it is not the submission's fault.
    pub needs: Option<Need>,
    /// Whether the command may read the packages installed for the interpreter.
    pub packages: bool,
    /// The packages in place of these, where they were installed for a lock file.
    pub locked: Option<Locked>,
    /// The modules that it has itself, where its language is one that finds modules in more places than its files.
    pub modules: Option<OwnModules>,
    /// Where the host has it, if it is a folder of the host.
    pub origin: Option<Origin>,
    /// Folders of the host that the command finds in the project, read-only.
    pub folders: Vec<HostFolder>,
    /// Further paths of the host the command may read.
    pub readable: Vec<String>,
    /// Variables of its environment, which replace those of the sandbox.
    pub env: BTreeMap<String, String>,
}

/// What a test runner needs of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A package of Python.
    Package(&'static str),
    /// At least this version of the interpreter: its first two numbers.
    Version([u32; 2]),
    /// A file of an installed package, below the project.
    Script(String),
}

/// The modules that a Python project has itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnModules {
    /// What its distribution is called, as [`crate::normalized`] writes it, where the project says so.
    pub distribution: Option<String>,
    /// The folders beside the project's own in which its modules are, as paths below it.
    pub roots: Vec<String>,
    /// The folders of packages, and the files of other modules, as paths below a root.
    pub modules: BTreeSet<String>,
}

/// A folder of the host that was copied as a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The folder, absolute and without links on the way.
    pub folder: PathBuf,
    /// The virtual environment of Python in it, if it has one.
    pub environment: Option<HostFolder>,
}

/// Packages that were installed for a lock file, and for nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// The lock file, as a path below the project.
    pub file: String,
    /// Its digest, `sha256:` and digits.
    pub digest: String,
    /// The folder of packages of Python, if these are its packages.
    pub packages: Option<PathBuf>,
    /// Folders `node_modules`, if these are packages of Node.js.
    pub folders: Vec<HostFolder>,
}

/// A folder of the host that a project has without being submitted: packages installed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFolder {
    /// Where the host has it, without links on the way.
    pub host: PathBuf,
    /// Its path below the project, as of a [`ProjectFile`].
    pub at: String,
}

/// One file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Its path below the project: `/` between names, none of them `.` or `..`.
    pub path: String,
    pub content: Content,
}

/// One case of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the program is given; its meaning is that of the [`Program`].
    pub input: String,
    /// The wall time the case may take, measured outside the sandbox.
    pub timeout: Duration,
}

/// What a job may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory of one case with all its processes, in MiB.
    pub memory_mb: u32,
    /// Wall time of all cases together.
    pub total_timeout: Duration,
    /// Bytes one case may write to its output, and the size of one answer.
    pub output_bytes: usize,
    /// Processes and threads one case may have at a time.
    pub processes: u32,
    /// Size of a private, writable `/tmp` of one case, in MiB; 0 for no writable place.
    pub disk_mb: u32,
}

/// What came of running a [`Job`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The runtime that ran it, for example `python3.11`, `node20` or `bash5.2`.
    pub runtime: String,
    /// The isolation in force, one word for each means.
    pub isolation: Vec<String>,
    /// What each case was allowed, for messages.
    pub limits: Limits,
    /// What a project's command could import besides its files; `None` if no command was to run.
    pub environment: Option<Environment>,
    /// How each case ended, in the order of [`Job::cases`].
    pub cases: Vec<CaseOutcome>,
}

/// The packages of a project's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Which Python environment the packages belong to; `None` if the command was shown no packages.
    pub from: Option<PackagesFrom>,
    /// Folders of the project that were added to where modules are looked for, behind the packages.
    pub added: Vec<String>,
    /// The folders of the host that have these packages, in the order in which they are searched.
    pub packages: Vec<PathBuf>,
    /// The interpreter and its own library on the host; `None` if its modules are spread among the host's programs.
    pub library: Option<Vec<PathBuf>>,
    /// The whole version of the interpreter.
    pub version: String,
}

/// Whose packages they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackagesFrom {
    /// The virtual environment in this folder of the project.
    Project(String),
    /// A virtual environment elsewhere.
    Venv,
    /// One that was built from a lock file.
    Lock,
    /// The interpreter itself.
    Host,
}

/// How one case ended, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    pub end: End,
    /// The wall time it took, measured outside the sandbox.
    pub elapsed: Duration,
    /// The wall time it was allowed, for messages.
    pub timeout: Duration,
    pub written: Written,
    /// Why an expression was evaluated in the namespace of the submission, whose code could decide its value. `None` for all
    /// other cases.
    pub inside: Option<&'static str>,
}

/// How much of each stream of a case is kept, in bytes.
pub const MAX_WRITTEN_BYTES: usize = 1 << 10;

/// How much is kept of what a test runner tells of its tests, in bytes.
pub const MAX_RUNNING_BYTES: usize = 1 << 16;

/// The last of what a case wrote beside its answer. The submission chooses every byte of it, so no verdict depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Standard output; nothing where it is the answer.
    pub stdout: Tail,
    pub stderr: Tail,
    /// What a test runner told of its tests until it was stopped: a line `+name` for one that starts, `-name` for one that ends.
    /// The end of it, of at most [`MAX_RUNNING_BYTES`].
    pub running: Vec<u8>,
}

/// The end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// At most [`MAX_WRITTEN_BYTES`].
    pub bytes: Vec<u8>,
    /// How many bytes before them are not kept.
    pub left_out: u64,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It answered with the wire text of one value, not yet decoded: see [`crate::Value::decode`].
    Value(Vec<u8>),
    /// It wrote this to its standard output and ended with status 0.
    Text(Vec<u8>),
    /// The command ended by itself.
    Ran {
        /// Its exit status.
        status: i32,
        /// What it wrote to its standard output.
        output: Vec<u8>,
        /// The end of what it wrote to its standard error.
        errors: Vec<u8>,
        /// The report file; `None` if it is missing or unreadable.
        report: Option<Vec<u8>>,
    },
    /// It ended with an exception.
    Raised {
        /// The type of the exception.
        kind: String,
        /// Its text; a line for each exception that led to it may follow.
        text: String,
        /// The line of the submission where it was raised, as the submission's process says.
        line: Option<u32>,
        /// Where the call or the expression itself raised it, not what came before: the names of its type and of those that
        /// one is derived from. Otherwise empty.
        types: Vec<String>,
    },
    /// It took longer than [`Case::timeout`].
    Timeout,
    /// It was stopped, or never started, because [`Limits::total_timeout`] was used up.
    TotalTimeout,
    /// It went past [`Limits::memory_mb`].
    MemoryLimit,
    /// It went past [`Limits::output_bytes`].
    OutputLimit,
    /// It was killed by this signal.
    Signal(i32),
    /// It ended with this status before it answered (or, for [`Program::Stdio`], with a status other than 0).
    Exit(i32),
    /// It gave no answer that can be read, by its own doing.
    NoAnswer(String),
    /// It could not be run for a reason outside the submission: runtime missing, isolation unavailable, broken sandbox.
    Unavailable(String),
}
