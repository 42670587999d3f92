//! A primary that is lost, and its synchronous standby.

use std::thread;
use std::time::{Duration, Instant};

use proofmark_testing::postgres::Cluster;

use crate::load::{Asked, Load, MAX_PAUSE, check};
use crate::refused::CANCEL;

/// Whether a commit waits for the standby.
const WAITS: &str = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

#[test]
fn a_failover_is_a_pause() {
    let Some(primary) = Cluster::start() else { return };
    let standby = Cluster::standby_of(&primary, true);
    let url = primary.create_database();
    let hosts = format!("{},{}", primary.host(), standby.host());
    let both = url.replace(&primary.host(), &hosts) + "?target_session_attrs=read-write";
    let load = Load::start(&[&both, &both]);
    load.wait_for(100);
    let since = Instant::now();
    primary.kill();
    standby.promote();
    let is_short = since.elapsed() < MAX_PAUSE;
    load.wait_for(100);
    let asked = load.stop();
    assert!(!is_short || !asked.iter().any(Asked::failed), "somebody has noticed");
    check(&both, &asked);
}

#[test]
fn a_promoted_standby_has_what_was_answered_and_a_cancelled_commit_is_not_answered() {
    let Some(primary) = Cluster::start() else { return };
    let standby = Cluster::standby_of(&primary, true);
    let url = primary.create_database();
    let hosts = format!("{},{}", primary.host(), standby.host());
    let both = url.replace(&primary.host(), &hosts) + "?target_session_attrs=read-write";
    let load = Load::start(&[&both, &both]);
    load.wait_for(100);

    standby.pause();
    primary.wait_until(WAITS);
    // What the standby had confirmed is answered by then.
    let before = load.settled();
    for _ in 0..10 {
        let _done = primary.psql(CANCEL);
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(load.stored(), before, "answered without the standby");

    primary.kill();
    standby.resume();
    standby.promote();
    load.wait_for(100);
    check(&both, &load.stop());
}
