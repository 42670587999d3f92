//! One suite on several workers, with the real sandbox.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use proofmark_checks::{Caps, Format, Request};
use proofmark_jobs::{Cancelled, JobState, JobView, Submitted, Verifications, Work};
use proofmark_receipt::{Json, Receipt, ReceiptId, SigningKey};
use proofmark_sandbox::Host;
use proofmark_store::{Store, Tenant};
use proofmark_testing::Home;
use proofmark_verifier::{Batch, Issuer, VerifyError};

/// Longer than any test may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Limits of tests that are cancelled: as long as any may be.
const ENDLESS: &str = r#"{"timeout_ms": 60000, "total_timeout_ms": 600000}"#;

/// A suite of this many tests for the function `f`, which doubles.
fn suite(source: &str, tests: usize, limits: &str) -> String {
    let source = Json::from(source.to_owned()).to_text();
    let test = |x| format!(r#"{{"name": "{x}", "input": [{x}], "expected_output": {}}}"#, 2 * x);
    let tests = (0..tests).map(test).collect::<Vec<_>>().join(", ");
    format!(
        r#"{{"output": {{"content": {source}}}, "verification": {{"kind": "test_suite", "language": "python",
            "mode": "call", "entrypoint": "f", "limits": {limits}, "reveal": "all", "tests": [{tests}]}}}}"#
    )
}

/// The receipts of the requests, without what differs between two runs: ids and times.
fn receipts(host: &Host, requests: &[Request], workers: usize) -> Vec<String> {
    let (caps, issuer) = (Caps::default(), Issuer::new(None, None));
    let mut texts = Vec::new();
    let show = |index, receipt: Result<Receipt, VerifyError>| {
        assert_eq!(index, texts.len(), "in the order of the requests");
        let mut json = Json::parse(receipt?.to_text().as_bytes()).unwrap();
        let Json::Object(receipt) = &mut json else { panic!("{json:?}") };
        receipt.remove("receipt_id").unwrap();
        receipt.remove("verified_at").unwrap();
        texts.push(without_times(&json.to_text()));
        Ok::<_, VerifyError>(())
    };
    Batch::new(host, &caps, workers, &issuer).run(requests, show).unwrap();
    texts
}

/// Every `"elapsed_ms":12` and `"execution_ms":34` as 0.
fn without_times(text: &str) -> String {
    let mut parts = text.split("_ms\":");
    let mut without = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        without.push_str("_ms\":0");
        without.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    without
}

#[test]
fn a_receipt_does_not_depend_on_the_number_of_workers() {
    let ends = "import os, time
def f(x):
    print('given', x)
    if x % 9 == 4: raise ValueError(x)
    if x % 9 == 5: os._exit(3)
    if x % 9 == 6: return 'x' * 100000
    if x == 7: time.sleep(60)
    if x % 9 == 8: return 2 * x + 1
    return 2 * x
";
    let read = |text: String| Request::read(text.as_bytes(), Format::Json, None).unwrap();
    let requests = [
        suite("def f(x): return 2 * x", 60, "{}"),
        // The one that only its deadline ends.
        suite(ends, 90, r#"{"timeout_ms": 60000, "total_timeout_ms": 600000, "output_bytes": 65536}"#)
            .replace(r#""name": "7","#, r#""name": "7", "timeout_ms": 3000,"#),
        suite("def f(x): return", 3, "{}"),
        suite("this is not Python", 40, "{}"),
    ]
    .map(read);
    let host = Host::probe(None);
    let alone = receipts(&host, &requests, 1);
    assert_eq!(alone.len(), requests.len());
    for workers in [2, 3] {
        assert_eq!(receipts(&host, &requests, workers), alone, "{workers} workers");
        // The only request, so that all workers but one join it.
        assert_eq!(receipts(&host, &requests[1..2], workers), alone[1..2], "{workers} workers");
    }
}

fn jobs(workers: usize) -> (Home, Verifications) {
    let home = Home::new();
    let store = Arc::new(Store::open(home.store()).unwrap());
    let key = SigningKey::from_seed([3; 32]);
    (home, Verifications::start(|| Host::probe(None), key, store, workers).unwrap())
}

fn submit(jobs: &Verifications, of: &str, text: String) -> ReceiptId {
    let request = Request::read(text.as_bytes(), Format::Json, None).unwrap();
    let (tenant, chain) = (of.parse().unwrap(), "main".to_owned());
    let asked_in = tracing::Span::none();
    let work = Work { tenant, request, text, chain, supersedes: None, replayable: None, durable: false, asked_in };
    match jobs.submit(work).unwrap() {
        Submitted::New(id) => id,
        Submitted::Same(id) => panic!("{id} is another's"),
    }
}

/// The views of a job until one of them is wanted.
fn views(jobs: &Verifications, of: &str, id: &ReceiptId, wanted: impl Fn(&JobView) -> bool) -> Vec<JobView> {
    let (send, received) = mpsc::channel();
    let listener = move |view: &JobView| drop(send.send(view.clone()));
    let following = jobs.follow(&tenant(of), id, Box::new(listener)).unwrap().unwrap();
    let mut seen = Vec::new();
    while !seen.last().is_some_and(&wanted) {
        seen.push(received.recv_timeout(PATIENCE).unwrap());
    }
    drop(following);
    seen
}

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

#[test]
fn idle_workers_of_a_server_join_a_suite() {
    let (_home, jobs) = jobs(3);
    // The first two do not end, and keep a worker each: all others end only where a third one runs them.
    let text = suite("import time\ndef f(x):\n    while x < 2: time.sleep(60)\n    return 2 * x", 30, ENDLESS);
    let id = submit(&jobs, "a", text);
    let seen = views(&jobs, "a", &id, |view| view.done == 28);
    assert!(seen.is_sorted_by_key(|view| view.done), "{seen:?}");
    assert_eq!(jobs.cancel(&tenant("a"), &id).unwrap(), Cancelled::Now);
}

#[test]
fn a_new_job_does_not_wait_for_workers_that_joined_another() {
    let (_home, jobs) = jobs(2);
    let endless = suite("import time\ndef f(x):\n    while x: time.sleep(60)\n    return 0", 9, ENDLESS);
    let long = submit(&jobs, "a", endless);
    // The first test ends at once; by the time the worker that joins has one, both are in endless ones.
    views(&jobs, "a", &long, |view| view.done == 1);
    std::thread::sleep(Duration::from_secs(3));
    let quick = submit(&jobs, "b", suite("def f(x): return 2 * x", 2, "{}"));
    let seen = views(&jobs, "b", &quick, |view| view.state.is_end());
    assert_eq!(seen.last().unwrap().state, JobState::Done);
    let [other] = &views(&jobs, "a", &long, |_| true)[..] else { panic!("one view is enough") };
    assert_eq!((&other.state, other.done), (&JobState::Running, 1));
    assert_eq!(jobs.cancel(&tenant("a"), &long).unwrap(), Cancelled::Now);
}
