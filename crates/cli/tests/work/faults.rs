//! Workers that are killed, stopped, told to stop, and a job that ends them.

use std::time::Duration;

use crate::client::{GOOD, job, once, text};
use crate::fleet::{ENDLESS, Fleet, slow};

pub(crate) fn another_worker_runs_what_a_killed_one_had(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let mut workers = vec![fleet.admitted(&["--jobs", "1"]), fleet.admitted(&["--jobs", "1"])];
    let id = job(&front, &slow(4));
    once(&front, &id, "running");
    // The log may be behind the store.
    let at = loop {
        if let Some(at) = workers.iter().position(|worker| worker.log().contains(&id)) {
            break at;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    workers.remove(at).kill();
    workers[0].said("attempt=2");
    once(&front, &id, "done");
    assert_eq!(fleet.receipts(), 1);
}

pub(crate) fn the_end_of_a_worker_that_was_stopped_past_its_lease_is_refused(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let first = fleet.admitted(&["--jobs", "1"]);
    let id = job(&front, &slow(3));
    first.said("claimed job=");
    first.signal("-STOP");
    let second = fleet.admitted(&["--jobs", "1"]);
    once(&front, &id, "done");
    second.said("attempt=2");
    first.signal("-CONT");
    // It finds that another process has the job now, and goes on.
    first.said("left to another process");
    assert_eq!(fleet.receipts(), 1);
    second.signal("-TERM");
    assert_eq!(second.ended().0.code(), Some(0));
    once(&front, &job(&front, GOOD), "done");
    assert_eq!(fleet.receipts(), 2);
}

pub(crate) fn a_worker_that_is_told_to_stop_ends_what_runs(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let worker = fleet.admitted(&["--jobs", "1"]);
    let running = job(&front, &slow(2));
    worker.said("claimed job=");
    worker.signal("-TERM");
    worker.said("stopping");
    let waiting = job(&front, GOOD);
    let (status, log) = worker.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_eq!(log.matches("claimed job=").count(), 1, "{log}");
    // A lease that a busy machine renews too late is lost, and with it the job: the next worker ends that one.
    let lost_its_lease = log.contains("left to another process");
    if !lost_its_lease {
        once(&front, &running, "done");
    }
    assert_eq!(text(&once(&front, &waiting, "waiting"), "state"), "waiting");
    // Its lease has ended with it, so the servers know at once.
    front.until(|status| status.contains("no_workers"));
    let next = fleet.admitted(&["--jobs", "1"]);
    once(&front, &running, "done");
    once(&front, &waiting, "done");
    // A second signal does not wait.
    let id = job(&front, ENDLESS);
    next.said(&id);
    next.signal("-TERM");
    next.said("stopping");
    next.signal("-TERM");
    let (status, log) = next.ended();
    // It would be another one, had it waited for the job.
    assert_eq!(status.code(), Some(130), "{log}");
    let (status, _) = front.send(&format!("DELETE /v1/jobs/{id} HTTP/1.1"), "");
    assert_eq!(status, 200);
    assert_eq!(fleet.receipts(), 2);
}

pub(crate) fn a_job_that_ends_its_workers_fails(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let id = job(&front, ENDLESS);
    for attempt in 1..=5 {
        let worker = fleet.admitted(&["--jobs", "1"]);
        worker.said(&format!("attempt={attempt}"));
        worker.kill();
        // As if 10 s had passed for it: the job says whose it is at once, while what its entry says it runs may be a renewal behind.
        fleet.sql("UPDATE workers SET alive_until = 1 WHERE owner IN (SELECT owner FROM jobs)");
    }
    let failed = once(&front, &id, "failed");
    assert_eq!(text(&failed, "error"), "5 workers ended while they ran it");
    assert_eq!(fleet.receipts(), 0);
    let _next = fleet.admitted(&["--jobs", "1"]);
    once(&front, &job(&front, GOOD), "done");
}

pub(crate) fn a_server_that_verifies_runs_what_other_servers_leave(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let id = job(&front, GOOD);
    let server = crate::server::Server::begin(fleet.plain());
    once(&server, &id, "done");
    once(&front, &id, "done");
    assert_eq!(fleet.receipts(), 1);
}
