//! A server that stops in the middle of a group, and continues.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use proofmark_receipt::ReceiptId;
use proofmark_testing::postgres::psql;

use crate::killed::acknowledgement;
use crate::load::{Load, check_with};
use crate::samples::{Home, child};

/// Whether a server has begun a group, and asks nothing.
const IN_A_GROUP: &str = "SELECT count(*) > 0 FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'";
/// How long a group that makes no progress may hold up the other servers, on a machine under load.
pub(crate) const MAX_HELD: Duration = Duration::from_secs(10);

/// Another process that stores what it can, and says what it has stored.
pub(crate) struct Storing {
    process: Child,
    acknowledged: Receiver<ReceiptId>,
    reading: JoinHandle<()>,
}

impl Storing {
    pub(crate) fn of(mut process: Child) -> Self {
        let (sender, acknowledged) = mpsc::channel();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let reading = thread::spawn(move || {
            let ids = lines.map_while(Result::ok).filter_map(|line| acknowledgement(&line));
            ids.for_each(|id| sender.send(id).unwrap());
        });
        Self { process, acknowledged, reading }
    }

    /// The next things that it has stored.
    pub(crate) fn stored(&self, count: usize) -> Vec<ReceiptId> {
        self.acknowledged.iter().take(count).collect()
    }

    /// Stops it in the middle of a group of the database with this URL.
    pub(crate) fn stop_in_a_group(&self, url: &str) {
        let stops = (0..1000).any(|_| {
            self.signal("STOP");
            // What was asked is answered by then.
            thread::sleep(Duration::from_millis(20));
            let in_a_group = psql(url, IN_A_GROUP) == "t";
            if !in_a_group {
                self.signal("CONT");
                thread::sleep(Duration::from_millis(3));
            }
            in_a_group
        });
        assert!(stops, "the server was never in a group");
    }

    pub(crate) fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        let status = Command::new("sh").args(["-c", "kill -s $0 $1", name, &process]).status().unwrap();
        assert!(status.success());
    }

    /// Kills it; what it had stored and was not asked for yet.
    pub(crate) fn kill(mut self) -> Vec<ReceiptId> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.reading.join().unwrap();
        self.acknowledged.into_iter().collect()
    }
}

#[test]
fn a_server_that_stops_in_a_group_frees_the_lock_and_its_group_is_not_answered() {
    let Some(home) = Home::database() else { return };
    let Home::Database(database) = &home else { return };
    let server = Storing::of(child("killed::child_stores", &home, "1000"));
    let mut seen = server.stored(20);
    server.stop_in_a_group(&database.url());

    let since = Instant::now();
    let load = Load::start(&[&database.url()]);
    load.wait_for(40);
    assert!(since.elapsed() < MAX_HELD, "the lock was held for {:?}", since.elapsed());

    // It notices that its group was undone, and goes on.
    server.signal("CONT");
    seen.extend(server.stored(20));
    seen.extend(server.kill());
    check_with(&database.url(), &load.stop(), &seen);
}
