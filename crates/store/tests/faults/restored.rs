//! Backups that are made while servers store, and what is restored of them.

use proofmark_store::{Checking, Place, Store, Used};
use proofmark_testing::postgres::{Cluster, psql};

use crate::load::Load;
use crate::samples::{Local, chained, id};

const COUNT: &str = "SELECT (SELECT count(*) FROM receipts) + (SELECT count(*) FROM decisions)";

fn count(url: &str) -> usize {
    psql(url, COUNT).parse().unwrap()
}

/// The store is sound, and its chain goes on.
fn works(url: &str) {
    let store = Store::open_existing(Place::parse(url)).unwrap();
    let mut wrong = Vec::new();
    let checking =
        Checking { judge: &mut |_| Ok(Used::default()), found: &mut |one| wrong.push(one), progress: &mut |_, _| {} };
    let faults = store.check(checking).unwrap().faults;
    assert!(faults == 0 && wrong.is_empty(), "{wrong:?}");
    let position = |store: &Store| store.local().tip("main").unwrap().unwrap().position;
    let before = position(&store);
    store.local().submit(chained(id(7_000, 0), "main")).wait().unwrap();
    assert_eq!(position(&store), before + 1);
}

#[test]
fn a_dump_and_a_moment_are_restored_whole() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    cluster.back_up();
    let name = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let load = Load::start(&[&url, &url]);
    load.wait_for(100);

    let answered = load.stored();
    let _dumped = cluster.run("pg_dump", &["--format=custom", "--file=dump", &name(&url)]);
    load.wait_for(40);
    let dump = cluster.create_database();
    let _restored = cluster.run("pg_restore", &["--no-owner", "--role=proofmark", "--dbname", &name(&dump), "dump"]);
    assert!(count(&dump) >= answered);
    works(&dump);

    let answered = load.stored();
    let time = psql(&url, "SELECT clock_timestamp()");
    // A group that was about to commit at that time is seen once its lock is free.
    let stored = psql(&url, &format!("SELECT latest FROM clock FOR UPDATE; {COUNT}"));
    let stored = stored.lines().last().unwrap().parse().unwrap();
    load.wait_for(100);
    drop(load.stop());
    let restored = Cluster::restored(&cluster, &time);
    let moment = restored.url(&name(&url));
    assert!((answered..=stored).contains(&count(&moment)), "{answered}, {}, {stored}", count(&moment));
    works(&moment);
}
