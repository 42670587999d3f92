//! A cancelled job ends, with everything it started.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/leftovers.rs"]
mod leftovers;
#[path = "support/levels.rs"]
mod levels;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Program, Project, ProjectFile};
use proofmark_sandbox::{Host, Level, Watch};

/// Longer than any test may take: a case that ends by it was not cancelled.
const NEVER: Duration = Duration::from_secs(3_600);

const FAMILY: &str = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'while True: pass'])\n";

fn job(program: Program, inputs: &[&str], disk_mb: u32) -> Job {
    let limits = Limits { memory_mb: 256, total_timeout: NEVER, output_bytes: 1 << 16, processes: 64, disk_mb };
    Job {
        language: Language::Python,
        runtime: None,
        packages: vec![],
        program,
        cases: inputs.iter().map(|input| Case { input: (*input).to_owned(), timeout: NEVER }).collect(),
        limits,
    }
}

fn endless() -> Vec<(&'static str, Job)> {
    let call = "def f(x):\n    while x: pass\n    return x";
    let arguments = ["-u", "endless.py"].map(str::to_owned).to_vec();
    let content = format!("{FAMILY}while True: pass").into_bytes();
    let files = vec![ProjectFile { path: "endless.py".to_owned(), content: content.into() }];
    let project = Project { files, arguments, ..Project::default() };
    let source =
        format!("if input() == '1':\n    {}\n    while True: pass", FAMILY.replace('\n', "; ").trim_end_matches("; "));
    vec![
        ("call", job(Program::Call { source: call.to_owned(), entrypoint: "f".to_owned() }, &["[0]", "[1]", "[0]"], 0)),
        ("expression", job(Program::Expression { source: call.to_owned() }, &["f(0)", "f(1)", "f(0)"], 0)),
        ("stdio", job(Program::Stdio { source }, &["0", "1", "0"], 0)),
        ("pristine", job(Program::Pristine, &["[x for x in iter(int, 1)]"], 0)),
        ("command", job(Program::Command(Box::new(project)), &[""], 8)),
    ]
}

/// The tests count what this process has started, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn a_cancelled_job_ends_and_leaves_nothing() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    for level in levels::available() {
        let host = Host::probe(Some(level));
        let mut worker = host.worker();
        let quick =
            job(Program::Call { source: "def f(x): return x+1".to_owned(), entrypoint: "f".to_owned() }, &["[1]"], 0);
        worker.run(&quick);
        worker.run(&job(Program::Stdio { source: String::new() }, &[""], 0));
        let before = HostState::now(&folder);
        for (name, job) in endless() {
            let job = Arc::new(job);
            if job.limits.disk_mb > 0 && level == Level::C {
                continue;
            }
            let (cancelled, ran) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
            let outcome = std::thread::scope(|scope| {
                // The call that never ends is the second, where there are several.
                let flag = &cancelled;
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(400));
                    flag.store(true, Ordering::Relaxed);
                });
                let ran = |count| ran.store(count, Ordering::Relaxed);
                worker.run_watched(&job, &Watch { cancelled: &cancelled, ran: &ran, offer: &|_| {} })
            });
            let cut = |end: &End| matches!(end, End::Unavailable(why) if why.contains("cancelled"));
            let last = outcome.cases.last().unwrap();
            assert!(cut(&last.end), "{level} {name}: {outcome:?}");
            assert_eq!(ran.load(Ordering::Relaxed), job.cases.len(), "{level} {name}");
            let left = HostState::now(&folder).left_since(&before);
            assert!(left.is_empty(), "{level} {name}: {left:?}");
            let after = worker.run(&quick);
            assert_eq!(after.cases.first().unwrap().end, End::Value(b"2".to_vec()), "{level} {name}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_cancelled_before_it_starts_does_not_start() {
    let _turn = TURN.lock();
    let mut worker = Host::probe(None).worker();
    for (name, job) in endless() {
        let job = Arc::new(job);
        let cancelled = Arc::new(AtomicBool::new(true));
        let outcome = worker.run_watched(&job, &Watch { cancelled: &cancelled, ran: &|_| {}, offer: &|_| {} });
        assert!(outcome.cases.iter().all(|case| matches!(case.end, End::Unavailable(_))), "{name}: {outcome:?}");
    }
}
