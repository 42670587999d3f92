//! Jobs, their leases, and what is known of receipts beside their documents.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proofmark_receipt::{
    Draft, Hashes, Object, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Trust, Verdict,
};
use proofmark_store::{
    Answer, Bundle, CountFilter, Filter, JobEnd, JobState, Lease, NewJob, NewReceipt, Page, Spend, Spent, Store,
    StoreError, Tenant, TenantStore, VerdictCounts,
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

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

/// The rows of the tenant `a`.
fn a(store: &Store) -> TenantStore<'_> {
    store.of(&tenant("a"))
}

fn lease(owner: &str, until: i64) -> Lease {
    Lease { owner: owner.to_owned(), until }
}

fn job(seed: u8, owner: &str, until: i64) -> NewJob {
    NewJob {
        job_id: id(seed),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        lease: lease(owner, until),
        created_at: i64::from(seed),
    }
}

fn keep(store: &Store, new: NewJob) -> Result<(), StoreError> {
    a(store).submit_bundle(Bundle { new_job: Some(new), ..Bundle::default() }).wait()
}

fn end(store: &Store, seed: u8, owner: &str, state: JobState) -> Result<(), StoreError> {
    let receipt = (state == JobState::Done).then(|| NewReceipt::of(receipt(seed, 1)));
    let job = Some(JobEnd { job_id: id(seed), owner: owner.to_owned(), state });
    let request = receipt.as_ref().map(|_| "{}".to_owned());
    a(store).submit_bundle(Bundle { job, receipt, request, at: 50, ..Bundle::default() }).wait()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

fn renewed(store: &Store, lease: &Lease) -> Vec<u8> {
    let renewed = store.renew_leases(lease, 0).unwrap();
    assert!(renewed.iter().all(|(of, _)| *of == tenant("a")));
    seeds(&renewed.into_iter().map(|(_, id)| id).collect::<Vec<_>>())
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
    let kept = a(&store).job(&id(1)).unwrap().unwrap();
    assert_eq!((kept.job, kept.state), (job(1, "o", 10), JobState::Waiting));
    assert_eq!(a(&store).job(&id(2)).unwrap(), None);
    assert_eq!(keep(&store, job(1, "o", 10)), Err(StoreError::JobTaken(id(1))));

    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(a(&store).job(&id(1)).unwrap().unwrap().state, JobState::Done);
    assert_eq!(a(&store).request(&id(1)).unwrap(), Some("{}".to_owned()));
    for state in [JobState::Done, JobState::Cancelled, JobState::Failed("x".to_owned())] {
        assert!(end(&store, 1, "o", state.clone()).is_err(), "{state:?}");
    }
    assert_eq!(keep(&store, job(1, "o", 10)), Err(StoreError::JobTaken(id(1))));
    assert!(!a(&store).cancel_job(&id(1), 60).unwrap());
    assert_eq!(store.take_over_jobs(&lease("p", 99), 50, 10).unwrap(), []);
    assert_eq!(a(&store).list(&Filter::default()).unwrap().receipts.len(), 1);

    keep(&store, job(2, "o", 10)).unwrap();
    let why = JobState::Failed("no such thing".to_owned());
    end(&store, 2, "o", why.clone()).unwrap();
    assert_eq!(a(&store).job(&id(2)).unwrap().unwrap().state, why);
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
    assert_eq!(a(&store).job(&id(1)).unwrap().unwrap().job, NewJob { lease: lease("p", 99), ..job(1, "o", 0) });
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(a(&store).receipt(&id(1)).unwrap(), None);
    assert_eq!(a(&store).request(&id(1)).unwrap(), None);
    end(&store, 1, "p", JobState::Done).unwrap();

    assert_eq!(renewed(&store, &lease("o", 200)), [3]);
    assert_eq!(renewed(&store, &lease("p", 300)), [2]);
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
    assert!(!store.of(&tenant("b")).cancel_job(&id(1), 20).unwrap());
    assert!(a(&store).cancel_job(&id(1), 20).unwrap());
    assert!(!a(&store).cancel_job(&id(1), 20).unwrap());
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(renewed(&store, &lease("o", 99)), []);
    assert_eq!(store.take_over_jobs(&lease("p", 99), 50, 10).unwrap(), []);
    assert_eq!(a(&store).job(&id(1)).unwrap().unwrap().state, JobState::Cancelled);
}

#[test]
fn what_is_old_is_forgotten_but_receipts() {
    let (_folder, store) = store();
    let answer =
        |key: &str| Answer { key: key.to_owned(), request: Sha256Digest::of(b""), document: id(1).to_string() };
    for (key, at) in [("old", 10), ("new", 60)] {
        a(&store).submit_bundle(Bundle { answer: Some(answer(key)), at, ..Bundle::default() }).wait().unwrap();
    }
    keep(&store, job(1, "o", 10)).unwrap();
    keep(&store, job(2, "o", 10)).unwrap();
    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(store.prune(50).unwrap(), 1);
    assert_eq!(store.prune(51).unwrap(), 1);
    assert_eq!(store.prune(51).unwrap(), 0);
    assert_eq!(a(&store).answer("old").unwrap(), None);
    assert!(a(&store).answer("new").unwrap().is_some());
    assert_eq!(a(&store).job(&id(1)).unwrap(), None);
    assert!(a(&store).job(&id(2)).unwrap().is_some());
    assert!(a(&store).receipt(&id(1)).unwrap().is_some());
}

#[test]
fn receipts_have_tenants_signers_and_times() {
    let (_folder, store) = store();
    for (seed, of, key) in [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "local", 1)] {
        store.of(&tenant(of)).submit(NewReceipt::of(receipt(seed, key))).wait().unwrap();
    }
    let elsewhere = NewReceipt { trust: Some(Trust::Untrusted), ..NewReceipt::of(receipt(5, 2)) };
    a(&store).submit(elsewhere).wait().unwrap();
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
    let (_folder, store) = store();
    let ours = a(&store);
    ours.submit(NewReceipt::of(receipt(1, 1))).wait().unwrap();
    let kept = ours.receipt(&id(1)).unwrap().unwrap();
    let theirs = store.of(&tenant("b")).redeem(&kept, "thief", 5);
    assert_eq!(theirs, Err(StoreError::NoReceipt(id(1))));
    assert!(!ours.is_spent(&Spend::of(&receipt(1, 1))).unwrap());
    let redeemed = std::thread::scope(|scope| {
        let redeem = |_| scope.spawn(|| ours.redeem(&kept, "buyer", 7));
        let threads: Vec<_> = (0..8).map(redeem).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect::<Vec<_>>()
    });
    assert_eq!(redeemed, [Spent { by: "buyer".to_owned(), at: 7 }]);
    assert_eq!(ours.redeem(&kept, "buyer", 8), Err(StoreError::Spent(id(1))));
    assert!(ours.receipt(&id(1)).unwrap().unwrap().spent);
}

#[test]
fn a_receipt_and_the_one_in_its_place_are_spent_once_together() {
    let (_folder, store) = store();
    let ours = a(&store);
    let kept = |seed| ours.receipt(&id(seed)).unwrap().unwrap();
    let supersede = |older, newer| {
        let receipt = Some(NewReceipt::of(receipt(newer, 1)));
        ours.submit_bundle(Bundle { receipt, supersedes: Some(id(older)), ..Bundle::default() }).wait().unwrap();
    };
    for seed in [1, 2] {
        ours.submit(NewReceipt::of(receipt(seed, 1))).wait().unwrap();
    }
    ours.redeem(&kept(1), "buyer", 7).unwrap();
    supersede(1, 3);
    assert!(kept(3).spent);
    assert_eq!(ours.redeem(&kept(3), "buyer", 8), Err(StoreError::Spent(id(3))));
    supersede(2, 4);
    assert_eq!(ours.redeem(&kept(2), "buyer", 9), Err(StoreError::Superseded(id(2))));
    ours.redeem(&kept(4), "buyer", 9).unwrap();
    let over = ours.receipts_over(&Sha256Digest::of(&[2]).to_string()).unwrap();
    assert!(over.is_empty(), "{over:?}");
}

#[test]
fn a_superseded_receipt_is_marked_and_counts_no_more() {
    let (_folder, store) = store();
    for seed in [1, 2, 3] {
        a(&store).submit(NewReceipt::of(receipt(seed, seed))).wait().unwrap();
    }
    let tally = |of| a(&store).tally(&of).unwrap().error;
    assert_eq!(
        a(&store).tally(&CountFilter::default()).unwrap(),
        VerdictCounts { error: 3, ..VerdictCounts::default() }
    );
    let supersede = |seed, of: &str| {
        let receipt = Some(NewReceipt::of(receipt(seed, 1)));
        store.of(&tenant(of)).submit_bundle(Bundle { receipt, supersedes: Some(id(1)), ..Bundle::default() }).wait()
    };
    assert_eq!(supersede(4, "b"), Err(StoreError::NoReceipt(id(1))));
    assert_eq!(store.of(&tenant("b")).receipt(&id(4)).unwrap(), None);
    supersede(5, "a").unwrap();
    assert_eq!(a(&store).receipt(&id(1)).unwrap().unwrap().superseded_by, Some(id(5)));
    assert_eq!(tally(CountFilter::default()), 3);
    for (seed, trust) in [(6, Trust::Trusted), (7, Trust::Untrusted)] {
        let brought = NewReceipt { trust: Some(trust), ..NewReceipt::of(receipt(seed, seed)) };
        store.of(&tenant("c")).submit(brought).wait().unwrap();
    }
    let told = VerdictCounts { error: 1, issued_elsewhere: 1, untrusted: 1, ..VerdictCounts::default() };
    assert_eq!(store.of(&tenant("c")).tally(&CountFilter::default()).unwrap(), told);
    assert_eq!(
        a(&store).tally(&CountFilter::default()).unwrap(),
        VerdictCounts { error: 3, superseded: 1, ..VerdictCounts::default() }
    );
    assert_eq!(tally(CountFilter { task_type: Some("odd"), ..CountFilter::default() }), 2);
    let signer = SigningKey::from_seed([1; 32]).signer().to_string();
    assert_eq!(tally(CountFilter { signer: Some(&signer), ..CountFilter::default() }), 1);
    assert_eq!(tally(CountFilter { chain: Some("none"), ..CountFilter::default() }), 0);
    assert_eq!(store.of(&tenant("b")).tally(&CountFilter::default()).unwrap(), VerdictCounts::default());
}
