//! Jobs while the isolation of the host is tested.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use proofmark_checks::{Format, Request};
use proofmark_jobs::{Cancelled, Following, JobState, JobView, SelfTest, Submitted, Verifications, Work};
use proofmark_receipt::{ReceiptId, SigningKey, Verdict};
use proofmark_sandbox::Host;
use proofmark_store::{Store, Tenant};
use proofmark_testing::Home;

const PATIENCE: Duration = Duration::from_secs(120);

const CODE: &str = r#"{"output": {"content": "def f(x): return x"}, "verification": {"kind": "test_suite",
    "language": "python", "entrypoint": "f", "limits": {"timeout_ms": 60000},
    "tests": [{"name": "one", "input": [1], "expected_output": 1}]}}"#;
const CONSTRAINT: &str = r#"{"output": {"content": "x"}, "verification": {"kind": "schema_check",
    "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;
const ENDLESS: &str = r#"{"output": {"content": "import time\ndef f(x):\n    while x > 1: time.sleep(60)\n    return x"}, "verification": {
    "kind": "test_suite", "language": "python", "entrypoint": "f", "limits": {"timeout_ms": 60000},
    "tests": [{"name": "one", "input": [1], "expected_output": 1}, {"name": "two", "input": [2], "expected_output": 2}]}}"#;

fn start(home: &Home, probe: impl FnOnce() -> Host + Send + 'static) -> Verifications {
    let store = Arc::new(Store::open(home.store()).unwrap());
    Verifications::start(probe, SigningKey::from_seed([3; 32]), store, 1).unwrap()
}

fn submit(jobs: &Verifications, text: &str, durable: bool) -> ReceiptId {
    let submitted = jobs.submit(Work {
        tenant: Tenant::LOCAL,
        request: Request::read(text.as_bytes(), Format::Json, None).unwrap(),
        text: text.to_owned(),
        chain: "main".to_owned(),
        supersedes: None,
        replayable: None,
        durable,
        asked_in: tracing::Span::none(),
    });
    match submitted {
        Ok(Submitted::New(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn follow(jobs: &Verifications, id: &ReceiptId) -> (Following, mpsc::Receiver<JobView>) {
    let (send, views) = mpsc::channel();
    let listener = move |view: &JobView| drop(send.send(view.clone()));
    (jobs.follow(&Tenant::LOCAL, id, Box::new(listener)).unwrap().unwrap(), views)
}

fn until(jobs: &Verifications, id: &ReceiptId, wanted: impl Fn(&JobView) -> bool) -> JobView {
    let (_following, views) = follow(jobs, id);
    loop {
        let view = views.recv_timeout(PATIENCE).unwrap();
        if wanted(&view) {
            return view;
        }
    }
}

#[test]
fn code_waits_for_the_self_test_and_nothing_else_does() {
    let home = Home::new();
    let (allow, allowed) = mpsc::channel::<()>();
    let probe = move || {
        let _ = allowed.recv();
        Host::probe(None)
    };
    let jobs = start(&home, probe);
    assert_eq!((jobs.self_test(), jobs.languages().unwrap()), (SelfTest::Running, vec![]));
    let [code, cancelled] = [submit(&jobs, CODE, false), submit(&jobs, CODE, true)];
    let constraint = submit(&jobs, CONSTRAINT, false);
    let end = until(&jobs, &constraint, |view| view.state.is_end());
    assert_eq!(end.receipt.unwrap().verdict(), Verdict::Pass);
    assert_eq!(jobs.cancel(&Tenant::LOCAL, &cancelled).unwrap(), Cancelled::Now);
    assert_eq!(jobs.job(&Tenant::LOCAL, &code).unwrap().unwrap().state, JobState::Waiting);
    allow.send(()).unwrap();
    let end = until(&jobs, &code, |view| view.state.is_end());
    assert_eq!(end.receipt.unwrap().verdict(), Verdict::Pass);
    assert_eq!(jobs.self_test(), SelfTest::Passed);
    let begun = Instant::now();
    while jobs.languages().unwrap().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "nobody asked for the languages");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn stopping_does_not_wait_for_the_self_test() {
    let home = Home::new();
    let (allow, allowed) = mpsc::channel::<()>();
    let probe = move || {
        let _ = allowed.recv();
        Host::probe(None)
    };
    let jobs = start(&home, probe);
    let [kept, code] = [submit(&jobs, CODE, true), submit(&jobs, CODE, false)];
    let (_following, views) = follow(&jobs, &code);
    jobs.stop(Duration::ZERO);
    assert!(matches!(views.try_iter().last().unwrap().state, JobState::Failed(_)));
    drop((jobs, allow));
    let jobs = start(&home, || Host::probe(None));
    assert_eq!(until(&jobs, &kept, |view| view.state.is_end()).state, JobState::Done, "a stored job runs later");
}

#[test]
fn without_a_self_test_no_code_runs() {
    let home = Home::new();
    let jobs = start(&home, || panic!("the probe fails"));
    let code = submit(&jobs, CODE, false);
    let JobState::Failed(why) = until(&jobs, &code, |view| view.state.is_end()).state else { panic!("it ran") };
    assert!(why.contains("self-test"), "{why}");
    assert_eq!(jobs.self_test(), SelfTest::Failed);
    let constraint = submit(&jobs, CONSTRAINT, false);
    assert_eq!(until(&jobs, &constraint, |view| view.state.is_end()).state, JobState::Done);
}

#[test]
fn a_cancelled_job_says_how_far_it_came() {
    let home = Home::new();
    let jobs = start(&home, || Host::probe(None));
    for durable in [false, true] {
        let id = submit(&jobs, ENDLESS, durable);
        until(&jobs, &id, |view| view.done == 1);
        assert_eq!(jobs.cancel(&Tenant::LOCAL, &id).unwrap(), Cancelled::Now);
        let view = jobs.job(&Tenant::LOCAL, &id).unwrap().unwrap();
        assert_eq!((view.state, view.done, view.total), (JobState::Cancelled, 1, 2));
    }
}
