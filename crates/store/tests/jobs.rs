//! Jobs, their leases, and what is known of receipts beside their documents.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proofmark_receipt::{
    Draft, Hashes, Object, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Trust, Verdict,
};
use proofmark_store::{
    Answer, Bundle, Filter, JobEnd, JobState, Lease, NewJob, NewReceipt, Spent, Store, StoreError, Tally, TallyOf,
};

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

fn of(tenant: &str, receipt: Receipt) -> NewReceipt {
    NewReceipt { tenant: tenant.to_owned(), ..NewReceipt::of(receipt) }
}

fn lease(owner: &str, until: i64) -> Lease {
    Lease { owner: owner.to_owned(), until }
}

fn job(seed: u8, owner: &str, until: i64) -> NewJob {
    NewJob {
        job_id: id(seed),
        tenant: "a".to_owned(),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        lease: lease(owner, until),
        created_at: i64::from(seed),
    }
}

fn keep(store: &Store, new: NewJob) -> Result<(), StoreError> {
    store.submit_bundle(Bundle { new_job: Some(new), ..Bundle::default() }).wait()
}

fn end(store: &Store, seed: u8, owner: &str, state: JobState) -> Result<(), StoreError> {
    let receipt = (state == JobState::Done).then(|| of("a", receipt(seed, 1)));
    let job = Some(JobEnd { job_id: id(seed), owner: owner.to_owned(), state });
    let request = receipt.as_ref().map(|_| (id(seed), "{}".to_owned()));
    store.submit_bundle(Bundle { job, receipt, request, at: 50, ..Bundle::default() }).wait()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

fn seeds(ids: &[ReceiptId]) -> Vec<u8> {
    let mut seeds: Vec<u8> = ids.iter().map(|id| id.as_bytes()[0]).collect();
    seeds.sort_unstable();
    seeds
}

#[test]
fn a_job_comes_back_as_it_was_kept_and_ends_once() {
    let (_folder, store) = store();
    keep(&store, job(1, "o", 10)).unwrap();
    let kept = store.job(&id(1)).unwrap().unwrap();
    assert_eq!((kept.job, kept.state), (job(1, "o", 10), JobState::Waiting));
    assert_eq!(store.job(&id(2)).unwrap(), None);
    assert_eq!(keep(&store, job(1, "o", 10)), Err(StoreError::JobTaken(id(1))));

    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(store.job(&id(1)).unwrap().unwrap().state, JobState::Done);
    assert_eq!(store.request(&id(1)).unwrap(), Some("{}".to_owned()));
    for state in [JobState::Done, JobState::Cancelled, JobState::Failed("x".to_owned())] {
        assert!(end(&store, 1, "o", state.clone()).is_err(), "{state:?}");
    }
    assert_eq!(keep(&store, job(1, "o", 10)), Err(StoreError::JobTaken(id(1))));
    assert!(!store.cancel_job(&id(1), "a", 60).unwrap());
    assert_eq!(store.take_over_jobs(&lease("p", 99), 50, 10).unwrap(), []);
    assert_eq!(store.list(&Filter::default()).unwrap().receipts.len(), 1);

    keep(&store, job(2, "o", 10)).unwrap();
    let why = JobState::Failed("no such thing".to_owned());
    end(&store, 2, "o", why.clone()).unwrap();
    assert_eq!(store.job(&id(2)).unwrap().unwrap().state, why);
}

#[test]
fn who_lost_the_lease_can_not_end_the_job() {
    let (_folder, store) = store();
    for seed in [1, 2, 3] {
        keep(&store, job(seed, "o", i64::from(seed) * 10)).unwrap();
    }
    assert_eq!(store.take_over_jobs(&lease("p", 99), 10, 10).unwrap(), []);
    let taken = store.take_over_jobs(&lease("p", 99), 25, 10).unwrap();
    assert_eq!(taken.iter().map(|one| one.job.job_id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(taken[0].job, NewJob { lease: lease("p", 99), request: String::new(), ..job(1, "o", 0) });
    assert_eq!(store.job(&id(1)).unwrap().unwrap().job, NewJob { lease: lease("p", 99), ..job(1, "o", 0) });
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(store.receipt(&id(1)).unwrap(), None);
    assert_eq!(store.request(&id(1)).unwrap(), None);
    end(&store, 1, "p", JobState::Done).unwrap();

    assert_eq!(seeds(&store.renew_leases(&lease("o", 200)).unwrap()), [3]);
    assert_eq!(seeds(&store.renew_leases(&lease("p", 300)).unwrap()), [2]);
    assert_eq!(store.take_over_jobs(&lease("q", 999), 150, 10).unwrap(), []);
    store.release_leases("p").unwrap();
    let taken = store.take_over_jobs(&lease("q", 999), 1, 10).unwrap();
    assert_eq!(taken.iter().map(|one| one.job.job_id).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(store.take_over_jobs(&lease("r", 999), 500, 0).unwrap(), []);
}

#[test]
fn a_cancelled_job_is_its_tenants_and_runs_no_more() {
    let (_folder, store) = store();
    keep(&store, job(1, "o", 10)).unwrap();
    assert!(!store.cancel_job(&id(1), "b", 20).unwrap());
    assert!(store.cancel_job(&id(1), "a", 20).unwrap());
    assert!(!store.cancel_job(&id(1), "a", 20).unwrap());
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(store.renew_leases(&lease("o", 99)).unwrap(), []);
    assert_eq!(store.take_over_jobs(&lease("p", 99), 50, 10).unwrap(), []);
    assert_eq!(store.job(&id(1)).unwrap().unwrap().state, JobState::Cancelled);
}

#[test]
fn what_is_old_is_forgotten_but_receipts() {
    let (_folder, store) = store();
    let answer = |key: &str| Answer {
        tenant: "a".to_owned(),
        key: key.to_owned(),
        request: Sha256Digest::of(b""),
        document: id(1).to_string(),
    };
    for (key, at) in [("old", 10), ("new", 60)] {
        store.submit_bundle(Bundle { answer: Some(answer(key)), at, ..Bundle::default() }).wait().unwrap();
    }
    keep(&store, job(1, "o", 10)).unwrap();
    keep(&store, job(2, "o", 10)).unwrap();
    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(store.prune(50).unwrap(), 1);
    assert_eq!(store.prune(51).unwrap(), 1);
    assert_eq!(store.prune(51).unwrap(), 0);
    assert_eq!(store.answer("a", "old").unwrap(), None);
    assert!(store.answer("a", "new").unwrap().is_some());
    assert_eq!(store.job(&id(1)).unwrap(), None);
    assert!(store.job(&id(2)).unwrap().is_some());
    assert!(store.receipt(&id(1)).unwrap().is_some());
}

#[test]
fn receipts_have_tenants_signers_and_times() {
    let (_folder, store) = store();
    for (seed, tenant, key) in [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "", 1)] {
        store.submit(of(tenant, receipt(seed, key))).wait().unwrap();
    }
    let elsewhere = NewReceipt { trust: Some(Trust::Untrusted), ..of("a", receipt(5, 2)) };
    store.submit(elsewhere).wait().unwrap();
    let found = |filter: Filter| {
        let ids: Vec<_> = store.list(&filter).unwrap().receipts.iter().map(|one| one.receipt.receipt_id()).collect();
        seeds(&ids)
    };
    let signer = |key| Some(SigningKey::from_seed([key; 32]).signer().to_string());
    let tenant = |name: &str| Some(name.to_owned());
    assert_eq!(found(Filter::default()), [1, 2, 3, 4, 5]);
    assert_eq!(found(Filter { tenant: tenant("a"), ..Filter::default() }), [1, 2, 5]);
    assert_eq!(found(Filter { tenant: tenant(""), ..Filter::default() }), [4]);
    assert_eq!(found(Filter { signer: signer(1), ..Filter::default() }), [1, 3, 4]);
    assert_eq!(found(Filter { tenant: tenant("a"), signer: signer(2), ..Filter::default() }), [2, 5]);
    assert_eq!(found(Filter { since: Some(2000), until: Some(4000), ..Filter::default() }), [2, 3]);
    let kept = store.kept_receipt(&id(5)).unwrap().unwrap();
    assert_eq!((kept.receipt, kept.tenant, kept.trust), (receipt(5, 2), "a".to_owned(), Some(Trust::Untrusted)));
    assert_eq!((kept.superseded_by, kept.chain, kept.spent), (None, None, false));
    assert_eq!(store.kept_receipt(&id(9)).unwrap(), None);
    assert_eq!(store.chain_of(&id(5)).unwrap(), None);
}

#[test]
fn a_receipt_is_redeemed_once_and_by_its_tenant() {
    let (_folder, store) = store();
    store.submit(of("a", receipt(1, 1))).wait().unwrap();
    assert_eq!(store.redeem(&id(1), "b", "thief", 5), Err(StoreError::NoReceipt(id(1))));
    assert_eq!(store.spent(&id(1)).unwrap(), None);
    let redeemed = std::thread::scope(|scope| {
        let redeem = |_| scope.spawn(|| store.redeem(&id(1), "a", "buyer", 7));
        let threads: Vec<_> = (0..8).map(redeem).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(Result::is_ok).count()
    });
    assert_eq!(redeemed, 1);
    assert_eq!(store.redeem(&id(1), "a", "buyer", 8), Err(StoreError::Spent(id(1))));
    assert_eq!(store.spent(&id(1)).unwrap(), Some(Spent { by: "buyer".to_owned(), at: 7 }));
    assert!(store.kept_receipt(&id(1)).unwrap().unwrap().spent);
}

#[test]
fn a_superseded_receipt_is_marked_and_counts_no_more() {
    let (_folder, store) = store();
    for seed in [1, 2, 3] {
        store.submit(of("a", receipt(seed, seed))).wait().unwrap();
    }
    let tally = |of| store.tally("a", &of).unwrap().error;
    assert_eq!(store.tally("a", &TallyOf::default()).unwrap(), Tally { error: 3, ..Tally::default() });
    let supersede = |seed, tenant: &str| {
        let receipt = Some(of(tenant, receipt(seed, 1)));
        store.submit_bundle(Bundle { receipt, supersedes: Some(id(1)), ..Bundle::default() }).wait()
    };
    assert_eq!(supersede(4, "b"), Err(StoreError::NoReceipt(id(1))));
    assert_eq!(store.receipt(&id(4)).unwrap(), None);
    supersede(5, "a").unwrap();
    assert_eq!(store.kept_receipt(&id(1)).unwrap().unwrap().superseded_by, Some(id(5)));
    assert_eq!(tally(TallyOf::default()), 3);
    assert_eq!(tally(TallyOf { task_type: Some("odd"), ..TallyOf::default() }), 2);
    let signer = SigningKey::from_seed([1; 32]).signer().to_string();
    assert_eq!(tally(TallyOf { signer: Some(&signer), ..TallyOf::default() }), 1);
    assert_eq!(tally(TallyOf { chain: Some("none"), ..TallyOf::default() }), 0);
    assert_eq!(store.tally("b", &TallyOf::default()).unwrap(), Tally::default());
}
