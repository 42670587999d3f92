//! Groups that are settled again, because the database failed while they were under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proofmark_store::{NewReceipt, Place, Store, StoreError};
use proofmark_testing::postgres::{Cluster, psql};

use crate::refused::END;
use crate::samples::{Local, chained, id, linked, signer, single};

/// A receipt on the chain `main`. When it is signed for the first time, in the middle of its group, `fault` happens. How
/// often it was signed is counted.
fn disturbed(number: u32, fault: impl Fn() + Send + 'static) -> (NewReceipt, Arc<AtomicUsize>) {
    let signed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&signed);
    let receipt = NewReceipt::chained(id(0, number), Some(signer()), "main", move |tip| {
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            fault();
        }
        Ok(linked(id(0, number), tip))
    });
    (receipt, signed)
}

#[test]
fn a_group_is_settled_again_when_its_connection_is_lost() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let url = cluster.create_database();
    let store = Store::open(Place::parse(&url)).unwrap();
    store.local().submit(chained(id(0, 1), "main")).wait().unwrap();

    let own = Arc::clone(&cluster);
    let (receipt, signed) = disturbed(2, move || drop(own.psql(END)));
    let before = store.local().submit(chained(id(0, 3), "main"));
    let disturbed = store.local().submit(receipt);
    let same = store.local().submit(chained(id(0, 1), "main"));
    let each = store.local().submit_each(vec![single(id(0, 4)).into(), single(id(0, 1)).into()]);

    assert!(before.wait().is_ok());
    let receipt = disturbed.wait().unwrap().receipt.unwrap();
    assert_eq!(store.local().tip("main").unwrap().unwrap().position, 2);
    assert!(
        receipt.link().follows(proofmark_receipt::ChainEnd::default()).is_none(),
        "it is linked to the receipt before it"
    );
    assert_eq!(signed.load(Ordering::Relaxed), 2);
    // What is refused is refused again, alone.
    assert_eq!(same.wait(), Err(StoreError::Duplicate(id(0, 1))));
    let each: Vec<_> = each.into_iter().flat_map(|pending| pending.wait().unwrap()).collect();
    assert_eq!(each, [None, Some(StoreError::Duplicate(id(0, 1)))]);
    assert_eq!(psql(&url, "SELECT count(*) FROM receipts"), "4");
    assert_eq!(psql(&url, "SELECT count(DISTINCT position) FROM receipts"), "3");
}

#[test]
fn a_group_waits_for_a_database_that_is_started_again() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let url = cluster.create_database();
    let store = Store::open(Place::parse(&url)).unwrap();
    let own = Arc::clone(&cluster);
    let (receipt, signed) = disturbed(1, move || {
        own.kill();
        own.restart();
    });
    assert!(store.local().submit(receipt).wait().is_ok());
    assert_eq!(signed.load(Ordering::Relaxed), 2);
    assert_eq!(psql(&url, "SELECT count(*) FROM receipts"), "1");
}

#[test]
fn a_database_that_stays_away_is_told_and_nothing_is_stored() {
    let Some(cluster) = Cluster::start().map(Arc::new) else { return };
    let url = cluster.create_database();
    let store = Store::open(Place::parse(&url)).unwrap();
    let own = Arc::clone(&cluster);
    let (receipt, _) = disturbed(1, move || own.kill());
    let told = store.local().submit(receipt).wait().unwrap_err();
    assert!(matches!(told, StoreError::Unreachable { .. } | StoreError::Unknown { .. }), "{told}");
    cluster.restart();
    // The store finds it by itself.
    store.local().submit(chained(id(0, 2), "main")).wait().unwrap();
    assert_eq!(store.local().tip("main").unwrap().unwrap().position, 0);
    assert_eq!(psql(&url, "SELECT count(*) FROM receipts"), "1");
}
