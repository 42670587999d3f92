//! How each kind of program is started, and under which fixed limits.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proofmark_checks::Language;

use crate::level::Level;
use crate::runtime::Runtime;
use crate::sys;
use crate::tree::{Tree, c_string};

/// Where a whole program (mode `stdio`) stands in the tree.
const PROGRAM_PATH: &str = "/submission";

const PYTHON_HARNESS: &str = include_str!("harness/python.py");
const NODE_HARNESS: &str = include_str!("harness/node.js");

/// No core dump. 1 and not 0: where cores are piped to a program of the host, the
/// kernel dumps in spite of 0 (core(5)).
pub(crate) const NO_CORE: u64 = 1;
/// Open files of one process.
const MAX_FILES: u64 = 128;
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
        Language::JavaScript => launch(runtime, &[NODE_QUIET, file]),
        Language::Bash => launch(runtime, &["--noprofile", "--norc", file]),
    }
}

const NODE_QUIET: &str = "--no-warnings";

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
/// tree of its own, in a private folder of the host that goes with this value.
pub(crate) struct ProgramFile {
    folder: Option<PathBuf>,
    path: String,
}

impl ProgramFile {
    pub(crate) fn new(level: Level) -> io::Result<ProgramFile> {
        if level.has_namespaces() {
            return Ok(ProgramFile { folder: None, path: PROGRAM_PATH.to_owned() });
        }
        let folder = sys::private_folder()?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let path = folder.join("submission").to_string_lossy().into_owned();
        Ok(ProgramFile { folder: Some(folder), path })
    }

    /// Writes the program, or plans to, and lets the tree show it.
    pub(crate) fn put(&self, tree: &mut Tree, source: &str) -> io::Result<()> {
        if self.folder.is_none() {
            return tree.file(Path::new(&self.path), source.as_bytes().to_vec());
        }
        fs::write(&self.path, source)?;
        tree.show(Path::new(&self.path))
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for ProgramFile {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _left_behind_is_harmless = fs::remove_dir_all(folder);
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
    let own_threads = if language == Language::JavaScript { NODE_THREADS } else { 0 };
    let mut all = fixed_limits(limits.disk_mb);
    all.extend([
        (libc::RLIMIT_DATA, data_bytes(language, limits)),
        (libc::RLIMIT_NPROC, u64::from(limits.processes) + own_threads + others),
        (libc::RLIMIT_CPU, cpu_seconds),
    ]);
    all
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
