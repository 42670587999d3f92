//! A database that ends a group because of another session: the group is settled again.

use std::time::Instant;

use proofmark_store::StoreError;
use proofmark_testing::postgres::{Cluster, psql};

use crate::load::{Asked, Load, MAX_PAUSE, check};

/// Takes locks in the other order than a group does, and leaves it to the group to find that out.
const OTHER_ORDER: &str = "SET LOCAL deadlock_timeout = '1min'; LOCK TABLE receipts IN SHARE ROW EXCLUSIVE MODE;
    SELECT pg_sleep(0.3); SELECT latest FROM clock FOR UPDATE";
const DEADLOCKS: &str = "SELECT coalesce(sum(deadlocks), 0) > 1 FROM pg_stat_database";
/// How often another session takes locks in the other order.
const MAX_ROUNDS: u32 = 30;
/// Two of three times a receipt is to be stored, the database says that it conflicts, as databases do that spread rows on machines.
const CONFLICTS: &str = "CREATE SEQUENCE tries;
    CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF nextval('tries') % 3 <> 0 THEN RAISE 'could not serialize' USING ERRCODE = '40001'; END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER conflict AFTER INSERT ON receipts FOR EACH STATEMENT EXECUTE FUNCTION conflict()";

#[test]
fn groups_are_settled_again_after_deadlocks_and_conflicts() {
    let Some(cluster) = Cluster::start() else { return };
    // What a session does that names no isolation.
    let _set = cluster.psql("ALTER ROLE proofmark SET default_transaction_isolation = 'serializable'");
    let url = cluster.create_database();
    let load = Load::start(&[&url, &url]);
    load.wait_for(40);
    let mut is_short = true;
    let mut lock_and_do = |sql| {
        let since = Instant::now();
        let _done = psql(&url, sql);
        is_short &= since.elapsed() < MAX_PAUSE;
        load.wait_for(40);
    };
    // A group may be late, and then there is no deadlock; the server counts them after a while.
    let is_ended = (0..MAX_ROUNDS).any(|_| {
        lock_and_do(OTHER_ORDER);
        cluster.psql(DEADLOCKS) == "t"
    });
    assert!(is_ended, "no group was ended");
    lock_and_do(CONFLICTS);
    lock_and_do("DROP TRIGGER conflict ON receipts");
    let asked = load.stop();
    // On a machine under load, the other session may have its locks for longer than a group waits for them.
    let is_late = |asked: &Asked| !is_short && matches!(asked.answer, Err(StoreError::Locked { .. }));
    let failed = asked.iter().find(|asked| asked.failed() && !is_late(asked));
    assert!(failed.is_none(), "{:?}", failed.map(|asked| &asked.answer));
    check(&url, &asked);
}
