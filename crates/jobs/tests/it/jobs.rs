//! Verifications as jobs, with the real sandbox and the real store.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use proofmark_checks::{Format, Request};
use proofmark_jobs::{Cancelled, Following, JobState, JobView, SubmitError, Submitted, Verifications, Work};
use proofmark_quorum::{Reference, supersedes};
use proofmark_receipt::json::Profile;
use proofmark_receipt::{
    Json, ReceiptId, Sha256Digest, SigningKey, Trust, Verdict, object, sign_document, verify, verify_chain,
};
use proofmark_sandbox::Host;
use proofmark_store::{
    Claim, CountFilter, Filter, JobEnd, JobState as Stored, MAX_WAITING, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE,
    NewJob, Presence, Runnable, Store, StoredJob, Tenant, TenantStore,
};
use proofmark_testing::Home;

/// Longer than any test may take.
const PATIENCE: Duration = Duration::from_secs(120);

const ENDLESS: &str = "import time\ndef f(x):\n    while True: time.sleep(60)\n";
const DOUBLE: &str = "def f(x): return 2 * x\n";

struct Place {
    store: Arc<Store>,
    home: Home,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let store = Arc::new(Store::open(home.store()).unwrap());
        Self { store, home }
    }

    fn start(&self, workers: usize) -> Verifications {
        start(&self.store, workers)
    }

    /// The processes that started first end, as if they had not renewed their leases.
    fn expire_leases(&self) {
        self.home.sql("UPDATE workers SET alive_until = 1");
        self.store.give_back_jobs().unwrap();
    }

    /// Another process, which lives for a long time, claims what waits for any.
    fn claim_as(&self, owner: &str) -> Vec<StoredJob> {
        let presence = Presence { owner: owner.to_owned(), ..Presence::default() };
        self.store.renew(&presence).unwrap();
        self.home.sql(&format!("UPDATE workers SET alive_until = 9000000000000000 WHERE owner = '{owner}'"));
        let runnable = Runnable::AllBut(Vec::new());
        self.store.claim(&Claim { owner: owner.to_owned(), running: 9, quick: 9, runnable }).unwrap()
    }

    fn receipts(&self) -> usize {
        self.store.all_tenants_receipts(&Filter::default()).unwrap().receipts.len()
    }
}

fn start(store: &Arc<Store>, workers: usize) -> Verifications {
    Verifications::start(|| Host::probe(None), key(), Arc::clone(store), workers).unwrap()
}

fn key() -> SigningKey {
    SigningKey::from_seed([3; 32])
}

fn suite(source: &str) -> String {
    let source = Json::from(source.to_owned()).to_text();
    format!(
        r#"{{"output": {{"content": {source}}}, "verification": {{"kind": "test_suite", "language": "python",
            "mode": "call", "entrypoint": "f", "limits": {{"timeout_ms": 60000}}, "tests": [
            {{"name": "one", "input": [1], "expected_output": 2}}, {{"name": "two", "input": [2], "expected_output": 4}},
            {{"name": "three", "input": [3], "expected_output": 6}}]}}}}"#
    )
}

/// A request that needs no sandbox.
fn quick(number: usize) -> String {
    format!(
        r#"{{"output": {{"content": "{number}"}}, "verification": {{"kind": "schema_check",
            "checks": [{{"name": "short", "constraint": "length <= 10"}}]}}}}"#
    )
}

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

/// The rows of the tenant `a`.
fn a(store: &Store) -> TenantStore<'_> {
    store.of(&tenant("a"))
}

fn work(of: &str, text: String) -> Work {
    Work {
        tenant: tenant(of),
        request: Request::read(text.as_bytes(), Format::Json, None).unwrap(),
        text,
        chain: "main".to_owned(),
        supersedes: None,
        replayable: None,
        durable: false,
        asked_in: tracing::Span::none(),
    }
}

fn durable(work: Work) -> Work {
    Work { durable: true, ..work }
}

fn new(submitted: Result<Submitted, SubmitError>) -> ReceiptId {
    match submitted {
        Ok(Submitted::New(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn follow(jobs: &Verifications, of: &str, id: &ReceiptId) -> (Following, mpsc::Receiver<JobView>) {
    let (send, views) = mpsc::channel();
    let listener = move |view: &JobView| drop(send.send(view.clone()));
    (jobs.follow(&tenant(of), id, Box::new(listener)).unwrap().unwrap(), views)
}

fn wait_until(jobs: &Verifications, of: &str, id: &ReceiptId, wanted: impl Fn(&JobState) -> bool) -> JobView {
    let (_following, views) = follow(jobs, of, id);
    loop {
        let view = views.recv_timeout(PATIENCE).unwrap();
        if wanted(&view.state) {
            return view;
        }
    }
}

fn wait_end(jobs: &Verifications, of: &str, id: &ReceiptId) -> JobView {
    wait_until(jobs, of, id, JobState::is_end)
}

/// Occupies a worker until it is cancelled.
fn occupy(jobs: &Verifications) -> ReceiptId {
    let id = new(jobs.submit(work("blocker", suite(ENDLESS))));
    wait_until(jobs, "blocker", &id, |state| *state == JobState::Running);
    id
}

fn free(jobs: &Verifications, blocker: &ReceiptId) {
    assert_eq!(jobs.cancel(&tenant("blocker"), blocker).unwrap(), Cancelled::Now);
}

/// What a server with the key of these tests signs of a job.
fn accepted(id: &ReceiptId, text: &str) -> String {
    let digest = Sha256Digest::of(text.as_bytes());
    let hashes = Request::read(text.as_bytes(), Format::Json, None).ok().map(|request| request.hashes);
    let tests = hashes.and_then(|hashes| hashes.tests);
    let mut document = object! {
        "format": "proofmark-job/1",
        "job_id": id.to_string(),
        "tenant": "a",
        "request": digest.to_string(),
        "specification": hashes.map_or(digest, |hashes| hashes.specification).to_string(),
        "output": hashes.map_or(digest, |hashes| hashes.output).to_string(),
        "tests"?: tests.map(|tests| tests.to_string()),
        "chain": "main",
    };
    sign_document(&mut document, &key()).unwrap();
    document.to_text()
}

fn row(seed: u8, owner: &str, text: &str) -> NewJob {
    let job_id = ReceiptId::from_random_bytes([seed; 16]);
    NewJob {
        accepted: accepted(&job_id, text),
        job_id,
        request: text.to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: None,
        needs: "python".to_owned(),
        owner: Some(owner.to_owned()),
        created_at: 5,
    }
}

#[test]
fn a_job_is_followed_to_its_receipt() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let text = suite(DOUBLE);
    let id = new(jobs.submit(work("a", text.clone())));
    assert_eq!(jobs.job(&tenant("b"), &id).unwrap(), None);
    let (following, views) = follow(&jobs, "a", &id);
    free(&jobs, &blocker);
    let end = wait_end(&jobs, "a", &id);
    drop(following);
    let seen: Vec<_> = views.iter().map(|view| (view.state, view.done, view.total)).collect();
    let running = |done| (JobState::Running, done, 3);
    let steps = [(JobState::Waiting, 0, 3), running(0), running(1), running(2), running(3), (JobState::Done, 3, 3)];
    assert_eq!(seen, steps);

    let kept = a(&place.store).receipt(&id).unwrap().unwrap();
    assert_eq!((kept.tenant.as_str(), kept.chain.as_deref()), ("a", Some("main")));
    assert_eq!(kept.receipt.verdict(), Verdict::Pass);
    assert_eq!(end.receipt.as_deref(), Some(&kept.receipt));
    let verified = verify(kept.receipt.to_text().as_bytes(), Profile::Vrf, &[key().signer()]);
    assert_eq!(verified.trust, Trust::Trusted);
    assert_eq!(a(&place.store).request(&id).unwrap(), Some(text));
    assert_eq!(a(&place.store).job(&id).unwrap(), None, "nobody asked for it to be kept");
    // From the store it is told as it was from memory.
    assert_eq!(jobs.job(&tenant("a"), &id).unwrap().unwrap().state, JobState::Done);
    assert_eq!(jobs.job(&tenant("b"), &id).unwrap(), None);
    assert_eq!(jobs.cancel(&tenant("a"), &id).unwrap(), Cancelled::Over(JobState::Done));
    assert_eq!(jobs.cancel(&tenant("b"), &id).unwrap(), Cancelled::Unknown);
}

#[test]
fn a_failing_submission_is_done() {
    let place = Place::new();
    let jobs = place.start(1);
    let id = new(jobs.submit(work("a", suite("def f(x): return None"))));
    let end = wait_end(&jobs, "a", &id);
    assert_eq!(end.state, JobState::Done);
    assert_eq!(end.receipt.unwrap().verdict(), Verdict::Fail);
}

#[test]
fn the_same_key_gets_the_same_receipt() {
    let place = Place::new();
    let jobs = place.start(2);
    let keyed = |text: &str| Work {
        replayable: Some(("k".to_owned(), Sha256Digest::of(text.as_bytes()))),
        ..work("a", text.to_owned())
    };
    let text = suite(DOUBLE);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| jobs.submit(keyed(&text)).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let first: Vec<_> = answers.iter().filter(|one| matches!(one, Submitted::New(_))).collect();
    let [Submitted::New(id)] = first.as_slice() else { panic!("{answers:?}") };
    assert_eq!(answers.iter().filter(|one| **one == Submitted::Same(*id)).count(), 7);
    let other = quick(1);
    wait_end(&jobs, "a", id);
    assert_eq!(jobs.submit(keyed(&text)).unwrap(), Submitted::Same(*id));
    assert!(matches!(jobs.submit(keyed(&other)), Err(SubmitError::KeyReused(key)) if key == "k"));
    let of_other = new(jobs.submit(Work { tenant: tenant("b"), ..keyed(&other) }));
    wait_end(&jobs, "b", &of_other);
    drop(jobs);

    let store = Arc::new(Store::open(place.home.store()).unwrap());
    let jobs = start(&store, 1);
    assert_eq!(jobs.submit(keyed(&text)).unwrap(), Submitted::Same(*id));
    assert_eq!(jobs.submit(durable(keyed(&text))).unwrap(), Submitted::Same(*id));
    assert_eq!(place.receipts(), 2);
}

#[test]
fn a_key_is_kept_with_its_job() {
    let place = Place::new();
    let keyed = Work { replayable: Some(("k".to_owned(), Sha256Digest::of(b"x"))), ..work("a", suite(ENDLESS)) };
    let jobs = place.start(1);
    let id = new(jobs.submit(durable(keyed.clone())));
    let other = Work { replayable: Some(("k".to_owned(), Sha256Digest::of(b"y"))), ..keyed.clone() };
    assert!(matches!(jobs.submit(other), Err(SubmitError::KeyReused(_))));
    drop(jobs);
    let jobs = place.start(1);
    assert_eq!(jobs.submit(keyed).unwrap(), Submitted::Same(id));
    assert_eq!(jobs.cancel(&tenant("a"), &id).unwrap(), Cancelled::Now);
    assert_eq!(place.receipts(), 0);
}

#[test]
fn a_cancelled_job_ends_and_has_no_receipt() {
    let place = Place::new();
    let jobs = place.start(1);
    for kept in [false, true] {
        let [running, waiting] =
            [(); 2].map(|()| new(jobs.submit(Work { durable: kept, ..work("a", suite(ENDLESS)) })));
        wait_until(&jobs, "a", &running, |state| *state == JobState::Running);
        let (_following, views) = follow(&jobs, "a", &running);
        assert_eq!(jobs.cancel(&tenant("b"), &running).unwrap(), Cancelled::Unknown);
        for id in [&waiting, &running] {
            assert_eq!(jobs.cancel(&tenant("a"), id).unwrap(), Cancelled::Now);
            assert_eq!(jobs.job(&tenant("a"), id).unwrap().unwrap().state, JobState::Cancelled);
            assert_eq!(jobs.cancel(&tenant("a"), id).unwrap(), Cancelled::Over(JobState::Cancelled));
            assert_eq!(wait_end(&jobs, "a", id).state, JobState::Cancelled);
            assert_eq!(a(&place.store).job(id).unwrap().map(|row| row.state), kept.then_some(Stored::Cancelled));
        }
        assert_eq!(views.try_iter().last().unwrap().state, JobState::Cancelled);
    }
    let id = new(jobs.submit(work("a", suite(DOUBLE))));
    assert_eq!(wait_end(&jobs, "a", &id).state, JobState::Done);
    assert_eq!(place.receipts(), 1);
}

#[test]
fn tenants_take_turns() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut followed = Vec::new();
    let mut submit = |name: &str| {
        let id = new(jobs.submit(work(name, suite(DOUBLE))));
        let (order, of) = (Arc::clone(&order), name.to_owned());
        let listener = move |view: &JobView| {
            if view.state == JobState::Running && view.done == 0 {
                order.lock().unwrap().push(of.clone());
            }
        };
        followed.push(jobs.follow(&tenant(name), &id, Box::new(listener)).unwrap());
        id
    };
    let of_a: Vec<_> = (0..20).map(|_| submit("a")).collect();
    let of_b = submit("b");
    free(&jobs, &blocker);
    wait_end(&jobs, "b", &of_b);
    for id in &of_a {
        wait_end(&jobs, "a", id);
    }
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 21);
    assert!(order.iter().position(|tenant| tenant == "b").unwrap() <= 1, "{order:?}");
}

#[test]
fn a_full_queue_takes_no_more() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let submit = |name: &str| jobs.submit(work(name, suite(DOUBLE)));
    for tenant in ["a", "b", "c", "d"] {
        for _ in 0..MAX_WAITING_OF_ONE {
            new(submit(tenant));
        }
        assert!(matches!(submit(tenant), Err(SubmitError::Busy)));
    }
    assert_eq!(MAX_WAITING, 4 * MAX_WAITING_OF_ONE);
    assert!(matches!(submit("e"), Err(SubmitError::Busy)));
    free(&jobs, &blocker);
    let id = loop {
        match submit("e") {
            Err(SubmitError::Busy) => std::thread::yield_now(),
            other => break new(other),
        }
    };
    assert_eq!(wait_end(&jobs, "e", &id).state, JobState::Done);
    jobs.stop(Duration::ZERO);
    assert!(matches!(submit("e"), Err(SubmitError::Stopping)));
}

#[test]
fn what_runs_nothing_does_not_wait_for_what_runs() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    for durable in [false, true] {
        let id = new(jobs.submit(Work { durable, ..work("a", quick(1)) }));
        assert_eq!(wait_end(&jobs, "a", &id).state, JobState::Done);
    }
    free(&jobs, &blocker);
}

#[test]
fn requests_of_one_tenant_that_wait_have_a_share_of_bytes() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let large = suite(&format!("{DOUBLE}# {}", "x".repeat(MAX_WAITING_BYTES_OF_ONE / 5)));
    let submit = |tenant: &str| jobs.submit(durable(work(tenant, large.clone())));
    for _ in 0..4 {
        new(submit("a"));
    }
    assert!(matches!(submit("a"), Err(SubmitError::Busy)));
    let other = new(submit("b"));
    assert_eq!(jobs.cancel(&tenant("b"), &other).unwrap(), Cancelled::Now);
    free(&jobs, &blocker);
}

/// Who can write to the store can change what waits.
#[test]
fn a_job_that_is_not_what_was_accepted_is_not_run() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let kept = new(jobs.submit(durable(work("a", suite(DOUBLE)))));
    let later = new(jobs.submit(work("a", suite(DOUBLE))));
    jobs.persist(&tenant("a"), &later).unwrap();
    let moved = new(jobs.submit(durable(work("a", suite(DOUBLE)))));
    let whole = new(jobs.submit(durable(work("a", suite(DOUBLE)))));
    // Nothing of them is in memory: only their rows say what is to run.
    let wrong = suite("def f(x): return None");
    for (change, id) in [
        (format!("request = '{wrong}'"), kept),
        (format!("request = '{wrong}'"), later),
        ("chain = 'other'".to_owned(), moved),
    ] {
        place
            .home
            .sql(&format!("UPDATE jobs SET {change} WHERE job_id = {}", crate::fronts::literal(&place.home, &id)));
    }
    free(&jobs, &blocker);
    for (id, what) in [(kept, "request"), (later, "request"), (moved, "chain")] {
        let end = wait_end(&jobs, "a", &id);
        let why = format!("its {what} in the store is not what the server accepted");
        assert!(matches!(&end.state, JobState::Failed(said) if said.contains(&why)), "{end:?}");
        assert_eq!(end.receipt, None);
    }
    assert_eq!(wait_end(&jobs, "a", &whole).receipt.unwrap().verdict(), Verdict::Pass);
    assert_eq!(place.receipts(), 1);
}

#[test]
fn what_cannot_be_planned_is_not_taken() {
    let place = Place::new();
    let jobs = place.start(1);
    let text = r#"{"output": {"files": {"a.py": ""}}, "verification": {"kind": "test_suite", "mode": "command",
                   "command": ["python", "a.py"], "report": "r.xml", "readable": ["/etc"]}}"#;
    let refused = jobs.submit(work("a", text.to_owned()));
    assert!(matches!(refused, Err(SubmitError::Request(_))), "{refused:?}");
    let nothing = Work { supersedes: Some(row(1, "", "").job_id), ..work("a", quick(1)) };
    assert!(matches!(jobs.submit(nothing), Err(SubmitError::Store(_))));
}

#[test]
fn a_job_whose_process_died_runs_again_and_has_one_receipt() {
    let place = Place::new();
    let rows = [row(1, "dead", &suite(DOUBLE)), row(2, "dead", "{}")];
    for job in rows.clone() {
        a(&place.store).submit(job).wait().unwrap();
    }
    place.expire_leases();
    // Two at once, of which one gets each.
    let both = [place.start(1), place.start(1)];
    let [id, broken] = rows.map(|row| row.job_id);
    for jobs in &both {
        let end = wait_end(jobs, "a", &id);
        assert_eq!((end.state, end.created_at), (JobState::Done, 5));
        assert!(matches!(wait_end(jobs, "a", &broken).state, JobState::Failed(_)));
    }
    drop(both);
    let jobs = place.start(1);
    assert_eq!(wait_end(&jobs, "a", &id).state, JobState::Done);
    assert_eq!(place.receipts(), 1);
    assert_eq!(a(&place.store).chain("main").unwrap().len(), 1);
    assert_eq!(a(&place.store).job(&id).unwrap().unwrap().state, Stored::Done);
}

#[test]
fn who_has_lost_the_lease_keeps_no_receipt() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let lost = new(jobs.submit(durable(work("a", suite(DOUBLE)))));
    // Another process claims it. Ours may renew its lease in between, or claim it again.
    let taken = loop {
        place.expire_leases();
        let taken = place.claim_as("other");
        if !taken.is_empty() {
            break taken;
        }
    };
    assert_eq!(taken.iter().map(|row| row.job_id).collect::<Vec<_>>(), [lost]);
    let after = new(jobs.submit(work("a", suite(DOUBLE))));
    free(&jobs, &blocker);
    assert_eq!(wait_end(&jobs, "a", &after).state, JobState::Done);
    assert_eq!(a(&place.store).receipt(&lost).unwrap(), None);
    assert_eq!(jobs.job(&tenant("a"), &lost).unwrap().unwrap().state, JobState::Running);
    verify_chain(&a(&place.store).chain("main").unwrap(), None).unwrap();
    // The other process has it now, and is asked to cancel it from here.
    let (_following, views) = follow(&jobs, "a", &lost);
    let cancelled = std::thread::scope(|scope| {
        let cancelled = scope.spawn(|| jobs.cancel(&tenant("a"), &lost).unwrap());
        while !a(&place.store).job(&lost).unwrap().unwrap().cancelling {
            std::thread::yield_now();
        }
        let end =
            JobEnd { job_id: lost, owner: "other".to_owned(), attempt: taken[0].attempt, state: Stored::Cancelled };
        a(&place.store).submit(end).wait().unwrap();
        cancelled.join().unwrap()
    });
    assert_eq!(cancelled, Cancelled::Now);
    assert_eq!(views.recv_timeout(PATIENCE).unwrap().state, JobState::Running);
    assert_eq!(views.recv_timeout(PATIENCE).unwrap().state, JobState::Cancelled);
    assert_eq!(place.receipts(), 1);
}

#[test]
fn a_kept_job_ends_in_the_store() {
    let place = Place::new();
    let jobs = place.start(1);
    let blocker = occupy(&jobs);
    let id = new(jobs.submit(work("a", suite(DOUBLE))));
    jobs.persist(&tenant("b"), &id).unwrap();
    assert_eq!(a(&place.store).job(&id).unwrap(), None);
    jobs.persist(&tenant("a"), &id).unwrap();
    jobs.persist(&tenant("a"), &id).unwrap();
    assert_eq!(a(&place.store).job(&id).unwrap().unwrap().state, Stored::Waiting);
    free(&jobs, &blocker);
    assert_eq!(wait_end(&jobs, "a", &id).state, JobState::Done);
    assert_eq!(a(&place.store).job(&id).unwrap().unwrap().state, Stored::Done);
    jobs.persist(&tenant("a"), &id).unwrap();
    assert_eq!(place.receipts(), 1);
}

#[test]
fn jobs_are_kept_while_they_end() {
    let place = Place::new();
    let jobs = place.start(2);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let jobs = &jobs;
            scope.spawn(move || {
                for number in 0..25 {
                    let id = new(jobs.submit(work("a", quick(thread * 100 + number))));
                    jobs.persist(&tenant("a"), &id).unwrap();
                    assert_eq!(wait_end(jobs, "a", &id).state, JobState::Done);
                }
            });
        }
    });
    let chain = a(&place.store).chain("main").unwrap();
    assert_eq!(chain.len(), 100);
    verify_chain(&chain, None).unwrap();
}

#[test]
fn two_on_one_file_extend_one_chain() {
    let place = Place::new();
    let other = Arc::new(Store::open(place.home.store()).unwrap());
    let both = [place.start(2), start(&other, 2)];
    std::thread::scope(|scope| {
        for jobs in &both {
            scope.spawn(move || {
                let ids: Vec<_> = (0..40).map(|number| new(jobs.submit(work("a", quick(number))))).collect();
                ids.iter().for_each(|id| assert_eq!(wait_end(jobs, "a", id).state, JobState::Done));
            });
        }
    });
    let chain = a(&place.store).chain("main").unwrap();
    assert_eq!(chain.len(), 80);
    verify_chain(&chain, None).unwrap();
}

#[test]
fn stopping_lets_jobs_go() {
    let place = Place::new();
    let jobs = place.start(1);
    let running = new(jobs.submit(durable(work("a", suite(ENDLESS)))));
    wait_until(&jobs, "a", &running, |state| *state == JobState::Running);
    let waiting = new(jobs.submit(durable(work("a", suite(DOUBLE)))));
    let forgotten = new(jobs.submit(work("a", suite(DOUBLE))));
    jobs.stop(Duration::ZERO);
    assert!(matches!(wait_end(&jobs, "a", &forgotten).state, JobState::Failed(why) if why.contains("stopping")));
    for id in [&running, &waiting] {
        let row = a(&place.store).job(id).unwrap().unwrap();
        assert_eq!((row.state, row.owner), (Stored::Waiting, None));
    }
    let next = place.start(2);
    assert_eq!(wait_end(&next, "a", &waiting).state, JobState::Done);
    assert_eq!(next.cancel(&tenant("a"), &running).unwrap(), Cancelled::Now);
    assert_eq!(place.receipts(), 1);
}

#[test]
fn what_runs_may_end_before_all_stops() {
    let place = Place::new();
    let jobs = place.start(1);
    let id = new(jobs.submit(work("a", suite(DOUBLE))));
    wait_until(&jobs, "a", &id, |state| *state != JobState::Waiting);
    jobs.stop(PATIENCE);
    assert_eq!(jobs.job(&tenant("a"), &id).unwrap().unwrap().state, JobState::Done);
}

#[test]
fn a_new_receipt_supersedes_an_older_one() {
    let place = Place::new();
    let jobs = place.start(1);
    let older = new(jobs.submit(work("a", suite("def f(x): return None"))));
    wait_end(&jobs, "a", &older);
    let newer = new(jobs.submit(Work { supersedes: Some(older), ..work("a", suite(DOUBLE)) }));
    let receipt = wait_end(&jobs, "a", &newer).receipt.unwrap();
    let stored = a(&place.store).receipt(&older).unwrap().unwrap();
    assert_eq!(supersedes::read(&receipt), Ok(Some(Reference::of(&stored.receipt))));
    assert_eq!(stored.superseded_by, Some(newer));
    let counts = a(&place.store).verdict_counts(&CountFilter::default()).unwrap();
    assert_eq!((counts.pass, counts.fail), (1, 0));
    let of_other = jobs.submit(Work { supersedes: Some(older), ..work("b", suite(DOUBLE)) });
    assert!(matches!(of_other, Err(SubmitError::Store(_))));
    // What says nothing about the work takes no receipt's place.
    let missing =
        suite(DOUBLE).replacen(r#""language": "python""#, r#""language": "python", "runtime": "python2.1""#, 1);
    let nothing = new(jobs.submit(Work { supersedes: Some(newer), ..work("a", missing) }));
    let receipt = wait_end(&jobs, "a", &nothing).receipt.unwrap();
    assert_eq!(receipt.verdict(), Verdict::Error);
    assert!(!receipt.metadata().contains("supersedes"));
    assert_eq!(a(&place.store).receipt(&newer).unwrap().unwrap().superseded_by, None);
}
