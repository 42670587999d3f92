//! How each kind of program is started, and under which fixed limits.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proofmark_checks::Language;

use crate::level::Level;
use crate::runtime::Runtime;
use crate::sys;
use crate::tree::{Tree, c_string};

/// Where a whole program (mode `stdio`) stands in the tree.
const PROGRAM_PATH: &str = "/submission";

/// Where it stands where there is no tree of its own: an open file without a name.
const OPEN_PROGRAM: &str = "/proc/self/fd/3";

const PYTHON_HARNESS: &str = include_str!("harness/python.py");
const NODE_HARNESS: &str = include_str!("harness/node.js");

/// No core dump. 1 and not 0: where cores are piped to a program of the host, the
/// kernel dumps in spite of 0 (core(5)).
pub(crate) const NO_CORE: u64 = 1;
/// Open files of one process.
const MAX_FILES: u64 = 128;
/// Signals that wait, and timers: each is memory of the kernel.
const MAX_SIGNALS: u64 = 1_024;
/// Bytes of stack of one process.
const STACK_BYTES: u64 = 8 << 20;
/// Threads that node itself starts, on top of those a submission may.
const NODE_THREADS: u64 = 16;

/// A program with its arguments and environment.
pub(crate) struct Launch {
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
}

/// Our harness under this runtime: a zygote, or for a single case (`once`).
pub(crate) fn harness(runtime: &Runtime, role: &str) -> io::Result<Launch> {
    match runtime.language {
        Language::Python => launch(runtime, &["-I", "-S", "-B", "-c", PYTHON_HARNESS, role]),
        Language::JavaScript => launch(runtime, &[NODE_QUIET, "-e", NODE_HARNESS]),
        Language::Bash => Err(io::Error::other("bash has no harness")),
    }
}

/// The submission as a program of its own, reading standard input.
pub(crate) fn whole(runtime: &Runtime, file: &str) -> io::Result<Launch> {
    match runtime.language {
        Language::Python => launch(runtime, &["-I", "-S", "-B", file]),
        Language::JavaScript => launch(runtime, &[NODE_QUIET, NODE_PATH_AS_GIVEN, file]),
        Language::Bash => launch(runtime, &["--noprofile", "--norc", file]),
    }
}

const NODE_QUIET: &str = "--no-warnings";
/// Else node looks for what a file without a name is called.
const NODE_PATH_AS_GIVEN: &str = "--preserve-symlinks-main";

pub(crate) fn launch(runtime: &Runtime, arguments: &[&str]) -> io::Result<Launch> {
    let path = c_string(&runtime.path)?;
    let texts = |list: &[&str]| {
        list.iter().map(|text| CString::new(*text).map_err(io::Error::other)).collect::<io::Result<Vec<_>>>()
    };
    let mut argv = vec![path.clone()];
    argv.extend(texts(arguments)?);
    let env = texts(&[
        "PATH=/usr/bin:/bin",
        "HOME=/tmp",
        "TMPDIR=/tmp",
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "TZ=UTC",
        "PYTHONHASHSEED=0",
        "UV_THREADPOOL_SIZE=1",
        // Denied is not absent: node gives up over a configuration it may not read.
        "OPENSSL_CONF=/dev/null",
    ])?;
    Ok(Launch { path, argv, env })
}

/// The file a whole program is read from: inside the tree, or where there is no
/// tree of its own, open in the program and nowhere else. Nothing can change it, and
/// nothing is left of it, however the supervisor ends.
pub(crate) enum ProgramFile {
    Shown,
    Open(OwnedFd),
}

impl ProgramFile {
    pub(crate) fn put(level: Level, tree: &mut Tree, source: &str) -> io::Result<ProgramFile> {
        if level.has_namespaces() {
            tree.file(Path::new(PROGRAM_PATH), source.as_bytes().to_vec())?;
            return Ok(ProgramFile::Shown);
        }
        sys::memory_file(c"submission", source.as_bytes(), sys::Purpose::Read).map(ProgramFile::Open)
    }

    pub(crate) fn path(&self) -> &'static str {
        match self {
            ProgramFile::Shown => PROGRAM_PATH,
            ProgramFile::Open(_) => OPEN_PROGRAM,
        }
    }

    /// What the program must have open, after the three standard ones.
    pub(crate) fn into_descriptor(self) -> Option<OwnedFd> {
        match self {
            ProgramFile::Shown => None,
            ProgramFile::Open(file) => Some(file),
        }
    }
}

/// Limits every cell has; files may grow to `disk_mb`.
pub(crate) fn fixed_limits(disk_mb: u32) -> Vec<(u32, u64)> {
    vec![
        (libc::RLIMIT_CORE, NO_CORE),
        (libc::RLIMIT_NOFILE, MAX_FILES),
        (libc::RLIMIT_FSIZE, u64::from(disk_mb) << 20),
        (libc::RLIMIT_MEMLOCK, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
        (libc::RLIMIT_SIGPENDING, MAX_SIGNALS),
        (libc::RLIMIT_STACK, STACK_BYTES),
    ]
}

/// The limits of a program that runs a submission at once.
pub(crate) fn limits(
    language: Language,
    limits: &proofmark_checks::Limits,
    level: Level,
    cpu_seconds: u64,
) -> Vec<(u32, u64)> {
    // Without a user namespace the kernel counts everything the user runs.
    let others = if level.has_namespaces() || sys::effective_uid() == 0 { 0 } else { tasks_of_user() };
    let mut all = fixed_limits(limits.disk_mb);
    all.extend([
        (libc::RLIMIT_DATA, data_bytes(language, limits)),
        (libc::RLIMIT_NPROC, tasks(language, limits) + others),
        (libc::RLIMIT_CPU, cpu_seconds),
    ]);
    all
}

/// How many processes and threads a case may have, with those of its interpreter
/// and the init of its cell.
pub(crate) fn tasks(language: Language, limits: &proofmark_checks::Limits) -> u64 {
    let own_threads = if language == Language::JavaScript { NODE_THREADS } else { 0 };
    let init = 1;
    u64::from(limits.processes) + own_threads + init
}

/// How many processes and threads the supervisor's user has now.
fn tasks_of_user() -> u64 {
    let uid = sys::effective_uid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == uid));
    own.map(|entry| fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64)).sum()
}

/// Bytes of writable memory one process may map. Node reserves far more than it
/// uses; its real use is what the supervisor adds up.
pub(crate) fn data_bytes(language: Language, limits: &proofmark_checks::Limits) -> u64 {
    let asked = u64::from(limits.memory_mb) << 20;
    match language {
        Language::JavaScript => asked.saturating_add(1 << 30),
        Language::Python | Language::Bash => asked,
    }
}

/// `/dev/null`, to read or to write.
pub(crate) fn null(write: bool) -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(!write).write(write).open("/dev/null")?.into())
}
