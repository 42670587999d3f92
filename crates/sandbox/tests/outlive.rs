//! A submission does not outlive its supervisor, whatever ends that and whatever
//! the submission does about it; and nothing of the supervisor's memory is in its
//! cell.

#![allow(
    unreachable_pub,
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/leftovers.rs"]
mod leftovers;
#[path = "support/levels.rs"]
mod levels;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leftovers::HostState;
use proofmark_checks::{Case, Job, Language, Limits, Program, Project, ProjectFile};
use proofmark_sandbox::{Host, Level, Watch};

/// Longer than any test may take.
const NEVER: Duration = Duration::from_secs(3_600);
/// How long a loaded machine may take to start or end a few processes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The processes [`STUBBORN`] makes.
const FAMILY: usize = 4;

/// Clears the signal it gets when its parent dies, ignores all others, and hides
/// behind a daemon and a memory of its own.
const STUBBORN: &str = r#"
import ctypes, os, signal, time
def f(x=0):
    def harden():
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
    harden()
    keep = bytearray(8 << 20)
    for _ in range(3):
        if os.fork() == 0:
            harden()
            os.setsid()
            if os.fork():
                os._exit(0)
            harden()
            os.setsid()
            break
    while True:
        time.sleep(600)
"#;

fn job(mode: &str) -> Job {
    let disk_mb = if matches!(mode, "call with disk" | "command") { 8 } else { 0 };
    let program = match mode {
        "stdio" => Program::Stdio { source: format!("{STUBBORN}\nf()\n") },
        "command" => {
            let content = format!("{STUBBORN}\nf()\n").into_bytes();
            let arguments = ["-u", "stubborn.py"].map(str::to_owned).to_vec();
            let files = vec![ProjectFile { path: "stubborn.py".to_owned(), content: content.into() }];
            Program::Command(Box::new(Project { files, arguments, ..Project::default() }))
        }
        _ => Program::Call { source: STUBBORN.to_owned(), entrypoint: "f".to_owned() },
    };
    let cases = vec![Case { input: if mode == "stdio" { "" } else { "[0]" }.to_owned(), timeout: NEVER }];
    let limits = Limits { memory_mb: 256, total_timeout: NEVER, output_bytes: 1 << 16, processes: 32, disk_mb };
    Job { language: Language::Python, runtime: None, packages: vec![], program, cases, limits }
}

/// The tests count what this process has started, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

const ROLE: &str = "PROOFMARK_TEST_SUPERVISOR";

/// Not a test: the supervisor that another one starts and ends.
#[test]
#[ignore = "started by the tests of this file"]
fn supervisor() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (level, mode) = role.split_once(' ').unwrap();
    Host::probe(Some(level.parse().unwrap())).worker().run(&job(mode));
}

fn start_supervisor(level: Level, mode: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "supervisor", "--ignored", "--test-threads=1"]).env(ROLE, format!("{level} {mode}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_outlives_a_supervisor_that_is_killed() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let before = HostState::now(&folder);
    for level in levels::available() {
        for mode in ["stdio", "call", "call with disk", "command"] {
            if level == Level::C && job(mode).limits.disk_mb > 0 {
                continue;
            }
            for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                let mut supervisor = start_supervisor(level, mode);
                let stubborn = || leftovers::ignoring_hangups();
                wait_until(&format!("{level} {mode}: the submission never ran"), || stubborn() >= FAMILY);
                // SAFETY: takes no pointer; the pid is of a child not yet reaped.
                unsafe { libc::kill(supervisor.id() as libc::pid_t, signal) };
                supervisor.wait().unwrap();
                let left = HostState::left_at_last(&folder, &before);
                assert!(left.is_empty(), "{level} {mode}, signal {signal}: left {left:?}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whether a process has these bytes in memory that it can read and write.
fn holds(pid: u32, wanted: &[u8]) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return false };
    maps.lines()
        .filter_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let at = |text| u64::from_str_radix(text, 16).ok();
            rest.starts_with("rw").then_some((at(start)?, at(end)?))
        })
        .any(|(start, end)| {
            let mut bytes = vec![0; (end - start) as usize];
            let count = memory.read_at(&mut bytes, start).unwrap_or(0);
            memchr::memmem::find(&bytes[..count], wanted).is_some()
        })
}

#[test]
fn no_process_of_a_cell_holds_what_its_supervisor_holds() {
    let _turn = TURN.lock();
    // Put together here, so that it is in this memory and not in the program.
    let secret: Vec<u8> = (0..32_u32).map(|at| b'a' + ((at * 7 + std::process::id()) % 26) as u8).collect();
    assert!(holds(std::process::id(), &secret), "the test cannot see memory");
    leftovers::adopt_orphans();
    for level in levels::available() {
        for mode in ["stdio", "call", "call with disk", "command"] {
            if level == Level::C && job(mode).limits.disk_mb > 0 {
                continue;
            }
            let cancelled = Arc::new(AtomicBool::new(false));
            std::thread::scope(|scope| {
                let cancel = Cancel(&cancelled);
                let flag = &cancelled;
                scope.spawn(move || {
                    let mut worker = Host::probe(Some(level)).worker();
                    worker.run_watched(&Arc::new(job(mode)), &Watch { cancelled: flag, ran: &|_| {}, offer: &|_| {} });
                });
                wait_until(&format!("{level} {mode}: the submission never ran"), || {
                    leftovers::ignoring_hangups() >= FAMILY
                });
                let pids = leftovers::descendant_pids();
                let inits = pids.iter().filter(|pid| is_init(**pid)).count();
                let holding: Vec<&u32> = pids.iter().filter(|pid| holds(**pid, &secret)).collect();
                drop(cancel);
                assert_eq!(inits, 1, "{level} {mode}: of {pids:?}");
                assert!(holding.is_empty(), "{level} {mode}: {holding:?} of {pids:?}");
            });
        }
    }
}

/// Ends the job, also where the test fails before.
struct Cancel<'a>(&'a AtomicBool);

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn is_init(pid: u32) -> bool {
    let program = std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe"));
    program.is_ok_and(|program| program.to_string_lossy().contains("proofmark-init"))
}
