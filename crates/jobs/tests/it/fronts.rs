//! A server that leaves its jobs to workers, and what it takes from them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use proofmark_checks::{Format, Request};
use proofmark_jobs::{JobSettings, JobState, JobView, JobWatch, Role, SubmitError, Submitted, Verifications, Work};
use proofmark_receipt::{
    Draft, Hashes, Object, Profile, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Verdict, verify_receipt,
};
use proofmark_sandbox::Host;
use proofmark_store::{Claim, JobEnd, JobState as Stored, NewReceipt, Presence, Runnable, Store, StoredJob, Tenant};
use proofmark_testing::Home;

const QUICK: &str = r#"{"output": {"content": "x"}, "verification": {"kind": "schema_check",
    "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

fn tenant() -> Tenant {
    "a".parse().unwrap()
}

fn store() -> (Home, Arc<Store>) {
    let home = Home::new();
    let store = Arc::new(Store::open(home.store()).unwrap());
    (home, store)
}

fn start(store: &Arc<Store>, role: Role, seed: u8) -> Verifications {
    // The server that leaves its jobs to others has the key 1.
    let servers = vec![key(1).signer()];
    let settings = JobSettings { key: key(seed), store: Arc::clone(store), role, servers, report: None };
    Verifications::start_as(settings, || Host::probe(None)).unwrap()
}

/// A front with the key 1, which takes receipts by the key 2.
fn front(store: &Arc<Store>) -> Verifications {
    start(store, Role::Front { signers: vec![key(2).signer()] }, 1)
}

fn work(replayable: Option<(String, Sha256Digest)>) -> Work {
    Work {
        tenant: tenant(),
        request: Request::read(QUICK.as_bytes(), Format::Json, None).unwrap(),
        text: QUICK.to_owned(),
        chain: "main".to_owned(),
        supersedes: None,
        replayable,
        durable: false,
        asked_in: tracing::Span::none(),
    }
}

fn submit(front: &Verifications) -> ReceiptId {
    match front.submit(work(None)).unwrap() {
        Submitted::New(id) => id,
        same @ Submitted::Same(_) => panic!("{same:?}"),
    }
}

fn claim(store: &Store) -> StoredJob {
    store.renew(&Presence { owner: "w".to_owned(), ..Presence::default() }).unwrap();
    let claim = Claim { owner: "w".to_owned(), running: 1, quick: 1, runnable: Runnable::AllBut(Vec::new()) };
    let claimed = store.claim(&claim).unwrap();
    let [job] = claimed.as_slice() else { panic!("{claimed:?}") };
    job.clone()
}

/// Ends the job with a receipt by this key.
fn end_as(store: &Store, job: &StoredJob, seed: u8) {
    end_with(store, job, seed, QUICK);
}

/// As [`end_as`], with a receipt of another request.
fn end_with(store: &Store, job: &StoredJob, seed: u8, text: &str) {
    let request = Request::read(text.as_bytes(), Format::Json, None).unwrap();
    let Hashes { specification, output, tests } = request.hashes;
    let draft = Draft {
        receipt_id: job.job_id,
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 1,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes { specification, output, tests },
        metadata: Object::new(),
    };
    let receipt = NewReceipt { request: Some(text.to_owned()), ..NewReceipt::single(draft.sign(&key(seed)).unwrap()) };
    let end = JobEnd { job_id: job.job_id, owner: "w".to_owned(), attempt: job.attempt, state: Stored::Done };
    store.of(&tenant()).submit_all(vec![receipt.into(), end.into()]).wait().unwrap();
}

/// The id of a job as a statement names it.
pub(crate) fn literal(home: &Home, id: &ReceiptId) -> String {
    let hex = id.to_string().replace('-', "");
    home.spelled(&format!("x'{hex}'"), &format!("'\\x{hex}'")).to_owned()
}

fn view(front: &Verifications, id: &ReceiptId) -> JobView {
    front.job(&tenant(), id).unwrap().unwrap()
}

#[test]
fn a_receipt_is_an_answer_only_by_an_admitted_key() {
    let (_home, store) = store();
    let front = front(&store);
    for (seed, admitted) in [(1, true), (2, true), (3, false)] {
        let id = submit(&front);
        assert_eq!(view(&front, &id).state, JobState::Waiting);
        let job = claim(&store);
        assert_eq!((job.job_id, job.needs.as_str()), (id, ""));
        assert_eq!(view(&front, &id).state, JobState::Running);
        end_as(&store, &job, seed);
        let view = view(&front, &id);
        match admitted {
            true => assert_eq!((view.state, view.receipt.is_some()), (JobState::Done, true)),
            false => {
                assert!(matches!(&view.state, JobState::Failed(why) if why.contains("not admitted")), "{view:?}");
                assert_eq!(view.receipt, None);
            }
        }
    }
}

#[test]
fn a_worker_that_a_front_does_not_admit_claims_nothing() {
    let (_home, store) = store();
    let front = front(&store);
    let id = submit(&front);
    let worker = |seed| start(&store, Role::Worker { workers: 1, only: None }, seed);
    let stranger = worker(3);
    let server = start(&store, Role::Server { workers: 1 }, 4);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(view(&front, &id).state, JobState::Waiting);
    assert_eq!(front.figures().unwrap().waiting, 1);
    let admitted = worker(2);
    for _ in 0..2_400 {
        if view(&front, &id).state.is_end() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let end = view(&front, &id);
    assert_eq!(end.state, JobState::Done);
    let verification = verify_receipt(&end.receipt.unwrap(), Profile::Vrf, &[]);
    assert_eq!(verification.signer, Some(key(2).signer()));
    drop((stranger, server, admitted));
}

#[test]
fn a_front_that_stops_takes_nothing_and_knows_repetitions() {
    let (_home, store) = store();
    let front = front(&store);
    let keyed = |text: &str| work(Some(("k".to_owned(), Sha256Digest::of(text.as_bytes()))));
    let Submitted::New(id) = front.submit(keyed("x")).unwrap() else { panic!("it is new") };
    let other = self::front(&store);
    assert_eq!(other.submit(keyed("x")).unwrap(), Submitted::Same(id));
    assert!(matches!(other.submit(keyed("y")), Err(SubmitError::KeyReused(_))));
    front.stop(Duration::ZERO);
    assert!(matches!(front.submit(work(None)), Err(SubmitError::Stopping)));
    // What it accepted waits for a worker.
    assert_eq!(view(&other, &id).state, JobState::Waiting);
}

/// A worker, or anyone else who can write to the store, cannot have other work answer a job.
#[test]
fn a_receipt_is_an_answer_only_to_what_was_accepted() {
    let (home, store) = store();
    let front = front(&store);
    let other = QUICK.replace("length <= 10", "length <= 99");
    let id = submit(&front);
    end_with(&store, &claim(&store), 2, &other);
    let end = view(&front, &id);
    assert!(matches!(&end.state, JobState::Failed(why) if why.contains("it is about other work")), "{end:?}");
    // What the server signed of the job cannot be taken from another one, or be left out.
    let [first, second] = [submit(&front), submit(&front)];
    let accepted = store.of(&tenant()).job(&second).unwrap().unwrap().accepted;
    for (id, forged) in [(first, accepted.as_str()), (second, "")] {
        home.sql(&format!("UPDATE jobs SET accepted = '{forged}' WHERE job_id = {}", literal(&home, &id)));
        end_as(&store, &claim(&store), 2);
        assert!(matches!(view(&front, &id).state, JobState::Failed(_)), "{:?}", view(&front, &id));
    }
}

/// The answers by idempotency key are rows, too.
#[test]
fn a_stored_answer_is_one_only_to_the_same_request() {
    let (home, store) = store();
    let front = front(&store);
    let digest = Sha256Digest::of(b"x");
    let Submitted::New(id) = front.submit(work(Some(("k".to_owned(), digest)))).unwrap() else { panic!("it is new") };
    let text = QUICK.replace("length <= 10", "length <= 99");
    let request = Request::read(text.as_bytes(), Format::Json, None).unwrap();
    let other = Work { request, text, ..work(Some(("l".to_owned(), digest))) };
    let Submitted::New(wrong) = front.submit(other).unwrap() else { panic!("it is new") };
    home.sql(&format!("UPDATE answers SET document = '{wrong}' WHERE key = 'k'"));
    let again = front.submit(work(Some(("k".to_owned(), digest))));
    assert!(matches!(&again, Err(SubmitError::OtherAnswer(answer)) if *answer == wrong), "{again:?}");
    home.sql(&format!("UPDATE answers SET document = '{id}' WHERE key = 'k'"));
    assert_eq!(front.submit(work(Some(("k".to_owned(), digest)))).unwrap(), Submitted::Same(id));
}

#[test]
fn a_worker_runs_nothing_of_a_server_that_it_does_not_know() {
    let (_home, store) = store();
    let other = start(&store, Role::Front { signers: vec![key(2).signer()] }, 5);
    let id = submit(&other);
    let (send, told) = std::sync::mpsc::channel();
    let report: proofmark_jobs::Report = Box::new(move |what| {
        if let JobWatch::UnknownServer { signer } = what {
            send.send((*signer).to_owned()).unwrap();
        }
    });
    let servers = vec![key(1).signer()];
    let role = Role::Worker { workers: 1, only: None };
    let settings = JobSettings { key: key(2), store: Arc::clone(&store), role, servers, report: Some(report) };
    let worker = Verifications::start_as(settings, || Host::probe(None)).unwrap();
    assert_eq!(told.recv().unwrap(), key(5).signer().to_string());
    assert_eq!(view(&other, &id).state, JobState::Waiting);
    drop(worker);
}

/// A worker that halts when it has claimed a job.
struct Halting {
    worker: Verifications,
    claimed: Receiver<()>,
    go_on: Sender<()>,
    left: Receiver<ReceiptId>,
}

fn halting(store: &Arc<Store>) -> Halting {
    let (has_claimed, claimed) = channel();
    let (go_on, goes_on) = channel();
    let (leaves, left) = channel();
    let goes_on = std::sync::Mutex::new(goes_on);
    let report: proofmark_jobs::Report = Box::new(move |what| match what {
        JobWatch::Claimed { .. } => {
            has_claimed.send(()).unwrap();
            goes_on.lock().unwrap().recv().unwrap();
        }
        JobWatch::Left { id, .. } => leaves.send(*id).unwrap(),
        _ => {}
    });
    let role = Role::Worker { workers: 1, only: None };
    let servers = vec![key(1).signer()];
    let settings = JobSettings { key: key(2), store: Arc::clone(store), role, servers, report: Some(report) };
    let worker = Verifications::start_as(settings, || Host::probe(None)).unwrap();
    Halting { worker, claimed, go_on, left }
}

#[test]
fn a_job_that_is_claimed_while_its_worker_stops_is_given_back_and_said_to_be() {
    let (_home, store) = store();
    let front = front(&store);
    let id = submit(&front);
    let Halting { worker, claimed, go_on, left } = halting(&store);
    claimed.recv().unwrap();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| worker.stop(Duration::from_secs(60)));
        // What it is given itself it runs until it stops.
        while !matches!(worker.submit(work(None)), Err(SubmitError::Stopping)) {}
        go_on.send(()).unwrap();
        stopping.join().unwrap();
    });
    assert_eq!(left.try_recv(), Ok(id));
    assert_eq!(view(&front, &id).state, JobState::Waiting);
    let row = store.of(&tenant()).job(&id).unwrap().unwrap();
    assert_eq!(row.owner, None, "the next worker claims it at once");
}

#[test]
fn a_job_that_another_process_gets_before_it_begins_is_said_to_be_left() {
    let (home, store) = store();
    let front = front(&store);
    let id = submit(&front);
    let Halting { worker: _worker, claimed, go_on, left } = halting(&store);
    claimed.recv().unwrap();
    home.sql(&format!("UPDATE jobs SET owner = 'another' WHERE job_id = {}", literal(&home, &id)));
    go_on.send(()).unwrap();
    assert_eq!(left.recv_timeout(Duration::from_secs(60)), Ok(id));
}
