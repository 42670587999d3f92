//! A network that is cut.

use std::thread;
use std::time::{Duration, Instant};

use proofmark_store::StoreError;
use proofmark_testing::postgres::{Database, Moment, Proxy, database};

use crate::load::{Load, check};

/// What a server sends to end a group, with the end of the message: groups begin with a text that has the word, too.
pub(crate) const COMMIT: &str = "COMMIT\0";
/// How long a server may hold the lock of the writers after its network is cut.
const MAX_HELD: Duration = Duration::from_secs(5);
/// Within this time an asker knows that it is not known whether a commit took effect.
const MAX_UNKNOWN: Duration = Duration::from_secs(30);

#[test]
fn a_commit_whose_answer_is_lost_is_asked_for_again() {
    let Some(database) = database() else { return };
    let proxy = Proxy::to(&database.url());
    let load = Load::start(&[&proxy.url()]);
    let end_at_commit = |moment| {
        load.wait_for(40);
        proxy.cut_at(COMMIT, moment);
        assert!(proxy.wait_for_cut(MAX_UNKNOWN));
        if moment == Moment::After {
            wait_for_end_of_group(&database);
        }
        proxy.refuse();
        thread::sleep(Duration::from_millis(200));
        proxy.heal();
        load.wait_for(40);
    };
    end_at_commit(Moment::After);
    end_at_commit(Moment::After);
    assert_eq!(load.failed(), 0, "what was stored is answered");
    end_at_commit(Moment::Before);
    check(&database.url(), &load.stop());
}

/// Waits until the server has done what it got.
fn wait_for_end_of_group(database: &Database) {
    let busy = "SELECT count(*) > 0 FROM pg_stat_activity
        WHERE datname = current_database() AND usename = 'proofmark' AND state <> 'idle'";
    while database.psql(busy) == "t" {
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_whose_network_is_cut_frees_the_lock_and_goes_on_when_it_is_healed() {
    let Some(database) = database() else { return };
    let proxy = Proxy::to(&database.url());
    let (cut_off, other) = (Load::start(&[&proxy.url()]), Load::start_from(1, &[&database.url()]));
    cut_off.wait_for(40);
    other.wait_for(40);
    // It has begun a group, and the others wait for it.
    proxy.cut_at(COMMIT, Moment::Before);
    assert!(proxy.wait_for_cut(MAX_UNKNOWN));
    let since = Instant::now();
    other.wait_for(40);
    assert!(since.elapsed() < MAX_HELD + MAX_HELD, "the lock was held for {:?}", since.elapsed());
    proxy.heal();
    cut_off.wait_for(40);
    let asked: Vec<_> = cut_off.stop().into_iter().chain(other.stop()).collect();
    let longest = check(&database.url(), &asked);
    assert!(longest < MAX_UNKNOWN, "an answer took {longest:?}");
}

#[test]
fn an_asker_behind_a_cut_network_is_told_that_the_outcome_is_unknown() {
    let Some(database) = database() else { return };
    let proxy = Proxy::to(&database.url());
    let load = Load::start(&[&proxy.url()]);
    load.wait_for(40);
    proxy.cut_at(COMMIT, Moment::After);
    assert!(proxy.wait_for_cut(MAX_UNKNOWN));
    // New connections are cut, too.
    load.wait_for_failures(1);
    proxy.heal();
    load.wait_for(40);
    let asked = load.stop();
    assert!(asked.iter().any(|asked| matches!(asked.answer, Err(StoreError::Unknown { .. }))));
    let longest = check(&database.url(), &asked);
    assert!(longest < MAX_UNKNOWN, "an answer took {longest:?}");
}
