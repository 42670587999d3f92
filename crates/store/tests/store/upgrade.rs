use std::path::Path;

use proofmark_receipt::{Receipt, Sha256Digest, SigningKey, Verdict, verify_chain};
use proofmark_store::{
    ActionHistory, Claim, CountFilter, DecisionsWanted, Filter, JobState, Runnable, Spend, Store, StoreError,
    StoredJob, Tenant,
};
use rusqlite::{Connection, params};

use crate::samples::{Local, chained, decision, draft, folder, id, sign};

const VERSION_4: &str = include_str!("version4.sql");
const VERSION_7: &str = include_str!("version7.sql");

/// A store of an older version, whose tenants are in its names.
struct Old(Connection);

impl Old {
    fn make(path: &Path) -> Self {
        let old = Connection::open(path).unwrap();
        old.execute_batch(VERSION_4).unwrap();
        Self(old)
    }

    /// Keeps the receipt with this number, at a place of a chain.
    fn receipt(&self, number: u32, tenant: &str, place: Option<(&str, u32)>) {
        let receipt = of(number);
        let chain = place.map(|(name, position)| {
            self.0.execute("INSERT INTO chains (name) VALUES (?1) ON CONFLICT DO NOTHING", [name]).unwrap();
            let chain = "SELECT chain_id FROM chains WHERE name = ?1";
            (self.0.query_row(chain, [name], |row| row.get::<_, i64>(0)).unwrap(), position)
        });
        let sql =
            "INSERT INTO receipts (receipt_id, hash, verified_at, verdict, tier, chain_id, position, document, tenant,
                                         signer, output) VALUES (?1, ?2, 0, 'error', 0, ?3, ?4, ?5, ?6, ?7, ?8)";
        let (id, hash) = (receipt.receipt_id(), receipt.hash());
        let values = params![
            id.as_bytes(),
            hash.as_bytes(),
            chain.map(|(chain, _)| chain),
            chain.map(|(_, position)| position),
            receipt.to_text(),
            tenant,
            SigningKey::from_seed([7; 32]).signer().to_string(),
            receipt.hashes().output.to_string(),
        ];
        self.0.execute(sql, values).unwrap();
    }

    fn run(&self, run: &str) {
        let sql = "INSERT INTO runs (run, step, version, state, updated_at) VALUES (?1, 'build', 1, '{}', 0)";
        self.0.execute(sql, [run]).unwrap();
    }

    fn spend(&self, number: u32) {
        let sql = "INSERT INTO spent (receipt_id, spent_by, spent_at) VALUES (?1, 'd', 5)";
        self.0.execute(sql, [id(0, number).as_bytes()]).unwrap();
    }
}

fn of(number: u32) -> Receipt {
    sign(draft(id(0, number)))
}

/// What a process claims that runs everything.
fn claim_all(store: &Store) -> Vec<StoredJob> {
    store.give_back_jobs().unwrap();
    let runnable = Runnable::AllBut(Vec::new());
    store.claim(&Claim { owner: "o".to_owned(), running: 9, quick: 9, runnable }).unwrap()
}

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

#[test]
fn rows_of_an_older_store_get_their_tenants() {
    let (_folder, path) = folder();
    let old = Old::make(&path);
    old.receipt(1, "", Some(("nightly", 0)));
    old.receipt(2, "acme/shop", Some(("acme/shop/verifications", 0)));
    old.receipt(3, "acme/shop", None);
    old.receipt(4, "acme/shop", Some(("run/acme/shop/r1/build", 0)));
    // A tenant that was called like a path went on with a chain of the command line.
    old.receipt(5, "", Some(("run/acme/deploy", 0)));
    old.receipt(6, "run/acme", Some(("run/acme/deploy", 1)));
    old.receipt(7, "local", None);
    old.run("acme/shop/r1");
    old.run("acme");
    let rows = "
        UPDATE receipts SET superseded_by = (SELECT receipt_id FROM receipts WHERE sequence = 3) WHERE sequence = 2;
        INSERT INTO requests SELECT receipt_id, 'asked' FROM receipts WHERE sequence = 2;
        INSERT INTO jobs (job_id, tenant, state, request, checks, chain, lease_until, created_at)
            SELECT receipt_id, 'acme/shop', 'waiting', '{}', 1, 'acme/shop/verifications', 0, 0 FROM receipts WHERE sequence = 1;";
    old.0.execute_batch(rows).unwrap();
    drop(old);

    let store = Store::open(&path).unwrap();
    let (shop, ours) = (store.of(&tenant("acme.shop")), store.local());
    let numbers = |name: &str| store.of(&tenant(name)).list(&Filter::default()).unwrap().receipts.len();
    assert_eq!(["local", "acme.shop", "run.acme", "local-2"].map(numbers), [2, 3, 1, 1]);
    let names = |chains: Vec<(String, u64)>| chains.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(shop.chains().unwrap()), ["run/r1/build/", "verifications"]);
    assert_eq!(names(ours.chains().unwrap()), ["nightly", "run/acme/deploy"]);
    let stray = store.of(&tenant("run.acme")).receipt(&id(0, 6)).unwrap().unwrap();
    assert_eq!(stray.chain, None, "a chain of another is none of its");

    let kept = shop.receipt(&id(0, 2)).unwrap().unwrap();
    assert_eq!((kept.superseded_by, kept.chain.as_deref()), (Some(id(0, 3)), Some("verifications")));
    assert_eq!(shop.request(&id(0, 2)).unwrap().as_deref(), Some("asked"));
    assert_eq!(ours.request(&id(0, 2)).unwrap(), None);
    assert!(shop.step_run("", "r1", "build").unwrap().is_some());
    assert!(ours.step_run("local", "acme", "build").unwrap().is_some());
    assert_eq!(ours.step_runs("acme/shop/r1").unwrap(), []);
    let taken = claim_all(&store);
    assert_eq!((&taken[0].tenant, taken[0].chain.as_str()), (&tenant("acme.shop"), "verifications"));
    assert_eq!(taken[0].state, JobState::Waiting);
    let signer = SigningKey::from_seed([7; 32]).signer().to_string();
    assert_eq!(ours.verdict_counts(&CountFilter { signer: Some(&signer), ..CountFilter::default() }).unwrap().error, 2);
}

#[test]
fn what_an_older_store_spent_stays_spent() {
    let (_folder, path) = folder();
    let old = Old::make(&path);
    old.receipt(1, "", None);
    old.receipt(2, "a", None);
    [1, 2, 9].into_iter().for_each(|number| old.spend(number));
    drop(old);
    let store = Store::open(&path).unwrap();
    let is_spent = |name: &str, number| store.of(&tenant(name)).is_spent(&Spend::of(&of(number))).unwrap();
    // What the command line keeps is spent for all, what a tenant keeps for that tenant.
    assert_eq!([is_spent("local", 1), is_spent("a", 1), is_spent("b", 1)], [true; 3]);
    assert_eq!([is_spent("a", 2), is_spent("b", 2), is_spent("local", 2)], [true, false, false]);
    // Of a document that was not kept only the id is known.
    assert_eq!([is_spent("a", 9), is_spent("local", 9), is_spent("a", 8)], [true, true, false]);
    let forged = SigningKey::from_seed([8; 32]);
    let mut other = draft(id(0, 2));
    other.tier = 1;
    let other = other.sign(&forged).unwrap();
    assert!(!store.of(&tenant("a")).is_spent(&Spend::of(&other)).unwrap(), "another document under a spent id");
    let spent = store.of(&tenant("a")).receipt(&id(0, 2)).unwrap().unwrap();
    let again = store.of(&tenant("a")).redeem(&spent, "again");
    assert_eq!(again, Err(StoreError::Spent(id(0, 2))));
}

#[test]
fn a_decision_no_reader_reads_stops_no_other() {
    let (_folder, path) = folder();
    let old = Old::make(&path);
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1_200_000));
    let sql = "INSERT INTO decisions (decision_id, decided_at, outcome, fingerprint, position, document, tenant)
               VALUES (?1, 77, 'allow', 'f', 0, ?2, 'a')";
    old.0.execute(sql, [&id(0, 1).to_string(), &long]).unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    let tip = store.all_tenants_last_decision().unwrap().unwrap();
    assert_eq!((tip.receipt_id, tip.position, tip.hash), (id(0, 1), 0, Sha256Digest::of(long.as_bytes())));
    let wanted = DecisionsWanted { limit: 10, ..DecisionsWanted::default() };
    let decisions = store.of(&tenant("a")).decisions(&wanted).unwrap().decisions;
    assert_eq!(decisions.iter().map(|one| one.allowed).collect::<Vec<_>>(), [true]);
    assert_eq!(store.local().decisions(&wanted).unwrap().decisions, []);
    assert_eq!(store.latest_time().unwrap(), 77);
}

#[test]
fn a_store_of_version_7_counts_its_decisions_by_action() {
    let (_folder, path) = folder();
    Connection::open(&path).unwrap().execute_batch(VERSION_7).unwrap();
    let store = Store::open(&path).unwrap();
    let (local, other) = (store.local(), store.of(&tenant("a")));
    let history = |decided, denied| ActionHistory { decided, denied };
    // Denied twice, allowed, denied.
    assert_eq!(local.action_history("f").unwrap(), history(4, 1));
    assert_eq!(local.action_history("g").unwrap(), history(1, 1));
    assert_eq!(other.action_history("f").unwrap(), history(2, 2));
    let wanted = DecisionsWanted { limit: 10, ..DecisionsWanted::default() };
    assert_eq!(store.all_tenants_decisions(&wanted).unwrap().decisions.len(), 7);

    // Chains, decisions and jobs go on.
    local.submit(chained(id(0, 1), "main")).wait().unwrap();
    let chain = local.chain("main").unwrap();
    assert_eq!(chain.len(), 3);
    verify_chain(&chain, None).unwrap();
    let refused = local.submit(decision(50, "f", 4, false)).wait().map(drop);
    assert!(matches!(refused, Err(StoreError::DecidedMeanwhile(_))), "{refused:?}");
    local.submit(decision(51, "f", 5, false)).wait().unwrap();
    assert_eq!(store.all_tenants_last_decision().unwrap().unwrap().position, 7);
    assert_eq!(claim_all(&store).len(), 1);
    assert!(local.step_run("local", "r", "s").unwrap().is_some());
    assert!(other.answer("k").unwrap().is_some());
}

#[test]
fn a_store_of_version_7_is_listed_and_counted() {
    let (_folder, path) = folder();
    let old = Connection::open(&path).unwrap();
    old.execute_batch(VERSION_7).unwrap();
    let rows = "UPDATE decisions SET action = '{\"tool\": \"t\"}' WHERE sequence = 4;
                UPDATE decisions SET action = 'not JSON' WHERE sequence = 5;
                UPDATE receipts SET superseded_by = 3, task_type = 'k' WHERE sequence = 1;
                UPDATE receipts SET trust = 'untrusted' WHERE sequence = 3;";
    old.execute_batch(rows).unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    let local = store.local();

    let counts = |filter: CountFilter<'_>| {
        let counts = local.verdict_counts(&filter).unwrap();
        (counts.error, counts.superseded, counts.untrusted)
    };
    assert_eq!(counts(CountFilter::default()), (1, 1, 1));
    assert_eq!(counts(CountFilter { chain: Some("main"), ..CountFilter::default() }), (1, 1, 0));
    assert_eq!(counts(CountFilter { task_type: Some("k"), ..CountFilter::default() }), (0, 1, 0));
    let listed = |filter: Filter| local.list(&filter).unwrap().receipts.len();
    assert_eq!(listed(Filter { verdict: Some(Verdict::Error), tier: Some(1), ..Filter::default() }), 3);
    assert_eq!(listed(Filter { since: Some(2_000), until: Some(20_000), ..Filter::default() }), 1);
    assert_eq!(listed(Filter { chain: Some("main".to_owned()), since: Some(2_000), ..Filter::default() }), 1);

    let wanted = || DecisionsWanted { limit: 10, ..DecisionsWanted::default() };
    let decided = |wanted: DecisionsWanted| store.all_tenants_decisions(&wanted).unwrap().decisions.len();
    assert_eq!(decided(DecisionsWanted { tool: Some("t".to_owned()), ..wanted() }), 1);
    assert_eq!(decided(DecisionsWanted { outcome: Some("replan_required".to_owned()), ..wanted() }), 6);
    assert_eq!(decided(DecisionsWanted { since: Some(102), until: Some(105), ..wanted() }), 3);
    // The newest of each subject.
    assert_eq!(decided(DecisionsWanted { to_review: true, ..wanted() }), 3);
}

#[test]
fn a_store_that_was_moved_is_upgraded_and_stays_closed() {
    let (_folder, path) = folder();
    let old = Connection::open(&path).unwrap();
    old.execute_batch(VERSION_7).unwrap();
    // As `proofmark store copy` leaves it.
    let mark = "CREATE TABLE copy_mark (state TEXT NOT NULL, place TEXT NOT NULL, latest BIGINT NOT NULL);
                INSERT INTO copy_mark VALUES ('moved', 'elsewhere', 0);";
    old.execute_batch(mark).unwrap();
    for table in ["receipts", "jobs", "decisions", "clock"] {
        for change in ["INSERT", "UPDATE", "DELETE"] {
            let seal = format!(
                "CREATE TRIGGER sealed_{table}_{} BEFORE {change} ON {table}
                 BEGIN SELECT RAISE(ABORT, 'the store was moved to elsewhere'); END",
                change.to_lowercase()
            );
            old.execute_batch(&seal).unwrap();
        }
    }
    drop(old);
    let store = Store::open(&path).unwrap();
    store.all_tenants_receipts(&Filter::default()).unwrap();
    let refused = store.local().submit(chained(id(8, 1), "main")).wait().unwrap_err();
    assert!(matches!(&refused, StoreError::Moved { to, .. } if to == "elsewhere"), "{refused:?}");
    // Tables that the upgrade has made refuse changes as well.
    let added = Connection::open(&path).unwrap().execute("INSERT INTO receipt_times VALUES (1, 1, 1)", []);
    assert!(added.unwrap_err().to_string().contains("moved to elsewhere"));
}
