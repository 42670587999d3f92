//! A database that ends a group because of another session: the group is settled again.

use proofmark_testing::postgres::{Cluster, psql};

use crate::load::{Asked, Load, check};

/// Takes locks in the other order than a group does, and leaves it to the group to find that out.
const OTHER_ORDER: &str = "SET LOCAL deadlock_timeout = '1min'; LOCK TABLE receipts IN SHARE ROW EXCLUSIVE MODE;
    SELECT pg_sleep(0.3); SELECT latest FROM clock FOR UPDATE";
const DEADLOCKS: &str = "SELECT coalesce(sum(deadlocks), 0) > 1 FROM pg_stat_database";
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
    for _ in 0..2 {
        let _done = psql(&url, OTHER_ORDER);
        load.wait_for(40);
    }
    cluster.wait_until(DEADLOCKS);
    let _made = psql(&url, CONFLICTS);
    load.wait_for(40);
    let _gone = psql(&url, "DROP TRIGGER conflict ON receipts");
    load.wait_for(40);
    let asked = load.stop();
    let failed = asked.iter().find(|asked| Asked::failed(asked));
    assert!(failed.is_none(), "{:?}", failed.map(|asked| &asked.answer));
    check(&url, &asked);
}
