//! A database that answers with an error for a while.

use std::thread;
use std::time::Duration;

use proofmark_store::{Place, Store};
use proofmark_testing::postgres::{Cluster, psql};

use crate::load::{Load, check};

/// Ends the connections of all servers.
pub(crate) const END: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'proofmark'";
/// Cancels what all servers ask, as the limit for the time of a statement does.
pub(crate) const CANCEL: &str =
    "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE usename = 'proofmark'";
/// Locks a table for longer than a writer waits for it.
const LOCK: &str = "LOCK TABLE receipts IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(6)";
/// How long each other fault lasts.
const LASTS: Duration = Duration::from_millis(700);

#[test]
fn servers_go_on_by_themselves_after_a_database_refused_them() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let load = Load::start(&[&url, &url]);
    load.wait_for(40);

    // Connections are exhausted: 53300.
    let _done = cluster.psql("ALTER ROLE proofmark CONNECTION LIMIT 0");
    let _done = cluster.psql(END);
    load.wait_for_failures(8);
    let refused = Store::open(Place::parse(&url)).map(drop).unwrap_err();
    assert!(!refused.is_refusal(), "{refused}");
    let _done = cluster.psql("ALTER ROLE proofmark CONNECTION LIMIT -1");
    load.wait_for(40);

    // The database is read-only, as that of a server that has become a standby is.
    cluster.set("default_transaction_read_only", "on");
    let _done = cluster.psql(END);
    load.wait_for_failures(8);
    cluster.set("default_transaction_read_only", "off");
    load.wait_for(40);

    // Statements are cancelled: 57014.
    for _ in 0..10 {
        let _done = cluster.psql(CANCEL);
        thread::sleep(LASTS / 10);
    }
    load.wait_for(40);

    // Nothing is stored for longer than a writer waits for a lock: 55P03.
    let _done = psql(&url, LOCK);
    load.wait_for(40);
    check(&url, &load.stop());
}
