//! A job whose cases several workers run ends as if one had run it.

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
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Outcome, Program};
use proofmark_sandbox::{Host, SharedJob, Watch};

/// Longer than any test may take: a case that ends by it was not cancelled.
const NEVER: Duration = Duration::from_secs(3_600);

/// What a case may do, by its argument.
const MANY_ENDS: &str = "import os, sys, time
def f(x):
    kind = x % 8
    if kind == 0:
        raise ValueError(x)
    if kind == 1:
        sys.stdout.write('printed %d' % x)
    if kind == 2:
        os._exit(7)
    if kind == 3:
        return 'x' * (1 << 17)
    if kind == 4:
        os.kill(os.getpid(), 9)
    if kind == 5 and x < 8:
        time.sleep(60)
    if kind == 6 and x < 8:
        return bytearray(1 << 30)
    return x
";

/// The tests count what this process has started, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn job(program: Program, inputs: Vec<String>, timeout: Duration) -> Arc<Job> {
    let limits = Limits { memory_mb: 256, total_timeout: NEVER, output_bytes: 1 << 16, processes: 64, disk_mb: 0 };
    Arc::new(Job {
        language: Language::Python,
        runtime: None,
        packages: vec![],
        program,
        cases: inputs.into_iter().map(|input| Case { input, timeout }).collect(),
        limits,
    })
}

fn call(source: &str, inputs: Vec<String>, timeout: Duration) -> Arc<Job> {
    job(Program::Call { source: source.to_owned(), entrypoint: "f".to_owned() }, inputs, timeout)
}

/// Runs the job on one worker, which as many others join as soon as they can. Also how many of them ran a case.
fn run(host: &Host, job: &Arc<Job>, joining: usize, cancelled: &Arc<AtomicBool>) -> (Outcome, usize) {
    let (ran_by_others, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcome = thread::scope(|scope| {
        let (ran_by_others, ran) = (&ran_by_others, &ran);
        let offers: Vec<mpsc::Sender<Arc<SharedJob>>> = (0..joining)
            .map(|_| {
                let (send, offers) = mpsc::channel::<Arc<SharedJob>>();
                scope.spawn(move || {
                    let mut worker = host.worker();
                    let joined = AtomicUsize::new(0);
                    for shared in offers {
                        worker.join(&shared, &Arc::default(), &|_| {
                            joined.fetch_add(1, Ordering::Relaxed);
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    ran_by_others.fetch_add(usize::from(joined.into_inner() > 0), Ordering::Relaxed);
                });
                send
            })
            .collect();
        let offer = |shared: &Arc<SharedJob>| offers.iter().for_each(|one| one.send(Arc::clone(shared)).unwrap());
        let ran = |_| {
            ran.fetch_add(1, Ordering::Relaxed);
        };
        host.worker().run_watched(job, &Watch { cancelled, ran: &ran, offer: &offer })
    });
    assert_eq!(ran.into_inner(), job.cases.len(), "each case is reported once");
    (outcome, ran_by_others.into_inner())
}

/// The outcome without the times.
fn told(mut outcome: Outcome) -> Outcome {
    outcome.cases.iter_mut().for_each(|case| case.elapsed = Duration::ZERO);
    outcome
}

#[test]
fn several_workers_end_a_job_as_one_does() {
    let _turn = TURN.lock();
    let calls = (0..96).map(|x| format!("[{x}]")).collect();
    let source =
        "import sys\nx = int(input())\nif x % 3 == 0:\n    sys.exit(x)\nprint(x, file=sys.stderr)\nprint(-x)\n";
    let stdio = Program::Stdio { source: source.to_owned() };
    let mut ends = call(MANY_ENDS, calls, Duration::from_secs(60));
    // The one that only its deadline ends.
    Arc::make_mut(&mut ends).cases[5].timeout = Duration::from_secs(2);
    let jobs = [ends, job(stdio, (0..24).map(|x| x.to_string()).collect(), Duration::from_secs(20))];
    for level in levels::available() {
        let host = Host::probe(Some(level));
        for job in &jobs {
            let (alone, _) = run(&host, job, 0, &Arc::default());
            let alone = told(alone);
            if let (Program::Call { .. }, [.., seventh, _]) = (&job.program, &alone.cases[..8]) {
                assert_eq!(seventh.end, End::MemoryLimit, "{level}");
                assert_eq!(alone.cases[5].end, End::Timeout, "{level}");
            }
            for joining in [1, 2] {
                let (together, others) = run(&host, job, joining, &Arc::default());
                assert_eq!(told(together), alone, "{level} {joining}");
                assert_eq!(others, joining, "{level}: a worker ran no case");
            }
        }
    }
}

#[test]
fn a_worker_that_leaves_loses_no_case() {
    let _turn = TURN.lock();
    let host = Host::probe(None);
    // Only the worker that is alone with it comes to an end with the first case soon.
    let job = call("import time\ndef f(x):\n    time.sleep(x)\n    return x", vec!["[0.6]".to_owned(); 4], NEVER);
    let leave = Arc::new(AtomicBool::new(false));
    let outcome = thread::scope(|scope| {
        let (host, leave) = (&host, &leave);
        let offer = |shared: &Arc<SharedJob>| {
            let shared = Arc::clone(shared);
            scope.spawn(move || {
                let mut worker = host.worker();
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(700));
                    leave.store(true, Ordering::Relaxed);
                });
                worker.join(&shared, leave, &|_| {});
                assert!(leave.load(Ordering::Relaxed) || !shared.is_open());
            });
        };
        host.worker().run_watched(&job, &Watch { cancelled: &Arc::default(), ran: &|_| {}, offer: &offer })
    });
    let answer = End::Value(br#"{"f":"0.6"}"#.to_vec());
    assert!(outcome.cases.iter().all(|case| case.end == answer), "{outcome:?}");
}

#[test]
fn a_cancelled_job_ends_in_every_worker_and_leaves_nothing() {
    let _turn = TURN.lock();
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    for level in levels::available() {
        let host = Host::probe(Some(level));
        let before = HostState::now(&folder);
        let job = call("def f(x):\n    while x: pass\n    return x", vec!["[1]".to_owned(); 6], NEVER);
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let timer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(600));
            flag.store(true, Ordering::Relaxed);
        });
        let (outcome, _) = run(&host, &job, 2, &cancelled);
        timer.join().unwrap();
        let cut = |end: &End| matches!(end, End::Unavailable(why) if why.contains("cancelled"));
        assert!(outcome.cases.iter().all(|case| cut(&case.end)), "{level}: {outcome:?}");
        let left = HostState::left_at_last(&folder, &before);
        assert!(left.is_empty(), "{level}: {left:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_time_of_all_cases_is_one_for_all_workers() {
    let _turn = TURN.lock();
    let job = call("def f(x):\n    while True: pass", vec!["[1]".to_owned(); 9], NEVER);
    let limits = Limits { total_timeout: Duration::from_millis(1_500), ..job.limits };
    let job = Arc::new(Job { limits, ..Job::clone(&job) });
    let (outcome, _) = run(&Host::probe(None), &job, 2, &Arc::default());
    assert!(outcome.cases.iter().all(|case| case.end == End::TotalTimeout), "{outcome:?}");
    let spent: Duration = outcome.cases.iter().map(|case| case.elapsed).sum();
    assert!(spent < Duration::from_secs(10), "{spent:?}");
}

/// The answers of cases that end before an earlier one are not all in memory.
#[test]
fn answers_that_wait_for_an_earlier_one_are_limited() {
    let _turn = TURN.lock();
    const ANSWER: usize = 8 << 20;
    let source = format!("import time\ndef f(x):\n    time.sleep(x)\n    return 'a' * {}", ANSWER - 64);
    let inputs = std::iter::once("[4]".to_owned()).chain(std::iter::repeat_n("[0]".to_owned(), 30)).collect();
    let job = call(&source, inputs, NEVER);
    let limits = Limits { output_bytes: ANSWER, ..job.limits };
    let job = Arc::new(Job { limits, ..Job::clone(&job) });
    let host = Host::probe(None);
    let most = AtomicUsize::new(0);
    let (ended, handed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let (host, ended, handed, most) = (&host, &ended, &handed, &most);
        let ran = |_| {
            // Others may have ended, and been handed over, between the two.
            let waiting = (ended.fetch_add(1, Ordering::Relaxed) + 1).saturating_sub(handed.load(Ordering::Relaxed));
            most.fetch_max(waiting, Ordering::Relaxed);
        };
        let offer = |shared: &Arc<SharedJob>| {
            let shared = Arc::clone(shared);
            scope.spawn(move || host.worker().join(&shared, &Arc::default(), &ran));
        };
        let watch = Watch { cancelled: &Arc::default(), ran: &ran, offer: &offer };
        host.worker().run_each(&job, &watch, &mut |case| {
            assert!(matches!(case.end, End::Value(_)), "{:?}", case.end);
            handed.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(handed.load(Ordering::Relaxed), job.cases.len());
    // 64 MiB, and one for each worker and for what it counts before it is handed over.
    assert!(most.load(Ordering::Relaxed) <= 8 + 4, "{most:?} answers at a time");
}
