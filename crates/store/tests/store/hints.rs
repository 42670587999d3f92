//! Hints at what other processes have done with jobs, and what is told about groups.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_receipt::ReceiptId;
use proofmark_store::{
    Answer, Claim, GroupOutcome, Hint, JobCancelled, JobEnd, JobProgress, JobState, Listening, NewJob, Place, Presence,
    Runnable, Store, StoreError, Tenant,
};
use proofmark_testing::postgres::database;

use crate::samples::{Home, Session};

engines!(who_shares_a_store_hears_what_happens_to_jobs, groups_are_told_with_their_sizes);

/// Longer than a hint may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was heard, and how often.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<(Hint, usize)>>);

impl Heard {
    fn at(store: &Store) -> (Self, Listening) {
        let heard = Self::default();
        let of = heard.clone();
        let listening = store.listen(move |hint| {
            let mut heard = of.0.lock().unwrap();
            *heard = (heard.0 | hint, heard.1 + 1);
        });
        // The first hint says that it listens.
        heard.hear(Hint::ANY);
        (heard, listening.unwrap())
    }

    /// Waits for this hint.
    fn hear(&self, hint: Hint) {
        let begun = Instant::now();
        while !std::mem::take(&mut self.0.lock().unwrap().0).has(hint) {
            assert!(begun.elapsed() < PATIENCE, "no {hint:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

fn id(number: u32) -> ReceiptId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    ReceiptId::from_random_bytes(bytes)
}

fn job(number: u32) -> NewJob {
    NewJob {
        job_id: id(number),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: None,
        accepted: "{}".to_owned(),
        needs: String::new(),
        owner: None,
        created_at: 1,
    }
}

fn submit(store: &Store, job: NewJob) {
    store.of(&Tenant::LOCAL).submit(job).wait().unwrap();
}

fn presence(progress: Vec<JobProgress>) -> Presence {
    Presence { owner: "w".to_owned(), progress, ..Presence::default() }
}

fn claim(store: &Store) {
    let claim = Claim { owner: "w".to_owned(), running: 1, quick: 1, runnable: Runnable::AllBut(Vec::new()) };
    assert_eq!(store.claim(&claim).unwrap().len(), 1);
}

fn who_shares_a_store_hears_what_happens_to_jobs(home: &Home) {
    let (ours, theirs) = (home.open(), home.open());
    // A process sends hints while it listens itself.
    let ((heard, _ours), (_, _theirs)) = (Heard::at(&ours), Heard::at(&theirs));
    submit(&theirs, job(1));
    heard.hear(Hint::WAITING);
    theirs.renew(&presence(Vec::new())).unwrap();
    claim(&theirs);
    heard.hear(Hint::MOVED);
    theirs.renew(&presence(vec![JobProgress { job_id: id(1), done: 1, total: 3 }])).unwrap();
    heard.hear(Hint::MOVED);
    assert_eq!(theirs.of(&Tenant::LOCAL).cancel_job(&id(1), "another").unwrap(), JobCancelled::Asked);
    heard.hear(Hint::CANCELLING);
    let end = JobEnd { job_id: id(1), owner: "w".to_owned(), attempt: 1, state: JobState::Cancelled };
    theirs.of(&Tenant::LOCAL).submit(end).wait().unwrap();
    heard.hear(Hint::MOVED);
    submit(&theirs, job(2));
    heard.hear(Hint::WAITING);
    theirs.give_up_lease("w").unwrap();
    heard.hear(Hint::WAITING);
}

fn groups_are_told_with_their_sizes(home: &Home) {
    let store = home.open();
    let told = Arc::new(Mutex::new(Vec::new()));
    let of = Arc::clone(&told);
    store.watch_groups(move |group| of.lock().unwrap().push(*group));
    store.watch_groups(|_| panic!("the first stays"));
    let pending: Vec<_> = (1..=40).map(|number| store.of(&Tenant::LOCAL).submit(job(number))).collect();
    pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    // A refusal is of its submission alone.
    let taken = store.of(&Tenant::LOCAL).submit(job(1)).wait();
    assert_eq!(taken, Err(StoreError::JobTaken(id(1))));
    drop(store);
    let told = told.lock().unwrap();
    assert!(told.iter().all(|group| group.outcome == GroupOutcome::Stored && group.took >= group.commit));
    assert_eq!(told.iter().map(|group| group.size).sum::<usize>(), 41);
}

#[test]
fn what_is_not_about_jobs_is_no_hint_and_many_changes_are_few_hints() {
    let Some(home) = Home::database() else { return };
    let (ours, theirs) = (home.open(), home.open());
    let ((heard, listening), (_, _theirs)) = (Heard::at(&ours), Heard::at(&theirs));
    theirs.probe().unwrap();
    let answer =
        Answer { key: "k".to_owned(), request: proofmark_receipt::Sha256Digest::of(&[1]), document: String::new() };
    theirs.of(&Tenant::LOCAL).submit(answer).wait().unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(heard.count(), 1);
    let begun = Instant::now();
    for number in 1..=100 {
        submit(&theirs, job(number));
    }
    heard.hear(Hint::WAITING);
    thread::sleep(Duration::from_millis(100));
    // At most one in 10 ms.
    let most = begun.elapsed().as_millis() as usize / 10 + 2;
    assert!(heard.count() <= 1 + most, "{} {most}", heard.count());
    drop(listening);
    thread::sleep(Duration::from_millis(100));
    let before = heard.count();
    submit(&theirs, job(101));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(heard.count(), before, "it listens no more");
}

#[test]
fn hints_come_again_after_the_connection_was_lost() {
    let Some(database) = database() else { return };
    let open = || Store::open(Place::parse(&database.url())).unwrap();
    let (ours, theirs) = (open(), open());
    let ((heard, _ours), (_, _theirs)) = (Heard::at(&ours), Heard::at(&theirs));
    let listeners = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    assert_eq!(database.psql(listeners).trim(), "2");
    // The new connection hints at everything that may have happened meanwhile.
    heard.hear(Hint::CANCELLING);
    for number in 1.. {
        submit(&theirs, job(number));
        thread::sleep(Duration::from_millis(200));
        if heard.0.lock().unwrap().0.has(Hint::WAITING) {
            break;
        }
        assert!(number < 100, "no hints come");
    }
    // Anyone who can use the database can send one; it says nothing that is not known.
    let _sent = database.psql("NOTIFY proofmark_jobs, 'xyzc'");
    heard.hear(Hint::CANCELLING);
}

#[test]
fn the_oldest_snapshot_of_a_database_and_the_log_of_a_file_are_known() {
    let home = Home::file();
    let file = home.open();
    submit(&file, job(1));
    let upkeep = file.upkeep().unwrap();
    assert!(upkeep.log_bytes.unwrap() > 0 && upkeep.oldest_snapshot.is_none(), "{upkeep:?}");
    let Some(database) = database() else { return };
    let store = Store::open(Place::parse(&database.url())).unwrap();
    assert_eq!(store.upkeep().unwrap().oldest_snapshot, Some(Duration::ZERO));
    // As the user of the store: of others a user sees less.
    let held = Session::open(&database);
    held.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM clock");
    let begun = Instant::now();
    while store.upkeep().unwrap().oldest_snapshot.unwrap() < Duration::from_secs(2) {
        assert!(begun.elapsed() < PATIENCE, "the transaction is not seen");
        thread::sleep(Duration::from_millis(50));
    }
    held.run("COMMIT");
    assert_eq!(store.upkeep().unwrap().log_bytes, None);
}
