//! Servers of two versions that share a database while the newer one changes its schema.

use proofmark_store::{Place, Store, StoreError};
use proofmark_testing::postgres::{Cluster, psql};

use crate::load::{Load, check};

/// What a newer server does to a store that older ones use: it adds what they do not look at.
const ADDS: &str = "LOCK TABLE proofmark IN EXCLUSIVE MODE; SELECT latest FROM clock FOR UPDATE;
    ALTER TABLE receipts ADD COLUMN made_up bigint; ALTER TABLE decisions ADD COLUMN made_up text COLLATE \"C\";
    CREATE TABLE made_up (n bigint); UPDATE proofmark SET version = version + 1";
/// What it does a version later, when older ones can no longer work with the store.
const CHANGES: &str =
    "SELECT latest FROM clock FOR UPDATE; UPDATE proofmark SET version = version + 1, needs = version + 1";

#[test]
fn older_servers_go_on_after_an_addition_and_write_nothing_after_a_change() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let load = Load::start(&[&url]);
    load.wait_for(100);
    let _added = psql(&url, ADDS);
    load.wait_for(100);
    let later = Load::start_from(1, &[&url]);
    later.wait_for(100);
    assert_eq!(load.failed() + later.failed(), 0);

    let _changed = psql(&url, CHANGES);
    load.wait_for_failures(4);
    let before = psql(&url, "SELECT count(*) FROM receipts");
    load.wait_for_failures(4);
    later.wait_for_failures(4);
    assert_eq!(psql(&url, "SELECT count(*) FROM receipts"), before);
    let refused = Store::open(Place::parse(&url)).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
    let asked: Vec<_> = load.stop().into_iter().chain(later.stop()).collect();
    let newer = |answer: &Result<(), StoreError>| matches!(answer, Err(StoreError::Newer { .. }));
    assert!(asked.iter().all(|asked| !asked.failed() || newer(&asked.answer)));
    // A program that knows the version finds what the older ones have stored.
    let _known = psql(&url, "UPDATE proofmark SET needs = 0");
    check(&url, &asked);
}
