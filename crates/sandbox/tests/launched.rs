//! Whole programs, and harnesses that do not fork, start one after another in a warm cell that outlives jobs.

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

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Program};
use proofmark_sandbox::{Host, Level, Worker};

const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than any test may take.
const NEVER: Duration = Duration::from_secs(3_600);
/// More than one launcher starts.
const MANY: usize = 2_100;

/// The tests count what this process has started, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn job(language: Language, program: Program, inputs: &[&str]) -> Job {
    let limits = Limits { memory_mb: 256, total_timeout: NEVER, output_bytes: 1 << 16, processes: 32, disk_mb: 0 };
    Job {
        language,
        runtime: None,
        packages: vec![],
        program,
        cases: inputs.iter().map(|input| Case { input: (*input).to_owned(), timeout: PATIENCE }).collect(),
        limits,
    }
}

fn bash(source: &str, inputs: &[&str]) -> Job {
    job(Language::Bash, Program::Stdio { source: source.to_owned() }, inputs)
}

/// The answer of the only case.
fn answer(worker: &mut Worker, job: &Job) -> String {
    match worker.run(job).cases.remove(0).end {
        End::Text(text) | End::Value(text) => String::from_utf8_lossy(&text).trim_end().to_owned(),
        other => format!("{other:?}"),
    }
}

fn with_namespaces() -> Vec<Level> {
    levels::available().into_iter().filter(|level| *level != Level::C).collect()
}

/// The processes that run a launcher: between cases one for each warm cell, and in a case that and the init of the case.
fn launchers() -> Vec<u32> {
    let program = |pid: u32| std::fs::read_link(PathBuf::from(format!("/proc/{pid}/exe"))).unwrap_or_default();
    leftovers::descendant_pids()
        .into_iter()
        .filter(|pid| program(*pid).to_string_lossy().contains("proofmark-launcher"))
        .collect()
}

fn kill(pid: u32) {
    // SAFETY: takes no pointer; the process is a descendant of this one.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) }, 0);
}

#[test]
fn a_job_sees_its_own_program_and_nothing_of_the_job_before() {
    let _turn = TURN.lock();
    let show = "wc -c < /submission; cat /submission";
    for level in levels::available() {
        let mut worker = Host::probe(Some(level)).worker();
        let long = format!("{show}\n# {}", "a secret of the first job ".repeat(1_000));
        for source in [long.as_str(), show, "echo short", "", show, long.as_str()] {
            let seen = answer(&mut worker, &bash(source, &[""]));
            match source {
                "" => assert_eq!(seen, "", "{level}"),
                "echo short" => assert_eq!(seen, "short", "{level}"),
                // A cell without a tree of its own lacks this file.
                _ if level == Level::C => {}
                _ => assert_eq!(seen, format!("{}\n{}", source.len(), source.trim_end()), "{level}"),
            }
        }
    }
}

#[test]
fn nothing_of_a_program_stays_in_the_cell_after_its_job() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    for level in with_namespaces() {
        let mut worker = Host::probe(Some(level)).worker();
        assert_eq!(answer(&mut worker, &bash("echo a secret", &[""])), "a secret");
        let warm = launchers();
        assert_eq!(warm.len(), 1, "{level}: {warm:?}");
        let left = std::fs::read(format!("/proc/{}/root/submission", warm[0])).unwrap();
        assert_eq!(left, b"", "{level}");
    }
}

#[test]
fn every_kind_of_program_has_a_cell_of_its_own() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    for level in with_namespaces() {
        let host = Host::probe(Some(level));
        let installed: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
        let mut worker = host.worker();
        let call = |source: &str| Program::Call { source: source.to_owned(), entrypoint: "f".to_owned() };
        let whole = |source: &str| Program::Stdio { source: source.to_owned() };
        let jobs = [
            (Language::Bash, whole("read x; echo $((x + 1))")),
            (Language::Python, whole("print(int(input()) + 1)")),
            (Language::Python, call("def f(x): return x + 1")),
            (Language::Ruby, whole("puts gets.to_i + 1")),
            (Language::Ruby, call("def f(x) = x + 1")),
            (Language::JavaScript, whole("console.log(Number(require('fs').readFileSync(0)) + 1)")),
            (Language::JavaScript, call("const f = x => x + 1")),
        ];
        for _ in 0..2 {
            for (language, program) in jobs.iter().filter(|(language, _)| installed.contains(language)) {
                let input = if matches!(program, Program::Stdio { .. }) { "41" } else { "[41]" };
                let seen = answer(&mut worker, &job(*language, program.clone(), &[input]));
                assert_eq!(seen, "42", "{level} {language} {program:?}");
            }
        }
    }
}

#[test]
fn many_cases_leave_nothing() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let start = HostState::now(&folder);
    let inputs: Vec<String> = (0..MANY).map(|number| number.to_string()).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    if let Some(level) = with_namespaces().first() {
        let mut worker = Host::probe(Some(*level)).worker();
        worker.run(&bash("", &[""]));
        let warm = HostState::now(&folder);
        let outcome = worker.run(&bash("read x; { while :; do :; done } & echo $((x * 2))", &inputs));
        for (number, case) in outcome.cases.iter().enumerate() {
            assert_eq!(case.end, End::Text(format!("{}\n", number * 2).into_bytes()), "{level}");
        }
        let left = HostState::now(&folder).left_since(&warm);
        assert!(left.is_empty(), "{level}: {left:?}");
    }
    let left = HostState::left_at_last(&folder, &start);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_launcher_that_is_gone_is_replaced() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    for level in with_namespaces() {
        let mut worker = Host::probe(Some(level)).worker();
        let echo = bash("cat", &["1"]);
        assert_eq!(answer(&mut worker, &echo), "1");
        launchers().into_iter().for_each(kill);
        assert_eq!(answer(&mut worker, &echo), "1", "{level}");
    }
}

#[test]
fn a_program_is_not_blamed_for_a_launcher_that_dies_under_it() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    for level in with_namespaces() {
        let mut worker = Host::probe(Some(level)).worker();
        answer(&mut worker, &bash("", &[""]));
        let warm = launchers();
        let killer = std::thread::spawn(move || {
            let end = Instant::now() + PATIENCE;
            while launchers().len() < 2 && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
            warm.into_iter().for_each(kill);
        });
        let outcome = worker.run(&bash("sleep 100; echo slept", &[""]));
        killer.join().unwrap();
        assert!(matches!(outcome.cases[0].end, End::Unavailable(_)), "{level}: {outcome:?}");
        assert_eq!(answer(&mut worker, &bash("cat", &["1"])), "1", "{level}");
    }
}
