//! Jobs, their leases, and what the store knows of receipts beside their documents.

use std::path::{Path, PathBuf};

use proofmark_receipt::{
    Draft, Hashes, Object, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Trust, Verdict,
};
use proofmark_store::{
    Answer, CountFilter, Filter, JobEnd, JobState, LEASE_MS, Lease, NewJob, NewReceipt, Page, Spend, Store, StoreError,
    StoredJob, Tenant, TenantStore, VerdictCounts,
};
use rusqlite::Connection;

use crate::samples::folder;

fn id(seed: u8) -> ReceiptId {
    ReceiptId::from_random_bytes([seed; 16])
}

fn receipt(seed: u8, key: u8) -> Receipt {
    let digest = Sha256Digest::of(&[seed]);
    let task_type = Some(if seed.is_multiple_of(2) { "even" } else { "odd" }.to_owned());
    let draft = Draft {
        receipt_id: id(seed),
        verified_at: Timestamp::from_unix_millis(i64::from(seed) * 1000),
        tier: 1,
        verdict: Verdict::Error,
        task: Some(Task { task_type, ..Task::default() }),
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    draft.sign(&SigningKey::from_seed([key; 32])).unwrap()
}

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

/// The rows of the tenant `a`.
fn a(store: &Store) -> TenantStore<'_> {
    store.of(&tenant("a"))
}

fn job(seed: u8, owner: &str) -> NewJob {
    NewJob {
        job_id: id(seed),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        owner: owner.to_owned(),
        created_at: i64::from(seed),
    }
}

fn submit(store: &Store, job: NewJob) -> Result<(), StoreError> {
    a(store).submit(job).wait().map(drop)
}

fn end(store: &Store, seed: u8, owner: &str, state: JobState) -> Result<(), StoreError> {
    let receipt = NewReceipt { request: Some("{}".to_owned()), ..NewReceipt::single(receipt(seed, 1)) };
    let mut writes = vec![JobEnd { job_id: id(seed), owner: owner.to_owned(), state: state.clone() }.into()];
    if state == JobState::Done {
        writes.push(receipt.into());
    }
    a(store).submit_all(writes).wait().map(drop)
}

/// The stored job with this seed.
fn stored(store: &Store, seed: u8) -> StoredJob {
    a(store).job(&id(seed)).unwrap().unwrap()
}

fn owner(store: &Store, seed: u8) -> Option<String> {
    stored(store, seed).lease.map(|lease| lease.owner)
}

/// Changes the database behind the store's back, as time would.
fn sql(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// The leases of these jobs expire.
fn expire(path: &Path, seeds: &[u8]) {
    for seed in seeds {
        sql(path, &format!("UPDATE jobs SET lease_until = {seed} WHERE created_at = {seed}"));
    }
}

fn store() -> (tempfile::TempDir, PathBuf, Store) {
    let (folder, path) = folder();
    let store = Store::open(&path).unwrap();
    (folder, path, store)
}

fn renewed(store: &Store, owner: &str) -> Vec<u8> {
    let renewed = store.renew_leases(owner).unwrap();
    assert!(renewed.iter().all(|(of, _)| *of == tenant("a")));
    seeds(&renewed.into_iter().map(|(_, id)| id).collect::<Vec<_>>())
}

fn taken_over(store: &Store, owner: &str, limit: usize) -> Vec<u8> {
    let taken = store.take_over_jobs(owner, limit).unwrap();
    assert!(taken.iter().all(|job| job.request.is_empty()), "requests may be long");
    taken.iter().map(|job| job.job_id.as_bytes()[0]).collect()
}

fn seeds(ids: &[ReceiptId]) -> Vec<u8> {
    let mut seeds: Vec<u8> = ids.iter().map(|id| id.as_bytes()[0]).collect();
    seeds.sort_unstable();
    seeds
}

#[test]
fn a_job_is_read_as_it_was_stored_and_ends_once() {
    let (_folder, _, store) = store();
    submit(&store, job(1, "o")).unwrap();
    let expected = StoredJob {
        tenant: tenant("a"),
        job_id: id(1),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        created_at: 1,
        lease: stored(&store, 1).lease,
        state: JobState::Waiting,
    };
    assert_eq!(stored(&store, 1), expected);
    assert_eq!(owner(&store, 1).as_deref(), Some("o"));
    assert_eq!(a(&store).job(&id(2)).unwrap(), None);
    assert_eq!(submit(&store, job(1, "o")), Err(StoreError::JobTaken(id(1))));

    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!((stored(&store, 1).state, stored(&store, 1).lease), (JobState::Done, None));
    assert_eq!(a(&store).request(&id(1)).unwrap(), Some("{}".to_owned()));
    for state in [JobState::Done, JobState::Cancelled, JobState::Failed("x".to_owned())] {
        assert!(end(&store, 1, "o", state.clone()).is_err(), "{state:?}");
    }
    assert_eq!(submit(&store, job(1, "o")), Err(StoreError::JobTaken(id(1))));
    assert!(!a(&store).cancel_job(&id(1)).unwrap());
    assert_eq!(a(&store).list(&Filter::default()).unwrap().receipts.len(), 1);

    submit(&store, job(2, "o")).unwrap();
    let why = JobState::Failed("no such thing".to_owned());
    end(&store, 2, "o", why.clone()).unwrap();
    assert_eq!(stored(&store, 2).state, why);
}

#[test]
fn a_lease_lasts_by_the_clock_of_the_store() {
    let (_folder, path, store) = store();
    let before = store.now().unwrap();
    submit(&store, job(1, "o")).unwrap();
    let until = |lease: Option<Lease>| lease.unwrap().until;
    let first = until(stored(&store, 1).lease);
    assert!((before + LEASE_MS..before + 2 * LEASE_MS).contains(&first), "{before} {first}");
    // Another host has recorded that it is an hour later: the lease has expired, whatever our own clock shows.
    sql(&path, "UPDATE clock SET latest = latest + 3600000");
    assert_eq!(taken_over(&store, "p", 9), [1]);
    assert!(until(stored(&store, 1).lease) >= first + 3_600_000);
    assert_eq!(taken_over(&store, "q", 9), []);
}

#[test]
fn a_process_that_lost_its_lease_cannot_end_the_job() {
    let (_folder, path, store) = store();
    for seed in [1, 2, 3] {
        submit(&store, job(seed, "o")).unwrap();
    }
    assert_eq!(taken_over(&store, "p", 9), []);
    expire(&path, &[2, 1]);
    assert_eq!(taken_over(&store, "p", 9), [1, 2]);
    assert_eq!(owner(&store, 1).as_deref(), Some("p"));
    assert_eq!(stored(&store, 1).request, "{}");
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(a(&store).receipt(&id(1)).unwrap(), None);
    assert_eq!(a(&store).request(&id(1)).unwrap(), None);
    end(&store, 1, "p", JobState::Done).unwrap();

    assert_eq!(renewed(&store, "o"), [3]);
    expire(&path, &[2]);
    assert_eq!(renewed(&store, "p"), [2]);
    assert_eq!(taken_over(&store, "q", 9), []);
    store.release_leases("p").unwrap();
    assert_eq!(stored(&store, 2).lease, None);
    assert_eq!(taken_over(&store, "q", 9), [2]);
    expire(&path, &[2]);
    assert_eq!(taken_over(&store, "r", 0), []);
}

#[test]
fn a_cancelled_job_is_its_tenants_and_runs_no_more() {
    let (_folder, path, store) = store();
    submit(&store, job(1, "o")).unwrap();
    assert!(!store.of(&tenant("b")).cancel_job(&id(1)).unwrap());
    assert!(a(&store).cancel_job(&id(1)).unwrap());
    assert!(!a(&store).cancel_job(&id(1)).unwrap());
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(renewed(&store, "o"), []);
    expire(&path, &[1]);
    assert_eq!(taken_over(&store, "p", 9), []);
    assert_eq!(stored(&store, 1).state, JobState::Cancelled);
}

#[test]
fn old_answers_and_jobs_are_deleted_and_receipts_are_not() {
    const DAY: i64 = 86_400_000;
    let (_folder, path, store) = store();
    let answer =
        |key: &str| Answer { key: key.to_owned(), request: Sha256Digest::of(b""), document: id(1).to_string() };
    for key in ["old", "new"] {
        a(&store).submit(answer(key)).wait().unwrap();
    }
    submit(&store, job(1, "o")).unwrap();
    submit(&store, job(2, "o")).unwrap();
    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(store.prune(DAY).unwrap(), 0);
    sql(&path, &format!("UPDATE answers SET answered_at = answered_at - {DAY} - 1 WHERE key = 'old'"));
    assert_eq!(store.prune(DAY).unwrap(), 1);
    sql(&path, &format!("UPDATE jobs SET finished_at = finished_at - {DAY} - 1"));
    assert_eq!(store.prune(DAY).unwrap(), 1);
    assert_eq!(store.prune(DAY).unwrap(), 0);
    assert_eq!(a(&store).answer("old").unwrap(), None);
    assert!(a(&store).answer("new").unwrap().is_some());
    assert_eq!(a(&store).job(&id(1)).unwrap(), None);
    assert!(a(&store).job(&id(2)).unwrap().is_some());
    assert!(a(&store).receipt(&id(1)).unwrap().is_some());
}

#[test]
fn receipts_have_tenants_signers_and_times() {
    let (_folder, _, store) = store();
    for (seed, of, key) in [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "local", 1)] {
        store.of(&tenant(of)).submit(NewReceipt::single(receipt(seed, key))).wait().unwrap();
    }
    a(&store).submit(NewReceipt::received(receipt(5, 2), Trust::Untrusted)).wait().unwrap();
    let ids = |page: Page| seeds(&page.receipts.iter().map(|one| one.receipt.receipt_id()).collect::<Vec<_>>());
    let found = |filter: Filter| ids(store.all_tenants_receipts(&filter).unwrap());
    let of = |name: &str, filter: Filter| ids(store.of(&tenant(name)).list(&filter).unwrap());
    let signer = |key| Some(SigningKey::from_seed([key; 32]).signer().to_string());
    assert_eq!(found(Filter::default()), [1, 2, 3, 4, 5]);
    assert_eq!(of("a", Filter::default()), [1, 2, 5]);
    assert_eq!(of("local", Filter::default()), [4]);
    assert_eq!(found(Filter { signer: signer(1), ..Filter::default() }), [1, 3, 4]);
    assert_eq!(of("a", Filter { signer: signer(2), ..Filter::default() }), [2, 5]);
    assert_eq!(found(Filter { since: Some(2000), until: Some(4000), ..Filter::default() }), [2, 3]);
    let kept = a(&store).receipt(&id(5)).unwrap().unwrap();
    assert_eq!((kept.receipt, kept.tenant, kept.trust), (receipt(5, 2), tenant("a"), Some(Trust::Untrusted)));
    assert_eq!((kept.superseded_by, kept.chain, kept.spent), (None, None, false));
    assert_eq!(a(&store).receipt(&id(9)).unwrap(), None);
    assert_eq!(store.of(&tenant("b")).receipt(&id(5)).unwrap(), None);
}

#[test]
fn a_receipt_is_redeemed_once_and_by_its_tenant() {
    let (_folder, _, store) = store();
    let ours = a(&store);
    ours.submit(NewReceipt::single(receipt(1, 1))).wait().unwrap();
    let kept = ours.receipt(&id(1)).unwrap().unwrap();
    let theirs = store.of(&tenant("b")).redeem(&kept, "thief");
    assert_eq!(theirs, Err(StoreError::NoReceipt(id(1))));
    assert!(!ours.is_spent(&Spend::of(&receipt(1, 1))).unwrap());
    let redeemed = std::thread::scope(|scope| {
        let redeem = |_| scope.spawn(|| ours.redeem(&kept, "buyer"));
        let threads: Vec<_> = (0..8).map(redeem).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect::<Vec<_>>()
    });
    assert_eq!(redeemed.iter().map(|spent| spent.by.as_str()).collect::<Vec<_>>(), ["buyer"]);
    assert_eq!(ours.redeem(&kept, "buyer"), Err(StoreError::Spent(id(1))));
    assert!(ours.receipt(&id(1)).unwrap().unwrap().spent);
}

#[test]
fn a_receipt_and_the_one_in_its_place_are_spent_once_together() {
    let (_folder, _, store) = store();
    let ours = a(&store);
    let kept = |seed| ours.receipt(&id(seed)).unwrap().unwrap();
    let supersede = |older, newer| {
        let receipt = NewReceipt { supersedes: Some(id(older)), ..NewReceipt::single(receipt(newer, 1)) };
        ours.submit(receipt).wait().unwrap();
    };
    for seed in [1, 2] {
        ours.submit(NewReceipt::single(receipt(seed, 1))).wait().unwrap();
    }
    ours.redeem(&kept(1), "buyer").unwrap();
    supersede(1, 3);
    assert!(kept(3).spent);
    assert_eq!(ours.redeem(&kept(3), "buyer"), Err(StoreError::Spent(id(3))));
    supersede(2, 4);
    assert_eq!(ours.redeem(&kept(2), "buyer"), Err(StoreError::Superseded(id(2))));
    ours.redeem(&kept(4), "buyer").unwrap();
    let over = ours.receipts_over(&Sha256Digest::of(&[2]).to_string()).unwrap();
    assert!(over.is_empty(), "{over:?}");
}

#[test]
fn a_superseded_receipt_is_marked_and_counts_no_more() {
    let (_folder, _, store) = store();
    for seed in [1, 2, 3] {
        a(&store).submit(NewReceipt::single(receipt(seed, seed))).wait().unwrap();
    }
    let errors = |of| a(&store).verdict_counts(&of).unwrap().error;
    assert_eq!(
        a(&store).verdict_counts(&CountFilter::default()).unwrap(),
        VerdictCounts { error: 3, ..VerdictCounts::default() }
    );
    let supersede = |seed, of: &str| {
        let receipt = NewReceipt { supersedes: Some(id(1)), ..NewReceipt::single(receipt(seed, 1)) };
        store.of(&tenant(of)).submit(receipt).wait().map(drop)
    };
    assert_eq!(supersede(4, "b"), Err(StoreError::NoReceipt(id(1))));
    assert_eq!(store.of(&tenant("b")).receipt(&id(4)).unwrap(), None);
    supersede(5, "a").unwrap();
    assert_eq!(a(&store).receipt(&id(1)).unwrap().unwrap().superseded_by, Some(id(5)));
    assert_eq!(errors(CountFilter::default()), 3);
    for (seed, trust) in [(6, Trust::Trusted), (7, Trust::Untrusted)] {
        store.of(&tenant("c")).submit(NewReceipt::received(receipt(seed, seed), trust)).wait().unwrap();
    }
    let counts = VerdictCounts { error: 1, issued_elsewhere: 1, untrusted: 1, ..VerdictCounts::default() };
    assert_eq!(store.of(&tenant("c")).verdict_counts(&CountFilter::default()).unwrap(), counts);
    assert_eq!(
        a(&store).verdict_counts(&CountFilter::default()).unwrap(),
        VerdictCounts { error: 3, superseded: 1, ..VerdictCounts::default() }
    );
    assert_eq!(errors(CountFilter { task_type: Some("odd"), ..CountFilter::default() }), 2);
    let signer = SigningKey::from_seed([1; 32]).signer().to_string();
    assert_eq!(errors(CountFilter { signer: Some(&signer), ..CountFilter::default() }), 1);
    assert_eq!(errors(CountFilter { chain: Some("none"), ..CountFilter::default() }), 0);
    assert_eq!(store.of(&tenant("b")).verdict_counts(&CountFilter::default()).unwrap(), VerdictCounts::default());
}
