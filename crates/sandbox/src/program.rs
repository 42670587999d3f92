//! How each kind of program is started, and under which fixed limits.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proofmark_checks::Limits;

use crate::core_dumps::no_core;
use crate::files::most_files;
use crate::level::Level;
use crate::runtime::Runtime;
use crate::sys;
use crate::toolchain::{self, Toolchain};
use crate::tree::{Tree, c_string};

/// Where a whole program (mode `stdio`) stands in the tree.
const PROGRAM_PATH: &str = "/submission";

/// Its path where the cell has no tree of its own: an open file without a name.
const OPEN_PROGRAM: &str = "/proc/self/fd/3";

/// Open files of one process.
const MAX_FILES: u64 = 128;
/// The same of a project's command.
const MAX_COMMAND_FILES: u64 = 16_384;
/// Signals that wait, and timers: each is memory of the kernel.
const MAX_SIGNALS: u64 = 1_024;
/// Bytes of stack of one process.
const STACK_BYTES: u64 = 8 << 20;
/// A program with its arguments and environment.
pub(crate) struct Launch {
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
}

/// The harness of a runtime, which runs one case.
pub(crate) fn harness_once(runtime: &Runtime) -> io::Result<Launch> {
    harness(runtime, &[], "once")
}

/// The harness of a runtime, which forks one case after another.
pub(crate) fn harness_zygote(runtime: &Runtime) -> io::Result<Launch> {
    harness(runtime, runtime.toolchain().trial.as_ref().map_or(&[], |trial| trial.arguments), "zygote")
}

fn harness(runtime: &Runtime, first: &[&str], role: &str) -> io::Result<Launch> {
    let toolchain = runtime.toolchain();
    let arguments = toolchain.harness.ok_or_else(|| io::Error::other(format!("{} has no harness", toolchain.name)))?;
    if !toolchain.forks {
        return launch(runtime, arguments);
    }
    let folders = runtime.installed.folders().iter().map(|folder| text_of(folder)).collect::<io::Result<Vec<_>>>()?;
    let mut launch = launch(runtime, &[first, arguments, &[role, runtime.modules], &folders].concat())?;
    launch.env.extend(package_variables(runtime)?);
    Ok(launch)
}

fn text_of(folder: &Path) -> io::Result<&str> {
    folder.to_str().ok_or_else(|| io::Error::other("the folder of the packages is not UTF-8 text"))
}

/// What programs find in their environment where they may import packages.
fn package_variables(runtime: &Runtime) -> io::Result<Vec<CString>> {
    let folders = runtime.installed.folders();
    let Some(packages) = runtime.toolchain().packages.as_ref().filter(|_| !folders.is_empty()) else {
        return Ok(Vec::new());
    };
    let folders = folders.iter().map(|folder| text_of(folder)).collect::<io::Result<Vec<_>>>()?;
    let found = format!("{}={}", packages.variable, folders.join(":"));
    let variables = packages.variables.iter().map(ToString::to_string).chain([found]);
    variables.map(|variable| CString::new(variable).map_err(io::Error::other)).collect()
}

/// The submission as a program of its own, reading standard input.
pub(crate) fn whole(runtime: &Runtime, file: &str) -> io::Result<Launch> {
    let toolchain = runtime.toolchain();
    let packages = toolchain.packages.as_ref().filter(|_| !runtime.installed.folders().is_empty());
    let arguments = packages.map_or(toolchain.whole, |packages| packages.whole);
    let mut launch = launch(runtime, &[arguments, &[file]].concat())?;
    launch.env.extend(package_variables(runtime)?);
    Ok(launch)
}

/// What every program finds in its environment.
const VARIABLES: [&str; 6] =
    ["PATH=/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC"];

pub(crate) fn launch(runtime: &Runtime, arguments: &[&str]) -> io::Result<Launch> {
    let path = c_string(&runtime.path)?;
    let text = |text: &str| CString::new(text).map_err(io::Error::other);
    let arguments = arguments.iter().map(|argument| text(argument));
    let argv = [Ok(path.clone())].into_iter().chain(arguments).collect::<io::Result<_>>()?;
    // A bash script may run the interpreters of the other languages, so it gets the variables of all.
    let variables = VARIABLES.iter().chain(toolchain::all().flat_map(|toolchain| toolchain.variables));
    let env = variables.map(|variable| text(variable)).collect::<io::Result<_>>()?;
    Ok(Launch { path, argv, env })
}

/// The file a whole program is read from: inside the tree, or where there is no
/// tree of its own, open in the program and nowhere else. Nothing can change it, and
/// nothing is left of it, however the supervisor ends.
pub(crate) enum ProgramFile {
    Shown(String),
    Open(OwnedFd),
}

impl ProgramFile {
    /// The file that the supervisor fills for each job, in a tree that lasts longer than one.
    pub(crate) fn refilled(tree: &mut Tree, extension: &str) -> io::Result<ProgramFile> {
        let path = format!("{PROGRAM_PATH}{extension}");
        tree.rewritten_file(Path::new(&path))?;
        Ok(ProgramFile::Shown(path))
    }

    /// The file of a whole program, whose name ends with `extension` where the cell has a tree of its own.
    pub(crate) fn put(level: Level, tree: &mut Tree, source: &str, extension: &str) -> io::Result<ProgramFile> {
        if level.has_namespaces() {
            let path = format!("{PROGRAM_PATH}{extension}");
            tree.file(Path::new(&path), source.as_bytes().to_vec())?;
            return Ok(ProgramFile::Shown(path));
        }
        sys::memory_file(c"submission", source.as_bytes(), sys::Purpose::Read).map(ProgramFile::Open)
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            ProgramFile::Shown(path) => path,
            ProgramFile::Open(_) => OPEN_PROGRAM,
        }
    }

    /// What the program must have open, after the three standard ones.
    pub(crate) fn into_descriptor(self) -> Option<OwnedFd> {
        match self {
            ProgramFile::Shown(_) => None,
            ProgramFile::Open(file) => Some(file),
        }
    }
}

/// Limits every cell has; files may grow to `disk_mb`.
pub(crate) fn fixed_limits(disk_mb: u32) -> Vec<(u32, u64)> {
    vec![
        (libc::RLIMIT_CORE, no_core()),
        (libc::RLIMIT_NOFILE, MAX_FILES),
        (libc::RLIMIT_FSIZE, u64::from(disk_mb) << 20),
        (libc::RLIMIT_MEMLOCK, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
        (libc::RLIMIT_SIGPENDING, MAX_SIGNALS),
        (libc::RLIMIT_STACK, STACK_BYTES),
    ]
}

/// The limits of a program that runs a submission at once.
pub(crate) fn limits(toolchain: &Toolchain, limits: &Limits, level: Level, cpu_seconds: u64) -> Vec<(u32, u64)> {
    // Without a user namespace the kernel counts everything the user runs.
    let others = if level.has_namespaces() || sys::effective_uid() == 0 { 0 } else { tasks_of_user() };
    let mut all = fixed_limits(limits.disk_mb);
    all.extend([
        (libc::RLIMIT_DATA, data_bytes(toolchain, limits)),
        (libc::RLIMIT_NPROC, tasks(toolchain, limits) + others),
        (libc::RLIMIT_CPU, cpu_seconds),
    ]);
    all
}

/// The limits of a project's command, which are those of real test suites.
pub(crate) fn command_limits(toolchain: &Toolchain, asked: &Limits, level: Level, cpu_seconds: u64) -> Vec<(u32, u64)> {
    // Each thread reserves a stack. What is used of them, and of the rest, is counted for all processes together.
    let stacks = u64::from(asked.processes).saturating_mul(STACK_BYTES);
    // The limit of this process cannot be raised for another.
    let files = most_files().min(MAX_COMMAND_FILES);
    let mut all = limits(toolchain, asked, level, cpu_seconds);
    for (resource, value) in &mut all {
        match *resource {
            libc::RLIMIT_DATA => *value = value.saturating_add(stacks),
            libc::RLIMIT_NOFILE => *value = files,
            _ => {}
        }
    }
    all
}

/// How many processes and threads a case may have, with those of its interpreter and the init of its cell.
pub(crate) fn tasks(toolchain: &Toolchain, limits: &Limits) -> u64 {
    let init = 1;
    u64::from(limits.processes) + toolchain.threads + init
}

/// How many processes and threads the supervisor's user has now.
fn tasks_of_user() -> u64 {
    let uid = sys::effective_uid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == uid));
    own.map(|entry| fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64)).sum()
}

/// Bytes of writable memory one process may map.
pub(crate) fn data_bytes(toolchain: &Toolchain, limits: &Limits) -> u64 {
    (u64::from(limits.memory_mb) << 20).saturating_add(toolchain.reserved_bytes)
}

/// `/dev/null`, to read or to write.
pub(crate) fn null(write: bool) -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(!write).write(write).open("/dev/null")?.into())
}
