//! A network that loses what is sent, so that the timeouts of TCP expire.

use std::ffi::OsStr;
use std::thread;
use std::time::{Duration, Instant};

use proofmark_testing::Network;
use proofmark_testing::postgres::Cluster;

use crate::load::{Load, check_with};
use crate::samples::child_of;
use crate::stopped::{MAX_HELD, Storing};

/// Longer than both sides keep a connection that is not confirmed.
const LASTS: Duration = Duration::from_secs(5);

#[test]
fn a_server_behind_a_dead_network_frees_the_lock_and_goes_on_when_it_is_healed() {
    let Some(network) = Network::start() else { return };
    let Some(cluster) = Cluster::start() else { return };
    cluster.join(&network);
    let url = cluster.create_database();
    let binary = network.command(std::env::current_exe().unwrap());
    let through = Cluster::url_in(&network, &url);
    let server = Storing::of(child_of(binary, "killed::child_stores", OsStr::new(&through), "1000"));
    let mut seen = server.stored(20);
    server.stop_in_a_group(&url);
    network.cut();
    server.signal("CONT");

    let since = Instant::now();
    let load = Load::start(&[&url]);
    load.wait_for(40);
    assert!(since.elapsed() < MAX_HELD, "the lock was held for {:?}", since.elapsed());
    thread::sleep(LASTS);
    network.heal();
    seen.extend(server.stored(20));
    seen.extend(server.kill());
    check_with(&url, &load.stop(), &seen);
}
