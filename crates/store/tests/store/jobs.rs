//! Jobs, their leases, and what the store knows of receipts beside their documents.

use proofmark_receipt::{
    Draft, Hashes, Object, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Trust, Verdict,
};
use proofmark_store::{
    Answer, Claim, CountFilter, Filter, JobCancelled, JobEnd, JobProgress, JobState, LEASE_MS, MAX_LOST, MAX_WAITING,
    MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, NewJob, NewReceipt, Page, Presence, Runnable, Spend, Store,
    StoreError, StoredJob, Tenant, TenantStore, VerdictCounts,
};

use crate::samples::Home;

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

/// A job of which its server has begun to run the checks itself.
fn job(seed: u8, owner: &str) -> NewJob {
    NewJob { owner: Some(owner.to_owned()), ..free_job(seed) }
}

/// A job that waits for any process.
fn free_job(seed: u8) -> NewJob {
    NewJob {
        job_id: id(seed),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        accepted: "{}".to_owned(),
        needs: "python".to_owned(),
        owner: None,
        created_at: i64::from(seed),
    }
}

fn submit(store: &Store, job: NewJob) -> Result<(), StoreError> {
    submit_of(store, "a", job)
}

fn submit_of(store: &Store, of: &str, job: NewJob) -> Result<(), StoreError> {
    store.of(&tenant(of)).submit(job).wait().map(drop)
}

/// Ends a job in the attempt that the store has.
fn end(store: &Store, seed: u8, owner: &str, state: JobState) -> Result<(), StoreError> {
    end_attempt(store, seed, (owner, stored(store, seed).attempt), state)
}

fn end_attempt(store: &Store, seed: u8, (owner, attempt): (&str, u64), state: JobState) -> Result<(), StoreError> {
    let receipt = NewReceipt { request: Some("{}".to_owned()), ..NewReceipt::single(receipt(seed, 1)) };
    let end = JobEnd { job_id: id(seed), owner: owner.to_owned(), attempt, state: state.clone() };
    let mut writes = vec![end.into()];
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
    stored(store, seed).owner
}

fn presence(owner: &str) -> Presence {
    Presence { owner: owner.to_owned(), runs: Some(vec!["python".to_owned()]), ..Presence::default() }
}

/// These processes begin or renew their leases.
fn renew(store: &Store, owners: &[&str]) {
    owners.iter().for_each(|owner| store.renew(&presence(owner)).unwrap());
}

fn claim(owner: &str, limit: usize) -> Claim {
    let runnable = Runnable::Only(vec!["python".to_owned()]);
    Claim { owner: owner.to_owned(), running: limit, quick: limit, runnable }
}

/// The seeds of the jobs that a process claims.
fn claimed(store: &Store, owner: &str, limit: usize) -> Vec<u8> {
    let claimed = store.claim(&claim(owner, limit)).unwrap();
    assert!(claimed.iter().all(|job| job.request.is_empty()), "requests may be long");
    claimed.iter().map(|job| job.job_id.as_bytes()[0]).collect()
}

/// The seeds of the jobs that a process has.
fn has(store: &Store, owner: &str) -> Vec<u8> {
    let jobs = store.jobs_of(owner).unwrap();
    seeds(&jobs.iter().map(|job| job.job_id).collect::<Vec<_>>())
}

/// The leases of these processes expire, and their jobs are given back.
fn expire(store: &Store, home: &Home, owners: &[&str]) {
    for owner in owners {
        home.sql(&format!("UPDATE workers SET alive_until = 1 WHERE owner = '{owner}'"));
    }
    store.give_back_jobs().unwrap();
}

fn seeds(ids: &[ReceiptId]) -> Vec<u8> {
    let mut seeds: Vec<u8> = ids.iter().map(|id| id.as_bytes()[0]).collect();
    seeds.sort_unstable();
    seeds
}

fn a_job_is_read_as_it_was_stored_and_ends_once(home: &Home) {
    let store = home.open();
    submit(&store, job(1, "o")).unwrap();
    let expected = StoredJob {
        tenant: tenant("a"),
        job_id: id(1),
        request: "{}".to_owned(),
        checks: 3,
        chain: "main".to_owned(),
        supersedes: Some(id(99)),
        accepted: "{}".to_owned(),
        needs: "python".to_owned(),
        created_at: 1,
        owner: Some("o".to_owned()),
        attempt: 0,
        cancelling: false,
        state: JobState::Waiting,
    };
    assert_eq!(stored(&store, 1), expected);
    let without_request = StoredJob { request: String::new(), ..expected };
    assert_eq!(store.all_tenants_jobs(&[id(2), id(1)]).unwrap(), [without_request]);
    assert_eq!(a(&store).job(&id(2)).unwrap(), None);
    assert_eq!(submit(&store, job(1, "o")), Err(StoreError::JobTaken(id(1))));

    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!((stored(&store, 1).state, owner(&store, 1)), (JobState::Done, None));
    assert_eq!(a(&store).request(&id(1)).unwrap(), Some("{}".to_owned()));
    for state in [JobState::Done, JobState::Cancelled, JobState::Failed("x".to_owned())] {
        assert!(end(&store, 1, "o", state.clone()).is_err(), "{state:?}");
    }
    assert_eq!(submit(&store, job(1, "o")), Err(StoreError::JobTaken(id(1))));
    assert_eq!(a(&store).cancel_job(&id(1), "o").unwrap(), JobCancelled::No);
    assert_eq!(a(&store).list(&Filter::default()).unwrap().receipts.len(), 1);

    submit(&store, job(2, "o")).unwrap();
    let why = JobState::Failed("no such thing".to_owned());
    end(&store, 2, "o", why.clone()).unwrap();
    assert_eq!(stored(&store, 2).state, why);
}

fn a_lease_lasts_by_the_clock_of_the_store(home: &Home) {
    let store = home.open();
    let before = store.now().unwrap();
    renew(&store, &["o"]);
    let seen = store.workers().unwrap();
    let [worker] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(worker.is_alive && worker.seen_at >= before);
    assert_eq!(worker.presence, presence("o"));
    submit(&store, job(1, "o")).unwrap();
    store.give_back_jobs().unwrap();
    assert_eq!(owner(&store, 1).as_deref(), Some("o"));
    // Another host has recorded that it is an hour later: the lease has expired, whatever our own clock shows.
    home.sql(&format!("UPDATE clock SET latest = latest + {LEASE_MS} + 3500000"));
    assert!(!store.workers().unwrap()[0].is_alive);
    store.give_back_jobs().unwrap();
    assert_eq!(claimed(&store, "p", 9), [1]);
    assert_eq!(claimed(&store, "q", 9), []);
    // After an hour the process is forgotten.
    home.sql("UPDATE clock SET latest = latest + 3600000");
    renew(&store, &["p"]);
    assert_eq!(store.workers().unwrap().len(), 1);
}

fn one_process_has_a_duty_while_its_lease_lasts(home: &Home) {
    let store = home.open();
    assert!(!store.take_on("tell", "o").unwrap(), "without a lease nobody has a duty");
    renew(&store, &["o", "p"]);
    assert!(store.take_on("tell", "o").unwrap() && !store.take_on("tell", "p").unwrap());
    assert!(store.take_on("other", "p").unwrap(), "duties are had one by one");
    // It ends, is killed, or hangs: another one takes it on, and keeps it where the first comes back.
    store.give_up_lease("o").unwrap();
    assert!(!store.take_on("tell", "o").unwrap() && store.take_on("tell", "p").unwrap());
    renew(&store, &["o"]);
    assert!(!store.take_on("tell", "o").unwrap() && store.take_on("tell", "p").unwrap());
    home.sql("UPDATE workers SET alive_until = 1 WHERE owner = 'p'");
    assert!(store.take_on("tell", "o").unwrap() && !store.take_on("tell", "p").unwrap());
    // Many ask at once: one has it.
    home.sql("UPDATE workers SET alive_until = 1 WHERE owner = 'o'");
    let names: Vec<String> = (0..8).map(|number| format!("w{number}")).collect();
    names.iter().for_each(|name| renew(&store, &[name]));
    let had = std::thread::scope(|scope| {
        let asked: Vec<_> =
            names.iter().map(|name| scope.spawn(move || home.open().take_on("tell", name).unwrap())).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).filter(|had| *had).count()
    });
    assert_eq!(had, 1);
}

fn a_process_says_what_it_runs_and_how_far_it_is(home: &Home) {
    let store = home.open();
    let said = Presence {
        owner: "o".to_owned(),
        signer: "ed25519:x".to_owned(),
        runs: Some(vec![String::new(), "code".to_owned(), "python 3.11.7".to_owned()]),
        admits: Some(vec!["ed25519:x".to_owned(), "ed25519:y".to_owned()]),
        progress: vec![JobProgress { job_id: id(1), done: 2, total: 3 }],
    };
    store.renew(&said).unwrap();
    assert_eq!(store.workers().unwrap()[0].presence, said);
    let later = Presence { runs: None, admits: None, progress: Vec::new(), ..said };
    store.renew(&later).unwrap();
    assert_eq!(store.workers().unwrap()[0].presence, later);
    store.give_up_lease("o").unwrap();
    let seen = store.workers().unwrap();
    assert!(!seen[0].is_alive && seen[0].seen_at > 0);
}

fn a_process_that_lost_its_lease_cannot_end_the_job(home: &Home) {
    let store = home.open();
    renew(&store, &["o", "p", "q"]);
    for seed in [1, 2] {
        submit(&store, job(seed, "o")).unwrap();
    }
    assert_eq!(claimed(&store, "p", 9), []);
    expire(&store, home, &["o"]);
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(claimed(&store, "p", 9), [1, 2]);
    assert_eq!(stored(&store, 1).request, "{}");
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(end_attempt(&store, 1, ("o", 0), JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!(a(&store).receipt(&id(1)).unwrap(), None);
    assert_eq!(a(&store).request(&id(1)).unwrap(), None);
    end(&store, 1, "p", JobState::Done).unwrap();

    // The same process may claim it again; the end of its earlier attempt is refused all the same.
    store.release_job("p", &id(2)).unwrap();
    assert_eq!(claimed(&store, "p", 9), [2]);
    assert_eq!(end_attempt(&store, 2, ("p", 1), JobState::Done), Err(StoreError::JobTaken(id(2))));
    // A lease that has expired is renewed, unless the jobs were given back.
    home.sql("UPDATE workers SET alive_until = 1 WHERE owner = 'p'");
    renew(&store, &["p"]);
    store.give_back_jobs().unwrap();
    assert_eq!(has(&store, "p"), [2]);
    store.give_up_lease("p").unwrap();
    assert_eq!((owner(&store, 2), has(&store, "p")), (None, vec![]));
    assert_eq!(claimed(&store, "q", 0), []);
    assert_eq!(claimed(&store, "q", 9), [2]);
    assert_eq!(stored(&store, 2).attempt, 3);
}

fn a_job_is_claimed_once_by_a_process_that_can_run_it(home: &Home) {
    let store = home.open();
    renew(&store, &["o", "p"]);
    for (seed, needs) in [(1, "ruby"), (2, "python"), (3, ""), (4, "python 3.11.7"), (5, "python")] {
        submit(&store, NewJob { needs: needs.to_owned(), ..free_job(seed) }).unwrap();
    }
    let one = Claim { running: 1, quick: 0, ..claim("o", 1) };
    let seeds_of = |claim: &Claim| {
        let claimed = store.claim(claim).unwrap();
        assert!(claimed.iter().all(|job| job.attempt == 1 && job.owner.as_ref() == Some(&claim.owner)));
        claimed.iter().map(|job| job.job_id.as_bytes()[0]).collect::<Vec<_>>()
    };
    assert_eq!(seeds_of(&one), [2]);
    assert_eq!(seeds_of(&claim("p", 9)), [3, 5]);
    assert_eq!(seeds_of(&Claim { runnable: Runnable::Only(Vec::new()), ..claim("p", 9) }), []);
    let but = Runnable::AllBut(vec!["ruby".to_owned()]);
    assert_eq!(seeds_of(&Claim { runnable: but, ..claim("p", 9) }), [4]);
    assert_eq!(seeds_of(&Claim { runnable: Runnable::AllBut(Vec::new()), ..claim("p", 9) }), [1]);
    let figures = store.job_figures().unwrap();
    assert_eq!((figures.waiting, figures.oldest, figures.owned), (0, None, 5));
    [6, 7].into_iter().for_each(|seed| submit(&store, free_job(seed)).unwrap());
    submit(&store, NewJob { needs: String::new(), ..free_job(8) }).unwrap();
    let figures = store.job_figures().unwrap();
    assert_eq!((figures.waiting, figures.oldest, figures.owned), (3, Some(6), 5));
    let needs: Vec<(&str, u64)> = figures.needs.iter().map(|(need, jobs)| (need.as_str(), *jobs)).collect();
    assert_eq!(needs, [("", 1), ("python", 2)]);
}

fn many_claim_at_once_and_none_gets_what_another_has(home: &Home) {
    let store = home.open();
    for seed in 0..60 {
        submit(&store, free_job(seed)).unwrap();
    }
    let claimed = std::thread::scope(|scope| {
        let claim_all = |number: usize| {
            scope.spawn(move || {
                let store = home.open();
                let claim = |()| store.claim(&claim(&format!("w{number}"), 3)).unwrap();
                (0..10).flat_map(|_| claim(())).map(|job| job.job_id).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..4).map(claim_all).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(seeds(&claimed), (0..60).collect::<Vec<_>>());
}

fn tenants_take_turns_over_all_processes(home: &Home) {
    let store = home.open();
    (0..6).for_each(|seed| submit_of(&store, "a", free_job(seed)).unwrap());
    submit_of(&store, "b", free_job(10)).unwrap();
    assert_eq!(claimed(&store, "o", 2), [0, 10]);
    assert_eq!(claimed(&store, "p", 2), [1, 2]);
    // A tenant that comes later begins behind what was claimed, not behind all that wait.
    (20..23).for_each(|seed| submit_of(&store, "c", free_job(seed)).unwrap());
    // What is given back is before those that came later.
    store.release_job("o", &id(0)).unwrap();
    assert_eq!(claimed(&store, "p", 1), [0]);
    let mut order = claimed(&store, "p", 9);
    let rest = order.split_off(2);
    order.sort_unstable();
    assert_eq!(order, [3, 20], "{rest:?}");
    assert_eq!(rest.len(), 4);
}

fn a_tenant_may_have_a_quarter_of_what_waits_for_any_process(home: &Home) {
    let store = home.open();
    let of = |name: &str, number: u32| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        submit_of(&store, name, NewJob { job_id: ReceiptId::from_random_bytes(bytes), ..free_job(1) })
    };
    for (part, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let first = part as u32 * 1000;
        (first..first + MAX_WAITING_OF_ONE as u32).for_each(|number| of(name, number).unwrap());
        assert_eq!(of(name, first + 999), Err(StoreError::TooManyJobs));
    }
    assert_eq!(of("e", 9000), Err(StoreError::TooManyJobs));
    assert_eq!(store.job_figures().unwrap().waiting, MAX_WAITING as u64);
    // What perhaps nobody can run keeps out nothing that needs something else, but for its own tenant.
    let of_bash = |name: &str, seed| submit_of(&store, name, NewJob { needs: "bash".to_owned(), ..free_job(seed) });
    of_bash("e", 240).unwrap();
    assert_eq!(of_bash("a", 241), Err(StoreError::TooManyJobs));
    let claim = Claim { runnable: Runnable::Only(vec!["bash".to_owned()]), ..claim("b", 9) };
    assert_eq!(store.claim(&claim).unwrap().iter().map(|job| job.job_id).collect::<Vec<_>>(), [id(240)]);
    // A process bounds what it stores for itself.
    submit(&store, job(200, "o")).unwrap();
    assert_eq!(claimed(&store, "o", 1).len(), 1);
    of("e", 9000).unwrap();

    home.sql("DELETE FROM jobs");
    let large = |seed| NewJob { request: "x".repeat(MAX_WAITING_BYTES_OF_ONE / 4), ..free_job(seed) };
    (1..5).for_each(|seed| submit(&store, large(seed)).unwrap());
    assert_eq!(submit(&store, free_job(5)), Err(StoreError::TooManyJobs));
    submit_of(&store, "b", free_job(6)).unwrap();
}

fn a_job_that_ends_its_processes_has_failed(home: &Home) {
    let store = home.open();
    submit(&store, free_job(1)).unwrap();
    for attempt in 1..=MAX_LOST as u64 {
        let name = format!("w{attempt}");
        renew(&store, &[&name]);
        assert_eq!(claimed(&store, &name, 9), [1]);
        assert_eq!(stored(&store, 1).attempt, attempt);
        expire(&store, home, &[&name]);
    }
    assert_eq!(stored(&store, 1).state, JobState::Failed("5 workers ended while they ran it".to_owned()));
    // What a process gives back, or never began, is not blamed for its end.
    submit(&store, job(2, "s")).unwrap();
    expire(&store, home, &["s"]);
    for _ in 0..7 {
        renew(&store, &["w"]);
        assert_eq!(claimed(&store, "w", 9), [2]);
        store.give_up_lease("w").unwrap();
    }
    assert_eq!(stored(&store, 2).state, JobState::Waiting);
}

fn a_cancelled_job_is_its_tenants_and_runs_no_more(home: &Home) {
    let store = home.open();
    renew(&store, &["o", "p"]);
    let cancel = |of: &str, seed, by| store.of(&tenant(of)).cancel_job(&id(seed), by).unwrap();
    submit(&store, job(1, "o")).unwrap();
    assert_eq!(cancel("b", 1, "o"), JobCancelled::No);
    assert_eq!(cancel("a", 1, "o"), JobCancelled::Now);
    assert_eq!(cancel("a", 1, "o"), JobCancelled::No);
    assert_eq!(end(&store, 1, "o", JobState::Done), Err(StoreError::JobTaken(id(1))));
    assert_eq!((has(&store, "o"), claimed(&store, "p", 9)), (vec![], vec![]));
    assert_eq!(stored(&store, 1).state, JobState::Cancelled);

    // While another process has it, that one cancels it, or ends it first.
    (2..5).for_each(|seed| submit(&store, free_job(seed)).unwrap());
    assert_eq!(claimed(&store, "p", 2), [2, 3]);
    for seed in [2, 3, 2] {
        assert_eq!(cancel("a", seed, "o"), JobCancelled::Asked);
        assert!(stored(&store, seed).cancelling);
    }
    assert_eq!(cancel("a", 4, "o"), JobCancelled::Now);
    end(&store, 2, "p", JobState::Cancelled).unwrap();
    assert_eq!(cancel("a", 2, "o"), JobCancelled::No);
    // Or it ends, and then nobody runs the job again.
    home.sql("UPDATE workers SET alive_until = 1 WHERE owner = 'p'");
    assert_eq!(cancel("a", 3, "o"), JobCancelled::Now);
    submit(&store, free_job(5)).unwrap();
    renew(&store, &["p"]);
    assert_eq!(claimed(&store, "p", 2), [5]);
    assert_eq!(cancel("a", 5, "o"), JobCancelled::Asked);
    store.give_up_lease("p").unwrap();
    assert_eq!((stored(&store, 5).state, stored(&store, 5).request), (JobState::Cancelled, String::new()));
}

fn old_answers_and_jobs_are_deleted_and_receipts_are_not(home: &Home) {
    const DAY: i64 = 86_400_000;
    let store = home.open();
    let answer =
        |key: &str| Answer { key: key.to_owned(), request: Sha256Digest::of(b""), document: id(1).to_string() };
    for key in ["old", "new"] {
        a(&store).submit(answer(key)).wait().unwrap();
    }
    submit(&store, job(1, "o")).unwrap();
    submit(&store, job(2, "o")).unwrap();
    end(&store, 1, "o", JobState::Done).unwrap();
    assert_eq!(store.prune(DAY).unwrap(), 0);
    home.sql(&format!("UPDATE answers SET answered_at = answered_at - {DAY} - 1 WHERE key = 'old'"));
    assert_eq!(store.prune(DAY).unwrap(), 1);
    home.sql(&format!("UPDATE jobs SET finished_at = finished_at - {DAY} - 1"));
    assert_eq!(store.prune(DAY).unwrap(), 1);
    assert_eq!(store.prune(DAY).unwrap(), 0);
    assert_eq!(a(&store).answer("old").unwrap(), None);
    assert!(a(&store).answer("new").unwrap().is_some());
    assert_eq!(a(&store).job(&id(1)).unwrap(), None);
    assert!(a(&store).job(&id(2)).unwrap().is_some());
    assert!(a(&store).receipt(&id(1)).unwrap().is_some());
}

fn receipts_have_tenants_signers_and_times(home: &Home) {
    let store = home.open();
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

fn a_receipt_is_redeemed_once_and_by_its_tenant(home: &Home) {
    let store = home.open();
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

fn a_receipt_and_the_one_in_its_place_are_spent_once_together(home: &Home) {
    let store = home.open();
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
    let over = ours.receipts_over(&Sha256Digest::of(&[2]).to_string(), &|receipt| Some(Spend::of(receipt))).unwrap();
    assert!(over.is_empty(), "{over:?}");
}

fn a_superseded_receipt_is_marked_and_counts_no_more(home: &Home) {
    let store = home.open();
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

engines! {
    a_job_is_read_as_it_was_stored_and_ends_once,
    a_lease_lasts_by_the_clock_of_the_store,
    one_process_has_a_duty_while_its_lease_lasts,
    a_process_says_what_it_runs_and_how_far_it_is,
    a_process_that_lost_its_lease_cannot_end_the_job,
    a_job_is_claimed_once_by_a_process_that_can_run_it,
    many_claim_at_once_and_none_gets_what_another_has,
    tenants_take_turns_over_all_processes,
    a_tenant_may_have_a_quarter_of_what_waits_for_any_process,
    a_job_that_ends_its_processes_has_failed,
    a_cancelled_job_is_its_tenants_and_runs_no_more,
    old_answers_and_jobs_are_deleted_and_receipts_are_not,
    receipts_have_tenants_signers_and_times,
    a_receipt_is_redeemed_once_and_by_its_tenant,
    a_receipt_and_the_one_in_its_place_are_spent_once_together,
    a_superseded_receipt_is_marked_and_counts_no_more,
}
