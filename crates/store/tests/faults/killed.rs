//! A database that is killed, and servers that are.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use proofmark_receipt::ReceiptId;
use proofmark_testing::postgres::Cluster;

use crate::load::{Asked, Load, MAX_PAUSE, check, check_with};
use crate::samples::{Home, Local, as_child, chained, child, id};

#[test]
fn a_killed_database_has_what_was_answered() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let load = Load::start(&[&url, &url]);
    let mut is_short = true;
    for _ in 0..2 {
        load.wait_for(200);
        let since = Instant::now();
        cluster.kill();
        std::thread::sleep(Duration::from_millis(300));
        cluster.restart();
        is_short &= since.elapsed() < MAX_PAUSE;
        load.wait_for(200);
    }
    let asked = load.stop();
    assert!(!is_short || !asked.iter().any(Asked::failed), "somebody has noticed");
    check(&url, &asked);
}

#[test]
fn servers_go_on_when_another_one_is_killed_under_load() {
    let Some(home) = Home::database() else { return };
    let Home::Database(database) = &home else { return };
    let load = Load::start(&[&database.url()]);
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let family = 1000 + round;
        let mut server = child("killed::child_stores", &home, &family.to_string());
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let before = acknowledged.len();
        while acknowledged.len() < before + 50 {
            acknowledged.extend(acknowledgement(&lines.next().unwrap().unwrap()));
        }
        server.kill().unwrap();
        // What it had said by then counts as well; its last line may be cut.
        acknowledged.extend(lines.map_while(Result::ok).filter_map(|line| acknowledgement(&line)));
        server.wait().unwrap();
        load.wait_for(50);
    }
    let asked = load.stop();
    assert!(!asked.iter().any(Asked::failed));
    check_with(&database.url(), &asked, &acknowledged);
}

/// Not a test by itself: the server that is killed above, or stopped.
#[test]
fn child_stores() {
    let Some((store, family)) = as_child() else { return };
    let family = family.parse().unwrap();
    for number in 0.. {
        let id = id(family, number);
        // An error is no acknowledgement.
        if store.local().submit(chained(id, "main")).wait().is_ok() {
            // In one piece, so that only the kill can cut it.
            let line = format!("\nstored {id}.\n");
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        }
    }
}

pub(crate) fn acknowledgement(line: &str) -> Option<ReceiptId> {
    line.strip_prefix("stored ")?.strip_suffix('.')?.parse().ok()
}
