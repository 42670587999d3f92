//! Workers side by side do not see each other, and what is unavailable is named.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/leftovers.rs"]
mod leftovers;
#[path = "support/levels.rs"]
mod levels;

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Program};
use proofmark_sandbox::{Host, Level};

/// The tests look at what the whole process holds, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn job(language: Language, program: Program, input: &str, disk_mb: u32) -> Job {
    Job {
        language,
        runtime: None,
        packages: vec![],
        program,
        cases: vec![Case { input: input.to_owned(), timeout: Duration::from_secs(10) }],
        limits: Limits {
            memory_mb: 64,
            total_timeout: Duration::from_secs(60),
            output_bytes: 1 << 16,
            processes: 16,
            disk_mb,
        },
    }
}

fn python(source: &str, input: &str, disk_mb: u32) -> Job {
    job(Language::Python, Program::Call { source: source.to_owned(), entrypoint: "f".to_owned() }, input, disk_mb)
}

fn value(end: &End) -> String {
    match end {
        End::Value(wire) => String::from_utf8_lossy(wire).into_owned(),
        other => format!("{other:?}"),
    }
}

/// The levels with namespaces that this host has.
fn with_namespaces() -> Vec<Level> {
    levels::available().into_iter().filter(|level| *level != Level::C).collect()
}

/// Runs the two programs at the same time, each in a worker of its own, several
/// times over; every answer of both.
fn side_by_side(level: Level, jobs: [Job; 2]) -> Vec<String> {
    let host = Host::probe(Some(level));
    let barrier = Arc::new(Barrier::new(2));
    let threads = jobs.map(|job| {
        let (host, barrier) = (host.clone(), Arc::clone(&barrier));
        std::thread::spawn(move || {
            let mut worker = host.worker();
            let mut answers = Vec::new();
            for _ in 0..3 {
                barrier.wait();
                answers.extend(worker.run(&job).cases.iter().map(|case| value(&case.end)));
            }
            answers
        })
    });
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

const MARKS: &str = r#"
import os, socket, time
def f(mine, other):
    seen = []
    try:
        os.symlink("x", "/tmp/hostile-" + mine)
    except OSError:
        pass
    try:
        socket.socket(socket.AF_UNIX)
        seen.append("socket")
    except OSError:
        pass
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        if "hostile-" + other in os.listdir("/tmp"):
            seen.append("file")
        time.sleep(0.01)
    return seen
"#;

#[test]
fn workers_do_not_see_files_of_each_other_and_make_no_sockets() {
    let _turn = TURN.lock();
    for level in with_namespaces() {
        for disk_mb in [0, 4] {
            let jobs = [python(MARKS, r#"["a","b"]"#, disk_mb), python(MARKS, r#"["b","a"]"#, disk_mb)];
            assert_eq!(side_by_side(level, jobs), ["[]"; 6], "level {level}, disk {disk_mb}");
        }
    }
}

const KILLER: &str = r"
import os, signal, time
def f():
    reached = 0
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        for pid in list(range(2, 300)) + [-1]:
            try:
                os.kill(pid, signal.SIGKILL)
                reached += 1
            except OSError:
                pass
        time.sleep(0.01)
    return reached
";

const VICTIM: &str = r"
import os, time
def f():
    children = [os.fork() for _ in range(1)]
    if children[0] == 0:
        time.sleep(0.3)
        os._exit(5)
    return os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1])
";

#[test]
fn workers_do_not_reach_processes_of_each_other() {
    let _turn = TURN.lock();
    for level in with_namespaces() {
        let answers = side_by_side(level, [python(KILLER, "[]", 0), python(VICTIM, "[]", 0)]);
        assert_eq!(answers[..3], ["0"; 3], "level {level}: the killer");
        assert_eq!(answers[3..], ["5"; 3], "level {level}: the victim");
    }
}

const WATCHER: &str = r#"
import ctypes, os, time
def f():
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK)
    if fd < 0:
        return 0
    folder = os.path.dirname(os.__file__)
    for name in ("", "/wave.py", "/chunk.py"):
        libc.inotify_add_watch(fd, (folder + name).encode(), 0xFFF)
    events, end = 0, time.monotonic() + 0.5
    while time.monotonic() < end:
        try:
            events += len(os.read(fd, 65536))
        except OSError:
            pass
        time.sleep(0.01)
    return events
"#;

const WATCHED: &str = r"
import time
def f():
    time.sleep(0.2)
    import wave
    return 0
";

#[test]
fn workers_do_not_watch_what_others_read() {
    let _turn = TURN.lock();
    for level in with_namespaces() {
        assert_eq!(
            side_by_side(level, [python(WATCHER, "[]", 0), python(WATCHED, "[]", 0)]),
            ["0"; 6],
            "level {level}"
        );
    }
}

const LOCKER: &str = r"
import fcntl, os, time
def f():
    fd = os.open(os.__file__, os.O_RDONLY)
    met = 0
    for _ in range(20):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            met += 1
        except OSError:
            pass
        time.sleep(0.01)
    return met
";

#[test]
fn workers_do_not_signal_each_other_by_locks() {
    let _turn = TURN.lock();
    for level in with_namespaces() {
        assert_eq!(side_by_side(level, [python(LOCKER, "[]", 0), python(LOCKER, "[]", 0)]), ["0"; 6], "level {level}");
    }
}

#[test]
fn a_runtime_the_host_lacks_is_named_with_what_was_found() {
    let _turn = TURN.lock();
    let host = Host::probe(None);
    let mut job = python("def f(): return 1", "[]", 0);
    job.runtime = Some("python3.99".to_owned());
    let outcome = host.worker().run(&job);
    let End::Unavailable(why) = &outcome.cases[0].end else { panic!("{outcome:?}") };
    let found = host.runtimes().into_iter().find(|runtime| runtime.language == Language::Python).unwrap();
    assert!(why.contains("`python3.99`") && why.contains(&found.name), "{why}");
    assert!(outcome.isolation.is_empty() && outcome.runtime.is_empty(), "{outcome:?}");
}

#[test]
fn a_level_that_is_not_there_runs_nothing() {
    let _turn = TURN.lock();
    for (level, lacking) in Host::survey() {
        let host = Host::probe(Some(level));
        let outcome = host.worker().run(&python("def f(): return 1", "[]", 0));
        match lacking {
            None => {
                assert_eq!(host.level(), Ok(level));
                assert_eq!(value(&outcome.cases[0].end), "1");
                assert!(outcome.isolation.contains(&format!("level:{level}")), "{outcome:?}");
            }
            Some(_) => assert!(matches!(outcome.cases[0].end, End::Unavailable(_)), "{outcome:?}"),
        }
    }
}

#[test]
fn memory_of_the_supervisor_does_not_count_as_memory_of_a_case() {
    let _turn = TURN.lock();
    let ballast = vec![1_u8; 400 << 20];
    for level in levels::available() {
        let mut worker = Host::probe(Some(level)).worker();
        let job = python("import time\ndef f():\n    time.sleep(0.2)\n    return 1", "[]", 0);
        let outcome = worker.run(&job);
        assert_eq!(value(&outcome.cases[0].end), "1", "level {level}");
    }
    assert_eq!(ballast.len(), 400 << 20);
}

#[test]
fn workers_that_come_and_go_leave_nothing() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let host = Host::probe(None);
    let start = HostState::now(&folder);
    for _ in 0..5 {
        let host = host.clone();
        let thread = std::thread::spawn(move || {
            let mut worker = host.worker();
            value(&worker.run(&python("def f(): return 1", "[]", 0)).cases[0].end)
        });
        assert_eq!(thread.join().unwrap(), "1");
    }
    let left = HostState::left_at_last(&folder, &start);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(left.is_empty(), "{left:?}");
}
