//! A store that lost what was signed, as a restored copy has: nobody signs on it, and each says what to do.

use crate::client::{DECISIONS, GOOD, NOTE, code, job, json, listed, once, text};
use crate::fleet::{Fleet, Worker};
use crate::server::PROOFMARK;

/// Says what to do.
const WAY_OUT: &str = "proofmark store accept-loss";

pub(crate) fn nothing_is_signed_on_a_store_that_lost_something(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let worker = fleet.admitted(&["--jobs", "1"]);
    for number in 0..2 {
        once(&front, &job(&front, &format!("# {number}\n{GOOD}")), "done");
        assert_eq!(front.post("/v1/decisions", "", &NOTE.replace("done", &number.to_string())).0, 200);
    }
    // As a restored copy has it, while both run.
    fleet.sql("DELETE FROM requests WHERE sequence = (SELECT sequence FROM receipts WHERE position = 1)");
    fleet.sql("DELETE FROM receipts WHERE position = 1");
    fleet.sql("DELETE FROM decisions WHERE position = 1");

    let (status, problem) = front.post("/v1/decisions", "", NOTE);
    assert_eq!((status, code(&problem).as_str()), (503, "store_behind"), "{}", problem.to_text());
    assert!(text(&problem, "help").contains(WAY_OUT), "{}", problem.to_text());
    let (_, page) = front.get("/v1/decisions", "");
    assert_eq!(listed(&page, "decisions").len(), 1, "{}", page.to_text());
    // The job runs, and has no receipt: it stays for a worker that may sign.
    let id = job(&front, &format!("# 3\n{GOOD}"));
    worker.said("its receipt was not stored");
    // What is in the way may stay there for hours: it is run again later and later.
    worker.said("again_in_s=3");
    worker.said("again_in_s=6");
    assert!(worker.log().contains(WAY_OUT), "{}", worker.log());
    assert_ne!(text(&front.get(&format!("/v1/jobs/{id}"), "").1, "state"), "done");
    assert_eq!(fleet.receipts(), 1);
    worker.kill();
    let mut work = std::process::Command::new(PROOFMARK);
    work.args(["work", "--store", &fleet.store]).env("PROOFMARK_HOME", fleet.home.path());
    let (ended, log) = Worker::spawn(work).ended();
    assert_eq!(ended.code(), Some(2), "{log}");
    assert!(log.contains(WAY_OUT), "{log}");

    let (done, said) = fleet.run(&["store", "accept-loss", "--yes", "--store", &fleet.store]);
    assert_eq!(done, Some(0), "{said}");
    let (status, decided) = front.send(DECISIONS, NOTE);
    assert_eq!(status, 200, "{decided}");
    let stated = json(&decided).to_text();
    assert!(stated.contains("chain_loss"), "{stated}");
    let worker = fleet.admitted(&["--jobs", "1"]);
    worker.said("ended job=");
    once(&front, &id, "done");
    assert_eq!(fleet.receipts(), 2);
}
